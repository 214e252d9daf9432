/*
 * The filters that the paper on the adaptive quotient filter compares, made as there: as many slots in each, filled to
 * 90 %, and a rate of 2^-9: remainders of 9 bits in quotient tables, entries of 12 bits in cuckoo tables.
 */
#ifndef BENCH_HARNESS_ADAPTIVE_PEERS_H
#define BENCH_HARNESS_ADAPTIVE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "besom.h"
#include "harness/tested_filter.h"

typedef enum rival { AQF, TAF, ACF, QF, CF, RIVALS } rival;

extern const char *const rival_kinds[RIVALS];

enum { RIVAL_WIDTH = 9 };

/* Keys that fill so many slots, and slots that so many keys fill. */
uint64_t rival_members(uint64_t slots);
uint64_t rival_slots(uint64_t members);

/* Whether kinds of that name learn from a store behind them. */
bool kind_learns(const char *kind);

/*
 * A filter of any kind that would have this many slots and that width if it were a quotient table: kinds without slots
 * get as many keys at the same rate. seed must live as long as the config.
 */
besom_config rival_config(const char *kind, uint64_t slots, uint32_t width, const uint8_t seed[16]);

/* One with the first n keys of a stream in it, in front of a store in memory if it learns from one. */
learner rival_learner(const char *kind, uint64_t slots, const key_stream *members, uint64_t n,
                      uint64_t filter_seed, driver *d);

#endif
