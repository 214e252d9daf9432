/* besom db: a key-value database with a guard (a filter in front of a store). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "config_text.h"
#include "counters.h"
#include "database.h"
#include "fail.h"
#include "guard_json.h"
#include "interrupt.h"
#include "json.h"
#include "kinds.h"
#include "lists/keys.h"
#include "verb.h"

static struct {
  const char *store, *durability, *kind, *separator, *from, *to;
  double fpr;
  uint64_t capacity;
  bool split, json, prometheus;
  key_form form;
} given = {.durability = "batch", .separator = "\t", .capacity = 1000000};

static const argument arguments[] = {
    {"--store", "NAME", "new database: lmdb (default) or rocksdb", .text = &given.store},
    {"--durability", "MODE",
     "what survives a power failure: every 'put', every 'batch' (default), or the last 'sync'",
     .text = &given.durability},
    {"--split", NULL, "new database: keep the keys in order, for range scans; two writes per put",
     .flag = &given.split},
    {"--kind", "KIND", "new database: kind of filter; default aqf", .text = &given.kind},
    {"--fpr", "RATE", "new database: target false-positive rate; default 1/256", .rate = &given.fpr,
     .least = 1e-12, .most = 0.5},
    {"--capacity", "N", "new database: initial capacity in keys; it grows as needed; default 1M",
     .count = &given.capacity, .least = 1, .most = 1e12},
    {"--separator", "TEXT", "load, get, scan: text between key and value; default: a tab",
     .text = &given.separator},
    {"--from", "KEY", "scan: keys from this one on", .text = &given.from},
    {"--to", "KEY", "scan: keys before this one", .text = &given.to},
    {"--json", NULL, "print JSON: one object; get and scan: one per record", .flag = &given.json},
    {"--prometheus", NULL, "health: print the statistics in the format of Prometheus",
     .flag = &given.prometheus},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command db_command = {
    .usage = "db load|get|put|del|scan|stats|check|health|backup DIR [arguments] [options]",
    .about =
        "A key-value database in a directory, with an adaptive filter in front of it. Most queries "
        "for absent keys need no read of the database, and a false positive is not repeated.\n\n"
        "  load DIR [FILE]     store the lines of a file: key, tab, value; creates the\n"
        "                      database if it does not exist\n"
        "  get DIR KEY...      print the values; for several keys: key, tab, value\n"
        "  put DIR KEY VALUE   store one key; creates the database if needed\n"
        "  del DIR KEY...      delete keys\n"
        "  scan DIR            print all keys and values; --from and --to need a\n"
        "                      database created with --split\n"
        "  stats DIR           print statistics\n"
        "  check DIR           read all keys and verify that filter and store agree\n"
        "  health DIR          say whether all is well, for monitoring\n"
        "  backup DIR TO       copy the database into a new directory\n\n"
        "stats, check, health and backup work beside another process that has the database open, "
        "if it is of LMDB.\n\n"
        "The exit code of get and del is 1 if a key is not found, that of health is 1 for a "
        "warning and 3 if the database cannot be opened or is in a critical state.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .examples = "  besom db load users.db users.tsv\n  besom db get users.db alice",
};

/* ------------------------------------------------------------------ opening */

static besom_guard *guard;

static void check_database(besom_status status, const char *name) {
  if (status == BESOM_DISK_FULL)
    fail("%s: the disk is full, or LMDB has reached its limit of 64 GiB: free disk space, or load "
         "the data into a new database with --store rocksdb",
         name);
  check(status, "%s", name);
}

static besom_status close_guard(void) {
  besom_status status = besom_guard_close(guard);
  guard = NULL;
  return status;
}

/* An interrupted or failed run writes a checkpoint, too. Its exit code is decided already. */
static void close_at_exit(void) {
  besom_status status = close_guard();
  if (status != BESOM_OK)
    fprintf(stderr, "%s: closing the database: %s\n", program_name, besom_strerror(status));
}

