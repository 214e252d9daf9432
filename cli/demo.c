/* besom demo: what a filter is worth in front of a database, and what it is worth that one learns. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw, clock_gettime */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "asker.h"
#include "bar.h"
#include "database.h"
#include "fail.h"
#include "interrupt.h"
#include "numbered.h"
#include "page.h"
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
    {"--queries", "N", "of each sort, through each filter; default 500k", .count = &given.queries,
     .least = 1000, .most = 1e12},
    {"--html", "FILE", "where the page goes; default besom-demo.html", .text = &given.html},
    {"--json", NULL, "for programs", .flag = &given.json},
};

static const command demo_command = {
    .usage = "demo [options]",
    .about = "Puts a million keys into an LMDB database in a temporary directory, and sends three "
             "sorts of queries to it,\n"
             "without a filter and through three of them. Uniform: one in ten is for a key that is "
             "there, the others\n"
             "never come again. Zipf: the same, but of the others few are asked for all the time. "
             "Adversarial: somebody\n"
             "asks for keys that are not there, watches which of them cost a read of the database, "
             "and repeats these.\n"
             "Prints a table and writes a page with it.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
};

static const double rate = 1.0 / 256;

/* ------------------------------------------------------------------ the database */

static char directory[300];
static besom_guard *guard;
static besom_store *store; /* the guard's */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where) {
  (void)about, (void)type, (void)where;
  return remove(path);
}

/* Also called by exit, wherever the program ends. */
static void clean_up(void) {
  enum { OPEN_AT_ONCE = 8 };
  besom_guard_close(guard);
  guard = NULL;
  if (*directory) nftw(directory, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
  *directory = 0;
}

/* The keys are in order beside their lists (split), so that all can ask this one database. */
static void open_database(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/besom-demo-XXXXXX",
           temporary && *temporary ? temporary : "/tmp");
  if (!mkdtemp(directory)) fail("%s: %s", directory, strerror(errno));
  atexit(clean_up);
  store = database_open(directory, "lmdb");
  besom_guard_config config = {.filter = {.kind = "aqf", .capacity = given.keys, .fpr = rate},
                               .layout = BESOM_LAYOUT_SPLIT,
                               .durability = BESOM_DURABLE_SYNC};
  check(besom_guard_open(&config, store, &guard), "%s", directory);
}

static void load_keys(void) {
  enum { BATCH = 10000 };
  for (uint64_t i = 0; i < given.keys; i++) {
    if (i % BATCH == 0) check(besom_guard_begin(guard), "loading");
    check(besom_guard_put_new_u64(guard, member_key(i), "value", strlen("value")), "loading");
    if (i % BATCH == BATCH - 1 || i + 1 == given.keys) check(besom_guard_commit(guard), "loading");
    if (i % BATCH == 0) bar_tick(i, given.keys);
  }
  check(besom_guard_sync(guard), "loading");
}

/* ------------------------------------------------------------------ filters */

typedef enum filtering { NO_FILTER, BLOOM, QF, AQF, FILTERINGS } filtering;

static const char *const filtering_names[FILTERINGS] = {"no filter", "bloom", "qf", "aqf"};

static const besom_filter *make_filter(filtering by) {
  if (by == NO_FILTER) return NULL; /* which answers yes */
  if (by == AQF) return besom_guard_filter(guard);
  besom_config config = {.kind = filtering_names[by], .capacity = given.keys, .fpr = rate};
  besom_filter *f;
  check(besom_create(&config, &f), "making a filter of the kind %s", config.kind);
  for (uint64_t i = 0; i < given.keys; i++)
    check(besom_insert_u64(f, member_key(i)), "filling %s", config.kind);
  return f;
}

static besom_status note_found(void *ctx, const besom_record *record) {
  (void)record;
  *(bool *)ctx = true;
  return BESOM_END;
}

static bool find_in_database(uint64_t key) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(key >> (8 * i));
  bool found = false;
  besom_status status = store->ops->table_get(
      store, BESOM_TABLE_KEYS, (besom_bytes){bytes, sizeof bytes}, note_found, &found);
  if (status != BESOM_NOT_FOUND) check(status, "reading %s", directory);
  return found;
}

