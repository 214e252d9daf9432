/* Structs of other sizes: programs and stores that know more or fewer members than the library. */
#include "besom_reverse.h"
#include "guard_durable.h"

/* ------------------------------------------------------------------ matches */

enum { KEYS = 300 };

/* A later version's besom_match. */
typedef struct larger_match {
  besom_match now;
  uint64_t later[3];
} larger_match;

static besom_filter *filter_with_keys(const char *kind) {
  besom_config config = {.kind = kind, .slots = 400, .width = 2, .seed = seed};
  besom_filter *f = NULL;
  besom_match match;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < KEYS; i++)
    assert_int_equal(besom_insert_at(f, besom_hash_u64(f, key_u64(MEMBERS, i)), 0, &match),
                     BESOM_OK);
  return f;
}

/* The same matches, one per stride; new members are 0, and what is after the cap stays. */
static void assert_strides(const besom_filter *f, besom_digest digest, size_t cap, size_t *most) {
  enum { CAP = 16 };
  besom_match plain[CAP];
  larger_match larger[CAP];
  size_t total = 0, again = 0;
  memset(larger, 0x55, sizeof larger);
  assert_int_equal(besom_matches(f, digest, plain, cap, &total), BESOM_OK);
  assert_int_equal(besom_matches_sized(f, digest, &larger[0].now, sizeof *larger, cap, &again),
                   BESOM_OK);
  assert_int_equal(again, total);
  for (size_t i = 0; i < CAP; i++) {
    bool written = i < cap && i < total;
    if (written) {
      assert_int_equal(larger[i].now.bucket, plain[i].bucket);
      assert_int_equal(larger[i].now.rank, plain[i].rank);
    }
    for (size_t k = 0; i >= cap && k < sizeof larger[i]; k++)
      assert_int_equal(((unsigned char *)&larger[i])[k], 0x55);
    for (size_t k = 0; written && k < 3; k++) assert_int_equal(larger[i].later[k], 0);
  }
  if (total > *most) *most = total;
}

static void matches_have_the_stride_of_the_caller(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "exaf", "taf", "utaf", "broom", "yesno-dynamic"};
  size_t most = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_filter *f = filter_with_keys(kinds[i]);
    for (uint64_t k = 0; k < KEYS; k++)
      for (size_t cap = 0; cap <= 4; cap++)
        assert_strides(f, besom_hash_u64(f, key_u64(MEMBERS, k)), cap, &most);
    besom_match one;
    size_t total;
    assert_int_equal(besom_matches_sized(f, besom_hash_u64(f, 1), &one, sizeof one - 1, 1, &total),
                     BESOM_INVALID);
    besom_free(f);
  }
  assert_true(most > 2); /* more than one was spread */
}

static void entries_have_the_size_of_the_caller(void **state) {
  (void)state;
  struct {
    besom_entry now;
    uint64_t later[2];
  } newer;
  besom_filter *f = filter_with_keys("aqf");
  besom_iter iter = {.filter = f}, older_iter = {.filter = f}, newer_iter = {.filter = f};
  besom_entry entry, older;
  size_t size = offsetof(besom_entry, value), n = 0;
  for (; besom_iter_next(&iter, &entry) == BESOM_OK; n++) {
    memset(&older, 0x55, sizeof older);
    memset(&newer, 0x55, sizeof newer);
    assert_int_equal(besom_iter_next_sized(&older_iter, &older, size), BESOM_OK);
    assert_int_equal(besom_iter_next_sized(&newer_iter, &newer.now, sizeof newer), BESOM_OK);
    assert_true(older.quotient == entry.quotient && older.remainder == entry.remainder);
    assert_true(newer.now.quotient == entry.quotient && newer.now.count == entry.count);
    for (size_t i = size; i < sizeof older; i++)
      assert_int_equal(((unsigned char *)&older)[i], 0x55);
    assert_true(newer.later[0] == 0 && newer.later[1] == 0);
  }
  assert_true(n > 0);
  assert_int_equal(besom_iter_next_sized(&older_iter, &older, size), BESOM_END);
  besom_free(f);
}

