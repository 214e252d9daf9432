/* besom demo: database reads without a filter, with static filters, and with an adaptive one. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw, clock_gettime */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "advise/query_generator.h"
#include "bar.h"
#include "database.h"
#include "fail.h"
#include "interrupt.h"
#include "json.h"
#include "lists/key_index.h"
#include "number_text.h"
#include "page.h"
#include "report.h"
#include "verb.h"

static struct {
  uint64_t keys, queries;
  double read_cost;
  const char *html;
  bool json;
} given = {.keys = 1000000, .queries = 500000, .read_cost = 100, .html = "besom-demo.html"};

static const argument arguments[] = {
    {"--keys", "N", "keys in the database; default 1M", .count = &given.keys, .least = 1,
     .most = 1e9},
    {"--queries", "N", "queries per workload and filter; default 500k", .count = &given.queries,
     .least = 1000, .most = 1e12},
    {"--read-cost", "US",
     "time of a read of a database on disk, in microseconds; default 100: a solid-state disk",
     .real = &given.read_cost, .most = 1e9},
    {"--html", "FILE", "name of the HTML page; default besom-demo.html", .text = &given.html},
    JSON_ARGUMENT(given.json),
};

static const command demo_command = {
    .usage = "demo [options]",
    .about =
        "Stores a million keys in an LMDB database in a temporary directory and runs three "
        "workloads on it: without a filter, and with each of three filters in front of it. Prints "
        "a table and writes an HTML page.\n\n"
        "  adversarial  The client queries absent keys, observes which of them cost\n"
        "               a read of the database, and repeats these.\n"
        "  Zipf         One query in ten is for a member. The others are for absent\n"
        "               keys that follow a Zipf distribution: a few are queried often.\n"
        "  uniform      The same, but no absent key is queried twice.\n\n"
        "A wasted read is a read for an absent key: a false positive of the filter. The database "
        "is in memory (in the page cache), so the measured time is that of the best case. The "
        "time on disk is this time and --read-cost for every read.",
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
  double seconds;                                 /* with the database in memory */
  uint64_t curve[CURVE_POINTS];                   /* false positives so far */
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

/* CPU time: other programs do not count, and a database in memory waits for nothing. */
static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double send(const chunk *c, filter_choice choice, const besom_filter *f) {
  size_t found = 0, members = 0;
  double start = cpu_seconds();
  for (size_t i = 0; i < c->n; i++) found += lookup(choice, f, c->keys[i]);
  double seconds = cpu_seconds() - start;
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
      o->curve[point++] = o->false_positives;
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

/* Every read costs --read-cost. */
static double seconds_on_disk(const outcome *o) {
  return o->seconds + 1e-6 * given.read_cost * (double)o->store_reads;
}

static void add_figures(report *r, int w, int choice) {
  const outcome *o = &outcomes[w][choice];
  report_cell(r, "%s", choice_names[choice]);
  report_cell(r, "%s", grouped(o->false_positives).text);
  report_cell(r, "%.2f", seconds_on_disk(o));
  report_cell(r, "%.3f", o->seconds);
  report_cell(r, "%s", grouped(o->repeats).text);
  report_cell(r, "%s", grouped(o->store_reads).text);
  report_cell(r, "%.1f", o->bits_per_key);
}

static const char *const columns[] = {"workload",    "filter",  "wasted reads", "s on disk",
                                      "s in memory", "repeats", "store reads",  "bits per key"};

static void print_table(void) {
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (int w = 0; w < WORKLOADS; w++)
    for (int choice = 0; choice < CHOICES; choice++) {
      report_cell(r, "%s", workload_names[w]);
      add_figures(r, w, choice);
    }
  report_finish(r);
}

static void print_json(void) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_count(&j, "keys", given.keys);
  json_count(&j, "queries", given.queries);
  json_real(&j, "read_cost_us", given.read_cost);
  json_open(&j, "results", '[');
  for (int w = 0; w < WORKLOADS; w++)
    for (int choice = 0; choice < CHOICES; choice++) {
      const outcome *o = &outcomes[w][choice];
      json_open(&j, NULL, '{');
      json_text(&j, "workload", workload_names[w]);
      json_text(&j, "filter", choice_names[choice]);
      json_real(&j, "bits_per_key", o->bits_per_key);
      json_count(&j, "store_reads", o->store_reads);
      json_count(&j, "false_positives", o->false_positives);
      json_count(&j, "repeat_false_positives", o->repeats);
      json_real(&j, "seconds", seconds_on_disk(o));
      json_real(&j, "seconds_in_memory", o->seconds);
      json_close(&j);
    }
  json_close(&j);
  json_close(&j);
}

/* ------------------------------------------------------------------ what it means */

enum { TEXT_SIZE = 600 };

/* One sentence per workload, with the figures of this run. */
static void describe(workload w, char *text, size_t size) {
  const outcome *bloom = &outcomes[w][BLOOM], *aqf = &outcomes[w][AQF];
  number_text bloom_wasted = grouped(bloom->false_positives),
              aqf_wasted = grouped(aqf->false_positives);
  if (w == ADVERSARIAL)
    snprintf(text, size,
             "A client that repeats whatever cost a read wastes %s reads behind bloom "
             "and %s behind "
             "aqf, which adapts to each false positive: on disk, %.1f s and %.1f s.",
             bloom_wasted.text, aqf_wasted.text, seconds_on_disk(bloom), seconds_on_disk(aqf));
  else if (w == ZIPF)
    snprintf(text, size,
             "Some absent keys are queried often. bloom wastes %s reads, %s of them on keys "
             "that it "
             "had wrong before, and aqf %s, with %s repeats.",
             bloom_wasted.text, grouped(bloom->repeats).text, aqf_wasted.text,
             grouped(aqf->repeats).text);
  else
    snprintf(text, size,
             "No absent key is queried twice, so there is nothing to learn, and all "
             "filters waste "
             "about the same: bloom %s reads, aqf %s.",
             bloom_wasted.text, aqf_wasted.text);
}

/* Where an adaptive filter does not help. */
static void describe_limits(char text[TEXT_SIZE]) {
  const outcome *none = &outcomes[UNIFORM][NO_FILTER], *bloom = &outcomes[UNIFORM][BLOOM],
                *aqf = &outcomes[UNIFORM][AQF];
  snprintf(
      text, TEXT_SIZE,
      "Two limits. One query in ten of Zipf and uniform is for a member, and no filter can save "
      "these reads. And while the database is in memory a read takes only %.1f us: there the "
      "filter itself counts, and the uniform queries take %.3f s behind bloom and %.3f s "
      "behind aqf. On disk, at %g us per read, they take %.2f s and %.2f s.",
      1e6 * none->seconds / (double)given.queries, bloom->seconds, aqf->seconds, given.read_cost,
      seconds_on_disk(bloom), seconds_on_disk(aqf));
}

static const char *const next_steps =
    "Next, with your own keys and a log of your queries, which filter suits them:\n"
    "  besom advise --set KEYS --queries LOG\n";

static void print_text(void) {
  char text[TEXT_SIZE];
  print_table();
  for (int w = 0; w < WORKLOADS; w++) {
    int len = snprintf(text, sizeof text, "%s: ", workload_names[w]);
    describe((workload)w, text + len, sizeof text - (size_t)len);
    printf("\n");
    arguments_print_filled(text, 0);
  }
  describe_limits(text);
  printf("\n");
  arguments_print_filled(text, 0);
  printf("\n%s", next_steps);
}

static void draw(page *p, workload w) {
  curve curves[CHOICES];
  for (int choice = 0; choice < CHOICES; choice++)
    curves[AQF - choice] = (curve){choice_names[choice], outcomes[w][choice].curve, true};
  chart c = {.x_name = "queries",
             .y_name = "wasted reads so far, on a logarithmic axis",
             .x_most = (double)given.queries,
             .points = CURVE_POINTS,
             .curves = curves,
             .curve_count = COUNT_OF(curves)};
  char text[TEXT_SIZE];
  snprintf(text, sizeof text, "%c%s queries", workload_names[w][0] & ~0x20, workload_names[w] + 1);
  page_heading(p, text);
  describe(w, text, sizeof text);
  page_text(p, "%s", text);
  page_chart(p, &c);
  report *table = report_create(columns + 1, COUNT_OF(columns) - 1, false);
  for (int choice = 0; choice < CHOICES; choice++) add_figures(table, w, choice);
  page_table(p, table);
  report_free(table);
}

static void write_page(void) {
  char text[TEXT_SIZE];
  page *p = page_create("Database reads with and without a filter");
  page_text(
      p,
      "%s keys in a database, %s queries per workload. A wasted read is a read for an absent "
      "key: a false positive of the filter. The times are those of all queries: measured with "
      "the database in memory, and with %g us for every read of a database on disk.",
      grouped(given.keys).text, grouped(given.queries).text, given.read_cost);
  page_text(p,
            "bloom is a Bloom filter: small and fast, and every false positive is repeated. "
            "qf, a quotient filter, stores a fingerprint per key, and repeats them, too. aqf, the "
            "adaptive quotient filter of besom, lengthens the fingerprint that was wrong: the "
            "same query is answered no from then on.");
  for (int w = 0; w < WORKLOADS; w++) draw(p, (workload)w);
  page_heading(p, "Limits");
  describe_limits(text);
  page_text(p, "%s", text);
  page_heading(p, "Next");
  page_text(p, "Which filter suits your own keys and queries?");
  page_code(p, "besom advise --set KEYS --queries LOG");
  page_text(p, "This page was written by besom %s, a library and tools for filters that adapt.",
            besom_version());
  static const char guide[] = "docs/README.md"; /* where the sources are: make demo */
  if (access(guide, R_OK) == 0) page_link(p, guide, "Its documentation");
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
  fprintf(stderr, "%s keys loaded in %.1f s\n", grouped(given.keys).text, now() - start);
  for (int choice = 0; choice < CHOICES; choice++) run_filter((filter_choice)choice);
  clean_up(); /* before printing: SIGPIPE would skip it */
  if (given.json)
    print_json();
  else
    print_text();
  write_page();
  fprintf(stderr, "%.1f s in total; wrote %s\n", now() - start, given.html);
  return 0;
}

const verb demo_verb = {"demo", "see what filters save in front of a database", &demo_command, run};
