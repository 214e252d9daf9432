/*
 * The common part of cf and vacuum: partial-key cuckoo hashing (Fan et al., "Cuckoo Filter", 2014).
 * The digest of a key gives a fingerprint and a first bucket of four slots. The alternate bucket
 * follows from the first bucket and the fingerprint alone, and the first from the alternate in the
 * same way. So a fingerprint can be moved without its key.
 *
 * The kinds differ in the function that gives the alternate bucket. The hot calls, in which it is
 * inline, are compiled once per instruction set (partial_key_calls.c).
 */
#ifndef BESOM_CUCKOO_PARTIAL_KEY_H
#define BESOM_CUCKOO_PARTIAL_KEY_H

#include "core/cpu.h"
#include "core/hash.h"
#include "cuckoo/cuckoo_table.h"
#include "kind.h"

enum { MIN_FINGERPRINT = 4, MAX_FINGERPRINT = 32, MAX_COPIES = 2 * MAX_BUCKET_SLOTS };
enum { CHUNK_SIZES = 4 };

struct partial_key;

/*
 * The alternate bucket of a fingerprint in this bucket. It never is the same bucket, and the
 * function is its own inverse.
 */
typedef uint64_t (*alternate_bucket)(const struct partial_key *p, uint64_t bucket,
                                     uint64_t fingerprint);

struct partial_key_location {
  uint64_t fingerprint, bucket, alternate;
};

/* How a bucket is read and written. */
enum bucket_form {
  WHOLE_BYTES, /* as lanes of a word, from a whole byte on: even widths up to 16 */
  LANES,       /* as lanes of a word, from half a byte on, or a whole one: odd widths up to 15 */
  WIDE,        /* it does not fit in a word */
  BUCKET_FORMS
};

/* The hot operations of a kind, for one instruction set and form of buckets. */
struct partial_key_calls {
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  struct insert_calls inserts;
  struct remove_calls removes;
  void (*contains_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
  besom_status (*put)(besom_filter *f, uint64_t fingerprint, uint64_t bucket);
};

/* What distinguishes the kinds. */
struct partial_key_policy {
  alternate_bucket alternate;
  uint32_t inline_layout;                                 /* of besom_abi.h */
  const struct partial_key_calls *calls[3][BUCKET_FORMS]; /* by instruction set and form */
};

/* The values of the options; vacuum has only the first. */
struct partial_key_values {
  uint64_t isa, layout; /* of layout, 1 is windows */
};

/* The chunks of a vacuum filter, by the lowest bits of the fingerprint. Also in besom_inline.h. */
struct chunks {
  uint64_t start_mask[CHUNK_SIZES]; /* of the bits of a bucket: the first bucket of its chunk */
  uint64_t last[CHUNK_SIZES];       /* the first bucket of the last chunk */
  uint64_t last_size[CHUNK_SIZES];
  uint64_t size[CHUNK_SIZES]; /* of any other chunk: a power of two */
};

/* The struct of cf and vacuum. */
struct partial_key {
  besom_filter head;
  struct cuckoo_table table;
  uint64_t fingerprints; /* number of different ones: 2^width - 1 */
  const struct partial_key_policy *policy;
  const struct partial_key_calls *calls;
  enum isa isa;
  uint64_t kicks, longest_chain;
  struct chunks chunks; /* vacuum */
};

static inline struct partial_key *partial_key(besom_filter *f) {
  return (struct partial_key *)f;
}

static inline const struct partial_key *const_partial_key(const besom_filter *f) {
  return (const struct partial_key *)f;
}

/*
 * The lower half of the digest gives the bucket, so that ascending digests come in a random order
 * of buckets. The upper half gives the fingerprint: 1 to 2^width - 1, since 0 is an empty slot.
 */
ALWAYS_INLINE uint64_t home_bucket(const struct partial_key *p, besom_digest d) {
  return scaled(d.lo, p->table.buckets);
}

ALWAYS_INLINE uint64_t fingerprint_of(const struct partial_key *p, besom_digest d) {
  return 1 + scaled(d.hi, p->fingerprints);
}

ALWAYS_INLINE void partial_key_fetch(const struct partial_key *p, uint64_t bucket) {
  __builtin_prefetch(p->table.bits + bucket * p->table.bucket_bits / 8);
}

/* ------------------------------------------------------------------ alternate buckets */

/*
 * The alternate bucket among an even number of buckets: h - bucket modulo buckets, where h is an
 * odd number derived from the fingerprint. Even buckets pair with odd ones, so no bucket is its own
 * alternate, and any even number of buckets works.
 *
 * h is the square of a multiple of the fingerprint, scaled to the buckets. It must not be a linear
 * function: two moves would go a multiple of one step, and kicks could not leave an overfull part
 * of the table. If several fingerprints had the same h, all their keys would share the same pairs
 * of buckets, so with short fingerprints inserts would fail. The multiplier was searched for: with
 * it the fingerprints of 4 and 5 bits share few pairs, also in the chunks of vacuum.
 */
ALWAYS_INLINE uint64_t alternate_within(uint64_t bucket, uint64_t fingerprint, uint64_t buckets) {
  uint64_t x = fingerprint * UINT64_C(0x3f1da089), h = scaled(x * x, buckets) | 1;
  uint64_t other = h - bucket, wrapped = other + buckets;
  return wrapped < buckets ? wrapped : other;
}

static inline uint64_t cf_alternate(const struct partial_key *p, uint64_t bucket,
                                    uint64_t fingerprint) {
  return alternate_within(bucket, fingerprint, p->table.buckets);
}

/* The same within a chunk. */
static inline uint64_t vacuum_alternate(const struct partial_key *p, uint64_t bucket,
                                        uint64_t fingerprint) {
  const struct chunks *c = &p->chunks;
  unsigned i = fingerprint % CHUNK_SIZES;
  uint64_t start = bucket & c->start_mask[i], last = c->last[i];
  uint64_t size = c->size[i], last_size = c->last_size[i];
  __asm__("" : "+r"(size), "+r"(last_size)); /* else gcc branches, and small tables mispredict */
  size = start >= last ? last_size : size;
  start = start >= last ? last : start;
  return start + alternate_within(bucket - start, fingerprint, size);
}

/* ------------------------------------------------------------------ operations of kind.h */

besom_status besom__partial_key_create(besom_filter *f, const besom_config *config);
besom_status besom__partial_key_create_like(besom_filter *f, const besom_filter *model);
besom_status besom__partial_key_build_like(besom_filter *f, const besom_filter *model,
                                           const besom_source *yes, const besom_source *no,
                                           const besom_progress *progress);
void besom__partial_key_destroy(besom_filter *f);
const struct query_calls *besom__partial_key_query_calls(const besom_filter *f);
const struct insert_calls *besom__partial_key_insert_calls(const besom_filter *f);
const struct remove_calls *besom__partial_key_remove_calls(const besom_filter *f);
bool besom__partial_key_contains(const besom_filter *f, besom_digest d);
void besom__partial_key_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap);
void besom__partial_key_prefetch(const besom_filter *f, besom_digest d);
bool besom__partial_key_inline_facts(const besom_filter *f, uint32_t layout,
                                     besom_inline_facts *out);
