#include "quotient/concurrent.h"

#include "quotient/walk.h"

/* The first block of a region knows by itself where earlier runs end: no walk from behind it goes further back. */
static bool stands_alone(const struct qtable *t, uint64_t region) {
  return block_offset(block_at(t, region * (REGION_SLOTS / BLOCK_SLOTS))) < OFFSET_SATURATED;
}

void besom__range_lock(struct range *r, struct region *regions, const struct qtable *t,
                       uint64_t quotient, bool change) {
  uint64_t home = quotient / REGION_SLOTS, first = home;
  for (;; first--) { /* a lower lock only after all others are given back */
    region_lock(&regions[first], change);
    if (first == 0 || stands_alone(t, first)) break;
    region_unlock(&regions[first]);
  }
  *r = (struct range){regions, first, first + 1, change};
  while (r->end <= home) region_lock(&regions[r->end++], change);
  besom__range_reach(r, t, quotient, 1);
}

void besom__range_reach(struct range *r, const struct qtable *t, uint64_t quotient, uint64_t n) {
  uint64_t left = bits_from(quotient % 64), found = 0;
  for (uint64_t at = quotient & ~UINT64_C(63); at < t->room && found < n;
       at += 64, left = ~UINT64_C(0)) {
    if (at / REGION_SLOTS == r->end) region_lock(&r->regions[r->end++], r->change);
    found += popcount(empty_slots(t, block_at(t, at / 64), t->width) & left);
  }
}

void besom__range_unlock(const struct range *r) {
  for (uint64_t i = r->end; i-- > r->first;) region_unlock(&r->regions[i]);
}
