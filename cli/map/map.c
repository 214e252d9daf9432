/* besom map: maplets in files, which lead from a key to its values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "counters.h"
#include "files.h"
#include "json.h"
#include "lists/keys.h"
#include "map/file_index.h"
#include "number_text.h"
#include "seed.h"
#include "verb.h"

static struct {
  words pairs;
  const char *key, *seed, *hash;
  double fpr;
  uint64_t capacity, max_capacity, value_bits;
  bool ignore, verify, count, json;
  key_form form;
} given = {.fpr = 1.0 / 256};

static const argument arguments[] = {
    {"--pairs", "FILE", "build: lines of key, tab, value; may be repeated", .list = &given.pairs},
    {"--key", "COLUMN",
     "files: the column of the key, a number or a name of the first record; default: the line",
     .text = &given.key},
    {"--fpr", "RATE", "build, files: wrong candidates per key; default 1/256", .rate = &given.fpr,
     .least = 1e-12, .most = 0.5},
    {"--capacity", "N", "build, files: room for so many pairs; default: those that are given",
     .count = &given.capacity, .least = 1, .most = 1e12},
    {"--max-capacity", "N", "build, files: it can grow to so many pairs without a higher rate",
     .count = &given.max_capacity, .least = 1, .most = 1e12},
    {"--value-bits", "N", "build, files: bits of a value; default: as the greatest one needs",
     .count = &given.value_bits, .least = 1, .most = 32},
    {"--ignore-repeats", NULL, "build, files: add ignores pairs that are there; no remove",
     .flag = &given.ignore},
    {"--seed", "HEX", "build, files: seed of the hash, 32 hex digits; default: random",
     .text = &given.seed},
    {"--hash", "NAME", "build, files: xxh3 (default), or sip if adversaries choose the keys",
     .text = &given.hash},
    {"--verify", NULL,
     "get: open the candidate files, print the records with the key, and report wrong candidates",
     .flag = &given.verify},
    {"--count", NULL, "query: print the number of keys with candidates", .flag = &given.count},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};

static const command map_command = {
    .usage = "map build|get|query|add|remove|fix|info|files MAP [arguments] [options]",
    .about =
        "A map leads from a key to its values: which file, table, node or partition may have the "
        "key? It takes little more than the bits of a value per pair. All values of a key that "
        "is in the map are among the candidates; a wrong candidate comes at the rate --fpr, and "
        "not again once it was reported.\n\n"
        "  build MAP --pairs FILE   make a map of lines: key, tab, value. Values are\n"
        "                           numbers, or names that the map keeps\n"
        "  files MAP PATH...        make a map of the keys in files, and in the files of\n"
        "                           directories: CSV, TSV, or lines\n"
        "  get MAP KEY...           print key, tab, candidate, one per line\n"
        "  query MAP [LOG]          the same for the keys of a file or of standard input\n"
        "  add MAP [FILE]           add pairs: all or none\n"
        "  remove MAP [FILE]        remove pairs that were added\n"
        "  fix MAP [FILE]           report wrong candidates: key, tab, value; a key alone\n"
        "                           reports all its candidates\n"
        "  info MAP                 print the properties\n\n"
        "The exit code of get is 1 if a key has no candidate, that of query if none has one, that "
        "of remove if no pair was found. fix takes only pairs that are not in the map: it cannot "
        "tell.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .examples = "  besom map build shards.map --pairs shards.tsv\n"
                "  besom map get shards.map user4711\n"
                "  besom map files logs.map /var/log/app --key user_id\n"
                "  besom map get logs.map 4711 --verify",
};

/* ------------------------------------------------------------------ pairs of lines */

/* Splits a line at its last tab. False if there is none: then all of it is the key. */
static bool split_pair(besom_bytes line, besom_bytes *key, besom_bytes *value) {
  const char *text = line.data;
  size_t at = line.len;
  while (at && text[at - 1] != '\t') at--;
  *key = (besom_bytes){text, at ? at - 1 : line.len};
  *value = (besom_bytes){text + at, at ? line.len - at : 0};
  return at;
}

