/*
 * The quotient table: short remainders in the order of their quotients, without policy.
 *
 * A table has `slots` quotients. It has a slot for each of them and a tail of further ones, so that
 * no run wraps around; a *position* is the number of a slot below `room`. All remainders of one
 * quotient are a *run*, in order of arrival. Runs are in the order of their quotients. Each is as
 * near to its own position (the one numbered like the quotient) as the runs before it allow.
 *
 * Slots come in blocks of 64 (docs/format.md has the offsets):
 *
 *   offset     1 byte: how far the runs of earlier blocks reach into this one; 255 = that or more
 *   [code      7 bytes for kinds that keep data per block]
 *   occupied   bit i: quotient i of this block has a run
 *   end        bit i: slot i is the last of its run
 *   planes     width % 8 words: bit i of the j-th is the j-th upper bit of slot i's remainder
 *   bytes      width / 8 times 64 bytes: the i-th is a lower byte of slot i's remainder
 *   [head      bit i: slot i begins a fingerprint]
 *   [values    value_bits words: bit i of the j-th is the j-th bit of slot i's value]
 *
 * The values of a maplet are behind all blocks (slot_values.h).
 *
 * With the head word a fingerprint may take several slots: a slot of a run that is no head is a
 * further slot of the fingerprint before it. Its content begins with a tag and is never 0. So a
 * slot is empty if head, end and content are 0, and the next empty slot is a count of trailing
 * zeros; whole slots have no tag, and the words tell which slots are used (slots_of_runs). The
 * words occupied and end alone tell where runs begin and end: a query reads the head word only if
 * its match could be a further slot. Without the head word every slot is one fingerprint, and a
 * walk from run to run finds the next empty slot.
 *
 * Remainders are split into planes and rows of bytes. At any width, a query compares all 64 of them
 * with one vector instruction per row and two word instructions per plane; an insert shifts rows
 * with vector moves, and planes and metadata with word shifts. What a query reads comes first, to
 * be in as few cache lines as possible.
 *
 * All-zero memory is an empty table. Every bit of an empty slot is zero, so equal histories give
 * equal bytes. Every walk ends at the table's end, whatever the bits are.
 *
 * A table by itself is not thread-safe; table_regions.h makes it thread-safe. So every access to a
 * block below is relaxed, unless the file that includes this defines UNSHARED (core/relaxed.h).
 */
#ifndef BESOM_QUOTIENT_QUOTIENT_TABLE_H
#define BESOM_QUOTIENT_QUOTIENT_TABLE_H

#include "besom.h"
#include "core/bits.h"
#include "core/cpu.h"

#define BLOCK_SLOTS 64
#define VALUES_BATCH 256
#define OFFSET_SATURATED 255

/* MAYBE and ELSEWHERE: see struct qtable_ops. */
enum answer { ANSWER_NO, ANSWER_MAYBE, ANSWER_YES, ANSWER_ELSEWHERE };

/* A run: its first position, and the first one after it. */
struct run {
  uint64_t start, end;
};

/* A run within the block of its quotient: its slots as bits, and the first one after them. */
struct block_run {
  const uint8_t *block;
  uint64_t slots; /* 0 if the quotient has no run */
  unsigned end;   /* 0 if the quotient has no run */
};

/*
 * What a kind may keep beside its slots. The numbers are those of the file format.
 * CODE: 56 bits per block. CODE_AND_BYTES: these, and one byte per slot after all blocks, where no
 * query reads. The table stores both and does not move them. TAGS: one tag per fingerprint, the
 * uppermost bit of its value, which moves with it. A tagged fingerprint is no member's.
 * WHOLE_SLOTS: nothing, but the bits of further slots are all payload, without a tag at the top.
 * Every fingerprint of several slots counts as extended, so that queries always read the head word.
 * VALUES_BEHIND: the values, packed, from the next multiple of 64 bytes after all blocks on.
 */
enum table_code { NO_CODE, CODE, CODE_AND_BYTES, TAGS, WHOLE_SLOTS, VALUES_BEHIND };

struct qtable_ops;
struct qtable_appender;  /* appender.h */
struct quotient_calls;   /* quotient_calls.h */
struct concurrent_calls; /* concurrent_calls.h */
struct region;           /* table_regions.h */

