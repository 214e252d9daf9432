/*
 * Eight threads change and query one concurrent aqf that is bound to a store, by the calls with a
 * match: insert_at, remove_at, adapt_at. The store has a list per bucket. Every key belongs to the
 * thread that its bucket belongs to, so that each thread knows the ranks in its buckets, while runs
 * and blocks of the table are shared. Meanwhile the filter is resized, saved and merged.
 */
#define _GNU_SOURCE /* threads */
#include <pthread.h>
#include <string.h>

#include "besom_reverse.h"
#include "bucket_lists.h"
#include "support/u64_forms.h"
#include "threads.h"

enum { KEYS = 12000, STEPS = 20000, MOST_SLOTS = 1 << 17, MOST_MATCHES = 512 };

/* A key, and what the model says of it. */
typedef struct item {
  uint64_t key, bucket;
  besom_digest digest;
  uint32_t value;
  bool member;
  bool fixed; /* reported since a key of its bucket was last inserted */
} item;

typedef struct shared {
  besom_filter *f;
  pthread_mutex_t whole; /* one resize at a time */
  uint32_t value_bits;
  struct owner *owners;
} shared;

typedef struct owner {
  shared *s;
  random_stream random;
  item *items; /* by bucket */
  size_t n;
  bucket_lists store; /* numbers of items */
} owner;

static owner *owner_of(const shared *s, uint64_t bucket) {
  return &s->owners[bucket % THREADS];
}

/* Called by the thread that has the bucket. */
static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  const owner *o = owner_of(ctx, match->bucket);
  uint32_t i = 0;
  (void)f;
  demand(bucket_get(&o->store, match->bucket, match->rank, &i));
  *digest = o->items[i].digest;
  return BESOM_OK;
}

static bool is_busy(besom_status status) {
  add(&total.failures, status == BESOM_BUSY);
  return status == BESOM_BUSY;
}

/* ------------------------------------------------------------------ matches */

/* Every match has a record. Returns their number; *own is the match of the item itself, or NULL. */
static size_t find_matches(const owner *o, size_t i, besom_match *all, const besom_match **own) {
  size_t total_matches = 0;
  *own = NULL;
  demand(besom_matches(o->s->f, o->items[i].digest, all, MOST_MATCHES, &total_matches) == BESOM_OK);
  demand(total_matches <= MOST_MATCHES);
  for (size_t m = 0; m < total_matches; m++) {
    uint32_t number = 0;
    demand(all[m].bucket == o->items[i].bucket);
    demand(bucket_get(&o->store, all[m].bucket, all[m].rank, &number));
    if (number == i) *own = &all[m];
  }
  demand(!o->items[i].member || *own);
  return total_matches;
}

/* A key of the same bucket is inserted: reports of its other keys may be undone. */
static void unfix_bucket(owner *o, size_t i) {
  uint64_t bucket = o->items[i].bucket;
  for (size_t k = i; k < o->n && o->items[k].bucket == bucket; k++) o->items[k].fixed = false;
  for (size_t k = i; k-- > 0 && o->items[k].bucket == bucket;) o->items[k].fixed = false;
}

static void query(owner *o, size_t i) {
  const item *it = &o->items[i];
  bool yes = besom_contains_digest(o->s->f, it->digest);
  demand(yes || !it->member);
  demand(!yes || !it->fixed);
}

/* ------------------------------------------------------------------ changes */

static void insert(owner *o, size_t i) {
  item *it = &o->items[i];
  besom_match at;
  uint32_t value = (uint32_t)random_below(&o->random, (uint64_t)1 << o->s->value_bits);
  besom_status status = besom_insert_at(o->s->f, it->digest, value, &at);
  if (is_busy(status) || status == BESOM_FULL) return;
  demand(status == BESOM_OK && at.bucket == it->bucket);
  demand(bucket_append(&o->store, at.bucket, (uint32_t)i) == at.rank);
  unfix_bucket(o, i);
  it->member = true;
  it->value = value;
}

static void take_out(owner *o, size_t i) {
  besom_match all[MOST_MATCHES];
  const besom_match *own = NULL;
  uint32_t number = 0;
  (void)find_matches(o, i, all, &own);
  besom_status status = besom_remove_at(o->s->f, own);
  if (is_busy(status)) return;
  demand(status == BESOM_OK);
  demand(bucket_take(&o->store, own->bucket, own->rank, &number) && number == i);
  o->items[i].member = false;
}

