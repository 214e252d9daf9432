/*
 * Tombstones (option tombstones=yes): the extension of a key survives its removal, and is used
 * again when the key is inserted again. Otherwise a tombstone has no effect.
 */
#include <stdlib.h>

#include "filters.h"
#include "support/heap.h"

enum { N = 1000, OFFENDERS = 150 };

/* A filter that is bound to its keys while it adapts, and unbound afterwards. */
typedef struct adapted {
  besom_filter *f;
  uint64_t *members;
  uint64_t buckets[N]; /* of the members, in the order of insertion */
  uint64_t offenders[OFFENDERS];
  size_t n_offenders;
} adapted;

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  const adapted *x = ctx;
  uint32_t rank = 0;
  for (size_t i = 0; i < N; i++)
    if (x->buckets[i] == match->bucket && rank++ == match->rank) {
      *digest = besom_hash_u64(f, x->members[i]);
      return BESOM_OK;
    }
  return BESOM_NOT_FOUND;
}

static besom_config tombstone_config(const subject *s, const char *options) {
  besom_config config = config_of(s, 2 * N, 1.0 / 16);
  config.max_capacity = 8 * N;
  config.reserve = 0.4;
  config.value_bits = can(s, BESOM_CAN_VALUE) ? 3 : 0;
  config.options = options;
  return config;
}

/* Reports false positives among NEGATIVES until the reserve is full, or there are enough. */
static void adapt_all(adapted *x) {
  assert_status(BESOM_OK, besom_bind(x->f, &(besom_reverse){.digest_of = digest_of, .ctx = x}));
  besom_status status = BESOM_OK;
  for (size_t i = 0; x->n_offenders < OFFENDERS && status == BESOM_OK; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(x->f, key)) continue;
    status = besom_adapt_u64(x->f, key);
    if (status == BESOM_OK) x->offenders[x->n_offenders++] = key;
  }
  assert_true(status == BESOM_OK || status == BESOM_RESERVE_FULL);
  assert_true(counter_of(x->f, "extended") > 0);
}

static adapted *adapted_new(const besom_config *config) {
  adapted *x = heap_array(1, sizeof *x);
  x->members = keys_u64(MEMBERS, N);
  x->f = make_empty(config);
  for (size_t i = 0; i < N; i++) {
    besom_match match;
    uint64_t value = config->value_bits ? i % 8 : 0;
    assert_status(BESOM_OK,
                  besom_insert_at(x->f, besom_hash_u64(x->f, x->members[i]), value, &match));
    x->buckets[i] = match.bucket;
  }
  adapt_all(x);
  assert_status(BESOM_OK, besom_bind(x->f, NULL));
  return x;
}

static void adapted_free(adapted *x) {
  besom_free(x->f);
  free(x->members);
  free(x);
}

static size_t count_wrong(const adapted *x) {
  size_t wrong = 0;
  for (size_t i = 0; i < x->n_offenders; i++) wrong += besom_contains_u64(x->f, x->offenders[i]);
  return wrong;
}

static void remove_members(adapted *x) {
  for (size_t i = 0; i < N; i++) assert_status(BESOM_OK, besom_remove_u64(x->f, x->members[i]));
}

static void insert_members(adapted *x) {
  for (size_t i = 0; i < N; i++) {
    if (i % 2)
      assert_status(BESOM_OK, besom_insert_u64(x->f, x->members[i]));
    else
      assert_status(BESOM_OK, besom_insert_many_u64(x->f, &x->members[i], 1, NULL));
  }
  assert_holds_u64(x->f, x->members, N);
  assert_int_equal(stats_of(x->f).keys, N);
  assert_valid(x->f);
}

