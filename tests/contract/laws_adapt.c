/*
 * Kinds that adapt: what was fixed stays fixed and no member is ever lost, with the keys at hand and without; and
 * what such kinds keep with a key besides: its own fingerprint, a value, a count.
 */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"
#include "support/reference.h"

/* ------------------------------------------------------------------ filters and their bytes */

/* A failed call must have changed nothing: what the filter was, to be compared with what it is. */
#define assert_bytes(f, before) check_bytes((f), (before), __FILE__, __LINE__)
static void check_bytes(const besom_filter *f, memory_sink *before, const char *file, int line) {
  memory_sink now;
  save_to(&now, f);
  bool same = memory_sinks_equal(&now, before);
  memory_sink_close(&now);
  memory_sink_close(before);
  if (same) return;
  print_error("the filter has changed\n");
  _fail(file, line);
}

static besom_filter *loaded_copy(const besom_filter *f) {
  memory_sink saved;
  besom_filter *copy = NULL;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
  memory_sink_close(&saved);
  return copy;
}

static void replace(besom_filter **f, besom_filter *by) {
  besom_free(*f);
  *f = by;
}

static besom_filter *merged(const besom_filter *a, const besom_filter *b) {
  besom_filter *out = NULL;
  assert_status(BESOM_OK, besom_merge(a, b, &out));
  return out;
}

/* ------------------------------------------------------------------ without a store */

enum { MANY = 2000, ENOUGH = 90 };

/* Half full, wrong about every thirtieth key or so, with room to adapt. */
static besom_config adapting_config(const subject *s) {
  besom_config config = config_of(s, 2 * MANY, 1.0 / 16);
  config.max_capacity = 16 * MANY;
  config.adapt_room = 0.4;
  return config;
}

/* The first n negatives that are answered yes; free() them. */
static uint64_t *false_positives_of(const besom_filter *f, size_t n) {
  uint64_t *keys = heap_array(n, sizeof *keys);
  size_t found = 0;
  for (size_t i = 0; found < n; i++) {
    if (i == 1000000) fail_msg("%zu false positives, not %zu", found, n);
    if (besom_contains_u64(f, key_u64(NEGATIVES, i))) keys[found++] = key_u64(NEGATIVES, i);
  }
  return keys;
}

static size_t count_yes(const besom_filter *f, const uint64_t *keys, size_t n) {
  uint64_t bitmap[MANY / 64 + 1];
  size_t one_by_one = 0, at_once = 0;
  assert_true(n <= MANY);
  assert_status(BESOM_OK, besom_contains_many_u64(f, keys, n, bitmap));
  for (size_t i = 0; i < n; i++) {
    one_by_one += besom_contains_u64(f, keys[i]);
    at_once += bitmap[i / 64] >> (i % 64) & 1;
  }
  assert_int_equal(one_by_one, at_once);
  return one_by_one;
}

static void adapt_all(besom_filter *f, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (i % 2)
      assert_status(BESOM_OK, besom_adapt_u64(f, keys[i]));
    else
      assert_status(BESOM_OK, besom_adapt_digest(f, besom_hash_u64(f, keys[i])));
    assert_false(besom_contains_u64(f, keys[i]));
  }
}

/* A filter, its members, and the false positives that were fixed. */
typedef struct fixture {
  besom_filter *f;
  uint64_t *members, *fixed;
  size_t from, to; /* those members that are in it */
} fixture;

static fixture fixture_new(const subject *s) {
  besom_config config = adapting_config(s);
  fixture x = {.members = keys_u64(MEMBERS, 2 * MANY), .to = MANY};
  x.f = make_of_u64(s, &config, x.members, MANY);
  x.fixed = false_positives_of(x.f, ENOUGH);
  return x;
}

static void fixture_free(fixture *x) {
  besom_free(x->f);
  free(x->members);
  free(x->fixed);
}

static void assert_still_fixed(const fixture *x) {
  assert_valid(x->f);
  assert_int_equal(count_yes(x->f, x->fixed, ENOUGH), 0);
  assert_holds_u64(x->f, x->members + x->from, x->to - x->from);
}

static void a_fixed_false_positive_stays_fixed(void **state) {
  const subject *s = subject_of(state);
  fixture x = fixture_new(s);
  assert_int_equal(count_yes(x.f, x.fixed, ENOUGH), ENOUGH);
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_still_fixed(&x);
  for (; can(s, BESOM_CAN_REMOVE) && x.from < MANY / 2; x.from++)
    assert_status(BESOM_OK, besom_remove_u64(x.f, x.members[x.from]));
  assert_still_fixed(&x);
  for (; x.to < 3 * MANY / 2; x.to++) assert_status(BESOM_OK, besom_insert_u64(x.f, x.members[x.to]));
  assert_still_fixed(&x);
  assert_status(BESOM_OK, besom_insert_many_u64(x.f, x.members + x.to, MANY / 2, NULL));
  x.to = 2 * MANY;
  assert_still_fixed(&x);
  replace(&x.f, loaded_copy(x.f));
  assert_still_fixed(&x);
  if (can(s, BESOM_CAN_GROW)) {
    uint64_t slots = stats_of(x.f).slots;
    assert_status(BESOM_OK, besom_grow(x.f, 4 * slots));
    assert_still_fixed(&x);
    assert_status(BESOM_OK, besom_shrink(x.f, slots));
    assert_still_fixed(&x);
  }
  fixture_free(&x);
}

