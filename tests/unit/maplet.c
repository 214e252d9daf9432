/*
 * Maplets against a model that knows which keys share a fingerprint: remainders are so narrow, and
 * digests chosen so, that most do. After each change every key is asked, and the answer must be
 * exactly the values of all members with its fingerprint, less the reported ones.
 */
#include "besom_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "core/address.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/temp_files.h"
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

static void assert_status(besom_status expected, besom_status actual) {
  if (expected != actual)
    fail_msg("%s instead of %s", besom_strerror(actual), besom_strerror(expected));
}

/* ------------------------------------------------------------------ the model */

static uint64_t key_of(size_t i) {
  return key_u64(MEMBERS, i);
}

/* Whether two keys have one fingerprint. */
static bool share(const struct model *m, size_t i, size_t j) {
  struct address a = address_of(m->digests[i], m->slots), b = address_of(m->digests[j], m->slots);
  return a.quotient == b.quotient && remainder_of(a, m->width) == remainder_of(b, m->width);
}

/* How often the fingerprint of the key has this value, 0 if that was reported. */
static uint64_t copies_of(const struct model *m, size_t i, uint64_t value) {
  uint64_t n = 0;
  for (size_t j = 0; j < KEYS && !m->denied[i][value]; j++)
    if (share(m, i, j)) n += m->count[j][value];
  return n;
}

static uint64_t all_copies_of(const struct model *m, size_t i, size_t *distinct) {
  uint64_t n = 0;
  *distinct = 0;
  for (uint64_t v = 0; v < VALUES; v++) {
    uint64_t here = copies_of(m, i, v);
    n += here;
    *distinct += here > 0;
  }
  return n;
}

static void look_up_geometry(struct model *m) {
  besom_statistics stats;
  besom_stats(m->f, &stats);
  m->slots = stats.slots;
  m->width = stats.width;
  for (size_t i = 0; i < KEYS; i++) m->digests[i] = besom_hash_u64(m->f, key_of(i));
}

