/*
 * The front: a second filter of all keys, in memory, under a seed of its own. A key is denied if
 * either filter denies it. So what an adversary has collected against the first one is worthless,
 * and that needs no writer: records stay where they are.
 *
 * It is made when many false positives wait for a writer (denials.c), by a scan of the store's
 * lists: each further false positive scans some records. It is asked when the scan is complete.
 * When many false positives of both filters wait, the next front is made in the same way, and takes
 * its place.
 *
 * It never lacks a key of the store:
 * - the scan and all queries have the view locked for reading; puts, which insert into the front
 *   from the start of the scan, have it locked for writing;
 * - deleted keys stay in it;
 * - during a migration the scan reads the lists of the current epoch first. Records move only from
 *   there to the next epoch, so none is missed;
 * - a rollback can bring back keys that the scan did not see: it drops the front. So do a merge,
 *   and new filters of a read-only guard;
 * - a read-only guard scans, and asks, only at the commit number of its filter.
 * The end of a migration drops it: a rekeyed filter does not need it.
 */
#include "guard/get/front.h"
#include "guard/get/denials.h"

/* Of the table of exceptions: a front is begun when FIRST_SHARE of it is in use, the next one when
   NEXT_SHARE of it is new since; a scan takes at most STEPS_SHARE of it. */
enum { LEAST_STEP = 512, FIRST_SHARE = 8, NEXT_SHARE = 4, STEPS_SHARE = 4 };

struct front {
  besom_filter *filter;
  uint64_t bytes;
  uint32_t epoch;       /* of the lists that are scanned */
  uint64_t next_bucket; /* the scan goes on there */
  uint64_t step;        /* records per false positive */
  uint64_t added;       /* exceptions that had been added when it was complete */
  bool busy;            /* atomic: one reader at a time scans. Stays true at the end */
};

static void front_free(besom_guard *g, struct front **at) {
  struct front *front = *at;
  if (!front) return;
  __atomic_store_n(at, NULL, __ATOMIC_RELEASE);
  besom_free(front->filter);
  besom__release(&g->allocator, front, sizeof *front);
}

static struct front *load_front(struct front *const *at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

void besom__front_drop(besom_guard *g) {
  front_free(g, &g->fronts.asked);
  front_free(g, &g->fronts.making);
  front_free(g, &g->fronts.used_up);
  __atomic_store_n(&g->fronts.refused, false, __ATOMIC_RELAXED);
}

bool besom__front_denies(const struct front *front, const besom_bytes *key) {
  return !besom_contains(front->filter, key->data, key->len);
}

static void insert_into(besom_guard *g, struct front *front, const besom_bytes *key) {
  if (front && besom_insert(front->filter, key->data, key->len) != BESOM_OK) besom__front_drop(g);
}

void besom__front_put(besom_guard *g, const besom_bytes *key) {
  insert_into(g, g->fronts.asked, key);
  insert_into(g, g->fronts.making, key);
}

uint64_t besom__front_bytes(const besom_guard *g) {
  const struct front *all[] = {load_front(&g->fronts.asked), load_front(&g->fronts.making),
                               load_front(&g->fronts.used_up)};
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) bytes += all[i] ? all[i]->bytes : 0;
  return bytes;
}

/* ------------------------------------------------------------------ taking one out of use */

/* Other readers may be asking it: it is freed when nobody reads. */
static void retire(besom_guard *g) {
  __atomic_store_n(&g->fronts.used_up, load_front(&g->fronts.asked), __ATOMIC_RELEASE);
  __atomic_store_n(&g->fronts.asked, NULL, __ATOMIC_RELEASE);
  if (!g->locks) front_free(g, &g->fronts.used_up);
}

void besom__front_free_old(besom_guard *g) {
  lock_write(g);
  front_free(g, &g->fronts.used_up);
  unlock(g);
}

/* ------------------------------------------------------------------ making one */

/* The filters of both epochs. False: they cannot be asked. */
static bool sum_filters(const besom_guard *g, besom_statistics *sum) {
  besom_statistics next = {0};
  if (besom_stats(g->current.filter, sum) != BESOM_OK) return false;
  if (g->next.filter && besom_stats(g->next.filter, &next) != BESOM_OK) return false;
  sum->keys += next.keys;
  sum->bytes += next.bytes;
  return true;
}

/* With the rate of the guard's filter, or in as many bytes if these are fewer. A writer that puts
   more keys than a sixteenth can rekey as well. */
static besom_filter *front_filter_new(const besom_guard *g, const besom_statistics *now,
                                      uint64_t *bytes) {
  besom_config config = {.kind = "blocked-bloom",
                         .capacity = now->keys + now->keys / 16 + 100,
                         .fpr = now->expected_fpr,
                         .allocator = &g->allocator};
  besom_filter *f = NULL;
  besom_statistics made = {0};
  if (!(config.fpr > 1e-6)) config.fpr = 1e-6;
  if (config.fpr > 0.1) config.fpr = 0.1;
  for (unsigned i = 0; i < 2; i++) {
    if (besom_create(&config, &f) != BESOM_OK) return NULL;
    if (besom_stats(f, &made) == BESOM_OK && made.bytes <= now->bytes) break;
    config.fpr = 0;
    config.bits_per_key = 8.0 * (double)now->bytes / (double)config.capacity;
    if (i == 0) besom_free(f);
  }
  *bytes = sizeof(struct front) + made.bytes;
  return f;
}

