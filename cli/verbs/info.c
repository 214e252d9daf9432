/* besom info, verify: the properties of a filter, and whether it is valid. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "besom_reverse.h"
#include "counters.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "lists/conflicts.h"
#include "lists/keys.h"
#include "publish/asked.h"
#include "random.h"
#include "signed/trust.h"
#include "verb.h"

static bool given_json;
static uint64_t samples = 1000000;

static const argument info_arguments[] = {
    JSON_ARGUMENT(given_json),
    {"--samples", "N", "random keys for the observed false-positive rate; default 1M",
     .count = &samples, .most = 1e12},
    TRUST_ARGUMENTS,
};

static const command info_command = {
    .usage = "info FILTER [options]",
    .about = "Prints the properties of a filter: kind, keys, bits per key, false-positive rates, "
             "load factor, the counters and layers of its kind, and the lengths of the extensions. "
             "The observed "
             "false-positive rate is measured with random keys.",
    .arguments = info_arguments,
    .argument_count = COUNT_OF(info_arguments),
    .least_words = 1,
    .most_words = 1,
};

static double observed_fpr(const besom_filter *f) {
  enum { BATCH = 1024, SAMPLE_SEED = 0x5a3b1e };
  uint64_t keys[BATCH], bitmap[BATCH / 64], yes = 0;
  for (uint64_t done = 0; done < samples; done += BATCH) {
    for (unsigned i = 0; i < BATCH; i++) keys[i] = random_at(SAMPLE_SEED, done + i);
    check(besom_contains_many_u64(f, keys, BATCH, bitmap), "querying");
    for (unsigned i = 0; i < BATCH; i++) yes += bitmap[i / 64] >> (i % 64) & 1;
  }
  uint64_t asked = (samples + BATCH - 1) / BATCH * BATCH;
  return (double)yes / (double)asked;
}

enum { MAX_EXTENSION = 24 };

/* Counts fingerprints by the length of their extension in bits; the last entry counts that length
 * and more. Returns false if the kind cannot iterate. */
static bool count_extensions(const besom_filter *f, uint64_t histogram[MAX_EXTENSION + 1]) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  besom_status status;
  while ((status = besom_iter_next(&iter, &entry)) == BESOM_OK)
    histogram[entry.extension_bits < MAX_EXTENSION ? entry.extension_bits : MAX_EXTENSION]++;
  return status == BESOM_END;
}

static void print_extensions(const uint64_t *histogram) {
  for (unsigned i = 0; i <= MAX_EXTENSION; i++)
    if (histogram[i])
      printf("  %2u%s bits         %llu\n", i, i == MAX_EXTENSION ? "+" : " ",
             (unsigned long long)histogram[i]);
}

/* The name of a counter is printed with spaces: "longest chain". */
static void print_counters(const besom_filter *f) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = counters_all(f, counters);
  for (size_t i = 0; i < n; i++) {
    int column = 0;
    for (const char *c = counters[i].name; *c; c++, column++) putchar(*c == '_' ? ' ' : *c);
    printf("%*s %llu\n", column < 16 ? 16 - column : 0, "", (unsigned long long)counters[i].value);
  }
}

static void print_layers(const besom_filter *f) {
  const besom_filter *layer;
  for (size_t i = 0; (layer = besom_layer(f, i)); i++) {
    besom_statistics s = filter_stats(layer);
    printf("layer %-10zu %s, %llu keys, %llu bytes, expected FPR %.3g\n", i + 1, s.kind,
           (unsigned long long)s.keys, (unsigned long long)s.bytes, s.expected_fpr);
  }
}

/* How many fixes (besom fix) still fit, for kinds that count them. */
static bool fixes_left(const besom_filter *f, uint64_t *left) {
  uint64_t limit = counter_of(f, "exception_limit"), used = counter_of(f, "exceptions");
  *left = limit > used ? limit - used : 0;
  return limit;
}

static void print_fixes_left(const besom_filter *f) {
  uint64_t left;
  if (!fixes_left(f, &left)) return;
  printf("fixes            room for %llu more", (unsigned long long)left);
  puts(besom_abilities(f) & BESOM_FORGETS ? ", then it forgets older ones" : "");
}

static void print_domains(const besom_filter *f) {
  unsigned flags, labels = besom_domain_labels(f, &flags);
  if (!labels) return;
  printf("domains          of up to %u labels%s; the rates are per label\n", labels,
         flags & BESOM_DOMAINS_EXCEPT ? ", with exceptions" : "");
}

