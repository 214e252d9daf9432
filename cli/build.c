/* besom build: a filter from lists of keys. */
#include <stdio.h>
#include <stdlib.h>

#include "bar.h"
#include "fail.h"
#include "files.h"
#include "keys.h"
#include "seed.h"
#include "verb.h"

static struct {
  words yes, no;
  const char *kind, *options, *seed, *like, *hash;
  double fpr, bits;
  uint64_t capacity, max_capacity, value_bits, memory;
  bool dynamic;
  key_form form;
} given = {.kind = "aqf"};

static const argument arguments[] = {
    {"--yes", "FILE", "keys of the set; may be given again; default: standard input",
     .list = &given.yes},
    {"--no", "FILE", "keys that must be answered no; may be given again", .list = &given.no},
    {"--kind", "KIND", "kind of filter (besom kinds); default aqf", .text = &given.kind},
    {"--fpr", "RATE", "most wanted rate of wrong yeses; default 1/256", .real = &given.fpr,
     .least = 1e-18, .most = 1},
    {"--bits", "BITS", "instead: bits a key", .real = &given.bits, .least = 0.1, .most = 1000},
    {"--capacity", "N", "keys it can hold; default: as many as there are", .count = &given.capacity,
     .most = 1e14},
    {"--max-capacity", "N", "keys it can be grown to (besom grow)", .count = &given.max_capacity,
     .most = 1e14},
    {"--value-bits", "BITS", "room for a small value with every key", .count = &given.value_bits,
     .most = 32},
    {"--seed", "HEX", "32 hex digits: the key of the hash. The same lists give the same file then",
     .text = &given.seed},
    {"--hash", "NAME", "xxh3 (default), or sip for keys that enemies choose", .text = &given.hash},
    {"--like", "FILE", "hash, seed and size of this filter, so that both can be merged",
     .text = &given.like},
    {"--dynamic", NULL, "with --no: lists that can be changed later (besom add); larger",
     .flag = &given.dynamic},
    {"--options", "K=V,...", "of the kind: docs/kinds.md", .text = &given.options},
    {"--memory", "BYTES", "most memory besides the filter (500M); default 16 bytes a key",
     .count = &given.memory, .least = 1, .most = 1e18},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command build_command = {
    .usage = "build OUT [--yes FILE]... [--no FILE]... [options]",
    .about = "Builds a filter from lists of keys and writes it to the file OUT. With a list of "
             "keys to be answered no,\n"
             "the filter is exact on both lists: yes to every yes key, no to every no key. A key "
             "in both is an\n"
             "error. Keys that are given twice count once. A few kinds (learned, stacked) take the "
             "no list for a sample of\n"
             "what will be asked, and promise nothing for a single key of it.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 1,
    .more = "  besom build blocked.besom --yes phishing.txt --no popular.txt --fpr 0.001\n"
            "  sort -u words | besom build words.besom --bits 12",
};

/* ------------------------------------------------------------------ a key in both lists */

static int compare_digests(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Finds it by the digests of the yes list, and says which it is. */
static _Noreturn void name_the_common_key(key_reader *yes, key_reader *no) {
  besom_config small = {.kind = "qf", .capacity = 1};
  besom_filter *hash;
  check(besom_create(&small, &hash), "looking for the key");
  size_t n = 0, room = 0;
  besom_digest *digests = NULL;
  besom_bytes key;
  for (keys_rewind(yes); keys_next(yes, &key); n++) {
    if (n == room) digests = realloc(digests, (room = room ? 2 * room : 1024) * sizeof *digests);
    if (!digests) fail("a key is in both lists");
    digests[n] = besom_hash(hash, key.data, key.len);
  }
  qsort(digests, n, sizeof *digests, compare_digests);
  for (keys_rewind(no); keys_next(no, &key);) {
    besom_digest d = besom_hash(hash, key.data, key.len);
    if (bsearch(&d, digests, n, sizeof d, compare_digests))
      fail("%s: '%.*s' is in the yes list, too", keys_place(no),
           (int)(key.len < 200 ? key.len : 200), (const char *)key.data);
  }
  fail("a key is in both lists");
}

/* ------------------------------------------------------------------ building */

static besom_config config_given(const uint8_t *seed) {
  return (besom_config){.kind = given.kind,
                        .options = given.options,
                        .hash = given.hash,
                        .seed = seed,
                        .capacity = given.capacity,
                        .max_capacity = given.max_capacity,
                        .fpr = given.fpr,
                        .bits = given.bits,
                        .value_bits = (uint32_t)given.value_bits,
                        .build_memory = given.memory,
                        .flags = BESOM_DISTINCT};
}

static _Noreturn void explain(besom_status status) {
  if (status == BESOM_UNKNOWN_KIND)
    usage_error("there is no kind '%s': besom kinds lists them", given.kind);
  if (status == BESOM_UNSUPPORTED && given.no.n)
    usage_error("filters of the kind %s cannot be exact on a no list: try aqf or cascade",
                given.kind);
  if (status == BESOM_BAD_OPTION)
    usage_error("%s does not know these --options, or there is no such --hash", given.kind);
  if (status == BESOM_INVALID)
    usage_error("%s cannot be made like that: is the rate, or the size, out of range?", given.kind);
  if (status == BESOM_FULL) fail("the keys do not fit: more than the capacity");
  check(status, "building a filter of the kind %s", given.kind);
  fail("building");
}

/* Room for a no list that is to be entered key by key, and for half as many to come. */
static uint64_t room_for(key_reader *no) {
  besom_bytes key;
  while (keys_next(no, &key)) continue;
  uint64_t n = keys_count(no);
  keys_rewind(no);
  return n + n / 2;
}

static besom_filter *build_new(key_reader *yes, key_reader *no, uint64_t no_capacity) {
  uint8_t seed[SEED_BYTES];
  besom_config config = config_given(seed_read(given.seed, seed));
  config.no_capacity = no_capacity;
  besom_source yes_source = keys_source(yes), no_source = no ? keys_source(no) : (besom_source){0};
  besom_filter *f = NULL;
  besom_status status =
      besom_build(&config, &yes_source, no ? &no_source : NULL, &bar_progress, &f);
  if (status == BESOM_IS_MEMBER) name_the_common_key(yes, no);
  if (status != BESOM_OK) explain(status);
  return f;
}

/* A static filter of two lists takes both at once; *no is set to NULL then: there is no more to do with it. */
static besom_filter *build_like(const char *model_path, key_reader *yes, key_reader **no) {
  besom_filter *model = filter_open(model_path), *f = NULL;
  bool is_static = !(filter_kind(model)->abilities & BESOM_CAN_INSERT);
  besom_source yes_source = keys_source(yes),
               no_source = *no ? keys_source(*no) : (besom_source){0};
  besom_status status =
      besom_build_like(model, &yes_source, is_static && *no ? &no_source : NULL, &bar_progress, &f);
  if (status == BESOM_IS_MEMBER) name_the_common_key(yes, *no);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: a filter of the kind %s can have no other like it", model_path,
         filter_stats(model).kind);
  if (status != BESOM_OK) explain(status);
  if (is_static) *no = NULL;
  besom_free(model);
  return f;
}

/* Lists that may change: each no key is an entry of its own, which a yes key must not have. */
static void add_no_list(besom_filter *f, key_reader *no) {
  besom_bytes key;
  while (keys_next(no, &key)) check(besom_no_add(f, key.data, key.len), "%s", keys_place(no));
}

static int run(words words) {
  if (given.fpr && given.bits) usage_error("--fpr and --bits exclude each other");
  key_reader *yes = keys_open(given.yes, &given.form),
             *no = given.no.n ? keys_open(given.no, &given.form) : NULL;
  keys_keep(yes); /* the library counts them first, or we look for one that is in both lists */
  if (no) keys_keep(no);
  bar_begin("building", "keys");
  key_reader *entries =
      given.dynamic || given.like ? no : NULL; /* keys of the no list that go in one by one */
  besom_filter *f = given.like ? build_like(given.like, yes, &entries)
                    : entries  ? build_new(yes, NULL, room_for(no))
                               : build_new(yes, no, 0);
  if (entries) add_no_list(f, entries);
  bar_end();
  besom_statistics stats = filter_stats(f);
  uint64_t read = keys_count(yes);
  filter_save(f, words.at[0]);
  fprintf(stderr, "%s: %s, %llu keys, %.2f bits a key", words.at[0], stats.kind,
          (unsigned long long)stats.items, stats.bits_per_key);
  if (read > stats.items)
    fprintf(stderr, ", %llu duplicates", (unsigned long long)(read - stats.items));
  if (no && filter_kind(f)->abilities & BESOM_TAKES_SAMPLE)
    fputs(", not exact on the no list", stderr);
  fputs("\n", stderr);
  keys_close(yes);
  keys_close(no);
  besom_free(f);
  return 0;
}

const verb build_verb = {"build", "make a filter from lists of keys", &build_command, run};
