/*
 * Merging two quotient tables, run by run. Compiled once per instruction set and width
 * (table_variant.h).
 */
#define UNSHARED \
  1 /* core/relaxed.h: nobody changes the two tables, nobody else knows the new one */

#include "quotient/table/table_merge.h"

#include "quotient/table/slot_values.h"
#include "quotient/table/walk.h"

/* The runs of a block's quotients: first position and number of slots, 0 if there is no run. */
struct runs {
  uint64_t start[BLOCK_SLOTS], n[BLOCK_SLOTS];
};

/*
 * Returns the occupied word. *end: where the runs of the blocks before this one end; then where
 * those of this block end, too.
 */
ALWAYS_INLINE uint64_t find_runs(const struct qtable *t, uint64_t b, uint64_t *end,
                                 struct runs *runs) {
  uint64_t at = *end;
  memset(runs, 0, sizeof *runs);
  uint64_t occupied = block_word(t, block_at(t, b), WORD_OCCUPIED);
  for (uint64_t left = occupied; left; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    uint64_t start = at > 64 * b + i ? at : 64 * b + i;
    if (UNLIKELY(start >= t->room)) break;
    uint64_t ends = block_word(t, block_at(t, start / 64), WORD_END) >> (start % 64);
    at = start + trailing_zeros(ends) + 1;
    if (UNLIKELY(!ends)) {
      at = run_end_from(t, start, 0) + 1;
      if (at > t->room) at = t->room;
    }
    runs->start[i] = start;
    runs->n[i] = at - start;
  }
  *end = at;
  return occupied;
}

ALWAYS_INLINE void table_merge_set_bits(uint8_t *word, uint64_t bits) {
  store64_shared(word, load64_shared(word) | bits);
}

/* Copies n slots to empty ones, one at a time. */
static void table_merge_copy_slots(const struct qtable *t, uint64_t from, uint64_t n,
                                   const struct qtable *into, uint64_t to) {
  for (; n; n--, from++, to++) {
    const uint8_t *source = block_at(t, from / 64);
    uint8_t *block = block_at(into, to / 64);
    set_slot_remainder(into, block, to % 64, slot_remainder(t, source, from % 64, t->width),
                       t->width);
    set_slot_value(into, to, slot_value(t, from));
    if (t->has_heads)
      table_merge_set_bits(block + t->heads_at, (block_heads(t, source) >> (from % 64) & 1)
                                                    << (to % 64));
  }
}

/* At most seven slots of one block: as bytes they fit into a word. */
struct few {
  const uint8_t *block;
  unsigned i, n;
};

ALWAYS_INLINE uint64_t few_bits(struct few few, unsigned word_at) {
  return load64_shared(few.block + word_at) >> few.i & bits_below(few.n);
}

ALWAYS_INLINE uint64_t few_bytes(struct few few, unsigned row_at) {
  unsigned i = few.i < 56 ? few.i : 56; /* within the row */
  return load64_shared(few.block + row_at + i) >> 8 * (few.i - i) & bits_below(8 * few.n);
}

/*
 * Copies x and then y, seven slots or fewer in all and without values, to empty slots of one block
 * from slot k on. Each word is combined from both and stored once.
 */
ALWAYS_INLINE void copy_few(const struct qtable *t, struct few x, struct few y, uint8_t *block,
                            unsigned k, unsigned width) {
  unsigned at = t->remainders_at;
  for (unsigned j = 0; j < width % 8; j++, at += 8)
    table_merge_set_bits(block + at, (few_bits(x, at) | few_bits(y, at) << x.n) << k);
  for (unsigned j = 0; j < width / 8; j++, at += 64) {
    uint64_t bytes = few_bytes(x, at) | few_bytes(y, at) << 8 * x.n;
    if (LIKELY(k <= 56))
      store64_shared(block + at + k, bytes); /* zeros after the last slot: still empty */
    else
      table_merge_set_bits(block + at + 56, bytes << 8 * (k - 56));
  }
  if (!t->has_heads) return;
  uint64_t heads = bits_below(x.n + y.n);
  if (t->further_slots) heads = few_bits(x, t->heads_at) | few_bits(y, t->heads_at) << x.n;
  table_merge_set_bits(block + t->heads_at, heads << k);
}

/* Copies the run at x and then that at y to empty slots. Most are short and go the fast way. */
ALWAYS_INLINE void copy_runs(const struct qtable *a, uint64_t x, uint64_t n_x,
                             const struct qtable *b, uint64_t y, uint64_t n_y,
                             const struct qtable *out, uint64_t to, unsigned width) {
  bool few =
      (n_x + n_y < 8) & (to % 64 + n_x + n_y <= 64) & (x % 64 + n_x <= 64) & (y % 64 + n_y <= 64);
  if (LIKELY(few & !a->value_bits)) {
    struct few few_x = {block_at(a, x / 64), x % 64, (unsigned)n_x};
    struct few few_y = {block_at(b, y / 64), y % 64, (unsigned)n_y};
    copy_few(a, few_x, few_y, block_at(out, to / 64), to % 64, width);
  } else {
    table_merge_copy_slots(a, x, n_x, out, to);
    table_merge_copy_slots(b, y, n_y, out, to + n_x);
  }
}

/* The copies share one shape, so that the loop needs fewer registers. */
besom_status besom__merge_tables(const struct qtable *from_a, const struct qtable *from_b,
                                 struct qtable *into) {
  unsigned width = WIDTH(from_a);
  struct qtable a = *from_a, b = a, out = a;
  b.blocks = from_b->blocks, out.blocks = into->blocks;
  a.further_slots = b.further_slots = from_a->further_slots + from_b->further_slots;
  struct runs x, y;
  uint64_t end_a = 0, end_b = 0, position = 0;
  for (uint64_t q = 0; q < out.room; q += 64) {
    uint8_t *block = block_at(&out, q / 64);
    uint64_t offset = position > q ? position - q : 0;
    set_block_offset(block, offset);
    uint64_t occupied = find_runs(&a, q / 64, &end_a, &x) | find_runs(&b, q / 64, &end_b, &y);
    set_block_word(&out, block, WORD_OCCUPIED, occupied);
    for (; occupied; occupied &= occupied - 1) {
      unsigned i = trailing_zeros(occupied);
      uint64_t start = position > q + i ? position : q + i;
      position = start + x.n[i] + y.n[i];
      if (UNLIKELY(position > out.room || position == start))
        return BESOM_FULL; /* an empty run: only in a damaged table */
      copy_runs(&a, x.start[i], x.n[i], &b, y.start[i], y.n[i], &out, start, width);
      table_merge_set_bits(block_at(&out, (position - 1) / 64) + out.words_at + 8 * WORD_END,
                           UINT64_C(1) << ((position - 1) % 64));
    }
  }
  into->used = from_a->used + from_b->used;
  into->further_slots = from_a->further_slots + from_b->further_slots;
  into->extended = from_a->extended + from_b->extended;
  return BESOM_OK;
}
