#include "subject.h"

#include <math.h>
#include <stdio.h>

#include "fail.h"

enum { QUERIES = 1 << 22 };

static const double last_share = 0.05; /* of the slots: what insert_last fills */

const char *const operation_names[CALL_STYLES][OPERATIONS] = {
    {"insert", "insert_last", "build", "negative", "positive"},
    {"insert_batch", "insert_last_batch", "", "negative_batch", "positive_batch"},
};

uint64_t plan_items(const plan *p) {
  return (uint64_t)((double)p->slots * p->load);
}

static void configure_by_rate(besom_config *config, const plan *p) {
  config->slots = 0;
  config->width = 0;
  config->capacity = plan_items(p);
  config->rate = p->load * ldexp(1, -(int)p->width);
}

void subject_create(subject *s, const char *kind, const plan *p) {
  *s = (subject){.config = {.kind = kind, .slots = p->slots, .width = (uint32_t)p->width}};
  hash_seed(p->seed, s->hash_seed);
  s->config.seed = s->hash_seed;
  s->config.options = p->options;
  if (p->isa) {
    snprintf(s->options, sizeof s->options, "isa=%s", p->isa);
    s->config.options = s->options;
  }

  besom_filter *f;
  besom_status status = besom_create(&s->config, &f);
  if (status == BESOM_BAD_OPTION && p->isa) { /* the kind has one path for all machines */
    s->config.options = NULL;
    status = besom_create(&s->config, &f);
  }
  if (status == BESOM_INVALID || status == BESOM_UNSUPPORTED) { /* the kind has no slots */
    configure_by_rate(&s->config, p);
    status = besom_create(&s->config, &f);
  }
  if (status == BESOM_UNSUPPORTED) {
    s->built_whole = true;
    s->stats.bytes = (uint64_t)(-log2(s->config.rate) * (double)s->config.capacity / 8); /* at least, for the probe */
    s->stats.kind = kind;
    s->stats.isa = "portable";
    return;
  }
  check(status, "creating %s", kind);
  check(besom_stats(f, &s->stats), "statistics of %s", kind);
  besom_free(f);
}

void subject_free(subject *s) {
  for (int style = 0; style < CALL_STYLES; style++)
    for (int op = 0; op < OPERATIONS; op++) samples_free(&s->nanoseconds[style][op]);
}

static void record(subject *s, call_style style, operation op, double seconds, uint64_t n) {
  if (n) samples_add(&s->nanoseconds[style][op], 1e9 * seconds / (double)n);
}

static void measure_inserts(subject *s, const plan *p, driver *d, uint64_t seed, call_style style, besom_filter *f) {
  uint64_t items = plan_items(p), last = (uint64_t)(last_share * (double)p->slots);
  if (last > items) last = items;
  key_stream members = stream_members(seed);
  double first_seconds = drive_insert(d, f, &members, 0, items - last, style);
  double last_seconds = drive_insert(d, f, &members, items - last, last, style);
  record(s, style, INSERT, first_seconds + last_seconds, items);
  record(s, style, INSERT_LAST, last_seconds, last);
}

static void measure_queries(subject *s, const plan *p, driver *d, uint64_t seed, call_style style,
                            const besom_filter *f) {
  uint64_t hits;
  key_stream absent = stream_absent(seed);
  record(s, style, NEGATIVE, drive_contains(d, f, &absent, QUERIES, style, &hits), QUERIES);
  s->negatives += QUERIES;
  s->false_positives += hits;

  key_stream lookups = stream_lookups(seed, plan_items(p));
  record(s, style, POSITIVE, drive_contains(d, f, &lookups, QUERIES, style, &hits), QUERIES);
  if (hits != QUERIES) fail("%s answered no to %llu members", s->config.kind, (unsigned long long)(QUERIES - hits));
}

void subject_measure(subject *s, const plan *p, driver *d, uint64_t seed) {
  for (int style = 0; style < CALL_STYLES; style++) {
    besom_filter *f;
    if (s->built_whole) {
      key_stream members = stream_members(seed);
      record(s, SINGLE, BUILD, drive_build(d, &s->config, &members, plan_items(p), &f), plan_items(p));
    } else {
      check(besom_create(&s->config, &f), "creating %s", s->config.kind);
      measure_inserts(s, p, d, seed, (call_style)style, f);
    }
    measure_queries(s, p, d, seed, (call_style)style, f);
    check(besom_stats(f, &s->stats), "statistics of %s", s->config.kind);
    besom_free(f);
  }
}