static besom_durability given_durability(void) {
  static const char *const names[] = {
      [BESOM_DURABLE_PUT] = "put", [BESOM_DURABLE_BATCH] = "batch", [BESOM_DURABLE_SYNC] = "sync"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(given.durability, names[i]) == 0) return (besom_durability)i;
  usage_error("--durability: unknown mode '%s': put, batch or sync", given.durability);
}

static bool can_guard(const besom_kind_info *kind) {
  return kind->abilities & BESOM_CAN_MATCH && !(kind->abilities & BESOM_CAN_NO_LIST_AT);
}

/* Called before any file is created. */
static void check_config(const besom_config *config) {
  static const option_name names[] = {{"capacity", "--capacity"}, {"fpr", "--fpr"}};
  const besom_kind_info *kind = kind_named(config->kind);
  char text[CONFIG_TEXT_SIZE];
  if (!kind || !can_guard(kind))
    usage_error("--kind: %s is not a kind that works with a store; besom kinds shows which do",
                config->kind);
  if (config_text(config, names, COUNT_OF(names), text) != BESOM_OK) usage_error("%s", text);
}

/* besom_guard_open requires the kind and layout that the database was created with. The command
 * does not know them, so it tries all. */
static besom_status open_existing(besom_guard_config config, besom_store *store) {
  besom_config filter = *config.filter;
  config.filter = &filter;
  besom_status status = BESOM_INCOMPATIBLE;
  for (size_t i = 0; besom_kinds(i) && status == BESOM_INCOMPATIBLE; i++) {
    if (!can_guard(besom_kinds(i)) || (given.kind && strcmp(besom_kinds(i)->name, given.kind) != 0))
      continue;
    filter.kind = besom_kinds(i)->name;
    for (int layout = BESOM_LAYOUT_MERGED;
         layout <= BESOM_LAYOUT_SPLIT && status == BESOM_INCOMPATIBLE; layout++) {
      config.layout = (besom_layout)layout;
      status = besom_guard_open(&config, store, &guard);
    }
  }
  return status;
}

static bool in_use; /* another process has the database open: the guard is read-only */

static void open_database_for(const char *directory, bool create, bool beside) {
  besom_config filter = {
      .kind = given.kind ? given.kind : "aqf", .capacity = given.capacity, .fpr = given.fpr};
  besom_guard_config config = {.filter = &filter,
                               .layout = given.split ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                               .durability = given_durability(),
                               .progress = &bar_progress};
  bool exists = database_exists(directory);
  check_config(&filter);
  if (!exists && !create)
    fail("%s: no database here. To create one: besom db load, besom db put", directory);
  besom_store *store = beside ? database_open_beside(directory, given.store, &in_use)
                              : database_open(directory, given.store);
  const char *reason = NULL;
  config.reason = &reason;
  bar_begin("reading the keys", "keys");
  besom_status status = besom_guard_open(&config, store, &guard);
  if (exists && status == BESOM_INCOMPATIBLE) status = open_existing(config, store);
  bar_end();
  if (status == BESOM_INCOMPATIBLE)
    fail("%s: the database was created with another --kind than %s: omit --kind", directory,
         given.kind);
  if (status == BESOM_INVALID)
    fail("%s: the fingerprints of this filter would have more than 64 bits, too many for a store: "
         "give a smaller --capacity or a higher --fpr",
         directory);
  if (status == BESOM_CORRUPT && reason) fail("%s: %s", directory, reason);
  check_database(status, directory);
  atexit(close_at_exit);
}

static void open_database(const char *directory, bool create) {
  open_database_for(directory, create, false);
}

static void open_beside(const char *directory) {
  open_database_for(directory, false, true);
}

/* ------------------------------------------------------------------ actions */

static void put(besom_bytes key, besom_bytes value, const char *position) {
  besom_status status = besom_guard_put(guard, key.data, key.len, value.data, value.len, 0);
  if (status == BESOM_INVALID)
    fail("%s: too long: a key of %zu bytes with a value of %zu bytes", position, key.len,
         value.len);
  if (status == BESOM_FULL)
    fail("%s: the filter is full, and filters of this kind cannot grow: create the database with a "
         "larger --capacity",
         position);
  check_database(status, position);
}

