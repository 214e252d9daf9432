/* besom size: how much memory a set of keys needs, with which kind of filter, on how many nodes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_text.h"
#include "fail.h"
#include "json.h"
#include "kinds.h"
#include "number_text.h"
#include "random.h"
#include "report.h"
#include "verb.h"

static struct {
  uint64_t keys, reports, memory;
  double fpr, growth;
  const char *kind;
  bool deletes, store, json;
} given = {.fpr = 1.0 / 256, .growth = 1};

static const argument arguments[] = {
    {"--keys", "N", "keys of the set, now", .count = &given.keys, .least = 1, .most = 1e12},
    {"--fpr", "RATE", "target false-positive rate; default 1/256", .rate = &given.fpr,
     .least = 1e-12, .most = 0.5},
    {"--reports", "N", "false positives that will be reported (besom fix, besom_adapt); default 0",
     .count = &given.reports, .most = 1e12},
    {"--growth", "FACTOR", "keys at the end, as a multiple of --keys; default 1",
     .real = &given.growth, .least = 1, .most = 1000},
    {"--deletes", NULL, "keys are deleted", .flag = &given.deletes},
    {"--store", NULL,
     "the filter is in front of a database that has the keys (besom db, besom_guard)",
     .flag = &given.store},
    {"--memory", "BYTES", "memory for the filter on one node, such as 2G; default: enough",
     .count = &given.memory, .least = 1, .most = 1e18},
    {"--kind", "KIND", "only this kind", .text = &given.kind},
    JSON_ARGUMENT(given.json),
};

static const command size_command = {
    .usage = "size --keys N [options]",
    .about =
        "Tells how large a filter is, for every kind that suits, and names the one with the fewest "
        "shards, or else with the least memory, on average from now until the set has grown. The "
        "sizes "
        "are those of real filters: it makes one of each kind, with up to a million keys, and "
        "scales it.\n\n"
        "A report takes memory only if the filter has no store. With --growth, kinds that can grow "
        "start small (besom grow), and others have their final size from the start. Static kinds "
        "are listed only without --growth and --deletes. With --memory, the keys are spread over "
        "shards, by a hash: "
        "a shard has room for its share and four standard deviations. bytes is the sum of all "
        "shards. While a filter grows, the "
        "old and the new table are in memory; the number of shards considers that.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .examples = "  besom size --keys 100M --fpr 1/1000\n"
                "  besom size --keys 1G --growth 4 --reports 10M --memory 2G",
};

/* ------------------------------------------------------------------ kinds */

static bool can(const besom_kind_info *kind, unsigned abilities) {
  return (kind->abilities & abilities) == abilities;
}

/* Kinds whose size depends on a sample of queries or on a second list. */
static bool needs_more_than_keys(const besom_kind_info *kind) {
  static const char *const names[] = {"cached",  "cascade", "grouped",          "updated",
                                      "learned", "stacked", "adaptive-stacked", "yesno-dynamic"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(kind->name, names[i]) == 0) return true;
  return false;
}

static bool is_static(const besom_kind_info *kind) {
  return !given.store && !can(kind, BESOM_CAN_INSERT);
}

static bool resizes(const besom_kind_info *kind) {
  return can(kind, BESOM_CAN_RESIZE) && given.growth > 1;
}

/* NULL if the kind suits the options. */
static const char *why_unfit(const besom_kind_info *kind) {
  bool in_front_of_store = can(kind, BESOM_CAN_MATCH) && !can(kind, BESOM_CAN_NO_LIST_AT);
  if (needs_more_than_keys(kind))
    return "its size depends on queries or a second list: see besom advise";
  if (given.store) return in_front_of_store ? NULL : "it does not work in front of a store";
  if (in_front_of_store && !can(kind, BESOM_CAN_INSERT)) return "it needs a store: give --store";
  if (is_static(kind) && (given.growth > 1 || given.deletes))
    return "it is static, and the set changes";
  if (given.deletes && !can(kind, BESOM_CAN_REMOVE)) return "it cannot delete keys";
  if (given.reports && !can(kind, BESOM_CAN_NO_LIST)) return "it takes no reports without a store";
  return NULL;
}

/* ------------------------------------------------------------------ models */

enum {
  MAX_MODEL_KEYS = 1000000,
  MAX_MODEL_GROWN = 2000000,
  MAX_MODEL_REPORTS = 200000,
  LEAST_MODEL_KEYS = 1000,
  KEY_SEED = 0x512e
};