static void print_table(const char *path, const besom_filter *f, const besom_statistics *s) {
  uint64_t histogram[MAX_EXTENSION + 1] = {0};
  printf("file             %s\n", path);
  printf("kind             %s\n", s->kind);
  printf("hash             %s\n", s->hash);
  printf("keys             %s%llu\n", filter_counts_keys(f) ? "" : "at least ",
         (unsigned long long)s->keys);
  printf("capacity         %llu\n", (unsigned long long)s->capacity);
  printf("bytes            %llu\n", (unsigned long long)s->bytes);
  printf("bits per key     %.2f", s->bits_per_key);
  uint64_t least = counter_of(f, "least_bits"); /* of filters that know their lists */
  if (least && s->keys)
    printf(" (least possible: %.2f)", (double)least / (double)s->keys);
  else if (s->expected_fpr > 0 && s->expected_fpr < 0.5)
    printf(" (least possible for the expected FPR: %.2f)", -log2(s->expected_fpr));
  putchar('\n');
  printf("slots            %llu of %u bits, load factor %.3f\n", (unsigned long long)s->slots,
         s->width, s->load_factor);
  printf("expected FPR     %.3g (%.3g when full)\n", s->expected_fpr, s->fpr_at_capacity);
  printf("observed FPR     %.3g (%llu random keys)\n", observed_fpr(f),
         (unsigned long long)samples);
  printf("reserve used     %.1f %%\n", 100 * s->reserve_used);
  print_fixes_left(f);
  print_domains(f);
  print_counters(f);
  print_layers(f);
  if (counter_of(f, "extended") && count_extensions(f, histogram))
    printf("fingerprints by extension\n"), print_extensions(histogram);
}

static void print_counters_json(json *j, const besom_filter *f) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = counters_all(f, counters);
  json_open(j, "counters", '{');
  for (size_t i = 0; i < n; i++) json_count(j, counters[i].name, counters[i].value);
  json_close(j);
}

static void print_layers_json(json *j, const besom_filter *f) {
  const besom_filter *layer;
  json_open(j, "layers", '[');
  for (size_t i = 0; (layer = besom_layer(f, i)); i++) {
    besom_statistics s = filter_stats(layer);
    json_open(j, NULL, '{');
    json_text(j, "kind", s.kind);
    json_count(j, "keys", s.keys);
    json_count(j, "bytes", s.bytes);
    json_real(j, "expected_fpr", s.expected_fpr);
    json_close(j);
  }
  json_close(j);
}

static void print_extensions_json(json *j, const besom_filter *f) {
  uint64_t histogram[MAX_EXTENSION + 1] = {0};
  bool known = count_extensions(f, histogram);
  json_open(j, "extensions", '[');
  for (unsigned i = 0; known && i <= MAX_EXTENSION; i++) json_count(j, NULL, histogram[i]);
  json_close(j);
}

static void print_json(const char *path, const besom_filter *f, const besom_statistics *s) {
  uint64_t left;
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_text(&j, "kind", s->kind);
  json_text(&j, "hash", s->hash);
  json_count(&j, "keys", s->keys);
  json_flag(&j, "keys_exact", filter_counts_keys(f));
  json_count(&j, "capacity", s->capacity);
  json_count(&j, "bytes", s->bytes);
  json_real(&j, "bits_per_key", s->bits_per_key);
  json_count(&j, "slots", s->slots);
  json_count(&j, "width", s->width);
  json_real(&j, "load_factor", s->load_factor);
  json_real(&j, "expected_fpr", s->expected_fpr);
  json_real(&j, "fpr_at_capacity", s->fpr_at_capacity);
  json_real(&j, "observed_fpr", observed_fpr(f));
  json_real(&j, "reserve_used", s->reserve_used);
  if (fixes_left(f, &left)) json_count(&j, "fixes_left", left);
  if (besom_domain_labels(f, NULL)) json_count(&j, "domain_labels", besom_domain_labels(f, NULL));
  print_counters_json(&j, f);
  print_layers_json(&j, f);
  print_extensions_json(&j, f);
  json_close(&j);
}

static int info(words args) {
  if (is_published_set(args.at[0])) return published_set_info(args.at[0], given_json);
  besom_filter *f = filter_open(args.at[0]);
  besom_statistics stats = filter_stats(f);
  if (given_json)
    print_json(args.at[0], f, &stats);
  else
    print_table(args.at[0], f, &stats);
  besom_free(f);
  return 0;
}

static struct {
  words yes, no;
  const char *on_conflict, *no_format;
  key_form form;
} lists = {.form = {.is_list = true}};

static const argument verify_arguments[] = {
    {"--yes", "FILE", "keys that must be answered yes; may be repeated", .list = &lists.yes},
    {"--no", "FILE", "keys that must be answered no; may be repeated", .list = &lists.no},
    {"--on-conflict", "POLICY",
     "keys in both lists: they count as yes, or as no; default (error): one of their answers is "
     "wrong",
     .text = &lists.on_conflict},
    KEY_FORM_ARGUMENTS(lists.form),
    NO_FORMAT_ARGUMENT(lists.no_format),
    JSON_ARGUMENT(given_json),
    TRUST_ARGUMENTS,
};