/* The key is the text before the separator; a line without a separator has an empty value. */
static void put_line(besom_bytes line, const char *position) {
  size_t n = given.form.length_prefixed ? 0 : strlen(given.separator);
  const char *text = line.data;
  for (size_t i = 0; n && i + n <= line.len; i++)
    if (memcmp(text + i, given.separator, n) == 0) {
      put((besom_bytes){text, i}, (besom_bytes){text + i + n, line.len - i - n}, position);
      return;
    }
  put(line, (besom_bytes){"", 0}, position);
}

static int load(const char *directory, words files) {
  enum { BATCH = 4096 };
  if (files.n > 1) usage_error("unexpected argument '%s'", files.at[1]);
  if (given.form.format) usage_error("db load reads lines: key, tab, value; not with --format");
  key_reader *lines = keys_open(files, &given.form);
  open_database(directory, true);
  interrupt_leaves("the lines loaded so far are kept, except up to 4096 of the last ones");
  besom_bytes line;
  bar_begin("loading", "bytes");
  bool more = keys_next(lines, &line);
  while (more) {
    check_database(besom_guard_begin(guard), directory);
    for (int i = 0; i < BATCH && more; i++, more = keys_next(lines, &line))
      put_line(line, keys_position(lines));
    check_database(besom_guard_commit(guard), directory);
    keys_tick(lines);
  }
  check_database(besom_guard_sync(guard), directory);
  bar_end();
  besom_guard_statistics stats;
  check(besom_guard_stats(guard, &stats), "statistics");
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "directory", directory);
    json_count(&j, "added", stats.puts);
    json_count(&j, "replaced", stats.replaced);
    json_count(&j, "keys", stats.keys);
    json_close(&j);
  } else {
    fprintf(stderr, "%s: %llu new, %llu replaced, %llu keys now\n", directory,
            (unsigned long long)stats.puts, (unsigned long long)stats.replaced,
            (unsigned long long)stats.keys);
  }
  keys_close(lines);
  return 0;
}

static void print_bytes(besom_bytes bytes) {
  if (bytes.len && fwrite(bytes.data, 1, bytes.len, stdout) != bytes.len)
    fail("cannot write to standard output");
}

static void print_record_json(besom_bytes key, besom_bytes value) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_bytes(&j, "key", key.data, key.len);
  json_bytes(&j, "value", value.data, value.len);
  json_close(&j);
}

static int get(const char *directory, words keys) {
  if (!keys.n) usage_error("db get: missing key");
  open_database(directory, false);
  bool all = true;
  for (size_t i = 0; i < keys.n; i++) {
    besom_bytes value;
    besom_status status = besom_guard_get(guard, keys.at[i], strlen(keys.at[i]), &value);
    all &= status == BESOM_OK;
    if (status == BESOM_NOT_FOUND) continue;
    check(status, "%s: %s", directory, keys.at[i]);
    if (given.json) {
      print_record_json((besom_bytes){keys.at[i], strlen(keys.at[i])}, value);
    } else {
      if (keys.n > 1) printf("%s%s", keys.at[i], given.separator);
      print_bytes(value);
      putchar('\n');
    }
    besom_guard_release(guard, &value);
  }
  return all ? EXIT_YES : EXIT_NO;
}

static int put_one(const char *directory, words args) {
  if (args.n != 2) usage_error("db put: expected a key and a value");
  open_database(directory, true);
  put((besom_bytes){args.at[0], strlen(args.at[0])}, (besom_bytes){args.at[1], strlen(args.at[1])},
      directory);
  check_database(besom_guard_sync(guard), directory);
  return 0;
}

