/*
 * Runs a stream of keys through a filter and measures the time, by single calls or by the _many
 * calls. Keys are generated in chunks while the clock is stopped, so that only the filter's work is
 * measured.
 */
#ifndef BENCH_HARNESS_DRIVER_H
#define BENCH_HARNESS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "besom.h"
#include "workloads/key_stream.h"

typedef enum call_style { SINGLE, BATCH, CALL_STYLES } call_style;

/* The keys of a chunk and their answers. Reused, so that its pages are warm. */
typedef struct driver {
  uint64_t *keys;
  uint64_t *bitmap;
} driver;

driver driver_create(void);
void driver_free(driver *d);

/* Inserts keys number first to first + n - 1 of the stream. Returns the seconds. */
double drive_insert(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n, call_style style);

/* Builds a filter of the first n keys of the stream by besom_build. Returns the seconds. */
double drive_build(driver *d, const besom_config *config, const key_stream *stream, uint64_t n,
                   besom_filter **out);

/*
 * Builds a filter by besom_build from n uniform digests in ascending order, derived from the seed.
 * There are no keys for these digests.
 */
double drive_build_sorted(const besom_config *config, uint64_t seed, uint64_t n,
                          besom_filter **out);

/*
 * Creates a filter with the first n keys of the stream. A kind without insert is built from them.
 */
besom_filter *drive_filled(driver *d, const besom_config *config, const key_stream *stream,
                           uint64_t n);

/* Queries the first n keys of the stream. Returns the seconds and the number of yes answers. */
double drive_contains(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                      call_style style, uint64_t *hits);

/* Removes keys number first to first + n - 1 of the stream. Returns the seconds. */
double drive_remove(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n);

/* Counts each of the first n keys of the stream. Returns the seconds and the sum of the counts. */
double drive_count(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                   uint64_t *sum);

/* Merges two filters. Returns the seconds. */
double drive_merge(const besom_filter *a, const besom_filter *b, besom_filter **out);
/*
 * Checks that measured speed was not bought with wrong answers: fails unless the filter is valid,
 * counts n keys and contains the first n keys of the stream.
 */
void drive_check(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n);

/* Kinds that insert only with a store cannot be driven alone. */
static inline bool needs_store(const besom_kind_info *kind) {
  return kind->abilities & BESOM_CAN_MATCH && !(kind->abilities & BESOM_CAN_INSERT);
}

#endif
