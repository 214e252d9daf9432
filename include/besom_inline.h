/*
 * besom_inline.h - single queries and inserts that are inlined into the caller's loop.
 *
 * An exported call costs a jump through two pointers. For blocked-bloom, cf, vacuum, fuse and pqf
 * that is a good part of a query, so here they are inline. docs/benchmarks.md has measured gains.
 *
 *   besom_inline_cf cf = besom_inline_cf_of(filter);
 *   for (size_t i = 0; i < n; i++) hits += besom_inline_cf_contains_u64(&cf, keys[i]);
 *
 * besom_inline_KIND_of copies what a query needs: where the table is, its size, the seed of the
 * hash. Any filter is accepted. The calls give the answers of besom_contains_u64,
 * besom_contains_digest and besom_insert_u64, always:
 *
 * - If the filter is of another kind, or not of the form below, they are those exported calls.
 * - Every filter has a generation, which changes when such a copy becomes wrong: by the first
 *   report, a resize, rekey or a task, besom_set_domains, or when the filter becomes concurrent.
 *   Each inline call compares it, and from then on is the exported call.
 *   besom_inline_KIND_is_inline tells; besom_inline_KIND_of copies again.
 * - If the library does not have the layout that this header knows, because one is older than the
 *   other, they are the exported calls. So the layouts are no part of the ABI.
 *
 * | kind | inline if | instructions that the caller is compiled for |
 * |---|---|---|
 * | blocked-bloom | a key sets 8 bits: rates of about 1/55 to 1/1400 | AVX2, or AVX-512 F and DQ |
 * | cf, vacuum | fingerprints of 4, 6, 8, 10, 12, 14 or 16 bits, no windows | any |
 * | fuse | cells of 8 or 16 bits | any |
 * | pqf | remainders of up to 8 bits | AVX2 and BMI2 |
 *
 * All of them: hash xxh3, no reports, not concurrent, a little-endian 64-bit processor. A filter
 * that becomes full, or is mapped or a set, takes inserts by the exported call.
 *
 * Threads: as the exported calls (besom.h). The copy is a plain struct without memory of its own;
 * each thread may have one. It must not be used after besom_free of the filter.
 */
#ifndef BESOM_INLINE_H
#define BESOM_INLINE_H

#include "besom.h"

typedef struct besom_inline_blocked_bloom {
  besom_inline_facts facts;
  besom_filter *filter;
} besom_inline_blocked_bloom;

typedef struct besom_inline_cf {
  besom_inline_facts facts;
  const besom_filter *filter;
} besom_inline_cf;

typedef struct besom_inline_vacuum {
  besom_inline_facts facts;
  const besom_filter *filter;
} besom_inline_vacuum;

typedef struct besom_inline_fuse {
  besom_inline_facts facts;
  const besom_filter *filter;
} besom_inline_fuse;

typedef struct besom_inline_pqf {
  besom_inline_facts facts;
  const besom_filter *filter;
} besom_inline_pqf;

/* -------------------------------------------------------------- parts of all of them */

#if defined(__SIZEOF_INT128__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BESOM_INLINE_SCALAR 1
#else
#define BESOM_INLINE_SCALAR 0
#endif

#if BESOM_INLINE_SCALAR && defined(__AVX2__)
#include <immintrin.h>
#define BESOM_INLINE_AVX2 1
#else
#define BESOM_INLINE_AVX2 0
#endif

#define BESOM_INLINE_CALL static inline __attribute__((always_inline, unused))

/* A copy: nobody has its address, so that the compiler keeps it in registers. */
BESOM_INLINE_CALL besom_inline_facts besom_inline_facts_for(const besom_filter *f,
                                                            uint32_t layout) {
  besom_inline_facts facts;
  besom_inline_facts_of(f, layout, &facts);
  return facts;
}

BESOM_INLINE_CALL bool besom_inline_is(const besom_inline_facts *x, bool compiled) {
  return compiled && *x->generation == x->of_queries;
}

/* Whether to make the exported call. */
#define BESOM_INLINE_OVER(x) __builtin_expect(*(x)->generation != (x)->of_queries, 0)

#if BESOM_INLINE_SCALAR

__extension__ typedef unsigned __int128 besom_inline_u128;

BESOM_INLINE_CALL uint64_t besom_inline_scaled(uint64_t x, uint64_t n) {
  return (uint64_t)((besom_inline_u128)x * n >> 64);
}

