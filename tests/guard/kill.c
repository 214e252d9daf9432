/*
 * guard_kill --seed S --amount KILLS [--database lmdb]
 *
 * Kills a guard over a database under load, at random moments. Another process then checks the
 * database: all committed changes of records and of the no list are there, and of the transactions
 * that were running all or nothing. With BESOM_DURABLE_SYNC the contents are those of some moment
 * since the last sync. Database, kind, layout, durability, number of writers and pace of migrations
 * are drawn anew after a few kills.
 *
 * The processes share a page with the expected contents. Each writer has keys of its own. It
 * records each change there before the call, and its success after the call has returned.
 */
#define _DEFAULT_SOURCE 1
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "databases.h"
#include "support/keys.h"
#include "support/part.h"
#include "support/processes.h"
#include "support/temp_files.h"

enum { WRITERS = 4, RECORDS = 200, NO_KEYS = 40, KEYS = RECORDS + NO_KEYS };
enum { BATCH = 12, VALUE_BYTES = 24, MAX_UNSYNCED = 20000, MOST_KILLS = 8 };

typedef struct intent {
  uint32_t key;                  /* from RECORDS on: of the no list, with value 1 if on it */
  bool more;                     /* the next one belongs to the same batch */
  uint64_t old_value, new_value; /* 0: absent */
} intent;

/* What one writer has done. */
typedef struct history {
  uint64_t values[KEYS], synced[KEYS];
  intent pending[BATCH];
  _Atomic uint32_t pending_n;    /* written after the entries, cleared after the values */
  intent unsynced[MAX_UNSYNCED]; /* with SYNC: all changes since the last sync */
  _Atomic uint32_t unsynced_n;
} history;

typedef struct page {
  history of[WRITERS];
  _Atomic uint64_t opened;
  uint64_t migrating, loaded, no_keys; /* what the checker has seen */
  _Atomic uint64_t changes;
} page;

typedef struct trial {
  size_t database;
  const char *kind;
  besom_layout layout;
  besom_durability durability;
  unsigned writers;
  double background;
  uint64_t capacity, step_items, rekey_every;
  uint64_t seed; /* of the next child */
  bool close;    /* the checker closes the guard */
  char directory[512];
  page *page;
} trial;

typedef struct writer {
  trial *t;
  besom_guard *g;
  unsigned number;
  random_stream random;
  history *h;
} writer;

static uint64_t run_seed; /* of the whole run, for messages */

static void check(bool truth, const char *what, besom_status status) {
  if (truth) return;
  fprintf(stderr, "seed %llu: %s (%s)\n", (unsigned long long)run_seed, what,
          besom_strerror(status));
  exit(1);
}

/* ------------------------------------------------------------------ guards */

static bool has_no_list(const trial *t) {
  return !strcmp(t->kind, "aqf");
}

static besom_guard *open_guard(const trial *t) {
  besom_store *store;
  besom_guard *g;
  besom_status status = databases[t->database].open(t->directory, &store);
  check(status == BESOM_OK, "the store does not open", status);
  besom_config filter = {.kind = t->kind, .capacity = t->capacity, .fpr = 0.05};
  besom_guard_config config = {.filter = &filter,
                               .layout = t->layout,
                               .durability = t->durability,
                               .threads = t->writers > 1 || t->background > 0,
                               .background = t->background,
                               .busy_timeout_ms = UINT32_MAX,
                               .step_items = t->step_items};
  status = besom_guard_open(&config, store, &g);
  check(status == BESOM_OK, "the guard does not open", status);
  return g;
}

/* Members and keys of the no list are of different streams. */
static besom_u64_key key_of(unsigned owner, uint32_t key) {
  uint64_t number = (uint64_t)owner * KEYS + key;
  return besom_u64(key < RECORDS ? key_u64(MEMBERS, number) : key_u64(MORE_MEMBERS, number));
}

static size_t make_value(uint64_t number, uint8_t *out) {
  size_t len = 8 + number % (VALUE_BYTES - 8);
  memset(out, (int)(number & 255), len);
  memcpy(out, &number, 8);
  return len;
}

static uint64_t stored_record(besom_guard *g, besom_u64_key key) {
  besom_bytes value;
  uint64_t number = 0;
  uint8_t expected[VALUE_BYTES];
  besom_status status = besom_guard_get(g, key.bytes, 8, &value);
  if (status == BESOM_NOT_FOUND) return 0;
  check(status == BESOM_OK && value.len >= 8, "a key cannot be read", status);
  memcpy(&number, value.data, 8);
  check(value.len == make_value(number, expected) && !memcmp(value.data, expected, value.len),
        "a value is torn", status);
  besom_guard_release(g, &value);
  return number;
}

