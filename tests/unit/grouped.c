/* grouped: lists whose groups have different proportions of yes keys. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/counters.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/saved_filters.h"
#include "support/temp_files.h"

enum { GROUPS = 60 };
static const uint8_t seed[16] = "groups of a list";

/*
 * Group i has the keys "i:0" and so on; those below yes[i] are on the yes list. By turns groups
 * have all yes keys, none, and shares from 1/4096 to 4095/4096.
 */
typedef struct universe {
  unsigned yes[GROUPS], keys[GROUPS], scale;
} universe;

static void make_universe(universe *u, unsigned scale) {
  u->scale = scale;
  for (unsigned i = 0; i < GROUPS; i++) {
    u->keys[i] = 1 + scale * (1 + i % 7) / (1 + i / 8);
    double share = 1 / (1 + exp2((int)(i * 5 % 25) - 12));
    u->yes[i] = (unsigned)(u->keys[i] * (i % 9 == 0 ? 1 : i % 9 == 4 ? 0 : share));
  }
}

typedef struct list {
  const universe *u;
  bool yes;
  unsigned group, at;
  char key[32];
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  for (; l->group < GROUPS; l->group++, l->at = 0) {
    unsigned first = l->yes ? 0 : l->u->yes[l->group];
    unsigned end = l->yes ? l->u->yes[l->group] : l->u->keys[l->group];
    if (first + l->at >= end) continue;
    int len = snprintf(l->key, sizeof l->key, "%u:%u", l->group, first + l->at++);
    *key = (besom_bytes){l->key, (size_t)len};
    return BESOM_OK;
  }
  return BESOM_END;
}

static besom_status again(void *ctx) {
  list *l = ctx;
  l->group = l->at = 0;
  return BESOM_OK;
}

static besom_status build(const universe *u, const besom_config *given, besom_filter **out) {
  list yes = {.u = u, .yes = true}, no = {.u = u};
  besom_source from_yes = {.next = next, .rewind = again, .ctx = &yes};
  besom_source from_no = {.next = next, .rewind = again, .ctx = &no};
  besom_config config = *given;
  config.kind = "grouped";
  config.seed = seed;
  return besom_build(&config, &(besom_input){.yes = &from_yes, .no = &from_no}, out);
}

static void assert_exact(const besom_filter *f, const universe *u) {
  char key[32];
  for (unsigned i = 0; i < GROUPS; i++)
    for (unsigned k = 0; k < u->keys[i]; k++) {
      int len = snprintf(key, sizeof key, "%u:%u", i, k);
      if (besom_contains(f, key, (size_t)len) != (k < u->yes[i])) fail_msg("wrong: %s", key);
    }
}

static double bits_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return 8 * (double)stats.bytes;
}

static double least_bits(const universe *u, double rate, bool closed) {
  double bits = 0;
  for (unsigned i = 0; i < GROUPS; i++) {
    double yes = u->yes[i], no = u->keys[i] - yes;
    if (closed)
      bits += (lgamma(yes + no + 1) - lgamma(yes + 1) - lgamma(no + 1)) / log(2);
    else if (yes > 0)
      bits += yes * log2(fmax(1 / rate, no / yes)) + log2(exp(1)) * fmin(rate * no, yes);
  }
  return bits;
}

static const besom_config closed_config = {.options = "universe=closed,group=^([^:]*):"},
                          open_config = {.options = "group=^([^:]*):", .fpr = 0.01};

/* ------------------------------------------------------------------ sizes and answers */

static void groups_take_little_more_than_their_least_bits(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 12000);
  besom_filter *grouped, *plain;
  assert_int_equal(build(&u, &closed_config, &grouped), BESOM_OK);
  assert_int_equal(build(&u, &(besom_config){.options = "universe=closed"}, &plain), BESOM_OK);
  assert_exact(grouped, &u);
  assert_exact(plain, &u);
  double least = least_bits(&u, 0, true);
  assert_true(fabs((double)counter_of(grouped, "least_bits") - least) <= 0.001 * least);
  assert_true(bits_of(grouped) <= 1.3 * least);
  assert_true(bits_of(plain) > 1.5 * bits_of(grouped)); /* the groups are worth something */
  assert_int_equal(counter_of(grouped, "groups"), GROUPS);
  assert_true(counter_of(grouped, "classes") > 2);
  besom_free(grouped);
  besom_free(plain);
}

static void assert_rate(const besom_filter *f, const char *form, double rate) {
  enum { QUERIES = 100000 };
  char key[32];
  unsigned yes = 0;
  for (unsigned i = 0; i < QUERIES; i++) {
    int len = snprintf(key, sizeof key, form, i % GROUPS, i);
    yes += besom_contains(f, key, (size_t)len);
  }
  if (yes > rate * QUERIES + 5 * sqrt(rate * QUERIES)) fail_msg("%s: %u", form, yes);
}