BESOM_INLINE_CALL uint64_t besom_inline_word(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* XXH3-128 of the 8 bytes of an integer. What a caller does not use of it is not computed. */
BESOM_INLINE_CALL besom_digest besom_inline_digest(const besom_inline_facts *x, uint64_t key) {
  besom_inline_u128 product =
      (besom_inline_u128)(key ^ x->secret) * (UINT64_C(0x9e3779b185ebca87) + (8 << 2));
  uint64_t lo = (uint64_t)product, hi = (uint64_t)(product >> 64) + (lo << 1);
  besom_digest d;
  lo ^= hi >> 3;
  lo = (lo ^ lo >> 35) * UINT64_C(0x9fb21c651e98df25);
  d.lo = lo ^ lo >> 28;
  hi = (hi ^ hi >> 37) * UINT64_C(0x165667919e3779f9);
  d.hi = hi ^ hi >> 32;
  return d;
}

#endif

/* -------------------------------------------------------------- blocked-bloom */

BESOM_INLINE_CALL besom_inline_blocked_bloom besom_inline_blocked_bloom_of(besom_filter *f) {
  besom_inline_blocked_bloom x;
  x.facts = besom_inline_facts_for(f, BESOM_INLINE_BLOCKED_BLOOM);
  x.filter = f;
  return x;
}

BESOM_INLINE_CALL bool besom_inline_blocked_bloom_is_inline(const besom_inline_blocked_bloom *x) {
  return besom_inline_is(&x->facts, BESOM_INLINE_AVX2);
}

#if BESOM_INLINE_AVX2

/* The line of a key, and for each of its 8 words the bit, counted from the upper end. */
typedef struct besom_inline_line {
  uint8_t *at;
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  __m512i shifts; /* the lowest 6 bits */
#else
  __m256i shifts[2];
#endif
} besom_inline_line;

BESOM_INLINE_CALL besom_inline_line besom_inline_line_of(const besom_inline_facts *x, uint64_t hi) {
  besom_inline_line line;
  besom_inline_u128 product = (besom_inline_u128)hi * x->number[0];
  uint64_t layer = (uint64_t)product;
  __asm__("" : "+r"(layer)); /* else gcc moves it to a vector register through memory */
  line.at = x->bits + 64 * (size_t)(product >> 64);
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  line.shifts = _mm512_srlv_epi64(_mm512_set1_epi64((long long)layer),
                                  _mm512_setr_epi64(0, 8, 16, 24, 34, 42, 50, 58));
#else
  /* bytes 0 to 3 of the number are the lowest bytes of 4 words, bytes 4 to 7 the highest */
  __m256i spread = _mm256_shuffle_epi8(
      _mm256_set1_epi64x((long long)layer),
      _mm256_setr_epi64x(INT64_C(0x0480808080808000), INT64_C(0x0580808080808001),
                         INT64_C(0x0680808080808002), INT64_C(0x0780808080808003)));
  line.shifts[0] = _mm256_and_si256(spread, _mm256_set1_epi64x(63));
  line.shifts[1] = _mm256_srli_epi64(spread, 58);
#endif
  return line;
}

#if defined(__AVX512F__) && defined(__AVX512DQ__)

BESOM_INLINE_CALL bool besom_inline_line_has(besom_inline_line line) {
  return _mm512_movepi64_mask(_mm512_rolv_epi64(_mm512_loadu_si512(line.at), line.shifts)) == 0xff;
}

/* Sets the bits. False if all were set. */
BESOM_INLINE_CALL bool besom_inline_line_set(besom_inline_line line) {
  __m512i words = _mm512_loadu_si512(line.at),
          bits = _mm512_rorv_epi64(_mm512_set1_epi64((long long)(UINT64_C(1) << 63)), line.shifts),
          missing = _mm512_andnot_si512(words, bits);
  if (__builtin_expect(_mm512_test_epi64_mask(missing, missing) == 0, 0)) return false;
  _mm512_storeu_si512(line.at, _mm512_or_si512(words, bits));
  return true;
}

#else

BESOM_INLINE_CALL __m256i besom_inline_line_half(besom_inline_line line, int half) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(line.at + 32 * half));
}

BESOM_INLINE_CALL bool besom_inline_line_has(besom_inline_line line) {
  __m256i both =
      _mm256_and_si256(_mm256_sllv_epi64(besom_inline_line_half(line, 0), line.shifts[0]),
                       _mm256_sllv_epi64(besom_inline_line_half(line, 1), line.shifts[1]));
  return _mm256_movemask_pd(_mm256_castsi256_pd(both)) == 0xf;
}

