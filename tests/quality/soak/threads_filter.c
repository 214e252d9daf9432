/*
 * Eight threads change and query one concurrent aqf. Each thread has its own keys and a model of
 * them: members must be answered yes, keys of the no list no, removes must succeed. Meanwhile the
 * filter is saved, merged, resized and rekeyed by any of them. A filter is created as concurrent,
 * or plain, filled and shared, or loaded and shared. At the end of a round all keys are checked
 * again, without threads.
 */
#define _GNU_SOURCE /* pthread_rwlock */
#include <pthread.h>
#include <stdlib.h>

#include "besom_reverse.h"
#include "support/u64_forms.h"
#include "threads.h"

enum { OWN = 3000, STEPS = 20000, MOST_SLOTS = 1 << 17, VALUE_BITS = 5, NO_EPOCH = UINT32_MAX };

typedef struct shared {
  besom_filter *f;
  pthread_rwlock_t changing; /* shared by changes; a rekey has it alone when it begins and ends */
  pthread_mutex_t whole;     /* one resize or rekey at a time */
  atomic_uint epoch;         /* of rekeys: odd while one is under way */
  bool has_values;
  struct owner *owners;
} shared;

typedef struct owner {
  shared *s;
  unsigned number;
  random_stream random;
  uint8_t copies[OWN];
  uint32_t no_epoch[OWN]; /* the epoch in which the key was put on the no list, or NO_EPOCH */
} owner;

static uint64_t key_of(const owner *o, size_t i) {
  return key_u64(MEMBERS, o->number * UINT64_C(1000000) + i);
}

/* ------------------------------------------------------------------ changes of own keys */

/* A task runs. */
static bool is_busy(besom_status status) {
  if (status == BESOM_BUSY) add(&total.failures, 1);
  return status == BESOM_BUSY;
}

static void insert(owner *o, size_t i) {
  if (o->copies[i] == 3) return;
  besom_status status = random_below(&o->random, 8) ? besom_insert_u64(o->s->f, key_of(o, i))
                                                    : insert_count_u64(o->s->f, key_of(o, i), 1);
  if (is_busy(status) || status == BESOM_FULL) return;
  demand(status == BESOM_OK);
  o->copies[i]++;
  o->no_epoch[i] = NO_EPOCH;
  demand(besom_contains_u64(o->s->f, key_of(o, i)));
}

static void take_out(owner *o, size_t i) {
  if (!o->copies[i]) return;
  besom_status status = besom_remove_u64(o->s->f, key_of(o, i));
  if (is_busy(status)) return;
  demand(status == BESOM_OK);
  o->copies[i]--;
}

/* Reports a false positive that no thread ever inserts. */
static void adapt(owner *o) {
  for (int tries = 0; tries < 100; tries++) {
    uint64_t key = key_u64(NEGATIVES, random_below(&o->random, 1000000));
    if (!besom_contains_u64(o->s->f, key)) continue;
    besom_status status = besom_adapt_u64(o->s->f, key);
    demand(status == BESOM_OK || status == BESOM_EVICTED || status == BESOM_RESERVE_FULL ||
           is_busy(status));
    add(&total.adaptations, status == BESOM_OK || status == BESOM_EVICTED);
    return;
  }
}

/* Puts the key on the no list, or takes it from there. */
static void change_no_list(owner *o, size_t i) {
  if (o->copies[i]) return;
  uint32_t epoch = atomic_load(&o->s->epoch);
  besom_status status = o->no_epoch[i] == epoch ? no_remove_u64(o->s->f, key_of(o, i))
                                                : no_add_u64(o->s->f, key_of(o, i));
  if (is_busy(status) || status == BESOM_RESERVE_FULL) return;
  demand(status == BESOM_OK);
  o->no_epoch[i] = o->no_epoch[i] == epoch ? NO_EPOCH : epoch;
}

/* Keys of other threads may share the fingerprint, and with it the value. */
static void use_value(owner *o, size_t i) {
  uint64_t value = 0;
  if (!o->s->has_values || !o->copies[i]) return;
  demand(get_value_u64(o->s->f, key_of(o, i), &value) == BESOM_OK && value < 1 << VALUE_BITS);
  besom_status status = set_value_u64(o->s->f, key_of(o, i), i % (1 << VALUE_BITS));
  demand(status == BESOM_OK || status == BESOM_AMBIGUOUS || is_busy(status));
}

