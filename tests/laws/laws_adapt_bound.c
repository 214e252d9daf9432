/*
 * Kinds that adapt, bound to a store in which every key has its own bucket and rank. No key is
 * lost, moved or given the value of another key, and no false positive is repeated, however small
 * and full the filter is. Two exceptions: kinds that store extensions per block may repeat one
 * after a rebuild or a change of round, which they count; kinds with selectors may, after another
 * adaptation in the same bucket.
 */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"

/*
 * A digest, and the key that has it. Most digests are made up, so that they share bits with stored
 * ones: they have no key. Values are set and read by keys.
 */
typedef struct hashed {
  besom_digest digest;
  bool has_key;
  uint64_t key;
} hashed;

/* A key of the store: its rank is the number of earlier keys with the same bucket. */
typedef struct stored_key {
  uint64_t bucket, value;
  hashed h;
} stored_key;

typedef struct fixed_key {
  uint64_t bucket;
  besom_digest digest;
} fixed_key;

enum { MAX_STORED = 700, MAX_FIXED = 60 };

/* A filter bound to a store, which is a list in the order of insertion. */
typedef struct bound {
  const subject *s;
  besom_filter *f;
  stored_key stored[MAX_STORED];
  size_t n;
  fixed_key fixed[MAX_FIXED]; /* must be answered no */
  size_t n_fixed;
  unsigned value_bits;
  uint64_t alike; /* up to this many leading bits of two digests are equal */
  random_stream random;
  size_t calls, fail_at; /* calls of digest_of; the one that fails, from 1 */
  size_t adapted, refused, full, ambiguous, unread;
  uint64_t rebuilds, all_rebuilds; /* of this filter; and of the filters before it, too */
  uint64_t high_selectors;         /* seen only with the maximum of selector bits */
  bool repeats; /* published forms of filters with slot metadata: a report may be needed again */
} bound;

static stored_key *find_stored(bound *b, besom_match match) {
  uint32_t rank = 0;
  for (size_t i = 0; i < b->n; i++)
    if (b->stored[i].bucket == match.bucket && rank++ == match.rank) return &b->stored[i];
  return NULL;
}

static besom_match match_of(const bound *b, size_t i) {
  besom_match match = {b->stored[i].bucket, 0};
  for (size_t j = 0; j < i; j++) match.rank += b->stored[j].bucket == match.bucket;
  return match;
}

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  bound *b = ctx;
  if (++b->calls == b->fail_at) return BESOM_IO;
  stored_key *key = find_stored(b, *match);
  assert_ptr_equal(f, b->f);
  assert_non_null(key);
  *digest = key->h.digest;
  return BESOM_OK;
}

static void bind_to(bound *b) {
  assert_status(BESOM_OK, besom_bind(b->f, &(besom_reverse){.digest_of = digest_of, .ctx = b}));
}

static bound *bound_new(const subject *s, const besom_config *config, uint64_t seed) {
  bound *b = heap_array(1, sizeof *b);
  b->s = s;
  b->f = make_empty(config);
  b->value_bits = config->value_bits;
  b->alike = config->width + 30;
  b->repeats = is_published_form(s) && !can(s, BESOM_CAN_VALUE);
  b->random.state = seed;
  bind_to(b);
  return b;
}

static void bound_free(bound *b) {
  besom_free(b->f);
  free(b);
}

