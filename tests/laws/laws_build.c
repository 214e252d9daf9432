/*
 * besom_build, from keys or sorted digests, makes the filter that inserts make, or returns a status
 * and none.
 */
#include <math.h>
#include <stdlib.h>

#include "filters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"

enum { N = 5000 };

static besom_filter *build(const besom_config *config, const array_source *source) {
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_build(config, &(besom_input){.yes = &source->api}, &f));
  assert_false(source->wrong_weight);
  return f;
}

/* With and without a size hint, with and without a capacity: equal keys make equal filters. */
static void building_is_inserting(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, N, 0);
  byte_keys keys = byte_keys_new(MEMBERS, N);
  besom_filter *inserted = make_of_bytes(s, &config, keys.keys, N);
  for (int variant = 0; variant < 4; variant++) {
    array_source source;
    source_of_bytes(&source, keys.keys, N);
    if (variant & 1) source.api.size_hint = 0;
    config.capacity = variant & 2 ? N : 0;
    besom_filter *built = build(&config, &source);
    assert_int_equal(stats_of(built).keys, stats_of(inserted).keys);
    assert_true(stats_of(built).capacity >= N);
    assert_valid(built);
    for (size_t i = 0; i < N; i++)
      assert_true(besom_contains(built, keys.keys[i].data, keys.keys[i].len));
    assert_same_answers(s, built, inserted, 4000);
    besom_free(built);
  }
  besom_free(inserted);
  byte_keys_free(&keys);
}

/* The size comes from the hint, the capacity or a first pass; without all three the build fails. */
static void a_source_without_size_must_rewind(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 0, 0);
  uint64_t *keys = keys_u64(MEMBERS, N);
  array_source source;
  source_of_u64(&source, keys, N);
  source.api.size_hint = 0;
  source.api.rewind = NULL;
  besom_filter *f = NULL;
  assert_status(BESOM_INVALID, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
  assert_null(f);
  if (can(s, BESOM_CAN_INSERT)) {
    source_of_u64(&source, keys, N);
    source.api.rewind = NULL;
    f = build(&config, &source);
    assert_holds_u64(f, keys, N);
    besom_free(f);
  }
  free(keys);
}

