#include "workloads/grouped_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "workloads/key_stream.h"

/* ------------------------------------------------------------------ groups */

/* A standard normal number by the method of Box and Muller. */
static double normal(uint64_t seed, uint64_t i) {
  double u = random_unit(random_at(seed, 2 * i)), v = random_unit(random_at(seed, 2 * i + 1));
  return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static double share_of(const group_universe *u, uint32_t i, double mean) {
  double logit = mean + SHARE_DEVIATION * normal(derive_seed(u->seed, SEED_RANKS), i);
  return 1 / (1 + exp(-logit));
}

static void draw_sizes(group_universe *u, uint64_t keys) {
  double *size = calloc(u->n, sizeof *size), sum = 0;
  if (!size) fail("no memory");
  for (uint32_t i = 0; i < u->n; i++)
    sum += size[i] = exp(SIZE_DEVIATION * normal(derive_seed(u->seed, SEED_LENGTHS), i));
  for (uint32_t i = 0; i < u->n; i++)
    u->groups[i].no = (uint64_t)ceil(size[i] / sum * (double)keys);
  free(size);
}

/* The mean for which the yes list has the wanted length. */
static double find_mean(const group_universe *u, double yes) {
  double low = -30, high = 30;
  while (high - low > 1e-9) {
    double middle = (low + high) / 2, sum = 0;
    for (uint32_t i = 0; i < u->n; i++) sum += (double)u->groups[i].no * share_of(u, i, middle);
    if (sum < yes)
      low = middle;
    else
      high = middle;
  }
  return low;
}

group_universe group_universe_new(uint64_t seed, uint32_t groups, uint64_t yes, uint64_t keys) {
  group_universe u = {.seed = seed, .n = groups, .groups = calloc(groups, sizeof *u.groups)};
  if (!u.groups) fail("no memory");
  draw_sizes(&u, keys);
  double mean = find_mean(&u, (double)yes);
  for (uint32_t i = 0; i < groups; i++) {
    key_group *g = &u.groups[i];
    g->yes = (uint64_t)round((double)g->no * share_of(&u, i, mean));
    g->no -= g->yes;
    u.yes += g->yes;
    u.no += g->no;
  }
  return u;
}

void group_universe_free(group_universe *u) {
  free(u->groups);
  u->groups = NULL;
}

/* ------------------------------------------------------------------ keys */

static void write_key(grouped_list *l, uint64_t number) {
  key_stream keys = l->part == GROUP_OTHERS ? stream_absent(l->universe->seed)
                                            : stream_members(l->universe->seed);
  uint64_t serial;
  keys.generate(&keys, number, 1, &serial);
  for (int i = 0; i < 4; i++) l->key[i] = (uint8_t)(l->group >> (8 * i));
  besom_u64_key bytes = besom_u64(serial);
  memcpy(l->key + 4, bytes.bytes, sizeof bytes.bytes);
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  grouped_list *l = ctx;
  (void)weight;
  for (; l->group < l->universe->n; l->group++, l->at = 0) {
    const key_group *g = &l->universe->groups[l->group];
    if (l->at == (l->part == GROUP_YES ? g->yes : g->no)) continue;
    write_key(l, l->at++ + (l->part == GROUP_YES ? 0 : g->yes));
    *key = (besom_bytes){l->key, sizeof l->key};
    return BESOM_OK;
  }
  return BESOM_END;
}

static besom_status rewind_keys(void *ctx) {
  grouped_list *l = ctx;
  l->group = 0;
  l->at = 0;
  return BESOM_OK;
}

void grouped_list_open(grouped_list *l, const group_universe *u, group_part part) {
  *l = (grouped_list){.universe = u, .part = part};
  l->source = (besom_source){.next = next_key,
                             .rewind = rewind_keys,
                             .size_hint = part == GROUP_YES ? u->yes : u->no,
                             .ctx = l};
}

uint64_t grouped_list_count_yes(const besom_filter *f, grouped_list *l, uint64_t most,
                                uint64_t *queried) {
  besom_bytes key;
  uint64_t weight, yes = 0;
  rewind_keys(l);
  for (*queried = 0; *queried < most && next_key(l, &key, &weight) == BESOM_OK; ++*queried)
    yes += besom_contains(f, key.data, key.len);
  return yes;
}
