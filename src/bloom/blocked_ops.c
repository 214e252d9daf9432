/*
 * The hot loops of the blocked Bloom filter, compiled once per instruction set (BESOM_ISA) and, for
 * each of these, once per number of layers.
 */
#include "bloom/blocked.h"
#include "core/bits.h"

/* How many keys ahead of a batch lines are prefetched. */
#define FETCH_AHEAD 32

#define NAME_OF(isa) besom__blocked_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct blocked_ops *NAME(BESOM_ISA)(uint32_t full_layers, bool half_layer);

/* ------------------------------------------------------------------ the bits of a key */

/* The line of a key, and the digest bits that choose the bits in it. */
struct choice {
  uint8_t *line;
  uint64_t layer, rest;
};

ALWAYS_INLINE struct choice choice_of(const struct blocked *b, besom_digest d) {
  unsigned __int128 scaled = (unsigned __int128)d.hi * b->n_lines;
  return (struct choice){b->lines + LINE_BYTES * (size_t)(scaled >> 64), d.lo, (uint64_t)scaled};
}

/* The number of the next layer. Its upper bits depend on the whole digest. */
ALWAYS_INLINE uint64_t next_layer(struct choice *c) {
  uint64_t layer = c->layer;
  c->layer = (layer + c->rest) * UINT64_C(0xd1342543de82ef95);
  return layer;
}

/*
 * From the number of a layer to one bit per word. Full layer: bits 16 + 6w to 21 + 6w of the number
 * are the bit in word w. Half layer: bits 36 + 7p to 42 + 7p are the bit in pair p, the highest of
 * them chooses the word. For the other word the shift is 64 or more, and sets no bit.
 */
#define FULL_SHIFT(word) (16 + 6 * (word))
#define HALF_SHIFT(word) (36 + 7 * ((word) / 2))
#define OTHER_WORD(word) ((word) % 2 ? 64 : 0)

#if defined(__AVX512F__)

struct bits {
  __m512i words;
};

#define EACH_WORD_512(f) _mm512_setr_epi64(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7))

ALWAYS_INLINE __m512i full_bits(uint64_t layer) {
  __m512i number =
      _mm512_srlv_epi64(_mm512_set1_epi64((long long)layer), EACH_WORD_512(FULL_SHIFT));
  return _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_and_si512(number, _mm512_set1_epi64(63)));
}

ALWAYS_INLINE __m512i half_bits(uint64_t layer) {
  __m512i number =
      _mm512_srlv_epi64(_mm512_set1_epi64((long long)layer), EACH_WORD_512(HALF_SHIFT));
  number =
      _mm512_and_si512(_mm512_xor_si512(number, EACH_WORD_512(OTHER_WORD)), _mm512_set1_epi64(127));
  return _mm512_sllv_epi64(_mm512_set1_epi64(1), number);
}

ALWAYS_INLINE struct bits bits_of(struct choice c, unsigned full, bool half) {
  struct bits bits = {_mm512_setzero_si512()};
  for (unsigned i = 0; i < full; i++)
    bits.words = _mm512_or_si512(bits.words, full_bits(next_layer(&c)));
  if (half) bits.words = _mm512_or_si512(bits.words, half_bits(next_layer(&c)));
  return bits;
}

ALWAYS_INLINE bool all_set(const uint8_t *line, struct bits bits) {
  __m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(line), bits.words);
  return _mm512_test_epi64_mask(missing, missing) == 0;
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  _mm512_storeu_si512(line, _mm512_or_si512(_mm512_loadu_si512(line), bits.words));
}

#elif defined(__AVX2__)

struct bits {
  __m256i words[2];
};

#define EACH_WORD_256(f, half) \
  ((half) ? _mm256_setr_epi64x(f(4), f(5), f(6), f(7)) : _mm256_setr_epi64x(f(0), f(1), f(2), f(3)))

ALWAYS_INLINE __m256i full_bits(uint64_t layer, int at) {
  __m256i number =
      _mm256_srlv_epi64(_mm256_set1_epi64x((long long)layer), EACH_WORD_256(FULL_SHIFT, at));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_and_si256(number, _mm256_set1_epi64x(63)));
}

ALWAYS_INLINE __m256i half_bits(uint64_t layer, int at) {
  __m256i number =
      _mm256_srlv_epi64(_mm256_set1_epi64x((long long)layer), EACH_WORD_256(HALF_SHIFT, at));
  number = _mm256_and_si256(_mm256_xor_si256(number, EACH_WORD_256(OTHER_WORD, at)),
                            _mm256_set1_epi64x(127));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), number);
}

ALWAYS_INLINE struct bits bits_of(struct choice c, unsigned full, bool half) {
  struct bits bits = {{_mm256_setzero_si256(), _mm256_setzero_si256()}};
  for (unsigned i = 0; i < full; i++) {
    uint64_t layer = next_layer(&c);
    for (int at = 0; at < 2; at++)
      bits.words[at] = _mm256_or_si256(bits.words[at], full_bits(layer, at));
  }
  if (half) {
    uint64_t layer = next_layer(&c);
    for (int at = 0; at < 2; at++)
      bits.words[at] = _mm256_or_si256(bits.words[at], half_bits(layer, at));
  }
  return bits;
}