static void more_keys_than_capacity_are_full(void **state) {
  const subject *s = subject_of(state);
  uint64_t *keys = keys_u64(MEMBERS, N);
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (int hinted = 0; hinted < 2; hinted++) {
    besom_config config = config_of(s, hinted ? 0 : 10, 1.0 / 4096);
    config.allocator = &memory.api;
    array_source source;
    source_of_u64(&source, keys, N);
    source.api.size_hint = 10; /* too small */
    besom_filter *f = NULL;
    assert_status(BESOM_FULL, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
    assert_null(f);
  }
  assert_no_error(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(keys);
}

/* Whether the hint is too small, too large or absurd: the filter is the one that inserts make. */
static void a_wrong_hint_does_no_harm(void **state) {
  const subject *s = subject_of(state);
  static const uint64_t hints[] = {1, N / 3, N - 1, N + 1, 3 * N, UINT64_MAX};
  besom_config config = config_of(s, N, 0);
  uint64_t *keys = keys_u64(MEMBERS, N);
  besom_filter *inserted = make_of_u64(s, &config, keys, N);
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
    array_source source;
    source_of_u64(&source, keys, N);
    source.api.size_hint = hints[i];
    besom_filter *built = build(&config, &source);
    assert_valid(built);
    assert_holds_u64(built, keys, N);
    assert_int_equal(stats_of(built).keys, stats_of(inserted).keys);
    assert_same_answers(s, built, inserted, 4000);
    besom_free(built);
  }
  besom_free(inserted);
  free(keys);
}

/* With one key more than the capacity the build is FULL. */
static void a_build_fills_a_filter_to_its_capacity(void **state) {
  const subject *s = subject_of(state);
  /* Long fingerprints, so that hardly any two are equal: some kinds count equal ones. */
  besom_config config = config_of(s, N, 1.0 / (1 << 20));
  besom_filter *empty = make_empty(&config), *f;
  size_t capacity = (size_t)stats_of(empty).capacity, most = capacity + 100;
  uint64_t *keys = keys_u64(MEMBERS, most);
  for (int hinted = 0; hinted < 2; hinted++) {
    array_source source;
    source_of_u64(&source, keys, capacity);
    if (!hinted) source.api.size_hint = 0;
    f = build(&config, &source);
    assert_holds_u64(f, keys, capacity);
    assert_valid(f);
    besom_free(f);
    f = NULL;
    source_of_u64(&source, keys, most);
    if (!hinted) source.api.size_hint = 0;
    assert_status(BESOM_FULL, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
    assert_null(f);
  }
  besom_free(empty);
  free(keys);
}

/* Few keys with many copies: more copies than the capacity, in kinds whose copies take no slots. */
static void copies_beyond_the_capacity_are_counted_or_full(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 40, COPIES = 500 };
  besom_config config = config_of(s, 20 * KEYS, 1.0 / 4096);
  uint64_t *keys = keys_u64(MEMBERS, KEYS * COPIES);
  for (size_t i = 0; i < KEYS * COPIES; i++) keys[i] = keys[i % KEYS];
  besom_filter *inserted = make_empty(&config), *f = NULL;
  besom_status expected = besom_insert_many_u64(inserted, keys, KEYS * COPIES, NULL);
  array_source source;
  source_of_u64(&source, keys, KEYS * COPIES);
  assert_status(expected, besom_build(&config, &(besom_input){.yes = &source.api}, &f));
  for (size_t i = 0; f && i < KEYS; i++) {
    uint64_t built, one_by_one;
    assert_status(BESOM_OK, besom_count_u64(f, keys[i], &built));
    assert_status(BESOM_OK, besom_count_u64(inserted, keys[i], &one_by_one));
    assert_int_equal(built, one_by_one);
    assert_true(built >= COPIES);
  }
  if (f) assert_valid(f);
  besom_free(f);
  besom_free(inserted);
  free(keys);
}

/* Copies in a source count like repeated inserts. */
static void a_source_may_repeat_itself(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, s->kind->max_copies ? 9000 : 3000, 1.0 / 4096);
  const size_t copies = copies_within(s, 3), all = copies * 1000;
  uint64_t *keys = keys_u64(MEMBERS, all);
  for (size_t i = 0; i < all; i++) keys[i] = keys[i % 1000];
  array_source source;
  source_of_u64(&source, keys, all);
  besom_filter *f = build(&config, &source);
  assert_holds_u64(f, keys, 1000);
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < 1000; i++) {
    uint64_t n = 0;
    assert_status(BESOM_OK, besom_count_u64(f, keys[i], &n));
    assert_true(n >= copies);
  }
  if (can(s, BESOM_CAN_COUNT)) assert_int_equal(stats_of(f).keys, all);
  besom_free(f);
  free(keys);
}

/* With BESOM_DISTINCT, a key takes the memory of one copy, however often the source gives it. */
static void a_distinct_build_takes_each_key_once(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 1000, 1.0 / 65536), once = config;
  config.flags |= BESOM_DISTINCT;
  uint64_t *keys = keys_u64(MEMBERS, 5000);
  for (size_t i = 0; i < 5000; i++) keys[i] = keys[i % 1000];
  array_source source, single;
  source_of_u64(&source, keys, 5000);
  source_of_u64(&single, keys, 1000);
  besom_filter *f = build(&config, &source), *plain = build(&once, &single);
  assert_holds_u64(f, keys, 1000);
  assert_valid(f);
  assert_int_equal(stats_of(f).keys, stats_of(plain).keys);
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < 1000; i++) {
    uint64_t n = 0;
    assert_status(BESOM_OK, besom_count_u64(f, keys[i], &n));
    assert_true(n < 3);
  }
  besom_free(plain);
  besom_free(f);
  free(keys);
}

