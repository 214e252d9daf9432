/*
 * The quotient table: short remainders in the order of their quotients, without policy.
 *
 * A table has `slots` quotients and as many places and a tail more, so that nothing wraps around. All
 * remainders of one quotient are a *run*, in order of arrival; runs are in the order of their quotients,
 * each as near to its own place (the slot numbered like the quotient) as the runs before it allow.
 *
 * Places come in blocks of 64 (docs/format.md has the offsets):
 *
 *   offset     1 byte: how far the runs of earlier blocks reach into this one; 255 = that or more
 *   [code      7 bytes for kinds that keep something by block]
 *   occupied   bit i: quotient i of this block has a run
 *   end        bit i: slot i is the last of its run
 *   planes     width % 8 words: bit i of the j-th is the j-th of the upper bits of slot i's remainder
 *   bytes      width / 8 times 64 bytes: the i-th is a lower byte of slot i's remainder
 *   [head      bit i: slot i begins a fingerprint]
 *   [values    value_bits words: bit i of the j-th is the j-th bit of slot i's value]
 *
 * With the head word fingerprints may be longer than a slot: a slot of a run that is no head is a further slot
 * of the fingerprint before it. What it holds begins with a tag and is never 0, so a slot is empty if head, end and
 * content are, and the next empty slot is a count of trailing zeros. Where runs begin and end is told by occupied
 * and end alone: only a match that could be a further slot has to look at the head word. Without the head word every
 * slot is one fingerprint, and the next empty slot is found by walking from run to run.
 *
 * Remainders in planes and byte rows: a query compares all 64 with one vector instruction a row and two
 * word instructions a plane, at any width; an insert shifts rows with vector moves and planes with word
 * shifts, like the metadata. What a query reads comes first, to be in as few lines of cache as can be.
 *
 * All-zero memory is an empty table. Empty slots are zero throughout, so that equal histories give equal
 * bytes. Every walk is bounded by the table's end, whatever the bits say.
 */
#ifndef BESOM_QUOTIENT_TABLE_H
#define BESOM_QUOTIENT_TABLE_H

#include "besom.h"
#include "core/bits.h"
#include "core/cpu.h"

#define BLOCK_SLOTS 64
#define OFFSET_SATURATED 255

enum answer { ANSWER_NO, ANSWER_MAYBE, ANSWER_YES, ANSWER_ELSEWHERE };

/* A run: its first slot, and the first one behind it. */
struct run {
  uint64_t start, end;
};

/* A run within the block of its quotient: its slots as bits, and the first behind them; 0 and 0 if there is none. */
struct block_run {
  const uint8_t *block;
  uint64_t slots;
  unsigned end;
};

/*
 * What kinds may keep beside slots: 56 bits a block; these, and a byte a slot, behind all blocks, where they burden
 * no query. The table keeps them as they are, and does not move them. Or a tag a fingerprint, the uppermost bit of its
 * value, which moves with it: that it is no member's. Numbers of the file format.
 */
enum table_code { NO_CODE, CODE, CODE_AND_BYTES, TAGS };

struct qtable_ops;
struct qtable_appender; /* order.h */

struct qtable {
  uint8_t *blocks;
  uint64_t slots;         /* quotients */
  uint64_t room;          /* slots and tail: a multiple of 64 */
  uint64_t used;          /* slots that are not empty */
  uint64_t further_slots; /* those of them that do not begin a fingerprint */
  uint64_t
      extended; /* fingerprints that are longer than the remainder, or tagged; kept by who makes them */
  const struct qtable_ops *ops;
  uint32_t stride;       /* bytes of a block */
  uint8_t width;         /* bits of a remainder, 1 to 64 */
  uint8_t words_at;      /* where in a block the occupied word is: 1, or 8 behind a code */
  uint8_t remainders_at; /* where the planes begin */
  uint16_t heads_at;     /* where the head word is, if there is one */
  uint16_t values_at;    /* where the planes of the values begin */
  uint8_t value_bits;    /* 0 to 32, and the tag's */
  bool has_heads;
  enum table_code code;
};