/* Answers, counts, values and entries do not show tombstones; only the statistics do. */
static void assert_looks_empty(const subject *s, const adapted *x, size_t tombstones) {
  besom_iter iter = {.filter = x->f};
  besom_entry entry;
  assert_valid(x->f);
  assert_int_equal(stats_of(x->f).keys, 0);
  assert_int_equal(counter_of(x->f, "tombstones"), tombstones);
  assert_int_equal(counter_of(x->f, "extended"), tombstones);
  assert_true(stats_of(x->f).expected_fpr == 0);
  uint64_t n = 1, bitmap[(N + 63) / 64];
  assert_status(BESOM_OK, besom_contains_many_u64(x->f, x->members, N, bitmap));
  for (size_t i = 0; i < sizeof bitmap / sizeof *bitmap; i++) assert_int_equal(bitmap[i], 0);
  for (size_t i = 0; i < N; i++) {
    besom_digest d = besom_hash_u64(x->f, x->members[i]);
    size_t total = 1;
    assert_false(besom_contains_digest(x->f, d));
    assert_status(BESOM_NOT_FOUND, besom_remove_digest(x->f, d));
    assert_status(BESOM_OK, besom_matches(x->f, d, NULL, 0, &total));
    assert_int_equal(total, 0);
    assert_status(BESOM_NOT_FOUND, besom_remove_at(x->f, &(besom_match){x->buckets[i], 0}));
    if (can(s, BESOM_CAN_COUNT)) assert_status(BESOM_OK, besom_count_u64(x->f, x->members[i], &n));
    if (can(s, BESOM_CAN_COUNT)) assert_int_equal(n, 0);
    if (can(s, BESOM_CAN_VALUE))
      assert_status(BESOM_NOT_FOUND, get_value_u64(x->f, x->members[i], &n));
  }
  assert_status(BESOM_END, besom_iter_next(&iter, &entry));
}

static void replace_by_loaded(adapted *x) {
  memory_sink saved;
  save_to(&saved, x->f);
  besom_free(x->f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &x->f));
  memory_sink_close(&saved);
}

/* With a filter without tombstones, as the first or the second argument. */
static void replace_by_merged(const subject *s, adapted *x, bool first) {
  besom_config config = tombstone_config(s, NULL);
  besom_filter *other = make_empty(&config), *merged = NULL;
  assert_status(BESOM_OK,
                first ? besom_merge(x->f, other, &merged) : besom_merge(other, x->f, &merged));
  besom_free(other);
  besom_free(x->f);
  x->f = merged;
}

static bool keeps_tombstones(const subject *s) {
  besom_config config = tombstone_config(s, "tombstones=yes");
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  assert_true(status == BESOM_OK || status == BESOM_BAD_OPTION);
  return status == BESOM_OK;
}

/* Through every operation that moves fingerprints, twice. */
static void an_extension_returns_with_its_key(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  besom_config config = tombstone_config(s, "tombstones=yes");
  adapted *x = adapted_new(&config);
  size_t extended = counter_of(x->f, "extended");
  assert_int_equal(x->n_offenders, OFFENDERS);
  for (int round = 0; round < 2; round++) {
    uint64_t slots = stats_of(x->f).slots;
    assert_int_equal(counter_of(x->f, "tombstones"), 0);
    remove_members(x);
    assert_looks_empty(s, x, extended);
    replace_by_loaded(x);
    assert_looks_empty(s, x, extended);
    assert_status(BESOM_OK, besom_resize(x->f, 4 * slots, NULL));
    assert_looks_empty(s, x, extended);
    assert_status(BESOM_OK, besom_resize(x->f, slots, NULL));
    assert_looks_empty(s, x, extended);
    replace_by_merged(s, x, round);
    assert_looks_empty(s, x, extended);
    insert_members(x);
    assert_int_equal(count_wrong(x), 0);
    assert_int_equal(counter_of(x->f, "extended"), extended);
  }
  adapted_free(x);
}

/* Without the option the extension is lost: shows that the law above can fail. */
static void without_tombstones_an_extension_is_lost(void **state) {
  const subject *s = subject_of(state);
  const char *const options[] = {NULL, "tombstones=no"};
  for (size_t i = 0; i < (keeps_tombstones(s) ? 2 : 1); i++) {
    besom_config config = tombstone_config(s, options[i]);
    adapted *x = adapted_new(&config);
    remove_members(x);
    assert_looks_empty(s, x, 0);
    insert_members(x);
    assert_true(count_wrong(x) > 0);
    adapted_free(x);
  }
}

