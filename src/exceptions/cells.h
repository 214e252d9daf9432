/*
 * The cells of a set of exceptions (exceptions.h): how many bits of a number its home, its tag and
 * its rest tell, and where they are.
 */
#ifndef BESOM_EXCEPTIONS_CELLS_H
#define BESOM_EXCEPTIONS_CELLS_H

#include "core/system/memory.h"
#include "exceptions/exceptions.h"

#define HOME_KEY_BITS 48    /* bits of a number that determine its home */
#define MOST_SHORT_BITS 112 /* longer exceptions have fewer hints, which take memory, too */
#define TAG_BYTES 2
#define REST_BYTES 16 /* that are read and written at a rest */
#define FIRST_CELLS 8

/* A tag. The distance is uppermost, so that tags are compared by it. */
#define TAG_NUMBER_BITS 7
#define FRESH 1u
#define LISTED 2u
#define FLAGS (FRESH | LISTED)
#define ONE_CELL (1u << (2 + TAG_NUMBER_BITS)) /* of distance */
#define MAX_DISTANCE MOST_OF_ONE_HOME          /* that a tag can hold, plus 1 */

typedef unsigned __int128 bits128;

/* ------------------------------------------------------------------ numbers */

static inline bits128 exceptions_bits_of(besom_digest number) {
  return (bits128)number.hi << 64 | number.lo;
}

/* The lower n bits, n < 128. */
static inline bits128 low_bits(bits128 x, unsigned n) {
  return x & (((bits128)1 << n) - 1);
}

/* Zeros after the length, 1 to 128. */
static inline bits128 first_bits_of(bits128 number, unsigned length) {
  return number >> (NUMBER_BITS - length) << (NUMBER_BITS - length);
}

/* ------------------------------------------------------------------ geometry */

/* The smallest key (first 48 bits of a number) whose home is this cell or a later one. */
static inline uint64_t first_key(const struct exception_set *m, uint64_t home) {
  return (uint64_t)((((bits128)home << 64) + m->scale - 1) / m->scale);
}

/* Sets what follows from cells, length and mixed. */
static inline void set_geometry(struct exception_set *m) {
  uint64_t keys = (m->slots >> (64 - HOME_KEY_BITS)) + 1;
  m->scale = (uint64_t)(((bits128)m->cells << 64) / keys);
  uint64_t keys_per_home = (uint64_t)((((bits128)1 << 64) + m->scale - 1) / m->scale);
  unsigned bits = 64 - leading_zeros(keys_per_home - 1);
  m->hint_bits = m->length <= MOST_SHORT_BITS ? 3 : 2;
  m->home_bits = (uint8_t)(bits < TAG_NUMBER_BITS ? TAG_NUMBER_BITS : bits);
}

/* Bits of the number that neither the home nor the tag tells begin here. */
static inline unsigned rest_start(const struct exception_set *m) {
  return HOME_KEY_BITS + TAG_NUMBER_BITS - m->home_bits;
}

static inline unsigned rest_bits(const struct exception_set *m) {
  return m->length + m->mixed - rest_start(m);
}

static inline uint64_t hint_bytes(const struct exception_set *m) {
  return (m->cells << m->hint_bits) / 8 + 1;
}

/* Allocates the memory of a set whose geometry is set. */
static inline bool allocate_cells(struct exception_set *m, const besom_allocator *allocator) {
  uint8_t *memory = besom__allocate(allocator, (size_t)besom__exceptions_bytes(m));
  m->tags = memory ? memory + hint_bytes(m) : NULL;
  return memory;
}

static inline bool too_full(uint64_t count, uint64_t cells) {
  return 64 * count > 62 * cells;
}

static inline uint64_t exceptions_next_cell(const struct exception_set *m, uint64_t i) {
  return i + 1 < m->cells ? i + 1 : 0;
}

/* ------------------------------------------------------------------ cells */

static inline unsigned tag_at(const struct exception_set *m, uint64_t cell) {
  const uint8_t *at = m->tags + cell * TAG_BYTES;
  return at[0] | (unsigned)at[1] << 8;
}

static inline void set_tag(struct exception_set *m, uint64_t cell, unsigned tag) {
  uint8_t *at = m->tags + cell * TAG_BYTES;
  at[0] = (uint8_t)tag;
  at[1] = (uint8_t)(tag >> 8);
}

/* The distance from home, plus 1; 0 of a free cell. */
static inline unsigned distance_of(unsigned tag) {
  return tag / ONE_CELL;
}

