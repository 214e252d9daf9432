/*
 * The plan of a filter of two lists whose keys come in groups (grouped.c).
 *
 * Groups of like proportions share a class, and a class has one filter for all its groups. So a
 * group costs nothing but the number of its class, however small it is. What a class costs is
 * linear in the yes keys and the no keys of its groups: the best one depends on their proportion
 * alone. So the planner knows groups only by bins of proportions.
 */
#ifndef BESOM_LAYERED_GROUP_PLAN_H
#define BESOM_LAYERED_GROUP_PLAN_H

#include "kind.h"

#define MAX_CLASSES 32
#define PROPORTION_BINS 258

/* The groups of one range of proportions, together. */
struct proportion_bin {
  double yes, no, groups;
};

struct group_bins {
  struct proportion_bin bin[PROPORTION_BINS];
};

/* The bin of a group that has keys: 0 without yes keys, the last one without no keys. */
unsigned besom__proportion_bin(uint64_t yes, uint64_t no);

static inline void group_bins_add(struct group_bins *bins, uint64_t yes, uint64_t no) {
  struct proportion_bin *bin = &bins->bin[besom__proportion_bin(yes, no)];
  bin->yes += (double)yes;
  bin->no += (double)no;
  bin->groups++;
}

enum class_form {
  CLASS_ALL_NO,   /* no to all keys; for groups without yes keys */
  CLASS_ALL_YES,  /* yes to all keys; for groups without no keys, in a closed universe */
  CLASS_BITS,     /* no filter: the bit decides */
  CLASS_YES_KEYS, /* a filter of the yes keys: where it answers yes the bit decides */
  CLASS_NO_KEYS,  /* a filter of the no keys, in a closed universe: likewise */
  CLASS_FORMS
};

struct group_class {
  enum class_form form;
  double rate; /* of the filter; 1 if there is none */
};

struct group_plan {
  unsigned n; /* classes, at least 1 */
  struct group_class class[MAX_CLASSES];
  uint8_t class_of[PROPORTION_BINS];
  double bits; /* of the whole: about */
};

/*
 * The smallest plan. Half of the keys on neither list that pass a filter are answered yes. In an
 * open universe that is at most `fpr` of such keys, whichever class they are taken to be in; fpr
 * must be at least 2^-31 then. Errors: NO_MEMORY.
 */
besom_status besom__group_plan(const struct group_bins *bins, double fpr, bool closed,
                               const besom_allocator *allocator, struct group_plan *plan);

/* Bits of a class number. */
unsigned besom__class_bits(unsigned classes);

/*
 * The least bits of any filter for a group. Open: Theorem 7 of the AQF paper. Closed: which of its
 * keys are on the yes list.
 */
double besom__least_group_bits(double yes, double no, double fpr, bool closed);

#endif