/* Changes end before a rekey begins to read the members, and begin after it. */
static void change(owner *o) {
  size_t i = (size_t)random_below(&o->random, OWN);
  uint64_t dice = random_below(&o->random, 10);
  pthread_rwlock_rdlock(&o->s->changing);
  if (dice < 5)
    insert(o, i);
  else if (dice < 9)
    take_out(o, i);
  else if (random_below(&o->random, 2))
    adapt(o);
  else if (random_below(&o->random, 2))
    use_value(o, i);
  else
    change_no_list(o, i);
  pthread_rwlock_unlock(&o->s->changing);
}

/* ------------------------------------------------------------------ queries */

/* A rekey empties the no list: what was added before it promises nothing. */
static void check_answer(owner *o, size_t i, bool yes) {
  demand(yes || !o->copies[i]);
  if (yes && o->no_epoch[i] != NO_EPOCH && o->no_epoch[i] == atomic_load(&o->s->epoch))
    abort_with("a key of the no list is answered yes", __FILE__, __LINE__);
}

static void query_many(owner *o) {
  enum { KEYS = 64 };
  uint64_t keys[KEYS], bitmap = 0;
  size_t numbers[KEYS];
  for (size_t i = 0; i < KEYS; i++)
    keys[i] = key_of(o, numbers[i] = (size_t)random_below(&o->random, OWN));
  demand(besom_contains_many_u64(o->s->f, keys, KEYS, &bitmap) == BESOM_OK);
  for (size_t i = 0; i < KEYS; i++) check_answer(o, numbers[i], bitmap >> i & 1);
  add(&total.operations, KEYS);
}

static void query(owner *o) {
  size_t i = (size_t)random_below(&o->random, OWN);
  uint64_t n = 0;
  if (random_below(&o->random, 16) == 0) {
    query_many(o);
    return;
  }
  check_answer(o, i, besom_contains_u64(o->s->f, key_of(o, i)));
  if (random_below(&o->random, 4)) return;
  demand(besom_count_u64(o->s->f, key_of(o, i), &n) == BESOM_OK && n >= o->copies[i]);
}

/* ------------------------------------------------------------------ the whole filter */

static besom_status finish(besom_status status, besom_task *task, random_stream *random) {
  for (bool finished = !task; status == BESOM_OK && !finished;) {
    if (random_below(random, 200) == 0) {
      besom_task_cancel(task);
      return BESOM_CANCELLED;
    }
    status = besom_task_step(task, 100 + random_below(random, 3000), &finished);
  }
  return status;
}

static void resize(owner *o) {
  besom_statistics stats;
  besom_task *task = NULL;
  demand(besom_stats(o->s->f, &stats) == BESOM_OK);
  bool grow = stats.slots < MOST_SLOTS && (stats.load_factor > 0.6 || random_below(&o->random, 2));
  if (!grow && stats.slots % 2) return;
  besom_status status = besom_resize(o->s->f, grow ? 2 * stats.slots : stats.slots / 2,
                                     random_below(&o->random, 2) ? &task : NULL);
  status = finish(status, task, &o->random);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_INVALID ||
         status == BESOM_RESERVE_FULL || status == BESOM_CANCELLED);
  if (status == BESOM_OK) add(&total.resizes, 1);
}

typedef struct all_keys {
  const shared *s;
  size_t owner, key, copy;
  besom_u64_key current;
} all_keys;

/* Every copy of the keys of all threads. */
static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  all_keys *a = ctx;
  (void)weight;
  for (; a->owner < THREADS; a->owner++, a->key = 0)
    for (; a->key < OWN; a->key++, a->copy = 0) {
      const owner *o = &a->s->owners[a->owner];
      if (a->copy == o->copies[a->key]) continue;
      a->copy++;
      a->current = besom_u64(key_of(o, a->key));
      *key = (besom_bytes){a->current.bytes, sizeof a->current.bytes};
      return BESOM_OK;
    }
  return BESOM_END;
}

/*
 * The task begins alone, so that the models have what the filter has. From then on changes are
 * BUSY, and the models stay as they are.
 */
static void rekey(owner *o) {
  shared *s = o->s;
  all_keys all = {.s = s};
  besom_source yes = {.next = next_key, .ctx = &all};
  uint8_t seed[16];
  besom_task *task = NULL;
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&o->random);
  pthread_rwlock_wrlock(&s->changing);
  atomic_fetch_add(&s->epoch, 1);
  besom_status status = besom_rekey(s->f, &yes, NULL, seed, &task);
  pthread_rwlock_unlock(&s->changing);
  status = finish(status, task, &o->random);
  pthread_rwlock_wrlock(&s->changing);
  atomic_fetch_add(&s->epoch, 1);
  pthread_rwlock_unlock(&s->changing);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_CANCELLED);
  if (status == BESOM_OK) add(&total.rekeys, 1);
}