/* What the other filter answers no to stays fixed; of the rest only that no member is lost. */
static void assert_merged_right(const fixture *x, const besom_filter *other, const uint64_t *others, size_t n,
                                bool first) {
  besom_filter *both = first ? merged(x->f, other) : merged(other, x->f);
  assert_valid(both);
  assert_holds_u64(both, x->members + x->from, x->to - x->from);
  assert_holds_u64(both, others, n);
  size_t denied = 0;
  for (size_t i = 0; i < ENOUGH; i++)
    if (!besom_contains_u64(other, x->fixed[i])) {
      assert_false(besom_contains_u64(both, x->fixed[i]));
      denied++;
    }
  assert_true(denied > ENOUGH / 2);
  besom_free(both);
}

static void what_was_fixed_stays_fixed_in_a_merged_filter(void **state) {
  const subject *s = subject_of(state);
  enum { OTHERS = MANY / 2 };
  fixture x = fixture_new(s);
  uint64_t *others = keys_u64(OTHER_MEMBERS, OTHERS);
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(x.f, &other));
  assert_status(BESOM_OK, besom_insert_many_u64(other, others, OTHERS, NULL));
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_merged_right(&x, other, others, OTHERS, true);
  assert_merged_right(&x, other, others, OTHERS, false);
  /* Fixed in both. */
  adapt_all(other, x.fixed, ENOUGH);
  besom_filter *both = merged(x.f, other);
  assert_int_equal(count_yes(both, x.fixed, ENOUGH), 0);
  assert_valid(both);
  besom_free(both);
  besom_free(other);
  free(others);
  fixture_free(&x);
}

/* Adapting for what is fixed, or was never wrong, is OK and changes nothing. */
static void adapting_for_a_no_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  fixture x = fixture_new(s);
  memory_sink before;
  size_t no = 0;
  save_to(&before, x.f);
  for (size_t i = 0; i < MANY; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (besom_contains_u64(x.f, key)) continue;
    assert_status(BESOM_OK, besom_adapt_u64(x.f, key));
    no++;
  }
  assert_true(no > MANY / 2);
  assert_bytes(x.f, &before);
  adapt_all(x.f, x.fixed, ENOUGH);
  save_to(&before, x.f);
  adapt_all(x.f, x.fixed, ENOUGH);
  assert_bytes(x.f, &before);
  assert_still_fixed(&x);
  fixture_free(&x);
}

/* One filter's mark is the other's member: the member wins. */
static void merge_in_as_members(fixture *x, const uint64_t *keys, size_t n, bool first) {
  besom_filter *other = NULL;
  assert_status(BESOM_OK, besom_create_like(x->f, &other));
  assert_status(BESOM_OK, besom_insert_many_u64(other, keys, n, NULL));
  replace(&x->f, first ? merged(x->f, other) : merged(other, x->f));
  besom_free(other);
}

/* In every way in which a key can come in; those that are still out stay fixed. */
static void inserting_a_fixed_key_makes_it_a_member(void **state) {
  const subject *s = subject_of(state);
  enum { PART = ENOUGH / 5 };
  fixture x = fixture_new(s);
  const uint64_t *in = x.fixed;
  adapt_all(x.f, x.fixed, ENOUGH);
  for (size_t i = 0; i < PART; i++) {
    assert_status(BESOM_OK, besom_insert_u64(x.f, in[i]));
    assert_true(besom_contains_u64(x.f, in[i]));
  }
  assert_status(BESOM_OK, besom_insert_many_u64(x.f, in + PART, PART, NULL));
  assert_int_equal(count_yes(x.f, in, 2 * PART), 2 * PART);
  size_t members = 2 * PART;
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < PART; i++, members++)
    assert_status(BESOM_OK, besom_insert_count_u64(x.f, in[members], 3));
  assert_int_equal(count_yes(x.f, in + members, PART), 0);
  for (size_t order = 0; can(s, BESOM_CAN_MERGE) && order < 2; order++, members += PART) {
    assert_int_equal(count_yes(x.f, in + members, PART), 0);
    merge_in_as_members(&x, in + members, PART, order == 0);
  }
  assert_int_equal(count_yes(x.f, in, members), members);
  assert_int_equal(count_yes(x.f, in + members, ENOUGH - members), 0);
  assert_holds_u64(x.f, x.members, MANY);
  assert_valid(x.f);
  /* Adapting for a member by mistake is mended by inserting it again. */
  assert_status(BESOM_OK, besom_adapt_u64(x.f, x.members[0]));
  assert_status(BESOM_OK, besom_insert_u64(x.f, x.members[0]));
  assert_true(besom_contains_u64(x.f, x.members[0]));
  fixture_free(&x);
}