/* ------------------------------------------------------------------ operations of stores */

/* A table of operations with no byte after its size, so that reading further is found out. */
static besom_store_ops *shortened(size_t size) {
  besom_store_ops *ops = heap_array(1, size);
  memcpy(ops, &durable_ops, size);
  ops->size = size;
  return ops;
}

static subject *open_over(const besom_store_ops *ops) {
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(s, &setup);
  subject_close_guard(s);
  s->store.head.ops = ops;
  return s;
}

static void use_guard(subject *s) {
  for (size_t k = 0; k < 40; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  for (size_t k = 0; k < 40; k += 3) assert_int_equal(delete_key(s, k), BESOM_OK);
  assert_consistent(s);
}

/* It ends before begin: there are no transactions. */
static void a_store_without_the_later_operations_is_plain(void **state) {
  (void)state;
  besom_store_ops *ops = shortened(offsetof(besom_store_ops, begin));
  subject *s = open_over(ops);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_UNSUPPORTED);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_UNSUPPORTED);
  use_guard(s);
  subject_close(s);
  free(s);
  free(ops);
}

static void assert_plain(const besom_store_ops *ops) {
  subject *s = open_over(ops);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_UNSUPPORTED);
  use_guard(s);
  subject_close(s);
  free(s);
}

/* It ends in the middle of the operations of transactions: so it has none, whatever follows. */
static void a_store_with_some_of_the_later_operations_is_plain(void **state) {
  (void)state;
  besom_store_ops *ops = shortened(offsetof(besom_store_ops, table_scan));
  assert_plain(ops);
  free(ops);
  besom_store_ops followed = durable_ops;
  followed.size = offsetof(besom_store_ops, table_scan);
  assert_plain(&followed);
}