static bool same_digest(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

static bool is_stored(const bound *b, besom_digest d) {
  for (size_t i = 0; i < b->n; i++)
    if (same_digest(b->stored[i].h.digest, d)) return true;
  return false;
}

static bool has_match(const besom_filter *f, besom_digest d, besom_match wanted) {
  besom_match matches[MAX_STORED];
  size_t total = 0;
  bool found = false;
  assert_status(BESOM_OK, besom_matches(f, d, matches, MAX_STORED, &total));
  assert_int_equal(total > 0, besom_contains_digest(f, d));
  for (size_t i = 0; i < total; i++) {
    assert_int_equal(matches[i].bucket, matches[0].bucket);
    assert_true(i == 0 || matches[i].rank > matches[i - 1].rank);
    found |= matches[i].bucket == wanted.bucket && matches[i].rank == wanted.rank;
  }
  return found;
}

/* get_value returns the value of the first match. */
static void assert_value(bound *b, uint64_t key) {
  besom_match first;
  size_t total = 0;
  uint64_t value = 0;
  assert_status(BESOM_OK, besom_matches(b->f, besom_hash_u64(b->f, key), &first, 1, &total));
  assert_status(total ? BESOM_OK : BESOM_NOT_FOUND, get_value_u64(b->f, key, &value));
  if (total) assert_int_equal(value, find_stored(b, first)->value);
}

/* Every entry has the value of its key. The entries of a bucket are in the order of their ranks. */
static void assert_values(bound *b) {
  uint32_t width = stats_of(b->f).width;
  besom_iter iter = {.filter = b->f};
  besom_entry entry;
  bool seen[MAX_STORED] = {false};
  size_t n = 0;
  for (; besom_iter_next(&iter, &entry) == BESOM_OK; n++) {
    size_t i = 0;
    while (i < b->n &&
           (seen[i] || b->stored[i].bucket != (entry.quotient << width | entry.remainder)))
      i++;
    assert_true(i < b->n);
    assert_int_equal(entry.value, b->stored[i].value);
    seen[i] = true;
  }
  assert_int_equal(n, b->n);
  for (size_t i = 0; i < b->n; i++)
    if (b->stored[i].h.has_key) assert_value(b, b->stored[i].h.key);
}

/* Every key has its bucket, rank and value, and fixed false positives are answered no. */
static void assert_bound(bound *b) {
  assert_valid(b->f);
  assert_int_equal(stats_of(b->f).keys, b->n);
  for (size_t i = 0; i < b->n; i++)
    assert_true(has_match(b->f, b->stored[i].h.digest, match_of(b, i)));
  if (b->value_bits) assert_values(b);
  for (size_t i = 0; i < b->n_fixed; i++)
    assert_false(besom_contains_digest(b->f, b->fixed[i].digest));
}

/* A cheaper check, after every operation. */
static void assert_none_lost(const bound *b) {
  assert_valid(b->f);
  size_t lost = 0, revived = 0;
  for (size_t i = 0; i < b->n; i++) lost += !besom_contains_digest(b->f, b->stored[i].h.digest);
  for (size_t i = 0; i < b->n_fixed; i++)
    revived += besom_contains_digest(b->f, b->fixed[i].digest);
  assert_int_equal(lost, 0);
  assert_int_equal(revived, 0);
}

/* The digest of a random key. */
static hashed random_key(bound *b) {
  uint64_t key = random_next(&b->random);
  return (hashed){besom_hash_u64(b->f, key), true, key};
}

/* A digest that shares many leading bits with a stored one: extensions get long. */
static besom_digest similar_digest(bound *b) {
  besom_digest d = {random_next(&b->random), random_next(&b->random)};
  besom_digest like = b->stored[random_below(&b->random, b->n)].h.digest;
  uint64_t same = random_below(&b->random, 1 + random_below(&b->random, b->alike));
  if (same < 64) return (besom_digest){like.hi ^ (d.hi >> same | UINT64_C(1) << (63 - same)), d.lo};
  return (besom_digest){like.hi, like.lo ^ (d.lo >> (same - 64) | UINT64_C(1) << (127 - same))};
}

static hashed some_key(bound *b) {
  if (b->n == 0 || random_below(&b->random, 3) == 0) return random_key(b);
  return (hashed){.digest = similar_digest(b)};
}

static void forget_fixed_in(bound *b, uint64_t bucket) {
  for (size_t i = 0; i < b->n_fixed;)
    if (b->fixed[i].bucket == bucket)
      b->fixed[i] = b->fixed[--b->n_fixed];
    else
      i++;
}

/* One operation in `one_in` has a failing read of the store, among its first four. */
static void let_reads_fail(bound *b, uint64_t one_in) {
  b->calls = 0;
  b->fail_at = random_below(&b->random, one_in) == 0 ? 1 + (size_t)random_below(&b->random, 4) : 0;
}

/* Has a read failed? From now on reads succeed. */
static bool reads_failed(bound *b) {
  bool failed = b->fail_at && b->calls >= b->fail_at;
  b->fail_at = 0;
  b->unread += failed;
  return failed;
}

static bool has_selectors(bound *b) {
  static const char *const names[] = {"selector_0", "selector_1", "selector_2", "selector_3",
                                      "selector_4", "selector_5", "selector_6", "selector_7"};
  b->high_selectors += counter_of(b->f, names[7]);
  uint64_t n = 0;
  for (size_t i = 0; i < 8; i++) n += counter_of(b->f, names[i]);
  if (n) assert_int_equal(n, stats_of(b->f).keys);
  return n > 0;
}

/* After a rebuild, fixed keys may be false positives again. */
static void forget_rebuilt(bound *b) {
  uint64_t now = counter_of(b->f, "rebuilds");
  if (now != b->rebuilds) b->n_fixed = 0;
  b->all_rebuilds += now - b->rebuilds;
  b->rebuilds = now;
}

static void store_one(bound *b, hashed h) {
  besom_match match = {0, 0};
  memory_sink before;
  if (b->n == MAX_STORED) return;
  uint64_t value = b->value_bits ? random_next(&b->random) >> (64 - b->value_bits) : 0;
  save_to(&before, b->f);
  let_reads_fail(b, 8);
  besom_status status = besom_insert_at(b->f, h.digest, value, &match);
  if (reads_failed(b)) {
    assert_status(BESOM_IO, status);
    assert_bytes(b->f, &before);
    return;
  }
  if (status == BESOM_FULL) {
    assert_bytes(b->f, &before);
    b->full++;
    return;
  }
  memory_sink_close(&before);
  assert_status(BESOM_OK, status);
  b->stored[b->n++] = (stored_key){match.bucket, value, h};
  assert_int_equal(match.rank, match_of(b, b->n - 1).rank);
  assert_true(has_match(b->f, h.digest, match));
  forget_fixed_in(b, match.bucket);
  forget_rebuilt(b);
}

static void unstore_one(bound *b) {
  if (b->n == 0) return;
  size_t i = (size_t)random_below(&b->random, b->n);
  besom_match match = match_of(b, i), none = {match.bucket, UINT32_MAX};
  assert_status(BESOM_NOT_FOUND, besom_remove_at(b->f, &none));
  memory_sink before;
  save_to(&before, b->f);
  let_reads_fail(b, 8);
  besom_status status = besom_remove_at(b->f, &match);
  if (reads_failed(b)) {
    assert_status(BESOM_IO, status);
    assert_bytes(b->f, &before);
    return;
  }
  memory_sink_close(&before);
  assert_status(BESOM_OK, status);
  forget_rebuilt(b);
  memmove(b->stored + i, b->stored + i + 1, (--b->n - i) * sizeof *b->stored);
}

/* On OK the key is answered no from then on; on another status the filter is unchanged. */
static void adapt_one(bound *b, besom_digest d) {
  besom_match first = {0, 0};
  size_t total = 0;
  memory_sink before;
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  save_to(&before, b->f);
  let_reads_fail(b, 4);
  besom_status status = besom_adapt_digest(b->f, d);
  bool failed = reads_failed(b);
  if (status != BESOM_OK) {
    assert_status(failed            ? BESOM_IO
                  : is_stored(b, d) ? BESOM_IS_MEMBER
                                    : BESOM_RESERVE_FULL,
                  status);
    assert_bytes(b->f, &before);
    b->refused += status == BESOM_RESERVE_FULL;
    return;
  }
  memory_sink_close(&before);
  assert_false(failed);
  assert_false(is_stored(b, d));
  bool fixed = !besom_contains_digest(b->f, d);
  forget_rebuilt(b);
  if (total && has_selectors(b)) forget_fixed_in(b, first.bucket);
  if (!fixed && b->repeats) return;
  assert_true(fixed);
  if (total == 0 || b->n_fixed == MAX_FIXED) return;
  b->adapted++;
  b->fixed[b->n_fixed++] = (fixed_key){first.bucket, d};
}

/* adapt_at: the match is gone, and only the digest of the stored key is accepted. */
static void adapt_at_one(bound *b, besom_digest d) {
  besom_match first = {0, 0};
  size_t total = 0;
  memory_sink before;
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  if (total == 0 || is_stored(b, d)) return;
  besom_digest stored = find_stored(b, first)->h.digest, wrong = {~stored.hi, stored.lo};
  save_to(&before, b->f);
  assert_status(BESOM_IS_MEMBER, besom_adapt_at(b->f, stored, &first, stored));
  assert_status(BESOM_INVALID, besom_adapt_at(b->f, d, &first, wrong));
  assert_status(BESOM_NOT_FOUND,
                besom_adapt_at(b->f, d, &(besom_match){first.bucket, UINT32_MAX}, stored));
  assert_bytes(b->f, &before);
  save_to(&before, b->f);
  besom_status status = besom_adapt_at(b->f, d, &first, stored);
  if (status == BESOM_RESERVE_FULL) {
    assert_bytes(b->f, &before);
    return;
  }
  memory_sink_close(&before);
  assert_status(BESOM_OK, status);
  assert_true(!has_match(b->f, d, first) || b->repeats);
  forget_rebuilt(b);
  if (has_selectors(b)) forget_fixed_in(b, first.bucket);
}

/* AMBIGUOUS if and only if there are several matches. */
static void set_one(bound *b, uint64_t key) {
  besom_match first = {0, 0};
  size_t total = 0;
  uint64_t value = random_next(&b->random) >> (64 - b->value_bits);
  assert_status(BESOM_OK, besom_matches(b->f, besom_hash_u64(b->f, key), &first, 1, &total));
  assert_status(BESOM_INVALID, set_value_u64(b->f, key, UINT64_C(1) << b->value_bits));
  besom_status expected = total == 0 ? BESOM_NOT_FOUND : total == 1 ? BESOM_OK : BESOM_AMBIGUOUS;
  assert_status(expected, set_value_u64(b->f, key, value));
  b->ambiguous += total > 1;
  if (total == 1) find_stored(b, first)->value = value;
}

static void sort_by_bucket(bound *b) {
  for (size_t i = 1; i < b->n; i++) /* stable: the order within a bucket is its ranks */
    for (size_t j = i; j && b->stored[j - 1].bucket > b->stored[j].bucket; j--) {
      stored_key moved = b->stored[j];
      b->stored[j] = b->stored[j - 1];
      b->stored[j - 1] = moved;
    }
}

/*
 * What the owner of a store does after a resize, for kinds that renumber their buckets: move the
 * keys of each bucket, in order, to the bucket that they match now.
 */
static void update_buckets(bound *b, bool grown) {
  size_t same = 0, near = 0;
  sort_by_bucket(b);
  for (size_t i = 0; i < b->n; i++) {
    besom_match match;
    size_t total = 0;
    uint64_t was = b->stored[i].bucket;
    assert_status(BESOM_OK, besom_matches(b->f, b->stored[i].h.digest, &match, 1, &total));
    assert_true(total > 0);
    same += match.bucket == was;
    near += grown ? match.bucket / 2 == was : match.bucket == was / 2;
    b->stored[i].bucket = match.bucket;
  }
  assert_true(same == b->n || near == b->n);
}

/*
 * OK, FULL, RESERVE_FULL, or the status of the store. On any status but OK the filter is unchanged.
 */
static besom_status resize(bound *b, uint64_t slots) {
  bool grow = slots > stats_of(b->f).slots;
  memory_sink before;
  save_to(&before, b->f);
  let_reads_fail(b, 4);
  besom_status status = besom_resize(b->f, slots, NULL);
  bool failed = reads_failed(b);
  if (status != BESOM_OK) {
    if (status != BESOM_RESERVE_FULL) assert_status(failed ? BESOM_IO : BESOM_FULL, status);
    assert_true(failed || !grow);
    assert_bytes(b->f, &before);
    return status;
  }
  memory_sink_close(&before);
  assert_false(failed);
  update_buckets(b, grow);
  forget_rebuilt(b);
  if (has_selectors(b)) b->n_fixed = 0; /* a resize sets all selectors to 0 */
  return BESOM_OK;
}

/* By save and load, or by growing to twice the size and shrinking again. */
static void reload_or_resize(bound *b) {
  uint64_t slots = stats_of(b->f).slots;
  if (random_below(&b->random, 2) || stats_of(b->f).width < 3 || !can(b->s, BESOM_CAN_RESIZE)) {
    replace_filter(&b->f, loaded_copy(b->f));
    bind_to(b);
    b->rebuilds = 0;
    return;
  }
  if (resize(b, 2 * slots) != BESOM_OK) return;
  assert_bound(b);
  if (resize(b, slots) != BESOM_OK) b->n_fixed = 0; /* the buckets may be renumbered */
  assert_bound(b);
}

static hashed stored_one(bound *b) {
  return b->n ? b->stored[random_below(&b->random, b->n)].h : (hashed){.digest = {1, 1}};
}

/* A stored key, or a random one that probably matches several fingerprints. */
static uint64_t key_to_set(bound *b) {
  hashed h = random_below(&b->random, 2) ? random_key(b) : stored_one(b);
  if (h.has_key && is_stored(b, h.digest)) return h.key;
  size_t total = 0;
  for (size_t i = 0; i < 50 && total < 2; i++) {
    h = random_key(b);
    assert_status(BESOM_OK, besom_matches(b->f, h.digest, NULL, 0, &total));
  }
  return h.key;
}

/* Phases of mostly inserts and mostly removes, as with multisets; half of the operations adapt. */
static void one_operation(bound *b, bool growing) {
  uint64_t dice = random_below(&b->random, 40);
  if (dice < 16 && random_below(&b->random, 10) < (growing ? 2 : 7))
    unstore_one(b);
  else if (dice < 16)
    store_one(b, random_below(&b->random, 20) ? some_key(b) : stored_one(b));
  else if (dice < 30)
    adapt_one(b, some_key(b).digest);
  else if (dice < 32)
    adapt_one(b, stored_one(b).digest);
  else if (dice < 35)
    adapt_at_one(b, some_key(b).digest);
  else if (dice < 39 && b->value_bits)
    set_one(b, key_to_set(b));
  else if (dice == 39)
    reload_or_resize(b);
}

typedef struct bound_shape {
  uint64_t slots;
  uint32_t width, value_bits;
  double reserve;
} bound_shape;

static besom_config config_of_bound(const subject *s, const bound_shape *shape) {
  besom_config config = geometry_of(s, shape->slots, shape->width);
  config.value_bits = can(s, BESOM_CAN_VALUE) ? shape->value_bits : 0;
  config.reserve = shape->reserve;
  return config;
}

/* A filter of `initial` keys after random operations. */
static bound *bound_after(const subject *s, const bound_shape *shape, size_t initial, size_t steps,
                          uint64_t seed) {
  besom_config config = config_of_bound(s, shape);
  bound *b = bound_new(s, &config, seed);
  for (size_t i = 0; i < initial; i++) store_one(b, some_key(b));
  for (size_t step = 0; step < steps; step++) {
    one_operation(b, step / (steps / 4 + 1) % 2 == 0);
    assert_none_lost(b);
    if (step % 32 == 0) assert_bound(b);
  }
  assert_bound(b);
  return b;
}

/* Small filters in which everything collides, full reserves, and the longest fingerprints. */
static const bound_shape shapes[] = {
    {1, 2, 0, 0.5},    {1, 8, 0, 0.5},    {2, 3, 1, 0.5},    {5, 2, 0, 0.5},    {13, 2, 8, 0.5},
    {31, 4, 0, 0.3},   {40, 9, 8, 0.5},   {63, 2, 0, 0.5},   {64, 2, 32, 0.4},  {65, 2, 0, 0.2},
    {65, 5, 1, 0.5},   {96, 8, 0, 0.2},   {100, 3, 0, 0.5},  {130, 6, 32, 0.3}, {190, 2, 0, 0.45},
    {200, 4, 0, 0.1},  {250, 7, 8, 0.25}, {256, 9, 0, 0.05}, {300, 2, 0, 0.5},  {300, 2, 1, 0.5},
    {300, 8, 0, 0.02}, {77, 40, 0, 0.5},  {90, 55, 32, 0.5}, {128, 16, 0, 0.5},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void a_bound_filter_loses_no_key_and_repeats_no_false_positive(void **state) {
  const subject *s = subject_of(state);
  size_t adapted = 0, refused = 0, full = 0, ambiguous = 0, unread = 0, rebuilds = 0, high = 0;
  for (size_t i = 0; i < SHAPES; i++) {
    bound *b = bound_after(s, &shapes[i], shapes[i].slots * 2 / 5, 440 + 2 * shapes[i].slots, i);
    adapted += b->adapted;
    refused += b->refused;
    full += b->full;
    ambiguous += b->ambiguous;
    unread += b->unread;
    rebuilds += (size_t)b->all_rebuilds;
    high += (size_t)b->high_selectors;
    while (b->n) unstore_one(b);
    assert_bound(b);
    bound_free(b);
  }
  /* Every case has occurred. */
  assert_true(adapted > 300 && full > 300 && unread > 100);
  assert_true(refused > 300 || rebuilds > 100 || high > 100 || is_published_form(s));
  assert_true(ambiguous > 50 || !can(s, BESOM_CAN_VALUE));
}

/*
 * A new seed would put every key into another bucket, and only the owner of the store can move it.
 */
static void a_bound_filter_is_not_rekeyed(void **state) {
  const subject *s = subject_of(state);
  bound *b = bound_after(s, &shapes[0], 1, 10, 5);
  array_source yes;
  uint64_t key = 1;
  source_of_u64(&yes, &key, 1);
  assert_status(BESOM_NEEDS_STORE, besom_rekey(b->f, &yes.api, NULL, NULL, NULL));
  assert_bound(b);
  assert_status(BESOM_OK, besom_bind(b->f, NULL));
  assert_status(BESOM_OK, besom_rekey(b->f, &yes.api, NULL, NULL, NULL));
  bound_free(b);
}

/* The result has the keys of a, then those of b. A key that both answer no to is answered no. */
static void bound_filters_merge(void **state) {
  const subject *s = subject_of(state);
  for (size_t i = 0; i < SHAPES; i++) {
    bound *a = bound_after(s, &shapes[i], shapes[i].slots / 9, 20 + shapes[i].slots / 2, 100 + i);
    bound *b = bound_after(s, &shapes[i], shapes[i].slots / 9, 20 + shapes[i].slots / 2, 200 + i);
    besom_filter *both = NULL;
    besom_status status = besom_merge(a->f, b->f, &both);
    if (status == BESOM_OK) {
      fixed_key fixed[2 * MAX_FIXED];
      size_t n = 0;
      for (size_t j = 0; j < a->n_fixed; j++)
        if (!besom_contains_digest(b->f, a->fixed[j].digest)) fixed[n++] = a->fixed[j];
      for (size_t j = 0; j < b->n_fixed; j++)
        if (!besom_contains_digest(a->f, b->fixed[j].digest)) fixed[n++] = b->fixed[j];
      a->n_fixed = n < MAX_FIXED ? n : MAX_FIXED;
      memcpy(a->fixed, fixed, a->n_fixed * sizeof *fixed);
      memcpy(a->stored + a->n, b->stored, b->n * sizeof *b->stored);
      a->n += b->n;
      replace_filter(&a->f, both);
      bind_to(a);
      a->rebuilds = 0;
      forget_rebuilt(a);
      assert_bound(a);
      for (size_t step = 0; step < 50; step++) {
        one_operation(a, false);
        assert_none_lost(a);
      }
      assert_bound(a);
    } else {
      assert_true(status == BESOM_FULL || status == BESOM_RESERVE_FULL);
    }
    bound_free(a);
    bound_free(b);
  }
}

#define STORES (BESOM_CAN_INSERT | BESOM_CAN_MATCH)
#define LISTS BESOM_CAN_NO_LIST_AT

const law adapt_bound_laws[] = {
    LAW_UNLESS(a_bound_filter_loses_no_key_and_repeats_no_false_positive, EVERY_SUBJECT, STORES,
               LISTS),
    LAW_UNLESS(a_bound_filter_is_not_rekeyed, EVERY_KIND, STORES | BESOM_CAN_REKEY, LISTS),
    LAW_UNLESS(bound_filters_merge, EVERY_SUBJECT, STORES | BESOM_CAN_MERGE, LISTS),
    {0},
};