static void save(owner *o) {
  besom_free(saved_copy(o->s->f));
  add(&total.saves, 1);
}

static void merge(owner *o) {
  besom_filter *other = NULL, *both = NULL;
  demand(besom_create_like(o->s->f, &other) == BESOM_OK);
  (void)besom_insert_u64(other, 1);
  besom_status status = besom_merge(o->s->f, other, &both);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_RESERVE_FULL ||
         status == BESOM_INCOMPATIBLE); /* resized or rekeyed meanwhile */
  besom_free(both);
  besom_free(other);
  add(&total.merges, 1);
}

static void change_all(owner *o) {
  uint64_t choice = random_below(&o->random, 8);
  if (choice == 0) {
    save(o);
  } else if (choice == 1) {
    merge(o);
  } else if (choice == 2) {
    demand(besom_validate(o->s->f, NULL) == BESOM_OK);
  } else {
    pthread_mutex_lock(&o->s->whole);
    if (choice < 6)
      resize(o);
    else
      rekey(o);
    pthread_mutex_unlock(&o->s->whole);
  }
}

static void *work(void *of) {
  owner *o = of;
  for (size_t i = 0; i < STEPS; i++) {
    if (random_below(&o->random, 2))
      query(o);
    else
      change(o);
    if (random_below(&o->random, 1500) == 0) change_all(o);
  }
  add(&total.operations, STEPS);
  return NULL;
}

/* ------------------------------------------------------------------ a round */

static void replace_by_copy(shared *s) {
  besom_filter *copy = saved_copy(s->f);
  besom_free(s->f);
  s->f = copy;
}

/* With some of the keys of the owners, if it is shared later. */
static void open_filter(shared *s, random_stream *random) {
  static const char *const options[] = {NULL, NULL, "tombstones=yes", "exceptions=full",
                                        "forget=yes"};
  uint8_t seed[16];
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(random);
  uint64_t how = random_below(random, 3);
  s->has_values = chance(random, 3);
  besom_config config = {.kind = "aqf",
                         .seed = seed,
                         .slots = UINT64_C(9000) << random_below(random, 3),
                         .width = (uint32_t)(6 + random_below(random, 8)),
                         .reserve = (double)(1 + random_below(random, 30)) / 100,
                         .no_capacity = 3000,
                         .value_bits = s->has_values ? VALUE_BITS : 0,
                         .options = options[random_below(random, 5)],
                         .flags = how ? 0 : BESOM_CONCURRENT};
  demand(besom_create(&config, &s->f) == BESOM_OK);
  if (!how) return;
  for (size_t n = 0; n < 4000; n++) {
    owner *o = &s->owners[n % THREADS];
    size_t i = n / THREADS;
    demand(besom_insert_u64(s->f, key_of(o, i)) == BESOM_OK);
    o->copies[i]++;
  }
  if (how == 2) replace_by_copy(s);
  demand(besom_share(s->f) == BESOM_OK);
}

static void check_round(const shared *s) {
  uint64_t keys = 0;
  besom_statistics stats;
  demand(besom_validate(s->f, NULL) == BESOM_OK);
  for (unsigned t = 0; t < THREADS; t++)
    for (size_t i = 0; i < OWN; i++) {
      check_answer(&s->owners[t], i, besom_contains_u64(s->f, key_of(&s->owners[t], i)));
      keys += s->owners[t].copies[i];
    }
  demand(besom_stats(s->f, &stats) == BESOM_OK && stats.keys == keys);
}

void filter_round(uint64_t seed) {
  shared s = {.changing = PTHREAD_RWLOCK_INITIALIZER, .whole = PTHREAD_MUTEX_INITIALIZER};
  random_stream random = {mix64(seed)};
  s.owners = heap_array(THREADS, sizeof *s.owners);
  for (unsigned t = 0; t < THREADS; t++) {
    s.owners[t] = (owner){.s = &s, .number = t, .random = {mix64(seed) + mix64(t + 1)}};
    for (size_t i = 0; i < OWN; i++) s.owners[t].no_epoch[i] = NO_EPOCH;
  }
  open_filter(&s, &random);
  run_threads(work, s.owners, sizeof *s.owners);
  check_round(&s);
  besom_free(s.f);
  free(s.owners);
}
