#include "harness/cache_experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* ------------------------------------------------------------------ caches */

/* The keys that were false positives last, the latest first. */
typedef struct cache {
  uint64_t keys[MOST_PLACES];
  unsigned n, places;
} cache;

/* Whether it is there; it is from now on, in front. */
static bool cache_ask(cache *c, uint64_t key) {
  unsigned at = 0;
  while (at < c->n && c->keys[at] != key) at++;
  bool found = at < c->n;
  if (!found && c->n < c->places) c->n++;
  if (at == c->places) at--;
  memmove(c->keys + 1, c->keys, at * sizeof *c->keys);
  c->keys[0] = key;
  return found;
}

/* ------------------------------------------------------------------ corrections */

corrections corrections_create(const queries *q) {
  return (corrections){.universe = q->universe,
                       .reported = allocate(q->universe / 8 + 1, 1),
                       .lucky = allocate(q->universe / 8 + 1, 1)};
}

void corrections_free(corrections *c) {
  besom_free(c->at_begin);
  free(c->reported);
  free(c->lucky);
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

static void begin_round(corrections *c, const learner *l, uint64_t round) {
  buffer saved = {0};
  besom_free(c->at_begin);
  check(besom_save(l->filter, &(besom_sink){write_to_buffer, &saved}), "saving a filter");
  check(besom_load(saved.bytes, saved.len, NULL, &c->at_begin), "loading a filter");
  free(saved.bytes);
  c->round = round;
  c->rounds++;
  memset(c->reported, 0, c->universe / 8 + 1);
  memset(c->lucky, 0, c->universe / 8 + 1);
}

static bool has(const uint8_t *bits, uint32_t number) {
  return bits[number / 8] >> (number % 8) & 1;
}

/* Sets the bit; true if it was not set. */
static bool is_new(uint8_t *bits, uint32_t number) {
  bool new = !has(bits, number);
  bits[number / 8] |= (uint8_t)(1 << number % 8);
  return new;
}

/* A query that was answered no. */
static void count_correction(corrections *c, uint64_t key, uint32_t number) {
  if (has(c->reported, number)) {
    c->direct++;
  } else if (besom_contains_u64(c->at_begin, key)) {
    c->serendipitous++;
    c->serendipitous_keys += is_new(c->lucky, number);
  }
}

static bool ask_and_count(learner *l, corrections *c, uint64_t key, uint32_t number) {
  bool lie = learner_ask(l, key);
  if (!lie) {
    count_correction(c, key, number);
    return false;
  }
  uint64_t round = learner_stats(l).rounds;
  if (round == c->round)
    c->direct_keys += is_new(c->reported, number);
  else
    begin_round(c, l, round);
  return true;
}

/* ------------------------------------------------------------------ playing */

static learner join(const player *p, const game *g) {
  uint8_t seed[16];
  hash_seed(g->seed, seed);
  besom_config config = {.kind = p->kind,
                         .options = p->options,
                         .capacity = g->stored,
                         .fpr = ldexp(1, g->log_rate),
                         .seed = seed};
  if (!strcmp(p->kind, "broom")) return learner_create_guard(&config, g->seed, g->stored);
  driver d = driver_create();
  learner l =
      learner_create_as(strcmp(p->kind, "cached") ? NEVER : MARKS, &config, g->seed, g->stored, &d);
  driver_free(&d);
  return l;
}

double caf_play(const player *p, const game *g, corrections *c) {
  const queries *q = g->queries;
  learner l = join(p, g);
  cache cached = {.places = p->places};
  uint64_t lies = 0;
  if (c) begin_round(c, &l, 0);
  for (uint64_t i = 0; i < q->n; i++) {
    uint64_t key = queries_key(q, i, g->seed);
    bool lie = c ? ask_and_count(&l, c, key, q->numbers[i]) : learner_ask(&l, key);
    if (lie && p->places) lie = !cache_ask(&cached, key);
    lies += lie;
  }
  learner_free(&l);
  return (double)lies / (double)q->n;
}
