/* A yesno-dynamic filter and its model: two lists of digests in the order of their insertion. */
#ifndef BESOM_TESTS_YESNO_DYNAMIC_SUBJECT_H
#define BESOM_TESTS_YESNO_DYNAMIC_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "core/hash.h"
#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"
#include "support/counters.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { UNIVERSE = 160 };
enum list { NEITHER, YES, NO };

static const uint8_t seed[16] = "a dynamic seed 1";

static inline void assert_ok(besom_status status) {
  if (status != BESOM_OK) fail_msg("%s", besom_strerror(status));
}

/* ------------------------------------------------------------------ the model, also the store */

typedef struct entry {
  size_t i; /* in the universe */
  uint64_t bucket;
  enum list list;
} entry;

typedef struct model {
  besom_filter *f;
  besom_digest universe[UNIVERSE];
  enum list list[UNIVERSE];
  entry entries[UNIVERSE]; /* in the order of insertion */
  size_t n;
  uint64_t reads, fail_at; /* the call of digest_of, from 1, that returns BESOM_IO */
  bool lies;               /* digest_of gives a wrong key */
} model;

static inline entry *entry_at(model *m, besom_match at) {
  for (size_t i = 0; i < m->n; i++)
    if (m->entries[i].bucket == at.bucket && !at.rank--) return &m->entries[i];
  return NULL;
}

static inline entry *entry_of(model *m, size_t i) {
  size_t e = 0;
  while (m->entries[e].i != i) e++;
  return &m->entries[e];
}

static inline besom_match match_of(const model *m, const entry *e) {
  besom_match at = {e->bucket, 0};
  for (const entry *before = m->entries; before < e; before++)
    at.rank += before->bucket == e->bucket;
  return at;
}

static inline besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                                     besom_digest *digest) {
  model *m = ctx;
  const entry *e = entry_at(m, *match);
  assert_ptr_equal(f, m->f);
  assert_non_null(e);
  if (++m->reads == m->fail_at) return BESOM_IO;
  *digest = m->universe[e->i];
  if (m->lies) digest->hi = ~digest->hi;
  return BESOM_OK;
}

static inline void bind_model(model *m) {
  assert_ok(besom_bind(m->f, &(besom_reverse){.digest_of = digest_of, .ctx = m}));
}

/*
 * Every second digest shares its first bits with an earlier one, so that the two are hard to
 * distinguish.
 */
static inline void make_universe(model *m, uint64_t number, unsigned deepest) {
  random_stream random = {number};
  for (size_t i = 0; i < UNIVERSE; i++) {
    besom_digest d = {random_next(&random), random_next(&random)};
    unsigned depth = (unsigned)random_below(&random, deepest);
    if (i % 2) {
      besom_digest like = m->universe[random_below(&random, i)];
      uint64_t hi = depth < 64 ? ~(UINT64_MAX >> depth) : UINT64_MAX;
      uint64_t lo = depth > 64 ? ~(UINT64_MAX >> (depth - 64)) : 0;
      d = (besom_digest){(d.hi & ~hi) | (like.hi & hi), (d.lo & ~lo) | (like.lo & lo)};
    }
    m->universe[i] = d;
  }
}

static inline besom_config config_of(uint64_t slots, uint32_t width, double room) {
  return (besom_config){.kind = "yesno-dynamic",
                        .slots = slots,
                        .width = width,
                        .reserve = room,
                        .seed = seed,
                        .value_bits = 3};
}

static inline model *model_open(besom_config config, uint64_t number, unsigned deepest) {
  model *m = calloc(1, sizeof *m);
  assert_non_null(m);
  make_universe(m, number, deepest);
  assert_ok(besom_create(&config, &m->f));
  bind_model(m);
  return m;
}

static inline void model_close(model *m) {
  besom_free(m->f);
  free(m);
}

/* ------------------------------------------------------------------ changes */