/* Geometry: the options of a table. */
struct qtable_shape {
  uint64_t slots;
  unsigned width;
  bool heads; /* keep the third word */
  enum table_code code;
  unsigned value_bits;
};

/*
 * The operations that must be fast, for one instruction set and one width. A position is a slot number
 * below room; `quotient` says whose run is meant. Fingerprints of several slots are made by open and close
 * (long.h).
 */
struct region;

struct qtable_ops {
  /*
   * Is the remainder of this digest in the run of its quotient, in a fingerprint that matches the digest? MAYBE: all
   * that have it are fingerprints of several slots, some are extended, and whether they match takes a closer look
   * (match.h). The _many form says yes to every remainder that is there.
   */
  enum answer (*contains)(const struct qtable *t, besom_digest d);
  void (*contains_many)(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap);
  /*
   * The same of a table that others are changing (concurrent.h). `unsure`, a bitmap, too: an answer that is worth
   * nothing, since the region has changed meanwhile or the run leaves the block.
   */
  void (*contains_many_shared)(const struct qtable *t, struct region *regions,
                               const besom_digest *d, size_t n, uint64_t *bitmap, uint64_t *unsure);
  /* The same from what the block of the quotient holds; ELSEWHERE if the run leaves it. */
  enum answer (*contains_in_block)(const struct qtable *t, besom_digest d);
  /* The same, and where the run is. */
  enum answer (*contains_run)(const struct qtable *t, besom_digest d, struct block_run *run);
  /* As contains, for tables with marks (marks_of_slots): MAYBE, or yes, if a slot of the run may be marked. */
  enum answer (*contains_unmarked)(const struct qtable *t, besom_digest d);
  void (*contains_unmarked_many)(const struct qtable *t, const besom_digest *d, size_t n,
                                 uint64_t *bitmap);
  /* The same as contains, of a remainder that is not the digest's own; for tables in which nothing is extended. */
  enum answer (*contains_at)(const struct qtable *t, uint64_t quotient, uint64_t remainder);
  /*
   * Appends the digest's remainder to its run. FULL if there is no empty slot up to the end of the tail.
   * With `unless` (may be NULL), a run that has the remainder already is left alone, and *unless set.
   */
  besom_status (*insert)(struct qtable *t, besom_digest d, bool *unless);
  besom_status (*insert_many)(struct qtable *t, const besom_digest *d, size_t n, bool *unless,
                              size_t *done);
  /* Appends the remainders of ascending digests to a table that is being filled. INVALID, FULL: see order.h. */
  besom_status (*append)(struct qtable_appender *a, const besom_digest *d, size_t n);
  /* How many fingerprints of the run have this remainder, and where the last of them is. */
  uint64_t (*find)(const struct qtable *t, uint64_t quotient, uint64_t remainder, uint64_t *last);
  struct run (*run_of)(const struct qtable *t, uint64_t quotient); /* as in walk.h */
  /* The first fingerprint with this remainder from a position on, to before its run's end; that end if none has it. */
  uint64_t (*next_equal)(const struct qtable *t, uint64_t from, uint64_t run_end,
                         uint64_t remainder);
  /*
   * Puts a further slot into the run, behind a slot of it, by moving what is at the position and behind it up
   * by one. Its content, not 0, is `bits`. FULL as above.
   */
  besom_status (*open)(struct qtable *t, uint64_t quotient, uint64_t position, uint64_t bits);
  /* Takes the slot at the position out of its run and moves back what may come nearer to its own place. */
  void (*close)(struct qtable *t, uint64_t quotient, uint64_t position);
  /* Fills the empty table `into` with both tables, of one shape: each run of a, then that of b. May be FULL. */
  besom_status (*merge)(const struct qtable *a, const struct qtable *b, struct qtable *into);
};

