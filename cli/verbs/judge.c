/* besom judge: which keys that users reported may join a no list. */
#include <stdio.h>

#include "arguments.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "lists/domain_lists.h"
#include "lists/domains.h"
#include "lists/key_index.h"
#include "number_text.h"
#include "verb.h"

static struct {
  words yes, no;
  const char *update;
  uint64_t most;
  bool json;
  key_form form;
} given;

static const argument arguments[] = {
    {"--yes", "FILE", "keys of the set; may be repeated", .list = &given.yes},
    {"--no", "FILE", "keys that must be answered no; may be repeated", .list = &given.no},
    {"--domains", NULL,
     "keys are names of domains: the nearest listed parent of a name decides, too",
     .flag = &given.form.domains},
    {"--update", "FILE",
     "with --domains: the list that besom build --update will replace; names keep as many labels "
     "as "
     "it asks",
     .text = &given.update},
    {"--most", "N", "accept at most N keys; default: all", .count = &given.most, .least = 1,
     .most = 1e14},
    KEY_FORM_ARGUMENTS(given.form),
    {"--json", NULL, "print an object per report: accepted, or refused and by which entry",
     .flag = &given.json},
};

static const command judge_command = {
    .usage = "judge --yes FILE [--no FILE] [FILE...] [options]",
    .about =
        "Prints those of the reported keys of FILE, or of standard input, that a publisher may put "
        "on the no list of a filter. Nobody trusts a report: keys of the yes list are refused, "
        "unless they are on the no list, too.\n\n"
        "With --domains, names below a listed one are also refused: on the no list they would be "
        "exceptions. If a name of the no list is nearer, the report is accepted. Names are printed "
        "in the spelling of besom build, without labels that no list asks. Readers of an updated "
        "list "
        "still ask those of the old one: give it with --update.\n\n"
        "Keys with control bytes, such as a field of CSV with a line break, are refused: the "
        "output "
        "is lines. "
        "--format is that of the reports. The lists have a key per line.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 0,
    .most_words = SIZE_MAX,
    .examples =
        "  besom judge reports.txt --domains --yes hosts.txt --no good.txt >reported.txt\n"
        "  besom build list.besom --domains --yes hosts.txt --no good.txt --no reported.txt",
};

/* The lists. Of domains, no name with more labels is asked: the longest entry, or exception, or
 * what the list to be updated was made for. */
static struct {
  conflicts *yes, *no;
  unsigned labels;
} lists;

static void note_exceptions(key_reader *no) {
  besom_bytes key;
  while (keys_next(no, &key)) {
    unsigned labels = domain_count_labels(key);
    if (labels > lists.labels && domain_is_below(lists.yes, key)) lists.labels = labels;
  }
  keys_rewind(no);
}

/* A list that was not read would let every report pass. */
static void refuse_unread_list(const key_reader *yes) {
  if (conflicts_count(lists.yes)) return;
  keys_tell_skipped(yes);
  fail("the yes list has no keys, so no report was judged: was it downloaded completely, and does "
       "it have a key per line?");
}

static unsigned labels_of_updated(void) {
  if (!given.update) return 0;
  if (!given.form.domains) usage_error("--update needs --domains");
  besom_filter *old = filter_open(given.update);
  unsigned labels = besom_domain_labels(old, NULL);
  besom_free(old);
  if (!labels) usage_error("--update: %s is no list of domains", given.update);
  return labels;
}

static void read_lists(void) {
  key_form form = {.domains = given.form.domains,
                   .lowercase = given.form.lowercase,
                   .comments = given.form.comments,
                   .is_list = true};
  unsigned asked = labels_of_updated();
  key_reader *yes = keys_open(given.yes, &form);
  keys_keep(yes);
  lists.yes = conflicts_set(yes);
  unsigned labels = keys_most_labels(yes);
  lists.labels = labels > asked ? labels : asked;
  refuse_unread_list(yes);
  keys_close(yes);
  if (!given.no.n) return;
  key_reader *no = keys_open(given.no, &form);
  keys_keep(no);
  if (form.domains) note_exceptions(no);
  lists.no = conflicts_set(no);
  keys_close(no);
}

