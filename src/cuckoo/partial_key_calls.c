/*
 * The hot calls of cf and vacuum. Compiled once per kind, instruction set and form of buckets, with
 *   ALTERNATE   the function that gives the alternate bucket: cf_alternate, vacuum_alternate
 *   FORM        of enum bucket_form
 *   CALLS       the exported symbol: besom__cf_calls_avx2_lanes and so on.
 */
#include "cuckoo/partial_key.h"

#define NOINLINE static __attribute__((noinline))
#define CALL static FLATTEN

enum {
  MAX_WALK = 24, /* fingerprints displaced before the breadth-first search */
  FAR_WALK = 1,  /* in tables beyond the cache, where the search reads buckets ahead */
  NEAR_BYTES = 1 << 20,
  QUERIES_AHEAD = 32, /* keys of a batch whose buckets are prefetched */
  INSERTS_AHEAD = 16,
  CACHED_BYTES = 256 << 10, /* a table of this size is in the cache */
};

/* ------------------------------------------------------------------ buckets */

/* The lanes of a bucket are the word at this address, shifted right. Not for WIDE. */
struct bucket {
  uint8_t *at;
  unsigned shift;
};

ALWAYS_INLINE struct bucket bucket_at(const struct cuckoo_table *t, uint64_t bucket) {
  if (FORM == WHOLE_BYTES) return (struct bucket){t->bits + bucket * t->bucket_bytes, 0};
  uint64_t bit = bucket * t->bucket_bits;
  return (struct bucket){t->bits + bit / 8, bit % 8};
}

ALWAYS_INLINE uint64_t lanes_of(struct bucket b) {
  return FORM == WHOLE_BYTES ? load64(b.at) : shifted_word(b.at, b.shift);
}

/* Puts the fingerprint into an empty lane. False if there is none. */
ALWAYS_INLINE bool put_in_bucket(const struct cuckoo_table *t, struct bucket b,
                                 uint64_t fingerprint) {
  uint64_t word = load64(b.at), empty = some_zero_lane(t, word >> b.shift);
  if (!empty) return false;
  unsigned top = (unsigned)__builtin_ctzll(empty);
  store64(b.at, word | fingerprint << (top - (t->width - 1) + b.shift));
  return true;
}

ALWAYS_INLINE uint64_t partial_key_table_bytes(const struct cuckoo_table *t) {
  return t->buckets * t->bucket_bits / 8;
}

/* How many keys ahead buckets are prefetched. A small table is in the cache: none are. */
ALWAYS_INLINE size_t partial_key_fetch_ahead(const struct partial_key *p, size_t n, size_t ahead) {
  return partial_key_table_bytes(&p->table) > CACHED_BYTES ? ahead : n;
}

ALWAYS_INLINE struct partial_key_location partial_key_locate(const struct partial_key *p,
                                                             besom_digest d) {
  uint64_t fingerprint = fingerprint_of(p, d), bucket = home_bucket(p, d);
  return (struct partial_key_location){fingerprint, bucket, ALTERNATE(p, bucket, fingerprint)};
}

/* ------------------------------------------------------------------ queries */

/* Both buckets are read at once, and no branch depends on the data. */
ALWAYS_INLINE bool partial_key_has(const struct partial_key *p, besom_digest d) {
  const struct cuckoo_table *t = &p->table;
  struct partial_key_location at = partial_key_locate(p, d);
  if (FORM == WIDE) return besom__buckets_have(t, at.bucket, at.alternate, at.fingerprint);
  uint64_t wanted = at.fingerprint * t->lane_ones;
  return some_zero_lane(t, lanes_of(bucket_at(t, at.bucket)) ^ wanted) |
         some_zero_lane(t, lanes_of(bucket_at(t, at.alternate)) ^ wanted);
}

