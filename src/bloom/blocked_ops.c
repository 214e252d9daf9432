/*
 * The hot loops of the blocked Bloom filter, compiled once per instruction set (BESOM_ISA). Every
 * number of layers has loops of its own: the compiler knows the number.
 */
#include "bloom/blocked.h"

#define FETCH_AHEAD 32    /* keys of a batch */
#define CACHED_LINES 4096 /* 256 KiB */

#define NAME_OF(isa) besom__blocked_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct blocked_ops *NAME(BESOM_ISA)(unsigned shape);

/* ------------------------------------------------------------------ the bits of a key */

/* The line of a key, and the numbers of its next two layers. */
struct choice {
  uint8_t *line;
  uint64_t layer, next;
};

/*
 * The upper half of a product chooses the line. Its lower half is the number of the first layer: as
 * n_lines is odd, each of its bits depends on the digest, and a filter with one layer needs only
 * the upper half of the digest. The lower half of the digest is the number of the second layer.
 */
ALWAYS_INLINE struct choice choice_of(const struct blocked *b, besom_digest d) {
  unsigned __int128 scaled = (unsigned __int128)d.hi * b->n_lines;
  uint64_t layer = (uint64_t)scaled;
  __asm__("" : "+r"(layer)); /* else gcc moves it to a vector register through memory */
  return (struct choice){b->lines + LINE_BYTES * (size_t)(scaled >> 64), layer, d.lo};
}

/*
 * Further layers: the halves of a product are combined, because its lower bits depend on few bits
 * of the factors.
 */
ALWAYS_INLINE uint64_t next_layer(struct choice *c) {
  uint64_t layer = c->layer;
  unsigned __int128 product = (unsigned __int128)(layer + c->next) * UINT64_C(0xd1342543de82ef95);
  c->layer = c->next;
  c->next = (uint64_t)product ^ (uint64_t)(product >> 64);
  return layer;
}

/*
 * From the number of a layer to one bit per word, counted from the upper end of the word. Full
 * layer: the lower 6 bits of byte w of the number for a word w < 4, the upper 6 for others. Half
 * layer: bits 36 + 7p to 42 + 7p are the bit in pair p, the highest of them chooses the word. For
 * the other word the shift is 64 or more, and sets no bit.
 */
#define FIRST_BIT (UINT64_C(1) << 63)
#define FULL_SHIFT(word) (8 * (word) + ((word) < 4 ? 0 : 2))
#define HALF_SHIFT(word) (36 + 7 * ((word) / 2))
#define OTHER_WORD(word) ((word) % 2 ? 64 : 0)

#if defined(__AVX512F__)

struct bits {
  __m512i words;
};

#define EACH_WORD_512(f) _mm512_setr_epi64(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7))

/* The lower 6 bits count, which is what rotations use. */
ALWAYS_INLINE __m512i full_shifts(uint64_t layer) {
  return _mm512_srlv_epi64(_mm512_set1_epi64((long long)layer), EACH_WORD_512(FULL_SHIFT));
}

ALWAYS_INLINE __m512i half_shifts(uint64_t layer) {
  __m512i number =
      _mm512_srlv_epi64(_mm512_set1_epi64((long long)layer), EACH_WORD_512(HALF_SHIFT));
  return _mm512_and_si512(_mm512_xor_si512(number, EACH_WORD_512(OTHER_WORD)),
                          _mm512_set1_epi64(127));
}

ALWAYS_INLINE struct bits blocked_lines_bits_of(struct choice c, unsigned full, bool half) {
  __m512i first = _mm512_set1_epi64((long long)FIRST_BIT), words = _mm512_setzero_si512();
  for (unsigned i = 0; i < full; i++)
    words = _mm512_or_si512(words, _mm512_rorv_epi64(first, full_shifts(next_layer(&c))));
  if (half) words = _mm512_or_si512(words, _mm512_srlv_epi64(first, half_shifts(next_layer(&c))));
  return (struct bits){words};
}

ALWAYS_INLINE bool blocked_all_set(const uint8_t *line, struct bits bits) {
  __m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(line), bits.words);
  return _mm512_test_epi64_mask(missing, missing) == 0;
}

