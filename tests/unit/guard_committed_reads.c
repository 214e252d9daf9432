/* Readers of other threads see only committed changes. */
#define _DEFAULT_SOURCE 1 /* usleep */
#include "guard_commits.h"
#include "support/failing_allocator.h"

/* What another thread sees of the keys 1, 2 and 3: an empty string is "absent". */
typedef struct sight {
  besom_guard *guard;
  char get[3][8], many[3][8], scan[3][8];
  bool on_no_list[2]; /* keys 4 and 5 */
} sight;

static besom_status note_scanned(void *ctx, besom_bytes key, besom_bytes value) {
  sight *s = ctx;
  uint64_t k;
  memcpy(&k, key.data, 8);
  k = little_endian(k);
  if (k >= 1 && k <= 3) snprintf(s->scan[k - 1], 8, "%.*s", (int)value.len, (char *)value.data);
  return BESOM_OK;
}

static void get_many(sight *s) {
  const uint64_t numbers[3] = {little_endian(1), little_endian(2), little_endian(3)};
  besom_bytes keys[3], values[3];
  uint64_t found = 0;
  for (unsigned i = 0; i < 3; i++) keys[i] = (besom_bytes){&numbers[i], 8};
  besom_status status = besom_guard_get_many(s->guard, keys, 3, values, &found);
  for (unsigned i = 0; i < 3; i++) {
    bool agrees = status == BESOM_OK && (found >> i & 1) == (values[i].data != NULL);
    besom_bytes seen = agrees ? values[i] : (besom_bytes){"failed", 6};
    if (seen.len) snprintf(s->many[i], 8, "%.*s", (int)seen.len, (const char *)seen.data);
    besom_guard_release(s->guard, &values[i]);
  }
}

static void *look(void *ctx) {
  sight *s = ctx;
  const besom_bytes none = {NULL, 0};
  for (uint64_t k = 1; k <= 3; k++) {
    besom_bytes value;
    besom_status status = besom_guard_get_u64(s->guard, k, &value);
    if (status == BESOM_OK)
      snprintf(s->get[k - 1], 8, "%.*s", (int)value.len, (const char *)value.data);
    else
      snprintf(s->get[k - 1], 8, "%s", status == BESOM_NOT_FOUND ? "" : "failed");
    besom_guard_release(s->guard, &value);
  }
  get_many(s);
  if (besom_guard_scan(s->guard, none, none, note_scanned, s) != BESOM_OK) s->scan[0][0] = '!';
  for (uint64_t k = 4; k <= 5; k++)
    s->on_no_list[k - 4] = !besom_guard_no_has(s->guard, besom_u64(k).bytes, 8);
  return NULL;
}

static sight look_from_another_thread(besom_guard *g) {
  pthread_t thread;
  sight s = {.guard = g};
  assert_int_equal(pthread_create(&thread, NULL, look, &s), 0);
  pthread_join(thread, NULL);
  return s;
}

static void assert_sight(const sight *s, const char *one, const char *two, const char *three) {
  const char *expected[3] = {one, two, three};
  for (unsigned i = 0; i < 3; i++) {
    assert_string_equal(s->get[i], expected[i]);
    assert_string_equal(s->many[i], expected[i]);
    assert_string_equal(s->scan[i], expected[i]);
  }
}

/* Every query has one outcome, also if an image answers it. */
static void assert_queries_add_up(const besom_guard *g) {
  besom_guard_statistics s = stats_of(g);
  assert_int_equal(s.queries, s.filter_negatives + s.true_positives + s.false_positives);
}

static void put_text(besom_guard *g, uint64_t key, const char *text) {
  assert_int_equal(besom_guard_put_u64(g, key, text, strlen(text), 0), BESOM_OK);
}

static besom_status put_many(besom_guard *g, const uint64_t *numbers, const char *const *texts,
                             size_t n) {
  uint64_t own[8];
  besom_bytes keys[8], values[8];
  for (size_t i = 0; i < n; i++) {
    own[i] = little_endian(numbers[i]);
    keys[i] = (besom_bytes){&own[i], 8};
    values[i] = (besom_bytes){texts[i], strlen(texts[i])};
  }
  return besom_guard_put_many(g, keys, values, n, 0);
}