CALL bool partial_key_contains(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

CALL bool partial_key_contains_u64(const besom_filter *f, uint64_t key) {
  return partial_key_has(const_partial_key(f), xxh3_u64(&f->hasher, key));
}

CALL bool partial_key_contains_digest(const besom_filter *f, besom_digest d) {
  return partial_key_has(const_partial_key(f), d);
}

ALWAYS_INLINE void fetch_both(const struct partial_key *p, besom_digest d) {
  struct partial_key_location at = partial_key_locate(p, d);
  partial_key_fetch(p, at.bucket);
  partial_key_fetch(p, at.alternate);
}

static void partial_key_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap) {
  const struct partial_key *p = const_partial_key(f);
  size_t ahead = partial_key_fetch_ahead(p, n, QUERIES_AHEAD);
  for (size_t i = 0; ahead < n && i < ahead; i++) fetch_both(p, d[i]);
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    for (size_t j = i; j < n && j < i + 64; j++) {
      if (j + ahead < n) fetch_both(p, d[j + ahead]);
      word |= (uint64_t)partial_key_has(p, d[j]) << (j - i);
    }
    bitmap[i / 64] = word;
  }
}

/* ------------------------------------------------------------------ inserts */

/* A full bucket, and for each of its fingerprints the bucket where it can move to. */
struct crossing {
  struct bucket at;
  uint64_t word;
  uint64_t fingerprints[MAX_BUCKET_SLOTS], others[MAX_BUCKET_SLOTS];
  unsigned open; /* bit i: other bucket i has an empty slot */
};

ALWAYS_INLINE struct crossing crossing_at(const struct partial_key *p, uint64_t bucket) {
  struct crossing c = {.at = bucket_at(&p->table, bucket)};
  c.word = load64(c.at.at);
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++) {
    c.fingerprints[i] = c.word >> (c.at.shift + i * p->table.width) & p->fingerprints;
    c.others[i] = ALTERNATE(p, bucket, c.fingerprints[i]);
    uint64_t lanes = lanes_of(bucket_at(&p->table, c.others[i]));
    c.open |= (unsigned)(some_zero_lane(&p->table, lanes) != 0) << i;
  }
  return c;
}

/* Replaces the fingerprint of this lane. */
ALWAYS_INLINE void displace(const struct partial_key *p, const struct crossing *c, unsigned lane,
                            uint64_t by) {
  unsigned shift = c->at.shift + lane * p->table.width;
  store64(c->at.at, c->word ^ (c->fingerprints[lane] ^ by) << shift);
}

/* A word of the table before a fingerprint was displaced from it. */
struct displaced {
  uint8_t *at;
  uint64_t word;
};

/*
 * Both buckets are full. Displaces one fingerprint after the other until one can move to a bucket
 * with an empty slot. If the walk gets too long, undoes it and searches.
 */
NOINLINE besom_status put_by_walk(besom_filter *f, uint64_t fingerprint, uint64_t bucket) {
  struct partial_key *p = partial_key(f);
  struct displaced displaced[MAX_WALK];
  unsigned most = partial_key_table_bytes(&p->table) > NEAR_BYTES ? FAR_WALK : MAX_WALK;
  uint64_t moving = fingerprint, at = bucket;
  for (unsigned step = 0; step < most; step++) {
    struct crossing c = crossing_at(p, at);
    unsigned lane = c.open ? trailing_zeros(c.open) : (moving >> 2 ^ step) % MAX_BUCKET_SLOTS;
    displaced[step] = (struct displaced){c.at.at, c.word};
    displace(p, &c, lane, moving);
    moving = c.fingerprints[lane];
    at = c.others[lane];
    if (!c.open) continue;
    put_in_bucket(&p->table, bucket_at(&p->table, at), moving);
    partial_key_count_kicks(p, step + 1);
    f->items++;
    return BESOM_OK;
  }
  for (unsigned step = most; step--;) store64(displaced[step].at, displaced[step].word);
  return besom__partial_key_put_by_search(f, fingerprint, bucket);
}

ALWAYS_INLINE besom_status put_at(besom_filter *f, uint64_t fingerprint, uint64_t bucket) {
  const struct partial_key *p = partial_key(f);
  const struct cuckoo_table *t = &p->table;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  if (FORM == WIDE) return besom__partial_key_put_wide(f, fingerprint, bucket);
  if (!put_in_bucket(t, bucket_at(t, bucket), fingerprint)) {
    uint64_t alternate = ALTERNATE(p, bucket, fingerprint);
    if (!put_in_bucket(t, bucket_at(t, alternate), fingerprint))
      return put_by_walk(f, fingerprint, alternate);
  }
  f->items++;
  return BESOM_OK;
}