ALWAYS_INLINE bool any_new(const uint8_t *line, struct bits bits) {
  return !blocked_all_set(line, bits);
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  _mm512_storeu_si512(line, _mm512_or_si512(_mm512_loadu_si512(line), bits.words));
}

/* Are all bits of the full layers set? Moves each to the upper end of its word. */
ALWAYS_INLINE bool full_layers_set(struct choice c, unsigned full) {
  __m512i words = _mm512_loadu_si512(c.line), both = _mm512_set1_epi64(-1);
  for (unsigned i = 0; i < full; i++)
    both = _mm512_and_si512(both, _mm512_rolv_epi64(words, full_shifts(next_layer(&c))));
  return _mm512_movepi64_mask(both) == 0xff;
}

#elif defined(__AVX2__)

struct bits {
  __m256i words[2];
};

/* Bytes 0 to 3 of the number are the lowest bytes of the 4 words, bytes 4 to 7 the highest. */
ALWAYS_INLINE void full_shifts(uint64_t layer, __m256i shifts[2]) {
  const __m256i to_words =
      _mm256_setr_epi64x(INT64_C(0x0480808080808000), INT64_C(0x0580808080808001),
                         INT64_C(0x0680808080808002), INT64_C(0x0780808080808003));
  __m256i number = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)layer), to_words);
  shifts[0] = _mm256_and_si256(number, _mm256_set1_epi64x(63));
  shifts[1] = _mm256_srli_epi64(number, 58);
}

#define EACH_WORD_256(f, half) \
  ((half) ? _mm256_setr_epi64x(f(4), f(5), f(6), f(7)) : _mm256_setr_epi64x(f(0), f(1), f(2), f(3)))

ALWAYS_INLINE void half_shifts(uint64_t layer, __m256i shifts[2]) {
  for (int at = 0; at < 2; at++) {
    __m256i number =
        _mm256_srlv_epi64(_mm256_set1_epi64x((long long)layer), EACH_WORD_256(HALF_SHIFT, at));
    shifts[at] = _mm256_and_si256(_mm256_xor_si256(number, EACH_WORD_256(OTHER_WORD, at)),
                                  _mm256_set1_epi64x(127));
  }
}

ALWAYS_INLINE void add_bits(struct bits *bits, const __m256i shifts[2]) {
  __m256i first = _mm256_set1_epi64x((long long)FIRST_BIT);
  for (int at = 0; at < 2; at++)
    bits->words[at] = _mm256_or_si256(bits->words[at], _mm256_srlv_epi64(first, shifts[at]));
}

ALWAYS_INLINE struct bits blocked_lines_bits_of(struct choice c, unsigned full, bool half) {
  struct bits bits = {{_mm256_setzero_si256(), _mm256_setzero_si256()}};
  __m256i shifts[2];
  for (unsigned i = 0; i < full; i++) {
    full_shifts(next_layer(&c), shifts);
    add_bits(&bits, shifts);
  }
  if (half) {
    half_shifts(next_layer(&c), shifts);
    add_bits(&bits, shifts);
  }
  return bits;
}

ALWAYS_INLINE __m256i half_line(const uint8_t *line, int at) {
  return _mm256_loadu_si256((const __m256i *)(line + 32 * at));
}

/* The second half of a new key is rarely looked at. */
ALWAYS_INLINE bool any_new(const uint8_t *line, struct bits bits) {
  return !_mm256_testc_si256(half_line(line, 0), bits.words[0]) ||
         !_mm256_testc_si256(half_line(line, 1), bits.words[1]);
}

ALWAYS_INLINE bool blocked_all_set(const uint8_t *line, struct bits bits) {
  __m256i missing = _mm256_or_si256(_mm256_andnot_si256(half_line(line, 0), bits.words[0]),
                                    _mm256_andnot_si256(half_line(line, 1), bits.words[1]));
  return _mm256_testz_si256(missing, missing);
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  for (int at = 0; at < 2; at++)
    _mm256_storeu_si256((__m256i *)(line + 32 * at),
                        _mm256_or_si256(half_line(line, at), bits.words[at]));
}

