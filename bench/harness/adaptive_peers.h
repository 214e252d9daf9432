/*
 * The filters that the adaptive quotient filter paper compares, configured as there: the same
 * number of slots each, filled to a load factor of 0.9, and an FPR of 2^-9: 9-bit remainders in
 * quotient tables, 12-bit entries in buckets of four in cuckoo tables. Their adaptive cuckoo filter
 * has a selector of four bits per bucket.
 */
#ifndef BENCH_HARNESS_ADAPTIVE_PEERS_H
#define BENCH_HARNESS_ADAPTIVE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "harness/tested_filter.h"

typedef enum adaptive_peer { AQF, TAF, ACF, QF, CF, ADAPTIVE_PEERS } adaptive_peer;

extern const char *const adaptive_peer_kinds[ADAPTIVE_PEERS];

enum { PEER_REMAINDER_BITS = 9 };

/* Keys that fill `slots` slots; slots that `members` keys fill. */
uint64_t peer_members(uint64_t slots);
uint64_t peer_slots(uint64_t members);

/* Whether the kind adapts with a store behind it. */
bool kind_adapts_with_store(const char *kind);

/*
 * A filter of any kind, sized like a quotient table with this many slots and this remainder width.
 * A kind without slots gets the same capacity and FPR. seed must outlive the config.
 */
besom_config peer_config(const char *kind, uint64_t slots, uint32_t width, const uint8_t seed[16]);

/*
 * Such a filter with the first n keys of a stream, in front of a store in memory if it adapts with
 * one.
 */
tested_filter peer_filter(const char *kind, uint64_t slots, const key_stream *members, uint64_t n,
                          uint64_t filter_seed, driver *d);

#endif
