/*
 * Reports of wrong candidates: in front of a store, at the limit, without memory, and of a mapped
 * file.
 */
#include "maplet_subject.h"

#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/temp_files.h"

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

enum { MANY = 300 };

static besom_filter *wide_maplet(const char *options, const besom_allocator *allocator) {
  static const uint8_t seed[16] = "127 reports";
  besom_config config = {.kind = "aqf",
                         .options = options,
                         .capacity = 1000,
                         .value_bits = 9,
                         .seed = seed,
                         .allocator = allocator};
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_create(&config, &f));
  return f;
}

static void insert_values(besom_filter *f, besom_digest d, uint64_t first, uint64_t n) {
  for (uint64_t v = first; v < first + n; v++)
    assert_status(BESOM_OK, besom_insert_value_digest(f, d, v));
}

static size_t candidates_of(const besom_filter *f, besom_digest d) {
  uint64_t out[MANY];
  size_t n;
  assert_status(BESOM_OK, besom_get_values_digest(f, d, out, MANY, &n));
  assert_true(n <= MANY);
  return n;
}

/* Reports the only candidate of n keys. */
static void report_others(besom_filter *f, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    assert_status(BESOM_OK, besom_insert_u64(f, key_of(i)));
    assert_status(BESOM_OK, besom_adapt_u64(f, key_of(i)));
  }
}

static uint64_t reported_others(const besom_filter *f, uint64_t n) {
  uint64_t reported = 0;
  for (uint64_t i = 0; i < n; i++) reported += !besom_contains_u64(f, key_of(i));
  return reported;
}

static void a_key_has_at_most_127_reports(void **state) {
  (void)state;
  besom_filter *f = wide_maplet("maplet=yes,max_exceptions=1000", NULL);
  besom_bytes key = {"many", 4};
  besom_digest d = besom_hash(f, key.data, key.len);
  insert_values(f, d, 0, 200);
  assert_status(BESOM_RESERVE_FULL, besom_adapt_digest(f, d));
  assert_int_equal(candidates_of(f, d), 200);
  for (uint64_t v = 0; v < 127; v++)
    assert_status(BESOM_OK, besom_adapt_value(f, key.data, key.len, v));
  assert_int_equal(candidates_of(f, d), 73);
  assert_status(BESOM_RESERVE_FULL, besom_adapt_value(f, key.data, key.len, 127));
  assert_status(BESOM_RESERVE_FULL, besom_adapt_digest(f, d));
  assert_int_equal(candidates_of(f, d), 73);
  assert_status(BESOM_OK, besom_adapt_value(f, key.data, key.len, 5)); /* again */
  besom_free(f);
}

/* Of a key with more candidates than it can have reports, and of one whose neighbor has many. */
static void a_refused_report_forgets_nothing(void **state) {
  (void)state;
  besom_filter *f = wide_maplet("maplet=yes,max_exceptions=150,forget=yes", NULL);
  besom_digest many = {UINT64_C(0x1234567890000000), 0}, a = {UINT64_C(0xabcdef0123400000), 0},
               b = {a.hi + (1 << 17), 0};
  report_others(f, 100);
  insert_values(f, many, 0, 130);
  assert_status(BESOM_RESERVE_FULL, besom_adapt_digest(f, many));
  assert_int_equal(candidates_of(f, many), 130);
  assert_int_equal(reported_others(f, 100), 100);
  insert_values(f, a, 0, 50);
  assert_status(BESOM_OK, besom_adapt_digest(f, a));
  insert_values(f, b, 50, 50); /* with the fingerprint of a */
  assert_int_equal(candidates_of(f, b), 100);
  assert_status(BESOM_RESERVE_FULL, besom_adapt_digest(f, b));
  assert_int_equal(candidates_of(f, b), 100);
  assert_int_equal(candidates_of(f, a), 50);
  assert_int_equal(reported_others(f, 100), 100);
  /* What fits takes the place of older reports, but not of its own. */
  besom_digest fits = {UINT64_C(0x7777777777777777), 0};
  insert_values(f, fits, 0, 120);
  assert_status(BESOM_EVICTED, besom_adapt_digest(f, fits));
  assert_int_equal(candidates_of(f, fits), 0);
  assert_true(reported_others(f, 100) <= 30);
  besom_free(f);
}

/* The table has no room for 20 more, and for 3 more if others are forgotten. */
static void without_memory_all_candidates_are_reported_or_none(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_filter *f = wide_maplet("maplet=yes,max_exceptions=100,forget=yes", &memory.api);
  besom_digest many = {UINT64_C(0x1234567890000000), 0}, few = {UINT64_C(0x7777777777777777), 0};
  insert_values(f, many, 0, 20);
  insert_values(f, few, 0, 3);
  report_others(f, 7);
  memory.fail_after = true;
  memory.fail_at = memory.calls + 2; /* the first is for the candidates */
  assert_status(BESOM_RESERVE_FULL, besom_adapt_digest(f, many));
  assert_int_equal(candidates_of(f, many), 20);
  assert_int_equal(reported_others(f, 7), 7);
  memory.fail_at = memory.calls + 2;
  assert_status(BESOM_EVICTED, besom_adapt_digest(f, few));
  assert_int_equal(candidates_of(f, few), 0);
  assert_int_equal(reported_others(f, 7), 4);
  memory.fail_at = 0;
  assert_status(BESOM_OK, besom_adapt_digest(f, many));
  assert_int_equal(candidates_of(f, many), 0);
  besom_free(f);
  failing_allocator_close(&memory);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(extensions_separate_members),
      cmocka_unit_test(reports_have_a_limit),
      cmocka_unit_test(a_key_has_at_most_127_reports),
      cmocka_unit_test(a_refused_report_forgets_nothing),
      cmocka_unit_test(without_memory_all_candidates_are_reported_or_none),
      cmocka_unit_test(without_memory_nothing_changes),
      cmocka_unit_test(a_mapped_maplet_takes_reports),
  };
  return cmocka_run_group_tests_name("maplet_reports", tests, NULL, NULL);
}
