/* Geometry and the checker of the quotient table. The fast operations are in table_ops.c. */
#include "quotient/table/quotient_table.h"

#include "quotient/table/slot_values.h"
#include "quotient/table/walk.h"

/* ------------------------------------------------------------------ geometry */

/*
 * The tail takes what spills over the last slot. At a load factor of 95 % a spill of more than k
 * slots has a probability of about exp(-k / 10). A tail of 704 slots practically never overflows
 * and costs a large table nothing; a small table gets an eighth of its slots and 64 more.
 */
static uint64_t tail_of(uint64_t slots) {
  uint64_t tail = slots / 8 + 64;
  return tail < 704 ? tail : 704;
}

uint64_t besom__qtable_room(uint64_t slots) {
  return (slots + tail_of(slots) + 63) / 64 * 64;
}

/* Offset of the words in a block: after the offset byte, and the code if there is one. */
static uint8_t words_at(const struct qtable_shape *shape) {
  return shape->code == CODE || shape->code == CODE_AND_BYTES ? 8 : 1;
}

static uint32_t stride_of(const struct qtable_shape *shape) {
  unsigned inside = shape->code == VALUES_BEHIND ? 0 : shape->value_bits;
  return words_at(shape) + 8 * (shape->heads ? 3 : 2) + 8 * shape->width + 8 * inside;
}

static uint64_t table_bytes(const struct qtable *t) {
  if (has_packed_values(t)) return packed_values_at(t) + t->room / 8 * t->value_bits;
  return t->room / 64 * t->stride + (t->code == CODE_AND_BYTES ? t->room : 0);
}

uint64_t besom__qtable_bytes(const struct qtable_shape *shape) {
  if (shape->slots == 0 || shape->slots > UINT64_C(1) << 48 || shape->width == 0 ||
      shape->width > 64)
    return 0;
  unsigned tag = shape->code == TAGS;
  if (shape->value_bits < tag || shape->value_bits > 32 + tag) return 0;
  struct qtable t;
  besom__qtable_init(&t, shape, ISA_PORTABLE, NULL);
  return table_bytes(&t);
}

/*
 * The operations: one object per instruction set and width (table_ops.c, CMakeLists.txt). Portable
 * code exists for any width only. docs/benchmarks.md ("Specialised widths") has the measurements.
 * BESOM_FEW_WIDTHS: builds with sanitizers have one of the widths only, which is compiled sooner.
 */
extern const struct qtable_ops besom__qtable_ops_portable_any;

#ifdef BESOM_X86_VARIANTS
extern const struct qtable_ops besom__qtable_ops_avx2_any, besom__qtable_ops_avx2_7,
    besom__qtable_ops_avx2_8, besom__qtable_ops_avx2_10, besom__qtable_ops_avx2_14,
    besom__qtable_ops_avx2_16, besom__qtable_ops_avx512_any, besom__qtable_ops_avx512_7,
    besom__qtable_ops_avx512_8, besom__qtable_ops_avx512_10, besom__qtable_ops_avx512_14,
    besom__qtable_ops_avx512_16;

static const struct qtable_ops *avx2_ops(unsigned width) {
  switch (width) {
  case 8:
    return &besom__qtable_ops_avx2_8;
#ifndef BESOM_FEW_WIDTHS
  case 7:
    return &besom__qtable_ops_avx2_7;
  case 10:
    return &besom__qtable_ops_avx2_10;
  case 14:
    return &besom__qtable_ops_avx2_14;
  case 16:
    return &besom__qtable_ops_avx2_16;
#endif
  default:
    return &besom__qtable_ops_avx2_any;
  }
}

static const struct qtable_ops *avx512_ops(unsigned width) {
  switch (width) {
  case 8:
    return &besom__qtable_ops_avx512_8;
#ifndef BESOM_FEW_WIDTHS
  case 7:
    return &besom__qtable_ops_avx512_7;
  case 10:
    return &besom__qtable_ops_avx512_10;
  case 14:
    return &besom__qtable_ops_avx512_14;
  case 16:
    return &besom__qtable_ops_avx512_16;
#endif
  default:
    return &besom__qtable_ops_avx512_any;
  }
}
#endif

static const struct qtable_ops *ops_for(enum isa isa, const struct qtable_shape *shape) {
  unsigned width = shape->code == WHOLE_SLOTS ? 0 : shape->width; /* 0: any */
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return avx512_ops(width);
  if (isa == ISA_AVX2) return avx2_ops(width);
#endif
  (void)isa, (void)width;
  return &besom__qtable_ops_portable_any;
}

void besom__qtable_init(struct qtable *t, const struct qtable_shape *shape, enum isa isa,
                        void *blocks) {
  uint8_t remainders_at = words_at(shape) + 16;
  uint16_t heads_at = (uint16_t)(remainders_at + 8 * shape->width);
  *t = (struct qtable){
      .blocks = blocks,
      .slots = shape->slots,
      .room = besom__qtable_room(shape->slots),
      .ops = ops_for(isa, shape),
      .stride = stride_of(shape),
      .width = (uint8_t)shape->width,
      .words_at = words_at(shape),
      .remainders_at = remainders_at,
      .heads_at = heads_at,
      .values_at = (uint16_t)(heads_at + (shape->heads ? 8 : 0)),
      .value_bits = (uint8_t)shape->value_bits,
      .has_heads = shape->heads,
      .code = shape->code,
  };
}

size_t besom__qtable_size(const struct qtable *t) {
  return (size_t)table_bytes(t);
}

