/* The hot loops of the Bloom filter, compiled once per instruction set (BESOM_ISA). */
#include "bloom/bloom.h"
#include "core/hash.h"

#define NOINLINE __attribute__((noinline))

/* gcc computes x here, and uses it as it is. */
#define OPAQUE(x) __asm__("" : "+r"(x))

#define GROUP 4                         /* positions that are tested together */
#define FETCH_AHEAD 16                  /* keys of a batch */
#define CACHED_BITS (UINT64_C(1) << 21) /* 256 KiB */

#define NAME_OF(isa) besom__bloom_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct bloom_ops *NAME(BESOM_ISA)(uint32_t hashes);

/* ------------------------------------------------------------------ positions */

/*
 * The positions of a key come in groups. The first group is the first digits of hi / 2^64 in base
 * n_bits, the second those of lo / 2^64: a multiplication by n_bits moves the next digit to the
 * upper half of the product, and the digits after it to the lower half. As n_bits is 64 times an
 * odd number, this loses only 6 bits. Further groups are the digits of a mix of what is left.
 */
struct positions {
  uint64_t digits; /* of this group */
  uint64_t next;   /* of the next one */
};

ALWAYS_INLINE struct positions positions_of(besom_digest d) {
  return (struct positions){d.hi, d.lo};
}

ALWAYS_INLINE uint64_t next_position(const struct bloom_bits *b, struct positions *p) {
  return next_digit(&p->digits, b->n_bits);
}

ALWAYS_INLINE void next_group(struct positions *p) {
  uint64_t next = (p->digits ^ p->next) * UINT64_C(0xd1342543de82ef95);
  *p = (struct positions){p->next, next ^ next >> 32};
}

ALWAYS_INLINE uint8_t *word_of(const struct bloom_bits *b, uint64_t position) {
  return b->words + 8 * (size_t)shifted(position, 6);
}

/* The word of this position, shifted: the bit is bit 0. */
ALWAYS_INLINE uint64_t word_from(const struct bloom_bits *b, uint64_t position) {
  return shifted_word(word_of(b, position), position);
}

/* Are the next n positions set? Without branches: each would be mispredicted often. */
ALWAYS_INLINE bool bloom_all_set(const struct bloom_bits *b, struct positions *p, uint32_t n) {
  uint64_t all = UINT64_MAX;
  for (uint32_t i = 0; i < n; i++) {
    all &= word_from(b, next_position(b, p));
    OPAQUE(all); /* else gcc reads all words first, and runs out of registers */
  }
  return all & 1;
}

ALWAYS_INLINE void bloom_set_bit(const struct bloom_bits *b, uint64_t position) {
  uint8_t *at = word_of(b, position);
  store64(at, load64(at) | UINT64_C(1) << position % WORD_BITS);
}

ALWAYS_INLINE void bloom_bits_set_bits(const struct bloom_bits *b, struct positions *p,
                                       uint32_t n) {
  for (uint32_t i = 0; i < n; i++) bloom_set_bit(b, next_position(b, p));
}

/* The same, and returns whether all of them were set before. */
ALWAYS_INLINE bool test_and_set_bits(const struct bloom_bits *b, struct positions *p, uint32_t n) {
  uint64_t all = UINT64_MAX;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t position = next_position(b, p);
    all &= word_from(b, position);
    OPAQUE(all);
    bloom_set_bit(b, position);
  }
  return all & 1;
}

/* ------------------------------------------------------------------ keys */

/* How many positions a key has. Numbers that the compiler knows need no loops. */
enum shape { FEW /* less than a group */, EIGHT, MANY /* a group or more */ };

ALWAYS_INLINE uint32_t first_positions(const struct bloom_bits *b, enum shape shape) {
  return shape == FEW ? b->hashes : GROUP;
}

ALWAYS_INLINE uint32_t other_positions(const struct bloom_bits *b, enum shape shape) {
  return shape == FEW ? 0 : shape == EIGHT ? 8 - GROUP : b->hashes - GROUP;
}

/* Are the positions after the first group set? p is at the end of the first group. */
ALWAYS_INLINE bool others_set(const struct bloom_bits *b, struct positions p, uint32_t n) {
  for (next_group(&p); n >= GROUP; n -= GROUP, next_group(&p))
    if (!bloom_all_set(b, &p, GROUP)) return false;
  return bloom_all_set(b, &p, n);
}

/* Few queries for absent keys come here. */
NOINLINE static bool others_set_many(const struct bloom_bits *b, struct positions p) {
  return others_set(b, p, other_positions(b, MANY));
}

ALWAYS_INLINE bool bloom_bits_contains(const struct bloom_bits *b, besom_digest d,
                                       enum shape shape) {
  struct positions p = positions_of(d);
  bool set = bloom_all_set(b, &p, first_positions(b, shape));
  if (shape == FEW) return set;
  if (LIKELY(!set)) return false;
  /* Inlined: then the second half of the digest is computed only here. */
  return shape == EIGHT ? others_set(b, p, other_positions(b, EIGHT)) : others_set_many(b, p);
}

