/*
 * line_blocks [LOG2_SLOTS]: quotient blocks of one cache line against qf, width 8, 90 % load, in
 * one run, alternately.
 *
 *   qf     the library's: 64 slots in 89 bytes
 *   line   45 slots in 64 bytes: 45 remainders, then bits: 45 occupied, 45 end, 45 head, 8 offset
 *   two    the library's with 64 slots padded to two adjacent lines
 *
 * All are inline, with the width as a constant.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "quotient/quotient_calls.c"
#include "quotient/table/table_slots.c" /* besom__find_run, of this BESOM_ISA */

#include "core/system/memory.h"
#include "prototype.h"

enum { SLOTS = 45, LINE = 64, TAIL = 32 /* lines */, BATCH = 512, AHEAD = 32 };

#define MASK (bits_below(SLOTS))

struct lines {
  uint8_t *at;
  uint64_t n; /* without the tail */
};

/* ------------------------------------------------------------------ a line */

struct meta {
  uint64_t occupied, ends, heads;
  unsigned offset;
};

ALWAYS_INLINE struct meta meta_of(const uint8_t *line) {
  uint64_t last = load64(line + 56);
  return (struct meta){load64(line + 45) & MASK, load64(line + 50) >> 5 & MASK, last >> 2 & MASK,
                       (unsigned)(last >> 47) & 255};
}

ALWAYS_INLINE void set_meta(uint8_t *line, struct meta m) {
  unsigned __int128 first = m.occupied | (unsigned __int128)m.ends << SLOTS;
  unsigned offset = m.offset < OFFSET_SATURATED ? m.offset : OFFSET_SATURATED;
  uint64_t last = m.ends >> 43 | m.heads << 2 | (uint64_t)offset << 47;
  store64(line + 45, (uint64_t)first);
  store64(line + 53, (uint64_t)(first >> 64)); /* its upper bytes are written again */
  store64(line + 56, last);
}

struct place {
  uint8_t *line;
  uint64_t number;
  unsigned i;
  uint8_t remainder;
};

ALWAYS_INLINE struct place place_of(const struct lines *t, besom_digest d) {
  unsigned __int128 line = (unsigned __int128)d.hi * t->n;
  unsigned __int128 slot = (unsigned __int128)(uint64_t)line * SLOTS;
  uint64_t number = (uint64_t)(line >> 64);
  return (struct place){t->at + LINE * number, number, (unsigned)(slot >> 64),
                        (uint8_t)((uint64_t)slot >> 56)};
}

ALWAYS_INLINE uint64_t starts_of(struct meta m) {
  return (m.ends << 1 | 1) & bits_from_any(m.offset);
}

/* ------------------------------------------------------------------ runs that leave their line */

static uint8_t *line_at(const struct lines *t, uint64_t position) {
  return t->at + LINE * (position / SLOTS);
}

static uint64_t end_number(const struct lines *t, uint64_t from, uint64_t k) {
  uint64_t left = bits_from(from % SLOTS);
  for (uint64_t b = from / SLOTS; b < t->n + TAIL; b++, left = ~UINT64_C(0)) {
    uint64_t ends = meta_of(t->at + LINE * b).ends & left;
    unsigned n = popcount(ends);
    if (k < n) return b * SLOTS + trailing_zeros(select_bit(ends, (unsigned)k));
    k -= n;
  }
  exit(4);
}

static uint64_t runs_end_before(const struct lines *t, uint64_t b) {
  uint64_t known = b, runs = 0;
  while (meta_of(t->at + LINE * known).offset == OFFSET_SATURATED) known--;
  uint64_t end = known * SLOTS + meta_of(t->at + LINE * known).offset;
  for (; known < b; known++) runs += popcount(meta_of(t->at + LINE * known).occupied);
  return runs ? end_number(t, end, runs - 1) + 1 : end;
}

static struct run run_at(const struct lines *t, struct place p) {
  uint64_t occupied = meta_of(p.line).occupied, start = runs_end_before(t, p.number);
  unsigned before = popcount(occupied & bits_below(p.i));
  if (before) start = end_number(t, start, before - 1) + 1;
  if (start < p.number * SLOTS + p.i) start = p.number * SLOTS + p.i;
  return (struct run){start, occupied >> p.i & 1 ? end_number(t, start, 0) + 1 : start};
}

NOINLINE bool line_has_far(const struct lines *t, struct place p) {
  struct run run = run_at(t, p);
  for (uint64_t at = run.start; at < run.end; at++)
    if (line_at(t, at)[at % SLOTS] == p.remainder) return true;
  return false;
}

