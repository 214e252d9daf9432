/*
 * The geometry of a quotient table: number of slots and remainder width, from capacity,
 * false-positive rate or bits per key. The load factor is at most 95 %.
 */
#ifndef BESOM_QUOTIENT_QUOTIENT_GEOMETRY_H
#define BESOM_QUOTIENT_QUOTIENT_GEOMETRY_H

#include "quotient/quotient_table.h"

/*
 * Fills slots and width of a shape whose other fields are set. The input is capacity and target
 * false-positive rate, or capacity and bits per key (head_bytes count, too), or slots and width.
 * shape->width is the minimum width before the call; 0 means 1. Returns INVALID if there is no such
 * table.
 */
besom_status besom__quotient_geometry(const besom_config *config, size_t head_bytes, double reserve,
                                      struct qtable_shape *shape);

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
