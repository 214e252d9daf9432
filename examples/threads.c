/*
 * One filter, many threads: two insert, two query, and one rekeys the filter meanwhile.
 *
 * A digest is valid for one seed, and a rekey changes the seed. So callers that hash once and use
 * the digests later need a rule:
 *   - writers and the steps of the rekey share a lock;
 *   - queries take no lock. They hash a fixed key before and after a batch. If its digest has
 *     changed, the seed has, and they repeat the batch.
 * Callers that pass keys instead of digests need no rule.
 *
 *     cc threads.c $(pkg-config --cflags --libs besom) -pthread && ./a.out
 */
#include <besom.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define BUILT 100000 /* keys of the built filter */
#define ADDED 50000  /* keys that each writer adds */
#define BATCH 128    /* digests per call */
#define STEP 2000    /* keys per step of the rekey */
#define WRITERS 2
#define KEYS (BUILT + WRITERS * ADDED)

static besom_filter *filter;
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
static uint64_t members[KEYS];
static _Atomic size_t count; /* members that queries must find; grows with `changes` held */
static atomic_bool stop;
static atomic_ulong queries, repeated, missed, errors, busy;

/* -------------------------------------------------------------- the members as a source */

struct members {
  size_t at, end;
  besom_u64_key key;
};

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct members *m = ctx;
  (void)weight;
  if (m->at == m->end) return BESOM_END;
  m->key = besom_u64(members[m->at++]);
  *key = (besom_bytes){m->key.bytes, 8};
  return BESOM_OK;
}

/* -------------------------------------------------------------- threads */

static void *insert(void *first) {
  uint64_t key = *(const uint64_t *)first, end = key + ADDED;
  besom_digest digests[BATCH];
  while (key < end) {
    size_t n = end - key < BATCH ? (size_t)(end - key) : BATCH, done = 0;
    pthread_mutex_lock(&changes);
    for (size_t i = 0; i < n; i++) digests[i] = besom_hash_u64(filter, key + i);
    besom_status status = besom_insert_many_digest(filter, digests, n, &done);
    size_t at = count;
    for (size_t i = 0; i < done; i++) members[at + i] = key + i;
    count = at + done;
    pthread_mutex_unlock(&changes);
    key += done;
    if (status == BESOM_BUSY) { /* the rekey runs */
      busy++;
      sched_yield();
    } else if (status != BESOM_OK) {
      errors++;
      break;
    }
  }
  return NULL;
}

static void *query(void *unused) {
  besom_digest digests[BATCH];
  uint64_t bitmap[BATCH / 64], random = 1;
  while (!stop) {
    size_t n = count;
    besom_digest before = besom_hash_u64(filter, 0);
    for (size_t i = 0; i < BATCH; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      digests[i] = besom_hash_u64(filter, members[(random >> 33) % n]);
    }
    if (besom_contains_many_digest(filter, digests, BATCH, bitmap) != BESOM_OK) errors++;
    if (besom_hash_u64(filter, 0).hi != before.hi) {
      repeated++;
      continue;
    }
    for (size_t i = 0; i < BATCH; i++)
      if (!(bitmap[i / 64] >> i % 64 & 1)) missed++;
    queries += BATCH;
  }
  return unused;
}

static besom_status rekey(unsigned long *steps) {
  struct members all = {0};
  besom_source yes = {.next = next_member, .ctx = &all};
  besom_task *task;
  bool finished = false;
  pthread_mutex_lock(&changes);
  all.end = count; /* no member is added before the task ends: inserts are BUSY */
  besom_status status = besom_rekey(filter, &yes, NULL, NULL, &task);
  pthread_mutex_unlock(&changes);
  for (; status == BESOM_OK && !finished; ++*steps) {
    pthread_mutex_lock(&changes);
    status = besom_task_step(task, STEP, &finished);
    pthread_mutex_unlock(&changes);
    sched_yield();
  }
  return status;
}

/* -------------------------------------------------------------- a run */

int main(void) {
  for (size_t i = 0; i < BUILT; i++) members[i] = i;
  count = BUILT;
  struct members built = {.end = BUILT};
  besom_source yes = {.next = next_member, .size_hint = BUILT, .ctx = &built};
  besom_config config = {.kind = "aqf", .capacity = KEYS, .fpr = 0.001};
  if (besom_build(&config, &(besom_input){.yes = &yes}, &filter) != BESOM_OK) return 1;
  if (besom_share(filter) != BESOM_OK) return 1; /* a built filter is plain: make it concurrent */
  besom_digest old = besom_hash_u64(filter, 0);

  pthread_t writers[WRITERS], readers[2];
  uint64_t first[WRITERS];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&readers[i], NULL, query, NULL)) return 1;
  for (uint64_t i = 0; i < WRITERS; i++) {
    first[i] = BUILT + i * ADDED;
    if (pthread_create(&writers[i], NULL, insert, &first[i])) return 1;
  }
  unsigned long steps = 0;
  besom_status status = rekey(&steps);
  for (int i = 0; i < WRITERS; i++) pthread_join(writers[i], NULL);
  stop = true;
  for (int i = 0; i < 2; i++) pthread_join(readers[i], NULL);

  for (size_t i = 0; i < KEYS; i++) missed += !besom_contains_u64(filter, i);
  printf("rekeyed in %lu steps; %lu members queried, %lu missed\n", steps, queries, missed);
  printf("batches repeated under the new seed: %lu; inserts that were BUSY: %lu\n", repeated, busy);
  bool seed_changed = besom_hash_u64(filter, 0).hi != old.hi;
  besom_free(filter);
  return status == BESOM_OK && seed_changed && count == KEYS && !missed && !errors ? 0 : 1;
}