ALWAYS_INLINE bool line_has(const struct lines *t, struct place p) {
  struct meta m = meta_of(p.line);
  uint64_t starts = starts_of(m), nth = (m.occupied >> p.i & 1) << bits_set_below(m.occupied, p.i);
  uint64_t start = bit_number(starts, nth), next = bit_number(starts, nth << 1);
  int64_t run = (int64_t)(next - start - (start < nth)) & (int64_t)bits_from(p.i);
  if (UNLIKELY(run < 0)) return line_has_far(t, p);
  return equal_bytes_64(p.line, p.remainder) & (uint64_t)run;
}

/* ------------------------------------------------------------------ inserts */

/* Bytes lo .. hi-1 move up by one; only this line is read. */
ALWAYS_INLINE void push_in_line(uint8_t *line, unsigned lo, unsigned hi) {
#if defined(__AVX512BW__)
  __m512i x = load512_shared(line), lanes = _mm512_alignr_epi64(x, _mm512_setzero_si512(), 6);
  _mm512_mask_storeu_epi8(line, bits_between(lo, hi) & ~(UINT64_C(1) << lo),
                          _mm512_alignr_epi8(x, lanes, 15));
#else
  memmove(line + lo + 1, line + lo, hi - lo);
#endif
}

NOINLINE void line_add_far(struct lines *t, struct place p) {
  struct run run = run_at(t, p);
  uint64_t empty = run.end;
  while (meta_of(line_at(t, empty)).heads >> (empty % SLOTS) & 1) empty++;
  struct meta m = meta_of(p.line);
  m.occupied |= UINT64_C(1) << p.i;
  set_meta(p.line, m);
  if (run.start < run.end) {
    m = meta_of(line_at(t, run.end - 1));
    m.ends &= ~(UINT64_C(1) << (run.end - 1) % SLOTS);
    set_meta(line_at(t, run.end - 1), m);
  }
  uint8_t in = p.remainder;
  uint64_t end = 1;
  unsigned lo = run.end % SLOTS;
  for (uint64_t b = run.end / SLOTS; b <= empty / SLOTS; b++, lo = 0) {
    uint8_t *line = t->at + LINE * b;
    unsigned hi = b < empty / SLOTS ? SLOTS - 1 : empty % SLOTS;
    uint64_t moved = (UINT64_C(1) << hi) - (UINT64_C(1) << lo), top = UINT64_C(1) << hi;
    m = meta_of(line);
    uint64_t end_out = m.ends >> hi & 1, ends = m.ends & ~top;
    uint8_t out = line[hi];
    push_in_line(line, lo, hi);
    line[lo] = in;
    m.ends = ends + (ends & moved) + (end << lo);
    m.heads |= top;
    set_meta(line, m);
    in = out, end = end_out;
  }
  for (uint64_t b = p.number + 1; b <= empty / SLOTS; b++) {
    m = meta_of(t->at + LINE * b);
    m.offset++;
    set_meta(t->at + LINE * b, m);
  }
}

ALWAYS_INLINE void line_add(struct lines *t, struct place p) {
  struct meta m = meta_of(p.line);
  uint64_t nth = UINT64_C(1) << bits_set_below(m.occupied, p.i);
  unsigned has_run = m.occupied >> p.i & 1;
  uint64_t next = bit_number(starts_of(m), nth << has_run);
  uint64_t from = (0 - next) & bits_from(p.i) & MASK;
  uint64_t position = lowest_bit(from), empty = lowest_bit(from & ~m.heads);
  if (UNLIKELY(!empty)) {
    line_add_far(t, p);
    return;
  }
  push_in_line(p.line, trailing_zeros(position), trailing_zeros(empty));
  p.line[trailing_zeros(position)] = p.remainder;
  m.heads |= empty;
  m.ends += (m.ends & (empty - position)) + (position >> has_run);
  m.occupied |= UINT64_C(1) << p.i;
  set_meta(p.line, m);
}

/* ------------------------------------------------------------------ loops */

LOOP each_line(const struct lines *t, const struct hasher *h, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += line_has(t, place_of(t, xxh3_u64(h, keys[i])));
  return yes;
}

LOOP each_qf(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += qf_has(f, xxh3_u64(&f->hasher, keys[i]));
  return yes;
}

LOOP many_line(const struct lines *t, const struct hasher *h, const uint64_t *keys) {
  struct place p[BATCH];
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i += BATCH) {
    for (size_t j = 0; j < BATCH; j++) p[j] = place_of(t, xxh3_u64(h, keys[i + j]));
    for (size_t j = 0; j < AHEAD; j++) __builtin_prefetch(p[j].line);
    for (size_t j = 0; j < BATCH; j++) {
      if (j + AHEAD < BATCH) __builtin_prefetch(p[j + AHEAD].line);
      yes += line_has(t, p[j]);
    }
  }
  return yes;
}

