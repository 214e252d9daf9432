#include "harness/driver.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "harness/timing.h"
#include "workloads/sorted_digests.h"

/* Large enough for the clock's resolution, and to evict what key generation left in the caches. */
enum { CHUNK = 1 << 22, BITMAP_WORDS = CHUNK / 64 };

driver driver_create(void) {
  return (driver){.keys = allocate(CHUNK, sizeof(uint64_t)),
                  .bitmap = allocate(BITMAP_WORDS, sizeof(uint64_t))};
}

void driver_free(driver *d) {
  free(d->keys);
  free(d->bitmap);
  *d = (driver){0};
}

static size_t next_chunk(driver *d, const key_stream *stream, uint64_t first, uint64_t left) {
  size_t n = left < CHUNK ? (size_t)left : CHUNK;
  stream->generate(stream, first, n, d->keys);
  return n;
}

static void check_keys(besom_status status, const besom_filter *f, const char *call, uint64_t first,
                       size_t n) {
  besom_statistics stats = {.kind = "?"};
  if (status != BESOM_OK) (void)besom_stats(f, &stats);
  check(status, "%s: %s of keys number %llu to %llu", stats.kind, call, (unsigned long long)first,
        (unsigned long long)(first + n - 1));
}

static besom_status insert_singly(besom_filter *f, const uint64_t *keys, size_t n) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i++) status = besom_insert_u64(f, keys[i]);
  return status;
}

double drive_insert(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n, call_style style) {
  double seconds = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, first + done, n - done);
    double start = cpu_seconds();
    besom_status status = style == SINGLE ? insert_singly(f, d->keys, chunk)
                                          : besom_insert_many_u64(f, d->keys, chunk, NULL);
    seconds += cpu_seconds() - start;
    check_keys(status, f, "insert", first + done, chunk);
    done += chunk;
  }
  return seconds;
}

/* The keys of a stream as a source for besom_build, and the time spent on generating them. */
typedef struct stream_source {
  driver *d;
  const key_stream *stream;
  uint64_t n, given;
  size_t at, chunk;
  besom_u64_key key;
  double seconds;
} stream_source;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  stream_source *s = ctx;
  if (s->given == s->n) return BESOM_END;
  if (s->at == s->chunk) {
    double start = cpu_seconds();
    s->chunk = next_chunk(s->d, s->stream, s->given, s->n - s->given);
    s->at = 0;
    s->seconds += cpu_seconds() - start;
  }
  s->key = besom_u64(s->d->keys[s->at++]);
  s->given++;
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

double drive_build(driver *d, const besom_config *config, const key_stream *stream, uint64_t n,
                   besom_filter **out) {
  stream_source s = {.d = d, .stream = stream, .n = n};
  besom_source source = {.next = next_key, .size_hint = n, .ctx = &s};
  double start = cpu_seconds();
  check(besom_build(config, &(besom_input){.yes = &source}, out), "building %s", config->kind);
  return cpu_seconds() - start - s.seconds;
}

/* Sorted digests for besom_build, and the time spent on generating them. */
typedef struct digest_source {
  sorted_digests digests;
  double seconds;
} digest_source;

static besom_status next_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_source *s = ctx;
  sorted_digests *from = &s->digests;
  if (from->given == from->n) return BESOM_END;
  double start = cpu_seconds();
  for (*n = 0; *n < cap && from->given < from->n;) out[(*n)++] = sorted_digests_next(from);
  s->seconds += cpu_seconds() - start;
  return BESOM_OK;
}

double drive_build_sorted(const besom_config *config, uint64_t seed, uint64_t n,
                          besom_filter **out) {
  digest_source s = {.digests = {.seed = seed, .n = n}};
  besom_digest_source source = {.next = next_digests, .size_hint = n, .ctx = &s};
  double start = cpu_seconds();
  check(besom_build(config, &(besom_input){.digests = &source}, out),
        "building %s from sorted digests", config->kind);
  return cpu_seconds() - start - s.seconds;
}

besom_filter *drive_filled(driver *d, const besom_config *config, const key_stream *stream,
                           uint64_t n) {
  besom_filter *f;
  besom_status status = besom_create(config, &f);
  if (status == BESOM_UNSUPPORTED) {
    drive_build(d, config, stream, n, &f);
    return f;
  }
  check(status, "creating %s", config->kind);
  drive_insert(d, f, stream, 0, n, BATCH);
  return f;
}

static uint64_t count_singly(const besom_filter *f, const uint64_t *keys, size_t n) {
  uint64_t hits = 0;
  for (size_t i = 0; i < n; i++) hits += besom_contains_u64(f, keys[i]);
  return hits;
}

static uint64_t count_bits(const uint64_t *bitmap, size_t n) {
  uint64_t bits = 0;
  for (size_t i = 0; i < (n + 63) / 64; i++) bits += (uint64_t)__builtin_popcountll(bitmap[i]);
  return bits;
}

double drive_contains(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                      call_style style, uint64_t *hits) {
  double seconds = 0;
  *hits = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, done, n - done);
    memset(d->bitmap, 0, BITMAP_WORDS * sizeof *d->bitmap); /* else page faults would be timed */
    besom_status status = BESOM_OK;
    double start = cpu_seconds();
    if (style == SINGLE)
      *hits += count_singly(f, d->keys, chunk);
    else
      status = besom_contains_many_u64(f, d->keys, chunk, d->bitmap);
    seconds += cpu_seconds() - start;
    check_keys(status, f, "contains", done, chunk);
    if (style == BATCH) *hits += count_bits(d->bitmap, chunk);
    done += chunk;
  }
  return seconds;
}

double drive_remove(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n) {
  double seconds = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, first + done, n - done);
    besom_status status = BESOM_OK;
    double start = cpu_seconds();
    for (size_t i = 0; i < chunk && status == BESOM_OK; i++)
      status = besom_remove_u64(f, d->keys[i]);
    seconds += cpu_seconds() - start;
    check_keys(status, f, "remove", first + done, chunk);
    done += chunk;
  }
  return seconds;
}

double drive_count(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                   uint64_t *sum) {
  double seconds = 0;
  *sum = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, done, n - done);
    besom_status status = BESOM_OK;
    uint64_t count = 0;
    double start = cpu_seconds();
    for (size_t i = 0; i < chunk && status == BESOM_OK; i++) {
      status = besom_count_u64(f, d->keys[i], &count);
      *sum += count;
    }
    seconds += cpu_seconds() - start;
    check_keys(status, f, "count", done, chunk);
    done += chunk;
  }
  return seconds;
}

double drive_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  double start = cpu_seconds();
  check(besom_merge(a, b, out), "merging");
  return cpu_seconds() - start;
}

void drive_check(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n) {
  const char *reason = "";
  besom_statistics stats;
  besom_status status = besom_validate(f, &reason);
  check(status, "validating a filter (%s)", reason);
  check(besom_stats(f, &stats), "statistics of a filter");
  uint64_t found;
  drive_contains(d, f, stream, n, BATCH, &found);
  if (stats.keys != n || found != n)
    fail("%s: of %llu keys it counts %llu and finds %llu", stats.kind, (unsigned long long)n,
         (unsigned long long)stats.keys, (unsigned long long)found);
}