ALWAYS_INLINE void set_others(const struct bloom_bits *b, struct positions p, uint32_t n) {
  for (next_group(&p); n >= GROUP; n -= GROUP, next_group(&p)) bloom_bits_set_bits(b, &p, GROUP);
  bloom_bits_set_bits(b, &p, n);
}

/*
 * For a key whose first group was set already. A key whose bits are all set changes nothing, and is
 * not counted.
 */
NOINLINE static besom_status insert_others(besom_filter *f, struct positions p) {
  const struct bloom_bits b = ((const struct bloom *)f)->bits;
  f->items += !others_set(&b, p, other_positions(&b, MANY));
  set_others(&b, p, other_positions(&b, MANY));
  return BESOM_OK;
}

NOINLINE static besom_status insert_if_full(const besom_filter *f, besom_digest d) {
  return f->kind->query.contains(f, d) ? BESOM_OK : BESOM_FULL;
}

/* The key is hashed here: else its digest would be in registers that the usual case needs. */
NOINLINE static besom_status insert_u64_if_full(const besom_filter *f, uint64_t key) {
  return insert_if_full(f, xxh3_u64(&f->hasher, key));
}

/* The filter is not full. */
ALWAYS_INLINE besom_status bloom_bits_add(besom_filter *f, besom_digest d, enum shape shape) {
  /* A copy: the compiler knows that the words do not overlap with it. */
  const struct bloom_bits b = ((const struct bloom *)f)->bits;
  struct positions p = positions_of(d);
  bool old = test_and_set_bits(&b, &p, first_positions(&b, shape));
  if (shape != FEW && UNLIKELY(old)) return insert_others(f, p);
  f->items += shape != FEW || !old;
  if (shape != FEW) set_others(&b, p, other_positions(&b, shape));
  return BESOM_OK;
}

ALWAYS_INLINE besom_status bloom_bits_insert(besom_filter *f, besom_digest d, enum shape shape) {
  if (UNLIKELY(f->items >= f->capacity)) return insert_if_full(f, d);
  return bloom_bits_add(f, d, shape);
}

ALWAYS_INLINE besom_status bloom_bits_insert_u64(besom_filter *f, uint64_t key, enum shape shape) {
  if (UNLIKELY(f->items >= f->capacity)) return insert_u64_if_full(f, key);
  return bloom_bits_add(f, xxh3_u64(&f->hasher, key), shape);
}

static bool contains_digest_few(const besom_filter *f, besom_digest d) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, d, FEW);
}

FLATTEN static bool contains_u64_few(const besom_filter *f, uint64_t key) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, xxh3_u64(&f->hasher, key), FEW);
}

static besom_status insert_digest_few(besom_filter *f, besom_digest d) {
  return bloom_bits_insert(f, d, FEW);
}

FLATTEN static besom_status insert_u64_few(besom_filter *f, uint64_t key) {
  return bloom_bits_insert_u64(f, key, FEW);
}

static bool bloom_bits_contains_digest_8(const besom_filter *f, besom_digest d) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, d, EIGHT);
}

FLATTEN static bool bloom_bits_contains_u64_8(const besom_filter *f, uint64_t key) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, xxh3_u64(&f->hasher, key), EIGHT);
}

static besom_status insert_digest_8(besom_filter *f, besom_digest d) {
  return bloom_bits_insert(f, d, EIGHT);
}

FLATTEN static besom_status insert_u64_8(besom_filter *f, uint64_t key) {
  return bloom_bits_insert_u64(f, key, EIGHT);
}

static bool contains_digest_many(const besom_filter *f, besom_digest d) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, d, MANY);
}

FLATTEN static bool contains_u64_many(const besom_filter *f, uint64_t key) {
  return bloom_bits_contains(&((const struct bloom *)f)->bits, xxh3_u64(&f->hasher, key), MANY);
}

static besom_status insert_digest_many(besom_filter *f, besom_digest d) {
  return bloom_bits_insert(f, d, MANY);
}

FLATTEN static besom_status insert_u64_many(besom_filter *f, uint64_t key) {
  return bloom_bits_insert_u64(f, key, MANY);
}

static bool bloom_bits_contains_bytes(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

static besom_status bloom_bits_insert_bytes(besom_filter *f, const void *key, size_t len) {
  return f->inserts->insert_digest(f, xxh3_bytes(&f->hasher, key, len));
}

/* ------------------------------------------------------------------ batches */

/* How many keys ahead words are prefetched. A small filter is in the cache: none are. */
ALWAYS_INLINE size_t bloom_bits_fetch_ahead(const struct bloom_bits *b, size_t n) {
  return b->n_bits > CACHED_BITS ? FETCH_AHEAD : n;
}

ALWAYS_INLINE void bloom_bits_fetch(const struct bloom_bits *b, struct positions *p, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) __builtin_prefetch(word_of(b, next_position(b, p)));
}

/* Few queries for absent keys read more than the first group. */
static void bloom_bits_prefetch(const struct bloom_bits *b, besom_digest d) {
  struct positions p = positions_of(d);
  bloom_bits_fetch(b, &p, b->hashes < GROUP ? b->hashes : GROUP);
}