/* The same when the members that it was mistaken for have gone: what was learnt must not stand in its way. */
static void a_fixed_key_is_inserted_into_an_emptied_filter(void **state) {
  const subject *s = subject_of(state);
  fixture x = fixture_new(s);
  adapt_all(x.f, x.fixed, ENOUGH);
  for (size_t i = 0; i < MANY; i++) assert_status(BESOM_OK, besom_remove_u64(x.f, x.members[i]));
  assert_int_equal(stats_of(x.f).items, 0);
  for (size_t i = 0; i < ENOUGH / 2; i++) {
    assert_status(BESOM_OK, besom_insert_u64(x.f, x.fixed[i]));
    assert_true(besom_contains_u64(x.f, x.fixed[i]));
  }
  assert_status(BESOM_OK, besom_insert_many_u64(x.f, x.fixed + ENOUGH / 2, ENOUGH - ENOUGH / 2, NULL));
  assert_int_equal(count_yes(x.f, x.fixed, ENOUGH), ENOUGH);
  assert_valid(x.f);
  fixture_free(&x);
}

/* ------------------------------------------------------------------ room to adapt in */

/* Adapts until there is no room; the number of keys that were fixed. */
static size_t adapt_until_full(besom_filter *f, const uint64_t *keys, size_t n) {
  memory_sink before;
  for (size_t i = 0; i < n; i++) {
    save_to(&before, f);
    besom_status status = besom_adapt_u64(f, keys[i]);
    if (status == BESOM_FULL) {
      assert_true(besom_contains_u64(f, keys[i]));
      assert_bytes(f, &before);
      return i;
    }
    assert_status(BESOM_OK, status);
    memory_sink_close(&before);
  }
  fail_msg("there is room to adapt for %zu keys", n);
  return n;
}

static void a_full_reserve_is_a_status(void **state) {
  const subject *s = subject_of(state);
  enum { OFFENDERS = 1000 };
  besom_config config = config_of(s, 2 * MANY, 1.0 / 16);
  config.adapt_room = 0.01;
  uint64_t *members = keys_u64(MEMBERS, 2 * MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  uint64_t *offenders = false_positives_of(f, OFFENDERS);
  size_t fixed = adapt_until_full(f, offenders, OFFENDERS);
  assert_true(fixed > 0);
  assert_true(stats_of(f).adapt_room_used >= 0.5 && stats_of(f).adapt_room_used <= 1);
  assert_status(BESOM_OK, besom_adapt_u64(f, offenders[0])); /* is fixed */
  assert_int_equal(count_yes(f, offenders, fixed), 0);
  assert_status(BESOM_OK, besom_insert_many_u64(f, members + MANY, MANY, NULL)); /* the room of keys is theirs */
  assert_holds_u64(f, members, 2 * MANY);
  assert_int_equal(count_yes(f, offenders, fixed), 0);
  assert_valid(f);
  free(members);
  free(offenders);
  besom_free(f);
}

/* A new seed: members are there, nothing is learnt but the keys to be answered no. */
static void rekeying_frees_the_room(void **state) {
  const subject *s = subject_of(state);
  enum { OFFENDERS = 1000, DENIED = 20 };
  besom_config config = config_of(s, MANY, 1.0 / 16);
  config.adapt_room = 0.01;
  uint64_t *members = keys_u64(MEMBERS, MANY);
  besom_filter *f = make_of_u64(s, &config, members, MANY);
  uint64_t *offenders = false_positives_of(f, OFFENDERS);
  adapt_until_full(f, offenders, OFFENDERS);
  array_source yes, no, too_many;
  memory_sink before;
  source_of_u64(&yes, members, MANY);
  source_of_u64(&no, offenders, DENIED);
  uint64_t *negatives = keys_u64(NEGATIVES, 100000);
  source_of_u64(&too_many, negatives, 100000);
  save_to(&before, f);
  assert_status(BESOM_FULL, besom_rekey(f, &yes.api, &too_many.api, fixed_seed));
  assert_bytes(f, &before);
  const uint8_t seed[16] = "another besom's";
  source_of_u64(&yes, members, MANY);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, NULL, seed));
  assert_true(stats_of(f).adapt_room_used == 0);
  assert_int_equal(stats_of(f).marks + stats_of(f).extended, 0);
  assert_holds_u64(f, members, MANY);
  source_of_u64(&yes, members, MANY);
  assert_status(BESOM_OK, besom_rekey(f, &yes.api, &no.api, fixed_seed));
  assert_int_equal(count_yes(f, offenders, DENIED), 0);
  assert_holds_u64(f, members, MANY);
  assert_valid(f);
  uint64_t *again = false_positives_of(f, 1);
  adapt_all(f, again, 1);
  free(again);
  free(members);
  free(offenders);
  free(negatives);
  besom_free(f);
}

/* ------------------------------------------------------------------ with the keys at hand */

/* A key of the store: its place in the bucket is the number of earlier ones with that bucket. */
typedef struct stored_key {
  uint64_t bucket, value;
  besom_digest digest;
} stored_key;

typedef struct fixed_key {
  uint64_t bucket;
  besom_digest digest;
} fixed_key;

enum { MOST_STORED = 700, MOST_FIXED = 60 };

