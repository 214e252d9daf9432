#include "exceptions/exceptions.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/hash.h"
#include "exceptions/cells.h"

#define MANY_CELLS 128  /* from here on it grows by 1/100 */
#define NONE UINT64_MAX /* no cell */

/* ------------------------------------------------------------------ numbers */

static uint64_t normalized(uint64_t slots) {
  return slots << leading_zeros(slots);
}

void besom__exceptions_start(struct exception_set *m, uint64_t slots) {
  *m = (struct exception_set){.slots = normalized(slots)};
}

besom_digest besom__exception_number(const struct exception_set *m, besom_digest d) {
  struct address a = address_of(d, m->slots);
  return (besom_digest){a.quotient, a.rest.hi};
}

/* The smallest digest whose number is not below this one; the largest digest if there is none. */
static bits128 first_digest_of(const struct exception_set *m, bits128 number) {
  if ((uint64_t)(number >> 64) >= m->slots) return ~(bits128)0;
  bits128 rest = number % m->slots << 64;
  bits128 digest = number / m->slots << 64 | (uint64_t)(rest / m->slots);
  return digest + (rest % m->slots != 0);
}

void besom__exception_range(const struct exception_set *m, const struct exception *e,
                            besom_digest *first, besom_digest *last) {
  bits128 from = exceptions_bits_of(e->number), size = (bits128)1 << (NUMBER_BITS - e->length),
          low = first_digest_of(m, from), next = first_digest_of(m, from + size),
          high = ~next ? next - 1 : next;
  *first = (besom_digest){(uint64_t)(low >> 64), (uint64_t)low};
  *last = (besom_digest){(uint64_t)(high >> 64), (uint64_t)high};
}

/* ------------------------------------------------------------------ sizes */

uint64_t besom__exceptions_saved_bytes(const struct exception_set *m) {
  return m->cells ? m->cells * TAG_BYTES + (uint64_t)(((bits128)m->cells * rest_bits(m) + 7) / 8)
                  : 0;
}

uint64_t besom__exceptions_bytes(const struct exception_set *m) {
  if (!m->cells) return 0;
  return hint_bytes(m) + besom__exceptions_saved_bytes(m) + REST_BYTES - rest_bits(m) / 8;
}

/* ------------------------------------------------------------------ searching */

/* Whether the number begins with the exception of the cell. Home and tag are equal. */
static bool rest_matches(const struct exception_set *m, uint64_t cell, besom_digest number) {
  unsigned length;
  bits128 rest = placed(m, rest_at(m, cell), &length);
  bits128 mine = low_bits(exceptions_bits_of(number), NUMBER_BITS - rest_start(m));
  return first_bits_of(mine ^ rest, length) == 0;
}

/* The first cell from the probe's on whose exception the number begins with; or NONE. */
static uint64_t exceptions_find(const struct exception_set *m, besom_digest number,
                                unsigned flags) {
  struct probe p = probe_of(m, number.hi);
  for (uint64_t i = p.home;; i = exceptions_next_cell(m, i), p.tag += ONE_CELL) {
    unsigned tag = tag_at(m, i);
    if (distance_of(tag) < distance_of(p.tag)) return NONE;
    if (((tag ^ p.tag) & ~FLAGS) == 0 && (tag & flags) == flags && rest_matches(m, i, number))
      return i;
  }
}

/* ------------------------------------------------------------------ queries */

#ifdef __SSE2__
#define TAGS_AT_ONCE 16

/* 8 tags at increasing distances, the first one with this tag. */
ALWAYS_INLINE __m128i expected_tags(unsigned tag) {
  __m128i cells = _mm_setr_epi16(0, ONE_CELL, 2 * ONE_CELL, 3 * ONE_CELL, 4 * ONE_CELL,
                                 5 * ONE_CELL, 6 * ONE_CELL, 7 * ONE_CELL);
  return _mm_add_epi16(_mm_set1_epi16((short)tag), cells);
}

/*
 * Whether 16 tags at a time show that a search ends: one is nearer to its home than the digest
 * would be there, and none before it is equal. If not, the search must be done one by one.
 */
