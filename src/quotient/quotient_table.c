/* Geometry and the checker of the quotient table. The fast operations are in table_ops.c. */
#include "quotient/quotient_table.h"

#include "quotient/walk.h"

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
  return words_at(shape) + 8 * (shape->heads ? 3 : 2) + 8 * shape->width + 8 * shape->value_bits;
}

uint64_t besom__qtable_bytes(const struct qtable_shape *shape) {
  if (shape->slots == 0 || shape->slots > UINT64_C(1) << 48 || shape->width == 0 ||
      shape->width > 64)
    return 0;
  unsigned tag = shape->code == TAGS;
  if (shape->value_bits < tag || shape->value_bits > 32 + tag) return 0;
  uint64_t room = besom__qtable_room(shape->slots);
  return room / 64 * stride_of(shape) + (shape->code == CODE_AND_BYTES ? room : 0);
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

static const struct qtable_ops *ops_for(enum isa isa, unsigned width) {
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
      .ops = ops_for(isa, shape->width),
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
  return (size_t)(t->room / 64 * t->stride + (t->code == CODE_AND_BYTES ? t->room : 0));
}

/* ------------------------------------------------------------------ checker */

static const char *check_empty(const struct qtable *t, uint64_t from, uint64_t to) {
  for (uint64_t p = from; p < to; p++) {
    const uint8_t *block = block_at(t, p / 64);
    unsigned i = p % 64;
    if (block_word(t, block, WORD_END) >> i & 1) return "an empty slot has its run-end bit set";
    if (t->has_heads && block_heads(t, block) >> i & 1) return "an empty slot has its head bit set";
    if (slot_remainder(t, block, i, t->width)) return "an empty slot has a remainder";
    if (slot_value(t, block, i)) return "an empty slot has a value";
  }
  return NULL;
}

/* Checks one run and moves *position past it: it begins with a head and has no empty slot. */
static const char *check_run(const struct qtable *t, uint64_t *position, uint64_t *used) {
  for (bool first = true, more = true; more; first = false, ++*position, ++*used) {
    if (*position >= t->room) return "a run does not end within the table";
    bool head =
        !t->has_heads || block_heads(t, block_at(t, *position / 64)) >> (*position % 64) & 1;
    if (!head && first) return "a run does not begin with a head";
    if (!head && !slot_remainder(t, block_at(t, *position / 64), *position % 64, t->width))
      return "a run has an empty slot";
    more = !ends_run(t, *position);
  }
  return NULL;
}

static const char *check_offset(const struct qtable *t, uint64_t block, uint64_t runs_end) {
  uint64_t offset = runs_end > 64 * block ? runs_end - 64 * block : 0;
  if (offset > OFFSET_SATURATED) offset = OFFSET_SATURATED;
  return block_offset(block_at(t, block)) == offset ? NULL : "a block's offset is wrong";
}

static uint64_t count_heads(const struct qtable *t) {
  uint64_t count = 0;
  for (uint64_t b = 0; b < t->room / 64; b++) count += popcount(block_heads(t, block_at(t, b)));
  return count;
}

const char *besom__qtable_check(const struct qtable *t) {
  uint64_t position = 0, used = 0;
  const char *wrong = NULL;
  for (uint64_t b = 0; b < t->room / 64 && !wrong; b++) {
    wrong = check_offset(t, b, position);
    uint64_t occupied = block_word(t, block_at(t, b), WORD_OCCUPIED);
    for (; occupied && !wrong; occupied &= occupied - 1) {
      uint64_t quotient = 64 * b + trailing_zeros(occupied);
      if (quotient >= t->slots) return "a quotient beyond the last slot is occupied";
      if (position < quotient) {
        wrong = check_empty(t, position, quotient);
        position = quotient;
      }
      if (!wrong) wrong = check_run(t, &position, &used);
    }
  }
  if (!wrong) wrong = check_empty(t, position, t->room);
  if (!wrong && used != t->used) wrong = "the number of used slots is wrong";
  if (!wrong && t->further_slots != (t->has_heads ? used - count_heads(t) : 0))
    wrong = "the number of further slots is wrong";
  return wrong;
}