static void check_key(const struct model *m, size_t i) {
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

static void check_batches(const struct model *m) {
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
static void check_entries(const struct model *m) {
  besom_iter iter = {.filter = m->f};
  besom_entry entry;
  uint64_t found[1 << 3] = {0};
  while (besom_iter_next(&iter, &entry) == BESOM_OK) found[entry.value] += entry.count;
  for (uint64_t v = 0; v < VALUES; v++) {
    for (size_t i = 0; i < KEYS; i++) found[v] -= m->count[i][v];
    assert_int_equal(found[v], 0);
  }
}

static void check_model(const struct model *m) {
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

/* ------------------------------------------------------------------ pairs as a source */

struct pairs {
  const struct model *m;
  size_t at;
  unsigned given;
  uint64_t key;
};

static besom_status next_pair(void *ctx, besom_bytes *key, uint64_t *value) {
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

static besom_status rewind_pairs(void *ctx) {
  struct pairs *p = ctx;
  p->at = p->given = 0;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ changes of pairs */

static void insert_pair(struct model *m, size_t i, uint64_t v) {
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

static void remove_pair(struct model *m, size_t i, uint64_t v) {
  besom_u64_key key = besom_u64(key_of(i));
  if (!m->count[i][v] && copies_of(m, i, v)) return; /* members only */
  besom_status expected = m->count[i][v] ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, besom_remove_value(m->f, key.bytes, 8, v));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->members--;
}

static void remove_key(struct model *m, size_t i) {
  size_t distinct;
  all_copies_of(m, i, &distinct);
  uint64_t v = 0;
  while (v < VALUES && !m->count[i][v]) v++;
  if (distinct == 1 && v == VALUES) return; /* members only */
  besom_status expected = distinct > 1 ? BESOM_AMBIGUOUS : distinct ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, besom_remove_u64(m->f, key_of(i)));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->members--;
}

static void replace_pair(struct model *m, size_t i, uint64_t v, uint64_t by) {
  besom_u64_key key = besom_u64(key_of(i));
  if (!m->count[i][v] && copies_of(m, i, v)) return;
  besom_status status = besom_replace_value(m->f, key.bytes, 8, v, by);
  if (status == BESOM_FULL) {
    assert_true(copies_of(m, i, v) > 1);
    return;
  }
  assert_status(m->count[i][v] ? BESOM_OK : BESOM_NOT_FOUND, status);
  if (status != BESOM_OK || v == by) return;
  m->count[i][v]--;
  m->count[i][by]++;
  m->denied[i][by] = false;
}

static void set_value_of(struct model *m, size_t i, uint64_t by) {
  size_t distinct;
  uint64_t copies = all_copies_of(m, i, &distinct), v = 0;
  while (v < VALUES && !m->count[i][v]) v++;
  if (copies == 1 && v == VALUES) return; /* members only */
  besom_status expected = copies > 1 ? BESOM_AMBIGUOUS : copies ? BESOM_OK : BESOM_NOT_FOUND;
  assert_status(expected, set_value_u64(m->f, key_of(i), by));
  if (expected != BESOM_OK) return;
  m->count[i][v]--;
  m->count[i][by]++;
  m->denied[i][by] = false;
}

static void report_pair(struct model *m, size_t i, uint64_t v) {
  besom_u64_key key = besom_u64(key_of(i));
  if (m->count[i][v]) return;
  assert_status(BESOM_OK, besom_adapt_value(m->f, key.bytes, 8, v));
  m->denied[i][v] |= copies_of(m, i, v) > 0;
}

static void report_key(struct model *m, size_t i) {
  for (uint64_t v = 0; v < VALUES; v++)
    if (m->count[i][v]) return;
  assert_status(BESOM_OK, besom_adapt_u64(m->f, key_of(i)));
  for (uint64_t v = 0; v < VALUES; v++) m->denied[i][v] |= copies_of(m, i, v) > 0;
}

/* ------------------------------------------------------------------ changes of the whole */

static void take(struct model *m, besom_filter *f) {
  besom_free(m->f);
  m->f = f;
}

static void change_size(struct model *m) {
  bool grow = m->slots < 200 && m->width > 2;
  besom_status status = besom_resize(m->f, grow ? 2 * m->slots : m->slots / 2, NULL);
  if (status == BESOM_FULL || status == BESOM_INVALID) return;
  assert_status(BESOM_OK, status);
  look_up_geometry(m);
}

static void save_and_load(struct model *m) {
  memory_sink sink;
  besom_filter *loaded = NULL;
  memory_sink_init(&sink);
  assert_status(BESOM_OK, besom_save(m->f, &sink.api));
  assert_int_equal(sink.data[8], 2); /* older versions refuse it */
  assert_status(BESOM_OK, besom_load(sink.data, sink.len, NULL, &loaded));
  memory_sink_close(&sink);
  take(m, loaded);
}

static void rekey_model(struct model *m) {
  uint8_t seed[16] = {(uint8_t)random_next(&m->random)};
  struct pairs all = {.m = m};
  besom_pair_source source = {.next = next_pair, .rewind = rewind_pairs, .ctx = &all};
  besom_source keys = {0};
  keys.ctx = &all;
  assert_status(BESOM_INVALID, besom_rekey(m->f, &keys, NULL, seed, NULL));
  besom_status status = besom_rekey_pairs(m->f, &source, seed, NULL);
  if (status == BESOM_FULL) return;
  assert_status(BESOM_OK, status);
  memset(m->denied, 0, sizeof m->denied);
  look_up_geometry(m);
}

/* Merges with a maplet that has some pairs and some reports of its own. */
static void merge_model(struct model *m) {
  struct model other = *m;
  besom_filter *both = NULL;
  memset(other.count, 0, sizeof other.count);
  memset(other.denied, 0, sizeof other.denied);
  other.members = 0;
  assert_status(BESOM_OK, besom_create_like(m->f, &other.f));
  for (size_t n = random_below(&m->random, 6); n; n--)
    insert_pair(&other, random_below(&m->random, KEYS), random_below(&m->random, VALUES));
  for (size_t n = 20; n; n--)
    report_pair(&other, random_below(&m->random, KEYS), random_below(&m->random, VALUES));
  assert_status(BESOM_OK, besom_set_note(other.f, "another", 7));
  assert_status(BESOM_INCOMPATIBLE, besom_merge(m->f, other.f, &both));
  bool equal = random_below(&m->random, 2);
  assert_status(BESOM_OK, besom_set_note(other.f, note, equal ? sizeof note : 0));
  besom_status status = besom_merge(m->f, other.f, &both);
  if (status == BESOM_OK) {
    struct model old = *m;
    for (size_t i = 0; i < KEYS; i++)
      for (uint64_t v = 0; v < VALUES; v++) {
        m->count[i][v] = (uint8_t)(m->count[i][v] + other.count[i][v]);
        /* the other one surely does not have the pair: it reported it, or no fingerprint has it */
        m->denied[i][v] = (old.denied[i][v] && (other.denied[i][v] || !copies_of(&other, i, v))) ||
                          (other.denied[i][v] && (old.denied[i][v] || !copies_of(&old, i, v)));
      }
    m->members += other.members;
    take(m, both);
  } else {
    assert_status(BESOM_FULL, status);
  }
  besom_free(other.f);
}

static void patch_model(struct model *m) {
  memory_sink sink;
  besom_filter *empty = NULL, *patched = NULL;
  memory_sink_init(&sink);
  assert_status(BESOM_OK, besom_create_like(m->f, &empty));
  bool compact = random_below(&m->random, 2);
  assert_status(BESOM_OK, compact ? besom_diff_compact(empty, m->f, &sink.api)
                                  : besom_diff(empty, m->f, &sink.api));
  assert_status(BESOM_OK, besom_patch(empty, sink.data, sink.len, &patched));
  memory_sink_close(&sink);
  besom_free(empty);
  take(m, patched);
}

/* ------------------------------------------------------------------ runs of the model */

static void change_model(struct model *m) {
  size_t i = random_below(&m->random, KEYS);
  uint64_t v = random_below(&m->random, VALUES), what = random_below(&m->random, 400);
  bool set = besom_abilities(m->f) & BESOM_IS_SET;
  if (what < 150)
    insert_pair(m, i, v);
  else if (what < 250 && !set)
    remove_pair(m, i, v);
  else if (what < 270 && !set)
    remove_key(m, i);
  else if (what < 310 && !set)
    replace_pair(m, i, v, random_below(&m->random, VALUES));
  else if (what < 340 && !set)
    set_value_of(m, i, random_below(&m->random, VALUES));
  else if (what < 380)
    report_pair(m, i, v);
  else if (what < 385)
    report_key(m, i);
  else if (what < 388)
    change_size(m);
  else if (what < 391)
    save_and_load(m);
  else if (what < 394)
    rekey_model(m);
  else if (what < 397 && !set)
    merge_model(m);
  else if (what < 399)
    patch_model(m);
}

static struct model model_with_reserve(const char *options, uint64_t slots, uint32_t width,
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

static struct model model_new(const char *options, uint64_t slots, uint32_t width, uint64_t seed) {
  return model_with_reserve(options, slots, width, seed, 0);
}

static void run_model(const char *options, uint64_t slots, uint32_t width, uint64_t seed) {
  struct model m = model_new(options, slots, width, seed);
  for (size_t n = 0; n < 400; n++) {
    change_model(&m);
    check_model(&m);
  }
  besom_free(m.f);
}

static void a_maplet_is_its_model(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    run_model("maplet=yes,max_exceptions=1000", 64, 2, seed);
    run_model("maplet=yes,max_exceptions=1000", 4, 4, seed);
    run_model("maplet=yes,max_exceptions=1000", 1, 8, seed);
    run_model("maplet=yes,max_exceptions=1000", 130, 8, seed);
    run_model("maplet=yes,max_exceptions=1000,repeats=ignore", 60, 3, seed);
  }
}

/* ------------------------------------------------------------------ chosen digests */

/* Equal in all bits that a fingerprint has, and then equal in all but the last one. */
static void members_with_one_fingerprint_keep_their_values(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes", 100, 8, 1);
  besom_digest base = {UINT64_C(0x123456789abcdef0), 0};
  uint64_t out[8];
  size_t n;
  for (uint64_t v = 0; v < 8; v++) {
    besom_digest d = base;
    d.lo = v << 61 | v;
    assert_status(BESOM_OK, besom_insert_value_digest(m.f, d, 7 - v));
  }
  assert_status(BESOM_OK, besom_get_values_digest(m.f, base, out, 8, &n));
  assert_int_equal(n, 8);
  for (uint64_t v = 0; v < 8; v++) assert_int_equal(out[v], v);
  /* Room for some: the smallest ones, and how much is needed. */
  memset(out, 0xff, sizeof out);
  assert_status(BESOM_OK, besom_get_values_digest(m.f, base, out, 3, &n));
  assert_true(n >= 8);
  for (uint64_t v = 0; v < 3; v++) assert_int_equal(out[v], v);
  assert_int_equal(out[3], UINT64_MAX);
  besom_free(m.f);
}

/* ------------------------------------------------------------------ with a store */

/* The stored keys, in the order of their insertion. */
struct store {
  struct {
    besom_match match;
    size_t key;
    uint64_t value;
  } list[KEYS * VALUES];
  size_t n;
  const struct model *m;
};

static size_t find_record(const struct store *s, const besom_match *at) {
  uint32_t rank = 0;
  for (size_t r = 0; r < s->n; r++)
    if (s->list[r].match.bucket == at->bucket && rank++ == at->rank) return r;
  fail_msg("no such record");
  return 0;
}

static besom_status digest_of_record(void *ctx, const besom_filter *f, const besom_match *match,
                                     besom_digest *digest) {
  const struct store *s = ctx;
  (void)f;
  *digest = s->m->digests[s->list[find_record(s, match)].key];
  return BESOM_OK;
}

static bool is_stored(const struct store *s, size_t key, uint64_t value) {
  for (size_t r = 0; r < s->n; r++)
    if (s->list[r].key == key && s->list[r].value == value) return true;
  return false;
}

static bool is_candidate(const besom_filter *f, besom_digest d, uint64_t value) {
  uint64_t out[VALUES];
  size_t n;
  assert_status(BESOM_OK, besom_get_values_digest(f, d, out, VALUES, &n));
  for (size_t i = 0; i < n; i++)
    if (out[i] == value) return true;
  return false;
}

/* Returns how many wrong candidates were reported. */
static size_t separate_members(uint64_t seed) {
  struct model m = model_with_reserve("maplet=yes", 100, 2, seed, 0.4);
  struct store *s = heap_array(1, sizeof *s);
  s->m = &m;
  besom_reverse reverse = {.digest_of = digest_of_record, .ctx = s};
  assert_status(BESOM_OK, besom_bind(m.f, &reverse));
  for (size_t n = 0; n < 130; n++) {
    size_t i = random_below(&m.random, KEYS);
    uint64_t v = random_below(&m.random, VALUES);
    if (is_stored(s, i, v)) continue;
    s->list[s->n].key = i;
    s->list[s->n].value = v;
    besom_status status = besom_insert_at(m.f, m.digests[i], v, &s->list[s->n].match);
    if (status == BESOM_FULL) break;
    assert_status(BESOM_OK, status);
    s->n++;
  }
  size_t wrong = 0;
  for (size_t i = 0; i < KEYS; i++)
    for (uint64_t v = 0; v < VALUES; v++) {
      besom_u64_key key = besom_u64(key_of(i));
      bool member = is_stored(s, i, v), was = is_candidate(m.f, m.digests[i], v);
      assert_true(was || !member);
      besom_status status = besom_adapt_value(m.f, key.bytes, 8, v);
      if (status == BESOM_RESERVE_FULL) continue;
      assert_status(member ? BESOM_IS_MEMBER : BESOM_OK, status);
      assert_int_equal(is_candidate(m.f, m.digests[i], v), member);
      wrong += was && !member;
      for (size_t r = 0; r < s->n; r++)
        assert_true(is_candidate(m.f, m.digests[s->list[r].key], s->list[r].value));
    }
  /* The records are removed in another order. */
  while (s->n) {
    size_t r = random_below(&m.random, s->n);
    besom_match at = {s->list[r].match.bucket, 0};
    for (size_t q = 0; q < r; q++) at.rank += s->list[q].match.bucket == at.bucket;
    assert_status(BESOM_OK, besom_remove_at(m.f, &at));
    for (; r + 1 < s->n; r++) s->list[r] = s->list[r + 1];
    s->n--;
    for (size_t q = 0; q < s->n; q++)
      assert_true(is_candidate(m.f, m.digests[s->list[q].key], s->list[q].value));
  }
  const char *reason = NULL;
  if (besom_validate(m.f, &reason) != BESOM_OK) fail_msg("%s", reason);
  besom_free(m.f);
  free(s);
  return wrong;
}

static void extensions_separate_members(void **state) {
  (void)state;
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 4; seed++) wrong += separate_members(seed);
  assert_true(wrong > 8);
}

/* ------------------------------------------------------------------ limits and memory */

static void reports_have_a_limit(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes,max_exceptions=2", 28, 2, 1);
  size_t told = 0, refused = 0;
  for (size_t i = 0; i < KEYS / 2; i++) insert_pair(&m, i, i % VALUES);
  for (size_t i = KEYS / 2; i < KEYS; i++)
    for (uint64_t v = 0; v < VALUES; v++) {
      besom_u64_key key = besom_u64(key_of(i));
      if (!copies_of(&m, i, v)) continue;
      besom_status status = besom_adapt_value(m.f, key.bytes, 8, v);
      assert_status(told < 2 ? BESOM_OK : BESOM_RESERVE_FULL, status);
      m.denied[i][v] = status == BESOM_OK;
      told += status == BESOM_OK;
      refused += status != BESOM_OK;
    }
  assert_true(refused > 0);
  check_model(&m);
  for (size_t i = KEYS / 2; i < KEYS; i++) { /* all candidates of a key, or none */
    size_t distinct;
    if (!all_copies_of(&m, i, &distinct)) continue;
    assert_status(BESOM_RESERVE_FULL, besom_adapt_u64(m.f, key_of(i)));
  }
  check_model(&m);
  assert_status(BESOM_OK, besom_set_reserve(m.f, 2, true));
  for (size_t i = KEYS / 2; i < KEYS; i++)
    for (uint64_t v = 0; v < VALUES; v++)
      if (is_candidate(m.f, m.digests[i], v)) {
        besom_u64_key key = besom_u64(key_of(i));
        assert_status(BESOM_EVICTED, besom_adapt_value(m.f, key.bytes, 8, v));
        assert_false(is_candidate(m.f, m.digests[i], v));
      }
  for (size_t i = 0; i < KEYS / 2; i++) assert_true(is_candidate(m.f, m.digests[i], i % VALUES));
  besom_free(m.f);
}

/* Every allocation of every change fails once. The maplet is as it was then. */
static void without_memory_nothing_changes(void **state) {
  (void)state;
  for (uint64_t fail_at = 1; fail_at < 40; fail_at++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    uint8_t seed[16] = {1};
    besom_config config = {.kind = "aqf",
                           .options = "maplet=yes,max_exceptions=100",
                           .slots = 64,
                           .width = 3,
                           .value_bits = 3,
                           .seed = seed,
                           .allocator = &memory.api};
    struct model m = {.options = config.options, .random = {fail_at}};
    memory.fail_at = fail_at;
    if (besom_create(&config, &m.f) == BESOM_OK) {
      look_up_geometry(&m);
      for (size_t i = 0; i < KEYS / 2; i++) insert_pair(&m, i, i % VALUES);
      for (size_t i = KEYS / 2; i < KEYS; i++) {
        besom_status status = besom_adapt_u64(m.f, key_of(i));
        if (status != BESOM_OK) assert_status(BESOM_RESERVE_FULL, status);
        for (uint64_t v = 0; v < VALUES && status == BESOM_OK; v++)
          m.denied[i][v] |= copies_of(&m, i, v) > 0;
      }
      check_model(&m);
      besom_status status = besom_resize(m.f, 128, NULL);
      if (status == BESOM_OK) look_up_geometry(&m);
      if (status != BESOM_OK) assert_status(BESOM_NO_MEMORY, status);
      check_model(&m);
      besom_filter *both = NULL;
      status = besom_merge_slots(m.f, m.f, 128, &both);
      if (status != BESOM_OK) assert_status(BESOM_NO_MEMORY, status);
      besom_free(both);
      struct pairs all = {.m = &m};
      besom_pair_source source = {.next = next_pair, .rewind = rewind_pairs, .ctx = &all};
      status = besom_rekey_pairs(m.f, &source, NULL, NULL);
      if (status == BESOM_OK) {
        memset(m.denied, 0, sizeof m.denied);
        look_up_geometry(&m);
      } else {
        assert_status(BESOM_NO_MEMORY, status);
      }
      check_model(&m);
      besom_free(m.f);
    }
    const char *wrong = failing_allocator_verdict(&memory);
    if (wrong) fail_msg("%s", wrong);
    failing_allocator_close(&memory);
  }
}

/* ------------------------------------------------------------------ files */

static void a_mapped_maplet_takes_reports(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes,max_exceptions=500", 64, 2, 3);
  besom_open_options options = {.flags = BESOM_OPEN_MMAP};
  besom_filter *mapped = NULL;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "maplet.besom");
  for (size_t i = 0; i < KEYS; i += 2) insert_pair(&m, i, i % VALUES);
  assert_status(BESOM_OK, besom_save_file(m.f, path.text));
  assert_status(BESOM_OK, besom_open(path.text, &options, &mapped));
  take(&m, mapped);
  assert_true(besom_abilities(m.f) & BESOM_CAN_ADAPT);
  assert_status(BESOM_READ_ONLY, besom_set_note(m.f, "other", 5));
  assert_status(BESOM_READ_ONLY, besom_insert_value(m.f, "a", 1, 1));
  for (size_t i = 1; i < KEYS; i += 2) {
    report_pair(&m, i, random_below(&m.random, VALUES));
    report_key(&m, i);
    check_model(&m);
  }
  save_and_load(&m);
  check_model(&m);
  besom_free(m.f);
  temp_dir_remove(&dir);
}

/* ------------------------------------------------------------------ what it is not */

static besom_status status_of(const char *options, uint32_t value_bits, uint32_t flags) {
  besom_config config = {
      .kind = "aqf", .options = options, .capacity = 100, .value_bits = value_bits, .flags = flags};
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  return status;
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  assert_status(BESOM_OK, status_of("maplet=yes", 1, 0));
  assert_status(BESOM_OK, status_of("maplet=yes", 32, BESOM_SET));
  assert_status(BESOM_OK, status_of("maplet=no", 0, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes", 0, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes", 33, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes,tombstones=yes", 8, 0));
  assert_status(BESOM_INVALID, status_of("maplet=yes,form=published", 8, 0));
  assert_status(BESOM_BAD_OPTION, status_of("repeats=ignore", 8, 0));
  assert_status(BESOM_BAD_OPTION, status_of("maplet=maybe", 8, 0));
  assert_status(BESOM_UNSUPPORTED, status_of("maplet=yes", 8, BESOM_CONCURRENT));
  char text[200];
  besom_config config = {.kind = "aqf", .options = "maplet=yes", .capacity = 9};
  assert_status(BESOM_INVALID, besom_config_check(&config, text, sizeof text));
  assert_string_equal(text, "value_bits is 0: a maplet needs 1 to 32");
}

static void a_set_has_no_calls_that_remove(void **state) {
  (void)state;
  struct model m = model_new("maplet=yes,repeats=ignore", 64, 8, 1);
  besom_match match = {0, 0};
  uint64_t n;
  insert_pair(&m, 1, 1);
  assert_true(besom_abilities(m.f) & BESOM_IS_SET);
  assert_false(besom_abilities(m.f) & (BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MATCH));
  besom_u64_key key = besom_u64(key_of(1));
  assert_status(BESOM_UNSUPPORTED, besom_remove_value(m.f, key.bytes, 8, 1));
  assert_status(BESOM_UNSUPPORTED, besom_replace_value(m.f, key.bytes, 8, 1, 2));
  assert_status(BESOM_UNSUPPORTED, besom_remove_u64(m.f, key_of(1)));
  assert_status(BESOM_UNSUPPORTED, besom_count_u64(m.f, key_of(1), &n));
  assert_status(BESOM_UNSUPPORTED, besom_insert_at(m.f, m.digests[1], 1, &match));
  check_model(&m);
  besom_free(m.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_maplet_is_its_model),
      cmocka_unit_test(members_with_one_fingerprint_keep_their_values),
      cmocka_unit_test(extensions_separate_members),
      cmocka_unit_test(reports_have_a_limit),
      cmocka_unit_test(without_memory_nothing_changes),
      cmocka_unit_test(a_mapped_maplet_takes_reports),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(a_set_has_no_calls_that_remove),
  };
  return cmocka_run_group_tests_name("maplet", tests, NULL, NULL);
}
