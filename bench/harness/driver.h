/*
 * Puts a stream of keys through a filter and takes the time, by single calls or by the _many calls. Keys
 * are generated in chunks while the clock stands still, so that only the filter's work is charged.
 */
#ifndef BENCH_HARNESS_DRIVER_H
#define BENCH_HARNESS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "besom.h"
#include "workloads/key_stream.h"

typedef enum call_style { SINGLE, BATCH, CALL_STYLES } call_style;

/* The keys of a chunk and their answers; made once and used again, for its pages should be warm. */
typedef struct driver {
  uint64_t *keys;
  uint64_t *bitmap;
} driver;

driver driver_create(void);
void driver_free(driver *d);

/* Inserts keys number first to first + n - 1 of the stream. Returns the seconds. */
double drive_insert(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n, call_style style);

/* Makes a filter of the first n keys of the stream by besom_build. Returns the seconds. */
double drive_build(driver *d, const besom_config *config, const key_stream *stream, uint64_t n,
                   besom_filter **out);

/* The same by besom_build_sorted, of n uniform digests that the seed gives: keys that nobody knows. */
double drive_build_sorted(const besom_config *config, uint64_t seed, uint64_t n,
                          besom_filter **out);

/* A new filter that holds the first n keys of the stream; of a kind that has no insert: built of them. */
besom_filter *drive_filled(driver *d, const besom_config *config, const key_stream *stream,
                           uint64_t n);

/* Asks for the first n keys of the stream. Returns the seconds, and how many were answered yes. */
double drive_contains(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                      call_style style, uint64_t *hits);

/* Takes keys number first to first + n - 1 of the stream out again. Returns the seconds. */
double drive_remove(driver *d, besom_filter *f, const key_stream *stream, uint64_t first,
                    uint64_t n);

/* Asks how often each of the first n keys of the stream is in. Returns the seconds, and the sum. */
double drive_count(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n,
                   uint64_t *sum);

/* Makes one filter of two. Returns the seconds. */
double drive_merge(const besom_filter *a, const besom_filter *b, besom_filter **out);
/* A fast wrong table is no table: fails unless the filter is valid, counts n items, and has the first n of the stream.
 */
void drive_check(driver *d, const besom_filter *f, const key_stream *stream, uint64_t n);

/* Kinds that take no key without a store behind them cannot be driven alone. */
static inline bool needs_store(const besom_kind_info *kind) {
  return kind->abilities & BESOM_CAN_MATCH && !(kind->abilities & BESOM_CAN_INSERT);
}

#endif
