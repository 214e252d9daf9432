#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"
#include "support/records.h"

uint32_t model_epoch(size_t e) {
  return e ? UINT32_MAX : 3;
}

/* Close together, far apart, and at both ends. */
uint64_t model_bucket(size_t b) {
  if (b < BUCKETS / 3) return b;
  if (b < BUCKETS - 1) return ((uint64_t)b << 55) | mix64(b) >> 9;
  return UINT64_MAX;
}

void model_count(const model *m, uint64_t *records, uint64_t *buckets) {
  *records = *buckets = 0;
  for (size_t e = 0; e < EPOCHS; e++)
    for (size_t b = 0; b < BUCKETS; b++) {
      *records += m->lengths[e][b];
      *buckets += m->lengths[e][b] != 0;
    }
}

/* ------------------------------------------------------------------ keys of tables */

enum { LONGEST = 1 << 16, MAX_KEYS_COUNT = 4 };

static const size_t lengths[] = {0,  1,   2,   5,   61,  62,  63,  64,
                                 65, 120, 509, 510, 511, 512, 600, 2000};

static int by_bytes(const void *a, const void *b) {
  const besom_bytes *x = a, *y = b;
  int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
  return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void add_key(key_universe *keys, size_t *used, size_t len, uint8_t filler, uint8_t last) {
  uint8_t *at = keys->storage + *used;
  memset(at, filler, len);
  if (len) at[len - 1] = last;
  keys->keys[keys->n++] = (besom_bytes){at, len};
  *used += len;
}

void key_universe_make(key_universe *keys) {
  static const uint8_t fillers[] = {0, 'a', 0xff}, lasts[] = {0, 'b', 0xff};
  size_t used = 0;
  *keys = (key_universe){.storage = heap_array(MAX_KEYS_COUNT * LONGEST + MOST_KEYS * 2000, 1)};
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
    for (size_t f = 0; f < 3; f++)
      for (size_t e = 0; e < 3; e++) add_key(keys, &used, lengths[l], fillers[f], lasts[e]);
  add_key(keys, &used, LONGEST, 'a', 'a');
  add_key(keys, &used, LONGEST, 'a', 'b');
  add_key(keys, &used, LONGEST - 1, 0xff, 0xff);
  add_key(keys, &used, LONGEST, 0, 1);
  qsort(keys->keys, keys->n, sizeof *keys->keys, by_bytes);
  size_t kept = 1;
  for (size_t i = 1; i < keys->n; i++)
    if (by_bytes(&keys->keys[kept - 1], &keys->keys[i])) keys->keys[kept++] = keys->keys[i];
  keys->n = kept;
}

void key_universe_free(key_universe *keys) {
  free(keys->storage);
}

/* ------------------------------------------------------------------ changes */

/* A store may fail, but OK and NOT_FOUND must be right. */
static void assert_plausible(besom_status status, bool there) {
  if (status == BESOM_OK) assert_true(there);
  if (status == BESOM_NOT_FOUND) assert_false(there);
}

static besom_status change_list(model *m, besom_store *store, random_stream *random) {
  size_t e = random_below(random, EPOCHS), b = random_below(random, BUCKETS);
  uint64_t number = random_next(random) >> 8, *list = m->records[e][b];
  uint32_t *length = &m->lengths[e][b], rank = (uint32_t)random_below(random, *length + 1);
  besom_place at = {.epoch = model_epoch(e), .bucket = model_bucket(b), .rank = rank};
  made_record record;
  make_record(&record, number);
  besom_status status;
  switch (random_below(random, 4)) {
  case 0:
    status = store->ops->replace(store, at, &record.api);
    assert_plausible(status, rank < *length);
    if (status == BESOM_OK) list[rank] = number;
    break;
  case 1:
    status = store->ops->remove(store, at);
    assert_plausible(status, rank < *length);
    if (status != BESOM_OK) break;
    --*length;
    memmove(&list[rank], &list[rank + 1], (*length - rank) * sizeof *list);
    break;
  default:
    if (*length == LONGEST_LIST) return BESOM_OK;
    at.rank = *length;
    status = store->ops->append(store, at, &record.api);
    if (status == BESOM_OK) list[(*length)++] = number;
  }
  return status;
}

static besom_status change_table(model *m, const key_universe *keys, besom_store *store,
                                 random_stream *random) {
  besom_table table = (besom_table)random_below(random, TABLES);
  size_t k = random_below(random, keys->n);
  uint64_t number = random_next(random) >> 8 | 1, *value = &m->values[table][k];
  if (random_below(random, 3)) {
    made_record made;
    make_record(&made, number);
    besom_record record = {keys->keys[k], made.api.value};
    besom_status status = store->ops->table_put(store, table, &record);
    if (status == BESOM_OK) *value = number;
    return status;
  }
  besom_status status = store->ops->table_remove(store, table, keys->keys[k]);
  assert_plausible(status, *value != 0);
  if (status == BESOM_OK) *value = 0;
  return status;
}

besom_status model_change(model *m, const key_universe *keys, besom_store *store,
                          random_stream *random) {
  besom_status status = random_below(random, 2) ? change_list(m, store, random)
                                                : change_table(m, keys, store, random);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ comparing */

typedef struct walk {
  const model *m;
  const key_universe *keys;
  size_t e, b, table, k;
  uint32_t rank;
  uint64_t shown;
} walk;

static besom_status check_list(void *ctx, besom_place at, const besom_record *record) {
  walk *w = ctx;
  while (w->b < BUCKETS && w->rank == w->m->lengths[w->e][w->b]) w->b++, w->rank = 0;
  if (w->b == BUCKETS || at.epoch != model_epoch(w->e) || at.bucket != model_bucket(w->b) ||
      at.rank != w->rank)
    return BESOM_INCOMPATIBLE;
  w->shown++;
  return is_made_record(record, w->m->records[w->e][w->b][w->rank++]) ? BESOM_OK
                                                                      : BESOM_INCOMPATIBLE;
}

static besom_status check_table(void *ctx, const besom_record *record) {
  walk *w = ctx;
  while (w->k < w->keys->n && !w->m->values[w->table][w->k]) w->k++;
  if (w->k == w->keys->n || !bytes_equal(record->key, w->keys->keys[w->k]))
    return BESOM_INCOMPATIBLE;
  made_record made;
  make_record(&made, w->m->values[w->table][w->k++]);
  w->shown++;
  return bytes_equal(record->value, made.api.value) ? BESOM_OK : BESOM_INCOMPATIBLE;
}

static bool scan_is(besom_store *store, const model *m, size_t e, size_t from) {
  walk w = {.m = m, .e = e, .b = from};
  uint64_t expected = 0;
  for (size_t b = from; b < BUCKETS; b++) expected += m->lengths[e][b];
  besom_place at = {.epoch = model_epoch(e), .bucket = model_bucket(from)};
  return store->ops->scan(store, at, check_list, &w) == BESOM_OK && w.shown == expected;
}

static bool bucket_is(besom_store *store, const model *m, size_t e, size_t b) {
  walk w = {.m = m, .e = e, .b = b};
  besom_place at = {.epoch = model_epoch(e), .bucket = model_bucket(b), .rank = 1};
  return store->ops->get(store, at, check_list, &w) == BESOM_OK && w.shown == m->lengths[e][b];
}

/* Compares a range of keys; from 0 and to n mean no bound. */
static bool range_is(besom_store *store, const model *m, const key_universe *keys, size_t table,
                     size_t from, size_t to) {
  walk w = {.m = m, .keys = keys, .table = table, .k = from};
  const besom_bytes none = {NULL, 0};
  uint64_t expected = 0;
  for (size_t k = from; k < to; k++) expected += m->values[table][k] != 0;
  besom_status status =
      store->ops->table_scan(store, (besom_table)table, from ? keys->keys[from] : none,
                             to < keys->n ? keys->keys[to] : none, check_table, &w);
  return status == BESOM_OK && w.shown == expected;
}

static bool key_is(besom_store *store, const model *m, const key_universe *keys, size_t table,
                   size_t k) {
  walk w = {.m = m, .keys = keys, .table = table, .k = k};
  besom_status status =
      store->ops->table_get(store, (besom_table)table, keys->keys[k], check_table, &w);
  return m->values[table][k] ? status == BESOM_OK && w.shown == 1
                             : status == BESOM_NOT_FOUND && !w.shown;
}

bool store_is(besom_store *store, const model *m, const key_universe *keys) {
  bool same = true;
  for (size_t e = 0; e < EPOCHS; e++) same = same && scan_is(store, m, e, 0);
  for (size_t table = 0; table < TABLES; table++)
    same = same && range_is(store, m, keys, table, 0, keys->n);
  return same;
}

void assert_store_is(besom_store *store, const model *m, const key_universe *keys) {
  for (size_t e = 0; e < EPOCHS; e++) {
    assert_true(scan_is(store, m, e, 0));
    for (size_t b = 0; b < BUCKETS; b++) assert_true(bucket_is(store, m, e, b));
  }
  for (size_t table = 0; table < TABLES; table++) {
    assert_true(range_is(store, m, keys, table, 0, keys->n));
    for (size_t k = 0; k < keys->n; k++) assert_true(key_is(store, m, keys, table, k));
  }
}

void assert_ranges_are(besom_store *store, const model *m, const key_universe *keys,
                       random_stream *random) {
  for (unsigned i = 0; i < 20; i++) {
    assert_true(scan_is(store, m, random_below(random, EPOCHS), random_below(random, BUCKETS)));
    size_t from = random_below(random, keys->n),
           to = from + random_below(random, keys->n - from + 1);
    assert_true(range_is(store, m, keys, random_below(random, TABLES), from, to));
  }
}
