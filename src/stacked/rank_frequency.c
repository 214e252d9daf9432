#include "stacked/rank_frequency.h"

#include <math.h>

#define EXACT_COUNTS 256
#define CLASS_BITS 7
#define ENOUGH_KEYS 100

unsigned besom__count_class(uint64_t count) {
  if (count < EXACT_COUNTS) return (unsigned)count;
  unsigned bits = 63 - leading_zeros(count); /* 8 or more */
  return EXACT_COUNTS + (bits - 8) * (1 << CLASS_BITS) +
         (unsigned)(count >> (bits - CLASS_BITS) & 127);
}

void besom__rank_frequency_add(struct rank_frequency *p, uint64_t count) {
  if (!count) return;
  unsigned class = besom__count_class(count);
  p->keys[class]++;
  p->queries[class] += count;
  p->n_keys++;
  p->n_queries += count;
}

void besom__rank_frequency_raise(struct rank_frequency *p, uint64_t count, uint64_t times) {
  unsigned before = besom__count_class(count), after = besom__count_class(count + times);
  p->keys[before]--;
  p->queries[before] -= count;
  p->keys[after]++;
  p->queries[after] += count + times;
  p->n_queries += times;
}

double besom__rank_frequency_unseen(const struct rank_frequency *p) {
  if (p->unseen_given) return p->unseen;
  double all = (double)p->n_queries + (double)p->lost;
  return all > 0 ? ((double)p->keys[1] + (double)p->lost) / all : 1;
}

/* ------------------------------------------------------------------ iterating */

static void next_class(struct rank_walk *w) {
  while (w->left <= 0 && w->class > 0) w->left = (double)w->frequencies->keys[--w->class];
}

/*
 * The expected queries for the keys of a class in another sample of the same size: by the
 * Good-Turing estimator if there are enough keys, else the counts.
 */
static double expected_queries(const struct rank_frequency *p, unsigned class) {
  bool enough = class + 1 < EXACT_COUNTS && p->keys[class] >= ENOUGH_KEYS &&
                p->keys[class + 1] >= ENOUGH_KEYS;
  return (double)p->queries[class + enough];
}

struct rank_walk besom__rank_walk_start(const struct rank_frequency *p) {
  struct rank_walk w = {
      .frequencies = p, .known = 1 - besom__rank_frequency_unseen(p), .class = COUNT_CLASSES};
  double all = 0;
  for (unsigned class = 1; class < COUNT_CLASSES; class ++) all += expected_queries(p, class);
  w.unit = all > 0 ? w.known / all : 0;
  next_class(&w);
  return w;
}

/* The share of all queries for one key of the current class. */
static double share_of_one(const struct rank_walk *w) {
  return w->unit * expected_queries(w->frequencies, w->class) /
         (double)w->frequencies->keys[w->class];
}

static void take(struct rank_walk *w, double keys) {
  w->keys += keys;
  w->share = fmin(w->share + keys * share_of_one(w), w->known);
  w->left -= keys;
  next_class(w);
}

void besom__rank_walk_by_keys(struct rank_walk *w, double more) {
  for (double wanted = w->keys + more; w->class > 0 && w->keys < wanted;)
    take(w, fmin(w->left, wanted - w->keys));
}

void besom__rank_places(const struct rank_frequency *p, struct rank_places *out) {
  struct rank_walk walk = besom__rank_walk_start(p);
  out->at[0] = walk;
  out->n = 1;
  for (double wanted = 1; walk.class > 0 && out->n < MAX_RANK_PLACES; wanted *= 2) {
    besom__rank_walk_by_keys(&walk, wanted - walk.keys);
    out->at[out->n++] = walk;
  }
}

struct rank_walk besom__rank_walk_to(const struct rank_places *places, double keys) {
  unsigned i = places->n - 1;
  while (i > 0 && places->at[i].keys > keys) i--;
  struct rank_walk walk = places->at[i];
  besom__rank_walk_by_keys(&walk, keys - walk.keys);
  return walk;
}