/* Rests are packed, the lower bits first. A rest and a byte fit into 128 bits: cells >= 8. */
static inline bits128 rest_at(const struct exception_set *m, uint64_t cell) {
  unsigned bits = rest_bits(m);
  uint64_t position = cell * bits;
  const uint8_t *at = m->tags + m->cells * TAG_BYTES + position / 8;
  return low_bits(((bits128)load64(at + 8) << 64 | load64(at)) >> position % 8, bits);
}

static inline void set_rest(struct exception_set *m, uint64_t cell, bits128 rest) {
  unsigned bits = rest_bits(m);
  uint64_t position = cell * bits;
  uint8_t *at = m->tags + m->cells * TAG_BYTES + position / 8;
  bits128 word = (bits128)load64(at + 8) << 64 | load64(at);
  word &= ~(low_bits(~(bits128)0, bits) << position % 8);
  word |= rest << position % 8;
  store64(at, (uint64_t)word);
  store64(at + 8, (uint64_t)(word >> 64));
}

/* Where a search for a number begins, and the tag that it has there, without flags. */
struct probe {
  uint64_t home;
  unsigned tag;
};

/* number_hi: the upper half of the number */
static inline struct probe probe_of(const struct exception_set *m, uint64_t number_hi) {
  uint64_t key = number_hi >> (64 - HOME_KEY_BITS);
  unsigned bits =
      (unsigned)(key >> (m->home_bits - TAG_NUMBER_BITS)) & ((1u << TAG_NUMBER_BITS) - 1);
  return (struct probe){(uint64_t)((bits128)key * m->scale >> 64), ONE_CELL | bits << 2};
}

static inline void set_hint_of(struct exception_set *m, uint64_t digest_hi) {
  uint64_t hint = hint_of(m, digest_hi);
  m->tags[-1 - (ptrdiff_t)(hint / 8)] |= (uint8_t)(1u << hint % 8);
}

/*
 * Sets the hints of the digests that e denies. Their upper halves are a few numbers, 2^17 if e is
 * short: too few for three hints.
 */
static inline void set_hints(struct exception_set *m, const struct exception *e) {
  uint64_t known = e->length < 64 ? bits_below(64 - e->length) : 0,
           last = e->number.hi | known; /* upper half of a number */
  uint64_t from = (uint64_t)(((bits128)e->number.hi << 64) / m->slots), to = UINT64_MAX;
  if (last + 1 < m->slots) to = (uint64_t)(((bits128)(last + 1) << 64) / m->slots) + 1;
  set_hint_of(m, from);
  set_hint_of(m, to ? to : UINT64_MAX);
}

/* A rest at its place in the number; *length is that of the exception. */
static inline bits128 placed(const struct exception_set *m, bits128 rest, unsigned *length) {
  bits128 bits = rest << (NUMBER_BITS - m->length - m->mixed);
  *length = m->length;
  if (!m->mixed) return bits;
  unsigned zeros =
      (uint64_t)bits ? trailing_zeros((uint64_t)bits) : 64 + trailing_zeros((uint64_t)(bits >> 64));
  *length = zeros < NUMBER_BITS ? NUMBER_BITS - 1 - zeros : 0;
  return bits & (bits - 1);
}

static inline struct exception exception_at(const struct exception_set *m, uint64_t cell) {
  unsigned tag = tag_at(m, cell);
  struct exception e = {.listed = tag & LISTED, .fresh = tag & FRESH};
  bits128 rest = placed(m, rest_at(m, cell), &e.length);
  uint64_t distance = distance_of(tag) - 1,
           home = cell >= distance ? cell - distance : cell + m->cells - distance;
  /* the key with this home and these lower bits */
  uint64_t first = first_key(m, home), known = bits_below(m->home_bits);
  uint64_t low = (uint64_t)(tag >> 2 & ((1u << TAG_NUMBER_BITS) - 1))
                 << (m->home_bits - TAG_NUMBER_BITS);
  low |= (uint64_t)(rest >> (NUMBER_BITS - HOME_KEY_BITS));
  uint64_t key = first + ((low - first) & known);
  bits128 number =
      (bits128)key << (NUMBER_BITS - HOME_KEY_BITS) | low_bits(rest, NUMBER_BITS - HOME_KEY_BITS);
  e.number = (besom_digest){(uint64_t)(number >> 64), (uint64_t)number};
  return e;
}

#endif