/* ------------------------------------------------------------------ checker */

/*
 * Walks over all slots, run by run. What a slot must look like is collected as bits for one block
 * at a time, and compared with the block when the walk leaves it.
 */
struct checking {
  const struct qtable *t;
  const char *wrong; /* the first thing that is wrong */
  uint64_t position;
  uint64_t empty, starts; /* of the block of the position: slots so far that must be like this */
  uint64_t used, further;
};

static const char *check_slots_of_block(const struct checking *c, uint64_t b) {
  const struct qtable *t = c->t;
  const uint8_t *block = block_at(t, b);
  uint64_t zero = slots_equal(t, block, 0, t->width);
  uint64_t heads = t->has_heads ? block_heads(t, block) : ~c->empty;
  if (block_word(t, block, WORD_END) & c->empty) return "an empty slot has its run-end bit set";
  if (heads & c->empty) return "an empty slot has its head bit set";
  if (~zero & c->empty) return "an empty slot has a remainder";
  if (has_value_in(t, b, c->empty)) return "an empty slot has a value";
  if (c->starts & ~heads) return "a run does not begin with a head";
  if (t->code == WHOLE_SLOTS) return NULL;
  return zero & ~heads & ~c->empty ? "a run has an empty slot" : NULL;
}

static __attribute__((noinline)) void leave_block(struct checking *c) {
  uint64_t b = c->position / 64 - 1;
  if (!c->wrong) c->wrong = check_slots_of_block(c, b);
  c->used += 64 - popcount(c->empty);
  if (c->t->has_heads) c->further += popcount(~c->empty & ~block_heads(c->t, block_at(c->t, b)));
  c->empty = c->starts = 0;
}

/* Moves on by n slots of this block. */
ALWAYS_INLINE void pass_slots(struct checking *c, unsigned n) {
  c->position += n;
  if (c->position % 64 == 0) leave_block(c);
}

static void pass_empty(struct checking *c, uint64_t to) {
  while (c->position < to) {
    unsigned i = c->position % 64;
    uint64_t left = to - c->position;
    unsigned n = left < 64 - i ? (unsigned)left : 64 - i;
    c->empty |= (n < 64 ? bits_below(n) : ~UINT64_C(0)) << i;
    pass_slots(c, n);
  }
}

static void pass_run(struct checking *c) {
  if (c->position < c->t->room) c->starts |= UINT64_C(1) << c->position % 64;
  while (c->position < c->t->room) {
    unsigned i = c->position % 64;
    uint64_t ends = block_word(c->t, block_at(c->t, c->position / 64), WORD_END) >> i;
    pass_slots(c, ends ? trailing_zeros(ends) + 1 : 64 - i);
    if (ends) return;
  }
  if (!c->wrong) c->wrong = "a run does not end within the table";
}

static const char *check_offset(const struct qtable *t, uint64_t block, uint64_t runs_end) {
  uint64_t offset = runs_end > 64 * block ? runs_end - 64 * block : 0;
  if (offset > OFFSET_SATURATED) offset = OFFSET_SATURATED;
  return block_offset(block_at(t, block)) == offset ? NULL : "a block's offset is wrong";
}

/*
 * Passes the runs of these quotients of block b as long as they end before its last slot, which
 * most do. Returns the quotients that are left.
 */
static uint64_t pass_runs_within(struct checking *c, uint64_t b, uint64_t occupied) {
  uint64_t ends = block_word(c->t, block_at(c->t, b), WORD_END), empty = 0, starts = 0;
  unsigned i = c->position % 64;
  for (; occupied; occupied &= occupied - 1) {
    unsigned quotient = trailing_zeros(occupied), start = i > quotient ? i : quotient;
    unsigned end = start + trailing_zeros(ends >> start);
    if (end >= 63) break;
    empty |= bits_below(start) & ~bits_below(i);
    starts |= UINT64_C(1) << start;
    i = end + 1;
  }
  c->position = 64 * b + i;
  c->empty |= empty;
  c->starts |= starts;
  return occupied;
}

static void check_runs_of_block(struct checking *c, uint64_t b) {
  uint64_t occupied = block_word(c->t, block_at(c->t, b), WORD_OCCUPIED), first = 64 * b;
  uint64_t left = c->t->slots > first ? c->t->slots - first : 0;
  if (left < 64 && occupied & ~bits_below((unsigned)left)) {
    c->wrong = "a quotient beyond the last slot is occupied";
    return;
  }
  if (occupied) pass_empty(c, first);
  if (c->position / 64 == b) occupied = pass_runs_within(c, b, occupied);
  for (; occupied && !c->wrong; occupied &= occupied - 1) {
    pass_empty(c, first + trailing_zeros(occupied));
    pass_run(c);
  }
}

const char *besom__qtable_check(const struct qtable *t) {
  struct checking c = {.t = t};
  for (uint64_t b = 0; b < t->room / 64 && !c.wrong; b++) {
    c.wrong = check_offset(t, b, c.position);
    if (!c.wrong) check_runs_of_block(&c, b);
  }
  if (!c.wrong) pass_empty(&c, t->room);
  if (!c.wrong && c.used != t->used) c.wrong = "the number of used slots is wrong";
  if (!c.wrong && t->further_slots != c.further) c.wrong = "the number of further slots is wrong";
  return c.wrong;
}

uint64_t besom__further_slots(const struct qtable *t, uint64_t block) {
  const uint8_t *at = block_at(t, block);
  return ~empty_slots(t, at, t->width) & ~block_heads(t, at);
}