/* The build returns the status of the source: at the first key, in the middle or at the end. */
static void a_failing_source_ends_the_build(void **state) {
  const subject *s = subject_of(state);
  static const size_t places[] = {0, 1, N / 2, N};
  uint64_t *keys = keys_u64(MEMBERS, N);
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    for (int hinted = 0; hinted < 2; hinted++) {
      besom_config config = config_of(s, 0, 0);
      config.allocator = &memory.api;
      array_source source;
      source_of_u64(&source, keys, N);
      if (!hinted) source.api.size_hint = 0;
      source.fail_at = places[i];
      source.status = BESOM_NEEDS_STORE;
      besom_filter *f = NULL;
      assert_status(BESOM_NEEDS_STORE,
                    besom_build(&config, &(besom_input){.yes = &source.api}, &f));
      assert_null(f);
      assert_no_error(failing_allocator_verdict(&memory));
    }
  failing_allocator_close(&memory);
  free(keys);
}

typedef struct patience {
  uint64_t ticks, most, last_done;
  bool went_back;
} patience;

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  patience *p = ctx;
  if (done < p->last_done || (total && done > total)) p->went_back = true;
  p->last_done = done;
  return ++p->ticks < p->most;
}

static void progress_can_stop_a_build(void **state) {
  const subject *s = subject_of(state);
  enum { MANY = 300000 };
  uint64_t *keys = keys_u64(MEMBERS, MANY);
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (uint64_t most = 1; most < 3; most++) {
    patience p = {.most = most};
    besom_progress progress = {.tick = tick, .ctx = &p};
    besom_config config = config_of(s, MANY, 0);
    config.allocator = &memory.api;
    array_source source;
    source_of_u64(&source, keys, MANY);
    besom_filter *f = NULL;
    assert_status(
        BESOM_CANCELLED,
        besom_build(&config, &(besom_input){.yes = &source.api, .progress = &progress}, &f));
    assert_null(f);
    assert_int_equal(p.ticks, most);
    assert_false(p.went_back);
    assert_no_error(failing_allocator_verdict(&memory));
  }
  failing_allocator_close(&memory);
  free(keys);
}

/*
 * Kinds with exact no lists answer no to all of their keys. Kinds that use the list as a sample
 * need not. Other kinds return UNSUPPORTED.
 */
static void no_lists_are_answered_no_or_unsupported(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 1000, 0.25);
  uint64_t *keys = keys_u64(MEMBERS, 1000), *denied = keys_u64(NEGATIVES, 1000);
  array_source yes, no;
  source_of_u64(&yes, keys, 1000);
  source_of_u64(&no, denied, 1000);
  besom_filter *f = NULL;
  besom_status status = besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f);
  if (status == BESOM_OK) {
    assert_holds_u64(f, keys, 1000);
    if (can(s, BESOM_TAKES_SAMPLE)) /* About as many as without a sample. */
      assert_true(count_false_positives(f, 1000) <= 300);
    else
      assert_int_equal(count_false_positives(f, 1000), 0);
  } else {
    assert_status(BESOM_UNSUPPORTED, status);
    assert_null(f);
  }
  besom_free(f);
  free(keys);
  free(denied);
}

/*
 * besom_input.like: the same geometry, hash and seed, and repeated keys are inserted once, so that
 * the same set makes the same filter. No configuration is needed.
 */
