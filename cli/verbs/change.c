/* besom add, remove, fix: change a filter by keys. The file is written at the end: an interrupted
 * run changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "counters.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "lists/conflicts.h"
#include "lists/domains.h"
#include "lists/keys.h"
#include "number_text.h"
#include "publish/asked.h"
#include "verb.h"

static struct {
  bool no, json, grow, forget, again;
  words set;
  const char *fixes;
  conflicts *members; /* of --set, for a list of domains */
  key_form form;
} given = {.form = {.is_list = true}};

static const argument fix_arguments[] = {
    {"--set", "FILE", "the members; keys that are among them are refused; may be repeated",
     .list = &given.set},
    {"--grow", NULL, "if the reserve is full: enlarge it, and forget no fixes",
     .flag = &given.grow},
    {"--forget", NULL, "if the reserve is full: forget older fixes, now and later",
     .flag = &given.forget},
    {"--fixes", "FILE",
     "do not change FILTER: it may be signed, patched, or the copy of a published set; keep the "
     "fixes in this text file, for --fixes of has and query",
     .text = &given.fixes},
    {"--again", NULL,
     "with --fixes, after an update: apply the fixes of the old version again (they are renamed to "
     "FILE.old); do so if their keys are still absent",
     .flag = &given.again},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};
static const argument list_arguments[] = {
    {"--no", NULL, "change the no list: keys that must be answered no", .flag = &given.no},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};

static const command add_command = {
    .usage = "add FILTER [FILE] [options]",
    .about =
        "Adds the keys of FILE, or of standard input, to a filter: all or none.\n\n"
        "With --no, add only keys that are absent: a member that is added to the no list is "
        "answered no from then on. In a list of domains the names below a new one are answered "
        "yes, also those of the no list: add these with --no again.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  echo new.example | besom add blocked.besom",
};

static const command remove_command = {
    .usage = "remove FILTER [FILE] [options]",
    .about = "Removes the keys of FILE, or of standard input, from a filter. Remove only keys that "
             "were added: removing a false positive removes the fingerprint of a "
             "member. The exit code is 1 if no key was found.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  echo old.example | besom remove blocked.besom",
};

static const command fix_command = {
    .usage = "fix FILTER [FILE] [options]",
    .about =
        "Reports the keys of FILE, or of standard input, as false positives. The filter adapts: "
        "it answers no to them from now on.\n\n"
        "Report only keys that are absent. The filter cannot tell a member from a false positive: "
        "a member that is reported is answered no from then on, which is a false negative. --set "
        "refuses such keys.\n\n"
        "A filter has room for a number of fixes: see besom info, and besom build --reserve. If "
        "keys do not fit, the others are fixed, the message says how many were not, and the exit "
        "code is 4. --grow and --forget avoid that.\n\n"
        "With --fixes, the filter stays as it is. Such fixes have no limit. They hold for the "
        "bytes that they were made for: after an update they have no effect until you apply them "
        "again.\n\n" KEY_FORM_HELP,
    .arguments = fix_arguments,
    .argument_count = COUNT_OF(fix_arguments),
    .least_words = 1,
    .most_words = 2,
    .exit_status = "0: fixed, or there was nothing to do. 1: all keys were answered no already. 2: "
                   "wrong command line. 3: failure: the file is unchanged. 4: some keys were not "
                   "fixed: they are members (--set), or the reserve is full; the others are fixed. "
                   "130: interrupted (SIGINT), 143: terminated (SIGTERM): the file is unchanged.",
    .examples = "  echo good.example | besom fix blocked.besom --set phishing.txt\n"
                "  echo good.example | besom fix blocked.besom --fixes my.fixes\n"
                "  besom has blocked.besom good.example --fixes my.fixes",
};

/* The number of keys that changed the filter, of keys that did not, and of keys that did not fit.
 * members: keys that --set refused. */
typedef struct outcome {
  uint64_t changed, unchanged, unfit, members, forgotten;
} outcome;

/* Changes the filter by keys in their order, up to the first one that fails. *done is the number of
 * keys that did not fail. */
typedef besom_status change(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                            outcome *o);

/* ------------------------------------------------------------------ lists of domains */