struct qtable {
  uint8_t *blocks;
  uint64_t slots;         /* quotients */
  uint64_t room;          /* positions: slots and tail, a multiple of 64 */
  uint64_t used;          /* slots that are not empty */
  uint64_t further_slots; /* used slots that do not begin a fingerprint */
  uint64_t extended; /* fingerprints longer than the remainder, or tagged; the kind counts them */
  const struct qtable_ops *ops;
  uint32_t stride;       /* bytes of a block */
  uint8_t width;         /* bits of a remainder, 1 to 64 */
  uint8_t words_at;      /* offset of the occupied word in a block: 1, or 8 after a code */
  uint8_t remainders_at; /* offset of the planes */
  uint16_t heads_at;     /* offset of the head word, if there is one */
  uint16_t values_at;    /* offset of the planes of the values, if they are inside */
  uint8_t value_bits;    /* 0 to 32, plus 1 for the tag */
  bool has_heads;
  enum table_code code;
};

/* Geometry: the options of a table. */
struct qtable_shape {
  uint64_t slots;
  unsigned width;
  bool heads; /* keep the head word */
  enum table_code code;
  unsigned value_bits;
};

/*
 * The operations that must be fast, for one instruction set. Queries and inserts also exist for
 * single widths (table_ops.c); the others work at any width (table_slots.c). `quotient` names the
 * run. Fingerprints of several slots are written with insert_slot and delete_slot.
 *
 * A table that several threads share has operations of its own: ops->shared. They access memory by
 * relaxed atomics. Operations that only one of the two sorts needs are NULL in the other.
 */
struct qtable_ops {
  /*
   * Is the remainder of this digest in the run of its quotient, in a fingerprint that matches the
   * digest? MAYBE: all fingerprints with this remainder have several slots, some are extended, and
   * the caller must decode them (match.h). The _many form says yes if the remainder is there.
   */
  enum answer (*contains)(const struct qtable *t, besom_digest d);
  void (*contains_many)(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *bitmap);
  /*
   * The answers of contains: yes and no in the bitmap; MAYBE in `unsure`, a bitmap too, and no in
   * the bitmap. For tables in which something is extended. Not for shared tables.
   */
  void (*contains_many_exactly)(const struct qtable *t, const besom_digest *d, size_t n,
                                uint64_t *bitmap, uint64_t *unsure);
  /*
   * contains_many, for shared tables only (table_regions.h). Bit i of `unsure`, a bitmap too:
   * answer i is not valid, because the region changed meanwhile or the run leaves its block.
   */
  void (*contains_many_shared)(const struct qtable *t, struct region *regions,
                               const besom_digest *d, size_t n, uint64_t *bitmap, uint64_t *unsure);
  /*
   * contains that reads only the block of the quotient; ELSEWHERE if the run leaves it. For shared
   * tables only.
   */
  enum answer (*contains_in_block)(const struct qtable *t, besom_digest d);
  /* contains for runs that leave the block of their quotient; works for all. */
  enum answer (*contains_far)(const struct qtable *t, besom_digest d);
  /* contains that reads only the block of the quotient, as contains_in_block, and finds the run. */
  enum answer (*contains_run)(const struct qtable *t, besom_digest d, struct block_run *run);
  /*
   * contains for tables with slot metadata (flags_of_slots): MAYBE, or yes in the _many form, if a
   * slot of the run may carry metadata.
   */
  enum answer (*contains_flagged)(const struct qtable *t, besom_digest d);
  void (*contains_flagged_many)(const struct qtable *t, const besom_digest *d, size_t n,
                                uint64_t *bitmap);
  /*
   * The values of the fingerprints that match, for keys with one match at most: YES, and the value;
   * NO. MAYBE: several match, or the caller must decode them. At most VALUES_BATCH keys.
   */
  void (*values_many)(const struct qtable *t, const besom_digest *d, size_t n, uint64_t *values,
                      uint8_t *answers);
  /* contains for a remainder that is not the digest's own; only if nothing is extended. */
  enum answer (*contains_at)(const struct qtable *t, uint64_t quotient, uint64_t remainder);
  /*
   * Appends the digest's remainder to its run. FULL if there is no empty slot up to the end of the
   * tail. If `present` is not NULL and the run has the remainder already, nothing changes and
   * *present becomes true. The _many form stops there; *done is the number of inserted digests.
   */
  besom_status (*insert)(struct qtable *t, besom_digest d, bool *present);
  besom_status (*insert_many)(struct qtable *t, const besom_digest *d, size_t n, bool *present,
                              size_t *done);
  /* insert of a quotient and a remainder, for what insert_in_block (block_insert.h) does not do. */
  besom_status (*insert_far)(struct qtable *t, uint64_t quotient, uint64_t remainder,
                             bool *present);
  /*
   * Removes the last fingerprint with the digest's quotient and remainder: YES; NO if there is
   * none. MAYBE, with nothing changed, if one of them has several slots or may have a tag: the
   * caller must decode them.
   */
  enum answer (*remove_last)(struct qtable *t, besom_digest d);
  /* Counts these fingerprints: YES or NO, and *n; MAYBE as above. */
  enum answer (*count)(const struct qtable *t, besom_digest d, uint64_t *n);
  /* Appends the remainders of ascending digests to a table that is being filled. INVALID, FULL: see
   * the appender. */
  besom_status (*append)(struct qtable_appender *a, const besom_digest *d, size_t n);
  /* How many fingerprints of the run have this remainder; *last: the position of the last one. */
  uint64_t (*find)(const struct qtable *t, uint64_t quotient, uint64_t remainder, uint64_t *last);
  struct run (*run_of)(const struct qtable *t, uint64_t quotient); /* as in walk.h */
  /* The first fingerprint with this remainder in from .. run_end-1; run_end if there is none. */
  uint64_t (*next_equal)(const struct qtable *t, uint64_t from, uint64_t run_end,
                         uint64_t remainder);
  /*
   * Inserts a further slot into the run at a position after one of its slots: what is at the
   * position and after it moves up by one. Its content is `bits`, not 0. FULL as above.
   */
  besom_status (*insert_slot)(struct qtable *t, uint64_t quotient, uint64_t position,
                              uint64_t bits);
  /* Deletes the slot at the position from its run; slots after it move back where they may. */
  void (*delete_slot)(struct qtable *t, uint64_t quotient, uint64_t position);
  /* Fills the empty table `into` with two tables of its shape: each run of a, then that of b. May
   * be FULL. */
  besom_status (*merge)(const struct qtable *a, const struct qtable *b, struct qtable *into);
  const struct qtable_ops *shared;    /* the same for tables that several threads share */
  const struct quotient_calls *calls; /* of plain filters with such a table (quotient_calls.h) */
  const struct concurrent_calls *concurrent_calls; /* the same for shared tables */
};

