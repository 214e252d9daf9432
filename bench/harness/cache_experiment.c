#include "harness/cache_experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "fail.h"

/* ------------------------------------------------------------------ caches */

/* The last false positives, the latest first. */
typedef struct cache {
  uint64_t keys[MAX_CACHE_ENTRIES];
  unsigned n, entries;
} cache;

/* Returns whether the key is cached, and moves it to the front. */
static bool cache_lookup(cache *c, uint64_t key) {
  unsigned at = 0;
  while (at < c->n && c->keys[at] != key) at++;
  bool found = at < c->n;
  if (!found && c->n < c->entries) c->n++;
  if (at == c->entries) at--;
  memmove(c->keys + 1, c->keys, at * sizeof *c->keys);
  c->keys[0] = key;
  return found;
}

/* ------------------------------------------------------------------ corrections */

corrections corrections_create(const queries *q) {
  return (corrections){.universe = q->universe,
                       .reported = allocate(q->universe / 8 + 1, 1),
                       .corrected = allocate(q->universe / 8 + 1, 1)};
}

void corrections_free(corrections *c) {
  besom_free(c->at_start);
  free(c->reported);
  free(c->corrected);
  *c = (corrections){0};
}

typedef struct buffer {
  uint8_t *bytes;
  size_t len;
} buffer;

static besom_status write_to_buffer(void *ctx, const void *data, size_t len) {
  buffer *b = ctx;
  b->bytes = realloc(b->bytes, b->len + len);
  if (!b->bytes) return BESOM_NO_MEMORY;
  memcpy(b->bytes + b->len, data, len);
  b->len += len;
  return BESOM_OK;
}

static void begin_round(corrections *c, const tested_filter *tested, uint64_t round) {
  buffer saved = {0};
  besom_free(c->at_start);
  check(besom_save(tested->filter, &(besom_sink){write_to_buffer, &saved}), "saving a filter");
  check(besom_load(saved.bytes, saved.len, NULL, &c->at_start), "loading a filter");
  free(saved.bytes);
  c->round = round;
  c->rounds++;
  memset(c->reported, 0, c->universe / 8 + 1);
  memset(c->corrected, 0, c->universe / 8 + 1);
}

static bool has(const uint8_t *bits, uint32_t number) {
  return bits[number / 8] >> (number % 8) & 1;
}

/* Sets the bit. Returns true if it was not set before. */
static bool is_new(uint8_t *bits, uint32_t number) {
  bool new = !has(bits, number);
  bits[number / 8] |= (uint8_t)(1 << number % 8);
  return new;
}

/* Counts a query that was answered no. */
static void count_correction(corrections *c, uint64_t key, uint32_t number) {
  if (has(c->reported, number)) {
    c->direct++;
  } else if (besom_contains_u64(c->at_start, key)) {
    c->serendipitous++;
    c->serendipitous_keys += is_new(c->corrected, number);
  }
}

static bool query_and_count(tested_filter *tested, corrections *c, uint64_t key, uint32_t number) {
  bool hit = tested_filter_query(tested, key);
  if (!hit) {
    count_correction(c, key, number);
    return false;
  }
  uint64_t round = counter_of(tested->filter, "rounds");
  if (tested->rekeying) round = tested->rekeying->count;
  if (round == c->round)
    c->direct_keys += is_new(c->reported, number);
  else
    begin_round(c, tested, round);
  return true;
}

/* ------------------------------------------------------------------ running */

static tested_filter create_filter(const cache_filter *p, const cache_setup *g) {
  uint8_t seed[16];
  hash_seed(g->seed, seed);
  besom_config config = {.kind = p->kind,
                         .options = p->options,
                         .capacity = g->stored,
                         .fpr = ldexp(1, g->log_rate),
                         .seed = seed};
  if (p->rekeys) return tested_filter_create_rekeying(&config, g->seed, g->stored);
  if (!strcmp(p->kind, "broom")) return tested_filter_create_guard(&config, g->seed, g->stored);
  driver d = driver_create();
  tested_filter tested = tested_filter_create_with(
      strcmp(p->kind, "cached") ? ADAPT_NEVER : ADAPT_EXCEPTIONS, &config, g->seed, g->stored, &d);
  driver_free(&d);
  return tested;
}

double cache_experiment_run(const cache_filter *p, const cache_setup *g, corrections *c) {
  const queries *q = g->queries;
  tested_filter tested = create_filter(p, g);
  cache cached = {.entries = p->entries};
  uint64_t hits = 0;
  if (c) begin_round(c, &tested, 0);
  for (uint64_t i = 0; i < q->n; i++) {
    uint64_t key = queries_key(q, i, g->seed);
    bool hit =
        c ? query_and_count(&tested, c, key, q->numbers[i]) : tested_filter_query(&tested, key);
    if (hit && p->entries) hit = !cache_lookup(&cached, key);
    hits += hit;
  }
  tested_filter_free(&tested);
  return (double)hits / (double)q->n;
}