/* What a report is about: of domains, the longest parent that readers of the list ask. */
static void shorten(besom_bytes *key) {
  while (given.form.domains && domain_count_labels(*key) > lists.labels)
    if (!domain_parent(*key, key)) return;
}

/* Of a key, and of domains its parents, the first one that is on a list decides. Returns whether
 * the report is accepted; if not, *by is what is on the yes list. */
static bool is_accepted(besom_bytes key, besom_bytes *by) {
  *by = key;
  do {
    if (lists.no && conflicts_has(lists.no, *by)) return true;
    if (conflicts_has(lists.yes, *by)) return false;
  } while (given.form.domains && domain_parent(*by, by));
  return true;
}

static void print_object(besom_bytes key, const besom_bytes *by) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_bytes(&j, "key", key.data, key.len);
  json_text(&j, "answer", by ? "refused" : "accepted");
  if (by) json_bytes(&j, "entry", by->data, by->len);
  json_close(&j);
}

static void tell_refused(besom_bytes key, besom_bytes by) {
  enum { SHOWN_BYTES = 255 };
  int len = (int)(key.len < SHOWN_BYTES ? key.len : SHOWN_BYTES);
  fprintf(stderr, "refused: '%.*s' is ", len, (const char *)key.data);
  if (by.len < key.len)
    fprintf(stderr, "below '%.*s', which is ", (int)by.len, (const char *)by.data);
  fputs("on the yes list\n", stderr);
}

/* Whether the key is a line of its own when it is printed, and read again as it is. */
static bool is_line(besom_bytes key) {
  const unsigned char *at = key.data;
  for (size_t i = 0; i < key.len; i++)
    if (at[i] < ' ' || at[i] == 0x7f) return false;
  return true;
}

/* Returns how many are accepted. The first ones that are refused are told. */
static uint64_t judge_reports(key_reader *reports) {
  enum { SHOWN = 20 };
  key_index *judged = key_index_create();
  uint64_t most = given.most ? given.most : UINT64_MAX, accepted = 0, refused = 0;
  besom_bytes key, by;
  while (accepted < most && keys_next(reports, &key)) {
    uint32_t known = key_index_count(judged);
    if (!is_line(key)) {
      if (refused++ < SHOWN) fputs("refused: a key with control bytes\n", stderr);
      continue;
    }
    shorten(&key);
    if (key_index_add(judged, key) < known) continue;
    bool ok = is_accepted(key, &by);
    accepted += ok;
    refused += !ok;
    if (given.json)
      print_object(key, ok ? NULL : &by);
    else if (ok)
      printf("%.*s\n", (int)key.len, (const char *)key.data);
    else if (refused <= SHOWN)
      tell_refused(key, by);
  }
  if (refused > SHOWN && !given.json)
    fprintf(stderr, "refused: %s more\n", grouped(refused - SHOWN).text);
  key_index_free(judged);
  return accepted;
}

static int judge(words args) {
  if (!given.yes.n)
    usage_error("--yes is missing: the keys that no report may take out of the set");
  if (given.form.null || given.form.length_prefixed)
    usage_error("the output is lines: --null and --length-prefixed are not supported");
  read_lists();
  key_reader *reports = keys_open(args, &given.form);
  uint64_t accepted = judge_reports(reports);
  keys_close(reports);
  conflicts_free(lists.yes);
  conflicts_free(lists.no);
  if (fflush(stdout) != 0 || ferror(stdout)) fail("cannot write to standard output");
  return accepted ? EXIT_YES : EXIT_NO;
}

const verb judge_verb = {"judge", "print the reported keys that may join a no list", &judge_command,
                         judge};
