/* besom db: a database behind a guard, from the shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "database.h"
#include "fail.h"
#include "interrupt.h"
#include "keys.h"
#include "kinds.h"
#include "verb.h"

static struct {
  const char *store, *durability, *kind, *separator, *from, *to;
  double fpr;
  uint64_t capacity;
  bool split, json;
  key_form form;
} given = {.durability = "batch", .separator = "\t", .capacity = 1000000};

static const argument arguments[] = {
    {"--store", "NAME", "lmdb (default) or rocksdb, for a new database", .text = &given.store},
    {"--durability", "MODE",
     "what survives a loss of power: every put, every batch (default), or what was synced",
     .text = &given.durability},
    {"--split", NULL, "a new database: keys in order, for scans of a range; two writes a put",
     .flag = &given.split},
    {"--kind", "KIND", "a new database: kind of filter; default aqf", .text = &given.kind},
    {"--fpr", "RATE", "a new database: most wanted rate of reads in vain; default 1/256",
     .real = &given.fpr, .least = 1e-12, .most = 0.5},
    {"--capacity", "N", "a new database: keys to begin with; it grows by itself; default 1M",
     .count = &given.capacity, .least = 1, .most = 1e12},
    {"--separator", "TEXT", "load, scan: stands between key and value; default a tab",
     .text = &given.separator},
    {"--from", "KEY", "scan: the first key", .text = &given.from},
    {"--to", "KEY", "scan: the key behind the last", .text = &given.to},
    {"--json", NULL, "stats: for programs", .flag = &given.json},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command db_command = {
    .usage = "db load|get|put|del|scan|stats|check DIR [arguments] [options]",
    .about = "A database of keys and values in a directory, with an adaptive filter in front of "
             "it: what is not there\n"
             "costs almost never a read, and no false positive costs one twice.\n\n"
             "  load DIR [FILE]     store the lines of a file: key, tab, value. The database is "
             "made if it is not there\n"
             "  get DIR KEY...      print the values; of more than one key: key, tab, value\n"
             "  put DIR KEY VALUE   store one\n"
             "  del DIR KEY...      take keys out\n"
             "  scan DIR            print all keys and values; --from and --to need a database "
             "made with --split\n"
             "  stats DIR           tell what is in it\n"
             "  check DIR           read all of it, and see whether filter and store agree\n\n"
             "get and del end with exit code 1 if a key is not there.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .more = "  besom db load users.db users.tsv\n  besom db get users.db alice",
};

/* ------------------------------------------------------------------ opening */

static besom_guard *guard; /* closed by exit, too, so that an interrupted run leaves a checkpoint */

static void close_guard(void) {
  besom_guard_close(guard);
  guard = NULL;
}

static besom_durability durability_given(void) {
  static const char *const names[] = {
      [BESOM_DURABLE_PUT] = "put", [BESOM_DURABLE_BATCH] = "batch", [BESOM_DURABLE_SYNC] = "sync"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(given.durability, names[i]) == 0) return (besom_durability)i;
  usage_error("--durability: put, batch or sync, not '%s'", given.durability);
}

static bool can_guard(const besom_kind_info *kind) {
  return kind->abilities & BESOM_CAN_MATCH && kind->abilities & BESOM_CAN_ADAPT;
}

/* Said before there are files of a database that cannot be. */
static void check_kind(void) {
  if (!given.kind) return;
  const besom_kind_info *kind = kind_named(given.kind);
  if (!kind || !can_guard(kind))
    usage_error("--kind: there is no %s that could stand in front of a store", given.kind);
}

/* A database knows what it was made with, but wants to be told: tries every kind and layout until it is pleased. */
static besom_status open_as_it_is(besom_guard_config *config, besom_store *store) {
  besom_status status = BESOM_INCOMPATIBLE;
  for (size_t i = 0; besom_kinds(i) && status == BESOM_INCOMPATIBLE; i++) {
    if (!can_guard(besom_kinds(i)) || (given.kind && strcmp(besom_kinds(i)->name, given.kind) != 0))
      continue;
    config->filter.kind = besom_kinds(i)->name;
    for (int layout = BESOM_LAYOUT_MERGED;
         layout <= BESOM_LAYOUT_SPLIT && status == BESOM_INCOMPATIBLE; layout++) {
      config->layout = (besom_layout)layout;
      status = besom_guard_open(config, store, &guard);
    }
  }
  return status;
}

