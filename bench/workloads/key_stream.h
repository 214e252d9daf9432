/*
 * Streams of keys to insert and to query. A stream is a pure function of (seed, index). It can be
 * generated again, from any index, in chunks, and no key has to be stored to know whether it is a
 * member.
 */
#ifndef BENCH_WORKLOADS_KEY_STREAM_H
#define BENCH_WORKLOADS_KEY_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "random.h"
#include "zipf.h"

/*
 * The source of all random numbers of a measurement, so that a run can be repeated. besom-bench run
 * changes bench_seed between runs of one claim; nothing else does.
 */
enum { FIRST_BENCH_SEED = 0xbe50 };
extern uint64_t bench_seed;
#define BENCH_SEED bench_seed

typedef struct key_stream {
  /* Writes keys number first to first + n - 1. */
  void (*generate)(const struct key_stream *stream, uint64_t first, size_t n, uint64_t *out);
  uint64_t seed;
  uint64_t skipped;     /* for churn: members of the seed before the first one */
  uint64_t members;     /* for stream_lookups */
  zipf popularity;      /* for stream_zipf_absent */
  const uint64_t *keys; /* for stream_array */
} key_stream;

/* Keys to insert: uniform and distinct. */
key_stream stream_members(uint64_t seed);

/* Uniform distinct absent keys: none of them is a member of the same seed. */
key_stream stream_absent(uint64_t seed);

/* Members drawn uniformly, with repetition, from the first `members` of the seed. */
key_stream stream_lookups(uint64_t seed, uint64_t members);

/*
 * Absent keys with repetition: the first `universe` keys of stream_absent with the same seed. The
 * k-th key, from 1, is drawn k^-s times as often as the first. Keys look random at every rank.
 * universe: up to 2^40; s: 0 or more.
 */
key_stream stream_zipf_absent(uint64_t seed, double s, uint64_t universe);

/* Keys in memory. The array must outlive the stream. */
key_stream stream_array(const uint64_t *keys);

/*
 * A set that changes. It starts as the first `members` keys of stream_members. At each step, from
 * step 1 on, the `replaced` oldest keys leave (at most all of them), and as many new keys join. A
 * key that left never joins again.
 */
typedef struct churn {
  uint64_t seed, members, replaced;
} churn;

/*
 * The set after `turns` steps, `members` keys; the keys that leave and the keys that join at one
 * step, `replaced` keys each.
 */
key_stream churn_members(const churn *c, uint64_t turns);
key_stream churn_leaving(const churn *c, uint64_t turn);
key_stream churn_joining(const churn *c, uint64_t turn);

/*
 * Derives a seed for another purpose. Its random numbers are independent of those of the first
 * seed.
 */
typedef enum seed_purpose {
  SEED_LOOKUPS = 1,   /* members to look up */
  SEED_HASHES = 2,    /* seeds of filters */
  SEED_RANKS = 3,     /* rank of the next queried key */
  SEED_TURNS = 4,     /* which client or operation is next */
  SEED_POSITIONS = 5, /* positions within a group */
  SEED_LENGTHS = 6    /* lengths of scans */
} seed_purpose;

uint64_t derive_seed(uint64_t seed, seed_purpose new_purpose);

/* Derives besom_config.seed from a seed, so that a run can be repeated exactly. */
void hash_seed(uint64_t seed, uint8_t out[16]);

#endif