/* A real filter of up to a million keys; the sizes of larger ones are proportional. */
typedef struct model {
  uint64_t keys, grown_keys, reports;
  double scale; /* the filter in question has this many times as many keys */
} model;

static model model_of(double all_keys, double all_reports) {
  double keys = fmin(MAX_MODEL_KEYS, MAX_MODEL_GROWN / given.growth);
  if (all_reports > 0) keys = fmin(keys, all_keys * (MAX_MODEL_REPORTS / all_reports));
  keys = fmin(all_keys, fmax(keys, LEAST_MODEL_KEYS));
  model m = {.keys = (uint64_t)ceil(keys)};
  m.scale = all_keys / (double)m.keys;
  m.grown_keys = (uint64_t)ceil((double)m.keys * given.growth);
  m.reports = (uint64_t)ceil(all_reports / m.scale);
  return m;
}

typedef struct key_stream {
  uint64_t at, end;
  besom_u64_key key;
} key_stream;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_stream *s = ctx;
  (void)weight;
  if (s->at == s->end) return BESOM_END;
  s->key = besom_u64(random_at(KEY_SEED, s->at++));
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

static besom_status rewind_stream(void *ctx) {
  ((key_stream *)ctx)->at = 0;
  return BESOM_OK;
}

/* The default limit of reports without a store is one per 32 keys. */
static bool exceeds_default_limit(uint64_t reports, uint64_t keys) {
  return reports > 64 && reports > keys / 32;
}

static besom_config config_of(const besom_kind_info *kind, uint64_t keys, uint64_t grown_keys,
                              uint64_t reports, char options[64]) {
  besom_config config = {.kind = kind->name, .capacity = keys, .fpr = given.fpr};
  if (resizes(kind) && grown_keys > keys)
    config.max_capacity = grown_keys;
  else if (!is_static(kind) && !can(kind, BESOM_CAN_SCALE))
    config.capacity = grown_keys;
  if (!given.store && can(kind, BESOM_CAN_NO_LIST) &&
      exceeds_default_limit(reports, config.capacity)) {
    snprintf(options, 64, "max_exceptions=%llu", (unsigned long long)reports);
    config.options = options;
  }
  return config;
}

static besom_status make_filter(const besom_kind_info *kind, const besom_config *config,
                                besom_filter **f) {
  if (!is_static(kind)) return besom_create(config, f);
  key_stream stream = {.end = config->capacity};
  besom_source keys = {next_key, rewind_stream, config->capacity, &stream};
  besom_input input = {.yes = &keys};
  return besom_build(config, &input, f);
}

/* Reports of absent keys are exceptions, as those of a no list. */
static besom_status add_reports(besom_filter *f, uint64_t n) {
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < n && status == BESOM_OK; i++) {
    besom_u64_key key = besom_u64(random_at(KEY_SEED + 1, i));
    status = besom_no_add(f, key.bytes, sizeof key.bytes);
  }
  return status;
}

static besom_status insert_keys(besom_filter *f, uint64_t n) {
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < n && status == BESOM_OK; i++)
    status = besom_insert_u64(f, random_at(KEY_SEED, i));
  return status;
}

static uint64_t bytes_of(const besom_filter *f) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  return stats.bytes;
}

static besom_status resize_to(besom_filter *f, uint64_t keys) {
  besom_status status = BESOM_OK;
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  while (stats.capacity < keys && status == BESOM_OK) {
    status = besom_resize(f, 2 * stats.slots, NULL);
    check(besom_stats(f, &stats), "statistics");
  }
  return status;
}

/* The bytes of a model, and of the model when it has grown. */
static besom_status measure(const besom_kind_info *kind, const model *m, uint64_t *bytes,
                            uint64_t *grown) {
  char options[64];
  besom_config config = config_of(kind, m->keys, m->grown_keys, m->reports, options);
  besom_filter *f = NULL;
  besom_status status = make_filter(kind, &config, &f);
  if (status == BESOM_OK && !given.store) status = add_reports(f, m->reports);
  if (status != BESOM_OK) return besom_free(f), status;
  *bytes = bytes_of(f);
  if (resizes(kind))
    status = resize_to(f, m->grown_keys);
  else if (can(kind, BESOM_CAN_SCALE) && given.growth > 1)
    status = insert_keys(f, m->grown_keys);
  *grown = bytes_of(f);
  besom_free(f);
  return status;
}

/* ------------------------------------------------------------------ results */