/* Are all bits of the full layers set? Moves each to the upper end of its word. */
ALWAYS_INLINE bool full_layers_set(struct choice c, unsigned full) {
  __m256i both = _mm256_set1_epi64x(-1), shifts[2];
  for (unsigned i = 0; i < full; i++) {
    full_shifts(next_layer(&c), shifts);
    for (int at = 0; at < 2; at++)
      both = _mm256_and_si256(both, _mm256_sllv_epi64(half_line(c.line, at), shifts[at]));
  }
  return _mm256_movemask_pd(_mm256_castsi256_pd(both)) == 0xf;
}

#else

struct bits {
  uint64_t words[8];
};

ALWAYS_INLINE struct bits blocked_lines_bits_of(struct choice c, unsigned full, bool half) {
  struct bits bits = {{0}};
  for (unsigned i = 0; i < full; i++) {
    uint64_t layer = next_layer(&c);
    for (unsigned w = 0; w < 8; w++) bits.words[w] |= FIRST_BIT >> (layer >> FULL_SHIFT(w) & 63);
  }
  if (half) {
    uint64_t layer = next_layer(&c);
    for (unsigned w = 0; w < 8; w++) {
      unsigned number = (layer >> HALF_SHIFT(w) ^ OTHER_WORD(w)) & 127;
      bits.words[w] |= number < 64 ? FIRST_BIT >> (number & 63) : 0;
    }
  }
  return bits;
}

ALWAYS_INLINE bool blocked_all_set(const uint8_t *line, struct bits bits) {
  uint64_t missing = 0;
  for (unsigned w = 0; w < 8; w++) missing |= bits.words[w] & ~load64(line + 8 * w);
  return missing == 0;
}

ALWAYS_INLINE bool any_new(const uint8_t *line, struct bits bits) {
  return !blocked_all_set(line, bits);
}

ALWAYS_INLINE void set(uint8_t *line, struct bits bits) {
  for (unsigned w = 0; w < 8; w++) store64(line + 8 * w, load64(line + 8 * w) | bits.words[w]);
}

ALWAYS_INLINE bool full_layers_set(struct choice c, unsigned full) {
  uint64_t all = FIRST_BIT;
  for (unsigned i = 0; i < full; i++) {
    uint64_t layer = next_layer(&c);
    for (unsigned w = 0; w < 8; w++) all &= load64(c.line + 8 * w) << (layer >> FULL_SHIFT(w) & 63);
  }
  return all != 0;
}

#endif

/* ------------------------------------------------------------------ keys */

ALWAYS_INLINE bool blocked_lines_contains(const struct blocked *b, besom_digest d, unsigned shape) {
  struct choice c = choice_of(b, d);
  return shape % 2 ? blocked_all_set(c.line, blocked_lines_bits_of(c, shape / 2, true))
                   : full_layers_set(c, shape / 2);
}

ALWAYS_INLINE besom_status blocked_lines_insert(besom_filter *f, besom_digest d, unsigned shape) {
  struct choice c = choice_of(blocked_of(f), d);
  struct bits bits = blocked_lines_bits_of(c, shape / 2, shape % 2);
  if (UNLIKELY(!any_new(c.line, bits))) return BESOM_OK;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  set(c.line, bits);
  f->items++;
  return BESOM_OK;
}

/* How many keys ahead lines are prefetched. A small filter is in the cache: none are. */
ALWAYS_INLINE size_t blocked_lines_fetch_ahead(const struct blocked *b, size_t n) {
  return b->n_lines > CACHED_LINES ? FETCH_AHEAD : n;
}

/* b is a copy: the compiler knows that the lines do not overlap with it. */
ALWAYS_INLINE void blocked_lines_contains_batch(struct blocked b, const besom_digest *d, size_t n,
                                                uint64_t *bitmap, unsigned shape) {
  size_t ahead = blocked_lines_fetch_ahead(&b, n);
  for (size_t i = 0; ahead < n && i < ahead; i++) __builtin_prefetch(choice_of(&b, d[i]).line);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    for (size_t j = i; j < n && j < i + 64; j++) {
      if (j + ahead < n) __builtin_prefetch(choice_of(&b, d[j + ahead]).line);
      word |= (uint64_t)blocked_lines_contains(&b, d[j], shape) << (j - i);
    }
    bitmap[i / 64] = word;
  }
}

