#include "file/cell_diff.h"

#include <string.h>

#define CODE_BITS 6 /* 0: gamma code; k + 1: Rice code with parameter k */

static uint8_t old_byte(const struct cell_ranges *r, uint64_t i) {
  return i < r->old_len ? r->old[i] : 0;
}

/* ------------------------------------------------------------------ codes of gaps */

static void write_gap(struct bit_writer *w, uint64_t gap, unsigned code) {
  if (code)
    write_rice(w, gap, code - 1);
  else
    write_gamma(w, gap);
}

static uint64_t read_gap(struct bit_reader *r, unsigned code) {
  return code ? read_rice(r, code - 1) : read_gamma(r);
}

static uint64_t gap_bits(uint64_t gap, unsigned code) {
  if (code) return (gap >> (code - 1)) + code;
  return 2 * (63 - (unsigned)__builtin_clzll(gap + 1)) + 1;
}

/* ------------------------------------------------------------------ cells */

static uint64_t cell_count(const struct cell_ranges *r) {
  return (8 * r->len + r->width - 1) / r->width;
}

/* The first byte from i on that differs; len if there is none. */
static uint64_t next_difference(const struct cell_ranges *r, const uint8_t *fresh, uint64_t i) {
  while (i + 8 <= r->len && i + 8 <= r->old_len && memcmp(r->old + i, fresh + i, 8) == 0) i += 8;
  while (i < r->len && old_byte(r, i) == fresh[i]) i++;
  return i;
}

/* The next cell from `cell` on that differs; the number of cells if there is none. */
static uint64_t cell_diff_next_cell(const struct cell_ranges *r, const uint8_t *fresh,
                                    uint64_t cell) {
  uint64_t bit = cell * r->width;
  if (bit / 8 >= r->len) return cell_count(r);
  unsigned rest = (unsigned)(old_byte(r, bit / 8) ^ fresh[bit / 8]) >> (bit % 8);
  if (rest) return (bit + (unsigned)__builtin_ctz(rest)) / r->width;
  uint64_t i = next_difference(r, fresh, bit / 8 + 1);
  if (i == r->len) return cell_count(r);
  return (8 * i + (unsigned)__builtin_ctz(old_byte(r, i) ^ fresh[i])) / r->width;
}

static uint64_t cell_value(const uint8_t *bytes, uint64_t len, uint64_t bit, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width && bit + i < 8 * len; i++)
    value |= (uint64_t)(bytes[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
  return value;
}

/* The code whose gaps take fewest bits: Rice, with the parameter that fits their mean, or gamma. */
static unsigned choose_code(const struct cell_ranges *r, const uint8_t *fresh, uint64_t *changed) {
  uint64_t n = 0, cells = cell_count(r), gamma = 0, rice = 0;
  for (uint64_t cell = 0, at = 0; (cell = cell_diff_next_cell(r, fresh, cell)) < cells;
       at = ++cell, n++)
    gamma += gap_bits(cell - at, 0);
  *changed = n;
  unsigned code = 1;
  while (n && code < 40 && (cells / n) * 7 / 10 >> code) code++;
  for (uint64_t cell = 0, at = 0; (cell = cell_diff_next_cell(r, fresh, cell)) < cells; at = ++cell)
    rice += gap_bits(cell - at, code);
  return rice < gamma ? code : 0;
}

void besom__cells_write(const struct cell_ranges *r, const uint8_t *fresh, struct bit_writer *w) {
  uint64_t changed, cells = cell_count(r);
  unsigned code = choose_code(r, fresh, &changed);
  write_bits(w, code, CODE_BITS);
  write_gamma(w, changed);
  for (uint64_t cell = 0, at = 0;
       (cell = cell_diff_next_cell(r, fresh, cell)) < cells && !w->failed;) {
    write_gap(w, cell - at, code);
    if (r->width > 1) write_bits(w, cell_value(fresh, r->len, cell * r->width, r->width), r->width);
    at = ++cell;
  }
}

/* A cell of one bit has changed to the other value; of others the new value follows. */
static void set_cell(const struct cell_ranges *r, uint64_t cell, struct bit_reader *bits,
                     uint8_t *out) {
  uint64_t bit = cell * r->width, flipped = 1;
  if (r->width > 1) flipped = cell_value(out, r->len, bit, r->width) ^ read_bits(bits, r->width);
  for (unsigned i = 0; i < r->width && bit + i < 8 * r->len; i++)
    out[(bit + i) / 8] ^= (uint8_t)((flipped >> i & 1) << ((bit + i) % 8));
}

besom_status besom__cells_read(const struct cell_ranges *r, struct bit_reader *bits, uint8_t *out) {
  uint64_t from_old = r->old_len < r->len ? r->old_len : r->len, cells = cell_count(r), cell = 0;
  if (from_old) memcpy(out, r->old, (size_t)from_old);
  if (r->len > from_old) memset(out + from_old, 0, (size_t)(r->len - from_old));
  unsigned code = (unsigned)read_bits(bits, CODE_BITS);
  for (uint64_t left = read_gamma(bits); left; left--, cell++) {
    uint64_t gap = read_gap(bits, code);
    if (bits->failed || cell >= cells || gap >= cells - cell) return BESOM_CORRUPT;
    cell += gap;
    set_cell(r, cell, bits, out);
  }
  return bits->failed ? BESOM_CORRUPT : BESOM_OK;
}
