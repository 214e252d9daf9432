#include "drive.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "timing.h"

/* Large enough for the clock, and for the caches to forget what generating the keys left there. */
enum { CHUNK = 1 << 22, BITMAP_WORDS = CHUNK / 64 };

driver driver_create(void) {
  return (driver){.keys = allocate(CHUNK, sizeof(uint64_t)), .bitmap = allocate(BITMAP_WORDS, sizeof(uint64_t))};
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

static void check_keys(besom_status status, const besom_filter *f, const char *call, uint64_t first, size_t n) {
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

double drive_insert(driver *d, besom_filter *f, const key_stream *stream, uint64_t first, uint64_t n,
                    call_style style) {
  double seconds = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, first + done, n - done);
    double start = cpu_seconds();
    besom_status status =
        style == SINGLE ? insert_singly(f, d->keys, chunk) : besom_insert_many_u64(f, d->keys, chunk, NULL);
    seconds += cpu_seconds() - start;
    check_keys(status, f, "insert", first + done, chunk);
    done += chunk;
  }
  return seconds;
}

besom_filter *drive_filled(driver *d, const besom_config *config, const key_stream *stream, uint64_t n) {
  besom_filter *f;
  check(besom_create(config, &f), "creating %s", config->kind);
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

double drive_contains(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n, call_style style,
                      uint64_t *hits) {
  double seconds = 0;
  *hits = 0;
  for (uint64_t done = 0; done < n;) {
    size_t chunk = next_chunk(d, stream, done, n - done);
    memset(d->bitmap, 0, BITMAP_WORDS * sizeof *d->bitmap); /* else its page faults would be timed */
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