ALWAYS_INLINE size_t blocked_lines_insert_batch(struct blocked b, const besom_digest *d, size_t n,
                                                unsigned shape) {
  size_t fresh = 0, ahead = blocked_lines_fetch_ahead(&b, n);
  for (size_t i = 0; ahead < n && i < ahead; i++) __builtin_prefetch(choice_of(&b, d[i]).line, 1);
  for (size_t i = 0; i < n; i++) {
    if (i + ahead < n) __builtin_prefetch(choice_of(&b, d[i + ahead]).line, 1);
    struct choice c = choice_of(&b, d[i]);
    struct bits bits = blocked_lines_bits_of(c, shape / 2, shape % 2);
    fresh += !blocked_all_set(c.line, bits);
    set(c.line, bits);
  }
  return fresh;
}

/* ------------------------------------------------------------------ by shape */

/* Common shapes have functions of their own. The others are for rates below one in a million. */

static void blocked_lines_contains_many(const struct blocked *b, const besom_digest *d, size_t n,
                                        uint64_t *bitmap) {
  switch (b->shape) {
  case 1:
    blocked_lines_contains_batch(*b, d, n, bitmap, 1);
    break;
  case 2:
    blocked_lines_contains_batch(*b, d, n, bitmap, 2);
    break;
  case 3:
    blocked_lines_contains_batch(*b, d, n, bitmap, 3);
    break;
  case 4:
    blocked_lines_contains_batch(*b, d, n, bitmap, 4);
    break;
  default:
    blocked_lines_contains_batch(*b, d, n, bitmap, b->shape);
  }
}

static size_t blocked_lines_insert_many(const struct blocked *b, const besom_digest *d, size_t n) {
  switch (b->shape) {
  case 1:
    return blocked_lines_insert_batch(*b, d, n, 1);
  case 2:
    return blocked_lines_insert_batch(*b, d, n, 2);
  case 3:
    return blocked_lines_insert_batch(*b, d, n, 3);
  case 4:
    return blocked_lines_insert_batch(*b, d, n, 4);
  default:
    return blocked_lines_insert_batch(*b, d, n, b->shape);
  }
}

static bool contains_digest_1(const besom_filter *f, besom_digest d) {
  return blocked_lines_contains(blocked_of(f), d, 1);
}

FLATTEN static bool contains_u64_1(const besom_filter *f, uint64_t key) {
  return blocked_lines_contains(blocked_of(f), xxh3_u64(&f->hasher, key), 1);
}

static besom_status insert_digest_1(besom_filter *f, besom_digest d) {
  return blocked_lines_insert(f, d, 1);
}

FLATTEN static besom_status insert_u64_1(besom_filter *f, uint64_t key) {
  return blocked_lines_insert(f, xxh3_u64(&f->hasher, key), 1);
}

static bool contains_digest_2(const besom_filter *f, besom_digest d) {
  return blocked_lines_contains(blocked_of(f), d, 2);
}

FLATTEN static bool contains_u64_2(const besom_filter *f, uint64_t key) {
  return blocked_lines_contains(blocked_of(f), xxh3_u64(&f->hasher, key), 2);
}

static besom_status insert_digest_2(besom_filter *f, besom_digest d) {
  return blocked_lines_insert(f, d, 2);
}

FLATTEN static besom_status insert_u64_2(besom_filter *f, uint64_t key) {
  return blocked_lines_insert(f, xxh3_u64(&f->hasher, key), 2);
}

static bool contains_digest_3(const besom_filter *f, besom_digest d) {
  return blocked_lines_contains(blocked_of(f), d, 3);
}

FLATTEN static bool contains_u64_3(const besom_filter *f, uint64_t key) {
  return blocked_lines_contains(blocked_of(f), xxh3_u64(&f->hasher, key), 3);
}

static besom_status insert_digest_3(besom_filter *f, besom_digest d) {
  return blocked_lines_insert(f, d, 3);
}

FLATTEN static besom_status insert_u64_3(besom_filter *f, uint64_t key) {
  return blocked_lines_insert(f, xxh3_u64(&f->hasher, key), 3);
}