/* Removing the last copy leaves a tombstone and drops the value; copies can be inserted again. */
static void a_key_that_returns_is_a_new_one(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  besom_config config = tombstone_config(s, "tombstones=yes");
  config.capacity = 4 * N;
  adapted *x = adapted_new(&config);
  uint64_t n = 0, value = 1;
  size_t revived = 0;
  remove_members(x);
  for (size_t i = 0; i < N; i++) {
    uint64_t tombstones = counter_of(x->f, "tombstones");
    assert_status(BESOM_OK, insert_count_u64(x->f, x->members[i], 5));
    assert_status(BESOM_OK, besom_count_u64(x->f, x->members[i], &n));
    assert_true(n >= 5);
    revived += counter_of(x->f, "tombstones") < tombstones;
    if (n > 5) continue; /* of another key */
    if (config.value_bits) assert_status(BESOM_OK, get_value_u64(x->f, x->members[i], &value));
    if (config.value_bits) assert_int_equal(value, 0);
  }
  assert_true(revived > 20);
  assert_holds_u64(x->f, x->members, N);
  assert_valid(x->f);
  for (size_t copy = 0; copy < 5; copy++) {
    assert_int_equal(count_wrong(x), 0);
    assert_holds_u64(x->f, x->members, N);
    remove_members(x);
  }
  assert_looks_empty(s, x, counter_of(x->f, "extended"));
  adapted_free(x);
}

/* They are stored in the reserve. If it is full, a key is removed without one. */
static void tombstones_do_not_reduce_the_capacity(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  static const double rooms[] = {0.001, 0.01, 0.05, 0.4};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
    besom_config config = tombstone_config(s, "tombstones=yes");
    config.reserve = rooms[i];
    config.capacity = N;
    adapted *x = adapted_new(&config);
    size_t extended = counter_of(x->f, "extended");
    remove_members(x);
    assert_valid(x->f);
    size_t kept = counter_of(x->f, "tombstones");
    assert_true(kept <= extended && stats_of(x->f).reserve_used <= 1);
    assert_true(rooms[i] > 0.1 ? kept == extended : kept < extended || extended < 5);
    size_t in = 0;
    while (besom_insert_u64(x->f, key_u64(MORE_MEMBERS, in)) == BESOM_OK) in++;
    assert_true(in >= stats_of(x->f).capacity);
    for (size_t k = 0; k < in; k++) assert_true(besom_contains_u64(x->f, key_u64(MORE_MEMBERS, k)));
    assert_valid(x->f);
    adapted_free(x);
  }
}

/* Inserts all members at the ranks that a store gives them. */
static void insert_members_at(adapted *x) {
  for (size_t i = 0; i < N; i++) {
    besom_digest d = besom_hash_u64(x->f, x->members[i]);
    besom_match match, found[16];
    uint32_t rank = 0;
    size_t total = 0, own = 0;
    for (size_t k = 0; k < i; k++) rank += x->buckets[k] == x->buckets[i];
    assert_status(BESOM_OK, besom_insert_at(x->f, d, 0, &match));
    assert_int_equal(match.bucket, x->buckets[i]);
    assert_int_equal(match.rank, rank);
    assert_status(BESOM_OK, besom_matches(x->f, d, found, 16, &total));
    assert_in_range(total, 1, rank + 1);
    for (size_t k = 0; k < total; k++) own += found[k].rank == rank;
    assert_int_equal(own, 1);
  }
  assert_holds_u64(x->f, x->members, N);
  assert_valid(x->f);
}

/* In front of a store, too: keys are removed by match and return to the end of their buckets. */
static void an_extension_returns_to_its_store(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  besom_config config = tombstone_config(s, "tombstones=yes");
  adapted *x = adapted_new(&config);
  size_t extended = counter_of(x->f, "extended");
  assert_status(BESOM_OK, besom_bind(x->f, &(besom_reverse){.digest_of = digest_of, .ctx = x}));
  for (int round = 0; round < 2; round++) {
    for (size_t i = N; i-- > 0;) { /* the last of each bucket first: the other ranks stay */
      besom_match match = {x->buckets[i], 0};
      for (size_t k = 0; k < i; k++) match.rank += x->buckets[k] == match.bucket;
      assert_status(BESOM_OK, besom_remove_at(x->f, &match));
    }
    assert_looks_empty(s, x, extended);
    insert_members_at(x);
    assert_int_equal(count_wrong(x), 0);
    assert_int_equal(counter_of(x->f, "extended"), extended);
  }
  adapted_free(x);
}

/* The ranks of keys do not depend on tombstones between them. */
static void ranks_do_not_count_tombstones(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  besom_config config = tombstone_config(s, "tombstones=yes");
  adapted *x = adapted_new(&config);
  remove_members(x);
  insert_members_at(x);
  adapt_all(x); /* calls digest_of with these ranks */
  assert_holds_u64(x->f, x->members, N);
  assert_valid(x->f);
  adapted_free(x);
}

