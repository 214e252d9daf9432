/*
 * The geometry of a quotient table: number of slots and remainder width, from capacity,
 * false-positive rate or bits per key. The load factor is at most 95 %.
 */
#ifndef BESOM_QUOTIENT_QUOTIENT_GEOMETRY_H
#define BESOM_QUOTIENT_QUOTIENT_GEOMETRY_H

#include "quotient/table/quotient_table.h"

/*
 * Fills slots and width of a shape whose other fields are set. The input is capacity and target
 * false-positive rate, or capacity and bits per key (head_bytes count, too), or slots and width.
 * shape->width is the minimum width before the call; 0 means 1. Returns INVALID if there is no such
 * table.
 */
besom_status besom__quotient_geometry(const besom_config *config, size_t head_bytes, double reserve,
                                      struct qtable_shape *shape);

/*
 * How many of a filter's keys are expected to have several copies (config.repeated), and how many.
 * Zero if none are.
 */
struct repetition {
  double share;
  uint64_t copies;
  bool counted; /* by counters (multislot.h); else each copy takes a slot */
};

/*
 * besom__quotient_geometry for a table in which keys have copies: capacity, false-positive rate and
 * bits per key are of distinct keys. *r becomes what config says, with its defaults.
 */
besom_status besom__counting_geometry(const besom_config *config, size_t head_bytes, double reserve,
                                      bool counted, struct qtable_shape *shape,
                                      struct repetition *r);

/* The number of distinct keys that fit into so many slots. */
uint64_t besom__keys_within(const struct repetition *r, uint64_t slots, unsigned width);

/*
 * The capacity of a table: 95 % of its slots, less the part that is reserved for other uses; at
 * least 1.
 */
uint64_t besom__quotient_capacity(uint64_t slots, double reserve);

/* The false-positive rate: the probability that the run of an absent key contains its remainder. */
double besom__quotient_fpr(uint64_t items, uint64_t slots, unsigned width);

/*
 * The narrowest remainder, at least `width` bits, with which the false-positive rate is at most
 * `rate`; more than 64 if there is none.
 */
unsigned besom__quotient_width(uint64_t items, uint64_t slots, double rate, unsigned width);

/* The operation bits_per_key of a kind whose tables have this shape and no reserve. */
double besom__quotient_bits_per_key(double keys, double *rate, struct qtable_shape shape);

#endif