/* A filter bound to a store, which is a list in the order of insertion. */
typedef struct bound {
  besom_filter *f;
  stored_key stored[MOST_STORED];
  size_t n;
  fixed_key fixed[MOST_FIXED]; /* must be answered no */
  size_t n_fixed;
  unsigned value_bits;
  uint64_t alike; /* digests may begin with so many bits in common */
  random_stream random;
  size_t calls, fail_at; /* of digest_of: this one, from 1, fails */
  size_t adapted, refused, full, ambiguous;
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

static besom_status digest_of(void *ctx, const besom_filter *f, besom_match match, besom_digest *digest) {
  bound *b = ctx;
  if (++b->calls == b->fail_at) return BESOM_IO;
  stored_key *key = find_stored(b, match);
  assert_ptr_equal(f, b->f);
  assert_non_null(key);
  *digest = key->digest;
  return BESOM_OK;
}

static void bind_to(bound *b) {
  assert_status(BESOM_OK, besom_bind(b->f, &(besom_reverse){digest_of, b}));
}

static bound *bound_new(const besom_config *config, uint64_t seed) {
  bound *b = heap_array(1, sizeof *b);
  b->f = make_empty(config);
  b->value_bits = config->value_bits;
  b->alike = config->width + 30;
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
    if (same_digest(b->stored[i].digest, d)) return true;
  return false;
}

static bool has_match(const besom_filter *f, besom_digest d, besom_match wanted) {
  besom_match matches[MOST_STORED];
  size_t total = 0;
  bool found = false;
  assert_status(BESOM_OK, besom_matches(f, d, matches, MOST_STORED, &total));
  assert_int_equal(total > 0, besom_contains_digest(f, d));
  for (size_t i = 0; i < total; i++) {
    assert_int_equal(matches[i].bucket, matches[0].bucket);
    assert_true(i == 0 || matches[i].rank > matches[i - 1].rank);
    found |= matches[i].bucket == wanted.bucket && matches[i].rank == wanted.rank;
  }
  return found;
}

/* The value of the first match. */
static void assert_value(bound *b, besom_digest d) {
  besom_match first;
  size_t total = 0;
  uint64_t value = 0;
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  assert_status(total ? BESOM_OK : BESOM_NOT_FOUND, besom_get_value_digest(b->f, d, &value));
  if (total) assert_int_equal(value, find_stored(b, first)->value);
}

/* Every key is found at its own place with its own value, and what was fixed is fixed. */
static void assert_bound(bound *b) {
  assert_valid(b->f);
  assert_int_equal(stats_of(b->f).items, b->n);
  for (size_t i = 0; i < b->n; i++) {
    assert_true(has_match(b->f, b->stored[i].digest, match_of(b, i)));
    if (b->value_bits) assert_value(b, b->stored[i].digest);
  }
  for (size_t i = 0; i < b->n_fixed; i++) assert_false(besom_contains_digest(b->f, b->fixed[i].digest));
}

/* The cheaper part, for after every operation. */
static void assert_none_lost(const bound *b) {
  assert_valid(b->f);
  size_t lost = 0, revived = 0;
  for (size_t i = 0; i < b->n; i++) lost += !besom_contains_digest(b->f, b->stored[i].digest);
  for (size_t i = 0; i < b->n_fixed; i++) revived += besom_contains_digest(b->f, b->fixed[i].digest);
  assert_int_equal(lost, 0);
  assert_int_equal(revived, 0);
}

/* Any digest, or one that begins like a stored one's, so that it may take long to tell them apart. */
static besom_digest some_digest(bound *b) {
  besom_digest d = {random_next(&b->random), random_next(&b->random)};
  if (b->n == 0 || random_below(&b->random, 3) == 0) return d;
  besom_digest like = b->stored[random_below(&b->random, b->n)].digest;
  uint64_t same = random_below(&b->random, 1 + random_below(&b->random, b->alike));
  if (same < 64) return (besom_digest){like.hi ^ (d.hi >> same | UINT64_C(1) << (63 - same)), d.lo};
  return (besom_digest){like.hi, like.lo ^ (d.lo >> (same - 64) | UINT64_C(1) << (127 - same))};
}

static void forget_fixed_in(bound *b, uint64_t bucket) {
  for (size_t i = 0; i < b->n_fixed;)
    if (b->fixed[i].bucket == bucket)
      b->fixed[i] = b->fixed[--b->n_fixed];
    else
      i++;
}

static void store_one(bound *b, besom_digest d) {
  besom_match match = {0, 0};
  memory_sink before;
  if (b->n == MOST_STORED) return;
  uint64_t value = b->value_bits ? random_next(&b->random) >> (64 - b->value_bits) : 0;
  save_to(&before, b->f);
  besom_status status = besom_insert_at(b->f, d, value, &match);
  if (status == BESOM_FULL) {
    assert_bytes(b->f, &before);
    b->full++;
    return;
  }
  memory_sink_close(&before);
  assert_status(BESOM_OK, status);
  b->stored[b->n++] = (stored_key){match.bucket, value, d};
  assert_int_equal(match.rank, match_of(b, b->n - 1).rank);
  assert_true(has_match(b->f, d, match));
  forget_fixed_in(b, match.bucket);
}

static void unstore_one(bound *b) {
  if (b->n == 0) return;
  size_t i = (size_t)random_below(&b->random, b->n);
  besom_match match = match_of(b, i), none = {match.bucket, UINT32_MAX};
  assert_status(BESOM_NOT_FOUND, besom_remove_at(b->f, none));
  assert_status(BESOM_OK, besom_remove_at(b->f, match));
  memmove(b->stored + i, b->stored + i + 1, (--b->n - i) * sizeof *b->stored);
}

/* On OK the key is answered no from now on; on anything else nothing has changed. */
static void adapt_one(bound *b, besom_digest d) {
  besom_match first = {0, 0};
  size_t total = 0;
  memory_sink before;
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  save_to(&before, b->f);
  b->calls = 0;
  b->fail_at = random_below(&b->random, 4) == 0 ? 1 + (size_t)random_below(&b->random, 4) : 0;
  besom_status status = besom_adapt_digest(b->f, d);
  bool failed = b->fail_at && b->calls >= b->fail_at;
  b->fail_at = 0;
  if (status != BESOM_OK) {
    assert_status(failed ? BESOM_IO : is_stored(b, d) ? BESOM_MEMBER : BESOM_FULL, status);
    assert_bytes(b->f, &before);
    b->refused += status == BESOM_FULL;
    return;
  }
  memory_sink_close(&before);
  assert_false(failed);
  assert_false(is_stored(b, d));
  assert_false(besom_contains_digest(b->f, d));
  if (total == 0 || b->n_fixed == MOST_FIXED) return;
  b->adapted++;
  b->fixed[b->n_fixed++] = (fixed_key){first.bucket, d};
}

/* One fingerprint by hand: that one matches no more, and only the digest of its own key will do. */
static void adapt_at_one(bound *b, besom_digest d) {
  besom_match first = {0, 0};
  size_t total = 0;
  memory_sink before;
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  if (total == 0 || is_stored(b, d)) return;
  besom_digest stored = find_stored(b, first)->digest, wrong = {~stored.hi, stored.lo};
  save_to(&before, b->f);
  assert_status(BESOM_MEMBER, besom_adapt_at(b->f, stored, first, stored));
  assert_status(BESOM_INVALID, besom_adapt_at(b->f, d, first, wrong));
  assert_status(BESOM_NOT_FOUND, besom_adapt_at(b->f, d, (besom_match){first.bucket, UINT32_MAX}, stored));
  assert_bytes(b->f, &before);
  save_to(&before, b->f);
  besom_status status = besom_adapt_at(b->f, d, first, stored);
  if (status == BESOM_FULL) {
    assert_bytes(b->f, &before);
    return;
  }
  memory_sink_close(&before);
  assert_status(BESOM_OK, status);
  assert_false(has_match(b->f, d, first));
}

/* AMBIGUOUS if, and only if, there are several to choose from. */
static void set_one(bound *b, besom_digest d) {
  besom_match first = {0, 0};
  size_t total = 0;
  uint64_t value = random_next(&b->random) >> (64 - b->value_bits);
  assert_status(BESOM_OK, besom_matches(b->f, d, &first, 1, &total));
  assert_status(BESOM_INVALID, besom_set_value_digest(b->f, d, UINT64_C(1) << b->value_bits));
  besom_status expected = total == 0 ? BESOM_NOT_FOUND : total == 1 ? BESOM_OK : BESOM_AMBIGUOUS;
  assert_status(expected, besom_set_value_digest(b->f, d, value));
  b->ambiguous += total > 1;
  if (total == 1) find_stored(b, first)->value = value;
}

/* Through a file, or twice as large and back: buckets and ranks stay what they are. */
static void move_house(bound *b) {
  uint64_t slots = stats_of(b->f).slots;
  if (random_below(&b->random, 2) || stats_of(b->f).width < 3) {
    replace(&b->f, loaded_copy(b->f));
    bind_to(b);
    return;
  }
  assert_status(BESOM_OK, besom_grow(b->f, 2 * slots));
  assert_bound(b);
  besom_status status = besom_shrink(b->f, slots);
  assert_true(status == BESOM_OK || status == BESOM_FULL);
  assert_bound(b);
}

static besom_digest one_of_the_stored(bound *b) {
  return b->n ? b->stored[random_below(&b->random, b->n)].digest : (besom_digest){1, 1};
}

/* Tides, as with multisets; half of what happens is adapting. */
static void one_operation(bound *b, bool rising) {
  uint64_t dice = random_below(&b->random, 40);
  if (dice < 16 && random_below(&b->random, 10) < (rising ? 2 : 7))
    unstore_one(b);
  else if (dice < 16)
    store_one(b, random_below(&b->random, 20) ? some_digest(b) : one_of_the_stored(b));
  else if (dice < 30)
    adapt_one(b, some_digest(b));
  else if (dice < 32)
    adapt_one(b, one_of_the_stored(b));
  else if (dice < 35)
    adapt_at_one(b, some_digest(b));
  else if (dice < 39 && b->value_bits)
    set_one(b, random_below(&b->random, 2) ? some_digest(b) : one_of_the_stored(b));
  else if (dice == 39)
    move_house(b);
}

typedef struct bound_shape {
  uint64_t slots;
  uint32_t width, value_bits;
  double adapt_room;
} bound_shape;

static besom_config config_of_bound(const subject *s, const bound_shape *shape) {
  besom_config config = geometry_of(s, shape->slots, shape->width);
  config.value_bits = shape->value_bits;
  config.adapt_room = shape->adapt_room;
  return config;
}

/* After random operations on a filter in which so many keys were stored before. */
static bound *bound_after(const subject *s, const bound_shape *shape, size_t at_first, size_t steps, uint64_t seed) {
  besom_config config = config_of_bound(s, shape);
  bound *b = bound_new(&config, seed);
  for (size_t i = 0; i < at_first; i++) store_one(b, some_digest(b));
  for (size_t step = 0; step < steps; step++) {
    one_operation(b, step / (steps / 4 + 1) % 2 == 0);
    assert_none_lost(b);
    if (step % 32 == 0) assert_bound(b);
  }
  assert_bound(b);
  return b;
}

/* So small that everything collides, so full that there is no room, and fingerprints as long as they get. */
static const bound_shape shapes[] = {
    {1, 2, 0, 0.5},   {1, 8, 0, 0.5},    {2, 3, 1, 0.5},    {5, 2, 0, 0.5},   {13, 2, 8, 0.5},   {31, 4, 0, 0.3},
    {40, 9, 8, 0.5},  {63, 2, 0, 0.5},   {64, 2, 32, 0.4},  {65, 2, 0, 0.2},  {65, 5, 1, 0.5},   {96, 8, 0, 0.2},
    {100, 3, 0, 0.5}, {130, 6, 32, 0.3}, {190, 2, 0, 0.45}, {200, 4, 0, 0.1}, {250, 7, 8, 0.25}, {256, 9, 0, 0.05},
    {300, 2, 0, 0.5}, {300, 2, 1, 0.5},  {300, 8, 0, 0.02}, {77, 40, 0, 0.5}, {90, 55, 32, 0.5}, {128, 16, 0, 0.5},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void with_its_keys_a_filter_loses_none_and_repeats_no_mistake(void **state) {
  const subject *s = subject_of(state);
  size_t adapted = 0, refused = 0, full = 0, ambiguous = 0;
  for (size_t i = 0; i < SHAPES; i++) {
    bound *b = bound_after(s, &shapes[i], shapes[i].slots * 2 / 5, 400 + 2 * shapes[i].slots, i);
    adapted += b->adapted;
    refused += b->refused;
    full += b->full;
    ambiguous += b->ambiguous;
    while (b->n) unstore_one(b);
    assert_bound(b);
    bound_free(b);
  }
  assert_true(adapted > 300 && refused > 300 && full > 300 && ambiguous > 50); /* all of it has been tried */
}

/* The keys of a, then those of b; what both deny stays denied. */
static void bound_filters_merge(void **state) {
  const subject *s = subject_of(state);
  for (size_t i = 0; i < SHAPES; i++) {
    bound *a = bound_after(s, &shapes[i], shapes[i].slots / 9, 20 + shapes[i].slots / 2, 100 + i);
    bound *b = bound_after(s, &shapes[i], shapes[i].slots / 9, 20 + shapes[i].slots / 2, 200 + i);
    besom_filter *both = NULL;
    besom_status status = besom_merge(a->f, b->f, &both);
    if (status == BESOM_OK) {
      fixed_key fixed[2 * MOST_FIXED];
      size_t n = 0;
      for (size_t j = 0; j < a->n_fixed; j++)
        if (!besom_contains_digest(b->f, a->fixed[j].digest)) fixed[n++] = a->fixed[j];
      for (size_t j = 0; j < b->n_fixed; j++)
        if (!besom_contains_digest(a->f, b->fixed[j].digest)) fixed[n++] = b->fixed[j];
      a->n_fixed = n < MOST_FIXED ? n : MOST_FIXED;
      memcpy(a->fixed, fixed, a->n_fixed * sizeof *fixed);
      memcpy(a->stored + a->n, b->stored, b->n * sizeof *b->stored);
      a->n += b->n;
      replace(&a->f, both);
      bind_to(a);
      assert_bound(a);
      for (size_t step = 0; step < 50; step++) {
        one_operation(a, false);
        assert_none_lost(a);
      }
      assert_bound(a);
    } else {
      assert_status(BESOM_FULL, status);
    }
    bound_free(a);
    bound_free(b);
  }
}

/* ------------------------------------------------------------------ values */

/* Unique keys in all three forms, with the widest and the narrowest values, through everything that moves them. */
static void values_stay_with_their_keys(void **state) {
  const subject *s = subject_of(state);
  static const uint32_t bits[] = {1, 8, 32};
  enum { KEYS = 600 };
  for (size_t v = 0; v < 3; v++) {
    besom_config config = config_of(s, 2 * KEYS, 1.0 / (1 << 24));
    config.max_capacity = 4 * KEYS;
    config.value_bits = bits[v];
    besom_filter *f = make_empty(&config), *other = NULL;
    uint64_t value = 0, mask = (UINT64_C(1) << bits[v]) - 1;
    assert_status(BESOM_OK, besom_create_like(f, &other));
    for (size_t i = 0; i < KEYS; i++) {
      uint64_t key = key_u64(MEMBERS, i);
      besom_filter *to = i % 2 ? f : other;
      assert_status(BESOM_NOT_FOUND, besom_get_value_u64(to, key, &value));
      assert_status(BESOM_NOT_FOUND, besom_set_value_u64(to, key, 1));
      assert_status(BESOM_OK, besom_insert_u64(to, key));
      assert_status(BESOM_OK, besom_get_value_u64(to, key, &value));
      assert_int_equal(value, 0);
      assert_status(BESOM_INVALID, besom_set_value_u64(to, key, mask + 1));
      assert_status(BESOM_OK, besom_set_value_u64(to, key, mix64(i) & mask));
      if (i % 3 == 0 && can(s, BESOM_CAN_COUNT)) assert_status(BESOM_OK, besom_insert_count_u64(to, key, i + 1));
    }
    besom_filter *both = merged(f, other);
    besom_free(f);
    besom_free(other);
    replace(&both, loaded_copy(both));
    for (size_t round = 0; round < 3; round++) {
      uint64_t slots = stats_of(both).slots;
      for (size_t i = 0; i < KEYS; i++) {
        assert_status(BESOM_OK, besom_get_value_u64(both, key_u64(MEMBERS, i), &value));
        assert_int_equal(value, mix64(i) & mask);
      }
      assert_valid(both);
      if (round == 0) assert_status(BESOM_OK, besom_grow(both, 2 * slots));
      if (round == 1) assert_status(BESOM_OK, besom_shrink(both, slots / 2));
    }
    for (size_t i = 0; i < KEYS; i += 3) /* the copies go, the value stays */
      for (size_t n = 0; n < i + 1; n++) assert_status(BESOM_OK, besom_remove_u64(both, key_u64(MEMBERS, i)));
    for (size_t i = 1; i < KEYS; i += 3) assert_status(BESOM_OK, besom_remove_u64(both, key_u64(MEMBERS, i)));
    for (size_t i = 0; i < KEYS; i++) {
      besom_status expected = i % 3 == 1 ? BESOM_NOT_FOUND : BESOM_OK;
      assert_status(expected, besom_get_value_u64(both, key_u64(MEMBERS, i), &value));
      if (expected == BESOM_OK) assert_int_equal(value, mix64(i) & mask);
    }
    assert_valid(both);
    besom_free(both);
  }
}

/* In slots so narrow that a second copy is a second fingerprint: a value is not lost with one copy of its key. */
static void a_value_outlives_a_copy_of_its_key(void **state) {
  const subject *s = subject_of(state);
  for (uint32_t width = least_width(s); width < 12; width++) {
    besom_config config = geometry_of(s, 100, width);
    config.value_bits = 8;
    besom_filter *f = make_empty(&config);
    uint64_t value = 0;
    assert_status(BESOM_OK, besom_insert_u64(f, 1));
    assert_status(BESOM_OK, besom_set_value_u64(f, 1, 77));
    assert_status(BESOM_OK, besom_insert_u64(f, 1));
    assert_status(BESOM_OK, besom_get_value_u64(f, 1, &value));
    assert_int_equal(value, 77);
    assert_status(BESOM_OK, besom_remove_u64(f, 1));
    assert_status(BESOM_OK, besom_get_value_u64(f, 1, &value));
    assert_int_equal(value, 77);
    besom_free(f);
  }
}

static void without_value_bits_there_are_no_values(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  besom_filter *f = make_empty(&config);
  besom_match match;
  uint64_t value;
  assert_status(BESOM_OK, besom_insert_u64(f, 1));
  assert_status(BESOM_INVALID, besom_get_value_u64(f, 1, &value));
  assert_status(BESOM_INVALID, besom_set_value_u64(f, 1, 0));
  if (can(s, BESOM_CAN_MATCH)) assert_status(BESOM_INVALID, besom_insert_at(f, besom_hash_u64(f, 2), 1, &match));
  assert_false(besom_contains_u64(f, 2));
  besom_free(f);
}

/* ------------------------------------------------------------------ counts */

static uint64_t large_count(size_t i) {
  return (UINT64_C(1) << (i % 41)) + i % 3;
}

static void assert_large_counts(const besom_filter *f, size_t n, uint64_t times) {
  uint64_t items = 0, seen = 0, count;
  for (size_t i = 0; i < n; i++) {
    assert_status(BESOM_OK, besom_count_u64(f, key_u64(MEMBERS, i), &count));
    assert_int_equal(count, times * large_count(i));
    items += count;
  }
  assert_int_equal(stats_of(f).items, items);
  besom_iter *iter = NULL;
  besom_entry entry;
  assert_status(BESOM_OK, besom_iter_open(f, &iter));
  while (besom_iter_next(iter, &entry) == BESOM_OK) seen += entry.count;
  besom_iter_close(iter);
  assert_int_equal(seen, items);
  assert_valid(f);
}

static void counts_may_be_large(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 130 };
  besom_config config = config_of(s, 8 * KEYS, 1.0 / (1 << 20));
  config.max_capacity = 16 * KEYS;
  besom_filter *f = make_empty(&config);
  uint64_t slots = stats_of(f).slots;
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), half = large_count(i) / 2;
    assert_status(BESOM_OK, besom_insert_count_u64(f, key, large_count(i) - half));
    if (half) assert_status(BESOM_OK, besom_insert_count_digest(f, besom_hash_u64(f, key), half));
  }
  assert_large_counts(f, KEYS, 1);
  for (size_t i = 0; i < KEYS; i++) {
    uint64_t key = key_u64(MEMBERS, i), count;
    for (uint64_t n = large_count(i); n > 0 && n + 3 > large_count(i); n--) {
      assert_status(BESOM_OK, besom_remove_u64(f, key));
      assert_status(BESOM_OK, besom_count_u64(f, key, &count));
      assert_int_equal(count, n - 1);
      assert_int_equal(besom_contains_u64(f, key), count > 0);
    }
    assert_status(BESOM_OK, besom_insert_count_u64(f, key, large_count(i) < 3 ? large_count(i) : 3));
  }
  assert_large_counts(f, KEYS, 1);
  memory_sink before;
  save_to(&before, f);
  assert_status(BESOM_INVALID, besom_insert_count_u64(f, 1, 0));
  assert_status(BESOM_FULL, besom_insert_count_u64(f, 1, UINT64_MAX));
  assert_status(BESOM_FULL, besom_insert_count_u64(f, key_u64(MEMBERS, 0), UINT64_MAX));
  assert_bytes(f, &before);
  besom_filter *twice = merged(f, f);
  assert_large_counts(twice, KEYS, 2);
  besom_free(twice);
  replace(&f, loaded_copy(f));
  assert_status(BESOM_OK, besom_grow(f, 2 * slots));
  assert_large_counts(f, KEYS, 1);
  assert_status(BESOM_OK, besom_shrink(f, slots));
  assert_large_counts(f, KEYS, 1);
  besom_free(f);
}

