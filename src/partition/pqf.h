/*
 * pqf: the partition quotient filter. The digest of a key gives a bin, a mini-quotient within the
 * bin, and a remainder. A bin is a quotient table of one cache line or half of it: one word says
 * how many remainders each mini-quotient has, and the remainders follow, in order (bin.h). A full
 * bin hands its largest entry to one of two bins of the backyard (backyard.h).
 *
 * The value of an entry is its mini-quotient and its remainder as one number.
 */
#ifndef BESOM_PARTITION_PQF_H
#define BESOM_PARTITION_PQF_H

#include "core/cpu.h"
#include "core/hash.h"
#include "kind.h"

enum {
  BIN_LAYOUTS = 5,
  MAX_FAN = 14,
  YARD_BYTES = 64,
  PQF_MAX_COPIES = 16,
};

/*
 * A layout. slots + minis + 1 bits of a bin are its header, and the rest are the remainders
 * (rows.h). minis is odd: then the number of quotients, which statistics call slots, can be halved
 * if and only if the bins can be. yard_slots + 2 * fan is at most 64, the bits of the header of a
 * bin in the backyard.
 */
struct bin_layout {
  uint8_t bytes; /* of a bin */
  uint8_t bits;  /* of a remainder */
  uint8_t slots, minis;
  uint8_t mini_bits;
  uint8_t fan; /* so many bins have the same first bin in the backyard, and the same second one */
  uint8_t yard_slots;
  uint16_t keys_of_ten; /* the capacity of ten bins */
};

/* By bits, ascending. Constants for the compiler: so every source file has its own. */
static const struct bin_layout bin_layouts[BIN_LAYOUTS] = {
    {32, 8, 25, 29, 5, 14, 34, 252}, {64, 12, 37, 25, 5, 8, 26, 377},
    {64, 16, 28, 35, 6, 8, 20, 280}, {64, 24, 18, 45, 6, 5, 14, 175},
    {64, 32, 14, 49, 6, 4, 11, 130},
};

/* Where an entry belongs. */
struct pqf_place {
  uint64_t bin, remainder;
  unsigned mini;
};

/* The operations that are compiled per instruction set, for one layout (pqf_calls.c). */
struct pqf_calls {
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  struct insert_calls inserts;
  struct remove_calls removes;
  void (*contains_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
  bool (*has)(const besom_filter *f, struct pqf_place at);
  besom_status (*put)(besom_filter *f, struct pqf_place at);
};

struct pqf {
  besom_filter head;
  uint64_t bins;
  unsigned unused_bits; /* 64 - width */
  uint8_t *front;       /* the bins, after the backyard */
  const struct pqf_calls *calls;
  const struct bin_layout *layout;
  uint8_t *yards; /* at a multiple of YARD_BYTES */
  uint64_t n_yards, yards_inverse;
  uint64_t strides[MAX_FAN]; /* from the first yard of a bin to its second one */
  enum isa isa;
  void *memory; /* the allocation; NULL if the table is mapped */
  /* While the filter is filled from another one: the state of its
     iterator, and the last bits of remainders, which are dropped. */
  uint64_t resized[4];
  unsigned dropped_bits;
};

static inline struct pqf *pqf_of(besom_filter *f) {
  return (struct pqf *)f;
}

static inline const struct pqf *const_pqf_of(const besom_filter *f) {
  return (const struct pqf *)f;
}

static inline unsigned pqf_width(const struct pqf *p) {
  return 64 - p->unused_bits;
}

/*
 * The upper word of the digest, as a fraction, has the bin as its first digit, the mini-quotient as
 * the second one, and then the bits of the remainder. So doubling the bins moves one bit from the
 * remainder into the number of the quotient, bin * minis + mini.
 */
ALWAYS_INLINE struct pqf_place pqf_place_of(const struct pqf *p, const struct bin_layout *l,
                                            besom_digest d) {
  uint64_t x = d.hi, bin = next_digit(&x, p->bins), mini = next_digit(&x, l->minis);
  return (struct pqf_place){bin, shifted(x, p->unused_bits), (unsigned)mini};
}

ALWAYS_INLINE uint64_t value_of_place(const struct bin_layout *l, struct pqf_place at) {
  return (uint64_t)at.mini << l->bits | at.remainder;
}

/* The operations append and parts (pqf_append.c). */
besom_status besom__pqf_append(besom_filter *f, const besom_digest_source *digests,
                               const besom_progress *progress);
extern const struct part_ops besom__pqf_in_parts;

/* ------------------------------------------------------------------ geometry */

/* The keys that so many bins hold at most. */
uint64_t besom__pqf_capacity(const struct bin_layout *l, uint64_t bins);

/* The bins of the backyard, and the bytes of the whole table. */
uint64_t besom__pqf_yards(const struct bin_layout *l, uint64_t bins);
uint64_t besom__pqf_bytes(const struct bin_layout *l, uint64_t bins);

/* The false-positive rate. */
double besom__pqf_fpr(const struct bin_layout *l, uint64_t bins, unsigned width, uint64_t keys);

/* What a configuration asks for. Errors: INVALID, NO_MEMORY (of no machine). */
struct pqf_geometry {
  unsigned layout; /* its number */
  unsigned width;
  uint64_t bins, capacity;
};
besom_status besom__pqf_geometry(const besom_config *config, struct pqf_geometry *out);

/* Whether 64 bits hold the bin, the mini-quotient and the remainder. */
bool besom__pqf_is_addressable(const struct bin_layout *l, uint64_t bins, unsigned width);

/* The operation bits_per_key. */
double besom__pqf_bits_per_key(double keys, double *fpr);

#endif
