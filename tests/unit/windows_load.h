/* How full cf filters with layout=windows get: for the short test and the long one. */
#ifndef BESOM_TESTS_WINDOWS_LOAD_H
#define BESOM_TESTS_WINDOWS_LOAD_H

#include "besom.h"
#include "support/keys.h"

/* How many of `seeds` filters with this capacity are FULL before they have so many keys. */
static inline unsigned tables_full_early(uint64_t capacity, unsigned seeds) {
  unsigned early = 0;
  for (unsigned s = 0; s < seeds; s++) {
    uint8_t seed[16] = {(uint8_t)s, (uint8_t)(s >> 8), 1};
    besom_config config = {
        .kind = "cf", .options = "layout=windows", .capacity = capacity, .seed = seed};
    besom_filter *f;
    if (besom_create(&config, &f) != BESOM_OK) return seeds;
    besom_statistics stats;
    besom_stats(f, &stats);
    besom_status status = BESOM_OK;
    for (uint64_t i = 0; i < stats.capacity && status == BESOM_OK; i++)
      status = besom_insert_u64(f, mix64(i));
    early += status != BESOM_OK;
    besom_free(f);
  }
  return early;
}

#endif