/* ------------------------------------------------------------------ writers, which are killed */

static besom_status change_record(besom_guard *g, besom_u64_key key, uint64_t number) {
  uint8_t value[VALUE_BYTES];
  if (!number) return besom_guard_delete(g, key.bytes, 8);
  return besom_guard_put(g, key.bytes, 8, value, make_value(number, value), 0);
}

static besom_status change_no_list(besom_guard *g, besom_u64_key key, uint64_t on_it) {
  return on_it ? besom_guard_no_put(g, key.bytes, 8) : besom_guard_no_delete(g, key.bytes, 8);
}

/* A key that does not get onto the no list, because the reserve is full, changes nothing. */
static void change(const writer *w, uint32_t i) {
  intent *in = &w->h->pending[i];
  besom_u64_key key = key_of(w->number, in->key);
  besom_status status = in->key < RECORDS ? change_record(w->g, key, in->new_value)
                                          : change_no_list(w->g, key, in->new_value);
  if (status == BESOM_RESERVE_FULL && in->key >= RECORDS) {
    in->new_value = in->old_value;
    uint32_t first = w->h->unsynced_n - w->h->pending_n;
    if (w->t->durability == BESOM_DURABLE_SYNC) w->h->unsynced[first + i] = *in;
    return;
  }
  check(status == BESOM_OK || (status == BESOM_NOT_FOUND && !in->old_value), "a change fails",
        status);
}

/* One intent in eight is about the no list. Adjacent ones have different keys. */
static void plan(writer *w, uint32_t n) {
  history *h = w->h;
  uint32_t first = (uint32_t)random_below(&w->random, RECORDS);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t key = (first + 7 * i) % RECORDS;
    uint64_t value = random_below(&w->random, 3) ? 1 + random_next(&w->random) % 1000000 : 0;
    if (has_no_list(w->t) && random_below(&w->random, 8) == 0) {
      key = RECORDS + (first + i) % NO_KEYS;
      value = value != 0;
    }
    h->pending[i] = (intent){key, i + 1 < n, h->values[key], value};
  }
  atomic_store(&h->pending_n, n);
}

static void record_done(writer *w) {
  history *h = w->h;
  for (uint32_t i = 0; i < h->pending_n; i++)
    h->values[h->pending[i].key] = h->pending[i].new_value;
  atomic_fetch_add(&w->t->page->changes, h->pending_n);
  atomic_store(&h->pending_n, 0);
}

/* Records the changes before they are made. After a kill they are compared with the store. */
static void record_unsynced(history *h) {
  memcpy(&h->unsynced[h->unsynced_n], h->pending, h->pending_n * sizeof *h->pending);
  atomic_fetch_add(&h->unsynced_n, h->pending_n);
}

static void sync_now_and_then(writer *w) {
  history *h = w->h;
  if (h->unsynced_n + BATCH <= MAX_UNSYNCED && random_below(&w->random, 150)) return;
  besom_status status = besom_guard_sync(w->g);
  check(status == BESOM_OK, "a sync fails", status);
  /* A kill between these two is harmless: the unsynced changes lead to the same values. */
  memcpy(h->synced, h->values, sizeof h->synced);
  atomic_store(&h->unsynced_n, 0);
}

static void write_some(writer *w) {
  bool batch = random_below(&w->random, 30) == 0;
  besom_status status = BESOM_OK;
  plan(w, batch ? BATCH : 1);
  if (w->t->durability == BESOM_DURABLE_SYNC) record_unsynced(w->h);
  if (batch) status = besom_guard_begin(w->g);
  check(status == BESOM_OK, "a batch does not begin", status);
  for (uint32_t i = 0; i < w->h->pending_n; i++) change(w, i);
  if (batch) status = besom_guard_commit(w->g);
  check(status == BESOM_OK, "a batch is not committed", status);
  record_done(w);
  if (w->t->durability == BESOM_DURABLE_SYNC) sync_now_and_then(w);
}

/* Only this writer changes its keys, so it knows what it must see. */
static void read_own_record(writer *w) {
  uint32_t key = (uint32_t)random_below(&w->random, RECORDS);
  check(stored_record(w->g, key_of(w->number, key)) == w->h->values[key],
        "a writer does not see its own change", BESOM_OK);
}

