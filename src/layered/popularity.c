#include "layered/popularity.h"

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

void besom__popularity_add(struct popularity *p, uint64_t count) {
  if (!count) return;
  unsigned class = besom__count_class(count);
  p->keys[class]++;
  p->queries[class] += count;
  p->n_keys++;
  p->n_queries += count;
}

double besom__popularity_unseen(const struct popularity *p) {
  if (p->unseen_told) return p->unseen;
  double all = (double)p->n_queries + (double)p->lost;
  return all > 0 ? ((double)p->keys[1] + (double)p->lost) / all : 1;
}

/* ------------------------------------------------------------------ walking */

static void next_class(struct popularity_walk *w) {
  while (w->left <= 0 && w->class > 0) w->left = (double)w->popularity->keys[--w->class];
}

/* The queries that keys of a class will get when as many are asked as the sample has: by leaving one out, or by the
 * counts. */
static double queries_to_come(const struct popularity *p, unsigned class) {
  bool tells = class + 1 < EXACT_COUNTS && p->keys[class] >= ENOUGH_KEYS &&
               p->keys[class + 1] >= ENOUGH_KEYS;
  return (double)p->queries[class + tells];
}

struct popularity_walk besom__popularity_walk(const struct popularity *p) {
  struct popularity_walk w = {
      .popularity = p, .known = 1 - besom__popularity_unseen(p), .class = COUNT_CLASSES};
  double all = 0;
  for (unsigned class = 1; class < COUNT_CLASSES; class ++) all += queries_to_come(p, class);
  w.unit = all > 0 ? w.known / all : 0;
  next_class(&w);
  return w;
}

/* The share of all queries that one key of the class at hand has. */
static double share_of_one(const struct popularity_walk *w) {
  return w->unit * queries_to_come(w->popularity, w->class) / (double)w->popularity->keys[w->class];
}

static void take(struct popularity_walk *w, double keys) {
  w->keys += keys;
  w->share = fmin(w->share + keys * share_of_one(w), w->known);
  w->left -= keys;
  next_class(w);
}

bool besom__popularity_by_share(struct popularity_walk *w, double more) {
  if (w->class == 0) return false;
  for (double wanted = w->share + more; w->class > 0;) {
    double one = share_of_one(w), keys = one > 0 ? ceil((wanted - w->share) / one) : w->left;
    if (keys <= w->left) {
      take(w, fmax(keys, 1));
      return true;
    }
    take(w, w->left);
  }
  return true;
}

void besom__popularity_by_keys(struct popularity_walk *w, double more) {
  for (double wanted = w->keys + more; w->class > 0 && w->keys < wanted;)
    take(w, fmin(w->left, wanted - w->keys));
}
