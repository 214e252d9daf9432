#include "quotient/exceptions.h"

#include <string.h>

#include "core/memory.h"
#include "core/words.h"

#define FIRST_SIZE 16

static bool is_free(besom_digest d) {
  return d.hi == 0 && d.lo == 0;
}

/*
 * A digest as it is stored: in the byte order of files, so that the cells can be saved as they are.
 * {0, 0} is a free cell; one in 2^128 keys is stored as its neighbour.
 */
static besom_digest stored(besom_digest d) {
  if (is_free(d)) d.lo = 1;
  return (besom_digest){file_order64(d.hi), file_order64(d.lo)};
}

static bool equal(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

static uint64_t home_of(besom_digest d, uint64_t size) {
  return (uint64_t)((unsigned __int128)file_order64(d.lo) * size >> 64);
}

static uint64_t next_cell(uint64_t i, uint64_t size) {
  return i + 1 < size ? i + 1 : 0;
}

/* The number of steps from `from` to i, around the end. */
static uint64_t distance(uint64_t from, uint64_t i, uint64_t size) {
  return i >= from ? i - from : i + size - from;
}

static bool too_full(uint64_t count, uint64_t size) {
  return 8 * count > 7 * size;
}

/* How far the digest in cell i is from its home. */
static uint64_t displacement(const besom_digest *cells, uint64_t i, uint64_t size) {
  return distance(home_of(cells[i], size), i, size);
}

/*
 * The cell of the digest, or the one where it would be inserted: a free one, or the first one whose
 * digest is nearer to its home than this one would be. There is always a free cell.
 */
static uint64_t cell_of(const besom_digest *cells, uint64_t size, besom_digest d) {
  uint64_t i = home_of(d, size);
  for (uint64_t steps = 0; !is_free(cells[i]) && !equal(cells[i], d); steps++) {
    if (displacement(cells, i, size) < steps) break;
    i = next_cell(i, size);
  }
  return i;
}

bool besom__exceptions_has(const struct exception_set *m, besom_digest d) {
  if (m->count == 0) return false;
  d = stored(d);
  return equal(m->cells[cell_of(m->cells, m->size, d)], d);
}

besom_digest besom__exception_at(const struct exception_set *m, uint64_t cell) {
  besom_digest d = m->cells[cell];
  return (besom_digest){file_order64(d.hi), file_order64(d.lo)};
}

void besom__exceptions_prefetch(const struct exception_set *m, besom_digest d) {
  __builtin_prefetch(&m->cells[home_of(stored(d), m->size)]);
}

/* Inserts the digest into its cell; those from there to the next free cell move up by one. */
static void insert(besom_digest *cells, uint64_t size, besom_digest d) {
  for (uint64_t i = cell_of(cells, size, d);; i = next_cell(i, size)) {
    besom_digest moved = cells[i];
    cells[i] = d;
    if (is_free(moved)) return;
    d = moved;
  }
}

static besom_status grow(struct exception_set *m, const besom_allocator *allocator,
                         uint64_t max_bytes) {
  uint64_t size = m->size + m->size / 4 + FIRST_SIZE, most = max_bytes / sizeof *m->cells;
  if (size > most) size = most;
  if (too_full(m->count + 1, size)) return BESOM_RESERVE_FULL;
  besom_digest *cells = besom__allocate(allocator, (size_t)(size * sizeof *cells));
  if (!cells) return BESOM_NO_MEMORY;
  for (uint64_t i = 0; i < m->size; i++)
    if (!is_free(m->cells[i])) insert(cells, size, m->cells[i]);
  uint64_t count = m->count;
  besom__exceptions_free(m, allocator);
  *m = (struct exception_set){cells, size, count};
  return BESOM_OK;
}

besom_status besom__exceptions_add(struct exception_set *m, const besom_allocator *allocator,
                                   besom_digest d, uint64_t max_bytes) {
  if (besom__exceptions_has(m, d)) return BESOM_OK;
  if (too_full(m->count + 1, m->size)) {
    besom_status status = grow(m, allocator, max_bytes);
    if (status != BESOM_OK) return status;
  }
  insert(m->cells, m->size, stored(d));
  m->count++;
  return BESOM_OK;
}

/* Frees the cell and moves the digests after it back, up to one that is at home. */
static void remove_one(struct exception_set *m, besom_digest d) {
  uint64_t hole = cell_of(m->cells, m->size, stored(d)), i = next_cell(hole, m->size);
  while (!is_free(m->cells[i]) && displacement(m->cells, i, m->size) > 0) {
    m->cells[hole] = m->cells[i];
    hole = i;
    i = next_cell(i, m->size);
  }
  m->cells[hole] = (besom_digest){0, 0};
  m->count--;
}

/*
 * Only a forged file holds a digest twice. Removes all copies: an inserted key must not stay an
 * exception.
 */
bool besom__exceptions_remove(struct exception_set *m, besom_digest d) {
  bool was_there = false;
  for (; besom__exceptions_has(m, d); was_there = true) remove_one(m, d);
  return was_there;
}

besom_status besom__exceptions_copy(struct exception_set *to, const struct exception_set *from,
                                    const besom_allocator *allocator) {
  if (!from->size) return BESOM_OK;
  besom_digest *cells = besom__allocate(allocator, (size_t)from->size * sizeof *cells);
  if (!cells) return BESOM_NO_MEMORY;
  memcpy(cells, from->cells, (size_t)from->size * sizeof *cells);
  *to = (struct exception_set){cells, from->size, from->count};
  return BESOM_OK;
}

void besom__exceptions_free(struct exception_set *m, const besom_allocator *allocator) {
  besom__release(allocator, m->cells, (size_t)(m->size * sizeof *m->cells));
  *m = (struct exception_set){0};
}

/*
 * A digest is at home, or the cell before is used and the digests are in the order of their homes.
 * So there is no free cell between a digest and its home.
 */
static bool is_in_place(const struct exception_set *m, uint64_t i) {
  uint64_t before = i ? i - 1 : m->size - 1, steps = displacement(m->cells, i, m->size);
  return steps == 0 ||
         (!is_free(m->cells[before]) && steps <= displacement(m->cells, before, m->size) + 1);
}

const char *besom__exceptions_check(const struct exception_set *m) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < m->size; i++) count += !is_free(m->cells[i]);
  if (count != m->count || too_full(count, m->size)) return "the number of exceptions is wrong";
  for (uint64_t i = 0; i < m->size; i++)
    if (!is_free(m->cells[i]) && !is_in_place(m, i)) return "an exception is not in its place";
  return NULL;
}
