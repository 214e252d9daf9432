/* besom demo: database reads without a filter, with static filters, and with an adaptive one. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw, clock_gettime */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bar.h"
#include "database.h"
#include "fail.h"
#include "interrupt.h"
#include "key_index.h"
#include "page.h"
#include "query_generator.h"
#include "report.h"
#include "verb.h"

static struct {
  uint64_t keys, queries;
  const char *html;
  bool json;
} given = {.keys = 1000000, .queries = 500000, .html = "besom-demo.html"};

static const argument arguments[] = {
    {"--keys", "N", "keys in the database; default 1M", .count = &given.keys, .least = 1,
     .most = 1e9},
    {"--queries", "N", "queries per workload and filter; default 500k", .count = &given.queries,
     .least = 1000, .most = 1e12},
    {"--html", "FILE", "name of the HTML page; default besom-demo.html", .text = &given.html},
    {"--json", NULL, "print one JSON object per line", .flag = &given.json},
};

static const command demo_command = {
    .usage = "demo [options]",
    .about =
        "Stores a million keys in an LMDB database in a temporary directory and runs three "
        "workloads on it: without a filter, and with each of three filters in front of it. Prints "
        "a table and writes an HTML page.\n\n"
        "  uniform      One query in ten is for a member. The others are for absent\n"
        "               keys that are never repeated.\n"
        "  Zipf         The same, but the absent keys follow a Zipf distribution: a\n"
        "               few are queried often.\n"
        "  adversarial  The client queries absent keys, observes which of them cost\n"
        "               a read of the database, and repeats these.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
};

static const double target_fpr = 1.0 / 256;

/* ------------------------------------------------------------------ the database */

static char directory[300];
static besom_guard *guard;
static besom_store *store; /* owned by the guard */

static int remove_file(const char *path, const struct stat *stat, int type, struct FTW *depth) {
  (void)stat, (void)type, (void)depth;
  return remove(path);
}

/* Also registered with atexit: no temporary files remain if the program fails. */
static void clean_up(void) {
  enum { MAX_OPEN = 8 };
  besom_guard_close(guard); /* its files are removed: a failure loses nothing */
  guard = NULL;
  if (*directory) nftw(directory, remove_file, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
  *directory = 0;
}

/* The split layout has a table of the keys, which the demo reads directly for the other filters. */
static void open_database(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/besom-demo-XXXXXX",
           temporary && *temporary ? temporary : "/tmp");
  if (!mkdtemp(directory)) fail("%s: %s", directory, strerror(errno));
  atexit(clean_up);
  store = database_open(directory, "lmdb");
  besom_config filter = {.kind = "aqf", .capacity = given.keys, .fpr = target_fpr};
  besom_guard_config config = {
      .filter = &filter, .layout = BESOM_LAYOUT_SPLIT, .durability = BESOM_DURABLE_SYNC};
  check(besom_guard_open(&config, store, &guard), "%s", directory);
}

static void load_keys(void) {
  enum { BATCH = 10000 };
  for (uint64_t i = 0; i < given.keys; i++) {
    if (i % BATCH == 0) check(besom_guard_begin(guard), "loading");
    check(besom_guard_put_u64(guard, member_key(i), "value", strlen("value"), BESOM_PUT_NEW),
          "loading");
    if (i % BATCH == BATCH - 1 || i + 1 == given.keys) check(besom_guard_commit(guard), "loading");
    if (i % BATCH == 0) bar_tick(i, given.keys);
  }
  check(besom_guard_sync(guard), "loading");
}

/* ------------------------------------------------------------------ filters */

typedef enum filter_choice { NO_FILTER, BLOOM, QF, AQF, CHOICES } filter_choice;

static const char *const choice_names[CHOICES] = {"no filter", "bloom", "qf", "aqf"};

static const besom_filter *make_filter(filter_choice choice) {
  if (choice == NO_FILTER) return NULL; /* a NULL filter answers yes */
  if (choice == AQF) return besom_guard_filter(guard);
  besom_config config = {.kind = choice_names[choice], .capacity = given.keys, .fpr = target_fpr};
  besom_filter *f;
  check(besom_create(&config, &f), "creating a filter of kind %s", config.kind);
  enum { BATCH = 1024 };
  uint64_t keys[BATCH];
  for (uint64_t i = 0; i < given.keys;) {
    size_t n = 0;
    while (n < BATCH && i < given.keys) keys[n++] = member_key(i++);
    check(besom_insert_many_u64(f, keys, n, NULL), "filling %s", config.kind);
  }
  return f;
}