/*
 * How many bits at the top of a further slot are 1. One tells it from an empty slot; three also from most of the
 * remainders that a query may look for, so that it need not look at the head word. There are three if five are left
 * for the rest, which a count of two takes.
 */
static inline unsigned further_tag_bits(unsigned width) {
  return width < 7 ? 1 : width < 8 ? 2 : 3;
}

/* How many bits are left for the rest. */
static inline unsigned further_payload(unsigned width) {
  return width - further_tag_bits(width);
}

/* Whether a further slot could look like this remainder. */
ALWAYS_INLINE bool is_like_further(uint64_t remainder, unsigned width) {
  unsigned tag = further_tag_bits(width);
  return remainder >> (width - tag) == bits_below(tag);
}

/* The bytes of a table of this shape; 0 if the shape is impossible or too large for the machine. */
size_t besom__qtable_bytes(const struct qtable_shape *shape);

/* The places of a table of so many quotients: these and the tail. */
uint64_t besom__qtable_room(uint64_t slots);

/* Sets up a table over zeroed memory, or over the blocks of a saved table, of qtable_bytes. */
void besom__qtable_init(struct qtable *t, const struct qtable_shape *shape, enum isa isa,
                        void *blocks);

/* Bytes of the blocks, and of what is behind them. */
size_t besom__qtable_size(const struct qtable *t);

/* NULL if every invariant holds, else what is wrong. Safe on any bits. */
const char *besom__qtable_check(const struct qtable *t);

/* ------------------------------------------------------------------ inside a block */

enum { WORD_OCCUPIED, WORD_END };

ALWAYS_INLINE uint8_t *block_at(const struct qtable *t, uint64_t block) {
  return t->blocks + block * t->stride;
}

ALWAYS_INLINE unsigned block_offset(const uint8_t *block) {
  return load8(block);
}

ALWAYS_INLINE void set_block_offset(uint8_t *block, uint64_t offset) {
  store8(block, (uint8_t)(offset < OFFSET_SATURATED ? offset : OFFSET_SATURATED));
}

ALWAYS_INLINE uint64_t block_word(const struct qtable *t, const uint8_t *block, unsigned word) {
  return load64(block + t->words_at + 8 * word);
}

ALWAYS_INLINE void set_block_word(const struct qtable *t, uint8_t *block, unsigned word,
                                  uint64_t bits) {
  store64(block + t->words_at + 8 * word, bits);
}

/* In tables that have them, the bytes of all slots. */
static inline uint8_t *qtable_slot_bytes(const struct qtable *t) {
  return t->blocks + t->room / 64 * t->stride;
}

/* The 56 bits of a block, in tables that have them: they share a word with the offset. */
ALWAYS_INLINE uint64_t block_code(const uint8_t *block) {
  return load64(block) >> 8;
}

/* What these bits are in tables whose slots can be marked: the last 8 slots share those of others. */
ALWAYS_INLINE uint64_t marks_of_slots(uint64_t slots) {
  return (slots | slots >> 56 << 48) & bits_below(56);
}

ALWAYS_INLINE void set_block_code(uint8_t *block, uint64_t code) {
  store64(block, code << 8 | block[0]);
}

ALWAYS_INLINE uint64_t block_heads(const struct qtable *t, const uint8_t *block) {
  return load64(block + t->heads_at);
}

ALWAYS_INLINE void set_block_heads(const struct qtable *t, uint8_t *block, uint64_t bits) {
  store64(block + t->heads_at, bits);
}

/* width is t->width; passed apart so that it can be a constant. */
ALWAYS_INLINE uint64_t slot_remainder(const struct qtable *t, const uint8_t *block, unsigned i,
                                      unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  uint64_t remainder = 0;
  for (unsigned j = 0; j < width / 8; j++) remainder |= (uint64_t)load8(bytes + 64 * j) << (8 * j);
  for (unsigned j = 0; j < width % 8; j++)
    remainder |= (load64(planes + 8 * j) >> i & 1) << (width / 8 * 8 + j);
  return remainder;
}

