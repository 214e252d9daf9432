/*
 * Eight threads put, get, delete and scan in one guard, while it grows, rekeys, migrates and is
 * synced by any of them, and by its background thread. Each thread has its own records and a model
 * of them, and must see exactly these; records of other threads must be well-formed. In some rounds
 * writes of the store or allocations fail: a call that fails has changed nothing. At the end the
 * guard is closed and, if its database is still there, opened again.
 */
#define _GNU_SOURCE /* threads, usleep */
#include <string.h>
#include <unistd.h>

#include "besom_store.h"
#include "store/array_db.h"
#include "threads.h"

enum { OWN = 200, STEPS = 1500, MANY = 24, MOST_VALUE = 48 };

typedef struct shared {
  besom_guard *g;
  besom_config filter;
  besom_guard_config config;
  uint8_t seed[16];
  size_t keys;      /* of each thread that are used. With few of them migrations end soon */
  bool ordered;     /* over `database`, else over a store in memory */
  bool may_be_full; /* the filter cannot grow, or not as far as needed */
  bool has_no_list;
  array_db database;
  struct owner *owners;
} shared;

typedef struct owner {
  shared *s;
  unsigned number;
  random_stream random;
  uint32_t versions[OWN], before[OWN]; /* of the values; 0: absent. before: the batch */
  bool listed[OWN], listed_before[OWN];
  bool seen[OWN]; /* by a scan */
} owner;

static besom_u64_key key_of(unsigned number, size_t i) {
  return besom_u64(key_u64(MEMBERS, number * UINT64_C(1000000) + i));
}

/* ------------------------------------------------------------------ faults */

/* Of the store and the allocator of the guard. There is one at a time. */
static struct {
  const besom_store_ops *real;
  besom_store_ops ops;
  atomic_uint writes, allocations;
  atomic_bool disk_full, slow, no_memory;
} faults;

static besom_status append_or_fail(besom_store *store, besom_place at, const besom_record *record) {
  bool fails = faults.disk_full && ++faults.writes % 60 == 0;
  return fails ? BESOM_DISK_FULL : faults.real->append(store, at, record);
}

/* A guard commits without the lock of its readers: a slow disk gives them time. */
static besom_status commit_or_fail(besom_store *store, bool durable) {
  if (faults.slow) usleep(100);
  bool fails = faults.disk_full && ++faults.writes % 20 == 0;
  return fails ? BESOM_DISK_FULL : faults.real->commit(store, durable);
}

static void *allocate_or_fail(void *ctx, size_t size) {
  (void)ctx;
  return faults.no_memory && ++faults.allocations % 50 == 0 ? NULL : calloc(1, size);
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx, (void)size;
  free(memory);
}

static const besom_allocator allocator = {.allocate = allocate_or_fail, .release = release};

/* Whether a call has failed on purpose. Then it has changed nothing. */
static bool has_failed(besom_status status) {
  bool failed = (faults.disk_full && status == BESOM_DISK_FULL) ||
                (faults.no_memory && status == BESOM_NO_MEMORY);
  add(&total.failures, failed);
  return failed;
}

/* The same for a query. If even a rollback has failed, readers get IO until a writer repeats it. */
static bool read_has_failed(besom_status status) {
  bool stale = (faults.disk_full || faults.no_memory) && status == BESOM_IO;
  add(&total.failures, stale);
  return stale || has_failed(status);
}

static void open_guard(shared *s) {
  besom_store *store = NULL;
  if (s->ordered)
    demand(besom_store_ordered(&array_ops, &s->database, &allocator, &store) == BESOM_OK);
  else
    demand(besom_store_memory(&allocator, &store) == BESOM_OK);
  faults.real = store->ops;
  faults.ops = *store->ops;
  faults.ops.append = append_or_fail;
  faults.ops.commit = commit_or_fail;
  store->ops = &faults.ops;
  demand(besom_guard_open(&s->config, store, &s->g) == BESOM_OK);
}

/* ------------------------------------------------------------------ values */

/* Owner, key and version, and some bytes more. */
static size_t make_value(unsigned number, size_t i, uint32_t version, uint8_t *out) {
  uint32_t head[] = {number, (uint32_t)i, version};
  size_t len = sizeof head + version % (MOST_VALUE - sizeof head);
  memset(out, (int)(version & 255), len);
  memcpy(out, head, sizeof head);
  return len;
}