/* Sets the bits. False if all were set. */
BESOM_INLINE_CALL bool besom_inline_line_set(besom_inline_line line) {
  __m256i first = _mm256_set1_epi64x((long long)(UINT64_C(1) << 63)), words[2], bits[2];
  for (int half = 0; half < 2; half++) {
    words[half] = besom_inline_line_half(line, half);
    bits[half] = _mm256_srlv_epi64(first, line.shifts[half]);
  }
  if (__builtin_expect(
          _mm256_testc_si256(words[0], bits[0]) && _mm256_testc_si256(words[1], bits[1]), 0))
    return false;
  for (int half = 0; half < 2; half++)
    _mm256_storeu_si256((__m256i *)(void *)(line.at + 32 * half),
                        _mm256_or_si256(words[half], bits[half]));
  return true;
}

#endif
#endif

BESOM_INLINE_CALL bool
besom_inline_blocked_bloom_contains_digest(const besom_inline_blocked_bloom *x, besom_digest d) {
#if BESOM_INLINE_AVX2
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_line_has(besom_inline_line_of(&x->facts, d.hi));
#endif
  return besom_contains_digest(x->filter, d);
}

BESOM_INLINE_CALL bool besom_inline_blocked_bloom_contains_u64(const besom_inline_blocked_bloom *x,
                                                               uint64_t key) {
#if BESOM_INLINE_AVX2
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_line_has(
        besom_inline_line_of(&x->facts, besom_inline_digest(&x->facts, key).hi));
#endif
  return besom_contains_u64(x->filter, key);
}

#if BESOM_INLINE_AVX2

/* Whether a filter that has so many keys takes one more here. */
BESOM_INLINE_CALL bool besom_inline_has_room(const besom_inline_facts *x, uint64_t items) {
  return __builtin_expect(*x->generation == x->of_inserts && items < x->capacity, 1);
}

BESOM_INLINE_CALL besom_status besom_inline_line_insert(const besom_inline_facts *x, uint64_t items,
                                                        uint64_t hi) {
  if (__builtin_expect(besom_inline_line_set(besom_inline_line_of(x, hi)), 1))
    *x->items = items + 1;
  return BESOM_OK;
}

#endif

BESOM_INLINE_CALL besom_status
besom_inline_blocked_bloom_insert_digest(const besom_inline_blocked_bloom *x, besom_digest d) {
#if BESOM_INLINE_AVX2
  uint64_t items = *x->facts.items;
  if (besom_inline_has_room(&x->facts, items))
    return besom_inline_line_insert(&x->facts, items, d.hi);
#endif
  return besom_insert_digest(x->filter, d);
}

BESOM_INLINE_CALL besom_status
besom_inline_blocked_bloom_insert_u64(const besom_inline_blocked_bloom *x, uint64_t key) {
#if BESOM_INLINE_AVX2
  uint64_t items = *x->facts.items;
  if (besom_inline_has_room(&x->facts, items))
    return besom_inline_line_insert(&x->facts, items, besom_inline_digest(&x->facts, key).hi);
#endif
  return besom_insert_u64(x->filter, key);
}

/* -------------------------------------------------------------- cf */

BESOM_INLINE_CALL besom_inline_cf besom_inline_cf_of(const besom_filter *f) {
  besom_inline_cf x;
  x.facts = besom_inline_facts_for(f, BESOM_INLINE_CF);
  x.filter = f;
  return x;
}

BESOM_INLINE_CALL bool besom_inline_cf_is_inline(const besom_inline_cf *x) {
  return besom_inline_is(&x->facts, BESOM_INLINE_SCALAR);
}

#if BESOM_INLINE_SCALAR

/* The other bucket of a fingerprint among so many. A mask: gcc would make a branch. */
BESOM_INLINE_CALL uint64_t besom_inline_alternate(uint64_t bucket, uint64_t fingerprint,
                                                  uint64_t buckets) {
  uint64_t factor = fingerprint * UINT64_C(0x3f1da089),
           sum = besom_inline_scaled(factor * factor, buckets) | 1;
  return sum - bucket + (buckets & (0 - (uint64_t)(sum < bucket)));
}

/*
 * Numbers: buckets, different fingerprints, bytes of a bucket; of its four lanes the lowest bits,
 * these negated, and the highest bits. No branch depends on the key.
 */
