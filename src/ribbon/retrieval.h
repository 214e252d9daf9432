/*
 * Retrieval: stores a few bits for every key of a set, in little more than these bits. For a key of
 * the set it returns its bits, for any other key random ones. Bumped ribbon retrieval (Dillinger,
 * Huebschle-Schneider, Sanders and Walzer, "Fast Succinct Retrieval and Approximate Membership
 * Using Ribbon", 2022).
 *
 * Bit j of a key is the parity of 64 consecutive slots of column j, masked by the key's
 * coefficients. So every key is a linear equation over the slots from its start on, and building is
 * Gaussian elimination. There are fewer slots than keys. Where keys crowd, those with the first
 * starts of a bucket are bumped: they go to the next layer, which is 20 times smaller. Two bits per
 * bucket tell which.
 *
 * Layers are stored one after the other, in blocks of 64 slots, each with one word per column. The
 * first blocks of a layer may have one column less than the others: that makes rates between two
 * powers of two.
 */
#ifndef BESOM_RIBBON_RETRIEVAL_H
#define BESOM_RIBBON_RETRIEVAL_H

#include "core/hash.h"
#include "kind.h"

#define RIBBON_WIDTH 64                   /* slots that a key covers; also slots per block */
#define BUCKET 128                        /* starts per bucket */
#define BITS_PER_THRESHOLD (2.0 / BUCKET) /* per slot */
#define MAX_COLUMNS 32
#define MAX_LAYERS 6
#define MAX_REHASHES 1000
#define MAX_RETRIEVAL_KEYS (UINT64_C(1) << 31)
/* Queries read words of up to this many columns at once, and of the block after the last one. */
#define COLUMNS_AT_ONCE 8

struct retrieval_layer {
  uint32_t words; /* where its words begin, in words */
  uint32_t blocks;
  uint32_t narrow;     /* blocks with one column less: the first ones */
  uint32_t thresholds; /* where its thresholds begin, in buckets */
  uint32_t rehashes;   /* keys are hashed again so often, from the layer before */
};

struct retrieval {
  uint8_t *bytes; /* words, then thresholds */
  uint64_t word_bytes;
  uint32_t buckets;
  uint16_t columns; /* the most in a block; 1 to MAX_COLUMNS */
  uint16_t layers;
  struct retrieval_layer layer[MAX_LAYERS];
};

/* How wide a retrieval is: `columns`, and one less for this share of the blocks. */
struct retrieval_width {
  uint32_t columns;
  double narrow;
};

/*
 * The width of fingerprints for a false-positive rate in (0, 1), which is met by a mix of two; the
 * rate of a width; bits per slot, including thresholds.
 */
struct retrieval_width besom__retrieval_width_of_rate(double fpr);
double besom__retrieval_rate_of_width(struct retrieval_width width);
double besom__retrieval_bits_per_slot(struct retrieval_width width);

/* Slots of all layers; the false-positive rate, if the bits are fingerprints. */
uint64_t besom__retrieval_slots(const struct retrieval *x);
double besom__retrieval_rate(const struct retrieval *x);

/*
 * Builds it for sorted digests, which are reordered and changed. If bits is set, there is one
 * column, and the lowest bit of a digest's lower half is the bit of its key; otherwise the bits of
 * a key are its fingerprint. Digests may repeat. Errors: NO_MEMORY, FULL (two digests differ in the
 * bit only).
 */
besom_status besom__retrieval_build(struct retrieval *x, const besom_allocator *allocator,
                                    struct digests *d, struct retrieval_width width, bool bits);
void besom__retrieval_free(struct retrieval *x, const besom_allocator *allocator);

/* Bytes that it takes, also in a file. */
uint64_t besom__retrieval_bytes(const struct retrieval *x);

/* About how many slots it has per key, for n keys. Thresholds take 1 / 64 bit per slot. */
double besom__retrieval_slots_per_key(double n);

/*
 * Parameters and bytes. load points into the section if mapped is set, else copies it. Errors of
 * load: CORRUPT, NO_MEMORY.
 */
void besom__retrieval_save(const struct retrieval *x, struct sections_out *out);
besom_status besom__retrieval_load(struct retrieval *x, const besom_allocator *allocator,
                                   struct sections_in *in, bool mapped);

/* NULL, or what is wrong. */
const char *besom__retrieval_validate(const struct retrieval *x);

/* ------------------------------------------------------------------ hashing */

/*
 * The upper half of a digest gives the start, and its last 32 bits the fingerprint; the lower half
 * gives the coefficients, the first of which is always 1. For the next layer the digest is hashed
 * again.
 */
ALWAYS_INLINE besom_digest retrieval_rehash(besom_digest d) {
  uint64_t coefficients = d.lo | 1;
  uint64_t hi = mixed(d.hi + coefficients * UINT64_C(0x9e3779b97f4a7c15));
  return (besom_digest){hi, mixed(coefficients + hi) >> 1 << 1 | (d.lo & 1)};
}

