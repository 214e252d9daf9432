/*
 * Starts with one class per power of two of the rate, then takes away the class that is missed
 * least, again and again. The best plan on the way wins.
 */
#include "lists/group_plan.h"

#include <math.h>

#include "core/system/memory.h"
#include "ribbon/retrieval.h"

#define BINS_PER_BIT 4
#define LAST_BIN (PROPORTION_BINS - 1)
#define MAX_CANDIDATES (2 * MAX_COLUMNS + 3)
#define NEVER 1e300
/* Of a class: about what its struct takes, or its part of the parameters and sections of a file. It
 * is no sizeof, so that all machines make the same plan. */
#define CLASS_BITS_FIXED (8.0 * 200)

/* Of the binary logarithm of no keys per yes key, from -32 to 32. */
unsigned besom__proportion_bin(uint64_t yes, uint64_t no) {
  if (!yes) return 0;
  if (!no) return LAST_BIN;
  double bin = floor((32 - log2((double)no / (double)yes)) * BINS_PER_BIT);
  return 1 + (unsigned)fmin(fmax(bin, 0), LAST_BIN - 2);
}

/* ------------------------------------------------------------------ candidates */

struct planner {
  const struct group_bins *bins;
  struct group_class at[MAX_CANDIDATES];
  unsigned n;
  bool used[MAX_CANDIDATES];
  double cost[PROPORTION_BINS][MAX_CANDIDATES];
};

static void add_candidate(struct planner *p, enum class_form form, double rate) {
  p->at[p->n++] = (struct group_class){form, rate};
}

static void find_candidates(struct planner *p, double fpr, bool closed) {
  double highest = closed ? 1 : fmin(1, 2 * fpr);
  add_candidate(p, CLASS_ALL_NO, 1);
  if (closed) add_candidate(p, CLASS_ALL_YES, 1);
  if (highest == 1) add_candidate(p, CLASS_BITS, 1);
  for (double rate = highest == 1 ? 0.5 : highest; rate >= 0x1p-32; rate /= 2) {
    add_candidate(p, CLASS_YES_KEYS, rate);
    if (closed) add_candidate(p, CLASS_NO_KEYS, rate);
  }
}

static double bits_of_bit(double keys) {
  return keys * besom__retrieval_slots_per_key(fmax(keys, 1)) * (1 + BITS_PER_THRESHOLD);
}

/* Of filters of many keys: what one key adds. */
static double bits_of_filter(double keys, double rate) {
  double slots = besom__retrieval_slots_per_key(fmax(keys, 1));
  return keys * slots * besom__retrieval_bits_per_slot(besom__retrieval_width_of_rate(rate));
}

static double cost_in_class(const struct proportion_bin *b, unsigned bin, struct group_class c) {
  static const double many = 1e6;
  double per_bit = bits_of_bit(many) / many, per_key = bits_of_filter(many, c.rate) / many;
  switch (c.form) {
  case CLASS_ALL_NO:
    return bin == 0 ? 0 : NEVER;
  case CLASS_ALL_YES:
    return bin == LAST_BIN ? 0 : NEVER;
  case CLASS_BITS:
    return (b->yes + b->no) * per_bit;
  case CLASS_YES_KEYS:
    return b->yes * per_key + (b->yes + c.rate * b->no) * per_bit;
  default:
    return b->no * per_key + (b->no + c.rate * b->yes) * per_bit;
  }
}

/* ------------------------------------------------------------------ plans */

static unsigned best_candidate(const struct planner *p, unsigned bin) {
  unsigned best = MAX_CANDIDATES;
  double least = NEVER;
  for (unsigned i = 0; i < p->n; i++)
    if (p->used[i] && p->cost[bin][i] < least) {
      least = p->cost[bin][i];
      best = i;
    }
  return best;
}

/* What the keys of a plan take, by candidate and together. */
struct plan_sums {
  double held[MAX_CANDIDATES], left, groups;
  unsigned best[PROPORTION_BINS];
  bool needed[MAX_CANDIDATES];
};

/* False if a bin has no class. */
static bool sum_up(const struct planner *p, struct plan_sums *sums) {
  *sums = (struct plan_sums){.left = 0};
  for (unsigned bin = 0; bin < PROPORTION_BINS; bin++) {
    const struct proportion_bin *b = &p->bins->bin[bin];
    if (!b->groups) continue;
    unsigned i = sums->best[bin] = best_candidate(p, bin);
    if (i == MAX_CANDIDATES) return false;
    struct group_class c = p->at[i];
    sums->groups += b->groups;
    sums->needed[i] = true;
    if (c.form >= CLASS_BITS) {
      bool no_keys = c.form == CLASS_NO_KEYS;
      double held = no_keys ? b->no : b->yes, others = no_keys ? b->yes : b->no;
      sums->held[i] += c.form == CLASS_BITS ? 0 : held;
      sums->left += held + c.rate * others;
    }
  }
  return true;
}

