/*
 * What the tests of exaf, taf, utaf and broom share: a filter bound to a store, and random
 * operations on both.
 */
#ifndef BESOM_TESTS_SLOT_META_SUBJECT_H
#define BESOM_TESTS_SLOT_META_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/counters.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

static const uint8_t seed[16] = "telescoping seed";
static const char *const kinds[] = {"exaf", "taf", "utaf", "broom"};
static const char *const other_options[] = {"heads=no", "heads=no", "heads=no", "rounds=amortized"};
enum { EXAF, TAF, UTAF, BROOM, KINDS };

/* ------------------------------------------------------------------ a filter and its store */

/* The keys of a bucket, in order. */
typedef struct list {
  uint64_t *keys;
  size_t n;
} list;

typedef struct subject {
  besom_filter *f;
  list *store; /* by bucket, which is the quotient */
  size_t slots;
  uint64_t *members; /* all keys, in any order */
  size_t n;
  size_t reads, fail_at;
  bool published; /* a report need not fix the key */
} subject;

static inline besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                                     besom_digest *digest) {
  subject *s = ctx;
  if (++s->reads == s->fail_at) return BESOM_IO;
  assert_true(match->bucket < s->slots && match->rank < s->store[match->bucket].n);
  *digest = besom_hash_u64(f, s->store[match->bucket].keys[match->rank]);
  return BESOM_OK;
}

static inline void bind_filter(subject *s) {
  assert_int_equal(besom_bind(s->f, &(besom_reverse){digest_of, s}), BESOM_OK);
}

static inline void subject_open(subject *s, const char *kind, size_t slots, uint32_t width,
                                const char *options) {
  besom_config config = {
      .kind = kind, .slots = slots, .width = width, .seed = seed, .options = options};
  *s = (subject){.slots = slots, .published = options && strstr(options, "form=published")};
  assert_int_equal(besom_create(&config, &s->f), BESOM_OK);
  s->store = heap_array(slots, sizeof *s->store);
  s->members = heap_array(slots, sizeof *s->members);
  bind_filter(s);
}

static inline void subject_close(subject *s) {
  besom_free(s->f);
  for (size_t i = 0; i < s->slots; i++) free(s->store[i].keys);
  free(s->store);
  free(s->members);
}

static inline besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static inline void assert_none_lost(const subject *s) {
  const char *reason = NULL;
  if (besom_validate(s->f, &reason) != BESOM_OK) fail_msg("%s", reason);
  assert_int_equal(stats_of(s->f).keys, s->n);
  size_t lost = 0;
  for (size_t i = 0; i < s->n; i++) lost += !besom_contains_u64(s->f, s->members[i]);
  assert_int_equal(lost, 0);
}

/* ------------------------------------------------------------------ operations */

static inline void put(subject *s, uint64_t key) {
  besom_match match;
  besom_status status = besom_insert_at(s->f, besom_hash_u64(s->f, key), 0, &match);
  if (status == BESOM_FULL || (status == BESOM_IO && s->fail_at)) return;
  assert_int_equal(status, BESOM_OK);
  list *l = &s->store[match.bucket];
  assert_int_equal(match.rank, l->n);
  l->keys = heap_resize(l->keys, (l->n + 1) * sizeof *l->keys);
  l->keys[l->n++] = key;
  s->members[s->n++] = key;
}

/* The match of the key itself, found as a guard finds it: by comparing all matches. */
static inline besom_match own_match(subject *s, uint64_t key) {
  besom_match matches[4096];
  size_t total = 0;
  assert_int_equal(besom_matches(s->f, besom_hash_u64(s->f, key), matches, 4096, &total), BESOM_OK);
  for (size_t i = 0; i < total; i++)
    if (s->store[matches[i].bucket].keys[matches[i].rank] == key) return matches[i];
  fail_msg("a member does not match");
  return (besom_match){0, 0};
}

static inline void take_out(subject *s, size_t i) {
  besom_match match = own_match(s, s->members[i]);
  besom_status status = besom_remove_at(s->f, &match);
  if (status == BESOM_IO && s->fail_at) return;
  assert_int_equal(status, BESOM_OK);
  list *l = &s->store[match.bucket];
  memmove(l->keys + match.rank, l->keys + match.rank + 1, (--l->n - match.rank) * sizeof *l->keys);
  s->members[i] = s->members[--s->n];
}

static inline void query_and_adapt(subject *s, uint64_t key) {
  if (!besom_contains_u64(s->f, key)) return;
  besom_status status = besom_adapt_u64(s->f, key);
  if (status == BESOM_OK)
    assert_true(s->published || !besom_contains_u64(s->f, key));
  else
    assert_true(status == BESOM_RESERVE_FULL || (status == BESOM_IO && s->fail_at));
}

static inline void save_and_load(subject *s) {
  memory_sink sink;
  memory_sink_init(&sink);
  assert_int_equal(besom_save(s->f, &sink.api), BESOM_OK);
  besom_free(s->f);
  assert_int_equal(besom_load(sink.data, sink.len, NULL, &s->f), BESOM_OK);
  memory_sink_close(&sink);
  bind_filter(s);
}

static inline void one_operation(subject *s, random_stream *random, uint64_t step, bool rising) {
  uint64_t dice = random_below(random, 100);
  s->reads = 0;
  s->fail_at = random_below(random, 10) ? 0 : 1 + (size_t)random_below(random, 12);
  if (dice < 35 && (dice < 28) == rising)
    put(s, key_u64(MEMBERS, step));
  else if (dice < 35 && s->n)
    take_out(s, (size_t)random_below(random, s->n));
  else if (dice < 99)
    query_and_adapt(s, key_u64(NEGATIVES, random_below(random, 400 * s->slots)));
  else if (random_below(random, 20 + s->slots / 50) == 0)
    save_and_load(s);
}

/*
 * Random operations. Then adapts until blocks overflow, inserts until the filter is full, removes
 * until it is half empty.
 */
static inline void interleave(const char *kind, size_t slots, uint32_t width, const char *options) {
  subject s;
  random_stream random = {slots + width};
  subject_open(&s, kind, slots, width, options);
  size_t steps = 1500 + 6 * slots;
  for (size_t step = 0; step < steps; step++) {
    one_operation(&s, &random, step, step < steps * 2 / 3);
    if (step % (1 + steps / 8) == 0) assert_none_lost(&s);
  }
  s.fail_at = 0;
  for (size_t i = 0; i < (slots < 100000 ? 40 : 12) * slots; i++)
    query_and_adapt(&s, key_u64(NEGATIVES, i)); /* until blocks overflow */
  assert_none_lost(&s);
  for (size_t i = 0; s.n < s.slots && i < slots; i++) put(&s, key_u64(MORE_MEMBERS, i));
  assert_none_lost(&s);
  assert_int_equal(stats_of(s.f).keys, stats_of(s.f).capacity);
  while (s.n > slots / 2) take_out(&s, (size_t)random_below(&random, s.n));
  assert_none_lost(&s);
  subject_close(&s);
}

#endif