typedef struct row {
  const besom_kind_info *kind;
  uint64_t bytes, grown_bytes; /* of all shards */
  uint64_t shards, shard_keys; /* shard_keys: the most keys that a shard will have */
} row;

static double grown_keys(void) {
  return ceil((double)given.keys * given.growth);
}

/* The most keys of one of k shards when they have grown: its share and four standard deviations. */
static double keys_of_shard(double k) {
  double keys = grown_keys();
  return k == 1 ? keys : ceil(keys / k + 4 * sqrt(keys / k));
}

/* The bytes of one of k shards, now and when it has grown. */
static besom_status measure_shard(const besom_kind_info *kind, double k, double *bytes,
                                  double *grown) {
  model m = model_of(ceil(keys_of_shard(k) / given.growth), (double)given.reports / k);
  uint64_t model_bytes = 0, model_grown = 0;
  besom_status status = measure(kind, &m, &model_bytes, &model_grown);
  if (status != BESOM_OK) return status;
  *bytes = (double)model_bytes * m.scale;
  *grown = (double)model_grown * m.scale;
  return BESOM_OK;
}

/* While a filter grows, the new table and the old one of half its size are in memory. */
static bool fits(const besom_kind_info *kind, double grown) {
  return !given.memory || grown * (resizes(kind) ? 1.5 : 1) <= (double)given.memory;
}

/* Finds the number of shards. A small shard takes more bytes per key than a large one, so it
 * measures again, until a shard fits. */
static bool fill_row(row *r, const besom_kind_info *kind) {
  enum { MAX_SHARDS = 65536, MAX_TRIALS = 20 };
  double k = 1, bytes, grown;
  besom_status status = measure_shard(kind, k, &bytes, &grown);
  for (int i = 0; status == BESOM_OK && !fits(kind, grown); i++) {
    if (i == MAX_TRIALS || k >= MAX_SHARDS) return false;
    double needed = grown * (resizes(kind) ? 1.5 : 1) / (double)given.memory;
    k = fmin(fmax(ceil(k * needed), k + 1), MAX_SHARDS);
    status = measure_shard(kind, k, &bytes, &grown);
  }
  *r = (row){.kind = kind,
             .bytes = (uint64_t)(k * bytes),
             .grown_bytes = (uint64_t)(k * grown),
             .shards = (uint64_t)k,
             .shard_keys = (uint64_t)keys_of_shard(k)};
  return status == BESOM_OK;
}

/* Fewer shards are better; then less memory, on average from now until the set has grown. */
static int compare_rows(const void *a, const void *b) {
  const row *x = a, *y = b;
  uint64_t x_bytes = x->bytes + x->grown_bytes, y_bytes = y->bytes + y->grown_bytes;
  if (x->shards != y->shards) return x->shards < y->shards ? -1 : 1;
  if (x_bytes != y_bytes) return x_bytes < y_bytes ? -1 : 1;
  return strcmp(x->kind->name, y->kind->name);
}

static size_t make_rows(row *rows) {
  size_t n = 0;
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)); i++) {
    bool wanted = given.kind ? strcmp(kind->name, given.kind) == 0 : !why_unfit(kind);
    if (wanted) n += fill_row(&rows[n], kind);
  }
  qsort(rows, n, sizeof *rows, compare_rows);
  return n;
}

static const char *adapts(const besom_kind_info *kind) {
  if (given.store) return "with store";
  return can(kind, BESOM_CAN_NO_LIST) ? "on report" : "never";
}

static double bits_per_key(const row *r) {
  return 8 * (double)r->bytes / (double)given.keys;
}

/* ------------------------------------------------------------------ the command that builds it */

enum { LINE_SIZE = 400 };

static void write_command(const row *r, char line[LINE_SIZE]) {
  char options[64] = "";
  uint64_t grown = r->shard_keys, now = (uint64_t)ceil((double)grown / given.growth),
           reports = (uint64_t)ceil((double)given.reports / (double)r->shards);
  besom_config config = config_of(r->kind, now, grown, reports, options);
  int len = snprintf(line, LINE_SIZE, "besom %s --kind %s --fpr %.6g --capacity %llu",
                     given.store ? "db load set.db KEYS" : "build set.besom --yes KEYS",
                     r->kind->name, given.fpr, (unsigned long long)config.capacity);
  if (given.store) return;
  if (config.max_capacity)
    len += snprintf(line + len, LINE_SIZE - (size_t)len, " --max-capacity %llu",
                    (unsigned long long)config.max_capacity);
  if (config.options) /* max_exceptions */
    snprintf(line + len, LINE_SIZE - (size_t)len, " --reserve %llu", (unsigned long long)reports);
}