static void *write_for_ever(void *ctx) {
  writer *w = ctx;
  for (uint64_t round = 1;; round++) {
    write_some(w);
    for (unsigned i = 0; i < 3; i++) read_own_record(w);
    besom_guard_get_u64(w->g, key_u64(NEGATIVES, random_below(&w->random, 1000)), NULL);
    if (round % w->t->rekey_every == 0) besom_guard_rekey(w->g);
  }
  return NULL;
}

static void work_until_killed(void *ctx) {
  trial *t = ctx;
  writer writers[WRITERS];
  besom_guard *g = open_guard(t);
  pthread_t thread;
  atomic_store(&t->page->opened, 1);
  for (unsigned i = 0; i < t->writers; i++) {
    writers[i] = (writer){t, g, i, {t->seed + i}, &t->page->of[i]};
    if (i) check(pthread_create(&thread, NULL, write_for_ever, &writers[i]) == 0, "no thread", 0);
  }
  write_for_ever(&writers[0]);
}

/* ------------------------------------------------------------------ the checker */

/* A key on the no list is absent, and costs no read while the reserve has room. */
static uint64_t stored_no_key(besom_guard *g, besom_u64_key key) {
  besom_guard_statistics before, after;
  besom_status status = besom_guard_no_has(g, key.bytes, 8);
  check(status == BESOM_OK || status == BESOM_NOT_FOUND, "the no list cannot be read", status);
  if (status == BESOM_NOT_FOUND) return 0;
  besom_guard_stats(g, &before);
  status = besom_guard_get(g, key.bytes, 8, NULL);
  check(status == BESOM_NOT_FOUND, "a key of the no list is found", status);
  besom_guard_stats(g, &after);
  check(after.store_reads == before.store_reads || before.reserve_used > 0.8,
        "a key of the no list costs a read", BESOM_OK);
  return 1;
}

static uint64_t stored_value(const trial *t, besom_guard *g, unsigned owner, uint32_t key) {
  if (key < RECORDS) return stored_record(g, key_of(owner, key));
  return has_no_list(t) ? stored_no_key(g, key_of(owner, key)) : 0;
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

/* The transaction that was running is there completely or not at all. */
static void check_pending(history *h, const uint64_t is[KEYS]) {
  uint32_t n = h->pending_n, done = 0, undone = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t key = h->pending[i].key;
    done += is[key] == h->pending[i].new_value;
    undone += is[key] == h->pending[i].old_value;
    h->values[key] = is[key];
  }
  check(done == n || undone == n, "half of a transaction is visible", BESOM_OK);
}

/* Finds the moment since the last sync that the contents are of: a prefix of the changes, with
   complete batches. */
static void check_unsynced(history *h, const uint64_t is[KEYS]) {
  uint32_t wrong = 0, i = 0;
  memcpy(h->values, h->synced, sizeof h->values);
  for (uint32_t k = 0; k < KEYS; k++) wrong += h->values[k] != is[k];
  for (; i < h->unsynced_n && (wrong || (i && h->unsynced[i - 1].more)); i++) {
    uint32_t k = h->unsynced[i].key;
    wrong -= h->values[k] != is[k];
    h->values[k] = h->unsynced[i].new_value;
    wrong += h->values[k] != is[k];
  }
  check(!wrong, "the contents are of no moment since the last sync", BESOM_OK);
}

static void check_history(const trial *t, besom_guard *g, unsigned owner, uint64_t is[KEYS]) {
  history *h = &t->page->of[owner];
  for (uint32_t k = 0; k < KEYS; k++) is[k] = stored_value(t, g, owner, k);
  if (t->durability == BESOM_DURABLE_SYNC)
    check_unsynced(h, is);
  else
    check_pending(h, is);
  for (uint32_t k = 0; k < KEYS; k++) {
    if (is[k] == h->values[k]) continue;
    fprintf(stderr, "key %u of writer %u: %llu instead of %llu\n", k, owner,
            (unsigned long long)is[k], (unsigned long long)h->values[k]);
    check(false, "what was committed is lost, or what was deleted is back", BESOM_OK);
  }
  memcpy(h->synced, h->values, sizeof h->synced);
  atomic_store(&h->unsynced_n, 0);
  atomic_store(&h->pending_n, 0);
}

