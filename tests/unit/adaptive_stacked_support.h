/*
 * What the tests of the adaptive stacked filter share: its members as a source, a full filter that
 * is bound to them, and negative queries whose false positives are reported.
 */
#ifndef BESOM_TESTS_ADAPTIVE_STACKED_SUPPORT_H
#define BESOM_TESTS_ADAPTIVE_STACKED_SUPPORT_H

#include "besom_reverse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/keys.h"
#include "support/zipf_sampler.h"

static const uint8_t seed[16] = {9};

enum { MEMBERS_OF = 4000, NEGATIVES_OF = 40000 };

typedef struct member_source {
  besom_source api;
  uint64_t n, at, passes;
  uint64_t end;      /* end of this pass: n when it was last rewound */
  uint64_t distinct; /* then they repeat; 0: never */
  uint64_t fail_at;  /* the call of next that fails, counted over all passes; 0: none */
  uint64_t calls;
  uint8_t key[8];
} member_source;

static inline besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  (void)weight;
  if (++m->calls == m->fail_at) return BESOM_IO;
  if (m->at == m->end) return BESOM_END;
  uint64_t k = key_u64(MEMBERS, m->distinct ? m->at % m->distinct : m->at);
  m->at++;
  for (int i = 0; i < 8; i++) m->key[i] = (uint8_t)(k >> (8 * i));
  *key = (besom_bytes){m->key, 8};
  return BESOM_OK;
}

static inline besom_status first_member(void *ctx) {
  member_source *m = ctx;
  m->at = 0;
  m->end = m->n;
  m->passes++;
  return BESOM_OK;
}

static inline void members_open(member_source *m, uint64_t n) {
  *m = (member_source){.n = n};
  m->api = (besom_source){.next = next_member, .rewind = first_member, .ctx = m};
}

static inline besom_filter *make(const char *options, double bits,
                                 const besom_allocator *allocator) {
  besom_config config = {.kind = "adaptive-stacked",
                         .options = options,
                         .seed = seed,
                         .capacity = MEMBERS_OF,
                         .bits_per_key = bits,
                         .fpr = bits > 0 ? 0 : 0.02,
                         .reserve = bits > 0 ? 0 : 0.3,
                         .allocator = allocator};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (size_t i = 0; i < MEMBERS_OF; i++) {
    besom_status status = besom_insert_u64(f, key_u64(MEMBERS, i));
    assert_int_equal(status, BESOM_OK);
  }
  return f;
}

static inline besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static inline void assert_holds(const besom_filter *f, size_t n) {
  const char *wrong = NULL;
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  if (besom_validate(f, &wrong) != BESOM_OK) fail_msg("%s", wrong);
}

/* Queries non-members, with ranks that begin at `shift`, and reports false positives. */
static inline size_t ask(besom_filter *f, zipf_sampler *z, size_t shift, size_t queries,
                         besom_status *last) {
  size_t wrong = 0;
  *last = BESOM_OK;
  for (size_t i = 0; i < queries; i++) {
    uint64_t key = key_u64(NEGATIVES, shift + zipf_draw(z));
    if (!besom_contains_u64(f, key)) continue;
    wrong++;
    *last = besom_adapt_u64(f, key);
    if (*last != BESOM_OK) break;
  }
  return wrong;
}

/* A full filter that is bound to its members, and a generator of negative queries. */
typedef struct stage {
  besom_filter *f;
  member_source members;
  zipf_sampler z;
  besom_status last; /* the status of the last report */
} stage;

static inline void stage_open(stage *s, const char *options, double bits, double skew) {
  *s = (stage){.f = make(options, bits, NULL), .z = zipf_new(skew, NEGATIVES_OF)};
  members_open(&s->members, MEMBERS_OF);
  assert_int_equal(besom_bind_source(s->f, &s->members.api), BESOM_OK);
}

static inline void stage_close(stage *s) {
  zipf_free(&s->z);
  besom_free(s->f);
}

#endif