static void need_pair(const key_reader *reader, besom_bytes line, besom_bytes *key,
                      besom_bytes *value) {
  if (!split_pair(line, key, value) || !value->len)
    fail("%s: no tab and value after the key", keys_position(reader));
}

/* ------------------------------------------------------------------ build and files */

static unsigned bits_for(uint64_t most) {
  unsigned bits = 1;
  while (most >> bits) bits++;
  return bits;
}

static pair_list *new_list(void) {
  static uint8_t seed[SEED_BYTES];
  besom_config config = {.kind = "aqf",
                         .options = given.ignore ? "maplet=yes,repeats=ignore" : "maplet=yes",
                         .hash = given.hash,
                         .seed = seed_read(given.seed, seed),
                         .fpr = given.fpr,
                         .max_capacity = given.max_capacity};
  return pair_list_create(&config);
}

static void print_made(const char *path, const besom_filter *f, const value_names *names) {
  besom_statistics stats = filter_stats(f);
  uint64_t values = names->kind == VALUE_NUMBERS ? 0 : key_index_count(names->index);
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_count(&j, "pairs", stats.keys);
    json_real(&j, "bits_per_pair", stats.bits_per_key);
    if (names->kind != VALUE_NUMBERS)
      json_count(&j, names->kind == VALUE_FILES ? "files" : "names", values);
    json_close(&j);
    return;
  }
  printf("%s: %s pairs", path, grouped(stats.keys).text);
  if (names->kind == VALUE_FILES) printf(" of %s files", grouped(values).text);
  if (names->kind == VALUE_NAMES) printf(", %s names", grouped(values).text);
  printf(", %.2f bits per pair\n", stats.bits_per_key);
}

/* Makes the maplet of the list, and writes it. most: the greatest value. */
static int finish_map(const char *path, pair_list *list, value_names *names, uint64_t most) {
  unsigned bits = bits_for(most);
  if (given.value_bits && given.value_bits < bits)
    usage_error("--value-bits %u: the greatest value needs %u", (unsigned)given.value_bits, bits);
  if (given.value_bits) bits = (unsigned)given.value_bits;
  besom_filter *f = pair_list_build(list, bits, given.capacity);
  value_names_write(f, names);
  bar_end();
  filter_save(f, path);
  print_made(path, f, names);
  pair_list_free(list);
  value_names_free(names);
  besom_free(f);
  return EXIT_YES;
}

static bool all_are_numbers(key_reader *reader) {
  besom_bytes line, key, value;
  uint32_t number;
  bool all = true;
  while (keys_next(reader, &line)) {
    need_pair(reader, line, &key, &value);
    all &= value_is_number(value, &number);
    if (keys_count(reader) % 1024 == 0) keys_tick(reader);
  }
  keys_rewind(reader);
  return all;
}

static int build_map(const char *path) {
  value_names names = {.kind = VALUE_NUMBERS};
  pair_list *list = new_list();
  besom_bytes line, key, value;
  uint32_t number;
  uint64_t most = 1;
  given.form.is_list = true;
  key_reader *reader = keys_open(given.pairs, &given.form);
  keys_keep(reader);
  bar_begin("reading", "bytes");
  if (!all_are_numbers(reader)) {
    names.kind = VALUE_NAMES;
    names.index = key_index_create();
  }
  while (keys_next(reader, &line)) {
    need_pair(reader, line, &key, &value);
    if (!value_names_number(&names, value, true, &number))
      fail("%s: no number", keys_position(reader));
    if (number > most) most = number;
    pair_list_add(list, key, number);
    if (keys_count(reader) % 1024 == 0) keys_tick(reader);
  }
  keys_close(reader);
  bar_begin("building", "pairs");
  return finish_map(path, list, &names, most);
}