static void check_contents(const trial *t, besom_guard *g) {
  uint64_t members = 0, on_no_list = 0, shown = 0, is[KEYS];
  besom_bytes none = {NULL, 0};
  besom_guard_statistics stats;
  check(besom_guard_stats(g, &stats) == BESOM_OK, "statistics fail", BESOM_OK);
  t->page->migrating += stats.migrating;
  t->page->loaded += !stats.rebuilt;
  for (unsigned i = 0; i < t->writers; i++) {
    check_history(t, g, i, is);
    for (uint32_t k = 0; k < KEYS; k++) *(k < RECORDS ? &members : &on_no_list) += is[k] != 0;
  }
  t->page->no_keys += on_no_list;
  besom_status status = besom_guard_scan(g, none, none, count_one, &shown);
  check(status == BESOM_OK && shown == members, "a scan shows something else", status);
  check(besom_guard_stats(g, &stats) == BESOM_OK && stats.keys == members,
        "the filter has other keys", BESOM_OK);
  check(stats.no_keys == on_no_list, "the no list has other keys", BESOM_OK);
}

/* Leaves a checkpoint, or ends without closing the guard. */
static void check_guard(void *ctx) {
  trial *t = ctx;
  besom_guard *g = open_guard(t);
  check_contents(t, g);
  besom_status status = t->close ? besom_guard_close(g) : BESOM_OK;
  check(status == BESOM_OK, "the guard does not close well", status);
}

/* ------------------------------------------------------------------ the parent, which kills */

/* Cuckoo kinds cannot grow, so they begin large. */
static trial draw_trial(random_stream *random, size_t database, page *p) {
  static const char *const kinds[] = {"aqf",  "aqf",   "aqf", "aqf",  "aqf",
                                      "exaf", "broom", "taf", "utaf", "acf-cyclic"};
  trial t = {.database = database, .page = p};
  t.kind = kinds[random_below(random, sizeof kinds / sizeof *kinds)];
  t.layout = random_below(random, 2) ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED;
  t.durability = (besom_durability)random_below(random, 3);
  t.writers = random_below(random, 2) ? 1 : 2 + (unsigned)random_below(random, WRITERS - 1);
  t.background = random_below(random, 4) == 0 ? 0.5 : 0;
  t.capacity = !strncmp(t.kind, "acf", 3) ? 2 * WRITERS * KEYS : 10u << random_below(random, 6);
  t.step_items = 1 + random_below(random, 30);
  t.rekey_every = 20 + random_below(random, 300);
  return t;
}

static void describe(const trial *t) {
  static const char *const levels[] = {"PUT", "BATCH", "SYNC"};
  fprintf(stderr, "%s, %s, %s, %s, %u writers, capacity %llu, database left in %s\n",
          databases[t->database].name, t->kind, t->layout ? "split" : "merged",
          levels[t->durability], t->writers, (unsigned long long)t->capacity, t->directory);
}

static void kill_one(trial *t, random_stream *random) {
  bool while_opening = random_below(random, 8) == 0;
  t->seed = random_next(random);
  t->close = random_below(random, 2);
  atomic_store(&t->page->opened, 0);
  bool killed = kill_child(work_until_killed, t, while_opening ? NULL : &t->page->opened,
                           random_below(random, while_opening ? 20000 : 60000));
  bool good = killed && run_child(check_guard, t);
  if (!good) describe(t);
  check(good, killed ? "the check failed" : "the writer ended by itself", BESOM_OK);
}

/* Kills one guard some times. Returns how often. */
static uint64_t kill_some(random_stream *random, size_t database, page *p, uint64_t most) {
  temp_dir dir;
  trial t = draw_trial(random, database, p);
  uint64_t kills = 1 + random_below(random, MOST_KILLS);
  if (kills > most) kills = most;
  temp_dir_make(&dir);
  snprintf(t.directory, sizeof t.directory, "%s", temp_dir_file(&dir, "db").text);
  memset(p->of, 0, sizeof p->of);
  for (uint64_t i = 0; i < kills; i++) kill_one(&t, random);
  remove_tree(dir.path);
  return kills;
}

int main(int argc, char **argv) {
  run_seed = part_number(argc, argv, "--seed", 1);
  uint64_t amount = part_number(argc, argv, "--amount", 10), kills = 0;
  const char *only = part_text(argc, argv, "--database", NULL);
  size_t n = sizeof databases / sizeof *databases - 1;
  random_stream random = {run_seed};
  page *p = shared_memory(sizeof *p);
  for (size_t i = 0; kills < amount; i = (i + 1) % n) {
    if (!only || !strcmp(only, databases[i].name))
      kills += kill_some(&random, i, p, amount - kills);
  }
  printf("{\"kills\": %llu, \"changes\": %llu, \"during migrations\": %llu, \"from checkpoints\": "
         "%llu, \"no keys checked\": %llu}\n",
         (unsigned long long)kills, (unsigned long long)p->changes,
         (unsigned long long)p->migrating, (unsigned long long)p->loaded,
         (unsigned long long)p->no_keys);
  return 0;
}