static void rekeying_drops_tombstones(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  besom_config config = tombstone_config(s, "tombstones=yes");
  adapted *x = adapted_new(&config);
  array_source none;
  source_of_u64(&none, x->members, 0);
  remove_members(x);
  assert_true(stats_of(x->f).reserve_used > 0);
  assert_status(BESOM_OK, besom_rekey(x->f, &none.api, NULL, NULL, NULL));
  assert_looks_empty(s, x, 0);
  assert_true(stats_of(x->f).reserve_used == 0);
  adapted_free(x);
}

/* ------------------------------------------------------------------ random operations */

enum { UNIVERSE = 64 };

/* Keys that are inserted and removed, and offenders that are answered no once fixed. */
typedef struct model {
  besom_filter *f;
  random_stream random;
  besom_digest members[UNIVERSE], offenders[UNIVERSE];
  uint64_t member_buckets[UNIVERSE], offender_buckets[UNIVERSE];
  bool in[UNIVERSE], fixed[UNIVERSE];
  /* The offender was fixed while its bucket had tombstones, which may match it. */
  bool amid_tombstones[UNIVERSE];
  size_t n, fixes, revived;
} model;

/* The bucket of a digest in an empty filter like f. Growing does not change it. */
static uint64_t bucket_of(const besom_filter *f, besom_digest d) {
  besom_filter *like = NULL;
  besom_match match;
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_status(BESOM_OK, besom_insert_at(like, d, 0, &match));
  besom_free(like);
  return match.bucket;
}

static model *model_new(const besom_config *config, uint64_t seed) {
  model *m = heap_array(1, sizeof *m);
  m->f = make_empty(config);
  m->random.state = seed;
  for (size_t i = 0; i < UNIVERSE; i++) {
    m->members[i] = besom_hash_u64(m->f, key_u64(MEMBERS, i));
    m->offenders[i] = besom_hash_u64(m->f, key_u64(NEGATIVES, i));
    m->member_buckets[i] = bucket_of(m->f, m->members[i]);
    m->offender_buckets[i] = bucket_of(m->f, m->offenders[i]);
  }
  return m;
}

/* Only if the filter answers no: otherwise the key could not be distinguished from another. */
static void insert_member(model *m, size_t i) {
  uint64_t tombstones = counter_of(m->f, "tombstones");
  if (m->in[i] || besom_contains_digest(m->f, m->members[i])) return;
  besom_status status = besom_insert_digest(m->f, m->members[i]);
  assert_true(status == BESOM_OK || status == BESOM_FULL);
  if (status != BESOM_OK) return;
  m->in[i] = true;
  m->n++;
  bool revived = counter_of(m->f, "tombstones") < tombstones;
  m->revived += revived;
  for (size_t k = 0; k < UNIVERSE; k++) /* the new fingerprint may match them */
    if (m->offender_buckets[k] == m->member_buckets[i] && (!revived || m->amid_tombstones[k]))
      m->fixed[k] = false;
}

static void remove_member(model *m, size_t i) {
  if (!m->in[i]) return;
  assert_status(BESOM_OK, besom_remove_digest(m->f, m->members[i]));
  m->in[i] = false;
  m->n--;
}

/* The only member that can have this match; UNIVERSE if there are several. */
static size_t owner_of(const model *m, besom_match match) {
  size_t owner = UNIVERSE, owners = 0;
  for (size_t i = 0; i < UNIVERSE; i++) {
    besom_match found[UNIVERSE];
    size_t total = 0;
    if (!m->in[i]) continue;
    assert_status(BESOM_OK, besom_matches(m->f, m->members[i], found, UNIVERSE, &total));
    for (size_t k = 0; k < total; k++)
      if (found[k].bucket == match.bucket && found[k].rank == match.rank) owner = i, owners++;
  }
  assert_true(owners > 0);
  return owners == 1 ? owner : UNIVERSE;
}

/* Every tombstone of the bucket is of a key that was in it. */
static bool may_have_tombstones(const model *m, uint64_t bucket) {
  for (size_t i = 0; i < UNIVERSE; i++)
    if (m->member_buckets[i] == bucket && !m->in[i]) return counter_of(m->f, "tombstones") > 0;
  return false;
}