static bool contains_digest_4(const besom_filter *f, besom_digest d) {
  return blocked_lines_contains(blocked_of(f), d, 4);
}

FLATTEN static bool contains_u64_4(const besom_filter *f, uint64_t key) {
  return blocked_lines_contains(blocked_of(f), xxh3_u64(&f->hasher, key), 4);
}

static besom_status insert_digest_4(besom_filter *f, besom_digest d) {
  return blocked_lines_insert(f, d, 4);
}

FLATTEN static besom_status insert_u64_4(besom_filter *f, uint64_t key) {
  return blocked_lines_insert(f, xxh3_u64(&f->hasher, key), 4);
}

static bool blocked_lines_contains_digest_any(const besom_filter *f, besom_digest d) {
  return blocked_lines_contains(blocked_of(f), d, blocked_of(f)->shape);
}

FLATTEN static bool blocked_lines_contains_u64_any(const besom_filter *f, uint64_t key) {
  return blocked_lines_contains(blocked_of(f), xxh3_u64(&f->hasher, key), blocked_of(f)->shape);
}

static besom_status insert_digest_any(besom_filter *f, besom_digest d) {
  return blocked_lines_insert(f, d, blocked_of(f)->shape);
}

FLATTEN static besom_status insert_u64_any(besom_filter *f, uint64_t key) {
  return blocked_lines_insert(f, xxh3_u64(&f->hasher, key), blocked_of(f)->shape);
}

static bool blocked_lines_contains_bytes(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

static besom_status blocked_lines_insert_bytes(besom_filter *f, const void *key, size_t len) {
  return f->inserts->insert_digest(f, xxh3_bytes(&f->hasher, key, len));
}

static const struct blocked_ops any_shape = {
    {blocked_lines_contains_bytes, NOT_IN_MODULE(blocked_lines_contains_u64_any),
     blocked_lines_contains_digest_any},
    {NOT_IN_READER(blocked_lines_insert_bytes), NOT_IN_READER(insert_u64_any),
     NOT_IN_READER(insert_digest_any)},
    NOT_IN_MODULE(blocked_lines_contains_many),
    NOT_IN_READER(blocked_lines_insert_many),
};

static const struct blocked_ops shapes[] = {
    {{blocked_lines_contains_bytes, NOT_IN_MODULE(contains_u64_1), contains_digest_1},
     {NOT_IN_READER(blocked_lines_insert_bytes), NOT_IN_READER(insert_u64_1),
      NOT_IN_READER(insert_digest_1)},
     NOT_IN_MODULE(blocked_lines_contains_many),
     NOT_IN_READER(blocked_lines_insert_many)},
    {{blocked_lines_contains_bytes, NOT_IN_MODULE(contains_u64_2), contains_digest_2},
     {NOT_IN_READER(blocked_lines_insert_bytes), NOT_IN_READER(insert_u64_2),
      NOT_IN_READER(insert_digest_2)},
     NOT_IN_MODULE(blocked_lines_contains_many),
     NOT_IN_READER(blocked_lines_insert_many)},
    {{blocked_lines_contains_bytes, NOT_IN_MODULE(contains_u64_3), contains_digest_3},
     {NOT_IN_READER(blocked_lines_insert_bytes), NOT_IN_READER(insert_u64_3),
      NOT_IN_READER(insert_digest_3)},
     NOT_IN_MODULE(blocked_lines_contains_many),
     NOT_IN_READER(blocked_lines_insert_many)},
    {{blocked_lines_contains_bytes, NOT_IN_MODULE(contains_u64_4), contains_digest_4},
     {NOT_IN_READER(blocked_lines_insert_bytes), NOT_IN_READER(insert_u64_4),
      NOT_IN_READER(insert_digest_4)},
     NOT_IN_MODULE(blocked_lines_contains_many),
     NOT_IN_READER(blocked_lines_insert_many)},
};

const struct blocked_ops *NAME(BESOM_ISA)(unsigned shape) {
  return shape <= sizeof shapes / sizeof *shapes ? &shapes[shape - 1] : &any_shape;
}