static int index_files(const char *path, words paths) {
  value_names names = {.kind = VALUE_FILES, .index = key_index_create()};
  pair_list *list = new_list();
  if (!paths.n) usage_error("map files: no file or directory");
  names.key_spec = given.key ? given.key : "";
  bar_begin("indexing", "bytes");
  file_index_add(paths, given.key, path, list, &names);
  bar_begin("building", "pairs");
  uint32_t files = key_index_count(names.index);
  return finish_map(path, list, &names, files ? files - 1 : 0);
}

/* ------------------------------------------------------------------ queries */

/* The answers to one key. */
struct answer {
  const value_names *names;
  besom_bytes key;
  const uint64_t *values;
  size_t n;
};

static besom_bytes shown_value(const struct answer *a, size_t i, char digits[VALUE_DIGITS]) {
  besom_bytes text = value_names_text(a->names, a->values[i], digits);
  return a->names->kind == VALUE_FILES ? file_path(text) : text;
}

static void print_values_json(json *j, const struct answer *a) {
  char digits[VALUE_DIGITS];
  json_open(j, "values", '[');
  for (size_t i = 0; i < a->n; i++) {
    if (a->names->kind == VALUE_NUMBERS) {
      json_count(j, NULL, a->values[i]);
    } else {
      besom_bytes text = shown_value(a, i, digits);
      char *copy = allocate(text.len + 1, 1);
      memcpy(copy, text.data, text.len);
      json_text(j, NULL, copy);
      free(copy);
    }
  }
  json_close(j);
}

static void print_answer(const struct answer *a) {
  char digits[VALUE_DIGITS];
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_bytes(&j, "key", a->key.data, a->key.len);
    print_values_json(&j, a);
    json_close(&j);
    return;
  }
  for (size_t i = 0; i < a->n; i++) {
    besom_bytes text = shown_value(a, i, digits);
    fwrite(a->key.data, 1, a->key.len, stdout);
    putchar('\t');
    fwrite(text.data, 1, text.len, stdout);
    putchar('\n');
  }
}

/* The candidates of a key in a buffer that grows with them. */
static size_t candidates_of(const besom_filter *f, besom_bytes key, uint64_t **values) {
  static uint64_t *buffer;
  static size_t room;
  size_t n;
  for (;;) {
    check(besom_get_values(f, key.data, key.len, buffer, room, &n), "querying");
    if (n <= room) break;
    room = n + 16;
    buffer = reallocate(buffer, room, sizeof *buffer);
  }
  *values = buffer;
  return n;
}

/* ------------------------------------------------------------------ get --verify */

static void print_record(void *ctx, const char *path, besom_bytes record) {
  json *j = ctx;
  if (!given.json) {
    printf("%s\t", path);
    fwrite(record.data, 1, record.len, stdout);
    putchar('\n');
    return;
  }
  json_open(j, NULL, '{');
  json_text(j, "file", path);
  json_bytes(j, "record", record.data, record.len);
  json_close(j);
}

/* Returns whether some file has the key. *wrong: the candidates that were reported. */
static bool verify_answer(besom_filter *f, const struct answer *a, uint64_t *wrong, bool *unsure) {
  json j = {0};
  bool found = false;
  if (given.json) {
    json_open(&j, NULL, '{');
    json_bytes(&j, "key", a->key.data, a->key.len);
    print_values_json(&j, a);
    json_open(&j, "records", '[');
  }
  uint64_t before = *wrong;
  for (size_t i = 0; i < a->n; i++) {
    verdict v = file_verify(a->names, (uint32_t)a->values[i], a->key, print_record, &j);
    found |= v == HAS_KEY;
    *unsure |= v == CANNOT_TELL;
    if (v != HAS_NOT) continue;
    besom_status status = besom_adapt_value(f, a->key.data, a->key.len, a->values[i]);
    if (status == BESOM_RESERVE_FULL) fprintf(stderr, "no room for more reports\n");
    if (status != BESOM_RESERVE_FULL && status != BESOM_EVICTED) check(status, "reporting");
    *wrong += status != BESOM_RESERVE_FULL;
  }
  if (given.json) {
    json_close(&j);
    json_count(&j, "wrong", *wrong - before);
    json_close(&j);
  }
  return found;
}