/* Checks that this may be the record of somebody; returns whether it is one of o's, number *i. */
static bool read_value(const owner *o, besom_bytes key, besom_bytes value, size_t *i,
                       uint32_t *version) {
  uint32_t head[3];
  uint8_t expected[MOST_VALUE];
  demand(value.len >= sizeof head && key.len == 8);
  memcpy(head, value.data, sizeof head);
  demand(head[0] < THREADS && head[1] < OWN && head[2]);
  demand(!memcmp(key.data, key_of(head[0], head[1]).bytes, 8));
  demand(value.len == make_value(head[0], head[1], head[2], expected));
  demand(!memcmp(value.data, expected, value.len));
  *i = head[1];
  *version = head[2];
  return head[0] == o->number;
}

/* ------------------------------------------------------------------ changes of own records */

static void put(owner *o, size_t i) {
  uint8_t value[MOST_VALUE];
  uint32_t version = 1 + (uint32_t)random_below(&o->random, 1000000);
  size_t len = make_value(o->number, i, version, value);
  besom_status status = besom_guard_put(o->s->g, key_of(o->number, i).bytes, 8, value, len, 0);
  if (has_failed(status) || (status == BESOM_FULL && o->s->may_be_full)) return;
  demand(status == (o->listed[i] ? BESOM_IS_MEMBER : BESOM_OK));
  if (status == BESOM_OK) o->versions[i] = version;
}

static void take_out(owner *o, size_t i) {
  besom_status status = besom_guard_delete(o->s->g, key_of(o->number, i).bytes, 8);
  if (has_failed(status)) return;
  demand(status == (o->versions[i] ? BESOM_OK : BESOM_NOT_FOUND));
  o->versions[i] = 0;
}

static void check_no_list(owner *o, size_t i) {
  besom_status status = besom_guard_no_has(o->s->g, key_of(o->number, i).bytes, 8);
  demand(read_has_failed(status) || status == (o->listed[i] ? BESOM_OK : BESOM_NOT_FOUND));
}

static void change_no_list(owner *o, size_t i) {
  besom_u64_key key = key_of(o->number, i);
  bool leave = o->listed[i] && random_below(&o->random, 4);
  besom_status status = leave ? besom_guard_no_delete(o->s->g, key.bytes, 8)
                              : besom_guard_no_put(o->s->g, key.bytes, 8);
  if (has_failed(status) || (!leave && status == BESOM_RESERVE_FULL)) return;
  demand(status == (o->versions[i] ? BESOM_IS_MEMBER : BESOM_OK));
  if (status == BESOM_OK) o->listed[i] = !leave;
  check_no_list(o, i);
}

static void change(owner *o) {
  size_t i = (size_t)random_below(&o->random, o->s->keys);
  uint64_t dice = random_below(&o->random, 20);
  if (dice == 0 && o->s->has_no_list)
    change_no_list(o, i);
  else if (dice < 13)
    put(o, i);
  else
    take_out(o, i);
}

/* Outside of a batch: all of them or none. */
static void put_many(owner *o) {
  uint8_t values[MANY][MOST_VALUE];
  uint64_t keys[MANY];
  uint32_t versions[MANY];
  besom_bytes k[MANY], v[MANY];
  size_t numbers[MANY], n = 0;
  for (size_t at = 0; at < MANY; at++) {
    size_t i = numbers[n] = (size_t)random_below(&o->random, o->s->keys);
    if (o->listed[i]) continue;
    versions[n] = 1 + (uint32_t)random_below(&o->random, 1000000);
    memcpy(&keys[n], key_of(o->number, i).bytes, 8);
    k[n] = (besom_bytes){&keys[n], 8};
    v[n] = (besom_bytes){values[n], make_value(o->number, i, versions[n], values[n])};
    n++;
  }
  besom_status status = besom_guard_put_many(o->s->g, k, v, n, 0);
  if (has_failed(status) || (status == BESOM_FULL && o->s->may_be_full)) return;
  demand(status == BESOM_OK);
  for (size_t at = 0; at < n; at++) o->versions[numbers[at]] = versions[at];
}

/* ------------------------------------------------------------------ queries */