static void open_database(const char *directory, bool make) {
  besom_guard_config config = {.filter = {.kind = given.kind ? given.kind : "aqf",
                                          .capacity = given.capacity,
                                          .fpr = given.fpr},
                               .layout = given.split ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                               .durability = durability_given(),
                               .progress = &bar_progress};
  bool exists = database_exists(directory);
  check_kind();
  if (!exists && !make)
    fail("%s: there is no database: besom db load and besom db put make one", directory);
  besom_store *store = database_open(directory, given.store);
  bar_begin("reading the keys", "keys");
  besom_status status =
      exists ? open_as_it_is(&config, store) : besom_guard_open(&config, store, &guard);
  bar_end();
  if (status == BESOM_INCOMPATIBLE)
    fail("%s: made with another --kind than %s", directory, given.kind);
  check(status, "%s", directory);
  atexit(close_guard);
}

/* ------------------------------------------------------------------ actions */

static void put(besom_bytes key, besom_bytes value, const char *place) {
  besom_status status = besom_guard_put(guard, key.data, key.len, value.data, value.len);
  if (status == BESOM_INVALID)
    fail("%s: a key of %zu bytes, with a value of %zu, is too long", place, key.len, value.len);
  if (status == BESOM_FULL)
    fail("%s: no room: filters of this kind do not grow, so the database needs a larger --capacity",
         place);
  check(status, "%s", place);
}

/* What stands before the separator is the key; a line without one has an empty value. */
static void put_line(besom_bytes line, const char *place) {
  size_t mark = given.form.lengths ? 0 : strlen(given.separator);
  const char *text = line.data;
  for (size_t i = 0; mark && i + mark <= line.len; i++)
    if (memcmp(text + i, given.separator, mark) == 0) {
      put((besom_bytes){text, i}, (besom_bytes){text + i + mark, line.len - i - mark}, place);
      return;
    }
  put(line, (besom_bytes){"", 0}, place);
}

static int load(const char *directory, words files) {
  enum { BATCH = 4096 };
  if (files.n > 1) usage_error("unexpected argument '%s'", files.at[1]);
  key_reader *lines = keys_open(files, &given.form);
  open_database(directory, true);
  interrupt_leaves("what was loaded so far is kept, but for the last some thousand lines");
  besom_bytes line;
  bar_begin("loading", "bytes");
  bool more = keys_next(lines, &line);
  while (more) {
    check(besom_guard_begin(guard), "%s", directory);
    for (int i = 0; i < BATCH && more; i++, more = keys_next(lines, &line))
      put_line(line, keys_place(lines));
    check(besom_guard_commit(guard), "%s", directory);
    keys_tick(lines);
  }
  check(besom_guard_sync(guard), "%s", directory);
  bar_end();
  besom_guard_statistics stats;
  check(besom_guard_stats(guard, &stats), "statistics");
  fprintf(stderr, "%s: %llu new, %llu replaced, %llu keys now\n", directory,
          (unsigned long long)stats.puts, (unsigned long long)stats.replaced,
          (unsigned long long)stats.keys);
  keys_close(lines);
  return 0;
}

static void print_bytes(besom_bytes bytes) {
  if (bytes.len && fwrite(bytes.data, 1, bytes.len, stdout) != bytes.len)
    fail("could not write the output");
}

static int get(const char *directory, words keys) {
  if (!keys.n) usage_error("db get: a key is missing");
  open_database(directory, false);
  bool all = true;
  for (size_t i = 0; i < keys.n; i++) {
    besom_bytes value;
    besom_status status = besom_guard_get(guard, keys.at[i], strlen(keys.at[i]), &value);
    all &= status == BESOM_OK;
    if (status == BESOM_NOT_FOUND) continue;
    check(status, "%s: %s", directory, keys.at[i]);
    if (keys.n > 1) printf("%s%s", keys.at[i], given.separator);
    print_bytes(value);
    putchar('\n');
    besom_guard_release(guard, &value);
  }
  return all ? EXIT_YES : EXIT_NO;
}

static int put_one(const char *directory, words words) {
  if (words.n != 2) usage_error("db put: a key and a value, and no more");
  open_database(directory, true);
  put((besom_bytes){words.at[0], strlen(words.at[0])},
      (besom_bytes){words.at[1], strlen(words.at[1])}, directory);
  check(besom_guard_sync(guard), "%s", directory);
  return 0;
}

static int del(const char *directory, words keys) {
  if (!keys.n) usage_error("db del: a key is missing");
  open_database(directory, false);
  bool all = true;
  for (size_t i = 0; i < keys.n; i++) {
    besom_status status = besom_guard_delete(guard, keys.at[i], strlen(keys.at[i]));
    all &= status == BESOM_OK;
    if (status == BESOM_NOT_FOUND)
      fprintf(stderr, "%s: %s is not there\n", directory, keys.at[i]);
    else
      check(status, "%s: %s", directory, keys.at[i]);
  }
  check(besom_guard_sync(guard), "%s", directory);
  return all ? EXIT_YES : EXIT_NO;
}