static int verify_keys(const char *path, words keys) {
  besom_filter *f = filter_load(path);
  value_names names = value_names_read(f, path);
  uint64_t wrong = 0;
  bool all = true, unsure = false;
  if (names.kind != VALUE_FILES) usage_error("--verify: %s is no map of files", path);
  for (size_t i = 0; i < keys.n; i++) {
    besom_bytes key = {keys.at[i], strlen(keys.at[i])};
    uint64_t *values;
    size_t n = candidates_of(f, key, &values);
    all &= verify_answer(f, &(struct answer){&names, key, values, n}, &wrong, &unsure);
  }
  if (wrong) filter_save(f, path);
  if (wrong && !given.json)
    fprintf(stderr, "%s: %s wrong candidate%s reported\n", path, grouped(wrong).text,
            wrong == 1 ? "" : "s");
  value_names_free(&names);
  besom_free(f);
  return unsure ? EXIT_FAILED : all ? EXIT_YES : EXIT_NO;
}

static int get_keys(const char *path, words keys) {
  if (!keys.n) usage_error("map get: no key");
  for (size_t i = 0; i < keys.n; i++) keys.at[i] = key_of_word(keys.at[i], &given.form);
  if (given.verify) return verify_keys(path, keys);
  besom_filter *f = filter_open(path);
  value_names names = value_names_read(f, path);
  bool all = true;
  for (size_t i = 0; i < keys.n; i++) {
    struct answer a = {.names = &names, .key = {keys.at[i], strlen(keys.at[i])}};
    uint64_t *values;
    a.n = candidates_of(f, a.key, &values);
    a.values = values;
    all &= a.n > 0;
    print_answer(&a);
  }
  value_names_free(&names);
  besom_free(f);
  return all ? EXIT_YES : EXIT_NO;
}

static int query_log(const char *path, words files) {
  enum { ROOM = 16 * KEYS_PER_BATCH };
  static uint64_t out[ROOM];
  besom_bytes batch[KEYS_PER_BATCH];
  size_t starts[KEYS_PER_BATCH + 1], done;
  besom_filter *f = filter_open(path);
  value_names names = value_names_read(f, path);
  key_reader *reader = keys_open(files, &given.form);
  uint64_t hits = 0;
  bar_begin("querying", "bytes");
  for (size_t n; (n = keys_batch(reader, batch));) {
    for (size_t from = 0; from < n; from += done) {
      check(besom_get_values_many(f, batch + from, n - from, out, ROOM, starts, &done), "querying");
      for (size_t i = 0; i < done; i++) {
        struct answer a = {&names, batch[from + i], out + starts[i], starts[i + 1] - starts[i]};
        hits += a.n > 0;
        if (a.n && !given.count) print_answer(&a);
      }
      if (done) continue;
      uint64_t *values; /* of a key with very many */
      struct answer a = {.names = &names, .key = batch[from]};
      a.n = candidates_of(f, a.key, &values);
      a.values = values;
      hits++;
      if (!given.count) print_answer(&a);
      done = 1;
    }
    keys_tick(reader);
  }
  bar_end();
  if (given.count) printf("%llu\n", (unsigned long long)hits);
  keys_close(reader);
  value_names_free(&names);
  besom_free(f);
  return hits ? EXIT_YES : EXIT_NO;
}

/* ------------------------------------------------------------------ changes */

typedef struct outcome {
  uint64_t changed, unchanged, unfit;
} outcome;