static void get(owner *o, unsigned of, size_t i) {
  besom_u64_key key = key_of(of, i);
  besom_bytes value;
  size_t at = 0;
  uint32_t version = 0;
  besom_status status = besom_guard_get(o->s->g, key.bytes, 8, &value);
  if (read_has_failed(status)) return;
  demand(status == BESOM_OK || status == BESOM_NOT_FOUND);
  if (status == BESOM_OK) {
    (void)read_value(o, (besom_bytes){key.bytes, 8}, value, &at, &version);
    demand(at == i);
  }
  demand(of != o->number || version == o->versions[i]);
  besom_guard_release(o->s->g, &value);
}

/* Own records and absent keys in turn. */
static void get_many(owner *o) {
  uint64_t keys[MANY], found = 0;
  besom_bytes k[MANY], values[MANY];
  size_t numbers[MANY], at = 0;
  uint32_t version = 0;
  for (size_t n = 0; n < MANY; n++) {
    numbers[n] = (size_t)random_below(&o->random, o->s->keys);
    keys[n] = little_endian(key_u64(NEGATIVES, random_below(&o->random, 100000)));
    if (n % 2) memcpy(&keys[n], key_of(o->number, numbers[n]).bytes, 8);
    k[n] = (besom_bytes){&keys[n], 8};
  }
  besom_status status = besom_guard_get_many(o->s->g, k, MANY, values, &found);
  if (read_has_failed(status)) return;
  demand(status == BESOM_OK);
  for (size_t n = 0; n < MANY; n++) {
    bool there = n % 2 && o->versions[numbers[n]];
    demand((found >> n & 1) == there);
    if (there) demand(read_value(o, k[n], values[n], &at, &version) && version == o->versions[at]);
    besom_guard_release(o->s->g, &values[n]);
  }
}

static void query(owner *o) {
  size_t i = (size_t)random_below(&o->random, o->s->keys);
  uint64_t dice = random_below(&o->random, 16);
  if (dice == 0) {
    get_many(o);
  } else if (dice == 1 && o->s->has_no_list) {
    check_no_list(o, i);
  } else if (dice < 8) {
    get(o, o->number, i);
  } else if (dice < 10) {
    get(o, (unsigned)random_below(&o->random, THREADS), i);
  } else {
    uint64_t key = key_u64(NEGATIVES, random_below(&o->random, dice < 13 ? 50 : 100000));
    besom_status status = besom_guard_get_u64(o->s->g, key, NULL);
    demand(status == BESOM_NOT_FOUND || read_has_failed(status));
  }
}

/* ------------------------------------------------------------------ scans */

/* Each of the own records is shown once, as it is. */
static besom_status see(void *ctx, besom_bytes key, besom_bytes value) {
  owner *o = ctx;
  size_t i = 0;
  uint32_t version = 0;
  if (!read_value(o, key, value, &i, &version)) return BESOM_OK;
  demand(version == o->versions[i] && !o->seen[i]);
  o->seen[i] = true;
  return BESOM_OK;
}

static void scan(owner *o) {
  besom_bytes none = {NULL, 0};
  memset(o->seen, 0, sizeof o->seen);
  besom_status status = besom_guard_scan(o->s->g, none, none, see, o);
  if (read_has_failed(status)) return;
  demand(status == BESOM_OK);
  for (size_t i = 0; i < OWN; i++) demand(o->seen[i] == (o->versions[i] != 0));
}

/* A snapshot: what is changed while the iterator is open is not shown. */
static void iterate(owner *o) {
  besom_bytes none = {NULL, 0}, key, value;
  besom_iterator *it = NULL;
  besom_status status = besom_guard_iterate(o->s->g, none, none, &it);
  if (status == BESOM_UNSUPPORTED || read_has_failed(status)) return;
  demand(status == BESOM_OK);
  uint32_t now[OWN];
  bool exact = o->s->config.durability != BESOM_DURABLE_SYNC;
  memcpy(now, o->versions, sizeof now);
  memset(o->seen, 0, sizeof o->seen);
  while ((status = besom_iterator_next(it, &key, &value)) == BESOM_OK) {
    size_t i = 0;
    uint32_t version = 0;
    if (!read_value(o, key, value, &i, &version)) continue;
    demand(!o->seen[i] && (!exact || version == now[i]));
    o->seen[i] = true;
    if (chance(&o->random, 4)) change(o);
  }
  bool complete = !read_has_failed(status);
  demand(!complete || status == BESOM_END);
  besom_iterator_close(it);
  for (size_t i = 0; i < OWN && exact && complete; i++) demand(o->seen[i] == (now[i] != 0));
}

