#include "workloads/key_stream.h"

#include <string.h>

/*
 * Members have indexes below ABSENT, absent keys have indexes from ABSENT on. random_at is a
 * bijection of the index, so the two sets are disjoint.
 */
#define ABSENT ((uint64_t)1 << 63)

uint64_t bench_seed = FIRST_BENCH_SEED;

uint64_t derive_seed(uint64_t seed, seed_purpose new_purpose) {
  return random_at(~seed, new_purpose);
}

static void generate_members(const key_stream *stream, uint64_t first, size_t n, uint64_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = random_at(stream->seed, stream->skipped + first + i);
}

key_stream stream_members(uint64_t seed) {
  return (key_stream){.generate = generate_members, .seed = seed};
}

static void generate_absent(const key_stream *stream, uint64_t first, size_t n, uint64_t *out) {
  generate_members(stream, ABSENT + first, n, out);
}

key_stream stream_absent(uint64_t seed) {
  return (key_stream){.generate = generate_absent, .seed = seed};
}

static void generate_lookups(const key_stream *stream, uint64_t first, size_t n, uint64_t *out) {
  uint64_t picking = derive_seed(stream->seed, SEED_LOOKUPS);
  for (size_t i = 0; i < n; i++) {
    uint64_t member = random_below(random_at(picking, first + i), stream->members);
    out[i] = random_at(stream->seed, member);
  }
}

key_stream stream_lookups(uint64_t seed, uint64_t members) {
  return (key_stream){.generate = generate_lookups, .seed = seed, .members = members};
}

static void generate_zipf_absent(const key_stream *stream, uint64_t first, size_t n,
                                 uint64_t *out) {
  uint64_t ranking = derive_seed(stream->seed, SEED_RANKS);
  for (size_t i = 0; i < n; i++) {
    uint64_t rank = zipf_rank(&stream->popularity, random_at(ranking, first + i));
    out[i] = random_at(stream->seed, ABSENT + rank - 1);
  }
}

key_stream stream_zipf_absent(uint64_t seed, double s, uint64_t universe) {
  return (key_stream){
      .generate = generate_zipf_absent, .seed = seed, .popularity = zipf_create(s, universe)};
}

static void generate_array(const key_stream *stream, uint64_t first, size_t n, uint64_t *out) {
  memcpy(out, stream->keys + first, n * sizeof *out);
}

key_stream stream_array(const uint64_t *keys) {
  return (key_stream){.generate = generate_array, .keys = keys};
}

/* The set is a window that slides along the members. */
static key_stream members_from(const churn *c, uint64_t skipped) {
  key_stream stream = stream_members(c->seed);
  stream.skipped = skipped;
  return stream;
}

key_stream churn_members(const churn *c, uint64_t turns) {
  return members_from(c, turns * c->replaced);
}

key_stream churn_leaving(const churn *c, uint64_t turn) {
  return members_from(c, (turn - 1) * c->replaced);
}

key_stream churn_joining(const churn *c, uint64_t turn) {
  return members_from(c, c->members + (turn - 1) * c->replaced);
}

void hash_seed(uint64_t seed, uint8_t out[16]) {
  uint64_t hashing = derive_seed(seed, SEED_HASHES);
  for (int i = 0; i < 16; i++)
    out[i] = (uint8_t)(random_at(hashing, (uint64_t)i / 8) >> (8 * (i % 8)));
}