static bool surely_absent(const struct exception_set *m, struct probe p) {
  const __m128i zero = _mm_setzero_si128(), number = _mm_set1_epi16((short)~FLAGS),
                distance = _mm_set1_epi16((short)~(ONE_CELL - 1));
  const unsigned last = (MAX_DISTANCE - TAGS_AT_ONCE) * ONE_CELL;
  for (; p.home + TAGS_AT_ONCE <= m->cells && p.tag < last; p.home += TAGS_AT_ONCE) {
    const __m128i *at = (const __m128i *)(const void *)(m->tags + p.home * TAG_BYTES);
    __m128i a = _mm_loadu_si128(at), b = _mm_loadu_si128(at + 1);
    __m128i x = expected_tags(p.tag), y = expected_tags(p.tag + TAGS_AT_ONCE / 2 * ONE_CELL);
    __m128i equal = _mm_or_si128(_mm_cmpeq_epi16(_mm_and_si128(_mm_xor_si128(a, x), number), zero),
                                 _mm_cmpeq_epi16(_mm_and_si128(_mm_xor_si128(b, y), number), zero));
    __m128i nearer = _mm_or_si128(_mm_subs_epu16(_mm_and_si128(x, distance), a),
                                  _mm_subs_epu16(_mm_and_si128(y, distance), b));
    if (UNLIKELY(_mm_movemask_epi8(equal))) return false;
    if (LIKELY(_mm_movemask_epi8(_mm_cmpeq_epi8(nearer, zero)) != 0xffff)) return true;
    p.tag += TAGS_AT_ONCE * ONE_CELL;
  }
  return false;
}
#else
static bool surely_absent(const struct exception_set *m, struct probe p) {
  (void)m, (void)p;
  return false;
}
#endif

bool besom__exceptions_has_number(const struct exception_set *m, besom_digest number) {
  if (m->count == 0) return false;
  return !surely_absent(m, probe_of(m, number.hi)) && exceptions_find(m, number, 0) != NONE;
}

bool besom__exceptions_has(const struct exception_set *m, besom_digest d) {
  return besom__exceptions_has_number(m, besom__exception_number(m, d));
}

void besom__exceptions_prefetch(const struct exception_set *m, besom_digest d) {
  struct probe p = probe_of(m, besom__exception_number(m, d).hi);
  __builtin_prefetch(m->tags + p.home * TAG_BYTES);
}

bool besom__exceptions_cover(const struct exception_set *m, const struct exception *e) {
  if (m->count == 0) return false;
  uint64_t cell = exceptions_find(m, e->number, 0);
  return cell != NONE && exception_at(m, cell).length <= e->length;
}

static bool begins_like(const struct exception_set *m, uint64_t cell, const struct exception *e) {
  bits128 number = exceptions_bits_of(exception_at(m, cell).number);
  return first_bits_of(number ^ exceptions_bits_of(e->number), e->length) == 0;
}

/* They have one home. */
uint64_t besom__exceptions_like(const struct exception_set *m, const struct exception *e) {
  uint64_t n = 0;
  if (m->count == 0) return 0;
  struct probe p = probe_of(m, e->number.hi);
  for (uint64_t i = p.home; distance_of(tag_at(m, i)) >= distance_of(p.tag); p.tag += ONE_CELL) {
    n += distance_of(tag_at(m, i)) == distance_of(p.tag) && begins_like(m, i, e);
    i = exceptions_next_cell(m, i);
  }
  return n;
}

bool besom__exceptions_next(const struct exception_set *m, uint64_t *cell, struct exception *e) {
  for (; *cell < m->cells; ++*cell)
    if (tag_at(m, *cell)) {
      *e = exception_at(m, (*cell)++);
      return true;
    }
  return false;
}

/* ------------------------------------------------------------------ changes */

/* Where a new exception goes: after all that are as far from home as it would be there. */
static uint64_t cell_for(const struct exception_set *m, struct probe *p) {
  uint64_t i = p->home;
  for (; distance_of(tag_at(m, i)) >= distance_of(p->tag); p->tag += ONE_CELL)
    i = exceptions_next_cell(m, i);
  return i;
}

/*
 * Whether n numbers with the home of this one have places, if there are cells for so many or others
 * are removed: no exception would be too far from home. Those behind them move up by n, less the
 * free cells before them.
 */
static bool exceptions_fit(const struct exception_set *m, besom_digest number, uint64_t n) {
  struct probe p = probe_of(m, number.hi);
  uint64_t i = cell_for(m, &p);
  if (distance_of(p.tag) + n - 1 > MAX_DISTANCE) return false;
  for (uint64_t left = m->cells; n && left; left--, i = exceptions_next_cell(m, i)) {
    unsigned tag = tag_at(m, i);
    if (!tag)
      n--;
    else if (distance_of(tag) + n > MAX_DISTANCE)
      return false;
  }
  return true;
}

