/* The quotient table, but for its fast operations: geometry, walks in order, the checker. */
#include "quotient/table.h"

#include "quotient/walk.h"

/* ------------------------------------------------------------------ geometry */

/*
 * The tail takes what spills over the last slot. At a load of 95 % a spill of more than k slots has
 * probability exp(-k / 10) or so; 640 and a few for small tables is beyond any chance, and nothing for large ones.
 */
static uint64_t tail_of(uint64_t slots) {
  uint64_t tail = slots / 8 + 64;
  return tail < 704 ? tail : 704;
}

static uint64_t room_of(uint64_t slots) {
  return (slots + tail_of(slots) + 63) / 64 * 64;
}

static uint32_t stride_of(const struct qtable_shape *shape) {
  return (shape->code ? 8 : 1) + 8 * (shape->heads ? 3 : 2) + 8 * shape->width;
}

size_t besom__qtable_bytes(const struct qtable_shape *shape) {
  if (shape->slots == 0 || shape->slots > UINT64_C(1) << 48 || shape->width == 0 || shape->width > 64) return 0;
  uint64_t bytes = room_of(shape->slots) / 64 * stride_of(shape);
  return bytes <= SIZE_MAX / 2 ? (size_t)bytes : 0;
}

const struct qtable_ops *besom__qtable_ops_portable(unsigned width);
const struct qtable_ops *besom__qtable_ops_avx2(unsigned width);
const struct qtable_ops *besom__qtable_ops_avx512(unsigned width);

static const struct qtable_ops *ops_for(enum isa isa, unsigned width) {
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return besom__qtable_ops_avx512(width);
  if (isa == ISA_AVX2) return besom__qtable_ops_avx2(width);
#endif
  (void)isa;
  return besom__qtable_ops_portable(width);
}

void besom__qtable_init(struct qtable *t, const struct qtable_shape *shape, enum isa isa, void *blocks) {
  *t = (struct qtable){
      .blocks = blocks,
      .slots = shape->slots,
      .room = room_of(shape->slots),
      .ops = ops_for(isa, shape->width),
      .stride = stride_of(shape),
      .width = (uint8_t)shape->width,
      .words_at = shape->code ? 8 : 1,
      .remainders_at = (uint8_t)((shape->code ? 8 : 1) + 8 * (shape->heads ? 3 : 2)),
      .has_heads = shape->heads,
  };
}

size_t besom__qtable_size(const struct qtable *t) {
  return (size_t)(t->room / 64 * t->stride);
}

/* ------------------------------------------------------------------ cursor */

/* The first quotient from this one on that has a run; slots if none has. */
static uint64_t occupied_from(const struct qtable *t, uint64_t quotient) {
  uint64_t left = bits_from(quotient % 64);
  for (uint64_t at = quotient & ~UINT64_C(63); at < t->slots; at += 64, left = ~UINT64_C(0)) {
    uint64_t occupied = block_word(t, block_at(t, at / 64), WORD_OCCUPIED) & left;
    if (occupied) return at + trailing_zeros(occupied);
  }
  return t->slots;
}

void besom__qtable_first(const struct qtable *t, struct qtable_cursor *c) {
  uint64_t quotient = occupied_from(t, 0);
  *c = (struct qtable_cursor){.table = t, .next_quotient = quotient, .next_position = quotient};
}

bool besom__qtable_next(struct qtable_cursor *c) {
  const struct qtable *t = c->table;
  if (c->next_quotient >= t->slots || c->next_position >= t->room) return false;
  c->quotient = c->next_quotient;
  c->position = c->next_position;
  const uint8_t *block = block_at(t, c->position / 64);
  unsigned i = c->position % 64;
  c->remainder = slot_remainder(t, block, i, t->width);
  c->next_position = skip_further_slots(t, c->position + 1);
  if (block_run_ends(t, block) >> i & 1) {
    c->next_quotient = occupied_from(t, c->quotient + 1);
    if (c->next_position < c->next_quotient) c->next_position = c->next_quotient;
  }
  return true;
}

/* ------------------------------------------------------------------ appender */

void besom__qtable_append_start(struct qtable_appender *a, struct qtable *t) {
  *a = (struct qtable_appender){.table = t};
}

/* The runs before these blocks end at the appender's position: now their offsets are known. */
static void set_offsets_up_to(struct qtable_appender *a, uint64_t block) {
  for (; a->next_block <= block; a->next_block++) {
    uint64_t start = 64 * a->next_block;
    uint64_t offset = a->position > start ? a->position - start : 0;
    block_at(a->table, a->next_block)[0] = (uint8_t)(offset < OFFSET_SATURATED ? offset : OFFSET_SATURATED);
  }
}

static void set_word_bit(struct qtable *t, uint64_t position, unsigned word) {
  uint8_t *block = block_at(t, position / 64);
  set_block_word(t, block, word, block_word(t, block, word) | UINT64_C(1) << (position % 64));
}

