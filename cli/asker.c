#include "asker.h"

#include <stdlib.h>

#include "fail.h"
#include "random.h"

const char *const asking_names[ASKINGS] = {"uniform", "Zipf", "adversarial"};

enum { KEY_SEED = 0xbe50, CHOICE_SEED = 0x1c0, ONE_IN = 10, MOST_COSTLY = 20000 };

static const uint64_t strangers = UINT64_C(1) << 40; /* members have numbers below */
static const uint64_t popular_keys = 10000000;
static const double skew = 1.1;

uint64_t member_key(uint64_t number) {
  return random_at(KEY_SEED, number);
}

/* All different, also those of different askers. */
static uint64_t stranger_key(const asker *a, uint64_t number) {
  return random_at(KEY_SEED, strangers * (1 + (uint64_t)a->how) + number);
}

asker asker_create(asking how, uint64_t members) {
  return (asker){.how = how,
                 .members = members,
                 .popularity = zipf_create(skew, popular_keys),
                 .costly = allocate(MOST_COSTLY, sizeof(uint64_t))};
}

void asker_free(asker *a) {
  free(a->costly);
}

static uint64_t next_stranger(asker *a, uint64_t random, size_t i) {
  if (a->how == ZIPF) return stranger_key(a, zipf_rank(&a->popularity, random));
  if (a->how == ADVERSARY && a->costly_count && random % 2) {
    a->again[i] = (size_t)random_below(random_at(random, 0), a->costly_count);
    return a->costly[a->again[i]];
  }
  return stranger_key(a, a->asked);
}

void asker_next(asker *a, uint64_t *keys, bool *is_member, size_t n) {
  for (size_t i = 0; i < n; i++, a->asked++) {
    uint64_t random = random_at(CHOICE_SEED + (uint64_t)a->how, a->asked);
    a->again[i] = SIZE_MAX;
    is_member[i] = a->how != ADVERSARY && random % ONE_IN == 0;
    keys[i] = is_member[i] ? member_key(random_below(random_at(random, 1), a->members))
                           : next_stranger(a, random, i);
  }
}

static void forget_zeros(asker *a) {
  size_t kept = 0;
  for (size_t i = 0; i < a->costly_count; i++)
    if (a->costly[i]) a->costly[kept++] = a->costly[i];
  a->costly_count = kept;
}

void asker_watch(asker *a, const uint64_t *keys, const bool *was_read, size_t n) {
  if (a->how != ADVERSARY) return;
  for (size_t i = 0; i < n; i++)
    if (a->again[i] != SIZE_MAX && !was_read[i]) a->costly[a->again[i]] = 0;
  forget_zeros(a);
  for (size_t i = 0; i < n && a->costly_count < MOST_COSTLY; i++)
    if (a->again[i] == SIZE_MAX && was_read[i]) a->costly[a->costly_count++] = keys[i];
}
