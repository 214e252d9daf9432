/* One thread changes and commits, others read: they never see half a transaction. */
#define _DEFAULT_SOURCE 1 /* threads */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "laws.h"

enum { READERS = 3, RECORDS = 20, ROUNDS = 60 };

/* Changes exclude readers by a lock. Commit and sync run beside readers; that is the test. */
typedef struct stage {
  besom_store *store;
  pthread_rwlock_t changing;
  atomic_bool writing; /* the writer waits for the lock */
  atomic_bool done;
  atomic_uint walks;
  _Atomic(const char *) wrong;
} stage;

/* All records that one walk sees must be of one round. */
typedef struct view {
  uint32_t round;
  unsigned shown;
} view;

static besom_status check_round(view *v, const besom_record *record) {
  uint32_t round;
  if (record->value.len != sizeof round) return BESOM_INCOMPATIBLE;
  memcpy(&round, record->value.data, sizeof round);
  if (v->shown++ && round != v->round) return BESOM_INCOMPATIBLE;
  v->round = round;
  return BESOM_OK;
}

static besom_status check_list(void *ctx, besom_place at, const besom_record *record) {
  (void)at;
  return check_round(ctx, record);
}

static besom_status check_table(void *ctx, const besom_record *record) {
  return check_round(ctx, record);
}

/* Scans everything, then reads single records, all within one round. */
static void read_once(stage *st) {
  const besom_bytes none = {NULL, 0};
  besom_store *store = st->store;
  view v = {0};
  pthread_rwlock_rdlock(&st->changing);
  if (store->ops->scan(store, (besom_place){0}, check_list, &v) != BESOM_OK) st->wrong = "scan";
  if (store->ops->table_scan(store, BESOM_TABLE_KEYS, none, none, check_table, &v) != BESOM_OK)
    st->wrong = "table_scan";
  for (unsigned i = 0; i < RECORDS; i += 7) {
    besom_bytes key = {&i, sizeof i};
    if (store->ops->get(store, (besom_place){.bucket = i}, check_list, &v) != BESOM_OK)
      st->wrong = "get";
    if (store->ops->table_get(store, BESOM_TABLE_KEYS, key, check_table, &v) != BESOM_OK)
      st->wrong = "table_get";
  }
  pthread_rwlock_unlock(&st->changing);
  if (v.shown != 2 * RECORDS + 2 * ((RECORDS + 6) / 7)) st->wrong = "some records were missing";
  st->walks++;
}

/* Pauses while the writer wants the lock, which prefers readers: the writer must not starve. */
static void *reader_thread(void *ctx) {
  stage *st = ctx;
  do {
    read_once(st);
    do usleep(200);
    while (st->writing);
  } while (!st->done && !st->wrong);
  return NULL;
}

static besom_status write_round(besom_store *store, uint32_t round) {
  besom_status status = store->ops->begin(store);
  for (unsigned i = 0; i < RECORDS && status == BESOM_OK; i++) {
    besom_record record = {{&i, sizeof i}, {&round, sizeof round}};
    besom_place at = {.bucket = i};
    status =
        round ? store->ops->replace(store, at, &record) : store->ops->append(store, at, &record);
    if (status == BESOM_OK) status = store->ops->table_put(store, BESOM_TABLE_KEYS, &record);
  }
  return status;
}

static void readers_see_complete_transactions(subject *s) {
  stage st = {.store = subject_open(s)};
  pthread_t readers[READERS];
  pthread_rwlock_init(&st.changing, NULL);
  assert_int_equal(write_round(st.store, 0), BESOM_OK);
  assert_int_equal(st.store->ops->commit(st.store, false), BESOM_OK);
  for (unsigned i = 0; i < READERS; i++)
    assert_int_equal(pthread_create(&readers[i], NULL, reader_thread, &st), 0);
  for (uint32_t round = 1; round < ROUNDS && !st.wrong; round++) {
    st.writing = true;
    pthread_rwlock_wrlock(&st.changing);
    st.writing = false;
    besom_status status = write_round(st.store, round);
    bool keep = round % 5 != 0;
    if (!keep) st.store->ops->abort(st.store);
    pthread_rwlock_unlock(&st.changing);
    if (keep && status == BESOM_OK) status = st.store->ops->commit(st.store, round % 16 == 0);
    if (status == BESOM_OK && round % 11 == 0) status = st.store->ops->sync(st.store);
    if (status != BESOM_OK) st.wrong = "a change";
  }
  st.done = true;
  for (unsigned i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
  assert_null(st.wrong);
  assert_true(st.walks >= READERS);
  besom_store_close(st.store);
  pthread_rwlock_destroy(&st.changing);
}

const law thread_laws[] = {
    {"readers_see_complete_transactions", readers_see_complete_transactions, NULL},
    {NULL, NULL, NULL},
};