static void a_filter_is_built_like_another(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, N, 1.0 / 64);
  uint64_t *keys = keys_u64(MEMBERS, 2 * N), missing = 5;
  besom_filter *like = make_of_u64(s, &config, keys, N), *f = NULL;
  for (size_t i = 0; i < N; i++) keys[N + i] = keys[N - 1 - i];
  array_source yes;
  source_of_u64(&yes, keys, 2 * N);
  besom_input input = {.yes = &yes.api, .like = like};
  besom_status status = besom_build(NULL, &input, &f);
  if (status == BESOM_OK) {
    assert_holds_u64(f, keys, N);
    assert_valid(f);
    if (can(s, BESOM_CAN_COUNT)) assert_int_equal(stats_of(f).keys, N);
    assert_int_equal(stats_of(f).slots, stats_of(like).slots);
    assert_int_equal(stats_of(f).capacity, stats_of(like).capacity);
    assert_int_equal(besom_hash_u64(f, missing).hi, besom_hash_u64(like, missing).hi);
  } else {
    assert_status(BESOM_UNSUPPORTED, status);
    assert_false(can(s, BESOM_CAN_INSERT));
    assert_null(f);
  }
  besom_free(f), besom_free(like);
  free(keys);
}

/* A source of digests that returns them in batches of varying size. */
typedef struct digest_array {
  besom_digest_source api;
  const besom_digest *digests;
  size_t n, at, most_at_once;
  besom_status at_the_end; /* BESOM_END, or an error */
} digest_array;

static besom_status give_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_array *d = ctx;
  if (d->at == d->n) return d->at_the_end;
  for (*n = 0; *n < cap && *n < d->most_at_once && d->at < d->n; ++*n)
    out[*n] = d->digests[d->at++];
  return BESOM_OK;
}

static besom_status digests_again(void *ctx) {
  ((digest_array *)ctx)->at = 0;
  return BESOM_OK;
}

static void digest_array_init(digest_array *d, const besom_digest *digests, size_t n,
                              size_t most_at_once) {
  *d = (digest_array){
      .digests = digests, .n = n, .most_at_once = most_at_once, .at_the_end = BESOM_END};
  d->api = (besom_digest_source){
      .next = give_digests, .rewind = digests_again, .size_hint = n, .ctx = d};
}

static besom_filter *build_sorted(const besom_config *config, const besom_digest *digests, size_t n,
                                  size_t at_once) {
  digest_array d;
  digest_array_init(&d, digests, n, at_once);
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_build(config, &(besom_input){.digests = &d.api}, &f));
  return f;
}

static void building_sorted_is_inserting(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {1, 2, 64, 100, 1000, 10000}, at_once[] = {1, 7, 1000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < 3; k++) {
      size_t n = sizes[i];
      besom_filter *inserted = make_of_members(s, n, 0.01);
      besom_config config = config_of(s, k ? n : 0, 0.01);
      uint64_t *keys = keys_u64(MEMBERS, n);
      besom_digest *digests = digests_of_u64(inserted, keys, n);
      sort_digests(digests, n);
      besom_filter *f = build_sorted(&config, digests, n, at_once[k]);
      assert_valid(f);
      assert_holds_u64(f, keys, n);
      assert_int_equal(stats_of(f).keys, stats_of(inserted).keys);
      assert_same_answers(s, f, inserted, 4000);
      free(digests);
      free(keys);
      besom_free(f);
      besom_free(inserted);
    }
}

/* Some digests once, some often, some close to others: different keys that share a fingerprint. */
static besom_digest *digests_with_copies(size_t n, random_stream *random) {
  besom_digest *digests = heap_array(n, sizeof *digests);
  for (size_t i = 0; i < n; i++) {
    digests[i] = (besom_digest){random_next(random), random_next(random)};
    uint64_t dice = random_below(random, 10);
    if (i && dice < 3) digests[i] = digests[random_below(random, i)];
    if (i && dice == 3) digests[i].hi = digests[i - 1].hi;
    if (i && dice > 7)
      digests[i].hi = digests[i - 1].hi + (random_next(random) >> random_below(random, 64));
    if (i && dice < 7 && n % 3 == 0) digests[i] = digests[i - 1]; /* many copies in a row */
  }
  sort_digests(digests, n);
  return digests;
}

/*
 * The saved bytes are equal: appending in order makes the filter that inserts in that order make.
 */