/* Changes a pair; value.data is NULL if the line has no value. */
typedef void pair_change(besom_filter *f, value_names *names, const key_reader *reader,
                         besom_bytes key, besom_bytes value, outcome *o);

static uint32_t number_of(value_names *names, const key_reader *reader, besom_bytes value,
                          bool add) {
  uint32_t number;
  if (!value_names_number(names, value, add, &number))
    fail("%s: '%.*s' is no %s of this map", keys_position(reader), (int)value.len,
         (const char *)value.data, names->kind == VALUE_NUMBERS ? "number" : "name");
  return number;
}

static void add_pair(besom_filter *f, value_names *names, const key_reader *reader, besom_bytes key,
                     besom_bytes value, outcome *o) {
  uint32_t number = number_of(names, reader, value, true);
  besom_status status = besom_insert_value(f, key.data, key.len, number);
  if (status == BESOM_INVALID)
    fail("%s: the value needs more bits than the map has. Build it with --value-bits",
         keys_position(reader));
  if (status == BESOM_FULL)
    fail("%s: the map is full. To double its capacity: besom grow MAP", keys_position(reader));
  check(status, "%s", keys_position(reader));
  o->changed++;
}

static void remove_pair(besom_filter *f, value_names *names, const key_reader *reader,
                        besom_bytes key, besom_bytes value, outcome *o) {
  uint32_t number = number_of(names, reader, value, false);
  besom_status status = besom_remove_value(f, key.data, key.len, number);
  if (status == BESOM_UNSUPPORTED)
    fail("a map that was built with --ignore-repeats has no remove: build it again");
  if (status != BESOM_NOT_FOUND && status != BESOM_INVALID)
    check(status, "%s", keys_position(reader));
  *(status == BESOM_OK ? &o->changed : &o->unchanged) += 1;
}

static bool has_candidate(const besom_filter *f, besom_bytes key, uint32_t number) {
  uint64_t *values;
  size_t n = candidates_of(f, key, &values);
  for (size_t i = 0; i < n; i++)
    if (values[i] == number) return true;
  return false;
}

static void fix_pair(besom_filter *f, value_names *names, const key_reader *reader, besom_bytes key,
                     besom_bytes value, outcome *o) {
  uint32_t number = value.data ? number_of(names, reader, value, false) : 0;
  bool is_candidate =
      value.data ? has_candidate(f, key, number) : besom_contains(f, key.data, key.len);
  if (!is_candidate) {
    o->unchanged++;
    return;
  }
  besom_status status = value.data ? besom_adapt_value(f, key.data, key.len, number)
                                   : besom_adapt(f, key.data, key.len);
  if (status == BESOM_RESERVE_FULL)
    o->unfit++;
  else if (status != BESOM_EVICTED)
    check(status, "%s", keys_position(reader));
  o->changed += status != BESOM_RESERVE_FULL;
}

static void print_outcome(const char *path, const outcome *o, const char *done, const char * not ) {
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_count(&j, done, o->changed);
    if (not ) json_count(&j, "unchanged", o->unchanged);
    if (o->unfit) json_count(&j, "unfit", o->unfit);
    json_close(&j);
    return;
  }
  printf("%s: %s %s", path, grouped(o->changed).text, done);
  if (o->unchanged) printf(", %s %s", grouped(o->unchanged).text, not );
  if (o->unfit) printf(", %s did not fit: the room for reports is used up", grouped(o->unfit).text);
  putchar('\n');
}

