#include "harness/micro_case.h"

#include <math.h>
#include <stdio.h>

#include "fail.h"
#include "kinds.h"

enum { MAX_QUERIES = 1 << 22, MIN_QUERIES = 1 << 16, QUERIES_PER_KEY = 16 };

static const double last_share = 0.05; /* of the slots: filled by insert_last */

const char *const operation_names[CALL_STYLES][OPERATIONS] = {
    {"insert", "insert_last", "build", "build_sorted", "negative", "positive", "count", "remove",
     "merge"},
    {[INSERT] = "insert_batch",
     [INSERT_LAST] = "insert_last_batch",
     [NEGATIVE] = "negative_batch",
     [POSITIVE] = "positive_batch"},
};

uint64_t micro_plan_items(const micro_plan *p) {
  return (uint64_t)((double)p->slots * p->load);
}

double micro_plan_fpr(const micro_plan *p) {
  return p->load * ldexp(1, -(int)p->width);
}

static void configure_by_rate(besom_config *config, const micro_plan *p) {
  config->slots = 0;
  config->width = 0;
  config->capacity = micro_plan_items(p);
  config->fpr = micro_plan_fpr(p);
}

void micro_case_create(micro_case *s, const char *kind, const micro_plan *p) {
  const besom_kind_info *info = kind_named(kind);
  if (!info) fail("there is no kind %s", kind);
  *s = (micro_case){.config = {.kind = kind, .slots = p->slots, .width = (uint32_t)p->width},
                    .abilities = info->abilities};
  hash_seed(p->seed, s->hash_seed);
  s->config.seed = s->hash_seed;
  s->config.options = p->options;
  if (p->concurrent) s->config.flags = BESOM_CONCURRENT;
  if (p->isa) {
    snprintf(s->options, sizeof s->options, "isa=%s", p->isa);
    s->config.options = s->options;
  }

  besom_filter *f;
  besom_status status = besom_create(&s->config, &f);
  if (status == BESOM_BAD_OPTION && p->isa) { /* the kind has one code path for all machines */
    s->config.options = NULL;
    status = besom_create(&s->config, &f);
  }
  if (status == BESOM_INVALID || status == BESOM_UNSUPPORTED) { /* the kind has no slots */
    configure_by_rate(&s->config, p);
    status = besom_create(&s->config, &f);
  }
  if (status == BESOM_UNSUPPORTED) {
    s->built_whole = true;
    if (p->isa && besom_config_check(&s->config, NULL, 0) == BESOM_BAD_OPTION)
      s->config.options = NULL;
    /* lower bound, for the probe */
    s->stats.bytes = (uint64_t)(-log2(s->config.fpr) * (double)s->config.capacity / 8);
    s->stats.kind = kind;
    s->stats.isa = "portable";
    return;
  }
  check(status, "creating %s", kind);
  check(besom_stats(f, &s->stats), "statistics of %s", kind);
  besom_free(f);
}

void micro_case_free(micro_case *s) {
  for (int style = 0; style < CALL_STYLES; style++)
    for (int op = 0; op < OPERATIONS; op++) samples_free(&s->nanoseconds[style][op]);
  for (int op = 0; op < OPERATIONS; op++) samples_free(&s->p99[op]);
}

static void record(micro_case *s, call_style style, operation op, double seconds, uint64_t n) {
  if (n) samples_add(&s->nanoseconds[style][op], 1e9 * seconds / (double)n);
}

uint64_t micro_plan_last_items(const micro_plan *p) {
  uint64_t items = micro_plan_items(p), last = (uint64_t)(last_share * (double)p->slots);
  return last < items ? last : items;
}

/* Enough for the clock. For small filters, more queries than this would add no information. */
uint64_t micro_plan_queries(const micro_plan *p) {
  uint64_t n = QUERIES_PER_KEY * micro_plan_items(p);
  return n < MIN_QUERIES ? MIN_QUERIES : n > MAX_QUERIES ? MAX_QUERIES : n;
}

static void measure_inserts(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                            call_style style, besom_filter *f) {
  uint64_t items = micro_plan_items(p), last = micro_plan_last_items(p);
  key_stream members = stream_members(seed);
  double first_seconds = drive_insert(d, f, &members, 0, items - last, style);
  double last_seconds = drive_insert(d, f, &members, items - last, last, style);
  record(s, style, INSERT, first_seconds + last_seconds, items);
  record(s, style, INSERT_LAST, last_seconds, last);
}

static void measure_queries(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                            call_style style, const besom_filter *f) {
  uint64_t hits, n = micro_plan_queries(p);
  key_stream absent = stream_absent(seed);
  record(s, style, NEGATIVE, drive_contains(d, f, &absent, n, style, &hits), n);
  s->negatives += n;
  s->false_positives += hits;

  key_stream lookups = stream_lookups(seed, micro_plan_items(p));
  record(s, style, POSITIVE, drive_contains(d, f, &lookups, n, style, &hits), n);
  if (hits != n)
    fail("%s answered no to %llu members", s->config.kind, (unsigned long long)(n - hits));
}

