/*
 * The cuckoo table: slots of any width, comparing a whole bucket, paths to empty slots, alternate
 * buckets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuckoo/cuckoo_geometry.h"
#include "cuckoo/partial_key.h"
#include "support/heap.h"
#include "support/keys.h"

static struct cuckoo_table table_new(uint64_t buckets, unsigned slots_per_bucket, unsigned width) {
  struct cuckoo_table t;
  besom__cuckoo_table_init(
      &t, buckets, slots_per_bucket, width,
      heap_array(besom__cuckoo_table_bytes(buckets, slots_per_bucket, width), 1));
  return t;
}

/* ------------------------------------------------------------------ slots */

static unsigned naive_count(const uint64_t *slots, unsigned n, uint64_t entry) {
  unsigned count = 0;
  for (unsigned i = 0; i < n; i++) count += slots[i] == entry;
  return count;
}

static uint64_t naive_find(const uint64_t *slots, unsigned n, uint64_t first, uint64_t entry) {
  for (unsigned i = 0; i < n; i++)
    if (slots[i] == entry) return first + i;
  return NO_SLOT;
}

static void check_bucket(const struct cuckoo_table *t, const uint64_t *slots, uint64_t bucket,
                         uint64_t entry) {
  const uint64_t *mine = slots + bucket * t->slots_per_bucket;
  assert_int_equal(besom__bucket_count(t, bucket, entry),
                   naive_count(mine, t->slots_per_bucket, entry));
  assert_int_equal(besom__bucket_find(t, bucket, entry),
                   naive_find(mine, t->slots_per_bucket, bucket * t->slots_per_bucket, entry));
}

static void check_table(const struct cuckoo_table *t, const uint64_t *slots,
                        random_stream *random) {
  uint64_t mask = bits_below(t->width), used = 0;
  for (uint64_t i = 0; i < cuckoo_table_slots(t); i++) {
    assert_int_equal(slot_get(t, i), slots[i]);
    used += slots[i] != 0;
  }
  assert_int_equal(besom__cuckoo_table_used(t), used);
  assert_true(besom__cuckoo_table_ends_clean(t));
  for (uint64_t b = 0; b < t->buckets; b++) {
    uint64_t of_this = slots[b * t->slots_per_bucket + random_below(random, t->slots_per_bucket)];
    const uint64_t entries[] = {
        0, 1, mask, of_this, of_this ^ 1, (of_this + 1) & mask, random_next(random) & mask};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
      uint64_t other = random_below(random, t->buckets);
      check_bucket(t, slots, b, entries[i]);
      if (t->slots_per_bucket == 1 || t->width < 4) continue;
      bool expected = naive_count(slots + b * 4, 4, entries[i]) ||
                      naive_count(slots + other * 4, 4, entries[i]);
      assert_int_equal(besom__buckets_have(t, b, other, entries[i]), expected);
    }
  }
}

/*
 * Compared with an array of words, in a block of the exact size: the address sanitizer sees any
 * access beyond.
 */
static void slots_and_buckets_are_what_was_stored(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 8, 37};
  for (unsigned width = 2; width <= MAX_ENTRY_BITS; width++)
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
      struct cuckoo_table t = table_new(sizes[i / 2], i % 2 ? 4 : 1, width);
      random_stream random = {width * 100 + i};
      uint64_t *slots = heap_array(cuckoo_table_slots(&t), sizeof *slots);
      check_table(&t, slots, &random);
      for (uint64_t step = 0; step < 3 * cuckoo_table_slots(&t); step++) {
        uint64_t slot = random_below(&random, cuckoo_table_slots(&t));
        slots[slot] = random_below(&random, 3) ? random_next(&random) & bits_below(width) : 0;
        slot_set(&t, slot, slots[slot]);
        if (step % 7 == 0) check_table(&t, slots, &random);
      }
      check_table(&t, slots, &random);
      free(slots);
      free(t.bits);
    }
}

static void impossible_tables_have_no_bytes(void **state) {
  (void)state;
  assert_int_equal(besom__cuckoo_table_bytes(0, 4, 8), 0);
  assert_int_equal(besom__cuckoo_table_bytes(UINT64_MAX, 4, 8), 0);
  assert_int_equal(besom__cuckoo_table_bytes(10, 3, 8), 0);
  assert_int_equal(besom__cuckoo_table_bytes(10, 4, 1), 0);
  assert_int_equal(besom__cuckoo_table_bytes(10, 4, MAX_ENTRY_BITS + 1), 0);
  assert_int_equal(besom__cuckoo_table_bytes(10, 4, 12), 60 + SLACK_BYTES);
}

