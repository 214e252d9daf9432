/*
 * A program of an older version: compiled against headers whose structs lack their newest members
 * (older_headers.py), run with the current library. Every struct that the library fills has a guard
 * zone behind it, which must stay as it is. Every struct that the library reads is followed by
 * bytes that are no valid members.
 */
#include <besom.h>
#include <besom_guard.h>
#include <besom_plan.h>
#include <besom_reverse.h>
#include <besom_store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE 64
#define ZONE_BYTE 0xa5

static int failures;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                     \
    }                                                                 \
  } while (0)

/* A struct of the older version, and what is behind it in memory. */
#define WITH_ZONE(type)       \
  struct {                    \
    type value;               \
    unsigned char zone[ZONE]; \
  }

static void fill_zone(unsigned char *zone) {
  memset(zone, ZONE_BYTE, ZONE);
}

static int zone_untouched(const unsigned char *zone) {
  for (int i = 0; i < ZONE; i++)
    if (zone[i] != ZONE_BYTE) return 0;
  return 1;
}

/* -------------------------------------------------------------- keys */

struct keys {
  uint64_t at, n;
  unsigned char bytes[8];
};

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct keys *k = ctx;
  if (k->at == k->n) return BESOM_END;
  besom_u64_key u = besom_u64(k->at++);
  memcpy(k->bytes, u.bytes, 8);
  *key = (besom_bytes){k->bytes, 8};
  *weight = 1;
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  ((struct keys *)ctx)->at = 0;
  return BESOM_OK;
}

/* -------------------------------------------------------------- filters */

static besom_filter *make_filter(const char *kind) {
  WITH_ZONE(besom_config) c = {.value = {.kind = kind, .capacity = 1000, .fpr = 0.01}};
  besom_filter *f = NULL;
  char text[200];
  fill_zone(c.zone);
  CHECK(besom_config_check(&c.value, text, sizeof text) == BESOM_OK);
  CHECK(besom_create(&c.value, &f) == BESOM_OK);
  return f;
}

static void test_statistics(const besom_filter *f) {
  WITH_ZONE(besom_statistics) s;
  fill_zone(s.zone);
  CHECK(besom_stats(f, &s.value) == BESOM_OK);
  CHECK(zone_untouched(s.zone));
  CHECK(s.value.keys == 500 && strcmp(s.value.kind, "aqf") == 0);
}

static void test_iteration(const besom_filter *f) {
  besom_iter iter = {.filter = f};
  WITH_ZONE(besom_entry) e;
  uint64_t n = 0;
  fill_zone(e.zone);
  while (besom_iter_next(&iter, &e.value) == BESOM_OK) n += e.value.count;
  CHECK(zone_untouched(e.zone));
  CHECK(n == 500);
}

static void test_build(void) {
  struct keys keys = {0, 1000, {0}};
  besom_source yes = {next_key, rewind_keys, 1000, &keys};
  WITH_ZONE(besom_config) c = {.value = {.kind = "fuse", .fpr = 0.01}};
  WITH_ZONE(besom_input) in = {.value = {.yes = &yes}};
  besom_filter *f = NULL;
  fill_zone(c.zone);
  fill_zone(in.zone);
  CHECK(besom_build(&c.value, &in.value, &f) == BESOM_OK);
  for (uint64_t i = 0; i < 1000; i++) CHECK(besom_contains_u64(f, i));
  besom_free(f);
}

static void test_open(const besom_filter *f, const char *path) {
  WITH_ZONE(besom_open_options) o = {.value = {.flags = BESOM_OPEN_MMAP}};
  besom_filter *g = NULL;
  fill_zone(o.zone);
  CHECK(besom_save_file(f, path) == BESOM_OK);
  CHECK(besom_open(path, &o.value, &g) == BESOM_OK);
  for (uint64_t i = 0; i < 500; i++) CHECK(besom_contains_u64(g, i));
  besom_free(g);
}

/* -------------------------------------------------------------- plans */

/* The limits of the older version give one plan, whatever is behind them. */
static besom_stack_plan plan_with(const besom_config *c, const besom_workload *w, int zone_byte) {
  WITH_ZONE(besom_plan_limits) limits = {.value = {.layers = 5}};
  besom_stack_plan plan = {0};
  memset(limits.zone, zone_byte, ZONE);
  CHECK(besom_plan(c, 100000, w, &limits.value, &plan) == BESOM_OK);
  return plan;
}

static void test_plan(void) {
  besom_workload *w = NULL;
  CHECK(besom_workload_create(0, NULL, &w) == BESOM_OK);
  for (uint64_t i = 0; i < 1000; i++) {
    besom_u64_key k = besom_u64(1000000 + i);
    CHECK(besom_workload_add(w, k.bytes, 8, 1 + 1000 / (i + 1)) == BESOM_OK);
  }
  WITH_ZONE(besom_workload_statistics) s;
  WITH_ZONE(besom_plan_limits) limits = {.value = {.layers = 5}};
  WITH_ZONE(besom_stack_plan) plan;
  WITH_ZONE(besom_config) c = {.value = {.kind = "stacked", .bits_per_key = 10}};
  fill_zone(s.zone);
  fill_zone(limits.zone);
  fill_zone(plan.zone);
  fill_zone(c.zone);
  CHECK(besom_workload_stats(w, &s.value) == BESOM_OK);
  CHECK(s.value.keys == 1000);
  CHECK(besom_plan(&c.value, 100000, w, &limits.value, &plan.value) == BESOM_OK);
  CHECK(plan.value.layers >= 1 && plan.value.layers <= 5);
  CHECK(plan_with(&c.value, w, 0).expected_fpr == plan_with(&c.value, w, 1).expected_fpr);
  CHECK(zone_untouched(s.zone) && zone_untouched(plan.zone));
  besom_workload_free(w);
}