/* Key 1 is new, key 2 is replaced, twice, key 3 is deleted; 4 comes on the no list, 5 leaves it. */
static void change_all(besom_guard *g, bool no_list) {
  const uint64_t keys[] = {1, 2, 2};
  const char *const texts[] = {"new", "x", "later"};
  assert_int_equal(put_many(g, keys, texts, 3), BESOM_OK);
  assert_int_equal(besom_guard_delete_u64(g, 3), BESOM_OK);
  if (!no_list) return;
  assert_int_equal(besom_guard_no_put(g, besom_u64(4).bytes, 8), BESOM_OK);
  assert_int_equal(besom_guard_no_delete(g, besom_u64(5).bytes, 8), BESOM_OK);
}

static void other_threads_see(const char *kind, besom_guard_config config, uint64_t grow) {
  bool no_list = !strcmp(kind, "aqf");
  besom_config filter = {.kind = kind, .capacity = 200, .fpr = 0.1};
  besom_guard *g = open_guard_of(filter, config);
  put_text(g, 2, "old");
  put_text(g, 3, "there");
  if (no_list) assert_int_equal(besom_guard_no_put(g, besom_u64(5).bytes, 8), BESOM_OK);
  for (unsigned round = 0; round < 2; round++) {
    assert_int_equal(besom_guard_begin(g), BESOM_OK);
    change_all(g, no_list);
    for (uint64_t i = 0; i < grow; i++) put_text(g, key_u64(MEMBERS, i), "more");
    sight own = {.guard = g};
    look(&own);
    assert_sight(&own, "new", "later", "");
    sight s = look_from_another_thread(g);
    if (config.read_uncommitted)
      assert_sight(&s, "new", "later", "");
    else
      assert_sight(&s, "", "old", "there");
    if (no_list) assert_int_equal(s.on_no_list[0], config.read_uncommitted);
    if (no_list) assert_int_equal(s.on_no_list[1], !config.read_uncommitted);
    assert_int_equal(round ? besom_guard_commit(g) : besom_guard_abort(g), BESOM_OK);
    s = look_from_another_thread(g);
    assert_sight(&s, round ? "new" : "", round ? "later" : "old", round ? "" : "there");
  }
  assert_queries_add_up(g);
  if (grow) assert_true(stats_of(g).growths >= 2); /* the second one began after the first ended */
  close_guard(g);
}

/* A merge within a batch is refused, and the batch stays invisible. */
static void a_refused_merge_shows_nothing_of_a_batch(void **state) {
  (void)state;
  merge_call m = open_two((besom_guard_config){0});
  put_text(m.into, 2, "old");
  assert_int_equal(besom_guard_begin(m.into), BESOM_OK);
  put_text(m.into, 2, "new");
  assert_int_equal(besom_guard_merge(m.into, m.from), BESOM_BUSY);
  sight s = look_from_another_thread(m.into);
  assert_sight(&s, "", "old", "");
  put_text(m.into, 2, "later");
  s = look_from_another_thread(m.into);
  assert_sight(&s, "", "old", "");
  assert_int_equal(besom_guard_abort(m.into), BESOM_OK);
  close_two(&m);
}

static void readers_see_only_committed_batches(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++)
    for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
      besom_guard_config config = {.layout = layout, .durability = level};
      other_threads_see("aqf", config, 0);
      if (level == BESOM_DURABLE_PUT)
        other_threads_see("aqf", config, 500); /* the filter is replaced within the batch */
      other_threads_see("acf-cyclic", config, 0);
      config.read_uncommitted = true;
      other_threads_see("aqf", config, 0);
    }
}

/* A change for whose image there is no memory is not made. */
static void changes_without_memory_are_not_made(void **state) {
  (void)state;
  failing_allocator a;
  failing_allocator_init(&a);
  besom_config filter = {.kind = "aqf", .capacity = 200, .fpr = 0.1, .allocator = &a.api};
  besom_guard *g = open_guard_of(filter, (besom_guard_config){.layout = BESOM_LAYOUT_SPLIT});
  put_text(g, 2, "old");
  put_text(g, 3, "there");
  bool failed = true;
  unsigned rounds = 0;
  for (; failed; rounds++) {
    assert_int_equal(besom_guard_begin(g), BESOM_OK);
    a.fail_at = a.calls + 1 + rounds;
    besom_status one = besom_guard_put_u64(g, 1, "new", 3, 0),
                 two = besom_guard_put_u64(g, 2, "later", 5, 0),
                 three = besom_guard_delete_u64(g, 3);
    a.fail_at = 0;
    failed = one == BESOM_NO_MEMORY || two == BESOM_NO_MEMORY || three == BESOM_NO_MEMORY;
    assert_int_equal(failed, one || two || three);
    sight own = {.guard = g};
    look(&own);
    assert_sight(&own, one ? "" : "new", two ? "old" : "later", three ? "there" : "");
    sight s = look_from_another_thread(g);
    assert_sight(&s, "", "old", "there");
    assert_int_equal(besom_guard_abort(g), BESOM_OK);
  }
  assert_true(rounds > 3);
  close_guard(g);
  assert_null(failing_allocator_verdict(&a));
  failing_allocator_close(&a);
}