ALWAYS_INLINE bool all_set(const uint8_t *line, struct bits bits) {
  __m256i first = _mm256_andnot_si256(_mm256_loadu_si256((const __m256i *)line), bits.words[0]);
  __m256i second =
      _mm256_andnot_si256(_mm256_loadu_si256((const __m256i *)(line + 32)), bits.words[1]);
  __m256i missing = _mm256_or_si256(first, second);
  return _mm256_testz_si256(missing, missing);
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  for (int at = 0; at < 2; at++) {
    __m256i *words = (__m256i *)(line + 32 * at);
    _mm256_storeu_si256(words, _mm256_or_si256(_mm256_loadu_si256(words), bits.words[at]));
  }
}

#else

struct bits {
  uint64_t words[8];
};

ALWAYS_INLINE struct bits bits_of(struct choice c, unsigned full, bool half) {
  struct bits bits = {{0}};
  for (unsigned i = 0; i < full; i++) {
    uint64_t layer = next_layer(&c);
    for (unsigned w = 0; w < 8; w++) bits.words[w] |= UINT64_C(1) << (layer >> FULL_SHIFT(w) & 63);
  }
  if (half) {
    uint64_t layer = next_layer(&c);
    for (unsigned w = 0; w < 8; w++) {
      unsigned number = (layer >> HALF_SHIFT(w) ^ OTHER_WORD(w)) & 127;
      bits.words[w] |= (uint64_t)(number < 64) << (number & 63);
    }
  }
  return bits;
}

ALWAYS_INLINE bool all_set(const uint8_t *line, struct bits bits) {
  uint64_t missing = 0;
  for (unsigned w = 0; w < 8; w++) missing |= bits.words[w] & ~load64(line + 8 * w);
  return missing == 0;
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  for (unsigned w = 0; w < 8; w++) store64(line + 8 * w, load64(line + 8 * w) | bits.words[w]);
}

#endif

/* ------------------------------------------------------------------ keys */

ALWAYS_INLINE bool contains(const struct blocked *b, besom_digest d, unsigned full, bool half) {
  struct choice c = choice_of(b, d);
  return all_set(c.line, bits_of(c, full, half));
}

ALWAYS_INLINE void contains_many(const struct blocked *b, const besom_digest *d, size_t n,
                                 uint64_t *bitmap, unsigned full, bool half) {
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) __builtin_prefetch(choice_of(b, d[i]).line);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    for (size_t j = i; j < n && j < i + 64; j++) {
      if (j + FETCH_AHEAD < n) __builtin_prefetch(choice_of(b, d[j + FETCH_AHEAD]).line);
      word |= (uint64_t)contains(b, d[j], full, half) << (j - i);
    }
    bitmap[i / 64] = word;
  }
}

ALWAYS_INLINE size_t insert_many(const struct blocked *b, const besom_digest *d, size_t n,
                                 unsigned full, bool half) {
  size_t fresh = 0;
  for (size_t i = 0; i < n && i < FETCH_AHEAD; i++) __builtin_prefetch(choice_of(b, d[i]).line, 1);
  for (size_t i = 0; i < n; i++) {
    if (i + FETCH_AHEAD < n) __builtin_prefetch(choice_of(b, d[i + FETCH_AHEAD]).line, 1);
    struct choice c = choice_of(b, d[i]);
    struct bits bits = bits_of(c, full, half);
    fresh += !all_set(c.line, bits);
    set(c.line, bits);
  }
  return fresh;
}

/* ------------------------------------------------------------------ tables of operations */

#define OPERATIONS(full, half)                                                              \
  static bool contains_##full##_##half(const struct blocked *b, besom_digest d) {           \
    return contains(b, d, full, half);                                                      \
  }                                                                                         \
  static void contains_many_##full##_##half(const struct blocked *b, const besom_digest *d, \
                                            size_t n, uint64_t *bitmap) {                   \
    contains_many(b, d, n, bitmap, full, half);                                             \
  }                                                                                         \
  static size_t insert_many_##full##_##half(const struct blocked *b, const besom_digest *d, \
                                            size_t n) {                                     \
    return insert_many(b, d, n, full, half);                                                \
  }

#define OPERATION_TABLE(full, half) \
  { contains_##full##_##half, contains_many_##full##_##half, insert_many_##full##_##half }

OPERATIONS(0, 1)
OPERATIONS(1, 0)
OPERATIONS(1, 1)
OPERATIONS(2, 0)
OPERATIONS(2, 1)
OPERATIONS(3, 0)
OPERATIONS(3, 1)
OPERATIONS(4, 0)
OPERATIONS(4, 1)

const struct blocked_ops *NAME(BESOM_ISA)(uint32_t full_layers, bool half_layer) {
  static const struct blocked_ops table[MAX_FULL_LAYERS + 1][2] = {
      {{0}, OPERATION_TABLE(0, 1)},
      {OPERATION_TABLE(1, 0), OPERATION_TABLE(1, 1)},
      {OPERATION_TABLE(2, 0), OPERATION_TABLE(2, 1)},
      {OPERATION_TABLE(3, 0), OPERATION_TABLE(3, 1)},
      {OPERATION_TABLE(4, 0), OPERATION_TABLE(4, 1)},
  };
  return &table[full_layers][half_layer];
}