static bool is_excepted(const besom_filter *f, const char *mark, size_t len) {
  unsigned flags;
  besom_domain_labels(f, &flags);
  return flags && besom_contains_digest(f, besom_hash(f, mark, len));
}

/* Writes the key of the exception for a name. Returns its length. */
static size_t exception_key(besom_bytes name, char mark[1 + DOMAIN_BYTES]) {
  mark[0] = '!';
  memcpy(mark + 1, name.data, name.len); /* in its spelling: at most 253 bytes */
  return 1 + name.len;
}

/* A listed name may have more labels than those before it; a name of the no list below a listed one
 * is an exception. */
static besom_status note_domains(besom_filter *f, const besom_bytes *keys, size_t n) {
  unsigned flags, most = besom_domain_labels(f, &flags), before = most, had = flags;
  besom_status status = BESOM_OK;
  if (!most) return BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i++) {
    char mark[1 + DOMAIN_BYTES];
    size_t len = exception_key(keys[i], mark);
    bool is_exception = given.no && besom_contains(f, keys[i].data, keys[i].len);
    unsigned labels = domain_count_labels(keys[i]);
    if (labels > most && (!given.no || is_exception)) most = labels < 127 ? labels : 127;
    if (!is_exception) continue;
    status = besom_insert(f, mark, len);
    flags = BESOM_DOMAINS_EXCEPT;
  }
  if (status != BESOM_OK || (most == before && flags == had)) return status;
  if (most > before)
    fprintf(stderr,
            "%s: up to %u labels of a host are asked now, not %u: its false-positive rate is %.2f "
            "times that of the list. To keep the rate: besom build\n",
            program_name, most, before, (double)most / before);
  return besom_set_domains(f, most, flags);
}

/* Also the exception, if there is one. */
static besom_status remove_no_key(besom_filter *f, besom_bytes key) {
  char mark[1 + DOMAIN_BYTES];
  if (besom_domain_labels(f, NULL)) {
    size_t len = exception_key(key, mark);
    besom_status status = is_excepted(f, mark, len) ? besom_remove(f, mark, len) : BESOM_OK;
    if (status != BESOM_OK && status != BESOM_NOT_FOUND) return status;
  }
  return besom_no_remove(f, key.data, key.len);
}

/* Whether a fix of a reported name would be one of a member (--set) above it, too: all parents that
 * are answered yes are fixed, up to the nearest exception. */
static bool is_below_member(const besom_filter *f, besom_bytes key) {
  char mark[1 + DOMAIN_BYTES];
  besom_bytes part = key;
  if (!given.members || !besom_domain_contains(f, key.data, key.len, NULL)) return false;
  do {
    if (conflicts_has(given.members, part)) {
      fprintf(stderr, "'%.*s' is blocked by the member '%.*s': put it on the no list instead\n",
              (int)key.len, (const char *)key.data, (int)part.len, (const char *)part.data);
      return true;
    }
    if (is_excepted(f, mark, exception_key(part, mark))) return false;
  } while (domain_parent(part, &part));
  return false;
}

/* Says which entry of a list of domains is fixed, if it is not the name itself. */
static void tell_entry(besom_bytes key, besom_bytes entry) {
  if (!given.json && entry.len < key.len)
    fprintf(stderr, "'%.*s' is answered yes by '%.*s': that entry is fixed\n", (int)key.len,
            (const char *)key.data, (int)entry.len, (const char *)entry.data);
}

/* ------------------------------------------------------------------ changing */

static besom_status add_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                             outcome *o) {
  *done = 0;
  besom_status status = besom_insert_many(f, keys, n, done);
  o->changed += *done;
  return status == BESOM_OK ? note_domains(f, keys, n) : status;
}

static besom_status add_no_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                                outcome *o) {
  for (*done = 0; *done < n; ++*done) {
    besom_status status = besom_no_add(f, keys[*done].data, keys[*done].len);
    if (status == BESOM_OK) status = note_domains(f, keys + *done, 1);
    if (status != BESOM_OK) return status;
    o->changed++;
  }
  return BESOM_OK;
}

