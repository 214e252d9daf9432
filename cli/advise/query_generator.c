#include "advise/query_generator.h"

#include <stdlib.h>

#include "fail.h"
#include "random.h"

const char *const workload_names[WORKLOADS] = {"adversarial", "Zipf", "uniform"};

enum { KEY_SEED = 0xbe50, CHOICE_SEED = 0x1c0, QUERIES_PER_MEMBER = 10, MAX_COSTLY = 20000 };

static const uint64_t first_absent = UINT64_C(1) << 40; /* members have smaller numbers */
static const uint64_t popular_keys = 10000000;
static const double skew = 1.1;

uint64_t member_key(uint64_t number) {
  return random_at(KEY_SEED, number);
}

/* The absent keys of one workload are distinct from each other and from those of the others. */
static uint64_t absent_key(const query_generator *g, uint64_t number) {
  return random_at(KEY_SEED, first_absent * (1 + (uint64_t)g->workload) + number);
}

query_generator generator_create(workload kind, uint64_t members) {
  return (query_generator){.workload = kind,
                           .members = members,
                           .popularity = zipf_create(skew, popular_keys),
                           .costly = allocate(MAX_COSTLY, sizeof(uint64_t))};
}

void generator_free(query_generator *g) {
  free(g->costly);
}

static uint64_t next_absent(query_generator *g, uint64_t random, size_t i) {
  if (g->workload == ZIPF) return absent_key(g, zipf_rank(&g->popularity, random));
  if (g->workload == ADVERSARIAL && g->costly_count && random % 2) {
    g->repeat_of[i] = (size_t)random_below(random_at(random, 0), g->costly_count);
    return g->costly[g->repeat_of[i]];
  }
  return absent_key(g, g->generated);
}

void generator_next(query_generator *g, uint64_t *keys, bool *is_member, size_t n) {
  for (size_t i = 0; i < n; i++, g->generated++) {
    uint64_t random = random_at(CHOICE_SEED + (uint64_t)g->workload, g->generated);
    g->repeat_of[i] = SIZE_MAX;
    is_member[i] = g->workload != ADVERSARIAL && random % QUERIES_PER_MEMBER == 0;
    keys[i] = is_member[i] ? member_key(random_below(random_at(random, 1), g->members))
                           : next_absent(g, random, i);
  }
}

/* Keys that cost no read any more are set to 0. */
static void drop_zeros(query_generator *g) {
  size_t kept = 0;
  for (size_t i = 0; i < g->costly_count; i++)
    if (g->costly[i]) g->costly[kept++] = g->costly[i];
  g->costly_count = kept;
}

void generator_observe(query_generator *g, const uint64_t *keys, const bool *was_read, size_t n) {
  if (g->workload != ADVERSARIAL) return;
  bool any_zero = false;
  for (size_t i = 0; i < n && !g->persistent; i++)
    if (g->repeat_of[i] != SIZE_MAX && !was_read[i])
      g->costly[g->repeat_of[i]] = 0, any_zero = true;
  if (any_zero) drop_zeros(g);
  for (size_t i = 0; i < n && g->costly_count < MAX_COSTLY; i++)
    if (g->repeat_of[i] == SIZE_MAX && was_read[i]) g->costly[g->costly_count++] = keys[i];
}