/* Inserts an exception that fits; those from its cell to the next free one move up. */
static void exceptions_insert(struct exception_set *m, const struct exception *e) {
  struct probe p = probe_of(m, e->number.hi);
  uint64_t i = cell_for(m, &p);
  unsigned tag = p.tag | (e->listed ? LISTED : 0) | (e->fresh ? FRESH : 0);
  unsigned length = e->length < m->length ? e->length : m->length;
  bits128 rest = first_bits_of(exceptions_bits_of(e->number), length);
  if (m->mixed) rest |= (bits128)1 << (NUMBER_BITS - 1 - length);
  rest = low_bits(rest, NUMBER_BITS - rest_start(m)) >> (NUMBER_BITS - m->length - m->mixed);
  for (;; i = exceptions_next_cell(m, i)) {
    unsigned moved_tag = tag_at(m, i);
    bits128 moved_rest = rest_at(m, i);
    set_tag(m, i, tag);
    set_rest(m, i, rest);
    if (!moved_tag) break;
    tag = moved_tag + ONE_CELL;
    rest = moved_rest;
  }
  set_hints(m, e);
  m->count++;
  m->listed += e->listed;
}

/* Frees the cell and moves the exceptions after it back, up to one that is at home. */
static void remove_cell(struct exception_set *m, uint64_t hole) {
  m->count--;
  m->listed -= (tag_at(m, hole) & LISTED) != 0;
  for (uint64_t i = exceptions_next_cell(m, hole); distance_of(tag_at(m, i)) > 1;
       i = exceptions_next_cell(m, i)) {
    set_tag(m, hole, tag_at(m, i) - ONE_CELL);
    set_rest(m, hole, rest_at(m, i));
    hole = i;
  }
  set_tag(m, hole, 0);
  set_rest(m, hole, 0);
}

/* Several may match: of different lengths, or in a forged file. None may stay. */
bool besom__exceptions_remove_number(struct exception_set *m, besom_digest number, bool listed) {
  bool was_there = false;
  while (m->count) {
    uint64_t cell = exceptions_find(m, number, listed ? LISTED : 0);
    if (cell == NONE) break;
    remove_cell(m, cell);
    was_there = true;
  }
  return was_there;
}

bool besom__exceptions_remove(struct exception_set *m, besom_digest d, bool listed) {
  return besom__exceptions_remove_number(m, besom__exception_number(m, d), listed);
}

/* ------------------------------------------------------------------ growing */

static bool move_all(const struct exception_set *from, struct exception_set *to) {
  struct exception e;
  for (uint64_t cell = 0; besom__exceptions_next(from, &cell, &e);) {
    if (!exceptions_fit(to, e.number, 1)) return false;
    exceptions_insert(to, &e);
  }
  return true;
}

/*
 * Replaces the set by one with so many cells or more, in which n numbers with the home of e fit,
 * too. Errors, with nothing changed: NO_MEMORY; RESERVE_FULL if too many exceptions have nearly the
 * same home: those of one key of a maplet, or of an adversary who knows the seed.
 */
static besom_status exceptions_rebuild(struct exception_set *m, const besom_allocator *allocator,
                                       uint64_t cells, const struct exception_set *shape,
                                       const struct exception *e, uint64_t n) {
  uint64_t most = 2 * (m->count + n + FIRST_CELLS);
  do {
    struct exception_set larger = *shape;
    larger.cells = cells;
    set_geometry(&larger);
    larger.hand = m->cells ? (uint64_t)((bits128)m->hand * cells / m->cells) : 0;
    if (!allocate_cells(&larger, allocator)) return BESOM_NO_MEMORY;
    bool fit = move_all(m, &larger) && exceptions_fit(&larger, e->number, n);
    besom__exceptions_free(fit ? m : &larger, allocator);
    if (fit) {
      *m = larger;
      return BESOM_OK;
    }
    cells += cells / 8 + 1;
  } while (cells <= most);
  return BESOM_RESERVE_FULL;
}

/* An empty set whose rests are long enough for e. With a 1 after it, 127 bits are the most. */
static struct exception_set shape_for(const struct exception_set *m, const struct exception *e) {
  struct exception_set shape = {.slots = m->slots, .forgotten = m->forgotten};
  unsigned longest = e->length > m->length ? e->length : m->length;
  shape.mixed = m->mixed || (m->cells && e->length != m->length);
  shape.length = (uint8_t)(shape.mixed && longest == NUMBER_BITS ? longest - 1 : longest);
  return shape;
}

/* ------------------------------------------------------------------ adding */

static void move_hand(struct exception_set *m) {
  set_tag(m, m->hand, tag_at(m, m->hand) & ~FRESH);
  m->hand = exceptions_next_cell(m, m->hand);
}

/* Removes the next exception that is neither fresh nor listed nor to be kept. There is one. */
static void forget_one(struct exception_set *m, const struct exception *keep) {
  for (;; move_hand(m)) {
    unsigned tag = tag_at(m, m->hand);
    if (tag && !(tag & FLAGS) && !(keep && begins_like(m, m->hand, keep))) break;
  }
  remove_cell(m, m->hand);
  m->forgotten++;
}

static void refresh(struct exception_set *m, uint64_t cell, const struct exception *e) {
  unsigned tag = tag_at(m, cell);
  m->listed += e->listed && !(tag & LISTED);
  set_tag(m, cell, tag | FRESH | (e->listed ? LISTED : 0));
}