static void appending_copies_is_inserting_them(void **state) {
  const subject *s = subject_of(state);
  random_stream random = {1};
  size_t full = 0;
  for (uint32_t width = min_width(s); width <= 40; width += width < 12 ? 1 : 7)
    for (size_t slots = 1; slots < 4000; slots = slots * 3 + 1) {
      besom_config config = takes_geometry(s) ? geometry_of(s, slots, width)
                                              : config_of(s, slots, ldexp(1, -(int)(width % 16)));
      size_t n = slots * (1 + random_below(&random, 12)) / 8 + 1, inserted_now = 0;
      besom_digest *digests = digests_with_copies(n, &random);
      besom_filter *inserted = make_empty(&config), *f = NULL;
      besom_status expected = besom_insert_many_digest(inserted, digests, n, &inserted_now);
      digest_array d;
      digest_array_init(&d, digests, n, 1 + random_below(&random, 700));
      assert_status(expected, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
      full += expected == BESOM_FULL;
      if (f) {
        assert_valid(f);
        assert_same_bytes(f, inserted);
      }
      besom_free(f);
      besom_free(inserted);
      free(digests);
    }
  assert_true(full > 5 && full < 100);
}

/* As with besom_build: the size comes from the hint or a first pass, or the build fails. */
static void sorted_digests_without_size_must_rewind(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 0, 0);
  besom_digest digests[100];
  for (size_t i = 0; i < 100; i++) digests[i] = (besom_digest){(uint64_t)i << 56, i};
  digest_array d;
  digest_array_init(&d, digests, 100, 7);
  d.api.size_hint = 0;
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
  for (size_t i = 0; i < 100; i++) assert_true(besom_contains_digest(f, digests[i]));
  besom_free(f);
  f = NULL;
  digest_array_init(&d, digests, 100, 7);
  d.api.size_hint = 0;
  d.api.rewind = NULL;
  assert_status(BESOM_INVALID, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
  assert_null(f);
}

/* Up to the last slot of the table, where other bulk loaders lose keys; with copies, too. */
static void building_sorted_at_the_highest_load_loses_nothing(void **state) {
  const subject *s = subject_of(state);
  for (uint64_t slots = 1000; slots <= 200000; slots = slots * 5 - 7) {
    besom_config config = takes_geometry(s) ? geometry_of(s, slots, 7) : config_of(s, slots, 0.01);
    besom_filter *scratch = make_empty(&config);
    size_t n = (size_t)stats_of(scratch).capacity;
    uint64_t *keys = keys_u64(MEMBERS, n);
    for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < n; i += 11) keys[i] = keys[i / 3];
    besom_digest *digests = digests_of_u64(scratch, keys, n);
    sort_digests(digests, n);
    besom_filter *f = build_sorted(&config, digests, n, 1000);
    assert_holds_u64(f, keys, n);
    assert_valid(f);
    if (can(s, BESOM_CAN_COUNT)) assert_int_equal(stats_of(f).keys, n);
    free(keys);
    free(digests);
    besom_free(f);
    besom_free(scratch);
  }
}