/* ------------------------------------------------------------------ the whole guard */

static void change_batch(owner *o) {
  besom_status status = besom_guard_begin(o->s->g);
  if (has_failed(status)) return;
  demand(status == BESOM_OK);
  memcpy(o->before, o->versions, sizeof o->before);
  memcpy(o->listed_before, o->listed, sizeof o->listed);
  for (uint64_t n = 1 + random_below(&o->random, 30); n; n--) {
    change(o);
    query(o);
  }
  if (chance(&o->random, 4)) scan(o);
  bool keep = random_below(&o->random, 3);
  status = keep ? besom_guard_commit(o->s->g) : besom_guard_abort(o->s->g);
  bool failed = has_failed(status);
  demand(failed || status == BESOM_OK);
  add(&total.batches, 1);
  if (keep && !failed) return;
  memcpy(o->versions, o->before, sizeof o->before);
  memcpy(o->listed, o->listed_before, sizeof o->listed);
}

/* From another guard, with the seed that the filter had before its first migration. */
static void merge(owner *o) {
  shared *s = o->s;
  besom_store *store = NULL;
  besom_guard *from = NULL;
  besom_config filter = s->filter;
  filter.allocator = NULL;
  besom_guard_config config = {.filter = &filter, .layout = s->config.layout};
  demand(besom_store_memory(NULL, &store) == BESOM_OK);
  demand(besom_guard_open(&config, store, &from) == BESOM_OK);
  uint8_t value[MOST_VALUE];
  size_t first = (size_t)random_below(&o->random, s->keys - 5);
  for (size_t i = first; i < first + 5; i++) {
    size_t len = make_value(o->number, i, 77, value);
    demand(besom_guard_put(from, key_of(o->number, i).bytes, 8, value, len, 0) == BESOM_OK);
  }
  besom_status status = besom_guard_merge(s->g, from);
  demand(besom_guard_close(from) == BESOM_OK);
  if (has_failed(status)) return;
  demand(status == BESOM_OK || status == BESOM_INCOMPATIBLE || status == BESOM_BUSY ||
         status == BESOM_UNSUPPORTED || status == BESOM_FULL || status == BESOM_RESERVE_FULL);
  if (status != BESOM_OK) return;
  for (size_t i = first; i < first + 5; i++)
    if (!o->versions[i]) o->versions[i] = 77;
  add(&total.merges, 1);
}

static void look_at_statistics(const shared *s) {
  besom_guard_statistics stats;
  besom_offender offenders[BESOM_OFFENDERS];
  size_t n = 0;
  demand(besom_guard_stats(s->g, &stats) == BESOM_OK && stats.keys <= THREADS * OWN);
  demand(besom_guard_offenders(s->g, offenders, BESOM_OFFENDERS, &n) == BESOM_OK);
}

static void sync_guard(const shared *s) {
  besom_status status = besom_guard_sync(s->g);
  demand(status == BESOM_OK || has_failed(status));
}

static void change_all(owner *o) {
  besom_status status;
  switch (random_below(&o->random, 12)) {
  case 0:
  case 1:
    status = besom_guard_rekey(o->s->g);
    demand(status == BESOM_OK || status == BESOM_BUSY || status == BESOM_UNSUPPORTED ||
           status == BESOM_NO_MEMORY || has_failed(status));
    break;
  case 2:
  case 3:
    status = besom_guard_step(o->s->g, 1 + random_below(&o->random, 200), NULL);
    demand(status == BESOM_OK || has_failed(status));
    break;
  case 4:
    sync_guard(o->s);
    break;
  case 5:
    look_at_statistics(o->s);
    break;
  case 6:
    scan(o);
    break;
  case 7:
    iterate(o);
    break;
  case 8:
    merge(o);
    break;
  case 9:
    put_many(o);
    break;
  default:
    change_batch(o);
  }
}

static void *work(void *of) {
  owner *o = of;
  for (size_t i = 0; i < STEPS; i++) {
    if (random_below(&o->random, 3))
      query(o);
    else
      change(o);
    if (chance(&o->random, 25)) change_all(o);
  }
  add(&total.operations, STEPS);
  return NULL;
}

/* ------------------------------------------------------------------ a round */