/*
 * The payload of a further slot: how many bits are left for content. The others, at the top, are
 * its tag and are 1. One bit tells it from an empty slot. Three also tell it from most remainders
 * that a query may look for, so that the query need not read the head word. There are three if that
 * leaves five bits of payload, which a count of two takes.
 */
static inline unsigned further_payload(unsigned width) {
  return width < 7 ? width - 1 : width < 8 ? width - 2 : width - 3;
}

/*
 * Whether further slots have no tag. Such a table has operations for any width: those for a single
 * width, which is a constant there, need not ask.
 */
ALWAYS_INLINE bool has_whole_slots(const struct qtable *t, unsigned width) {
  return !__builtin_constant_p(width) && t->code == WHOLE_SLOTS;
}

/* The payload in this table. */
static inline unsigned further_payload_of(const struct qtable *t) {
  return t->code == WHOLE_SLOTS ? t->width : further_payload(t->width);
}

/* Whether a further slot with a tag could look like this remainder. */
ALWAYS_INLINE bool is_like_further(uint64_t remainder, unsigned width) {
  unsigned payload = further_payload(width);
  return (remainder >> payload) + 1 == UINT64_C(1) << (width - payload);
}

/*
 * A bucket is quotient and remainder as one number. There are none if these take more than 64 bits.
 */
static inline bool has_buckets(const struct qtable *t) {
  return t->width < 64 && t->slots <= UINT64_MAX >> t->width;
}

static inline uint64_t bucket_of(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  return quotient << t->width | remainder;
}

/* The bytes of a table of this shape; 0 if the shape is invalid or too large for the machine. */
uint64_t besom__qtable_bytes(const struct qtable_shape *shape);

/* The positions of a table with this many quotients: slots and tail. */
uint64_t besom__qtable_room(uint64_t slots);