static int del(const char *directory, words keys) {
  if (!keys.n) usage_error("db del: missing key");
  open_database(directory, false);
  bool all = true;
  for (size_t i = 0; i < keys.n; i++) {
    besom_status status = besom_guard_delete(guard, keys.at[i], strlen(keys.at[i]));
    all &= status == BESOM_OK;
    if (status == BESOM_NOT_FOUND)
      fprintf(stderr, "%s: key not found: %s\n", directory, keys.at[i]);
    else
      check(status, "%s: %s", directory, keys.at[i]);
  }
  check_database(besom_guard_sync(guard), directory);
  return all ? EXIT_YES : EXIT_NO;
}

static besom_status print_record(void *ctx, besom_bytes key, besom_bytes value) {
  (void)ctx;
  interrupt_check();
  if (given.json) {
    print_record_json(key, value);
  } else {
    print_bytes(key);
    fputs(given.separator, stdout);
    print_bytes(value);
    putchar(given.form.null ? '\0' : '\n');
  }
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
    fail("%s: --from and --to need keys in order: load the data into a new database with --split",
         directory);
  check(status, "%s", directory);
  return 0;
}

static int print_json(const besom_guard_statistics *stats) {
  besom_offender offenders[BESOM_OFFENDERS];
  size_t n;
  check(besom_guard_offenders(guard, offenders, BESOM_OFFENDERS, &n), "statistics");
  guard_json_print(stdout, stats, offenders, n);
  putchar('\n');
  return 0;
}

static int print_stats(const char *directory) {
  open_beside(directory);
  besom_guard_statistics s;
  besom_statistics filter;
  check(besom_guard_stats(guard, &s), "statistics");
  check(besom_stats(besom_guard_filter(guard), &filter), "statistics");
  if (given.json) return print_json(&s);
  printf("directory        %s\n", directory);
  printf("kind             %s\n", filter.kind);
  printf("keys             %llu\n", (unsigned long long)s.keys);
  printf("bytes            %llu\n", (unsigned long long)s.store_bytes);
  printf("filter bytes     %llu\n", (unsigned long long)s.filter_bytes);
  printf("slots            %llu of %u bits, load factor %.3f\n", (unsigned long long)filter.slots,
         filter.width, filter.load_factor);
  printf("expected FPR     %.3g\n", filter.expected_fpr);
  printf("extended         %llu\n",
         (unsigned long long)counter_of(besom_guard_filter(guard), "extended"));
  printf("reserve used     %.1f %%\n", 100 * s.reserve_used);
  printf("migrating        %s\n", s.migrating           ? "yes: to a larger filter or a new seed"
                                  : s.migration_pending ? "due: with the next change"
                                                        : "no");
  printf("filter from      %s\n", s.rebuilt ? "the stored keys"
                                  : s.keys  ? "the checkpoint"
                                            : "nothing: it is new");
  return 0;
}

/* ------------------------------------------------------------------ check */

typedef struct scan_count {
  const besom_filter *filter; /* NULL during a migration: keys are in one of two filters */
  uint64_t keys, false_negatives;
} scan_count;

static besom_status count_key(void *ctx, besom_bytes key, besom_bytes value) {
  scan_count *s = ctx;
  (void)value;
  bar_tick(s->keys++, 0);
  s->false_negatives += s->filter && !besom_contains(s->filter, key.data, key.len);
  return BESOM_OK;
}

/* Counts the keys, and those that the filter denies. In a database that is in use, the filter and
   the scan may be of different states: then it tries again. */
static scan_count count_keys(const char *directory, besom_guard_statistics *stats) {
  enum { ATTEMPTS = 5 };
  scan_count s;
  besom_bytes none = {NULL, 0};
  for (int i = 0; i < ATTEMPTS; i++) {
    besom_status status = besom_guard_refresh(guard);
    if (status != BESOM_BUSY) check(status, "%s", directory);
    check(besom_guard_stats(guard, stats), "statistics");
    s = (scan_count){.filter = stats->migrating ? NULL : besom_guard_filter(guard)};
    check(besom_guard_scan(guard, none, none, count_key, &s), "%s", directory);
    if (!in_use || (!s.false_negatives && s.keys == stats->keys)) return s;
  }
  fail("%s: another process changes the database all the time: try again later", directory);
}