besom_status besom__qtable_append(struct qtable_appender *a, uint64_t quotient, uint64_t remainder) {
  struct qtable *t = a->table;
  if (UNLIKELY(quotient < a->quotient)) return BESOM_INVALID;
  bool same_run = t->used && quotient == a->quotient;
  if (!same_run) {
    set_offsets_up_to(a, quotient / 64);
    if (a->position < quotient) a->position = quotient;
  }
  if (UNLIKELY(a->position >= t->room)) return BESOM_FULL;
  if (same_run) {
    uint8_t *block = block_at(t, (a->position - 1) / 64);
    uint64_t bit = UINT64_C(1) << ((a->position - 1) % 64);
    set_block_word(t, block, WORD_END, block_word(t, block, WORD_END) & ~bit);
  } else {
    set_word_bit(t, quotient, WORD_OCCUPIED);
  }
  set_word_bit(t, a->position, WORD_END);
  if (t->has_heads) set_word_bit(t, a->position, WORD_HEAD);
  set_slot_remainder(t, block_at(t, a->position / 64), a->position % 64, remainder, t->width);
  a->quotient = quotient;
  a->position++;
  t->used++;
  return BESOM_OK;
}

void besom__qtable_append_finish(struct qtable_appender *a) {
  set_offsets_up_to(a, a->table->room / 64 - 1);
}

/* ------------------------------------------------------------------ whole tables */

besom_status besom__qtable_merge(const struct qtable *a, const struct qtable *b, struct qtable *into) {
  struct qtable_cursor x, y;
  struct qtable_appender out;
  besom__qtable_first(a, &x);
  besom__qtable_first(b, &y);
  besom__qtable_append_start(&out, into);
  bool more_x = besom__qtable_next(&x), more_y = besom__qtable_next(&y);
  while (more_x || more_y) {
    bool take_x = more_x && (!more_y || x.quotient <= y.quotient);
    const struct qtable_cursor *from = take_x ? &x : &y;
    besom_status status = besom__qtable_append(&out, from->quotient, from->remainder);
    if (status != BESOM_OK) return status;
    if (take_x)
      more_x = besom__qtable_next(&x);
    else
      more_y = besom__qtable_next(&y);
  }
  besom__qtable_append_finish(&out);
  return BESOM_OK;
}

/* Appends those of one run whose first remainder bit is this one, to the run of twice the quotient and it. */
static besom_status append_half(struct qtable_cursor run, uint64_t first_bit, struct qtable_appender *out) {
  unsigned width = run.table->width;
  uint64_t quotient = run.next_quotient;
  while (run.next_quotient == quotient && besom__qtable_next(&run)) {
    if (run.remainder >> (width - 1) != first_bit) continue;
    besom_status status =
        besom__qtable_append(out, 2 * quotient + first_bit, run.remainder & bits_below(width - 1));
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

besom_status besom__qtable_double(const struct qtable *t, struct qtable *into) {
  struct qtable_cursor c;
  struct qtable_appender out;
  besom__qtable_first(t, &c);
  besom__qtable_append_start(&out, into);
  while (c.next_quotient < t->slots) {
    besom_status status = append_half(c, 0, &out);
    if (status == BESOM_OK) status = append_half(c, 1, &out);
    if (status != BESOM_OK) return status;
    uint64_t quotient = c.next_quotient;
    while (c.next_quotient == quotient && besom__qtable_next(&c)) {}
  }
  besom__qtable_append_finish(&out);
  return BESOM_OK;
}

besom_status besom__qtable_halve(const struct qtable *t, struct qtable *into) {
  struct qtable_cursor c;
  struct qtable_appender out;
  besom__qtable_first(t, &c);
  besom__qtable_append_start(&out, into);
  while (besom__qtable_next(&c)) {
    uint64_t remainder = (c.quotient & 1) << t->width | c.remainder;
    besom_status status = besom__qtable_append(&out, c.quotient / 2, remainder);
    if (status != BESOM_OK) return status;
  }
  besom__qtable_append_finish(&out);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ checker */

static const char *check_empty(const struct qtable *t, uint64_t from, uint64_t to) {
  for (uint64_t p = from; p < to; p++) {
    const uint8_t *block = block_at(t, p / 64);
    unsigned i = p % 64;
    if (block_word(t, block, WORD_END) >> i & 1) return "an empty slot has its run-end bit set";
    if (t->has_heads && block_word(t, block, WORD_HEAD) >> i & 1) return "an empty slot has its head bit set";
    if (slot_remainder(t, block, i, t->width)) return "an empty slot has a remainder";
  }
  return NULL;
}

/* Walks over one run from *position to behind it. */
static const char *check_run(const struct qtable *t, uint64_t *position, uint64_t *used) {
  for (;;) {
    if (*position >= t->room) return "a run does not end within the table";
    const uint8_t *block = block_at(t, *position / 64);
    unsigned i = *position % 64;
    if (t->has_heads && !(block_word(t, block, WORD_HEAD) >> i & 1)) return "a run has an empty slot";
    uint64_t end = skip_further_slots(t, *position + 1);
    *used += end - *position;
    *position = end;
    if (block_run_ends(t, block) >> i & 1) return NULL;
  }
}

static const char *check_offset(const struct qtable *t, uint64_t block, uint64_t runs_end) {
  uint64_t offset = runs_end > 64 * block ? runs_end - 64 * block : 0;
  if (offset > OFFSET_SATURATED) offset = OFFSET_SATURATED;
  return block_at(t, block)[0] == offset ? NULL : "a block's offset is wrong";
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
  return wrong;
}
