/*
 * besom-bench micro --p99: every call of an operation is timed alone. The fences around a call keep
 * the processor from overlapping it with the next one, so these times are longer than the averages
 * of a loop.
 */
#include <stdlib.h>

#include "fail.h"
#include "harness/micro_case.h"

/* Few keys at a time: they must not evict the filter from the caches. */
enum { KEYS_AT_ONCE = 1 << 10, MAX_TIMED_QUERIES = 1 << 20 };

static const double share = 0.99;

typedef bool timed_call(besom_filter *f, uint64_t key);

static bool call_insert(besom_filter *f, uint64_t key) {
  return besom_insert_u64(f, key) == BESOM_OK;
}
static bool call_remove(besom_filter *f, uint64_t key) {
  return besom_remove_u64(f, key) == BESOM_OK;
}
static bool call_contains(besom_filter *f, uint64_t key) {
  return besom_contains_u64(f, key);
}

/* Calls with keys number first to first + n - 1 of the stream. Returns how many returned true. */
static inline uint64_t time_calls(timed_call *call, besom_filter *f, const key_stream *stream,
                                  uint64_t first, uint64_t n, latency *times) {
  uint64_t keys[KEYS_AT_ONCE], hits = 0;
  for (uint64_t done = 0; done < n;) {
    size_t count = n - done < KEYS_AT_ONCE ? (size_t)(n - done) : KEYS_AT_ONCE;
    stream->generate(stream, first + done, count, keys);
    for (size_t i = 0; i < count; i++) {
      uint64_t key = keys[i], start = ticks_now();
      hits += call(f, key);
      latency_add(times, start, ticks_now());
    }
    done += count;
  }
  return hits;
}

static void record_p99(micro_case *s, operation op, latency *times, const tick_clock *clock) {
  samples_add(&s->p99[op], latency_quantile(times, share, clock));
}

static void expect_all(const micro_case *s, const char *what, uint64_t done, uint64_t n) {
  if (done != n)
    fail("%s: %llu of %llu calls of %s failed", s->config.kind, (unsigned long long)(n - done),
         (unsigned long long)n, what);
}

static void time_inserts(micro_case *s, const micro_plan *p, uint64_t seed, const tick_clock *clock,
                         besom_filter *f) {
  uint64_t keys = micro_plan_items(p), last = micro_plan_last_items(p);
  key_stream members = stream_members(seed);
  latency all = latency_create(), end = latency_create();
  uint64_t done = time_calls(call_insert, f, &members, 0, keys - last, &all);
  done += time_calls(call_insert, f, &members, keys - last, last, &end);
  expect_all(s, "insert", done, keys);
  latency_merge(&all, &end);
  record_p99(s, INSERT, &all, clock);
  record_p99(s, INSERT_LAST, &end, clock);
  latency_free(&all);
  latency_free(&end);
}

static void time_queries(micro_case *s, const micro_plan *p, uint64_t seed, const tick_clock *clock,
                         besom_filter *f) {
  uint64_t keys = micro_plan_items(p), n = micro_plan_queries(p);
  if (n > MAX_TIMED_QUERIES) n = MAX_TIMED_QUERIES;
  key_stream absent = stream_absent(seed), lookups = stream_lookups(seed, keys);
  latency negative = latency_create(), positive = latency_create();
  (void)time_calls(call_contains, f, &absent, 0, n, &negative);
  expect_all(s, "contains", time_calls(call_contains, f, &lookups, 0, n, &positive), n);
  record_p99(s, NEGATIVE, &negative, clock);
  record_p99(s, POSITIVE, &positive, clock);
  latency_free(&negative);
  latency_free(&positive);
}

static void time_removes(micro_case *s, const micro_plan *p, uint64_t seed, const tick_clock *clock,
                         besom_filter *f) {
  uint64_t last = micro_plan_last_items(p), first = micro_plan_items(p) - last;
  key_stream members = stream_members(seed);
  latency times = latency_create();
  expect_all(s, "remove", time_calls(call_remove, f, &members, first, last, &times), last);
  record_p99(s, REMOVE, &times, clock);
  latency_free(&times);
}

void micro_case_measure_p99(micro_case *s, const micro_plan *p, driver *d, uint64_t seed,
                            const tick_clock *clock) {
  besom_filter *f;
  key_stream members = stream_members(seed);
  if (s->built_whole) {
    drive_build(d, &s->config, &members, micro_plan_items(p), &f);
  } else {
    check(besom_create(&s->config, &f), "creating %s", s->config.kind);
    time_inserts(s, p, seed, clock, f);
  }
  time_queries(s, p, seed, clock, f);
  if (!s->built_whole && s->abilities & BESOM_CAN_REMOVE) time_removes(s, p, seed, clock, f);
  besom_free(f);
}
