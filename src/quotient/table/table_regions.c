#include "quotient/table/table_regions.h"

#include "quotient/table/walk.h"

/* Whether the first block of a region has an exact offset: then no walk goes back before it. */
static bool has_exact_offset(const struct qtable *t, uint64_t region) {
  return block_offset(block_at(t, region * (REGION_SLOTS / BLOCK_SLOTS))) < OFFSET_SATURATED;
}

void besom__lock_regions(struct locked_regions *l, struct region *regions, const struct qtable *t,
                         uint64_t quotient, bool change) {
  uint64_t home = quotient / REGION_SLOTS, first = home;
  for (;; first--) { /* locks are taken in ascending order: unlock before going back */
    region_lock(&regions[first], change);
    if (first == 0 || has_exact_offset(t, first)) break;
    region_unlock(&regions[first]);
  }
  *l = (struct locked_regions){regions, first, first + 1, change};
  while (l->end <= home) region_lock(&regions[l->end++], change);
  besom__lock_regions_to(l, t, quotient, 1);
}

void besom__lock_regions_to(struct locked_regions *l, const struct qtable *t, uint64_t quotient,
                            uint64_t n) {
  uint64_t left = bits_from(quotient % 64), found = 0;
  for (uint64_t at = quotient & ~UINT64_C(63); at < t->room && found < n;
       at += 64, left = ~UINT64_C(0)) {
    if (at / REGION_SLOTS == l->end) region_lock(&l->regions[l->end++], l->change);
    found += popcount(empty_slots(t, block_at(t, at / 64), t->width) & left);
  }
}

void besom__unlock_regions(const struct locked_regions *l) {
  for (uint64_t i = l->end; i-- > l->first;) region_unlock(&l->regions[i]);
}