static bool may_forget(const struct exception_set *m, const struct exception_limit *limit) {
  uint64_t kept = limit->keep ? besom__exceptions_like(m, limit->keep) : 0;
  return limit->forget && m->count > m->listed + kept;
}

static uint64_t grown_cells(const struct exception_set *m) {
  uint64_t cells = m->cells + m->cells / (m->cells < MANY_CELLS ? 40 : 100) + 2;
  return cells < FIRST_CELLS ? FIRST_CELLS : cells;
}

/* Makes the set so large that e fits. At the limit another one is forgotten first: *forget. */
static besom_status make_space(struct exception_set *m, const besom_allocator *allocator,
                               const struct exception *e, const struct exception_limit *limit,
                               bool *forget) {
  struct exception_set shape = shape_for(m, e);
  bool same_shape = shape.length == m->length && shape.mixed == m->mixed,
       has_place = m->cells && exceptions_fit(m, e->number, 1),
       grow = too_full(m->count + !*forget, m->cells) || !has_place;
  if (same_shape && !grow) return BESOM_OK;
  uint64_t cells = grow ? grown_cells(m) : m->cells;
  besom_status status =
      limit->reserved ? BESOM_NO_MEMORY : exceptions_rebuild(m, allocator, cells, &shape, e, 1);
  if (status == BESOM_OK || (status == BESOM_NO_MEMORY && limit->no_memory_fails)) return status;
  if (!may_forget(m, limit) || !same_shape || !has_place) return BESOM_RESERVE_FULL;
  *forget = true;
  return BESOM_OK;
}

besom_status besom__exceptions_reserve(struct exception_set *m, const besom_allocator *allocator,
                                       const struct exception *e, uint64_t n,
                                       const struct exception_limit *limit) {
  uint64_t cells = grown_cells(m), kept = besom__exceptions_like(m, limit->keep),
           room = limit->most > m->count ? limit->most - m->count : 0,
           count = m->count + (n < room ? n : room);
  struct exception_set shape = shape_for(m, e);
  if (kept + n > limit->most || kept + n > MOST_OF_ONE_HOME || (n > room && !limit->forget))
    return BESOM_RESERVE_FULL;
  bool has_place = m->cells && exceptions_fit(m, e->number, n);
  if (has_place && !too_full(count, m->cells)) return BESOM_OK;
  while (too_full(count, cells)) cells++;
  besom_status status = exceptions_rebuild(m, allocator, cells, &shape, e, n);
  if (status == BESOM_OK) return BESOM_OK;
  bool by_forgetting = limit->forget && has_place && !too_full(kept + n, m->cells);
  return by_forgetting ? BESOM_OK : BESOM_RESERVE_FULL;
}

besom_status besom__exceptions_add(struct exception_set *m, const besom_allocator *allocator,
                                   const struct exception *e, const struct exception_limit *limit) {
  uint64_t cell = m->count ? exceptions_find(m, e->number, 0) : NONE;
  if (cell != NONE) {
    refresh(m, cell, e);
    return BESOM_OK;
  }
  bool forget = m->count >= limit->most;
  if (forget && !may_forget(m, limit)) return BESOM_RESERVE_FULL;
  besom_status status = make_space(m, allocator, e, limit, &forget);
  if (status != BESOM_OK) return status;
  if (limit->forget) move_hand(m);
  if (forget) forget_one(m, limit->keep);
  while (m->count >= limit->most && may_forget(m, limit)) forget_one(m, limit->keep); /* shrunk */
  exceptions_insert(m, e);
  return forget ? BESOM_EVICTED : BESOM_OK;
}

/* ------------------------------------------------------------------ whole sets */

besom_status besom__exceptions_copy(struct exception_set *to, const struct exception_set *from,
                                    const besom_allocator *allocator) {
  struct exception_set copy = *from;
  if (from->cells) {
    if (!allocate_cells(&copy, allocator)) return BESOM_NO_MEMORY;
    memcpy(copy.tags - hint_bytes(from), from->tags - hint_bytes(from),
           (size_t)besom__exceptions_bytes(from));
  }
  *to = copy;
  return BESOM_OK;
}

void besom__exceptions_free(struct exception_set *m, const besom_allocator *allocator) {
  if (m->cells)
    besom__release(allocator, m->tags - hint_bytes(m), (size_t)besom__exceptions_bytes(m));
  *m = (struct exception_set){.slots = m->slots};
}

void besom__exceptions_visit(struct exception_set *m, const struct block_visitor *v) {
  size_t hints = hint_bytes(m);
  if (m->cells) m->tags = (uint8_t *)v->visit(v->ctx, m->tags - hints) + hints;
}