/* Reports the key to each fingerprint that it matches. Returns false if one was not extended. */
static bool adapt_each(owner *o, size_t i) {
  besom_match all[MOST_MATCHES];
  const besom_match *own;
  size_t n = find_matches(o, i, all, &own);
  for (size_t m = 0; m < n; m++) {
    besom_digest stored;
    demand(digest_of(o->s, o->s->f, &all[m], &stored) == BESOM_OK);
    besom_status status = besom_adapt_at(o->s->f, o->items[i].digest, &all[m], stored);
    if (is_busy(status) || status == BESOM_RESERVE_FULL) return false;
    demand(status == BESOM_OK);
  }
  return true;
}

static bool adapt_at_once(owner *o, size_t i) {
  besom_status status = besom_adapt_digest(o->s->f, o->items[i].digest);
  if (is_busy(status) || status == BESOM_RESERVE_FULL) return false;
  demand(status == BESOM_OK);
  return true;
}

static void adapt(owner *o, size_t i) {
  if (!besom_contains_digest(o->s->f, o->items[i].digest)) return;
  if (!(random_below(&o->random, 2) ? adapt_each(o, i) : adapt_at_once(o, i))) return;
  o->items[i].fixed = true;
  query(o, i);
  add(&total.adaptations, 1);
}

/* The value is that of the first match. It can be set if there is one match. */
static void use_value(owner *o, size_t i) {
  besom_match all[MOST_MATCHES];
  const besom_match *own;
  item *it = &o->items[i];
  uint64_t value = 0;
  uint32_t first = 0;
  size_t n = find_matches(o, i, all, &own);
  besom_status status = get_value_u64(o->s->f, it->key, &value);
  demand(status == (n ? BESOM_OK : BESOM_NOT_FOUND));
  if (n) demand(bucket_get(&o->store, all[0].bucket, all[0].rank, &first));
  demand(!n || value == o->items[first].value);
  if (!it->member) return;
  uint64_t fresh = random_below(&o->random, (uint64_t)1 << o->s->value_bits);
  status = set_value_u64(o->s->f, it->key, fresh);
  if (is_busy(status)) return;
  demand(status == (n == 1 ? BESOM_OK : BESOM_AMBIGUOUS));
  if (n == 1) it->value = (uint32_t)fresh;
}

static void change(owner *o) {
  size_t i = (size_t)random_below(&o->random, o->n);
  uint64_t dice = random_below(&o->random, 10);
  if (o->s->value_bits && dice == 0)
    use_value(o, i);
  else if (o->items[i].member && dice < 5)
    take_out(o, i);
  else if (!o->items[i].member)
    dice < 7 ? adapt(o, i) : insert(o, i);
}

/* ------------------------------------------------------------------ the whole filter */

static void resize(owner *o) {
  besom_statistics stats;
  besom_task *task = NULL;
  pthread_mutex_lock(&o->s->whole);
  demand(besom_stats(o->s->f, &stats) == BESOM_OK);
  bool grow = stats.slots < MOST_SLOTS && (stats.load_factor > 0.6 || random_below(&o->random, 2));
  besom_status status = besom_resize(o->s->f, grow ? 2 * stats.slots : stats.slots / 2,
                                     random_below(&o->random, 2) ? &task : NULL);
  bool finished = !task;
  while (status == BESOM_OK && !finished)
    status = besom_task_step(task, 100 + random_below(&o->random, 3000), &finished);
  pthread_mutex_unlock(&o->s->whole);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_INVALID ||
         status == BESOM_RESERVE_FULL);
  add(&total.resizes, status == BESOM_OK);
}

/* What this thread has in the filter is in the copy. */
static void check_copy(const owner *o, const besom_filter *copy) {
  for (size_t i = 0; i < o->n; i++) {
    bool yes = besom_contains_digest(copy, o->items[i].digest);
    demand(yes || !o->items[i].member);
    demand(!yes || !o->items[i].fixed);
  }
}

static void save(owner *o) {
  besom_filter *copy = saved_copy(o->s->f);
  check_copy(o, copy);
  besom_free(copy);
  add(&total.saves, 1);
}

/* With an empty filter: the result is a copy. */
static void merge(owner *o) {
  besom_filter *other = NULL, *both = NULL;
  demand(besom_create_like(o->s->f, &other) == BESOM_OK);
  besom_status status = besom_merge(o->s->f, other, &both);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_RESERVE_FULL ||
         status == BESOM_INCOMPATIBLE); /* resized meanwhile */
  if (status == BESOM_OK) check_copy(o, both);
  besom_free(both);
  besom_free(other);
  add(&total.merges, 1);
}