static besom_status partial_key_put(besom_filter *f, uint64_t fingerprint, uint64_t bucket) {
  return put_at(f, fingerprint, bucket);
}

CALL besom_status partial_key_insert(besom_filter *f, const void *key, size_t len) {
  return f->inserts->insert_digest(f, xxh3_bytes(&f->hasher, key, len));
}

ALWAYS_INLINE besom_status partial_key_add(besom_filter *f, besom_digest d) {
  return put_at(f, fingerprint_of(partial_key(f), d), home_bucket(partial_key(f), d));
}

CALL besom_status partial_key_insert_u64(besom_filter *f, uint64_t key) {
  return partial_key_add(f, xxh3_u64(&f->hasher, key));
}

CALL besom_status partial_key_insert_digest(besom_filter *f, besom_digest d) {
  return partial_key_add(f, d);
}

/* Most keys fit into their first bucket, so only that one is prefetched. */
static besom_status partial_key_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done) {
  const struct partial_key *p = partial_key(f);
  size_t i, ahead = partial_key_fetch_ahead(p, n, INSERTS_AHEAD);
  besom_status status = BESOM_OK;
  for (i = 0; ahead < n && i < ahead; i++) partial_key_fetch(p, home_bucket(p, d[i]));
  for (i = 0; i < n; i++) {
    if (i + ahead < n) partial_key_fetch(p, home_bucket(p, d[i + ahead]));
    status = partial_key_add(f, d[i]);
    if (UNLIKELY(status != BESOM_OK)) break;
  }
  *done = i;
  return status;
}

/* ------------------------------------------------------------------ removes */

/* From the first bucket that has it. No branch depends on which one that is. */
ALWAYS_INLINE besom_status partial_key_take(besom_filter *f, besom_digest d) {
  const struct partial_key *p = partial_key(f);
  const struct cuckoo_table *t = &p->table;
  if (FORM == WIDE) return besom__partial_key_remove(f, d);
  struct partial_key_location at = partial_key_locate(p, d);
  struct bucket home = bucket_at(t, at.bucket), other = bucket_at(t, at.alternate);
  uint64_t wanted = at.fingerprint * t->lane_ones;
  uint64_t found = some_zero_lane(t, lanes_of(home) ^ wanted),
           elsewhere = some_zero_lane(t, lanes_of(other) ^ wanted);
  if (UNLIKELY(!(found | elsewhere))) return BESOM_NOT_FOUND;
  struct bucket from = {found ? home.at : other.at, found ? home.shift : other.shift};
  unsigned top = trailing_zeros(found ? found : elsewhere);
  store64(from.at, load64(from.at) ^ at.fingerprint << (top - (t->width - 1) + from.shift));
  f->items--;
  return BESOM_OK;
}

CALL besom_status partial_key_remove_digest(besom_filter *f, besom_digest d) {
  return partial_key_take(f, d);
}

/* Integer keys have 8 bytes. */
CALL besom_status partial_key_remove_key(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len != 8))
    return f->removes->remove_digest(f, besom__xxh3_bytes(&f->hasher, key, len));
  return partial_key_take(f, xxh3_u64(&f->hasher, load64(key)));
}

/* ------------------------------------------------------------------ the exported symbol */

extern const struct partial_key_calls CALLS;

const struct partial_key_calls CALLS = {
    .queries = {.contains = partial_key_contains,
                .contains_u64 = NOT_IN_MODULE(partial_key_contains_u64),
                .contains_digest = partial_key_contains_digest},
    .inserts = {.insert = NOT_IN_READER(partial_key_insert),
                .insert_u64 = NOT_IN_READER(partial_key_insert_u64),
                .insert_digest = NOT_IN_READER(partial_key_insert_digest)},
    .removes = {.remove = NOT_IN_SMALL_CODE(partial_key_remove_key),
                .remove_digest = NOT_IN_SMALL_CODE(partial_key_remove_digest)},
    .contains_many = NOT_IN_MODULE(partial_key_contains_many),
    .insert_many = NOT_IN_READER(partial_key_insert_many),
    .put = NOT_IN_READER(partial_key_put),
};