ALWAYS_INLINE besom_digest retrieval_digest_of(const struct retrieval_layer *l, besom_digest d) {
  for (uint32_t i = l->rehashes; UNLIKELY(i); i--) d = retrieval_rehash(d);
  return d;
}

ALWAYS_INLINE uint64_t retrieval_start(const struct retrieval_layer *l, besom_digest d) {
  return scaled(d.hi, RIBBON_WIDTH * ((uint64_t)l->blocks - 1) + 1);
}

ALWAYS_INLINE uint32_t retrieval_fingerprint(besom_digest d) {
  return (uint32_t)d.hi;
}

/* ------------------------------------------------------------------ layout */

ALWAYS_INLINE uint32_t columns_of_block(const struct retrieval *x, const struct retrieval_layer *l,
                                        uint64_t block) {
  return x->columns - (block < l->narrow);
}

ALWAYS_INLINE uint64_t words_of_block(const struct retrieval *x, const struct retrieval_layer *l,
                                      uint64_t block) {
  return 8 * (l->words + block * x->columns - (block < l->narrow ? block : l->narrow));
}

/* The first layer, which has 19 of 20 keys, if its keys are not hashed again. */
ALWAYS_INLINE struct retrieval_layer first_layer(const struct retrieval *x) {
  return (struct retrieval_layer){.blocks = x->layer->blocks, .narrow = x->layer->narrow};
}

/* Prefetches the words of a key in the first layer. */
ALWAYS_INLINE void retrieval_fetch(const struct retrieval *x, besom_digest d) {
  struct retrieval_layer first = first_layer(x);
  const uint8_t *words =
      x->bytes + words_of_block(x, &first, retrieval_start(&first, d) / RIBBON_WIDTH);
  for (uint32_t at = 0; at < 16 * x->columns; at += 64) __builtin_prefetch(words + at);
}

static inline uint64_t retrieval_layer_bytes(const struct retrieval *x,
                                             const struct retrieval_layer *l) {
  return 8 * ((uint64_t)l->blocks * x->columns - l->narrow);
}

static inline uint64_t retrieval_layer_buckets(const struct retrieval_layer *l) {
  return RIBBON_WIDTH * ((uint64_t)l->blocks - 1) / BUCKET + 1;
}

/* Starts in a bucket below this number are bumped: none, some, more, all. */
ALWAYS_INLINE unsigned bumped_below(unsigned threshold) {
  const uint32_t numbers = 0 | 16 << 8 | 44 << 16 | (uint32_t)BUCKET << 24;
  return numbers >> (8 * threshold) & 255;
}

ALWAYS_INLINE unsigned threshold_of(const struct retrieval *x, const struct retrieval_layer *l,
                                    uint64_t start) {
  uint64_t bucket = l->thresholds + start / BUCKET;
  return x->bytes[x->word_bytes + bucket / 4] >> (bucket % 4 * 2) & 3;
}

ALWAYS_INLINE bool is_bumped(const struct retrieval *x, const struct retrieval_layer *l,
                             uint64_t start) {
  return start % BUCKET < bumped_below(threshold_of(x, l, start));
}

/* ------------------------------------------------------------------ queries */

ALWAYS_INLINE uint32_t parity(uint64_t x) {
#ifdef __POPCNT__
  return popcount(x) & 1;
#else
  return (uint32_t)__builtin_parityll(x);
#endif
}

/* Of the slots of a column from `offset` on, those in the coefficients. */
ALWAYS_INLINE uint32_t slot_parity(const uint8_t *words, uint64_t next, unsigned offset,
                                   uint64_t coefficients) {
  uint64_t slots = load64(words) >> offset | load64(words + next) << 1 << (63 - offset);
  return parity(slots & coefficients);
}

#if defined(__AVX2__)
#define NIBBLE_PARITIES _mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0)
#endif

/*
 * The bits of a key in COLUMNS_AT_ONCE columns, of which `columns` are of interest. The words of
 * the next block are `next` bytes further.
 */