/* Several copies at once into narrow slots, to the last one: as many as they say, or FULL and none. */
static void copies_come_and_go_by_the_dozen(void **state) {
  const subject *s = subject_of(state);
  static const bound_shape narrow[] = {{1, 2, 0, 0},  {13, 2, 0, 0}, {40, 2, 0, 0},
                                       {64, 3, 0, 0}, {70, 5, 0, 0}, {130, 8, 0, 0}};
  for (size_t shape = 0; shape < sizeof narrow / sizeof *narrow; shape++) {
    besom_config config = geometry_of(s, narrow[shape].slots, narrow[shape].width);
    besom_filter *f = make_empty(&config);
    reference truth;
    random_stream random = {shape};
    size_t full = 0;
    assert_status(BESOM_OK, reference_init(&truth, f, 30));
    for (size_t step = 0; step < 800; step++) {
      size_t i = (size_t)random_below(&random, 30);
      memory_sink before;
      save_to(&before, f);
      uint64_t n = 1 + random_below(&random, random_below(&random, 40) + 1);
      if (random_below(&random, 5) < (step / 200 % 2 ? 1 : 3)) {
        besom_status status = besom_insert_count_u64(f, reference_key(i), n);
        if (status == BESOM_FULL) {
          full++;
          assert_bytes(f, &before);
          continue;
        }
        assert_status(BESOM_OK, status);
        while (n--) reference_insert(&truth, i);
      } else {
        for (; n-- && truth.copies[i]; reference_remove(&truth, i))
          assert_status(BESOM_OK, besom_remove_u64(f, reference_key(i)));
      }
      memory_sink_close(&before);
      assert_nothing_wrong(reference_check(&truth, f));
    }
    assert_true(full > 0 || narrow[shape].slots > 64);
    reference_close(&truth);
    besom_free(f);
  }
}