static besom_status remove_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                                outcome *o) {
  for (*done = 0; *done < n; ++*done) {
    besom_bytes key = keys[*done];
    besom_status status = given.no ? remove_no_key(f, key) : besom_remove(f, key.data, key.len);
    if (status != BESOM_OK && status != BESOM_NOT_FOUND) return status;
    o->changed += status == BESOM_OK;
    o->unchanged += status == BESOM_NOT_FOUND;
  }
  return BESOM_OK;
}

/* The reserve is full: makes room if an option says so. Returns false if that is not possible. */
static bool make_reserve(besom_filter *f) {
  uint64_t limit = counter_of(f, "exception_limit");
  if (!given.grow && !given.forget) return false;
  return besom_set_reserve(f, given.grow ? 2 * limit : limit, given.forget) == BESOM_OK;
}

/* A filter that forgets is never full, so --grow would have no effect. */
static void stop_forgetting(besom_filter *f) {
  if (given.grow && besom_abilities(f) & BESOM_FORGETS)
    besom_set_reserve(f, counter_of(f, "exception_limit"), false);
}

/* ------------------------------------------------------------------ fixing */

/* A key that does not fit does not keep the others from being fixed. */
static besom_status fix_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                             outcome *o) {
  stop_forgetting(f);
  for (*done = 0; *done < n; ++*done) {
    besom_bytes key = keys[*done];
    if (is_below_member(f, key)) {
      o->members++;
      continue;
    }
    bool positive = besom_contains(f, key.data, key.len);
    besom_bytes entry = key;
    if (positive && besom_domain_labels(f, NULL))
      besom_domain_contains(f, key.data, key.len, &entry);
    if (positive) tell_entry(key, entry);
    besom_status status = positive ? besom_adapt(f, key.data, key.len) : BESOM_OK;
    if (status == BESOM_RESERVE_FULL && make_reserve(f)) status = besom_adapt(f, key.data, key.len);
    if (status != BESOM_OK && status != BESOM_EVICTED && status != BESOM_RESERVE_FULL)
      return status;
    o->unfit += status == BESOM_RESERVE_FULL;
    o->changed += positive && status != BESOM_RESERVE_FULL;
    o->forgotten += status == BESOM_EVICTED;
    o->unchanged += !positive;
  }
  return BESOM_OK;
}

static bool can_grow(const besom_filter *f) {
  return besom_abilities(f) & BESOM_CAN_RESIZE;
}

static _Noreturn void explain_full(const besom_filter *f, const char *path, const char *position) {
  if (can_grow(f))
    fail("%s: the filter is full at %s. To double its capacity: besom grow %s", path, position,
         path);
  fail("%s: the filter is full at %s, and filters of kind %s cannot grow. Build a larger one: "
       "besom build --capacity",
       path, position, filter_stats(f).kind);
}

/* How to get room for more fixes or no-list keys. */
static const char *reserve_advice(const besom_filter *f) {
  bool can_set = counter_of(f, "exception_limit");
  if (given.no) return "Build the filter again with the whole no list: besom build --dynamic --no";
  if (given.grow || given.forget)
    return can_set ? "There is no memory for more"
                   : "Filters of this kind have a fixed reserve: build one of kind aqf";
  if (can_set)
    return "For more room: besom fix --grow. To forget older fixes instead: besom fix --forget";
  return can_grow(f) ? "For more room: besom grow, or a filter of kind aqf"
                     : "Filters of this kind have a fixed reserve: build one of kind aqf";
}

/* BESOM_SET, of a kind that takes inserts: what it does not support is remove. */
static bool is_growing_set(const besom_filter *f) {
  unsigned both = BESOM_IS_SET | BESOM_CAN_INSERT;
  return (besom_abilities(f) & both) == both;
}