static int check_all(const char *directory) {
  open_beside(directory);
  const char *reason = "";
  besom_status status = besom_validate(besom_guard_filter(guard), &reason);
  if (status == BESOM_CORRUPT) fail("%s: the filter: %s", directory, reason);
  check(status, "%s: the filter", directory);
  besom_guard_statistics stats;
  bar_begin("checking", "keys");
  scan_count s = count_keys(directory, &stats);
  bar_end();
  if (s.false_negatives)
    fail("%s: the filter answers no to %llu stored keys", directory,
         (unsigned long long)s.false_negatives);
  if (s.keys != stats.keys)
    fail("%s: the store has %llu keys, the filter %llu", directory, (unsigned long long)s.keys,
         (unsigned long long)stats.keys);
  if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "directory", directory);
    json_flag(&j, "valid", true);
    json_count(&j, "keys", s.keys);
    json_close(&j);
  } else {
    printf("%s: valid, %llu keys\n", directory, (unsigned long long)s.keys);
  }
  return 0;
}

/* ------------------------------------------------------------------ health and backup */

static int health(const char *directory) {
  static const char *const words_of[] = {"ok", "warning", "critical"};
  besom_health level;
  const char *sentence;
  besom_guard_statistics stats;
  open_beside(directory);
  check(besom_guard_health(guard, &level, &sentence), "%s", directory);
  check(besom_guard_stats(guard, &stats), "statistics");
  if (given.prometheus) {
    guard_prometheus_print(stdout, &stats, level, directory);
  } else if (given.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "directory", directory);
    json_text(&j, "health", words_of[level]);
    json_text(&j, "sentence", sentence);
    json_flag(&j, "in_use", in_use);
    json_close(&j);
  } else {
    printf("%s: %s: %s\n", directory, words_of[level], sentence);
  }
  return level == BESOM_HEALTH_CRITICAL ? EXIT_FAILED : (int)level;
}

static int backup(const char *directory, words to) {
  if (to.n != 1) usage_error("db backup: expected a directory to copy to");
  open_beside(directory);
  besom_status status = besom_guard_backup(guard, to.at[0]);
  if (status == BESOM_INVALID) fail("%s: exists already", to.at[0]);
  check(status, "%s", to.at[0]);
  return 0;
}

static int act(words all) {
  const char *action = all.at[0], *directory = all.at[1];
  words rest = {all.at + 2, all.n - 2};
  if (strcmp(action, "load") == 0) return load(directory, rest);
  if (strcmp(action, "get") == 0) return get(directory, rest);
  if (strcmp(action, "put") == 0) return put_one(directory, rest);
  if (strcmp(action, "del") == 0) return del(directory, rest);
  if (strcmp(action, "backup") == 0) return backup(directory, rest);
  if (rest.n) usage_error("unexpected argument '%s'", rest.at[0]);
  if (strcmp(action, "scan") == 0) return scan(directory);
  if (strcmp(action, "stats") == 0) return print_stats(directory);
  if (strcmp(action, "check") == 0) return check_all(directory);
  if (strcmp(action, "health") == 0) return health(directory);
  usage_error("db: unknown action '%s': load, get, put, del, scan, stats, check, health or backup",
              action);
}

/* A checkpoint that cannot be written is no failure: the answer was given. */
static int run(words all) {
  int code = act(all);
  besom_status status = close_guard();
  fflush(stdout); /* the answer comes before the warning */
  if (status == BESOM_NO_CHECKPOINT)
    fprintf(stderr, "%s: warning: %s: %s\n", program_name, all.at[1], besom_strerror(status));
  else if (status != BESOM_OK)
    fail("%s: closing the database: %s", all.at[1], besom_strerror(status));
  return code;
}

const verb db_verb = {"db", "a key-value database with a filter in front of it", &db_command, run};