LOOP many_qf(const besom_filter *f, const uint64_t *keys) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  besom_digest d[BATCH];
  uint64_t yes = 0, bitmap[BATCH / 64];
  for (size_t i = 0; i < QUERIES; i += BATCH) {
    for (size_t j = 0; j < BATCH; j++) d[j] = xxh3_u64(&f->hasher, keys[i + j]);
    t->ops->contains_many(t, d, BATCH, bitmap);
    for (size_t j = 0; j < BATCH / 64; j++) yes += popcount(bitmap[j]);
  }
  return yes;
}

LOOP fill_line(struct lines *t, const struct hasher *h, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) line_add(t, place_of(t, xxh3_u64(h, member_key(i))));
  return to;
}

LOOP fill_qf(besom_filter *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) qf_add(f, xxh3_u64(&f->hasher, member_key(i)));
  return to;
}

/* ------------------------------------------------------------------ the comparison */

struct designs {
  besom_filter *qf, *two;
  struct lines line;
  uint64_t n;
};

static void report(const char *operation, double qf, double line, double two) {
  printf("%s,%.1f,%.1f,%.1f\n", operation, qf, line, two);
}

static void compare_inserts(struct designs *d, const char *operation, uint64_t from, uint64_t to) {
  double t0 = seconds_now();
  fill_qf(d->qf, from, to);
  double t1 = seconds_now();
  fill_line(&d->line, &d->qf->hasher, from, to);
  double t2 = seconds_now();
  fill_qf(d->two, from, to);
  double t3 = seconds_now(), scale = 1e9 / (double)(to - from);
  report(operation, (t1 - t0) * scale, (t2 - t1) * scale, (t3 - t2) * scale);
}

static void compare_queries(const struct designs *d, bool members) {
  uint64_t *keys = query_keys(members, d->n), yes[6];
  double ns[6][ROUNDS], t[7];
  for (int r = 0; r < ROUNDS; r++) {
    t[0] = seconds_now(), yes[0] = each_qf(d->qf, keys);
    t[1] = seconds_now(), yes[1] = each_line(&d->line, &d->qf->hasher, keys);
    t[2] = seconds_now(), yes[2] = each_qf(d->two, keys);
    t[3] = seconds_now(), yes[3] = many_qf(d->qf, keys);
    t[4] = seconds_now(), yes[4] = many_line(&d->line, &d->qf->hasher, keys);
    t[5] = seconds_now(), yes[5] = many_qf(d->two, keys);
    t[6] = seconds_now();
    for (int i = 0; i < 6; i++) ns[i][r] = 1e9 * (t[i + 1] - t[i]) / QUERIES;
  }
  for (int i = 0; i < 6; i++)
    if (members && yes[i] != QUERIES) exit(3);
  report(members ? "positive" : "negative", median(ns[0]), median(ns[1]), median(ns[2]));
  report(members ? "positive_batch" : "negative_batch", median(ns[3]), median(ns[4]),
         median(ns[5]));
  free(keys);
}

int main(int argc, char **argv) {
  static const uint8_t seed[16] = {1, 2, 3};
  uint64_t slots = slots_of(argc, argv);
  besom_config config = {
      .kind = "qf", .slots = slots, .width = 8, .seed = seed, .options = PROTOTYPE_ISA};
  struct designs d = {.n = slots / 10 * 9, .line.n = slots / SLOTS};
  if (besom_create(&config, &d.qf) || besom_create(&config, &d.two)) return 1;
  const besom_allocator *allocator = &d.qf->allocator; /* with the same huge pages */
  struct qtable *two = &quotient_filter(d.two)->table;
  size_t line_bytes = (size_t)(d.line.n + TAIL) * LINE, two_bytes = (size_t)two->room / 64 * 128;
  uint8_t *line_memory = besom__allocate(allocator, line_bytes + 64), *blocks = two->blocks,
          *two_memory = besom__allocate(allocator, two_bytes + 128);
  if (!line_memory || !two_memory) return 1;
  d.line.at = line_memory + (64 - (uintptr_t)line_memory % 64) % 64;
  two->blocks = two_memory + (64 - (uintptr_t)two_memory % 64) % 64;
  two->stride = 128;

  printf("operation,qf,line,two\n");
  compare_inserts(&d, "insert", 0, slots / 20 * 17);
  compare_inserts(&d, "insert_last", slots / 20 * 17, d.n);
  for (int members = 0; members < 2; members++) compare_queries(&d, members);
  double per_key = 8 / (double)d.n;
  printf("bits_per_key,%.2f,%.2f,%.2f\n",
         (double)besom__qtable_size(&quotient_filter(d.qf)->table) * per_key,
         (double)line_bytes * per_key, (double)two_bytes * per_key);

  besom__release(allocator, line_memory, line_bytes + 64);
  besom__release(allocator, two_memory, two_bytes + 128);
  two->blocks = blocks, two->stride = quotient_filter(d.qf)->table.stride;
  besom_free(d.qf), besom_free(d.two);
  return 0;
}