static _Noreturn void explain(besom_status status, const besom_filter *f, const char *path,
                              const char *position) {
  const char *kind = filter_stats(f).kind;
  if (status == BESOM_UNSUPPORTED && is_growing_set(f))
    fail(
        "%s: the filter is a set, in which one fingerprint may stand for several keys: none can be "
        "removed. Build it again by besom build, or in Python with removable=True",
        path);
  if (status == BESOM_UNSUPPORTED && besom_abilities(f) & BESOM_CAN_BUILD_NO)
    fail("%s: a filter of kind %s is static: it does not store the no list that a new key must be "
         "compared with. For a filter that can change: besom build --dynamic",
         path, kind);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: filters of kind %s do not support this; besom kinds lists what each kind supports",
         path, kind);
  if (status == BESOM_NEEDS_STORE)
    fail("%s: filters of kind %s adapt only with the stored keys. For a database with such a "
         "filter: besom db",
         path, kind);
  if (status == BESOM_IS_MEMBER)
    fail("%s: the key at %s is on the other list: remove it there first", path, position);
  if (status == BESOM_FULL) explain_full(f, path, position);
  if (status == BESOM_RESERVE_FULL)
    fail("%s: the reserve is full at %s. %s", path, position, reserve_advice(f));
  check(status, "%s: %s", path, position);
  fail("%s: %s", path, position);
}

/* The words for what an outcome counts. */
typedef struct labels {
  const char *changed, *unchanged, *unchanged_member;
} labels;

static const labels fix_labels = {"fixed", "answered no already", "already_no"};

static void print_outcome(const char *path, const besom_filter *f, const outcome *o,
                          const labels *text) {
  fprintf(stderr, "%s: %llu %s", path, (unsigned long long)o->changed, text->changed);
  if (o->unchanged) fprintf(stderr, ", %llu %s", (unsigned long long)o->unchanged, text->unchanged);
  if (o->forgotten)
    fprintf(stderr, ", %llu older ones forgotten", (unsigned long long)o->forgotten);
  if (o->members)
    fprintf(stderr, ", %llu refused: they are members", (unsigned long long)o->members);
  if (o->unfit)
    fprintf(stderr, ", %llu not fixed: the reserve is full. %s", (unsigned long long)o->unfit,
            reserve_advice(f));
  fputs("\n", stderr);
}

static void print_outcome_json(const char *path, const outcome *o, const labels *text) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_count(&j, text->changed, o->changed);
  if (text->unchanged_member) json_count(&j, text->unchanged_member, o->unchanged);
  if (strcmp(text->changed, "fixed") == 0) {
    json_count(&j, "refused_members", o->members);
    json_count(&j, "not_fixed", o->unfit);
    json_count(&j, "forgotten", o->forgotten);
  }
  json_close(&j);
}

/* Leaves out the keys that --set names, and lists some. */
static conflicts *refuse_members(key_reader *keys, outcome *o) {
  enum { SHOWN = 20 };
  if (!given.set.n) return NULL;
  key_reader *members = keys_open(given.set, &given.form);
  keys_keep(members);
  keys_keep(keys);
  if (given.form.domains) given.members = conflicts_set(members);
  conflicts *c = conflicts_find(members, keys);
  o->members = conflicts_count(c);
  conflicts_list(c, keys, &given.form, "is a member", SHOWN, NULL);
  conflicts_exclude(c, keys);
  keys_close(members);
  return c;
}

static int exit_code(const outcome *o) {
  if (o->members || o->unfit) return EXIT_PARTLY;
  return o->changed || !o->unchanged ? EXIT_YES : EXIT_NO;
}

static int change_all(words args, change *change_keys, const labels *text) {
  const char *path = args.at[0];
  if (given.json && strcmp(path, "-") == 0)
    usage_error("--json and the file - exclude each other: both are standard output");
  besom_filter *f = filter_load(path);
  given.form.domains = besom_domain_labels(f, NULL);
  key_reader *keys = keys_open((words){args.at + 1, args.n - 1}, &given.form);
  outcome o = {0};
  conflicts *members = refuse_members(keys, &o);
  besom_bytes batch[KEYS_PER_BATCH];
  bar_begin("reading keys", "bytes");
  for (size_t n, done; (n = keys_batch(keys, batch)); keys_tick(keys)) {
    besom_status status = change_keys(f, batch, n, &done, &o);
    if (status != BESOM_OK) explain(status, f, path, keys_batch_position(keys, done));
  }
  bar_end();
  filter_save(f, path);
  if (given.json)
    print_outcome_json(path, &o, text);
  else
    print_outcome(path, f, &o, text);
  keys_close(keys);
  conflicts_free(members);
  conflicts_free(given.members);
  besom_free(f);
  return exit_code(&o);
}