/* Other keys of known groups, keys of unknown groups, keys without a group. */
static void an_open_universe_keeps_the_rate(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 3000);
  besom_filter *f;
  assert_int_equal(build(&u, &open_config, &f), BESOM_OK);
  assert_exact(f, &u);
  assert_true(bits_of(f) <= 1.2 * least_bits(&u, 0.01, false));
  assert_rate(f, "%u:other%u", 0.01);
  assert_rate(f, "other%u%u:0", 0.01);
  assert_rate(f, "other%u%u", 0.01);
  besom_free(f);
}

/* ------------------------------------------------------------------ the caller's function */

static uint64_t number_before_colon(void *ctx, const void *key, size_t len) {
  uint64_t number = 0;
  ++*(uint64_t *)ctx;
  for (const char *c = key; c < (const char *)key + len && *c >= '0' && *c <= '9'; c++)
    number = 10 * number + (uint64_t)(*c - '0');
  return number;
}

static void a_function_may_name_the_group(void **state) {
  (void)state;
  universe u;
  uint64_t calls = 0;
  make_universe(&u, 1000);
  besom_grouping by = {number_before_colon, &calls};
  besom_config config = {.options = "universe=closed", .grouping = &by};
  besom_filter *f, *ruled;
  assert_int_equal(build(&u, &config, &f), BESOM_OK);
  assert_int_equal(build(&u, &closed_config, &ruled), BESOM_OK);
  assert_true(calls > 0);
  assert_exact(f, &u);
  assert_int_equal(counter_of(f, "classes"), counter_of(ruled, "classes"));
  besom_filter *copy = loaded_copy(f);
  char key[32];
  for (unsigned k = 0; k < u.yes[1]; k++) { /* without the function: yes to be safe */
    int len = snprintf(key, sizeof key, "1:%u", k);
    assert_true(besom_contains(copy, key, (size_t)len));
  }
  assert_int_equal(besom_bind_groups(copy, &by), BESOM_OK);
  assert_exact(copy, &u);
  assert_int_equal(besom_bind_groups(copy, NULL), BESOM_OK);
  assert_int_equal(besom_bind_groups(copy, &(besom_grouping){NULL, NULL}), BESOM_INVALID);
  assert_int_equal(besom_bind_groups(NULL, &by), BESOM_INVALID);
  assert_int_equal(besom_bind_groups(ruled, &by), BESOM_INVALID);
  besom_free(f), besom_free(copy), besom_free(ruled);
  config.options = closed_config.options; /* both */
  assert_int_equal(build(&u, &config, &f), BESOM_INVALID);
}

/* ------------------------------------------------------------------ files */

static void a_saved_filter_knows_the_groups(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 2000);
  besom_filter *f, *mapped;
  assert_int_equal(build(&u, &closed_config, &f), BESOM_OK);
  besom_filter *copy = loaded_copy(f);
  assert_exact(copy, &u);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "groups.besom");
  assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
  assert_int_equal(besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &mapped),
                   BESOM_OK);
  assert_exact(mapped, &u);
  besom_free(f), besom_free(copy), besom_free(mapped);
  temp_dir_remove(&dir);
}

/* Damaged bytes with valid checksums are refused, or give a filter that can be used. */
static void repaired_damage_does_no_harm(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 600);
  besom_filter *f;
  memory_sink saved;
  assert_int_equal(build(&u, &closed_config, &f), BESOM_OK);
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_true(saved.len > 2000); /* load_damaged changes bits up to there */
  besom_free(f);
  random_stream random = {3};
  unsigned loaded = 0;
  for (size_t round = 0; round < 3000; round++) {
    f = load_damaged(&saved, &random, round);
    if (!f) continue;
    for (unsigned i = 0; i < 50; i++) besom_contains(f, "1:2", i % 4);
    besom_free(f);
    loaded++;
  }
  assert_true(loaded > 0);
  memory_sink_close(&saved);
}

/* ------------------------------------------------------------------ the golden file */

#define GOLDEN BESOM_SOURCE_DIR "/tests/golden/grouped-groups-v1.besom"

static besom_filter *make_golden(universe *u) {
  besom_filter *f = NULL;
  make_universe(u, 1200);
  assert_int_equal(build(u, &closed_config, &f), BESOM_OK);
  return f;
}