static void change_all(owner *o) {
  uint64_t choice = random_below(&o->random, 8);
  if (choice == 0)
    save(o);
  else if (choice == 1)
    merge(o);
  else if (choice == 2)
    demand(besom_validate(o->s->f, NULL) == BESOM_OK);
  else
    resize(o);
}

static void *work(void *of) {
  owner *o = of;
  for (size_t n = 0; n < STEPS; n++) {
    if (random_below(&o->random, 2))
      query(o, (size_t)random_below(&o->random, o->n));
    else
      change(o);
    if (chance(&o->random, 1500)) change_all(o);
  }
  add(&total.operations, STEPS);
  return NULL;
}

/* ------------------------------------------------------------------ a round */

static besom_filter *make_filter(random_stream *random, uint32_t value_bits, bool shared_later) {
  static const char *const options[] = {NULL, "tombstones=yes", "form=published"};
  uint8_t seed[16];
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(random);
  besom_config config = {.kind = "aqf",
                         .seed = seed,
                         .slots = UINT64_C(9000) << random_below(random, 2),
                         .width = (uint32_t)(2 + random_below(random, 4)),
                         .value_bits = value_bits,
                         .reserve = (double)(1 + random_below(random, 40)) / 100,
                         .options = options[random_below(random, 3)],
                         .flags = shared_later ? 0 : BESOM_CONCURRENT};
  besom_filter *f = NULL;
  demand(besom_create(&config, &f) == BESOM_OK);
  return f;
}

static int by_bucket(const void *a, const void *b) {
  const item *x = a, *y = b;
  return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* The filter tells the bucket of each key; it is empty before and after. */
static void deal_keys(shared *s) {
  for (unsigned t = 0; t < THREADS; t++) {
    s->owners[t].items = heap_array(KEYS, sizeof(item));
    bucket_lists_open(&s->owners[t].store, KEYS / THREADS);
  }
  for (uint64_t k = 0; k < KEYS; k++) {
    item it = {.key = key_u64(MEMBERS, k)};
    besom_match at;
    it.digest = besom_hash_u64(s->f, it.key);
    demand(besom_insert_at(s->f, it.digest, 0, &at) == BESOM_OK);
    demand(besom_remove_at(s->f, &at) == BESOM_OK);
    it.bucket = at.bucket;
    owner *o = owner_of(s, at.bucket);
    o->items[o->n++] = it;
  }
  for (unsigned t = 0; t < THREADS; t++) {
    demand(s->owners[t].n > 0);
    qsort(s->owners[t].items, s->owners[t].n, sizeof(item), by_bucket);
  }
}

/* Takes out all: if a rank were wrong, the fingerprint of another key would be missing. */
static void check_round(shared *s) {
  besom_statistics stats;
  uint64_t members = 0;
  demand(besom_validate(s->f, NULL) == BESOM_OK);
  for (unsigned t = 0; t < THREADS; t++) {
    check_copy(&s->owners[t], s->f);
    members += s->owners[t].store.n;
  }
  demand(besom_stats(s->f, &stats) == BESOM_OK && stats.keys == members);
  for (unsigned t = 0; t < THREADS; t++)
    for (size_t i = 0; i < s->owners[t].n; i++)
      if (s->owners[t].items[i].member) take_out(&s->owners[t], i);
  demand(besom_stats(s->f, &stats) == BESOM_OK && stats.keys == 0);
}

void store_round(uint64_t seed) {
  random_stream random = {mix64(seed)};
  shared s = {.whole = PTHREAD_MUTEX_INITIALIZER};
  bool shared_later = random_below(&random, 2);
  s.value_bits = random_below(&random, 2) ? (uint32_t)(1 + random_below(&random, 12)) : 0;
  s.f = make_filter(&random, s.value_bits, shared_later);
  s.owners = heap_array(THREADS, sizeof *s.owners);
  for (unsigned t = 0; t < THREADS; t++)
    s.owners[t] = (owner){.s = &s, .random = {mix64(seed) + mix64(t + 1)}};
  deal_keys(&s);
  demand(besom_bind(s.f, &(besom_reverse){.digest_of = digest_of, .ctx = &s}) == BESOM_OK);
  if (shared_later) demand(besom_share(s.f) == BESOM_OK);
  run_threads(work, s.owners, sizeof *s.owners);
  check_round(&s);
  besom_free(s.f);
  for (unsigned t = 0; t < THREADS; t++) {
    free(s.owners[t].items);
    bucket_lists_close(&s.owners[t].store);
  }
  free(s.owners);
}
