#include "quotient/marks.h"

#include <string.h>

#include "core/memory.h"

#define FIRST_SIZE 16

static bool is_free(besom_digest d) {
  return d.hi == 0 && d.lo == 0;
}

/* The digest {0, 0} means a free place; one in 2^128 keys is treated as its neighbour. */
static besom_digest placed(besom_digest d) {
  return is_free(d) ? (besom_digest){0, 1} : d;
}

static bool equal(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

static uint64_t home_of(besom_digest d, uint64_t size) {
  return (uint64_t)((unsigned __int128)d.lo * size >> 64);
}

static uint64_t behind(uint64_t i, uint64_t size) {
  return i + 1 < size ? i + 1 : 0;
}

/* How far i is behind `from`, around the end. */
static uint64_t distance(uint64_t from, uint64_t i, uint64_t size) {
  return i >= from ? i - from : i + size - from;
}

static bool too_full(uint64_t count, uint64_t size) {
  return 8 * count > 7 * size;
}

/* Where it is, or the free place where it would be. There is always a free place. */
static uint64_t place_of(const besom_digest *places, uint64_t size, besom_digest d) {
  uint64_t i = home_of(d, size);
  while (!is_free(places[i]) && !equal(places[i], d)) i = behind(i, size);
  return i;
}

bool besom__marks_has(const struct marks *m, besom_digest d) {
  if (m->count == 0) return false;
  d = placed(d);
  return equal(m->places[place_of(m->places, m->size, d)], d);
}

static besom_status grow(struct marks *m, const besom_allocator *allocator, uint64_t max_bytes) {
  uint64_t size = m->size + m->size / 4 + FIRST_SIZE, most = max_bytes / sizeof *m->places;
  if (size > most) size = most;
  if (too_full(m->count + 1, size)) return BESOM_FULL;
  besom_digest *places = besom__allocate(allocator, (size_t)(size * sizeof *places));
  if (!places) return BESOM_NO_MEMORY;
  for (uint64_t i = 0; i < m->size; i++)
    if (!is_free(m->places[i])) places[place_of(places, size, m->places[i])] = m->places[i];
  uint64_t count = m->count;
  besom__marks_free(m, allocator);
  *m = (struct marks){places, size, count};
  return BESOM_OK;
}

besom_status besom__marks_add(struct marks *m, const besom_allocator *allocator, besom_digest d,
                              uint64_t max_bytes) {
  d = placed(d);
  if (besom__marks_has(m, d)) return BESOM_OK;
  if (too_full(m->count + 1, m->size)) {
    besom_status status = grow(m, allocator, max_bytes);
    if (status != BESOM_OK) return status;
  }
  m->places[place_of(m->places, m->size, d)] = d;
  m->count++;
  return BESOM_OK;
}

/* Frees the place and moves back what would not be found past it (no tombstones: the set only shrinks). */
static void remove_one(struct marks *m, besom_digest d) {
  uint64_t hole = place_of(m->places, m->size, placed(d));
  for (uint64_t i = behind(hole, m->size); !is_free(m->places[i]); i = behind(i, m->size)) {
    uint64_t home = home_of(m->places[i], m->size);
    if (distance(home, i, m->size) < distance(hole, i, m->size))
      continue; /* it lives behind the hole */
    m->places[hole] = m->places[i];
    hole = i;
  }
  m->places[hole] = (besom_digest){0, 0};
  m->count--;
}

/* Only a forged file has a digest twice; it must not hide a member that was told to be one. */
bool besom__marks_remove(struct marks *m, besom_digest d) {
  bool was_there = false;
  for (; besom__marks_has(m, d); was_there = true) remove_one(m, d);
  return was_there;
}

besom_status besom__marks_copy(struct marks *to, const struct marks *from,
                               const besom_allocator *allocator) {
  if (!from->size) return BESOM_OK;
  besom_digest *places = besom__allocate(allocator, (size_t)from->size * sizeof *places);
  if (!places) return BESOM_NO_MEMORY;
  memcpy(places, from->places, (size_t)from->size * sizeof *places);
  *to = (struct marks){places, from->size, from->count};
  return BESOM_OK;
}

void besom__marks_free(struct marks *m, const besom_allocator *allocator) {
  besom__release(allocator, m->places, (size_t)(m->size * sizeof *m->places));
  *m = (struct marks){0};
}

const char *besom__marks_check(const struct marks *m) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < m->size; i++) count += !is_free(m->places[i]);
  if (count != m->count || too_full(count, m->size)) return "the number of marks is wrong";
  uint64_t free_place = 0;
  while (free_place < m->size && !is_free(m->places[free_place])) free_place++;
  /* Round once from there: between a mark and its home there must be no free place. */
  for (uint64_t step = 0, last_free = free_place; step < m->size; step++) {
    uint64_t i = (free_place + step) % m->size;
    if (is_free(m->places[i]))
      last_free = i;
    else if (distance(home_of(m->places[i], m->size), i, m->size) >=
             distance(last_free, i, m->size))
      return "a mark is not where it belongs";
  }
  return NULL;
}