/* Cuckoo kinds and broom cannot grow, so they begin large. */
static void draw_guard(shared *s, random_stream *random) {
  static const char *const kinds[] = {"aqf",        "aqf",          "aqf",          "aqf",
                                      "exaf",       "taf",          "utaf",         "broom",
                                      "acf-cyclic", "acf-swapping", "acf-cuckooing"};
  for (size_t i = 0; i < sizeof s->seed; i++) s->seed[i] = (uint8_t)random_next(random);
  const char *kind = kinds[random_below(random, sizeof kinds / sizeof *kinds)];
  bool grows = strncmp(kind, "acf", 3) && strcmp(kind, "broom");
  s->has_no_list = !strcmp(kind, "aqf") && random_below(random, 4);
  s->filter = (besom_config){.kind = kind, .seed = s->seed, .fpr = 0.05, .allocator = &allocator};
  s->filter.capacity = grows ? UINT64_C(20) << random_below(random, 8) : 2 * THREADS * OWN;
  s->config = (besom_guard_config){.filter = &s->filter,
                                   .adapt = chance(random, 4) ? BESOM_ADAPT_SECOND : 0,
                                   .layout = (besom_layout)random_below(random, 2),
                                   .durability = (besom_durability)random_below(random, 3),
                                   .threads = true,
                                   .step_items = 1 + random_below(random, 60),
                                   .step_ns = chance(random, 4) ? 1 : UINT64_MAX,
                                   .max_filter_bytes = chance(random, 8) ? 8192 : 0,
                                   .background = (double)random_below(random, 3) / 2,
                                   .busy_timeout_ms = UINT32_MAX,
                                   .read_uncommitted = chance(random, 6)};
  s->may_be_full = !grows || s->config.max_filter_bytes;
  s->ordered = random_below(random, 2);
  s->keys = chance(random, 2) ? 8 + random_below(random, 24) : OWN;
}

static void draw_faults(random_stream *random) {
  faults.disk_full = chance(random, 4);
  faults.slow = chance(random, 3);
  faults.no_memory = chance(random, 4);
}

/* Statistics are of this opening of the guard. */
static void check_guard(const shared *s) {
  besom_guard_statistics stats;
  uint64_t keys = 0, listed = 0;
  for (unsigned t = 0; t < THREADS; t++) {
    owner *o = &s->owners[t];
    for (size_t i = 0; i < OWN; i++) {
      get(o, t, i);
      keys += o->versions[i] != 0;
      listed += o->listed[i];
    }
    scan(o);
  }
  demand(besom_guard_stats(s->g, &stats) == BESOM_OK);
  demand(stats.keys == keys && stats.no_keys == listed);
  add(&total.adaptations, stats.adapted);
  add(&total.resizes, stats.growths);
  add(&total.rekeys, stats.rekeys);
}

/* Deletes all: if a rank were wrong, a delete would remove the fingerprint of another record. */
static void empty_guard(shared *s) {
  besom_guard_statistics stats;
  for (unsigned t = 0; t < THREADS; t++)
    for (size_t i = 0; i < OWN; i++) take_out(&s->owners[t], i);
  demand(besom_guard_stats(s->g, &stats) == BESOM_OK && stats.keys == 0);
}

static void end_round(shared *s) {
  faults.disk_full = faults.no_memory = false;
  sync_guard(s);
  check_guard(s);
  if (s->ordered) {
    demand(besom_guard_close(s->g) == BESOM_OK);
    open_guard(s);
    check_guard(s);
    add(&total.saves, 1);
  }
  empty_guard(s);
  demand(besom_guard_close(s->g) == BESOM_OK);
  if (!s->ordered) return;
  demand_no_error(s->database.mistake);
  array_db_free(&s->database);
}

void guard_round(uint64_t seed) {
  shared s = {.g = NULL};
  random_stream random = {mix64(seed)};
  s.owners = heap_array(THREADS, sizeof *s.owners);
  for (unsigned t = 0; t < THREADS; t++)
    s.owners[t] = (owner){.s = &s, .number = t, .random = {mix64(seed) + mix64(t + 1)}};
  draw_guard(&s, &random);
  if (s.ordered) array_db_init(&s.database);
  open_guard(&s);
  draw_faults(&random);
  run_threads(work, s.owners, sizeof *s.owners);
  end_round(&s);
  free(s.owners);
}