static void fix(model *m, size_t o) {
  besom_match found[UNIVERSE];
  size_t total = 0;
  assert_status(BESOM_OK, besom_matches(m->f, m->offenders[o], found, UNIVERSE, &total));
  assert_int_equal(total > 0, besom_contains_digest(m->f, m->offenders[o]));
  for (size_t k = 0; k < total; k++) {
    size_t owner = owner_of(m, found[k]);
    if (owner == UNIVERSE) return;
    besom_status status = besom_adapt_at(m->f, m->offenders[o], &found[k], m->members[owner]);
    assert_true(status == BESOM_OK || status == BESOM_RESERVE_FULL);
    if (status != BESOM_OK) return;
  }
  assert_false(besom_contains_digest(m->f, m->offenders[o]));
  if (total == 0) return;
  m->fixed[o] = true;
  m->fixes++;
  m->amid_tombstones[o] = may_have_tombstones(m, m->offender_buckets[o]);
}

static void move_house(model *m) {
  uint64_t slots = stats_of(m->f).slots;
  if (stats_of(m->f).width > 2) {
    besom_status status = besom_resize(m->f, 2 * slots, NULL);
    assert_status(BESOM_OK, status);
    assert_valid(m->f);
    status = besom_resize(m->f, slots, NULL);
    assert_true(status == BESOM_OK || status == BESOM_FULL);
  }
  memory_sink saved;
  save_to(&saved, m->f);
  besom_free(m->f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &m->f));
  memory_sink_close(&saved);
}

static void assert_model(const model *m) {
  besom_iter iter = {.filter = m->f};
  besom_entry entry;
  size_t n = 0;
  assert_valid(m->f);
  assert_int_equal(stats_of(m->f).keys, m->n);
  for (size_t i = 0; i < UNIVERSE; i++) {
    if (m->in[i]) assert_true(besom_contains_digest(m->f, m->members[i]));
    if (m->fixed[i]) assert_false(besom_contains_digest(m->f, m->offenders[i]));
  }
  while (besom_iter_next(&iter, &entry) == BESOM_OK) {
    assert_int_equal(entry.count, 1);
    n++;
  }
  assert_int_equal(n, m->n);
}

/*
 * Small tables in which everything collides. No key is lost, and a fixed false positive returns
 * only with a new fingerprint.
 */
static void keys_change_among_tombstones(void **state) {
  const subject *s = subject_of(state);
  if (!keeps_tombstones(s)) skip();
  static const struct {
    uint64_t slots;
    uint32_t width;
  } shapes[] = {{5, 3}, {13, 2}, {30, 2}, {40, 4}, {64, 3}, {65, 2}, {100, 2}, {128, 7}};
  size_t fixes = 0, revived = 0;
  for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
    for (int room = 1; room < 4; room++) {
      besom_config config = geometry_of(s, shapes[shape].slots, shapes[shape].width);
      config.options = "tombstones=yes";
      config.reserve = 0.5 / room;
      model *m = model_new(&config, 10 * shape + (size_t)room);
      for (size_t step = 0; step < 3000; step++) {
        uint64_t dice = random_below(&m->random, 40);
        size_t i = (size_t)random_below(&m->random, UNIVERSE);
        if (dice < 16)
          insert_member(m, i);
        else if (dice < 24)
          remove_member(m, i);
        else if (dice < 39)
          fix(m, i);
        else
          move_house(m);
        assert_model(m);
      }
      fixes += m->fixes;
      revived += m->revived;
      besom_free(m->f);
      free(m);
    }
  assert_true(fixes > 200 && revived > 100); /* every case has occurred */
}

#define BURIES                                                                                   \
  (BESOM_CAN_MATCH | BESOM_CAN_ADAPT | BESOM_CAN_REMOVE | BESOM_CAN_ITERATE | BESOM_CAN_RESIZE | \
   BESOM_CAN_MERGE | BESOM_CAN_REKEY | BESOM_CAN_COUNT | BESOM_CAN_VALUE)

const law tombstone_laws[] = {
    LAW(an_extension_returns_with_its_key, EVERY_KIND, BURIES),
    LAW(without_tombstones_an_extension_is_lost, EVERY_KIND, BURIES),
    LAW(a_key_that_returns_is_a_new_one, EVERY_KIND, BURIES),
    LAW(tombstones_do_not_reduce_the_capacity, EVERY_KIND, BURIES),
    LAW(an_extension_returns_to_its_store, EVERY_KIND, BURIES),
    LAW(ranks_do_not_count_tombstones, EVERY_KIND, BURIES),
    LAW(rekeying_drops_tombstones, EVERY_KIND, BURIES),
    LAW(keys_change_among_tombstones, EVERY_KIND, BURIES),
    {0},
};