static void groups_load_in_every_version(void **state) {
  (void)state;
  universe u;
  besom_filter *today = make_golden(&u), *golden = NULL;
  memory_sink of_today, of_golden;
  assert_int_equal(besom_open(GOLDEN, NULL, &golden), BESOM_OK);
  assert_true(counter_of(golden, "classes") > 1);
  assert_exact(golden, &u);
  memory_sink_init(&of_today);
  memory_sink_init(&of_golden);
  assert_int_equal(besom_save(today, &of_today.api), BESOM_OK);
  assert_int_equal(besom_save(golden, &of_golden.api), BESOM_OK);
  assert_true(memory_sinks_equal(&of_today, &of_golden));
  memory_sink_close(&of_today);
  memory_sink_close(&of_golden);
  besom_free(today);
  besom_free(golden);
}

/* ------------------------------------------------------------------ failures */

static void memory_may_be_short_anywhere(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 200);
  besom_status status = BESOM_NO_MEMORY;
  unsigned failures = 0;
  for (uint64_t at = 1; status != BESOM_OK; at++, failures++) {
    failing_allocator a;
    failing_allocator_init(&a);
    a.fail_at = at;
    besom_config config = closed_config;
    besom_filter *f = NULL;
    config.allocator = &a.api;
    status = build(&u, &config, &f);
    assert_true(status == BESOM_OK || (status == BESOM_NO_MEMORY && !f));
    besom_free(f);
    assert_null(failing_allocator_verdict(&a));
    failing_allocator_close(&a);
  }
  assert_true(failures > 20);
}

static void bad_configurations_are_refused(void **state) {
  (void)state;
  universe u;
  make_universe(&u, 10);
  besom_filter *f = NULL;
  besom_config config = {.options = "group="};
  static const char *const wrong[] = {"group=",      "group=(a",
                                      "group=(a)",   "universe=other",
                                      "base=ribbon", "universe=closed,group=^(a*)a"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    config.options = wrong[i];
    assert_int_equal(build(&u, &config, &f), BESOM_BAD_OPTION);
  }
  config = (besom_config){.fpr = 1e-12};
  assert_int_equal(build(&u, &config, &f), BESOM_INVALID);
  config = (besom_config){.options = "universe=closed", .bits_per_key = 10};
  assert_int_equal(build(&u, &config, &f), BESOM_INVALID);
  besom_grouping by = {number_before_colon, NULL}, none = {NULL, NULL};
  config = (besom_config){.grouping = &none};
  assert_int_equal(build(&u, &config, &f), BESOM_INVALID);
  config = (besom_config){.kind = "aqf", .capacity = 10, .grouping = &by};
  assert_int_equal(besom_create(&config, &f), BESOM_INVALID);
  assert_null(f);
}

/* ------------------------------------------------------------------ the table of groups */

enum { ROOM = 64 }; /* groups in the first table */

/* One key of each group, and one more of group 0: after `again_at` others. */
typedef struct room_list {
  unsigned at, again_at;
  char key[32];
} room_list;

static besom_status next_in_room(void *ctx, besom_bytes *key, uint64_t *weight) {
  room_list *l = ctx;
  (void)weight;
  if (l->at > ROOM) return BESOM_END;
  unsigned i = l->at++;
  bool second = i == l->again_at;
  int len = snprintf(l->key, sizeof l->key, "%u:%u", second ? 0 : i - (i > l->again_at), second);
  *key = (besom_bytes){l->key, (size_t)len};
  return BESOM_OK;
}

static uint64_t allocations_of(unsigned again_at) {
  room_list l = {.again_at = again_at};
  besom_source yes = {.next = next_in_room, .ctx = &l};
  failing_allocator a;
  failing_allocator_init(&a);
  besom_config config = open_config;
  config.kind = "grouped";
  config.capacity = ROOM + 1;
  config.seed = seed;
  config.allocator = &a.api;
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes}, &f), BESOM_OK);
  besom_free(f);
  assert_null(failing_allocator_verdict(&a));
  failing_allocator_close(&a);
  return a.calls;
}

/* At 2^24 groups there is no larger table: a known group must not need one. */
static void a_key_of_a_known_group_needs_no_larger_table(void **state) {
  (void)state;
  assert_int_equal(allocations_of(ROOM), allocations_of(1));
}

/* --write-golden writes the golden file instead. */
int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--write-golden")) {
    universe u;
    besom_filter *f = make_golden(&u);
    besom_status status = besom_save_file(f, GOLDEN);
    besom_free(f);
    return status != BESOM_OK;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_of_a_known_group_needs_no_larger_table),
      cmocka_unit_test(groups_take_little_more_than_their_least_bits),
      cmocka_unit_test(an_open_universe_keeps_the_rate),
      cmocka_unit_test(a_function_may_name_the_group),
      cmocka_unit_test(a_saved_filter_knows_the_groups),
      cmocka_unit_test(repaired_damage_does_no_harm),
      cmocka_unit_test(groups_load_in_every_version),
      cmocka_unit_test(memory_may_be_short_anywhere),
      cmocka_unit_test(bad_configurations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