BESOM_INLINE_CALL bool besom_inline_buckets_have(const besom_inline_facts *x, uint64_t bucket,
                                                 uint64_t other, uint64_t fingerprint) {
  uint64_t wanted = fingerprint * x->number[3],
           first = besom_inline_word(x->bits + bucket * x->number[2]) ^ wanted,
           second = besom_inline_word(x->bits + other * x->number[2]) ^ wanted;
  return ((((first + x->number[4]) & ~first) | ((second + x->number[4]) & ~second)) &
          x->number[5]) != 0; /* a lane is 0 */
}

BESOM_INLINE_CALL bool besom_inline_cf_has(const besom_inline_facts *x, besom_digest d) {
  uint64_t bucket = besom_inline_scaled(d.lo, x->number[0]),
           fingerprint = 1 + besom_inline_scaled(d.hi, x->number[1]);
  return besom_inline_buckets_have(
      x, bucket, besom_inline_alternate(bucket, fingerprint, x->number[0]), fingerprint);
}

#endif

BESOM_INLINE_CALL bool besom_inline_cf_contains_digest(const besom_inline_cf *x, besom_digest d) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts)) return besom_inline_cf_has(&x->facts, d);
#endif
  return besom_contains_digest(x->filter, d);
}

BESOM_INLINE_CALL bool besom_inline_cf_contains_u64(const besom_inline_cf *x, uint64_t key) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_cf_has(&x->facts, besom_inline_digest(&x->facts, key));
#endif
  return besom_contains_u64(x->filter, key);
}

/* -------------------------------------------------------------- vacuum */

BESOM_INLINE_CALL besom_inline_vacuum besom_inline_vacuum_of(const besom_filter *f) {
  besom_inline_vacuum x;
  x.facts = besom_inline_facts_for(f, BESOM_INLINE_VACUUM);
  x.filter = f;
  return x;
}

BESOM_INLINE_CALL bool besom_inline_vacuum_is_inline(const besom_inline_vacuum *x) {
  return besom_inline_is(&x->facts, BESOM_INLINE_SCALAR);
}

#if BESOM_INLINE_SCALAR

/* Chunks, four of each: masks of the first bucket, first bucket and size of the last one, sizes. */
BESOM_INLINE_CALL bool besom_inline_vacuum_has(const besom_inline_facts *x, besom_digest d) {
  uint64_t bucket = besom_inline_scaled(d.lo, x->number[0]),
           fingerprint = 1 + besom_inline_scaled(d.hi, x->number[1]);
  const uint64_t *chunk = x->chunks + fingerprint % 4;
  uint64_t start = bucket & chunk[0], last = chunk[4], size = chunk[12], last_size = chunk[8];
  __asm__("" : "+r"(size), "+r"(last_size)); /* else gcc branches, and small tables mispredict */
  size = start >= last ? last_size : size;
  start = start >= last ? last : start;
  return besom_inline_buckets_have(
      x, bucket, start + besom_inline_alternate(bucket - start, fingerprint, size), fingerprint);
}

#endif

BESOM_INLINE_CALL bool besom_inline_vacuum_contains_digest(const besom_inline_vacuum *x,
                                                           besom_digest d) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts)) return besom_inline_vacuum_has(&x->facts, d);
#endif
  return besom_contains_digest(x->filter, d);
}

BESOM_INLINE_CALL bool besom_inline_vacuum_contains_u64(const besom_inline_vacuum *x,
                                                        uint64_t key) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_vacuum_has(&x->facts, besom_inline_digest(&x->facts, key));
#endif
  return besom_contains_u64(x->filter, key);
}

/* -------------------------------------------------------------- fuse */

BESOM_INLINE_CALL besom_inline_fuse besom_inline_fuse_of(const besom_filter *f) {
  besom_inline_fuse x;
  x.facts = besom_inline_facts_for(f, BESOM_INLINE_FUSE);
  x.filter = f;
  return x;
}

BESOM_INLINE_CALL bool besom_inline_fuse_is_inline(const besom_inline_fuse *x) {
  return besom_inline_is(&x->facts, BESOM_INLINE_SCALAR);
}

#if BESOM_INLINE_SCALAR

/* Numbers: the cells that can be the first of a key, those of a segment, bytes of a cell, failed
 * attempts to build: each changed the hash. */