static void bits_behind_the_last_slot_are_seen(void **state) {
  (void)state;
  struct cuckoo_table t = table_new(3, 4, 5); /* 60 bits */
  for (unsigned bit = 0; bit < 8 * cuckoo_table_size(&t); bit++) {
    t.bits[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_int_equal(besom__cuckoo_table_ends_clean(&t), bit < 60);
    t.bits[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(t.bits);
}

/* ------------------------------------------------------------------ paths */

enum { PATH_BUCKETS = 200 };

/* Entries with random alternate buckets, known by slot. */
struct maze {
  struct cuckoo_table table;
  uint64_t others[PATH_BUCKETS * MAX_BUCKET_SLOTS][2];
  unsigned calls, fail_at;
};

static besom_status moves_in_maze(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n) {
  struct maze *m = ctx;
  assert_true(slot_get(&m->table, slot) != 0);
  if (++m->calls == m->fail_at) return BESOM_IO;
  *n = 2;
  memcpy(buckets, m->others[slot], sizeof m->others[slot]);
  return BESOM_OK;
}

static void maze_make(struct maze *m, unsigned slots_per_bucket, unsigned empty, uint64_t seed) {
  random_stream random = {seed};
  m->table = table_new(PATH_BUCKETS, slots_per_bucket, 9);
  m->calls = m->fail_at = 0;
  for (uint64_t slot = 0; slot < cuckoo_table_slots(&m->table); slot++) {
    slot_set(&m->table, slot, 1 + slot % 500);
    for (unsigned i = 0; i < 2; i++) m->others[slot][i] = random_below(&random, PATH_BUCKETS);
  }
  while (empty--) slot_set(&m->table, random_below(&random, cuckoo_table_slots(&m->table)), 0);
}

/*
 * A path leads from a start to an empty slot. Each step goes to a bucket of the entry, and no slot
 * occurs twice.
 */
static void check_path(const struct maze *m, const struct cuckoo_path *path, const uint64_t *starts,
                       unsigned n) {
  unsigned slots_per_bucket = m->table.slots_per_bucket;
  bool begins = false;
  for (unsigned i = 0; i < n; i++) begins |= path->slots[0] / slots_per_bucket == starts[i];
  assert_true(begins && path->moves < MAX_PATH);
  for (unsigned i = 0; i <= path->moves; i++) {
    assert_int_equal(slot_get(&m->table, path->slots[i]) == 0, i == path->moves);
    for (unsigned k = 0; k < i; k++) assert_true(path->slots[i] != path->slots[k]);
    if (i == path->moves) break;
    const uint64_t *others = m->others[path->slots[i]];
    uint64_t next = path->slots[i + 1] / slots_per_bucket;
    assert_true(next == others[0] || next == others[1]);
  }
}

/* The number of moves, by a naive search: a growing set of buckets. */
static unsigned naive_moves(const struct maze *m, const uint64_t *starts, unsigned n) {
  bool reached[PATH_BUCKETS] = {false};
  for (unsigned i = 0; i < n; i++) reached[starts[i]] = true;
  for (unsigned moves = 0; moves < PATH_BUCKETS; moves++) {
    bool next[PATH_BUCKETS];
    memcpy(next, reached, sizeof next);
    for (uint64_t slot = 0; slot < cuckoo_table_slots(&m->table); slot++) {
      if (!reached[slot / m->table.slots_per_bucket]) continue;
      if (!slot_get(&m->table, slot)) return moves;
      next[m->others[slot][0]] = next[m->others[slot][1]] = true;
    }
    memcpy(reached, next, sizeof next);
  }
  return UINT32_MAX;
}

static void a_path_is_the_shortest(void **state) {
  (void)state;
  unsigned found = 0, full = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct maze m;
    maze_make(&m, seed % 2 ? 4 : 1, (unsigned)(seed % 5), seed);
    struct cuckoo_moves moves = {moves_in_maze, &m, 1000};
    struct cuckoo_path path;
    uint64_t starts[2] = {seed % PATH_BUCKETS, seed * 7 % PATH_BUCKETS};
    unsigned least = naive_moves(&m, starts, 2);
    besom_status status = besom__cuckoo_find_path(&m.table, starts, 2, &moves, &path);
    assert_int_equal(status, least == UINT32_MAX ? BESOM_FULL : BESOM_OK);
    if (status == BESOM_OK) {
      check_path(&m, &path, starts, 2);
      assert_int_equal(path.moves, least);
    }
    found += status == BESOM_OK;
    full += status == BESOM_FULL;
    free(m.table.bits);
  }
  assert_true(found > 100 && full > 50);
}

static void a_search_ends_when_told_to(void **state) {
  (void)state;
  struct maze m;
  maze_make(&m, 4, 0, 1);
  struct cuckoo_moves moves = {moves_in_maze, &m, 10};
  struct cuckoo_path path;
  uint64_t start = 0;
  assert_int_equal(besom__cuckoo_find_path(&m.table, &start, 1, &moves, &path), BESOM_FULL);
  assert_true(m.calls <= 40);
  moves.max = 1000;
  m.calls = 0;
  m.fail_at = 7;
  assert_int_equal(besom__cuckoo_find_path(&m.table, &start, 1, &moves, &path), BESOM_IO);
  assert_int_equal(m.calls, 7);
  free(m.table.bits);
}

/* ------------------------------------------------------------------ alternate buckets and sizes */

/* For filters of all sizes: the alternate bucket is in the table, and is not the same bucket. */
static void check_others(const char *kind, uint64_t capacity, double rate) {
  besom_config config = {
      .kind = kind, .capacity = capacity, .fpr = rate, .seed = (const uint8_t *)"0123456789abcdef"};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  const struct partial_key *p = const_partial_key(f);
  uint64_t buckets = p->table.buckets;
  for (uint64_t i = 0; i < 4000; i++) {
    uint64_t bucket = i < buckets ? i : mix64(i) % buckets;
    if (i > 3900) bucket = buckets - 1 - (4000 - i) % buckets;
    uint64_t fingerprint = 1 + mix64(i + 7) % bits_below(p->table.width),
             other = p->policy->alternate(p, bucket, fingerprint);
    assert_true(other < buckets);
    assert_int_equal((other ^ bucket) & 1, 1); /* so it is never the same */
    assert_int_equal(p->policy->alternate(p, other, fingerprint), bucket);
  }
  besom_free(f);
}

static void the_other_of_the_other_bucket_is_the_first(void **state) {
  (void)state;
  static const uint64_t capacities[] = {1, 8, 9, 100, 121, 128, 129, 1000, 12345, 300000, 1000003};
  for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++)
    for (double rate = 0.5; rate > 1e-8; rate /= 17) {
      check_others("cf", capacities[i], rate);
      check_others("vacuum", capacities[i], rate);
    }
}

/* Half of the pairs of vacuum are within 128 buckets, whatever the size of the table. */
static void other_buckets_of_vacuum_are_near(void **state) {
  (void)state;
  besom_config config = {.kind = "vacuum", .capacity = 3000000};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  const struct partial_key *p = const_partial_key(f);
  unsigned near = 0, far = 0;
  for (uint64_t i = 0; i < 10000; i++) {
    uint64_t bucket = mix64(i) % p->table.buckets;
    uint64_t other = p->policy->alternate(p, bucket, 1 + mix64(~i) % p->fingerprints);
    uint64_t distance = other > bucket ? other - bucket : bucket - other;
    near += distance < 128;
    far += distance >= 2 << 16;
  }
  assert_true(near > 5000 && far == 0);
  besom_free(f);
}

/* At a load factor of 95 % a table has width / 0.95 bits per key, within 5 % at any capacity. */
static void bits_an_item_are_those_of_the_formula(void **state) {
  (void)state;
  static const char *const kinds[] = {"cf", "vacuum", "acf-cyclic", "acf-swapping",
                                      "acf-cuckooing"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (uint64_t capacity = 100000; capacity < 5000000; capacity = capacity * 3 + 1)
      for (int log_rate = 4; log_rate <= 16; log_rate += 4) {
        besom_config config = {
            .kind = kinds[k], .capacity = capacity, .fpr = 1.0 / (1 << log_rate)};
        besom_filter *f = NULL;
        besom_statistics s;
        assert_int_equal(besom_create(&config, &f), BESOM_OK);
        assert_int_equal(besom_stats(f, &s), BESOM_OK);
        double entry = s.width + (strcmp(kinds[k], "acf-cyclic") ? 0 : 2);
        assert_true(8.0 * (double)s.bytes / (double)capacity <= 1.05 * entry / 0.95);
        assert_true(s.fpr_at_capacity <= config.fpr);
        besom_free(f);
      }
}

/* ------------------------------------------------------------------ full tables */

static besom_filter *filter_of_width(const char *kind, const char *options, unsigned width) {
  besom_config config = {.kind = kind,
                         .options = options,
                         .capacity = 300,
                         .fpr = 7.9 / (double)bits_below(width),
                         .seed = (const uint8_t *)"0123456789abcdef"};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  assert_int_equal(const_partial_key(f)->table.width, width);
  f->capacity = cuckoo_table_slots(&const_partial_key(f)->table); /* inserts fail by the search */
  return f;
}

/* An insert that finds no path leaves every bit as it was, and no key is lost. */
static void fill_until_full(besom_filter *f) {
  const struct cuckoo_table *t = &const_partial_key(f)->table;
  size_t bytes = cuckoo_table_size(t), n = 0, refused = 0;
  uint8_t *before = heap_array(bytes, 1);
  besom_digest inserted[400];
  for (uint64_t i = 0; refused < 20; i++) {
    besom_digest d = {mix64(2 * i), mix64(2 * i + 1)};
    memcpy(before, t->bits, bytes);
    if (besom_insert_digest(f, d) == BESOM_OK) {
      assert_true(n < 400);
      inserted[n++] = d;
      continue;
    }
    refused++;
    assert_memory_equal(before, t->bits, bytes);
  }
  assert_true(n > 300);
  assert_int_equal(f->items, n);
  assert_null(f->kind->file->validate(f));
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_digest(f, inserted[i]));
  free(before);
}

/* All forms of buckets, by all instruction sets, which must place every fingerprint alike. */
static void a_failed_insert_changes_nothing(void **state) {
  (void)state;
  static const char *const kinds[] = {"cf", "vacuum"};
  for (unsigned k = 0; k < 2; k++)
    for (unsigned width = MIN_FINGERPRINT; width <= MAX_FINGERPRINT; width++) {
      besom_filter *portable = filter_of_width(kinds[k], "isa=portable", width);
      fill_until_full(portable);
      for (enum isa isa = ISA_AVX2; isa <= besom__isa_best(); isa++) {
        besom_filter *f = filter_of_width(kinds[k], isa == ISA_AVX2 ? "isa=avx2" : NULL, width);
        fill_until_full(f);
        assert_memory_equal(const_partial_key(f)->table.bits,
                            const_partial_key(portable)->table.bits,
                            cuckoo_table_size(&const_partial_key(f)->table));
        besom_free(f);
      }
      besom_free(portable);
    }
}

/* ------------------------------------------------------------------ builds and seeds */

/* In the first `bad` passes it has 9 copies of a key, which do not fit; then one. */
struct unlucky {
  unsigned pass, bad, at;
};

static besom_status next_unlucky(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct unlucky *u = ctx;
  (void)weight;
  *key = (besom_bytes){"key", 3};
  return u->at++ < (u->pass < u->bad ? MAX_COPIES + 1 : 1) ? BESOM_OK : BESOM_END;
}

static besom_status rewind_unlucky(void *ctx) {
  struct unlucky *u = ctx;
  u->pass++;
  u->at = 0;
  return BESOM_OK;
}

static besom_status build_unlucky(const char *kind, const uint8_t *seed, struct unlucky *u,
                                  besom_filter **out) {
  besom_config config = {.kind = kind, .capacity = 100, .seed = seed};
  besom_source source = {.next = next_unlucky, .rewind = rewind_unlucky, .ctx = u};
  return besom_build(&config, &(besom_input){.yes = &source}, out);
}

static void a_build_that_is_full_early_tries_other_seeds(void **state) {
  (void)state;
  static const char *const kinds[] = {"cf", "vacuum"};
  for (unsigned k = 0; k < 2; k++) {
    besom_filter *f = NULL;
    struct unlucky twice = {.bad = 2}, always = {.bad = 100}, fixed = {.bad = 2};
    assert_int_equal(build_unlucky(kinds[k], NULL, &twice, &f), BESOM_OK);
    assert_true(besom_contains(f, "key", 3));
    assert_int_equal(twice.pass, 2);
    besom_free(f);
    assert_int_equal(build_unlucky(kinds[k], NULL, &always, &f), BESOM_FULL);
    assert_int_equal(always.pass, 3);
    const uint8_t *seed = (const uint8_t *)"0123456789abcdef";
    assert_int_equal(build_unlucky(kinds[k], seed, &fixed, &f), BESOM_FULL);
    assert_int_equal(fixed.pass, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_and_buckets_are_what_was_stored),
      cmocka_unit_test(impossible_tables_have_no_bytes),
      cmocka_unit_test(bits_behind_the_last_slot_are_seen),
      cmocka_unit_test(a_path_is_the_shortest),
      cmocka_unit_test(a_search_ends_when_told_to),
      cmocka_unit_test(the_other_of_the_other_bucket_is_the_first),
      cmocka_unit_test(other_buckets_of_vacuum_are_near),
      cmocka_unit_test(a_failed_insert_changes_nothing),
      cmocka_unit_test(a_build_that_is_full_early_tries_other_seeds),
      cmocka_unit_test(bits_an_item_are_those_of_the_formula),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