static int add(words args) {
  return change_all(args, given.no ? add_no_keys : add_keys, &(labels){"added", "", NULL});
}

static int remove_all(words args) {
  return change_all(args, remove_keys, &(labels){"removed", "not found", "not_found"});
}

/* ------------------------------------------------------------------ fixes beside a list */

static void fix_beside(asked_target a, FILE *out, key_reader *keys, outcome *o) {
  char spelled[DOMAIN_BYTES], name[DOMAIN_BYTES];
  besom_bytes key;
  while (keys_next(keys, &key)) {
    bool domains = asked_is_domains(a), fixed = false;
    besom_bytes entry = key;
    if (domains && is_below_member(a.filter, key)) {
      o->members++;
      continue;
    }
    bool yes = domains ? domain_query(a.filter, key, spelled, &entry) : asked_contains(a, key);
    for (; yes && !asked_is_fixed(a, &entry, domains); fixed = true) {
      besom_bytes part = entry;
      if (domains) tell_entry(key, entry);
      if (domains) {
        size_t len = domain_spelling(entry, name);
        part = (besom_bytes){name, len};
      }
      fixes_write(out, part, keys_position(keys));
      key_index_add(a.fixes, part);
    }
    o->changed += fixed;
    o->unchanged += !fixed;
  }
}

/* What is reported: the keys of the files, or those of FILE.old, to which fixes_append has renamed
 * the fixes of another version. */
static key_reader *reports_open(words files, const fixes_of *of) {
  static key_form form;
  static const char *aside; /* both in use until the end */
  bool fits;
  if (!given.again) return keys_open(files, &given.form);
  aside = fixes_aside_path(given.fixes);
  key_index_free(fixes_read(aside, of, &fits)); /* refuses files of others */
  form = given.form;
  form.format = "fixes";
  return keys_open((words){&aside, 1}, &form);
}

static void refuse_options_of_filters(words args) {
  if (given.grow || given.forget)
    usage_error("--grow and --forget are for fixes in a filter: a file of fixes has no limit");
  if (given.again && args.n > 1)
    usage_error("--again takes the keys of %s.old, and no other file", given.fixes);
}

/* Returns the exit code. */
static int fix_keys_of(asked_target a, FILE *out, key_reader *keys) {
  outcome o = {0};
  conflicts *members = refuse_members(keys, &o);
  fix_beside(a, out, keys, &o);
  fixes_close(out, given.fixes);
  if (given.json)
    print_outcome_json(given.fixes, &o, &fix_labels);
  else
    print_outcome(given.fixes, a.filter, &o, &fix_labels);
  conflicts_free(members);
  conflicts_free(given.members);
  return exit_code(&o);
}

/* The list, or the copy of a set, stays as it was signed. */
static int fix_with_file(words args) {
  bool fits, is_moved;
  refuse_options_of_filters(args);
  asked_target a = asked_open_for_fixes(args.at[0]);
  fixes_of of = asked_fixes_of(a, args.at[0]);
  given.form.domains = asked_is_domains(a);
  FILE *out = fixes_append(given.fixes, &of, &is_moved);
  if (is_moved && !given.again)
    fprintf(stderr,
            "If its keys are still absent, apply it again: besom fix %s --fixes %s --again\n",
            args.at[0], given.fixes);
  a.fixes = fixes_read(given.fixes, &of, &fits);
  key_reader *keys = reports_open((words){args.at + 1, args.n - 1}, &of);
  int code = fix_keys_of(a, out, keys);
  keys_close(keys);
  asked_close(a);
  return code;
}

static int fix(words args) {
  if (given.grow && given.forget)
    usage_error("--grow and --forget exclude each other: give one of them");
  if (given.again && !given.fixes) usage_error("--again is for --fixes FILE");
  if (given.fixes) return fix_with_file(args);
  if (is_published_set(args.at[0]))
    usage_error("%s is the copy of a published set: give --fixes FILE", args.at[0]);
  return change_all(args, fix_keys, &fix_labels);
}

const verb add_verb = {"add", "add keys to a filter", &add_command, add};
const verb remove_verb = {"remove", "remove keys from a filter", &remove_command, remove_all};
const verb fix_verb = {"fix", "report false positives, so that they are answered no", &fix_command,
                       fix};