/* others: the bytes of all other filters and of the exceptions. */
static struct front *front_new(const besom_guard *g, const besom_statistics *now, uint64_t others) {
  struct front *front = besom__allocate(&g->allocator, sizeof *front);
  if (!front) return NULL;
  front->filter = front_filter_new(g, now, &front->bytes);
  bool fits = !g->max_filter_bytes || others + front->bytes <= g->max_filter_bytes;
  if (front->filter && fits) return front;
  besom_free(front->filter);
  besom__release(&g->allocator, front, sizeof *front);
  return NULL;
}

/* Whether many false positives wait for a writer that a new front would deny. */
static bool is_front_due(const besom_guard *g) {
  const struct front *front = load_front(&g->fronts.asked);
  uint64_t room = besom__denials_capacity(g);
  if (front) return besom__denials_added(g) - front->added > room / NEXT_SHARE;
  return load_relaxed_count(&g->stats.exceptions) > room / FIRST_SHARE;
}

/* With the queue locked, because several readers may want one. If there is no memory for one more,
   the front that is used up goes first. */
static void front_begin(besom_guard *g) {
  besom_statistics now;
  bool used_up = load_front(&g->fronts.asked),
       busy = load_front(&g->fronts.making) || load_front(&g->fronts.used_up);
  if (busy || !is_front_due(g) || !sum_filters(g, &now)) return;
  uint64_t others = now.bytes + besom__denials_bytes(g) + besom__front_bytes(g);
  struct front *front = used_up && g->next.filter ? NULL : front_new(g, &now, others);
  if (!front) {
    if (used_up)
      retire(g);
    else
      __atomic_store_n(&g->fronts.refused, true, __ATOMIC_RELAXED);
    return;
  }
  uint64_t steps = besom__denials_capacity(g) / STEPS_SHARE + 1, step = now.keys / steps;
  front->epoch = g->current.number;
  front->step = step < LEAST_STEP ? LEAST_STEP : step;
  __atomic_store_n(&g->fronts.making, front, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ the scan */

struct front_scan {
  struct front *front;
  uint64_t n, last_bucket;
  bool ended; /* before the last record */
};

static besom_status scan_record(void *ctx, besom_place at, const besom_record *record) {
  struct front_scan *s = ctx;
  if (s->n >= s->front->step && at.bucket != s->last_bucket) {
    s->front->next_bucket = at.bucket;
    s->ended = true;
    return BESOM_END;
  }
  s->n++;
  s->last_bucket = at.bucket;
  return besom_insert(s->front->filter, record->key.data, record->key.len);
}

/* Whether a read-only guard's filter, and so its front, is of the state that the store has. */
static bool is_current(const besom_guard *g) {
  uint64_t number;
  if (!g->read_only) return true;
  return g->seen.filled && g->store->ops->commit_number(g->store, &number) == BESOM_OK &&
         number == g->seen.commit;
}

static void scan_from(struct front *front, uint32_t epoch) {
  front->epoch = epoch;
  front->next_bucket = 0;
}

/* Takes the place of the front that is used up, if there is one. */
static void front_complete(besom_guard *g, struct front *front) {
  front->added = besom__denials_added(g);
  if (load_front(&g->fronts.asked)) retire(g);
  __atomic_store_n(&g->fronts.asked, front, __ATOMIC_RELEASE);
  __atomic_store_n(&g->fronts.making, NULL, __ATOMIC_RELEASE);
}

/* Returns whether all records were read. A scan that fails, or reads another state, begins again:
   what it has inserted may be too much, but nothing is missing at the end. */
static bool scan_some(besom_guard *g, struct front *front) {
  struct front_scan s = {.front = front};
  besom_place from = {.epoch = front->epoch, .bucket = front->next_bucket};
  besom_store *store = g->store;
  if (!is_current(g)) return false;
  besom_status status = store->ops->scan(store, from, scan_record, &s);
  if (status != BESOM_OK || !is_current(g)) {
    scan_from(front, g->current.number);
    return false;
  }
  if (s.ended) return false;
  bool last = !g->next.filter || front->epoch == g->next.number;
  if (!last) scan_from(front, g->next.number);
  return last;
}

void besom__front_advance(besom_guard *g) {
  struct front *front = load_front(&g->fronts.making);
  if (!front) {
    bool refused = __atomic_load_n(&g->fronts.refused, __ATOMIC_RELAXED);
    if (refused || !g->current.filter->kind->store->bucket_of || !is_front_due(g)) return;
    lock_queue(g);
    front_begin(g);
    unlock_queue(g);
    return;
  }
  if (__atomic_exchange_n(&front->busy, true, __ATOMIC_ACQUIRE)) return;
  if (scan_some(g, front))
    front_complete(g, front);
  else
    __atomic_store_n(&front->busy, false, __ATOMIC_RELEASE);
}

void besom__front_migration_begins(besom_guard *g) {
  front_free(g, &g->fronts.making);
}