static void *get_two(void *ctx) {
  return besom_guard_get_u64(ctx, 2, NULL) == BESOM_NOT_FOUND ? NULL : ctx;
}

/* A key that was stored twice has no value after the first delete, and a record that the second
   one removes. */
static void a_deleted_key_stays_absent(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){.layout = BESOM_LAYOUT_SPLIT});
  put_text(g, 2, "old");
  assert_int_equal(besom_guard_put_u64(g, 2, "twice", 5, BESOM_PUT_NEW), BESOM_OK);
  assert_int_equal(besom_guard_delete_u64(g, 2), BESOM_OK);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  assert_int_equal(besom_guard_delete_u64(g, 2), BESOM_OK);
  pthread_t thread;
  void *found;
  assert_int_equal(pthread_create(&thread, NULL, get_two, g), 0);
  pthread_join(thread, &found);
  assert_null(found);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  close_guard(g);
}

static void *change_in_thread(void *ctx) {
  put_text(ctx, 1, "new");
  return NULL;
}

static void *replace_in_thread(void *ctx) {
  put_text(ctx, 2, "later");
  return NULL;
}

static void *put_many_in_thread(void *ctx) {
  const uint64_t keys[] = {1, 2, 3};
  const char *const texts[] = {"one", "two", "three"};
  assert_int_equal(put_many(ctx, keys, texts, 3), BESOM_OK);
  return NULL;
}

static void *delete_in_thread(void *ctx) {
  assert_int_equal(besom_guard_delete_u64(ctx, 3), BESOM_OK);
  return NULL;
}

/* While a commit writes, readers go on, and see the state before it. */
static void readers_do_not_see_a_commit_that_writes(void **state) {
  (void)state;
  void *(*const changes[])(void *guard) = {change_in_thread, replace_in_thread, put_many_in_thread,
                                           delete_in_thread};
  besom_guard *g = open_guard((besom_guard_config){.layout = BESOM_LAYOUT_SPLIT});
  put_text(g, 2, "old");
  put_text(g, 3, "there");
  for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
    pthread_t thread;
    sight before = look_from_another_thread(g);
    unsigned begun = commits_begun;
    commits_wait = true;
    assert_int_equal(pthread_create(&thread, NULL, changes[i], g), 0);
    while (commits_begun == begun) usleep(1000);
    sight during = look_from_another_thread(g);
    assert_sight(&during, before.get[0], before.get[1], before.get[2]);
    commits_wait = false;
    pthread_join(thread, NULL);
  }
  sight after = look_from_another_thread(g);
  assert_sight(&after, "one", "two", "");
  assert_queries_add_up(g);
  close_guard(g);
}

/* ------------------------------------------------------------------ merging */

/* Merges. Returns what another thread sees while the commit writes. The commit may fail. */
static sight look_beside_merge(merge_call *m, bool fails) {
  pthread_t thread;
  unsigned begun = commits_begun;
  commits_wait = true;
  commits_fail = fails;
  assert_int_equal(pthread_create(&thread, NULL, merge_in_thread, m), 0);
  while (commits_begun == begun) usleep(1000);
  sight during = look_from_another_thread(m->into);
  commits_wait = false;
  pthread_join(thread, NULL);
  commits_fail = false;
  return during;
}