#if defined(__AVX512BW__)
ALWAYS_INLINE uint32_t retrieved(const uint8_t *words, uint64_t next, uint32_t columns,
                                 unsigned offset, uint64_t coefficients) {
  const __m512i table = _mm512_broadcast_i32x4(NIBBLE_PARITIES);
  __m512i low = _mm512_srl_epi64(_mm512_loadu_si512(words), _mm_cvtsi32_si128((int)offset));
  __m512i high =
      _mm512_sll_epi64(_mm512_loadu_si512(words + next), _mm_cvtsi32_si128(64 - (int)offset));
  __m512i x =
      _mm512_and_si512(_mm512_or_si512(low, high), _mm512_set1_epi64((long long)coefficients));
  x = _mm512_and_si512(_mm512_xor_si512(x, _mm512_srli_epi64(x, 4)), _mm512_set1_epi8(15));
  x = _mm512_sad_epu8(_mm512_shuffle_epi8(table, x), _mm512_setzero_si512());
  (void)columns;
  return _mm512_test_epi64_mask(x, _mm512_set1_epi64(1));
}
#elif defined(__AVX2__)
/* The parity of four words: of each nibble by a table, then the sum of each word. */
ALWAYS_INLINE uint32_t parities(__m256i x) {
  const __m256i table = _mm256_broadcastsi128_si256(NIBBLE_PARITIES);
  x = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 4)), _mm256_set1_epi8(15));
  x = _mm256_sad_epu8(_mm256_shuffle_epi8(table, x), _mm256_setzero_si256());
  return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(x, 63)));
}

ALWAYS_INLINE uint32_t retrieved(const uint8_t *words, uint64_t next, uint32_t columns,
                                 unsigned offset, uint64_t coefficients) {
  __m128i right = _mm_cvtsi32_si128((int)offset), left = _mm_cvtsi32_si128(64 - (int)offset);
  __m256i mask = _mm256_set1_epi64x((long long)coefficients);
  uint32_t found = 0;
  (void)columns;
  for (unsigned j = 0; j < COLUMNS_AT_ONCE; j += 4) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(words + 8 * j));
    __m256i high = _mm256_loadu_si256((const __m256i *)(words + next + 8 * j));
    __m256i slots = _mm256_or_si256(_mm256_srl_epi64(low, right), _mm256_sll_epi64(high, left));
    found |= parities(_mm256_and_si256(slots, mask)) << j;
  }
  return found;
}
#else
ALWAYS_INLINE uint32_t retrieved(const uint8_t *words, uint64_t next, uint32_t columns,
                                 unsigned offset, uint64_t coefficients) {
  uint32_t found = 0;
  for (unsigned j = 0; j < COLUMNS_AT_ONCE && j < columns; j++)
    found |= slot_parity(words + 8 * j, next, offset, coefficients) << j;
  return found;
}
#endif

/*
 * Whether the bits at a start are the expected ones. most: at least as many columns as the
 * retrieval has. How many are read depends on it, not on the block: a branch that depends on the
 * key would be mispredicted. The one after the first columns of many is not, for a key of neither
 * list, and saves half of the cache lines.
 */
ALWAYS_INLINE bool retrieval_equal(const struct retrieval *x, const struct retrieval_layer *l,
                                   uint32_t most, uint64_t start, uint64_t coefficients,
                                   uint32_t expected) {
  uint64_t block = start / RIBBON_WIDTH;
  uint32_t columns = columns_of_block(x, l, block);
  const uint8_t *words = x->bytes + words_of_block(x, l, block);
  uint32_t found = 0;
  for (uint32_t j = 0; j < most; j += COLUMNS_AT_ONCE) {
    found |= retrieved(words + 8 * j, 8 * columns, most - j, start % RIBBON_WIDTH, coefficients | 1)
             << j;
    if (most > 2 * COLUMNS_AT_ONCE && !j && (found ^ expected) & bits_below(COLUMNS_AT_ONCE))
      return false;
  }
  return !((found ^ expected) & (uint32_t)bits_below(columns));
}

/* The layer of a key, and its digest and start there. */
ALWAYS_INLINE const struct retrieval_layer *retrieval_find_layer(const struct retrieval *x,
                                                                 besom_digest *d, uint64_t *start) {
  const struct retrieval_layer *l = x->layer, *last = x->layer + x->layers - 1;
  for (*d = retrieval_digest_of(l, *d);; *d = retrieval_digest_of(++l, *d)) {
    *start = retrieval_start(l, *d);
    if (LIKELY(l == last || !is_bumped(x, l, *start))) return l;
  }
}

/* Whether the bits of a key are its fingerprint. */
ALWAYS_INLINE bool retrieval_has_fingerprint(const struct retrieval *x, besom_digest d) {
  uint64_t start;
  const struct retrieval_layer *l = retrieval_find_layer(x, &d, &start);
  return retrieval_equal(x, l, x->columns, start, d.lo, retrieval_fingerprint(d));
}

/* The same, in the fastest form for a retrieval that is built. */
typedef bool (*retrieval_query)(const struct retrieval *x, besom_digest d);
retrieval_query besom__retrieval_query(const struct retrieval *x);

/* The bit of a key, if there is one column. */
ALWAYS_INLINE bool retrieval_bit(const struct retrieval *x, besom_digest d) {
  uint64_t start;
  const struct retrieval_layer *l = retrieval_find_layer(x, &d, &start);
  const uint8_t *words = x->bytes + 8 * (l->words + start / RIBBON_WIDTH);
  return slot_parity(words, 8, start % RIBBON_WIDTH, d.lo | 1);
}

#endif