besom_status besom__partial_key_insert(besom_filter *f, besom_digest d);
besom_status besom__partial_key_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done);
besom_status besom__partial_key_insert_count(besom_filter *f, besom_digest d, uint64_t n);
besom_status besom__partial_key_remove(besom_filter *f, besom_digest d);
besom_status besom__partial_key_count(const besom_filter *f, besom_digest d, uint64_t *n);
besom_status besom__partial_key_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into);
void besom__partial_key_iter_start(const besom_filter *f, besom_iter *iter);
besom_status besom__partial_key_iter_next(const besom_filter *f, besom_iter *iter,
                                          besom_entry *entry);
double besom__partial_key_bits_per_key(double keys, double *fpr);
void besom__partial_key_stats(const besom_filter *f, struct stats_out *out);
const char *besom__partial_key_validate(const besom_filter *f);
void besom__partial_key_save(const besom_filter *f, struct sections_out *out);
besom_status besom__partial_key_load(besom_filter *f, struct sections_in *in);

/* The tables of both kinds, whose policies are struct partial_key_policy. */
extern const struct change_ops besom__partial_key_change;
extern const struct whole_ops besom__partial_key_whole;
extern const struct build_ops besom__partial_key_build;
extern const struct file_ops besom__partial_key_file;

/* All members of both but name, summary, policy and options. */
#define PARTIAL_KEY_KIND                                                                \
  .max_copies = MAX_COPIES, .size = sizeof(struct partial_key), .full_by_chance = true, \
  .create = besom__partial_key_create, .create_like = besom__partial_key_create_like,   \
  .destroy = besom__partial_key_destroy, .stats = besom__partial_key_stats,             \
  .bits_per_key = besom__partial_key_bits_per_key,                                      \
  .query = {.calls = besom__partial_key_query_calls,                                    \
            .contains = besom__partial_key_contains,                                    \
            .contains_many = besom__partial_key_contains_many,                          \
            .prefetch = besom__partial_key_prefetch,                                    \
            .inline_facts = NOT_IN_MODULE(besom__partial_key_inline_facts),             \
            .count = besom__partial_key_count},                                         \
  .change = &besom__partial_key_change, .whole = &besom__partial_key_whole,             \
  .build = &besom__partial_key_build, .file = &besom__partial_key_file

/* ------------------------------------------------------------------ for partial_key_calls.c */

/* Puts the fingerprint into any of its slots. FULL: nothing has changed. */
besom_status besom__partial_key_put_wide(besom_filter *f, uint64_t fingerprint, uint64_t bucket);

/*
 * The same if both buckets are full. Finds a shortest path to an empty slot by breadth-first
 * search, then moves the fingerprints on it.
 */
besom_status besom__partial_key_put_by_search(besom_filter *f, uint64_t fingerprint,
                                              uint64_t bucket);

/* Counts the fingerprints that one insert moved. */
static inline void partial_key_count_kicks(struct partial_key *p, unsigned moved) {
  p->kicks += moved;
  if (moved > p->longest_chain) p->longest_chain = moved;
}

#endif