/* It ends before directory: there is no checkpoint, and the rest works. */
static void a_store_without_directory_has_no_checkpoint(void **state) {
  (void)state;
  besom_store_ops *ops = shortened(offsetof(besom_store_ops, directory));
  subject *s = open_over(ops);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(begin(s), BESOM_OK);
  for (size_t k = 0; k < 40; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
  assert_int_equal(end_batch(s, true), BESOM_OK);
  assert_consistent(s);
  subject_close_guard(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(stats_of(s).rebuilt, 1);
  assert_consistent(s);
  subject_close(s);
  free(s);
  free(ops);
}

static void a_store_without_the_required_operations_is_refused(void **state) {
  (void)state;
  besom_store_ops ops = durable_ops;
  subject *s = open_over(&ops);
  ops.size = 0; /* a caller that forgot it */
  assert_int_equal(subject_reopen(s), BESOM_INVALID);
  ops.size = offsetof(besom_store_ops, close);
  assert_int_equal(subject_reopen(s), BESOM_INVALID);
  ops.size = sizeof ops;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  subject_close(s);
  free(s);
}

/* A store made for a later version, with operations that this one does not know. */
static void a_store_with_unknown_operations_works(void **state) {
  (void)state;
  struct {
    besom_store_ops now;
    void (*later[2])(void);
  } newer = {.now = durable_ops};
  newer.now.size = sizeof newer;
  subject *s = open_over(&newer.now);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  use_guard(s);
  subject_close(s);
  free(s);
}

static void statistics_of_stores_have_the_size_of_the_caller(void **state) {
  (void)state;
  besom_store *store = NULL;
  struct {
    besom_store_statistics now;
    uint64_t later[2];
  } newer;
  besom_store_statistics older;
  memset(&older, 0x55, sizeof older);
  memset(&newer, 0x55, sizeof newer);
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  besom_record record = {{"key", 3}, {"value", 5}};
  assert_int_equal(store->ops->append(store, (besom_place){.bucket = 7}, &record), BESOM_OK);
  assert_int_equal(store->ops->stats(store, &older, offsetof(besom_store_statistics, reads)),
                   BESOM_OK);
  assert_int_equal(older.appends, 1);
  for (size_t i = offsetof(besom_store_statistics, reads); i < sizeof older; i++)
    assert_int_equal(((unsigned char *)&older)[i], 0x55);
  assert_int_equal(store->ops->stats(store, &newer.now, sizeof newer), BESOM_OK);
  assert_true(newer.now.records == 1 && newer.later[0] == 0 && newer.later[1] == 0);
  besom_store_close(store);
}

/* ------------------------------------------------------------------ guards */

static besom_guard *guard_of_sizes(const besom_guard_config *config, size_t config_size,
                                   size_t filter_size) {
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open_sized(config, config_size, filter_size, store, &g), BESOM_OK);
  return g;
}

static bool never(void *ctx, uint64_t done, uint64_t total) {
  (void)ctx, (void)done, (void)total;
  fail();
  return false;
}

/* Members after the sizes are not read. */
static void a_guard_reads_no_more_than_the_sizes(void **state) {
  (void)state;
  besom_progress progress = {never, NULL};
  besom_config filter = {.kind = "aqf", .capacity = 100, .flags = UINT32_MAX};
  besom_guard_config config = {.filter = &filter, .grow_at = -1, .progress = &progress};
  besom_guard *g =
      guard_of_sizes(&config, offsetof(besom_guard_config, grow_at), offsetof(besom_config, flags));
  assert_int_equal(besom_guard_put(g, "key", 3, "value", 5, 0), BESOM_OK);
  besom_guard_statistics stats;
  memset(&stats, 0x55, sizeof stats);
  size_t size = offsetof(besom_guard_statistics, keys);
  assert_int_equal(besom_guard_stats_sized(g, &stats, size), BESOM_OK);
  assert_int_equal(stats.puts, 1);
  for (size_t i = size; i < sizeof stats; i++) assert_int_equal(((unsigned char *)&stats)[i], 0x55);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void offenders_have_the_stride_of_the_caller(void **state) {
  (void)state;
  enum { CAP = 5 };
  struct {
    besom_offender now;
    uint64_t later[2];
  } newer[CAP];
  besom_offender plain[CAP];
  size_t n = 0, again = 0;
  besom_config filter = {.kind = "aqf", .slots = 200, .width = 2, .seed = seed};
  besom_guard_config config = {.filter = &filter, .adapt = BESOM_ADAPT_NEVER};
  besom_guard *g = guard_of_sizes(&config, sizeof config, sizeof filter);
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  for (uint64_t i = 0; i < 500; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, i % 200), NULL), BESOM_NOT_FOUND);
  memset(newer, 0x55, sizeof newer);
  assert_int_equal(besom_guard_offenders(g, plain, CAP, &n), BESOM_OK);
  assert_int_equal(besom_guard_offenders_sized(g, &newer[0].now, sizeof *newer, CAP, &again),
                   BESOM_OK);
  assert_true(n == CAP && again == CAP);
  for (size_t i = 0; i < CAP; i++) {
    assert_memory_equal(newer[i].now.key, plain[i].key, plain[i].len);
    assert_int_equal(newer[i].now.count, plain[i].count);
    assert_true(newer[i].later[0] == 0 && newer[i].later[1] == 0);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matches_have_the_stride_of_the_caller),
      cmocka_unit_test(entries_have_the_size_of_the_caller),
      cmocka_unit_test(a_store_without_the_later_operations_is_plain),
      cmocka_unit_test(a_store_with_some_of_the_later_operations_is_plain),
      cmocka_unit_test(a_store_without_directory_has_no_checkpoint),
      cmocka_unit_test(a_store_without_the_required_operations_is_refused),
      cmocka_unit_test(a_store_with_unknown_operations_works),
      cmocka_unit_test(statistics_of_stores_have_the_size_of_the_caller),
      cmocka_unit_test(a_guard_reads_no_more_than_the_sizes),
      cmocka_unit_test(offenders_have_the_stride_of_the_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