/* -------------------------------------------------------------- guards and stores */

/* A store of an older version: its table of operations ends before the newest one. */
struct old_store {
  besom_store head;
  besom_store *inner;
};

static besom_store *inner_of(const besom_store *store) {
  return ((const struct old_store *)store)->inner;
}

static besom_status old_append(besom_store *s, besom_place at, const besom_record *r) {
  return inner_of(s)->ops->append(inner_of(s), at, r);
}

static besom_status old_get(besom_store *s, besom_place at, besom_store_visit visit, void *ctx) {
  return inner_of(s)->ops->get(inner_of(s), at, visit, ctx);
}

static besom_status old_replace(besom_store *s, besom_place at, const besom_record *r) {
  return inner_of(s)->ops->replace(inner_of(s), at, r);
}

static besom_status old_remove(besom_store *s, besom_place at) {
  return inner_of(s)->ops->remove(inner_of(s), at);
}

static besom_status old_scan(besom_store *s, besom_place at, besom_store_visit visit, void *ctx) {
  return inner_of(s)->ops->scan(inner_of(s), at, visit, ctx);
}

static void old_close(besom_store *s) {
  besom_store_close(inner_of(s));
  free(s);
}

static const WITH_ZONE(besom_store_ops) old_ops = {
    .value = {.size = sizeof(besom_store_ops),
              .append = old_append,
              .get = old_get,
              .replace = old_replace,
              .remove = old_remove,
              .scan = old_scan,
              .close = old_close},
    .zone = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

static besom_store *make_store(void) {
  struct old_store *s = calloc(1, sizeof *s);
  s->head.ops = &old_ops.value;
  CHECK(besom_store_memory(NULL, &s->inner) == BESOM_OK);
  return &s->head;
}

static void test_guard_statistics(besom_guard *g) {
  WITH_ZONE(besom_guard_statistics) s;
  struct {
    besom_offender value[16];
    unsigned char zone[ZONE];
  } o;
  size_t n;
  fill_zone(s.zone);
  fill_zone(o.zone);
  CHECK(besom_guard_stats(g, &s.value) == BESOM_OK);
  CHECK(s.value.keys == 500 && s.value.queries == 100500);
  CHECK(besom_guard_offenders(g, o.value, 16, &n) == BESOM_OK);
  CHECK(n <= 16); /* keys that may have been false positives only once are not listed */
  for (size_t i = 0; i < n; i++) CHECK(o.value[i].len == 8 && o.value[i].count > 0);
  CHECK(zone_untouched(s.zone) && zone_untouched(o.zone));
}

static void test_guard(void) {
  WITH_ZONE(besom_config) filter = {.value = {.kind = "aqf", .capacity = 1000, .fpr = 0.1}};
  WITH_ZONE(besom_guard_config) c = {.value = {.filter = &filter.value}};
  besom_guard *g = NULL;
  fill_zone(filter.zone);
  fill_zone(c.zone);
  CHECK(besom_guard_open(&c.value, make_store(), &g) == BESOM_OK);
  for (uint64_t i = 0; i < 500; i++) CHECK(besom_guard_put_u64(g, i, &i, sizeof i, 0) == BESOM_OK);
  for (uint64_t i = 0; i < 500; i++) CHECK(besom_guard_get_u64(g, i, NULL) == BESOM_OK);
  for (uint64_t i = 0; i < 100000; i++)
    CHECK(besom_guard_get_u64(g, 1000 + i, NULL) == BESOM_NOT_FOUND);
  test_guard_statistics(g);
  CHECK(besom_guard_close(g) == BESOM_OK);
}

/* -------------------------------------------------------------- reverse maps */

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *m,
                              besom_digest *d) {
  (void)m;
  *d = besom_hash_u64(f, *(uint64_t *)ctx);
  return BESOM_OK;
}

/* An older besom_reverse, and a newer besom_match. */
static void test_reverse(void) {
  struct newer_match {
    besom_match match;
    uint64_t more[2];
  } out[4];
  uint64_t key = 7;
  WITH_ZONE(besom_reverse) reverse = {.value = {.digest_of = digest_of, .ctx = &key}};
  besom_filter *f = make_filter("aqf");
  besom_match match;
  size_t total;
  memset(reverse.zone, 1, ZONE);
  CHECK(besom_bind(f, &reverse.value) == BESOM_OK);
  CHECK(besom_insert_at(f, besom_hash_u64(f, key), 0, &match) == BESOM_OK);
  CHECK(besom_matches_sized(f, besom_hash_u64(f, key), &out[0].match, sizeof out[0], 4, &total) ==
        BESOM_OK);
  CHECK(total == 1 && out[0].match.bucket == match.bucket && out[0].match.rank == match.rank);
  besom_free(f);
  f = make_filter("acf-cyclic"); /* it needs exchange, which the older version does not have */
  CHECK(besom_bind(f, &reverse.value) == BESOM_INVALID);
  besom_free(f);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  besom_filter *f = make_filter("aqf");
  for (uint64_t i = 0; i < 500; i++) CHECK(besom_insert_u64(f, i) == BESOM_OK);
  test_statistics(f);
  test_iteration(f);
  test_open(f, argv[1]);
  test_build();
  test_plan();
  test_guard();
  test_reverse();
  besom_free(f);
  printf("sizes of the older version: config %zu, statistics %zu, guard statistics %zu\n",
         sizeof(besom_config), sizeof(besom_statistics), sizeof(besom_guard_statistics));
  return failures != 0;
}
