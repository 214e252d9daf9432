/*
 * The words of a packed filter, and the calls that are compiled once per instruction set.
 * besom__packed_ops chooses them for this machine.
 */
#ifndef BESOM_QUOTIENT_PACKED_TABLE_H
#define BESOM_QUOTIENT_PACKED_TABLE_H

#include "core/bits.h"
#include "core/cpu.h"
#include "core/hash.h"
#include "quotient/packed/packed.h"
#include "quotient/packed/packed_model.h"

#define DIRECTORY_STEP 64

struct packed {
  struct packed_model *model;
  struct exception_set *exceptions; /* NULL if there were none */
  uint8_t seed[SEED_BYTES];
  uint32_t items;   /* with copies */
  uint32_t copies;  /* items that are not the first of their fingerprint */
  uint32_t room;    /* for so many remainders there is memory */
  uint32_t slack;   /* further items that certainly fit before the end of the table */
  uint64_t words[]; /* directory, runs, remainders, a word that is only read */
};

struct packed_ops {
  bool (*contains)(const struct packed *p, besom_digest d);
  uint64_t (*count)(const struct packed *p, besom_digest d);
  /* There is memory for a further remainder, and slack. */
  void (*insert)(struct packed *p, besom_digest d);
  bool (*remove)(struct packed *p, besom_digest d);
};

const struct packed_ops *besom__packed_ops(enum isa isa);

/* Bits that one unaligned word has from any bit on. */
#define PACKED_WINDOW_BITS 57

/* ------------------------------------------------------------------ layout */

static inline size_t directory_words(const struct packed_model *m) {
  return (m->slots / DIRECTORY_STEP + 3) / 4;
}

static inline size_t runs_words(const struct packed_model *m) {
  return (m->slots + m->capacity + 63) / 64;
}

static inline size_t remainder_words(const struct packed_model *m, uint32_t items) {
  return ((size_t)items * m->width + 63) / 64;
}

/* Entry n is the number of fingerprints before quotient (n + 1) * DIRECTORY_STEP. */
static inline uint16_t *directory(const struct packed *p) {
  return (uint16_t *)(uintptr_t)p->words;
}

static inline uint64_t *runs_of(const struct packed *p) {
  return (uint64_t *)(uintptr_t)p->words + directory_words(p->model);
}

static inline uint64_t *remainders_of(const struct packed *p) {
  return runs_of(p) + runs_words(p->model);
}

/* Adds `by` to the entries after the quotient. */
static inline void count_in_directory(struct packed *p, uint64_t quotient, int by) {
  uint16_t *entries = directory(p);
  size_t n = p->model->slots / DIRECTORY_STEP;
  for (size_t i = quotient / DIRECTORY_STEP; i < n; i++) entries[i] = (uint16_t)(entries[i] + by);
}

/* Sets n bits that are 0. */
static inline void set_bits(uint64_t *words, size_t at, unsigned n, uint64_t bits) {
  words[at / 64] |= bits << at % 64;
  if (at % 64 + n > 64) words[at / 64 + 1] |= bits >> (64 - at % 64);
}

#endif