/* ------------------------------------------------------------------ output */

static void print_json(const row *rows, size_t n) {
  json j = {0};
  char line[LINE_SIZE];
  json_open(&j, NULL, '{');
  json_count(&j, "keys", given.keys);
  json_real(&j, "fpr", given.fpr);
  json_count(&j, "reports", given.reports);
  json_real(&j, "growth", given.growth);
  json_text(&j, "kind", rows[0].kind->name);
  json_open(&j, "kinds", '[');
  for (const row *r = rows; r < rows + n; r++) {
    json_open(&j, NULL, '{');
    json_text(&j, "kind", r->kind->name);
    json_text(&j, "adapts", adapts(r->kind));
    json_real(&j, "bits_per_key", bits_per_key(r));
    json_count(&j, "bytes", r->bytes);
    json_count(&j, "grown_bytes", r->grown_bytes);
    json_count(&j, "shards", r->shards);
    json_count(&j, "keys_per_shard", r->shard_keys);
    write_command(r, line);
    json_text(&j, "command", line);
    json_close(&j);
  }
  json_close(&j);
  json_close(&j);
}

/* Without --growth or --memory the columns for them are left out. */
static void print_table(const row *rows, size_t n) {
  const char *columns[6] = {"kind", "adapts", "bits per key", "bytes"};
  size_t column_count = 4;
  if (given.growth > 1) columns[column_count++] = "bytes when grown";
  if (given.memory) columns[column_count++] = "shards";
  report *table = report_create(columns, column_count, false);
  for (const row *r = rows; r < rows + n; r++) {
    report_cell(table, "%s", r->kind->name);
    report_cell(table, "%s", adapts(r->kind));
    report_cell(table, "%.2f", bits_per_key(r));
    report_cell(table, "%s", grouped(r->bytes).text);
    if (given.growth > 1) report_cell(table, "%s", grouped(r->grown_bytes).text);
    if (given.memory) report_cell(table, "%s", grouped(r->shards).text);
  }
  report_finish(table);
}

static void print_advice(const row *best) {
  char line[LINE_SIZE], text[300];
  bool grows = given.growth > 1;
  snprintf(text, sizeof text, "Use %s, which needs the %s: %.2f bits per key%s.", best->kind->name,
           given.memory ? "fewest shards" : "least memory", bits_per_key(best),
           grows                   ? " now"
           : is_static(best->kind) ? "; it is static: give --growth or --deletes if the set changes"
                                   : "");
  printf("\n");
  arguments_print_filled(text, 0);
  write_command(best, line);
  if (best->shards > 1)
    printf("\nBuild each of the %s shards, of at most %s keys%s:\n  %s\n",
           grouped(best->shards).text, grouped(best->shard_keys).text, grows ? " in the end" : "",
           line);
  else
    printf("\nBuild it:\n  %s\n", line);
}

static void check_options(void) {
  if (!given.keys) usage_error("--keys is missing: the number of keys of the set");
  if (given.reports > given.keys)
    usage_error("--reports: more reports than keys: build the filter with a no list (besom build "
                "--no)");
  if (!given.kind) return;
  const besom_kind_info *kind = kind_named(given.kind);
  if (!kind) usage_error("--kind: unknown kind '%s'; besom kinds lists them", given.kind);
  if (why_unfit(kind)) usage_error("--kind: %s: %s", given.kind, why_unfit(kind));
}

/* Why there is no filter of this kind and rate. */
static _Noreturn void explain_failure(void) {
  static const option_name names[] = {{"fpr", "--fpr"}, {"capacity", "--keys"}};
  besom_config config = {.kind = given.kind, .capacity = given.keys, .fpr = given.fpr};
  char text[CONFIG_TEXT_SIZE];
  if (given.kind && config_text(&config, names, COUNT_OF(names), text) != BESOM_OK)
    usage_error("%s", text);
  usage_error("no kind suits these options%s",
              given.memory ? " with up to 65,536 shards: give more --memory" : "");
}

static int run(words args) {
  (void)args;
  check_options();
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  row *rows = allocate(kinds, sizeof *rows);
  size_t n = make_rows(rows);
  if (!n) explain_failure();
  if (given.json)
    print_json(rows, n);
  else
    print_table(rows, n), print_advice(&rows[0]);
  free(rows);
  return 0;
}

const verb size_verb = {"size", "compute memory and shards for a set of keys", &size_command, run};