static inline besom_status add(model *m, size_t i, enum list list) {
  besom_match match = {0, 0};
  besom_digest d = m->universe[i];
  besom_status status =
      list == YES ? besom_insert_at(m->f, d, i % 8, &match) : besom_no_add_at(m->f, d, &match);
  if (status == BESOM_IS_MEMBER) {
    besom_match there = match_of(m, entry_of(m, i));
    assert_true(match.bucket == there.bucket && match.rank == there.rank);
  }
  if (status != BESOM_OK) return status;
  m->entries[m->n++] = (entry){i, match.bucket, list};
  assert_int_equal(match.rank, match_of(m, &m->entries[m->n - 1]).rank);
  m->list[i] = list;
  return BESOM_OK;
}

static inline besom_status drop(model *m, size_t i) {
  entry *e = entry_of(m, i);
  besom_match at = match_of(m, e);
  besom_status other = e->list == YES ? besom_no_remove_at(m->f, &at) : besom_remove_at(m->f, &at);
  assert_int_equal(other, BESOM_NOT_FOUND);
  besom_status status = e->list == YES ? besom_remove_at(m->f, &at) : besom_no_remove_at(m->f, &at);
  if (status != BESOM_OK) return status;
  memmove(e, e + 1, (size_t)(m->entries + --m->n - e) * sizeof *e);
  m->list[i] = NEITHER;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ what must hold */

static inline const struct qtable *table_of(const model *m) {
  return &const_quotient_filter(m->f)->table;
}

/* By brute force: 1 + the longest common prefix with a key of the other list in the bucket. */
static inline unsigned needed_bits(const model *m, const entry *e) {
  const struct qtable *t = table_of(m);
  unsigned needed = 0;
  for (size_t i = 0; i < m->n; i++) {
    const entry *other = &m->entries[i];
    if (other->bucket != e->bucket || other->list == e->list) continue;
    unsigned common = common_bits(address_of(m->universe[e->i], t->slots).rest,
                                  address_of(m->universe[other->i], t->slots).rest);
    if (common + 1 - t->width > needed) needed = common + 1 - t->width;
  }
  return needed;
}

static inline void assert_entry(const model *m, const entry *e) {
  struct fingerprint fp;
  assert_true(besom__locate_match(table_of(m), match_of(m, e), &fp));
  assert_int_equal(fp.tagged, e->list == NO);
  assert_int_equal(fp.value, e->list == NO ? 0 : e->i % 8);
  assert_int_equal(fp.extension_bits, needed_bits(m, e));
}

/* The matches of a digest include its own entry. */
static inline void assert_found(const model *m, const entry *e) {
  besom_match found[UNIVERSE], own = match_of(m, e);
  besom_digest d = m->universe[e->i];
  size_t total = 0, k = 0;
  assert_ok(e->list == YES ? besom_matches(m->f, d, found, UNIVERSE, &total)
                           : besom_no_matches(m->f, d, found, UNIVERSE, &total));
  while (k < total && (found[k].bucket != own.bucket || found[k].rank != own.rank)) k++;
  assert_true(k < total);
}

static inline void assert_exact(const model *m) {
  const char *reason = NULL;
  uint64_t bitmap[UNIVERSE / 64 + 1];
  size_t yes = 0;
  if (besom_validate(m->f, &reason) != BESOM_OK) fail_msg("%s", reason);
  assert_ok(besom_contains_many_digest(m->f, m->universe, UNIVERSE, bitmap));
  for (size_t i = 0; i < UNIVERSE; i++) {
    bool says = besom_contains_digest(m->f, m->universe[i]);
    assert_int_equal(says, bitmap[i / 64] >> (i % 64) & 1);
    if (m->list[i] != NEITHER) assert_int_equal(says, m->list[i] == YES);
    yes += m->list[i] == YES;
  }
  for (size_t i = 0; i < m->n; i++) {
    assert_entry(m, &m->entries[i]);
    assert_found(m, &m->entries[i]);
  }
  besom_statistics stats;
  assert_ok(besom_stats(m->f, &stats));
  assert_int_equal(stats.keys, yes);
  assert_int_equal(counter_of(m->f, "no_entries"), m->n - yes);
}

static inline void save_to(memory_sink *sink, const besom_filter *f) {
  memory_sink_init(sink);
  assert_ok(besom_save(f, &sink->api));
}

static inline void assert_bytes(const besom_filter *f, memory_sink *before) {
  memory_sink now;
  save_to(&now, f);
  assert_true(memory_sinks_equal(&now, before));
  memory_sink_close(&now);
  memory_sink_close(before);
}

#endif