#define ADAPTS (BESOM_CAN_INSERT | BESOM_CAN_ADAPT)
#define STORES (BESOM_CAN_MATCH | BESOM_CAN_ADAPT)
#define VALUES (BESOM_CAN_INSERT | BESOM_CAN_VALUE)
#define COUNTS (BESOM_CAN_COUNT | BESOM_CAN_MATCH)

const law adapt_laws[] = {
    LAW(a_fixed_false_positive_stays_fixed, EVERY_SUBJECT, ADAPTS),
    LAW(what_was_fixed_stays_fixed_in_a_merged_filter, EVERY_SUBJECT, ADAPTS | BESOM_CAN_MERGE),
    LAW(adapting_for_a_no_changes_nothing, EVERY_SUBJECT, ADAPTS),
    LAW(inserting_a_fixed_key_makes_it_a_member, EVERY_SUBJECT, ADAPTS),
    LAW(a_fixed_key_is_inserted_into_an_emptied_filter, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REMOVE),
    LAW(a_full_reserve_is_a_status, EVERY_SUBJECT, ADAPTS),
    LAW(rekeying_frees_the_room, EVERY_SUBJECT, ADAPTS | BESOM_CAN_REKEY),
    LAW(with_its_keys_a_filter_loses_none_and_repeats_no_mistake, EVERY_SUBJECT, STORES),
    LAW(bound_filters_merge, EVERY_SUBJECT, STORES | BESOM_CAN_MERGE),
    LAW(values_stay_with_their_keys, EVERY_SUBJECT, VALUES | BESOM_CAN_MERGE | BESOM_CAN_GROW | BESOM_CAN_REMOVE),
    LAW(a_value_outlives_a_copy_of_its_key, EVERY_KIND, VALUES | BESOM_CAN_COUNT | BESOM_CAN_REMOVE),
    LAW(without_value_bits_there_are_no_values, EVERY_KIND, VALUES),
    LAW(counts_may_be_large, EVERY_SUBJECT, COUNTS | BESOM_CAN_REMOVE | BESOM_CAN_MERGE | BESOM_CAN_GROW),
    LAW(copies_come_and_go_by_the_dozen, EVERY_SUBJECT, COUNTS | BESOM_CAN_REMOVE),
    {0},
};