unsigned besom__class_bits(unsigned classes) {
  unsigned bits = 0;
  while (1u << bits < classes) bits++;
  return bits;
}

/* Bits of the plan with the candidates that are used, and how many classes it has. */
static double bits_of_plan(const struct planner *p, struct plan_sums *sums, unsigned *classes) {
  *classes = 0;
  if (!sum_up(p, sums)) return NEVER;
  double bits = sums->left > 0 ? bits_of_bit(sums->left) : 0;
  for (unsigned i = 0; i < p->n; i++) {
    *classes += sums->needed[i];
    bits += sums->needed[i] ? CLASS_BITS_FIXED : 0;
    bits += sums->held[i] > 0 ? bits_of_filter(sums->held[i], p->at[i].rate) : 0;
  }
  double names = sums->groups * besom__class_bits(*classes);
  return bits + (names > 0 ? bits_of_bit(names) : 0);
}

static void keep_plan(const struct planner *p, const struct plan_sums *sums, double bits,
                      struct group_plan *plan) {
  uint8_t number[MAX_CANDIDATES] = {0};
  *plan = (struct group_plan){.bits = bits};
  for (unsigned i = 0; i < p->n; i++)
    if (sums->needed[i]) {
      number[i] = (uint8_t)plan->n;
      plan->class[plan->n++] = p->at[i];
    }
  for (unsigned bin = 0; bin < PROPORTION_BINS; bin++)
    if (p->bins->bin[bin].groups) plan->class_of[bin] = number[sums->best[bin]];
  if (!plan->n) plan->class[plan->n++] = (struct group_class){CLASS_ALL_NO, 1}; /* no keys */
}

/* The candidate without which the plan is smallest; MAX_CANDIDATES if all are needed. */
static unsigned least_useful(struct planner *p, struct plan_sums *sums) {
  unsigned found = MAX_CANDIDATES, classes;
  double least = NEVER;
  for (unsigned i = 0; i < p->n; i++) {
    if (!p->used[i]) continue;
    p->used[i] = false;
    double bits = bits_of_plan(p, sums, &classes);
    p->used[i] = true;
    if (bits < least) {
      least = bits;
      found = i;
    }
  }
  return found;
}

static void group_plan_search(struct planner *p, struct plan_sums *sums, struct group_plan *plan) {
  double least = NEVER;
  for (;;) {
    unsigned classes;
    double bits = bits_of_plan(p, sums, &classes);
    memcpy(p->used, sums->needed, sizeof p->used); /* those that are best for no bin are dropped */
    if (classes <= MAX_CLASSES && bits < least) {
      least = bits;
      keep_plan(p, sums, bits, plan);
    }
    if (classes <= 1) return;
    unsigned dropped = least_useful(p, sums);
    if (dropped == MAX_CANDIDATES) return;
    p->used[dropped] = false;
  }
}

besom_status besom__group_plan(const struct group_bins *bins, double fpr, bool closed,
                               const besom_allocator *allocator, struct group_plan *plan) {
  struct {
    struct planner planner;
    struct plan_sums sums;
  } *memory = besom__allocate(allocator, sizeof *memory);
  if (!memory) return BESOM_NO_MEMORY;
  struct planner *p = &memory->planner;
  p->bins = bins;
  find_candidates(p, fpr, closed);
  for (unsigned i = 0; i < p->n; i++) {
    p->used[i] = true;
    for (unsigned bin = 0; bin < PROPORTION_BINS; bin++)
      if (bins->bin[bin].groups) p->cost[bin][i] = cost_in_class(&bins->bin[bin], bin, p->at[i]);
  }
  group_plan_search(p, &memory->sums, plan);
  besom__release(allocator, memory, sizeof *memory);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ the least size */

/* Stirling's series: lgamma is not thread-safe. */
static double log2_factorial(double n) {
  if (n < 1) return 0;
  double natural = 0.5 * log(2 * 3.14159265358979323846 * n) + n * (log(n) - 1) + 1 / (12 * n) -
                   1 / (360 * n * n * n);
  return natural / log(2);
}

double besom__least_group_bits(double yes, double no, double fpr, bool closed) {
  if (closed) return log2_factorial(yes + no) - log2_factorial(yes) - log2_factorial(no);
  if (!(yes > 0)) return 0;
  return yes * log2(fmax(1 / fpr, no / yes)) + log2(exp(1)) * fmin(fpr * no, yes);
}