static void descending_digests_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  for (size_t wrong = 1; wrong < 100; wrong += 7) {
    besom_digest digests[100];
    for (size_t i = 0; i < 100; i++) digests[i] = (besom_digest){(uint64_t)i << 56, i};
    digests[wrong] = (besom_digest){digests[wrong - 1].hi, digests[wrong - 1].lo - 1};
    if (wrong == 1) digests[0].lo = 7, digests[1] = (besom_digest){0, 3};
    digest_array d;
    digest_array_init(&d, digests, 100, 1 + wrong);
    failing_allocator memory;
    failing_allocator_init(&memory);
    config.allocator = &memory.api;
    besom_filter *f = NULL;
    assert_status(BESOM_INVALID, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
    assert_null(f);
    assert_no_error(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* By the source or by the caller; no memory is leaked. */
static void a_sorted_build_can_be_ended(void **state) {
  const subject *s = subject_of(state);
  enum { MANY = 300000 };
  besom_digest *digests = heap_array(MANY, sizeof *digests);
  for (uint64_t i = 0; i < MANY; i++) digests[i] = (besom_digest){i << 45, i};
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_config config = config_of(s, MANY, 0);
  config.allocator = &memory.api;
  digest_array d;
  digest_array_init(&d, digests, 1000, 100);
  d.at_the_end = BESOM_NEEDS_STORE;
  besom_filter *f = NULL;
  assert_status(BESOM_NEEDS_STORE, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
  assert_null(f);
  patience p = {.most = 2};
  besom_progress progress = {.tick = tick, .ctx = &p};
  digest_array_init(&d, digests, MANY, MANY);
  assert_status(BESOM_CANCELLED,
                besom_build(&config, &(besom_input){.digests = &d.api, .progress = &progress}, &f));
  assert_null(f);
  assert_int_equal(p.ticks, 2);
  assert_no_error(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(digests);
}

static void building_sorted_too_much_is_full(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 10, 0);
  besom_digest digests[1000];
  for (size_t i = 0; i < 1000; i++) digests[i] = (besom_digest){(uint64_t)i << 54, i};
  digest_array d;
  digest_array_init(&d, digests, 1000, 100);
  besom_filter *f = NULL;
  assert_status(BESOM_FULL, besom_build(&config, &(besom_input){.digests = &d.api}, &f));
  assert_null(f);
}

const law build_laws[] = {
    LAW(building_is_inserting, EVERY_SUBJECT, CAN_BUILD),
    LAW(a_source_without_size_must_rewind, EVERY_KIND, CAN_BUILD),
    LAW_UNLESS(more_keys_than_capacity_are_full, EVERY_KIND, CAN_BUILD, BESOM_CAN_SCALE),
    LAW(a_wrong_hint_does_no_harm, EVERY_KIND, CAN_BUILD),
    LAW_UNLESS(a_build_fills_a_filter_to_its_capacity, EVERY_SUBJECT, BESOM_CAN_INSERT,
               BESOM_CAN_SCALE),
    LAW_UNLESS(copies_beyond_the_capacity_are_counted_or_full, EVERY_KIND,
               BESOM_CAN_INSERT | BESOM_CAN_COUNT, BESOM_CAN_SCALE),
    LAW(a_source_may_repeat_itself, EVERY_SUBJECT, CAN_BUILD),
    LAW(a_distinct_build_takes_each_key_once, EVERY_SUBJECT, CAN_BUILD),
    LAW(a_failing_source_ends_the_build, EVERY_KIND, CAN_BUILD),
    LAW(progress_can_stop_a_build, EVERY_KIND, CAN_BUILD),
    LAW(a_filter_is_built_like_another, EVERY_SUBJECT, CAN_BUILD),
    LAW(no_lists_are_answered_no_or_unsupported, EVERY_KIND, CAN_BUILD),
    LAW(building_sorted_is_inserting, EVERY_SUBJECT, BESOM_CAN_BUILD_SORTED),
    LAW(appending_copies_is_inserting_them, EVERY_SUBJECT,
        BESOM_CAN_BUILD_SORTED | BESOM_CAN_COUNT | BESOM_CAN_INSERT),
    LAW(sorted_digests_without_size_must_rewind, EVERY_KIND, BESOM_CAN_BUILD_SORTED),
    LAW(building_sorted_at_the_highest_load_loses_nothing, EVERY_SUBJECT,
        BESOM_CAN_BUILD_SORTED | BESOM_CAN_INSERT),
    LAW(descending_digests_are_invalid, EVERY_KIND, BESOM_CAN_BUILD_SORTED),
    LAW(a_sorted_build_can_be_ended, EVERY_KIND, BESOM_CAN_BUILD_SORTED),
    LAW(building_sorted_too_much_is_full, EVERY_KIND, BESOM_CAN_BUILD_SORTED),
    {0},
};