static besom_status print_record(void *ctx, besom_bytes key, besom_bytes value) {
  (void)ctx;
  interrupt_check();
  print_bytes(key);
  fputs(given.separator, stdout);
  print_bytes(value);
  putchar(given.form.null ? '\0' : '\n');
  return ferror(stdout) ? BESOM_IO : BESOM_OK;
}

static besom_bytes bound(const char *text) {
  return (besom_bytes){text, text ? strlen(text) : 0};
}

static int scan(const char *directory) {
  open_database(directory, false);
  besom_status status =
      besom_guard_scan(guard, bound(given.from), bound(given.to), print_record, NULL);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: its keys are in no order, so that there is no --from and --to: load it with --split",
         directory);
  check(status, "%s", directory);
  return 0;
}

static int print_stats(const char *directory) {
  open_database(directory, false);
  besom_guard_statistics s;
  besom_statistics filter;
  char json[8192];
  check(besom_guard_stats(guard, &s), "statistics");
  check(besom_stats(besom_guard_filter(guard), &filter), "statistics");
  check(besom_guard_stats_json(guard, json, sizeof json, NULL), "statistics");
  if (given.json) return puts(json) < 0;
  printf("directory        %s\n", directory);
  printf("kind             %s\n", filter.kind);
  printf("keys             %llu\n", (unsigned long long)s.keys);
  printf("bytes            %llu\n", (unsigned long long)s.store_bytes);
  printf("filter bytes     %llu\n", (unsigned long long)s.filter_bytes);
  printf("slots            %llu of %u bits, load %.3f\n", (unsigned long long)filter.slots,
         filter.width, filter.load);
  printf("expected rate    %.3g\n", filter.expected_fpr);
  printf("extended         %llu\n", (unsigned long long)filter.extended);
  printf("adapt room used  %.1f %%\n", 100 * s.reserve_used);
  printf("moving           %s\n", s.moving ? "yes: to a larger filter, or a new hash" : "no");
  printf("opened by        %s\n", s.rebuilt ? "reading all keys" : "its checkpoint");
  return 0;
}

/* ------------------------------------------------------------------ check */

typedef struct seen {
  const besom_filter *filter; /* NULL while keys are on their way from one to another */
  uint64_t keys, denied;
} seen;

static besom_status see(void *ctx, besom_bytes key, besom_bytes value) {
  seen *s = ctx;
  (void)value;
  bar_tick(s->keys++, 0);
  s->denied += s->filter && !besom_contains(s->filter, key.data, key.len);
  return BESOM_OK;
}

static int check_all(const char *directory) {
  open_database(directory, false);
  const char *reason = "";
  besom_status status = besom_validate(besom_guard_filter(guard), &reason);
  if (status == BESOM_CORRUPT) fail("%s: the filter: %s", directory, reason);
  check(status, "%s: the filter", directory);
  besom_guard_statistics stats;
  check(besom_guard_stats(guard, &stats), "statistics");
  seen s = {.filter = stats.moving ? NULL : besom_guard_filter(guard)};
  besom_bytes none = {NULL, 0};
  bar_begin("checking", "keys");
  check(besom_guard_scan(guard, none, none, see, &s), "%s", directory);
  bar_end();
  if (s.denied)
    fail("%s: %llu keys are there that the filter denies", directory, (unsigned long long)s.denied);
  if (s.keys != stats.keys)
    fail("%s: %llu keys are there, but the filter has %llu", directory, (unsigned long long)s.keys,
         (unsigned long long)stats.keys);
  printf("%s: sound, %llu keys\n", directory, (unsigned long long)s.keys);
  return 0;
}

static int run(words all) {
  const char *action = all.at[0], *directory = all.at[1];
  words rest = {all.at + 2, all.n - 2};
  if (strcmp(action, "load") == 0) return load(directory, rest);
  if (strcmp(action, "get") == 0) return get(directory, rest);
  if (strcmp(action, "put") == 0) return put_one(directory, rest);
  if (strcmp(action, "del") == 0) return del(directory, rest);
  if (rest.n) usage_error("unexpected argument '%s'", rest.at[0]);
  if (strcmp(action, "scan") == 0) return scan(directory);
  if (strcmp(action, "stats") == 0) return print_stats(directory);
  if (strcmp(action, "check") == 0) return check_all(directory);
  usage_error("db: load, get, put, del, scan, stats or check, not '%s'", action);
}

const verb db_verb = {"db", "keep keys and values in a database behind a filter", &db_command, run};