ALWAYS_INLINE void fetch_first(const struct bloom_bits *b, besom_digest d, enum shape shape) {
  struct positions p = positions_of(d);
  bloom_bits_fetch(b, &p, first_positions(b, shape));
}

ALWAYS_INLINE void fetch_all(const struct bloom_bits *b, besom_digest d, enum shape shape) {
  struct positions p = positions_of(d);
  uint32_t n = other_positions(b, shape);
  bloom_bits_fetch(b, &p, first_positions(b, shape));
  for (next_group(&p); n >= GROUP; n -= GROUP, next_group(&p)) bloom_bits_fetch(b, &p, GROUP);
  bloom_bits_fetch(b, &p, n);
}

ALWAYS_INLINE void bloom_bits_contains_batch(const struct bloom_bits *b, const besom_digest *d,
                                             size_t n, uint64_t *bitmap, enum shape shape) {
  size_t ahead = bloom_bits_fetch_ahead(b, n);
  for (size_t i = 0; ahead < n && i < ahead; i++) fetch_first(b, d[i], shape);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    for (size_t j = i; j < n && j < i + 64; j++) {
      if (j + ahead < n) fetch_first(b, d[j + ahead], shape);
      word |= (uint64_t)bloom_bits_contains(b, d[j], shape) << (j - i);
    }
    bitmap[i / 64] = word;
  }
}

/* Sets the bits of n keys. The caller knows that there is room for them. */
ALWAYS_INLINE void bloom_bits_insert_batch(besom_filter *f, const besom_digest *d, size_t n,
                                           enum shape shape) {
  const struct bloom_bits *b = &((const struct bloom *)f)->bits;
  size_t ahead = bloom_bits_fetch_ahead(b, n);
  for (size_t i = 0; ahead < n && i < ahead; i++) fetch_all(b, d[i], shape);
  for (size_t i = 0; i < n; i++) {
    if (i + ahead < n) fetch_all(b, d[i + ahead], shape);
    bloom_bits_add(f, d[i], shape);
  }
}

static void contains_many_few(const struct bloom_bits *b, const besom_digest *d, size_t n,
                              uint64_t *bitmap) {
  bloom_bits_contains_batch(b, d, n, bitmap, FEW);
}

static void bloom_bits_contains_many_8(const struct bloom_bits *b, const besom_digest *d, size_t n,
                                       uint64_t *bitmap) {
  bloom_bits_contains_batch(b, d, n, bitmap, EIGHT);
}

static void contains_many_many(const struct bloom_bits *b, const besom_digest *d, size_t n,
                               uint64_t *bitmap) {
  bloom_bits_contains_batch(b, d, n, bitmap, MANY);
}

static void insert_many_few(besom_filter *f, const besom_digest *d, size_t n) {
  bloom_bits_insert_batch(f, d, n, FEW);
}

static void insert_many_8(besom_filter *f, const besom_digest *d, size_t n) {
  bloom_bits_insert_batch(f, d, n, EIGHT);
}

static void insert_many_many(besom_filter *f, const besom_digest *d, size_t n) {
  bloom_bits_insert_batch(f, d, n, MANY);
}

#if defined(__AVX512F__)
#define ISA ISA_AVX512
#elif defined(__AVX2__)
#define ISA ISA_AVX2
#else
#define ISA ISA_PORTABLE
#endif

static const struct bloom_ops few = {
    ISA,
    {bloom_bits_contains_bytes, NOT_IN_MODULE(contains_u64_few), contains_digest_few},
    {NOT_IN_READER(bloom_bits_insert_bytes), NOT_IN_READER(insert_u64_few),
     NOT_IN_READER(insert_digest_few)},
    NOT_IN_MODULE(contains_many_few),
    NOT_IN_MODULE(bloom_bits_prefetch),
    NOT_IN_READER(insert_many_few)};

static const struct bloom_ops eight = {
    ISA,
    {bloom_bits_contains_bytes, NOT_IN_MODULE(bloom_bits_contains_u64_8),
     bloom_bits_contains_digest_8},
    {NOT_IN_READER(bloom_bits_insert_bytes), NOT_IN_READER(insert_u64_8),
     NOT_IN_READER(insert_digest_8)},
    NOT_IN_MODULE(bloom_bits_contains_many_8),
    NOT_IN_MODULE(bloom_bits_prefetch),
    NOT_IN_READER(insert_many_8)};

static const struct bloom_ops many = {
    ISA,
    {bloom_bits_contains_bytes, NOT_IN_MODULE(contains_u64_many), contains_digest_many},
    {NOT_IN_READER(bloom_bits_insert_bytes), NOT_IN_READER(insert_u64_many),
     NOT_IN_READER(insert_digest_many)},
    NOT_IN_MODULE(contains_many_many),
    NOT_IN_MODULE(bloom_bits_prefetch),
    NOT_IN_READER(insert_many_many)};

const struct bloom_ops *NAME(BESOM_ISA)(uint32_t hashes) {
  return hashes == 8 ? &eight : hashes < GROUP ? &few : &many;
}