BESOM_INLINE_CALL bool besom_inline_fuse_has(const besom_inline_facts *x, uint64_t hash) {
  for (uint64_t i = x->number[3]; __builtin_expect(i != 0, 0); i--) {
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    hash ^= hash >> 31;
  }
  uint64_t segment = x->number[1], within = segment - 1,
           first = besom_inline_scaled(hash, x->number[0]),
           second = (first + segment) ^ ((hash >> 18 | hash << 46) & within),
           third = (first + 2 * segment) ^ (hash & within), print = hash ^ (hash >> 32);
  if (x->number[2] == 1)
    return (uint8_t)(print ^ x->bits[first] ^ x->bits[second] ^ x->bits[third]) == 0;
  uint16_t cell[3];
  memcpy(&cell[0], x->bits + 2 * first, 2);
  memcpy(&cell[1], x->bits + 2 * second, 2);
  memcpy(&cell[2], x->bits + 2 * third, 2);
  return (uint16_t)(print ^ cell[0] ^ cell[1] ^ cell[2]) == 0;
}

#endif

BESOM_INLINE_CALL bool besom_inline_fuse_contains_digest(const besom_inline_fuse *x,
                                                         besom_digest d) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts)) return besom_inline_fuse_has(&x->facts, d.hi);
#endif
  return besom_contains_digest(x->filter, d);
}

BESOM_INLINE_CALL bool besom_inline_fuse_contains_u64(const besom_inline_fuse *x, uint64_t key) {
#if BESOM_INLINE_SCALAR
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_fuse_has(&x->facts, besom_inline_digest(&x->facts, key).hi);
#endif
  return besom_contains_u64(x->filter, key);
}

/* -------------------------------------------------------------- pqf */

#if BESOM_INLINE_AVX2 && defined(__BMI2__) && defined(__BMI__)
#define BESOM_INLINE_BINS 1
#else
#define BESOM_INLINE_BINS 0
#endif

BESOM_INLINE_CALL besom_inline_pqf besom_inline_pqf_of(const besom_filter *f) {
  besom_inline_pqf x;
  x.facts = besom_inline_facts_for(f, BESOM_INLINE_PQF);
  x.filter = f;
  return x;
}

BESOM_INLINE_CALL bool besom_inline_pqf_is_inline(const besom_inline_pqf *x) {
  return besom_inline_is(&x->facts, BESOM_INLINE_BINS);
}

#if BESOM_INLINE_BINS

/*
 * Numbers: bins, 64 less the bits of a remainder. A bin of 32 bytes: a 1 per remainder and a 0 at
 * the end of each of 29 runs, 54 bits; a mark; from byte 7 on 25 remainders. A key of the last run
 * of a full bin may be in the backyard: 2.
 */
BESOM_INLINE_CALL unsigned besom_inline_pqf_has(const besom_inline_facts *x, uint64_t hi) {
  besom_inline_u128 bin = (besom_inline_u128)hi * x->number[0],
                    mini = (besom_inline_u128)(uint64_t)bin * 29;
  const uint8_t *at = x->bits + 32 * (uint64_t)(bin >> 64);
  uint64_t header = besom_inline_word(at), nth = UINT64_C(1) << (unsigned)(mini >> 64),
           end = _pdep_u64(nth, ~header);
  __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at),
          wanted = _mm256_set1_epi8((char)((uint64_t)mini >> x->number[1]));
  uint32_t equal = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted)) >> 7;
  if (__builtin_expect(end == nth << 25, 0)) return 2;
  /* equal entries of a run, added to its bits, carry into its end */
  return ((header + _pdep_u64(equal, header)) & end) != 0;
}

/* A pqf uses half of the digest. Here nothing but its table decides. */
BESOM_INLINE_CALL bool besom_inline_pqf_answer(const besom_inline_pqf *x, uint64_t hi) {
  unsigned answer = besom_inline_pqf_has(&x->facts, hi);
  if (__builtin_expect(answer < 2, 1)) return answer != 0;
  besom_digest d = {hi, 0};
  return besom_contains_digest(x->filter, d);
}

#endif

BESOM_INLINE_CALL bool besom_inline_pqf_contains_digest(const besom_inline_pqf *x, besom_digest d) {
#if BESOM_INLINE_BINS
  if (!BESOM_INLINE_OVER(&x->facts)) return besom_inline_pqf_answer(x, d.hi);
#endif
  return besom_contains_digest(x->filter, d);
}

BESOM_INLINE_CALL bool besom_inline_pqf_contains_u64(const besom_inline_pqf *x, uint64_t key) {
#if BESOM_INLINE_BINS
  if (!BESOM_INLINE_OVER(&x->facts))
    return besom_inline_pqf_answer(x, besom_inline_digest(&x->facts, key).hi);
#endif
  return besom_contains_u64(x->filter, key);
}

#endif