/* Sets up a table over qtable_bytes of zeroed memory, or over the blocks of a saved table. */
void besom__qtable_init(struct qtable *t, const struct qtable_shape *shape, enum isa isa,
                        void *blocks);

/* Bytes of the blocks, and of the bytes per slot after them. */
size_t besom__qtable_size(const struct qtable *t);

/* NULL if every invariant holds, else a message. Safe on any bits. */
const char *besom__qtable_check(const struct qtable *t);
/* The slots of a block that do not begin a fingerprint, as bits; of a sound table with heads. */
uint64_t besom__further_slots(const struct qtable *t, uint64_t block);

/* ------------------------------------------------------------------ constant offsets */

/*
 * In a table without code, all offsets up to that of the heads depend only on the width. This is
 * what a query needs of such a table, with offsets that are constants if the width is one. The
 * counters are 0. With whole slots they would be the same, but hot calls know slots with tags only.
 */
static inline bool has_constant_offsets(const struct qtable *t) {
  return t->code == NO_CODE || t->code == TAGS || t->code == VALUES_BEHIND;
}

ALWAYS_INLINE struct qtable with_constant_offsets(const struct qtable *t, unsigned width) {
  return (struct qtable){.blocks = t->blocks,
                         .slots = t->slots,
                         .stride = t->stride,
                         .width = (uint8_t)width,
                         .words_at = 1,
                         .remainders_at = 17,
                         .heads_at = (uint16_t)(17 + 8 * width),
                         .has_heads = true};
}

/* ------------------------------------------------------------------ inside a block */

enum { WORD_OCCUPIED, WORD_END };

ALWAYS_INLINE uint8_t *block_at(const struct qtable *t, uint64_t block) {
  return t->blocks + block * t->stride;
}

ALWAYS_INLINE unsigned block_offset(const uint8_t *block) {
  return load8_shared(block);
}

ALWAYS_INLINE void set_block_offset(uint8_t *block, uint64_t offset) {
  store8_shared(block, (uint8_t)(offset < OFFSET_SATURATED ? offset : OFFSET_SATURATED));
}

ALWAYS_INLINE uint64_t block_word(const struct qtable *t, const uint8_t *block, unsigned word) {
  return load64_shared(block + t->words_at + 8 * word);
}

ALWAYS_INLINE void set_block_word(const struct qtable *t, uint8_t *block, unsigned word,
                                  uint64_t bits) {
  store64_shared(block + t->words_at + 8 * word, bits);
}

/* The bytes per slot, in tables that have them. */
static inline uint8_t *qtable_slot_bytes(const struct qtable *t) {
  return t->blocks + t->room / 64 * t->stride;
}

/* The 56 bits per block, in tables that have them: they share a word with the offset. */
ALWAYS_INLINE uint64_t block_code(const uint8_t *block) {
  return load64_shared(block) >> 8;
}

/*
 * In tables with slot metadata these bits are flags: a set flag says that one of its slots may
 * carry metadata. There are 56 flags for 64 slots, so the last 8 slots share the flags of 8 others.
 */
ALWAYS_INLINE uint64_t flags_of_slots(uint64_t slots) {
  return (slots | slots >> 56 << 48) & bits_below(56);
}

ALWAYS_INLINE void set_block_code(uint8_t *block, uint64_t code) {
  store64_shared(block, code << 8 | load8_shared(block));
}

ALWAYS_INLINE uint64_t block_heads(const struct qtable *t, const uint8_t *block) {
  return load64_shared(block + t->heads_at);
}

ALWAYS_INLINE void set_block_heads(const struct qtable *t, uint8_t *block, uint64_t bits) {
  store64_shared(block + t->heads_at, bits);
}

/* `width` is t->width, a parameter so that it can be a compile-time constant. */
ALWAYS_INLINE uint64_t slot_remainder(const struct qtable *t, const uint8_t *block, unsigned i,
                                      unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  uint64_t remainder = 0;
  for (unsigned j = 0; j < width / 8; j++)
    remainder |= (uint64_t)load8_shared(bytes + 64 * j) << (8 * j);
  for (unsigned j = 0; j < width % 8; j++)
    remainder |= (load64_shared(planes + 8 * j) >> i & 1) << (width / 8 * 8 + j);
  return remainder;
}