/* get, get_many and scan agree at any time. After a commit that failed, nothing was merged. */
static void merge_beside_readers(besom_guard_config config) {
  merge_call m = open_two(config);
  bool hidden = !config.read_uncommitted;
  put_text(m.from, 1, "one");
  put_text(m.from, 2, "two");
  put_text(m.from, 3, "three");
  put_text(m.into, 2, "old");
  assert_int_equal(besom_guard_sync(m.into), BESOM_OK);
  for (unsigned fails = 2; fails-- > 0;) {
    sight during = look_beside_merge(&m, fails), after = look_from_another_thread(m.into);
    assert_int_equal(m.status, fails ? BESOM_DISK_FULL : BESOM_OK);
    assert_sight(&during, hidden ? "" : "one", "old", hidden ? "" : "three");
    assert_sight(&after, fails ? "" : "one", "old", fails ? "" : "three");
    assert_int_equal(stats_of(m.into).keys, fails ? 1 : 3);
  }
  for (uint64_t k = 1; k <= 3; k++) assert_int_equal(besom_guard_delete_u64(m.into, k), BESOM_OK);
  assert_int_equal(stats_of(m.into).keys, 0);
  assert_queries_add_up(m.into);
  close_two(&m);
}

static void readers_see_a_merge_whole(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++)
      merge_beside_readers((besom_guard_config){.layout = layout, .durability = level});
    merge_beside_readers((besom_guard_config){.layout = layout, .read_uncommitted = true});
  }
}

/* ------------------------------------------------------------------ ranges of keys */

typedef struct range {
  besom_guard *guard;
  const char *from, *to; /* NULL: no bound */
  char seen[200];        /* the keys and values, in order */
} range;

static besom_status note_in_range(void *ctx, besom_bytes key, besom_bytes value) {
  range *r = ctx;
  size_t n = strlen(r->seen);
  snprintf(r->seen + n, sizeof r->seen - n, "%.*s=%.*s ", (int)key.len, (const char *)key.data,
           (int)value.len, (const char *)value.data);
  return BESOM_OK;
}

static besom_bytes bound(const char *text) {
  return (besom_bytes){text, text ? strlen(text) : 0};
}

static void *scan_range(void *ctx) {
  range *r = ctx;
  if (besom_guard_scan(r->guard, bound(r->from), bound(r->to), note_in_range, r) != BESOM_OK)
    strcpy(r->seen, "failed");
  return NULL;
}

static void assert_range(besom_guard *g, const char *from, const char *to, const char *expected) {
  pthread_t thread;
  range r = {.guard = g, .from = from, .to = to};
  assert_int_equal(pthread_create(&thread, NULL, scan_range, &r), 0);
  pthread_join(thread, NULL);
  assert_string_equal(r.seen, expected);
}

static void put_pair(besom_guard *g, const char *key, const char *value) {
  assert_int_equal(besom_guard_put(g, key, strlen(key), value, strlen(value), 0), BESOM_OK);
}

/* The batch changes, removes and adds keys at the ends of the ranges, the empty key among them. */
static void a_range_has_the_committed_keys_only(void **state) {
  (void)state;
  besom_guard *g = open_guard((besom_guard_config){.layout = BESOM_LAYOUT_SPLIT});
  const char *const keys[] = {"", "a", "b", "bb", "c"};
  for (unsigned i = 0; i < 5; i++) put_pair(g, keys[i], "1");
  assert_int_equal(besom_guard_no_put(g, "no", 2), BESOM_OK);
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  put_pair(g, "", "2");
  put_pair(g, "b", "2");
  put_pair(g, "ab", "2");
  put_pair(g, "d", "2");
  assert_int_equal(besom_guard_delete(g, "bb", 2), BESOM_OK);
  assert_int_equal(besom_guard_no_put(g, "nobody", 6), BESOM_OK);
  assert_range(g, NULL, NULL, "=1 a=1 b=1 bb=1 c=1 ");
  assert_range(g, "a", NULL, "a=1 b=1 bb=1 c=1 ");
  assert_range(g, NULL, "b", "=1 a=1 ");
  assert_range(g, "ab", "bb", "b=1 ");
  assert_range(g, "bb", "c", "bb=1 ");
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
  assert_range(g, NULL, NULL, "=2 a=1 ab=2 b=2 c=1 d=2 ");
  assert_range(g, "ab", "c", "ab=2 b=2 ");
  close_guard(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(readers_see_only_committed_batches),
      cmocka_unit_test(a_refused_merge_shows_nothing_of_a_batch),
      cmocka_unit_test(changes_without_memory_are_not_made),
      cmocka_unit_test(a_deleted_key_stays_absent),
      cmocka_unit_test(readers_do_not_see_a_commit_that_writes),
      cmocka_unit_test(readers_see_a_merge_whole),
      cmocka_unit_test(a_range_has_the_committed_keys_only),
  };
  return RUN_OVER_BOTH_STORES(tests);
}
