/*
 * Which keys are inserted and asked. Every stream of keys is a pure function of (seed, index): it can be
 * made again, from anywhere, in pieces, and no set of keys need be kept to know who is a member.
 */
#ifndef BENCH_WORKLOADS_KEY_STREAM_H
#define BENCH_WORKLOADS_KEY_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "random.h"
#include "zipf.h"

/* What all random numbers of a measurement come from, so that it can be repeated. */
enum { BENCH_SEED = 0xbe50 };

typedef struct key_stream {
  /* Writes keys number first to first + n - 1. */
  void (*generate)(const struct key_stream *stream, uint64_t first, size_t n, uint64_t *out);
  uint64_t seed;
  uint64_t skipped;     /* of churn's streams: members of the seed before the first */
  uint64_t members;     /* of stream_lookups */
  zipf popularity;      /* of stream_zipf_absent */
  const uint64_t *keys; /* of stream_array */
} key_stream;

/* The keys to insert: uniform, all different. */
key_stream stream_members(uint64_t seed);

/* Uniform keys, all different, none of them among the members of the same seed. */
key_stream stream_absent(uint64_t seed);

/* Members, chosen uniformly with repetition from the first so many. */
key_stream stream_lookups(uint64_t seed, uint64_t members);

/*
 * Some of the stream_absent of the same seed, with repetition: its first `universe` keys, the k-th of them (from 1)
 * k^-s times as often as the first. Keys look random whatever their rank. universe: up to 2^40; s: 0 or more.
 */
key_stream stream_zipf_absent(uint64_t seed, double s, uint64_t universe);

/* Keys that are in memory, and stay there. */
key_stream stream_array(const uint64_t *keys);

/*
 * A set that changes. It starts as the first `members` of stream_members; at every turn, from number 1 on, the
 * `replaced` (at most all) that are in it for the longest time leave and as many come that never were in it.
 */
typedef struct churn {
  uint64_t seed, members, replaced;
} churn;

/* Who is in the set after so many turns, `members` keys; who leaves and who comes at a turn, `replaced` keys each. */
key_stream churn_members(const churn *c, uint64_t turns);
key_stream churn_leaving(const churn *c, uint64_t turn);
key_stream churn_coming(const churn *c, uint64_t turn);

/* Turns a seed into one for another purpose, whose numbers have nothing to do with those of the first. */
typedef enum purpose {
  PICKING = 1,  /* of members to look up */
  HASHING = 2,  /* seeds of filters */
  RANKING = 3,  /* how popular who is that is asked next */
  TOSSING = 4,  /* whose turn it is */
  PLACING = 5,  /* what comes where in a group */
  MEASURING = 6 /* how long a scan is */
} purpose;

uint64_t derive_seed(uint64_t seed, purpose for_what);

/* The byte string that an integer key stands for in besom. */
static inline void key_bytes(uint64_t key, uint8_t out[8]) {
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)(key >> (8 * i));
}

/* A besom_config.seed for this seed, so that a run can be repeated to the bit. */
void hash_seed(uint64_t seed, uint8_t out[16]);

#endif