ALWAYS_INLINE void set_slot_remainder(const struct qtable *t, uint8_t *block, unsigned i,
                                      uint64_t remainder, unsigned width) {
  uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  for (unsigned j = 0; j < width / 8; j++)
    store8_shared(bytes + 64 * j, (uint8_t)(remainder >> (8 * j)));
  for (unsigned j = 0; j < width % 8; j++) {
    uint64_t bit = remainder >> (width / 8 * 8 + j) & 1;
    store64_shared(planes + 8 * j,
                   (load64_shared(planes + 8 * j) & ~(UINT64_C(1) << i)) | bit << i);
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
    equal &= load64_shared(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1);
  return equal;
}

/* The same for slots i .. i+31 only, as bits 0 .. 31. May read 31 bytes past the row. */
ALWAYS_INLINE uint32_t slots_equal_32(const struct qtable *t, const uint8_t *block, unsigned i,
                                      uint64_t remainder, unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  uint32_t equal = ~UINT32_C(0);
  for (unsigned j = 0; j < width / 8; j++)
    equal &= equal_bytes_32(bytes + 64 * j, (uint8_t)(remainder >> (8 * j)));
  for (unsigned j = 0; j < width % 8; j++)
    equal &=
        (uint32_t)((load64_shared(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1)) >>
                   i);
  return equal;
}

/* Bit i of the result: the uppermost bit of slot i's remainder. */
ALWAYS_INLINE uint64_t uppermost_bits(const struct qtable *t, const uint8_t *block,
                                      unsigned width) {
  const uint8_t *planes = block + t->remainders_at;
  if (width % 8) return load64_shared(planes + 8 * (width % 8 - 1));
  const uint8_t *row = planes + 8 * (width - 8);
#if defined(__AVX512BW__)
  return _mm512_movepi8_mask(load512_shared(row));
#elif defined(__AVX2__)
  return (uint32_t)_mm256_movemask_epi8(load256_shared(row)) |
         (uint64_t)_mm256_movemask_epi8(load256_shared(row + 32)) << 32;
#else
  uint64_t bits = 0;
  for (unsigned j = 0; j < 8; j++) /* the top bits of 8 bytes, gathered in the uppermost byte */
    bits |= ((load64_shared(row + 8 * j) & BYTE_TOPS) >> 7) * UINT64_C(0x0102040810204080) >>
            56 << (8 * j);
  return bits;
#endif
}

static inline bool has_tags(const struct qtable *t) {
  return t->code == TAGS;
}

/* Whether slots and their values are all that the table holds. */
static inline bool has_slots_alone(const struct qtable *t) {
  return t->code == NO_CODE || t->code == WHOLE_SLOTS || t->code == VALUES_BEHIND;
}

/* The bits of a value that belong to the user. */
static inline unsigned own_value_bits(const struct qtable *t) {
  return t->value_bits - has_tags(t);
}

/* Bit i: slot i begins a tagged fingerprint. A tag is inside of the block. */
static inline uint64_t block_tags(const struct qtable *t, const uint8_t *block) {
  return has_tags(t) ? load64_shared(block + t->values_at + 8 * own_value_bits(t)) : 0;
}

/*
 * slots_equal for those of slots i .. i+15 that `run` has as bits 0 .. 15, slot i among them if
 * there are any. Touches no cache line in which none of them is: if the 16 bytes would reach into
 * the next line needlessly, they are read further back.
 */
ALWAYS_INLINE uint64_t slots_equal_in(const struct qtable *t, const uint8_t *block, unsigned i,
                                      uint64_t run, uint64_t remainder, unsigned width) {
  const uint8_t *planes = block + t->remainders_at, *bytes = planes + 8 * (width % 8) + i;
  unsigned left_in_line = 64 - ((uintptr_t)bytes & 63);
  bool needless = (left_in_line < 16) & !(run >> (left_in_line & 15));
  unsigned back = (16 - left_in_line) & (0 - (unsigned)needless); /* no branch */
  for (unsigned j = 0; j < width / 8; j++)
    run &= equal_bytes_16(bytes + 64 * j - back, (uint8_t)(remainder >> (8 * j))) >> back;
  for (unsigned j = 0; j < width % 8; j++)
    run &= (load64_shared(planes + 8 * j) ^ ((remainder >> (width / 8 * 8 + j) & 1) - 1)) >> i;
  return run;
}

#endif