static const command verify_command = {
    .usage = "verify FILTER [--yes FILE]... [--no FILE]...",
    .about =
        "Verifies the checksums and every invariant of a saved filter. If one fails, prints what "
        "is wrong and at which byte, and the exit code is 3. With --yes and --no, also asks every "
        "key of the lists. If an answer is wrong, prints the first keys, and the exit code is "
        "3.\n\n" KEY_FORM_HELP,
    .arguments = verify_arguments,
    .argument_count = COUNT_OF(verify_arguments),
    .examples = "  besom verify blocked.besom --yes phishing.txt --no popular.txt",
    .least_words = 1,
    .most_words = 1,
};

/* The keys of a list that were asked, and how many were answered wrongly. */
typedef struct verdict {
  uint64_t keys, wrong;
} verdict;

/* Asks all keys of a list, and shows some that were answered wrongly. */
static verdict ask_list(const besom_filter *f, key_reader *keys, bool expected) {
  enum { SHOWN = 10, MOST_BYTES = 200 };
  verdict v = {0, 0};
  besom_bytes key;
  if (!keys) return v;
  while (keys_next(keys, &key)) {
    if (besom_contains(f, key.data, key.len) == expected) continue;
    if (v.wrong++ < SHOWN)
      fprintf(stderr, "%s: '%.*s' is answered %s\n", keys_position(keys),
              (int)(key.len < MOST_BYTES ? key.len : MOST_BYTES), (const char *)key.data,
              expected ? "no" : "yes");
  }
  v.keys = keys_count(keys);
  if (!given_json)
    printf("%llu of %llu keys of the %s list are answered wrongly\n", (unsigned long long)v.wrong,
           (unsigned long long)v.keys, expected ? "yes" : "no");
  return v;
}

static void print_verdicts_json(const char *path, verdict yes, verdict no) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_flag(&j, "valid", true);
  json_count(&j, "yes_keys", yes.keys);
  json_count(&j, "wrong_yes_keys", yes.wrong);
  json_count(&j, "no_keys", no.keys);
  json_count(&j, "wrong_no_keys", no.wrong);
  json_close(&j);
}

/* Leaves the keys that are in both lists out of the one that --on-conflict decides against. */
static conflicts *skip_conflicts(key_reader *yes, key_reader *no) {
  const char *policy = lists.on_conflict;
  if (!policy || strcmp(policy, "error") == 0) return NULL;
  bool as_yes = strcmp(policy, "yes") == 0;
  if (!as_yes && strcmp(policy, "no") != 0)
    usage_error("--on-conflict: '%s' is not error, yes or no", policy);
  if (!yes || !no) return NULL;
  conflicts *both = conflicts_find(yes, no);
  conflicts_exclude(both, as_yes ? no : yes);
  if (!given_json)
    printf("%llu keys are in both lists: they count as %s\n",
           (unsigned long long)conflicts_count(both), policy);
  return both;
}

/* Whether all keys of the lists are answered rightly. */
static bool ask_lists(const char *path, const besom_filter *f) {
  lists.form.domains = besom_domain_labels(f, NULL);
  key_reader *yes = lists.yes.n ? keys_open(lists.yes, &lists.form) : NULL,
             *no = lists.no.n ? keys_open_as(lists.no, &lists.form, lists.no_format) : NULL;
  if (yes && lists.on_conflict) keys_keep(yes);
  if (no && lists.on_conflict) keys_keep(no);
  conflicts *both = skip_conflicts(yes, no);
  fflush(stdout); /* before the keys with wrong answers, which go to stderr */
  verdict of_yes = ask_list(f, yes, true), of_no = ask_list(f, no, false);
  if (given_json) print_verdicts_json(path, of_yes, of_no);
  conflicts_free(both);
  keys_close(yes);
  keys_close(no);
  return !of_yes.wrong && !of_no.wrong;
}

/* The keys of a set can be asked by besom query. */
static int verify_set(const char *path) {
  if (lists.yes.n || lists.no.n)
    usage_error("--yes and --no are for filters, not for published sets: besom query");
  return published_set_verify(path, given_json);
}

static int verify(words args) {
  if (is_published_set(args.at[0])) return verify_set(args.at[0]);
  trusted_verify(args.at[0]);
  besom_fault fault = {0};
  besom_open_options options = {.flags = BESOM_OPEN_MMAP, .fault = &fault};
  besom_filter *f = NULL;
  besom_status status = besom_open(args.at[0], &options, &f);
  if (status == BESOM_IO) fail("%s: %s", args.at[0], strerror(errno));
  if (status == BESOM_CORRUPT && fault.what)
    fail("%s: %s (at byte %llu)", args.at[0], fault.what, (unsigned long long)fault.offset);
  check(status, "%s", args.at[0]);
  if (!given_json) printf("%s: valid\n", args.at[0]);
  bool all_right = ask_lists(args.at[0], f);
  besom_free(f);
  return all_right ? EXIT_YES : EXIT_FAILED;
}

const verb info_verb = {"info", "print the properties of a filter", &info_command, info};
const verb verify_verb = {"verify", "verify that a saved filter is valid", &verify_command, verify};