/* The loop that all this is about. */
static bool is_there(filtering by, const besom_filter *f, uint64_t key) {
  if (by != AQF) return besom_contains_u64(f, key) && find_in_database(key);
  besom_status status = besom_guard_get_u64(guard, key, NULL);
  if (status != BESOM_NOT_FOUND) check(status, "reading %s", directory);
  return status == BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

enum { CURVE_POINTS = 201 };

typedef struct outcome {
  double bits;
  uint64_t reads, in_vain, repeated; /* in_vain: reads for keys that are not there */
  double seconds;
  uint64_t curve[CURVE_POINTS]; /* reads so far */
} outcome;

static outcome outcomes[ASKINGS][FILTERINGS];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A chunk of queries, and what the filter says to each before they are sent. */
typedef struct chunk {
  uint64_t keys[ASKED_AT_ONCE];
  bool is_member[ASKED_AT_ONCE], is_read[ASKED_AT_ONCE];
  size_t n;
} chunk;

static double send(const chunk *c, filtering by, const besom_filter *f) {
  size_t found = 0, members = 0;
  double begun = now();
  for (size_t i = 0; i < c->n; i++) found += is_there(by, f, c->keys[i]);
  double seconds = now() - begun;
  for (size_t i = 0; i < c->n; i++) members += c->is_member[i];
  if (found != members) fail("%s found %zu of %zu keys", filtering_names[by], found, members);
  return seconds;
}

/* Reads in vain of the chunk. A filter that learns may have needed fewer of them than it said yes: the guard knows. */
static void count(outcome *o, const chunk *c, numbered *wrong, const besom_guard_statistics *before,
                  filtering by) {
  uint64_t in_vain = 0, members = 0, known = numbered_count(wrong);
  for (size_t i = 0; i < c->n; i++) {
    members += c->is_member[i];
    if (c->is_member[i] || !c->is_read[i]) continue;
    in_vain++;
    numbered_add(wrong, (besom_bytes){&c->keys[i], sizeof c->keys[i]});
  }
  besom_guard_statistics after;
  check(besom_guard_stats(guard, &after), "statistics");
  if (by == AQF) in_vain = after.false_positives - before->false_positives;
  uint64_t fresh = numbered_count(wrong) - known;
  o->reads += members + in_vain;
  o->in_vain += in_vain;
  o->repeated += in_vain > fresh ? in_vain - fresh : 0;
}

static void run_queries(asking how, filtering by, const besom_filter *f) {
  outcome *o = &outcomes[how][by];
  asker a = asker_create(how, given.keys);
  numbered *wrong = numbered_create();
  chunk c;
  size_t point = 1;
  for (uint64_t done = 0; done < given.queries; done += c.n) {
    c.n = given.queries - done < ASKED_AT_ONCE ? (size_t)(given.queries - done) : ASKED_AT_ONCE;
    asker_next(&a, c.keys, c.is_member, c.n);
    for (size_t i = 0; i < c.n; i++) c.is_read[i] = besom_contains_u64(f, c.keys[i]);
    besom_guard_statistics before;
    check(besom_guard_stats(guard, &before), "statistics");
    o->seconds += send(&c, by, f);
    count(o, &c, wrong, &before, by);
    asker_watch(&a, c.keys, c.is_read, c.n);
    while (point < CURVE_POINTS && done + c.n >= given.queries * point / (CURVE_POINTS - 1))
      o->curve[point++] = o->reads;
    bar_tick(done, given.queries);
  }
  numbered_free(wrong);
  asker_free(&a);
}

static void run_filter(filtering by) {
  static char what[64];
  const besom_filter *f = make_filter(by);
  for (int how = 0; how < ASKINGS; how++) {
    snprintf(what, sizeof what, "%s queries, %s", asking_names[how], filtering_names[by]);
    bar_begin(what, "queries");
    run_queries((asking)how, by, f);
    bar_end();
    besom_statistics stats;
    if (f && besom_stats(f, &stats) == BESOM_OK) outcomes[how][by].bits = stats.bits_per_key;
  }
  if (by != AQF) besom_free((besom_filter *)(uintptr_t)f);
}

/* ------------------------------------------------------------------ what is told */

static const char *const columns[] = {"queries",         "filter",   "bits a key", "store reads",
                                      "false positives", "repeated", "queries/s"};

static report *make_table(void) {
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (int how = 0; how < ASKINGS; how++)
    for (int by = 0; by < FILTERINGS; by++) {
      const outcome *o = &outcomes[how][by];
      report_cell(r, "%s", asking_names[how]);
      report_cell(r, "%s", filtering_names[by]);
      report_cell(r, "%.1f", o->bits);
      report_cell(r, "%llu", (unsigned long long)o->reads);
      report_cell(r, "%llu", (unsigned long long)o->in_vain);
      report_cell(r, "%llu", (unsigned long long)o->repeated);
      report_cell(r, "%.0f", (double)given.queries / o->seconds);
    }
  return r;
}

static void print_json(void) {
  for (int how = 0; how < ASKINGS; how++)
    for (int by = 0; by < FILTERINGS; by++) {
      const outcome *o = &outcomes[how][by];
      printf("{\"queries\":\"%s\",\"filter\":\"%s\",\"bits_per_key\":%.4f,\"store_reads\":%llu,"
             "\"false_positives\":%llu,\"repeated\":%llu,\"queries_per_second\":%.0f}\n",
             asking_names[how], filtering_names[by], o->bits, (unsigned long long)o->reads,
             (unsigned long long)o->in_vain, (unsigned long long)o->repeated,
             (double)given.queries / o->seconds);
    }
}

static const char *const lesson = "A filter saves the reads for what is not there. bloom and qf "
                                  "make the same mistakes again and again; aqf makes "
                                  "each "
                                  "of them once, so that neither popular strangers nor an "
                                  "adversary cost anything. The database lies in memory here: "
                                  "where a read takes 100 us, the store reads are what counts.";

static void draw(page *p, asking how) {
  curve curves[FILTERINGS - 1]; /* without a filter the line would hide the others */
  for (int by = BLOOM; by < FILTERINGS; by++)
    curves[by - BLOOM] = (curve){filtering_names[by], outcomes[how][by].curve};
  chart c = {.x_name = "queries",
             .y_name = "store reads so far",
             .x_most = (double)given.queries,
             .points = CURVE_POINTS,
             .curves = curves,
             .curve_count = COUNT_OF(curves)};
  char heading[64];
  snprintf(heading, sizeof heading, "%s queries", asking_names[how]);
  page_heading(p, heading);
  page_chart(p, &c);
}

static void write_page(const report *table) {
  page *p = page_create("What a filter is worth");
  page_text(p, "%llu keys in an LMDB database; %llu queries of each sort. %s",
            (unsigned long long)given.keys, (unsigned long long)given.queries, lesson);
  page_table(p, table);
  for (int how = 0; how < ASKINGS; how++) draw(p, (asking)how);
  page_finish(p, given.html);
}

static int run(words words) {
  (void)words;
  interrupt_leaves("the temporary database is gone");
  double begun = now();
  open_database();
  bar_begin("loading", "keys");
  load_keys();
  bar_end();
  fprintf(stderr, "%llu keys loaded in %.1f s\n", (unsigned long long)given.keys, now() - begun);
  for (int by = 0; by < FILTERINGS; by++) run_filter((filtering)by);
  clean_up(); /* before anything is printed: whoever reads it may stop to */
  report *table = make_table();
  if (given.json)
    print_json();
  else
    report_print(table), printf("\n%s\n", lesson);
  write_page(table);
  report_free(table);
  fprintf(stderr, "%.1f s in all; the page is %s\n", now() - begun, given.html);
  return 0;
}

const verb demo_verb = {"demo", "see what a filter is worth, in a minute", &demo_command, run};