static besom_status set_found(void *ctx, const besom_record *record) {
  (void)record;
  *(bool *)ctx = true;
  return BESOM_END;
}

static bool database_contains(uint64_t key) {
  besom_u64_key k = besom_u64(key);
  bool found = false;
  besom_status status = store->ops->table_get(
      store, BESOM_TABLE_KEYS, (besom_bytes){k.bytes, sizeof k.bytes}, set_found, &found);
  if (status != BESOM_NOT_FOUND) check(status, "reading %s", directory);
  return found;
}

/* The operation that the demo measures: filter first, then the database. */
static bool lookup(filter_choice choice, const besom_filter *f, uint64_t key) {
  if (choice != AQF) return besom_contains_u64(f, key) && database_contains(key);
  besom_status status = besom_guard_get_u64(guard, key, NULL);
  if (status != BESOM_NOT_FOUND) check(status, "reading %s", directory);
  return status == BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

enum { CURVE_POINTS = 201 };

typedef struct outcome {
  double bits_per_key;
  uint64_t store_reads, false_positives, repeats; /* false positives: reads for absent keys */
  double seconds;
  uint64_t curve[CURVE_POINTS]; /* store reads so far */
} outcome;

static outcome outcomes[WORKLOADS][CHOICES];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A chunk of queries; is_read: the answer of the filter before the chunk is sent. */
typedef struct chunk {
  uint64_t keys[MAX_QUERIES_AT_ONCE];
  bool is_member[MAX_QUERIES_AT_ONCE], is_read[MAX_QUERIES_AT_ONCE];
  size_t n;
} chunk;

static double send(const chunk *c, filter_choice choice, const besom_filter *f) {
  size_t found = 0, members = 0;
  double start = now();
  for (size_t i = 0; i < c->n; i++) found += lookup(choice, f, c->keys[i]);
  double seconds = now() - start;
  for (size_t i = 0; i < c->n; i++) members += c->is_member[i];
  if (found != members)
    fail("wrong answers with %s: found %zu keys, expected %zu", choice_names[choice], found,
         members);
  return seconds;
}

/* Counts the reads of a chunk. Within a chunk an adaptive filter may need fewer reads than its
 * answers before the chunk say; the guard counts the real ones. */
static void count(outcome *o, const chunk *c, key_index *seen, const besom_guard_statistics *before,
                  filter_choice choice) {
  uint64_t false_positives = 0, members = 0, known = key_index_count(seen);
  for (size_t i = 0; i < c->n; i++) {
    members += c->is_member[i];
    if (c->is_member[i] || !c->is_read[i]) continue;
    false_positives++;
    key_index_add(seen, (besom_bytes){&c->keys[i], sizeof c->keys[i]});
  }
  besom_guard_statistics after;
  check(besom_guard_stats(guard, &after), "statistics");
  if (choice == AQF) false_positives = after.false_positives - before->false_positives;
  uint64_t first_time = key_index_count(seen) - known;
  o->store_reads += members + false_positives;
  o->false_positives += false_positives;
  o->repeats += false_positives > first_time ? false_positives - first_time : 0;
}

static void run_queries(workload w, filter_choice choice, const besom_filter *f) {
  outcome *o = &outcomes[w][choice];
  query_generator g = generator_create(w, given.keys);
  key_index *seen = key_index_create();
  chunk c;
  size_t point = 1;
  for (uint64_t done = 0; done < given.queries; done += c.n) {
    c.n = given.queries - done < MAX_QUERIES_AT_ONCE ? (size_t)(given.queries - done)
                                                     : MAX_QUERIES_AT_ONCE;
    generator_next(&g, c.keys, c.is_member, c.n);
    for (size_t i = 0; i < c.n; i++) c.is_read[i] = besom_contains_u64(f, c.keys[i]);
    besom_guard_statistics before;
    check(besom_guard_stats(guard, &before), "statistics");
    o->seconds += send(&c, choice, f);
    count(o, &c, seen, &before, choice);
    generator_observe(&g, c.keys, c.is_read, c.n);
    while (point < CURVE_POINTS && done + c.n >= given.queries * point / (CURVE_POINTS - 1))
      o->curve[point++] = o->store_reads;
    bar_tick(done, given.queries);
  }
  key_index_free(seen);
  generator_free(&g);
}

static void run_filter(filter_choice choice) {
  static char what[64];
  const besom_filter *f = make_filter(choice);
  for (int w = 0; w < WORKLOADS; w++) {
    snprintf(what, sizeof what, "%s queries, %s", workload_names[w], choice_names[choice]);
    bar_begin(what, "queries");
    run_queries((workload)w, choice, f);
    bar_end();
    besom_statistics stats;
    if (f && besom_stats(f, &stats) == BESOM_OK)
      outcomes[w][choice].bits_per_key = stats.bits_per_key;
  }
  if (choice != AQF) besom_free((besom_filter *)(uintptr_t)f);
}

/* ------------------------------------------------------------------ output */

static const char *const columns[] = {"workload",        "filter",  "bits per key", "store reads",
                                      "false positives", "repeats", "queries/s"};

static report *make_table(void) {
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (int w = 0; w < WORKLOADS; w++)
    for (int choice = 0; choice < CHOICES; choice++) {
      const outcome *o = &outcomes[w][choice];
      report_cell(r, "%s", workload_names[w]);
      report_cell(r, "%s", choice_names[choice]);
      report_cell(r, "%.1f", o->bits_per_key);
      report_cell(r, "%llu", (unsigned long long)o->store_reads);
      report_cell(r, "%llu", (unsigned long long)o->false_positives);
      report_cell(r, "%llu", (unsigned long long)o->repeats);
      report_cell(r, "%.0f", (double)given.queries / o->seconds);
    }
  return r;
}

static void print_json(void) {
  for (int w = 0; w < WORKLOADS; w++)
    for (int choice = 0; choice < CHOICES; choice++) {
      const outcome *o = &outcomes[w][choice];
      printf(
          "{\"workload\":\"%s\",\"filter\":\"%s\",\"bits_per_key\":%.4f,\"store_reads\":%llu,"
          "\"false_positives\":%llu,\"repeat_false_positives\":%llu,\"queries_per_second\":%.0f}\n",
          workload_names[w], choice_names[choice], o->bits_per_key,
          (unsigned long long)o->store_reads, (unsigned long long)o->false_positives,
          (unsigned long long)o->repeats, (double)given.queries / o->seconds);
    }
}

static const char *const summary =
    "A filter saves the reads for absent keys. bloom and qf repeat their false positives. aqf "
    "adapts "
    "to each one, so neither popular absent keys nor an adversary cost repeated reads. The "
    "database "
    "is in memory here; where a read takes 100 us, the store reads determine the speed.";

static void draw(page *p, workload w) {
  curve curves[CHOICES - 1]; /* "no filter" is left out: it would dwarf the others */
  for (int choice = BLOOM; choice < CHOICES; choice++)
    curves[choice - BLOOM] = (curve){choice_names[choice], outcomes[w][choice].curve};
  chart c = {.x_name = "queries",
             .y_name = "store reads so far",
             .x_most = (double)given.queries,
             .points = CURVE_POINTS,
             .curves = curves,
             .curve_count = COUNT_OF(curves)};
  char heading[64];
  snprintf(heading, sizeof heading, "%s queries", workload_names[w]);
  page_heading(p, heading);
  page_chart(p, &c);
}

static void write_page(const report *table) {
  page *p = page_create("Database reads with and without a filter");
  page_text(p, "%llu keys in an LMDB database; %llu queries per workload. %s",
            (unsigned long long)given.keys, (unsigned long long)given.queries, summary);
  page_table(p, table);
  for (int w = 0; w < WORKLOADS; w++) draw(p, (workload)w);
  page_finish(p, given.html);
}

static int run(words args) {
  (void)args;
  interrupt_leaves("the temporary database was removed");
  double start = now();
  open_database();
  bar_begin("loading", "keys");
  load_keys();
  bar_end();
  fprintf(stderr, "%llu keys loaded in %.1f s\n", (unsigned long long)given.keys, now() - start);
  for (int choice = 0; choice < CHOICES; choice++) run_filter((filter_choice)choice);
  clean_up(); /* before printing: SIGPIPE would skip it */
  report *table = make_table();
  if (given.json)
    print_json();
  else
    report_print(table), printf("\n%s\n", summary);
  write_page(table);
  report_free(table);
  fprintf(stderr, "%.1f s in total; wrote %s\n", now() - start, given.html);
  return 0;
}

const verb demo_verb = {"demo", "see what filters save in front of a database", &demo_command, run};
