/*
 * maplet_subject.h - shared by the tests of maplets: a model that knows which keys share a
 * fingerprint. After a change every key is asked, and the answer must be exactly the values of all
 * members with its fingerprint, less the reported ones.
 */
#ifndef BESOM_TESTS_MAPLET_SUBJECT_H
#define BESOM_TESTS_MAPLET_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom_map.h"
#include "besom_reverse.h"
#include "core/hash.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/u64_forms.h"

enum { KEYS = 48, VALUES = 6, NO_VALUE = VALUES };

static const char note[] = "what the values mean";

struct model {
  besom_filter *f;
  const char *options;
  random_stream random;
  uint64_t slots;
  unsigned width;
  besom_digest digests[KEYS];
  uint8_t count[KEYS][VALUES];
  bool denied[KEYS][VALUES];
  uint64_t members;
  bool has_note;
};

static inline void assert_status(besom_status expected, besom_status actual) {
  if (expected != actual)
    fail_msg("%s instead of %s", besom_strerror(actual), besom_strerror(expected));
}

/* ------------------------------------------------------------------ the model */

static inline uint64_t key_of(size_t i) {
  return key_u64(MEMBERS, i);
}

/* Whether two keys have one fingerprint. */
static inline bool share(const struct model *m, size_t i, size_t j) {
  struct address a = address_of(m->digests[i], m->slots), b = address_of(m->digests[j], m->slots);
  return a.quotient == b.quotient && remainder_of(a, m->width) == remainder_of(b, m->width);
}

/* How often the fingerprint of the key has this value, 0 if that was reported. */
static inline uint64_t copies_of(const struct model *m, size_t i, uint64_t value) {
  uint64_t n = 0;
  for (size_t j = 0; j < KEYS && !m->denied[i][value]; j++)
    if (share(m, i, j)) n += m->count[j][value];
  return n;
}

static inline uint64_t all_copies_of(const struct model *m, size_t i, size_t *distinct) {
  uint64_t n = 0;
  *distinct = 0;
  for (uint64_t v = 0; v < VALUES; v++) {
    uint64_t here = copies_of(m, i, v);
    n += here;
    *distinct += here > 0;
  }
  return n;
}

static inline void look_up_geometry(struct model *m) {
  besom_statistics stats;
  besom_stats(m->f, &stats);
  m->slots = stats.slots;
  m->width = stats.width;
  for (size_t i = 0; i < KEYS; i++) m->digests[i] = besom_hash_u64(m->f, key_of(i));
}

static inline void check_key(const struct model *m, size_t i) {
  uint64_t out[VALUES], n_copies;
  size_t n, distinct, at = 0;
  uint64_t copies = all_copies_of(m, i, &distinct);
  besom_u64_key key = besom_u64(key_of(i));
  assert_status(BESOM_OK, besom_get_values(m->f, key.bytes, 8, out, VALUES, &n));
  assert_int_equal(n, distinct);
  for (uint64_t v = 0; v < VALUES; v++)
    if (copies_of(m, i, v)) assert_int_equal(out[at++], v);
  assert_int_equal(besom_contains_u64(m->f, key_of(i)), distinct > 0);
  uint64_t value = NO_VALUE;
  besom_status one = distinct > 1 ? BESOM_AMBIGUOUS : distinct ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(one, get_value_u64(m->f, key_of(i), &value));
  if (one == BESOM_OK) assert_int_equal(value, out[0]);
  if (besom_abilities(m->f) & BESOM_IS_SET) return;
  assert_status(BESOM_OK, besom_count_u64(m->f, key_of(i), &n_copies));
  assert_int_equal(n_copies, copies);
}

