/*
 * Two ways to fix false positives, compared by a model: exceptions beside a small filter, and
 * extended fingerprints in a larger one. In the same memory one has fewer first false positives,
 * and the other one has room for more fixes.
 */
#ifndef BENCH_HARNESS_BREAK_EVEN_H
#define BENCH_HARNESS_BREAK_EVEN_H

typedef struct fix_way {
  double key_bits; /* bits per key of the filter, without log2(1/fpr) */
  double fix_bits; /* bits per fix */
} fix_way;

typedef struct fix_plan {
  double wasted;      /* reads per query for an absent key */
  double filter_bits; /* bits per key of the filter; the rest is for fixes */
} fix_plan;

/*
 * The best division of `bits` bits per key, if there are `absent` distinct absent keys per member,
 * and each is asked for `asked` times. A false positive is fixed when it is first read, until there
 * is no room; then it is read each time. wasted is 1 if no filter is that small.
 */
fix_plan fix_plan_best(fix_way way, double bits, double absent, double asked);

/*
 * The least number of absent keys per member, from 1 to MOST_ABSENT, at which `many` wastes 10 %
 * fewer reads than `few`; 0 if there is none.
 */
enum { MOST_ABSENT = 1000000 };
double fix_break_even(fix_way few, fix_way many, double bits, double asked);

#endif