static int change_pairs(const char *path, words files, pair_change *change, bool value_needed,
                        const char *done, const char * not ) {
  besom_filter *f = filter_load(path);
  value_names names = value_names_read(f, path);
  outcome o = {0, 0, 0};
  besom_bytes line, key, value;
  uint32_t had = names.index ? key_index_count(names.index) : 0;
  given.form.is_list = true;
  key_reader *reader = keys_open(files, &given.form);
  bar_begin("reading", "bytes");
  while (keys_next(reader, &line)) {
    if (value_needed)
      need_pair(reader, line, &key, &value);
    else if (!split_pair(line, &key, &value))
      value.data = NULL;
    change(f, &names, reader, key, value, &o);
    if (keys_count(reader) % 1024 == 0) keys_tick(reader);
  }
  keys_close(reader);
  bar_end();
  if (names.index && key_index_count(names.index) > had) value_names_write(f, &names);
  if (o.changed) filter_save(f, path);
  print_outcome(path, &o, done, not );
  value_names_free(&names);
  besom_free(f);
  if (o.unfit) return EXIT_PARTLY;
  return o.changed || !o.unchanged ? EXIT_YES : EXIT_NO;
}

/* ------------------------------------------------------------------ info */

static int print_info(const char *path) {
  besom_filter *f = filter_open(path);
  value_names names = value_names_read(f, path);
  besom_statistics s = filter_stats(f);
  uint64_t known = names.index ? key_index_count(names.index) : 0;
  static const char *const kinds[] = {"numbers", "names", "files"};
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_count(&j, "pairs", s.keys);
    json_count(&j, "capacity", s.capacity);
    json_count(&j, "bytes", s.bytes);
    json_real(&j, "bits_per_pair", s.bits_per_key);
    json_text(&j, "values", kinds[names.kind]);
    if (names.index) json_count(&j, names.kind == VALUE_FILES ? "files" : "names", known);
    if (names.kind == VALUE_FILES) json_text(&j, "key", names.key_spec);
    json_real(&j, "expected_fpr", s.expected_fpr);
    json_count(&j, "reports", counter_of(f, "exceptions"));
    json_count(&j, "report_limit", counter_of(f, "exception_limit"));
    json_close(&j);
  } else {
    printf("file             %s\n", path);
    printf("pairs            %s (capacity %s)\n", grouped(s.keys).text, grouped(s.capacity).text);
    printf("memory           %s bytes, %.2f bits per pair\n", grouped(s.bytes).text,
           s.bits_per_key);
    printf("values           %s", kinds[names.kind]);
    if (names.index) printf(" (%s)", grouped(known).text);
    if (names.kind == VALUE_FILES)
      printf(", key: %s%s", names.key_spec[0] ? "column " : "the line", names.key_spec);
    printf("\nwrong candidates %.3g per key (%.3g when full)\n", s.expected_fpr, s.fpr_at_capacity);
    printf("reports          %s of %s\n", grouped(counter_of(f, "exceptions")).text,
           grouped(counter_of(f, "exception_limit")).text);
  }
  value_names_free(&names);
  besom_free(f);
  return EXIT_YES;
}

/* ------------------------------------------------------------------ the verb */

static int run(words args) {
  const char *action = args.at[0], *path = args.at[1];
  words rest = {args.at + 2, args.n - 2};
  bool is_build = strcmp(action, "build") == 0, has_files = strcmp(action, "files") == 0;
  if (is_build && rest.n) usage_error("map build takes its pairs from --pairs");
  if (is_build) return build_map(path);
  if (has_files) return index_files(path, rest);
  if (strcmp(action, "get") == 0) return get_keys(path, rest);
  if (rest.n > 1 || (strcmp(action, "info") == 0 && rest.n))
    usage_error("map %s: too many arguments", action);
  if (strcmp(action, "query") == 0) return query_log(path, rest);
  if (strcmp(action, "add") == 0) return change_pairs(path, rest, add_pair, true, "added", NULL);
  if (strcmp(action, "remove") == 0)
    return change_pairs(path, rest, remove_pair, true, "removed", "not found");
  if (strcmp(action, "fix") == 0)
    return change_pairs(path, rest, fix_pair, false, "fixed", "no candidates already");
  if (strcmp(action, "info") == 0) return print_info(path);
  usage_error("map: unknown action '%s'", action);
}

const verb map_verb = {"map", "which files, nodes or partitions may have a key", &map_command, run};