static inline void check_batches(const struct model *m) {
  uint64_t keys[KEYS], out[KEYS * VALUES], bitmap[(KEYS + 63) / 64];
  size_t starts[KEYS + 1], done, distinct;
  for (size_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  assert_status(BESOM_OK, besom_contains_many_u64(m->f, keys, KEYS, bitmap));
  assert_status(BESOM_OK,
                besom_get_values_many_u64(m->f, keys, KEYS, out, KEYS * VALUES, starts, &done));
  assert_int_equal(done, KEYS);
  for (size_t i = 0; i < KEYS; i++) {
    all_copies_of(m, i, &distinct);
    assert_int_equal(starts[i + 1] - starts[i], distinct);
    assert_int_equal(bitmap[i / 64] >> i % 64 & 1, distinct > 0);
    for (size_t at = starts[i], v = 0; v < VALUES; v++)
      if (copies_of(m, i, v)) assert_int_equal(out[at++], v);
  }
}

/* Iteration gives every pair with its value. */
static inline void check_entries(const struct model *m) {
  besom_iter iter = {.filter = m->f};
  besom_entry entry;
  uint64_t found[1 << 3] = {0};
  while (besom_iter_next(&iter, &entry) == BESOM_OK) found[entry.value] += entry.count;
  for (uint64_t v = 0; v < VALUES; v++) {
    for (size_t i = 0; i < KEYS; i++) found[v] -= m->count[i][v];
    assert_int_equal(found[v], 0);
  }
}

static inline void check_model(const struct model *m) {
  const char *reason = NULL;
  besom_statistics stats;
  for (size_t i = 0; i < KEYS; i++) check_key(m, i);
  check_batches(m);
  if (besom_validate(m->f, &reason) != BESOM_OK) fail_msg("%s", reason);
  size_t len;
  const char *kept = besom_note(m->f, &len);
  if (m->has_note) assert_int_equal(len, sizeof note);
  if (m->has_note) assert_memory_equal(kept, note, len);
  besom_stats(m->f, &stats);
  if (besom_abilities(m->f) & BESOM_IS_SET) return;
  assert_int_equal(stats.keys, m->members);
  check_entries(m);
}

static inline bool is_candidate(const besom_filter *f, besom_digest d, uint64_t value) {
  uint64_t out[VALUES];
  size_t n;
  assert_status(BESOM_OK, besom_get_values_digest(f, d, out, VALUES, &n));
  for (size_t i = 0; i < n; i++)
    if (out[i] == value) return true;
  return false;
}

/* ------------------------------------------------------------------ making it */

static inline struct model model_with_reserve(const char *options, uint64_t slots, uint32_t width,
                                              uint64_t seed, double reserve) {
  uint8_t bytes[16] = {(uint8_t)seed};
  besom_config config = {.kind = "aqf",
                         .options = options,
                         .slots = slots,
                         .width = width,
                         .value_bits = 3,
                         .reserve = reserve,
                         .seed = bytes};
  struct model m = {.options = options, .random = {seed}, .has_note = true};
  assert_status(BESOM_OK, besom_create(&config, &m.f));
  assert_status(BESOM_OK, besom_set_note(m.f, "first", 5));
  assert_status(BESOM_OK, besom_set_note(m.f, note, sizeof note));
  look_up_geometry(&m);
  return m;
}

static inline struct model model_new(const char *options, uint64_t slots, uint32_t width,
                                     uint64_t seed) {
  return model_with_reserve(options, slots, width, seed, 0);
}

/* ------------------------------------------------------------------ pairs as a source */

struct pairs {
  const struct model *m;
  size_t at;
  unsigned given;
  uint64_t key;
};

static inline besom_status next_pair(void *ctx, besom_bytes *key, uint64_t *value) {
  struct pairs *p = ctx;
  for (; p->at < KEYS * VALUES; p->at++, p->given = 0) {
    size_t i = p->at / VALUES;
    *value = p->at % VALUES;
    if (p->given >= p->m->count[i][*value]) continue;
    p->given++;
    p->key = little_endian(key_of(i));
    *key = (besom_bytes){&p->key, 8};
    return BESOM_OK;
  }
  return BESOM_END;
}

static inline besom_status rewind_pairs(void *ctx) {
  struct pairs *p = ctx;
  p->at = p->given = 0;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ changes */

static inline void insert_pair(struct model *m, size_t i, uint64_t v) {
  besom_u64_key key = besom_u64(key_of(i));
  bool set = besom_abilities(m->f) & BESOM_IS_SET;
  if (m->count[i][v] == UINT8_MAX) return;
  besom_status status =
      v ? besom_insert_value(m->f, key.bytes, 8, v) : besom_insert_u64(m->f, key_of(i));
  if (status == BESOM_FULL) return;
  assert_status(BESOM_OK, status);
  m->members += !set || !m->count[i][v];
  m->count[i][v] = (uint8_t)(set ? 1 : m->count[i][v] + 1);
  m->denied[i][v] = false;
}

static inline void report_pair(struct model *m, size_t i, uint64_t v) {
  besom_u64_key key = besom_u64(key_of(i));
  if (m->count[i][v]) return;
  assert_status(BESOM_OK, besom_adapt_value(m->f, key.bytes, 8, v));
  m->denied[i][v] |= copies_of(m, i, v) > 0;
}

static inline void report_key(struct model *m, size_t i) {
  for (uint64_t v = 0; v < VALUES; v++)
    if (m->count[i][v]) return;
  assert_status(BESOM_OK, besom_adapt_u64(m->f, key_of(i)));
  for (uint64_t v = 0; v < VALUES; v++) m->denied[i][v] |= copies_of(m, i, v) > 0;
}

static inline void take(struct model *m, besom_filter *f) {
  besom_free(m->f);
  m->f = f;
}

static inline void save_and_load(struct model *m) {
  memory_sink sink;
  besom_filter *loaded = NULL;
  memory_sink_init(&sink);
  assert_status(BESOM_OK, besom_save(m->f, &sink.api));
  assert_int_equal(sink.data[8], 2); /* older versions refuse it */
  assert_status(BESOM_OK, besom_load(sink.data, sink.len, NULL, &loaded));
  memory_sink_close(&sink);
  take(m, loaded);
}

#endif