ALWAYS_INLINE void set_slot_remainder(const struct qtable *t, uint8_t *block, unsigned i,
                                      uint64_t remainder, unsigned width) {
  uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  for (unsigned j = 0; j < width / 8; j++) store8(bytes + 64 * j, (uint8_t)(remainder >> (8 * j)));
  for (unsigned j = 0; j < width % 8; j++) {
    uint64_t bit = remainder >> (width / 8 * 8 + j) & 1;
    store64(planes + 8 * j, (load64(planes + 8 * j) & ~(UINT64_C(1) << i)) | bit << i);
  }
}

/* Bit i of the result: is slot i's remainder this one? */
ALWAYS_INLINE uint64_t slots_equal(const struct qtable *t, const uint8_t *block, uint64_t remainder,
                                   unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8);
  uint64_t equal = ~UINT64_C(0);
  for (unsigned j = 0; j < width / 8; j++)
    equal &= equal_bytes_64(bytes + 64 * j, (uint8_t)(remainder >> (8 * j)));
  for (unsigned j = 0; j < width % 8; j++)
    equal &= load64(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1);
  return equal;
}

/* The same for slots i .. i+31 alone, as bits 0 .. 31. May read 31 bytes behind the block. */
ALWAYS_INLINE uint32_t slots_equal_32(const struct qtable *t, const uint8_t *block, unsigned i,
                                      uint64_t remainder, unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  uint32_t equal = ~UINT32_C(0);
  for (unsigned j = 0; j < width / 8; j++)
    equal &= equal_bytes_32(bytes + 64 * j, (uint8_t)(remainder >> (8 * j)));
  for (unsigned j = 0; j < width % 8; j++)
    equal &=
        (uint32_t)((load64(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1)) >> i);
  return equal;
}

ALWAYS_INLINE uint64_t slot_value(const struct qtable *t, const uint8_t *block, unsigned i) {
  uint64_t value = 0;
  for (unsigned j = 0; j < t->value_bits; j++)
    value |= (load64(block + t->values_at + 8 * j) >> i & 1) << j;
  return value;
}

ALWAYS_INLINE void set_slot_value(const struct qtable *t, uint8_t *block, unsigned i,
                                  uint64_t value) {
  for (unsigned j = 0; j < t->value_bits; j++) {
    uint8_t *plane = block + t->values_at + 8 * j;
    store64(plane, (load64(plane) & ~(UINT64_C(1) << i)) | (value >> j & 1) << i);
  }
}

static inline bool has_tags(const struct qtable *t) {
  return t->code == TAGS;
}

/* Of a value, those that are the user's. */
static inline unsigned own_value_bits(const struct qtable *t) {
  return t->value_bits - has_tags(t);
}

/* Bit i: slot i begins a tagged fingerprint. */
static inline uint64_t block_tags(const struct qtable *t, const uint8_t *block) {
  return has_tags(t) ? load64(block + t->values_at + 8 * own_value_bits(t)) : 0;
}

/*
 * The same for slots i .. i+n-1 alone, n <= 16, as bits 0 .. n-1, without a look at a line of cache in which
 * none of them is: 16 bytes that would reach into the next line for nothing are read further back.
 */
ALWAYS_INLINE uint32_t slots_equal_in(const struct qtable *t, const uint8_t *block, unsigned i,
                                      unsigned n, uint64_t remainder, unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  unsigned left_in_line = 64 - ((uintptr_t)bytes & 63);
  unsigned back = (16 - left_in_line) &
                  (0 - (unsigned)((left_in_line < 16) & (n <= left_in_line))); /* no branch */
  uint32_t equal = ~UINT32_C(0);
  for (unsigned j = 0; j < width / 8; j++)
    equal &= equal_bytes_16(bytes + 64 * j - back, (uint8_t)(remainder >> (8 * j))) >> back;
  for (unsigned j = 0; j < width % 8; j++)
    equal &=
        (uint32_t)((load64(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1)) >> i);
  return equal & (uint32_t)bits_below(n);
}

#endif