static void measure_count(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                          const besom_filter *f) {
  if (!(s->abilities & BESOM_CAN_COUNT)) return;
  uint64_t sum, n = micro_plan_queries(p);
  key_stream lookups = stream_lookups(seed, micro_plan_items(p));
  record(s, SINGLE, COUNT, drive_count(d, f, &lookups, n, &sum), n);
  if (sum < n)
    fail("%s counts %llu of %llu members", s->config.kind, (unsigned long long)sum,
         (unsigned long long)n);
}

static void measure_remove(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                           besom_filter *f) {
  if (!(s->abilities & BESOM_CAN_REMOVE)) return;
  uint64_t last = micro_plan_last_items(p);
  key_stream members = stream_members(seed);
  record(s, SINGLE, REMOVE, drive_remove(d, f, &members, micro_plan_items(p) - last, last), last);
}

/* Fails if members are lost. */
static void check_members(const micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                          const besom_filter *f) {
  uint64_t hits, n = micro_plan_queries(p);
  key_stream lookups = stream_lookups(seed, micro_plan_items(p));
  drive_contains(d, f, &lookups, n, BATCH, &hits);
  if (hits != n) fail("%s has lost %llu members", s->config.kind, (unsigned long long)(n - hits));
}

/* The digests have no known keys, but kinds built from digests count them. */
static void check_items(const micro_case *s, const micro_plan *p, const besom_filter *f) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", s->config.kind);
  if (stats.keys != micro_plan_items(p))
    fail("%s has %llu of %llu digests", s->config.kind, (unsigned long long)stats.keys,
         (unsigned long long)micro_plan_items(p));
}

static besom_filter *measure_build(micro_case *s, const micro_plan *p, driver *d, uint64_t seed) {
  besom_filter *f;
  key_stream members = stream_members(seed);
  record(s, SINGLE, BUILD, drive_build(d, &s->config, &members, micro_plan_items(p), &f),
         micro_plan_items(p));
  check_members(s, p, d, seed, f);
  return f;
}

static void measure_build_sorted(micro_case *s, const micro_plan *p, uint64_t seed) {
  if (!(s->abilities & BESOM_CAN_BUILD_SORTED)) return;
  besom_filter *f;
  record(s, SINGLE, BUILD_SORTED, drive_build_sorted(&s->config, seed, micro_plan_items(p), &f),
         micro_plan_items(p));
  check_items(s, p, f);
  besom_free(f);
}

static void measure_merge(micro_case *s, const micro_plan *p, driver *d, uint64_t seed) {
  if (!(s->abilities & BESOM_CAN_MERGE)) return;
  uint64_t half = micro_plan_items(p) / 2;
  key_stream members = stream_members(seed);
  besom_filter *a = drive_filled(d, &s->config, &members, half), *b, *both;
  check(besom_create_like(a, &b), "creating another %s", s->config.kind);
  drive_insert(d, b, &members, half, micro_plan_items(p) - half, BATCH);
  record(s, SINGLE, MERGE, drive_merge(a, b, &both), micro_plan_items(p));
  check_members(s, p, d, seed, both);
  besom_free(a);
  besom_free(b);
  besom_free(both);
}

static void measure_inserted(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                             call_style style) {
  besom_filter *f;
  check(besom_create(&s->config, &f), "creating %s", s->config.kind);
  measure_inserts(s, p, d, seed, style, f);
  measure_queries(s, p, d, seed, style, f);
  check(besom_stats(f, &s->stats), "statistics of %s", s->config.kind);
  if (style == SINGLE) {
    measure_count(s, p, d, seed, f);
    measure_remove(s, p, d, seed, f);
  }
  besom_free(f);
}

static void measure_built(micro_case *s, const micro_plan *p, driver *d, uint64_t seed) {
  besom_filter *f = measure_build(s, p, d, seed);
  if (s->built_whole) {
    for (int style = 0; style < CALL_STYLES; style++)
      measure_queries(s, p, d, seed, (call_style)style, f);
    check(besom_stats(f, &s->stats), "statistics of %s", s->config.kind);
  }
  besom_free(f);
}

void micro_case_measure(micro_case *s, const micro_plan *p, driver *d, uint64_t seed) {
  for (int style = 0; style < CALL_STYLES && !s->built_whole; style++)
    measure_inserted(s, p, d, seed, (call_style)style);
  measure_built(s, p, d, seed);
  measure_build_sorted(s, p, seed);
  if (!s->built_whole) measure_merge(s, p, d, seed);
}
