#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"
#include "support/heap.h"
#include "support/temp_files.h"

/* ------------------------------------------------------------------ the filter is another one */

/* Reported keys stay fixed, unless the old filter has counted a rebuild. */
void model_before_new_table(model *m) {
  if (m->fixed.n && model_dropped(m) != m->dropped) model_unfix_all(m);
}

void model_replace(model *m, besom_filter *by) {
  model_before_new_table(m);
  besom_free(m->f);
  m->f = by;
  model_renew(m, false);
  model_bind(m);
}

/* Runs a task. Meanwhile queries are answered, and changes are BUSY. */
static besom_status finish(model *m, besom_task *task) {
  uint64_t step = 1 + model_below(m, 3000);
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;) {
    size_t i = (size_t)model_below(m, m->universe);
    model_answer(m, i, besom_contains_digest(m->f, m->digests[i]));
    if (!m->bound) model_demand(m, besom_insert_digest(m->f, m->digests[i]) == BESOM_BUSY);
    if (model_chance(m, 40)) {
      besom_task_cancel(task);
      return BESOM_CANCELLED;
    }
    status = besom_task_step(task, step, &finished);
  }
  return status;
}

/* ------------------------------------------------------------------ resize */

static int by_bucket(const void *a, const void *b) {
  const model_record *x = a, *y = b;
  if (x->bucket != y->bucket) return x->bucket < y->bucket ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The rank is any number that rises along the list of a bucket. */
model_record *model_records(const bucket_lists *store, size_t *n) {
  model_record *all = heap_array(store->n, sizeof *all);
  *n = 0;
  for (size_t h = 0; h >> store->bits == 0; h++) {
    uint32_t rank = 0;
    for (uint32_t at = store->heads[h]; at != NO_NODE; at = store->nodes[at].next) {
      const bucket_node *node = &store->nodes[at];
      all[(*n)++] = (model_record){node->bucket, rank++, node->number, node->value};
    }
  }
  qsort(all, *n, sizeof *all, by_bucket);
  return all;
}

/* besom_reverse.h says how a store follows when the buckets have new numbers. */
static void renumber_buckets(model *m) {
  size_t n = 0;
  model_record *all = model_records(&m->store, &n);
  bucket_lists_clear(&m->store);
  for (size_t i = 0; i < n; i++) {
    besom_match match;
    size_t total = 0;
    besom_status status = besom_matches(m->f, m->digests[all[i].number], &match, 1, &total);
    if (status != BESOM_OK || !total) model_fail(m, "a member lost by a resize", all[i].number);
    bucket_append(&m->store, match.bucket, all[i].number);
  }
  free(all);
}

static void after_resize(model *m, uint64_t wanted) {
  model_demand(m, model_stats(m).slots == wanted);
  m->counts->resizes++;
  if (m->keeps == PER_QUOTIENT) model_unfix_all(m);
  if (m->by_quotient && m->bound) renumber_buckets(m);
  model_renew(m, false);
}

void model_resize(model *m) {
  besom_statistics stats = model_stats(m);
  bool grow =
      stats.slots <= m->most_slots / 4 || (stats.slots < m->most_slots && model_chance(m, 2));
  if (!(m->can & BESOM_CAN_RESIZE) || (!grow && stats.slots % 2)) return;
  uint64_t wanted = grow ? 2 * stats.slots : stats.slots / 2;
  besom_task *task = NULL;
  bool in_steps = model_chance(m, 2);
  model_before_new_table(m);
  model_arm(m);
  besom_status status = besom_resize(m->f, wanted, in_steps ? &task : NULL);
  if (in_steps && status == BESOM_OK) status = finish(m, task);
  m->counts->operations++;
  if (model_disarm(m, status)) return;
  if (status == BESOM_OK) {
    after_resize(m, wanted);
    return;
  }
  model_demand(m, model_stats(m).slots == stats.slots);
  if (status == BESOM_NO_MEMORY || status == BESOM_NOT_FOUND || status == BESOM_CORRUPT ||
      status == BESOM_IO)
    model_fail(m, besom_strerror(status), SIZE_MAX);
}

/* ------------------------------------------------------------------ rekey */

typedef struct copy_source {
  const model *m;
  size_t at, given;
  besom_u64_key key;
} copy_source;

/* All copies of all members. */
static besom_status next_copy(void *ctx, besom_bytes *key, uint64_t *weight) {
  copy_source *s = ctx;
  (void)weight;
  while (s->at < s->m->universe && s->given == s->m->copies[s->at]) s->at++, s->given = 0;
  if (s->at == s->m->universe) return BESOM_END;
  s->given++;
  s->key = besom_u64(s->m->keys[s->at]);
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

/* A kind without remove loses keys by a rekey that leaves them out. */
static void leave_out_some(model *m) {
  if (m->can & BESOM_CAN_REMOVE) return;
  for (size_t i = 0; i < m->universe; i++)
    if (model_chance(m, 2)) m->copies[i] = 0;
}

/* What was left out is there again if the rekey fails. */
static void end_leaving_out(model *m, const uint32_t *before, bool rekeyed) {
  if (!rekeyed) memcpy(m->copies, before, m->universe * sizeof *before);
  m->items = 0;
  for (size_t i = 0; i < m->universe; i++) m->items += m->copies[i];
}

typedef struct no_source {
  const model *m;
  size_t at, left, given[8];
  size_t n;
  besom_u64_key key;
} no_source;

/* Some absent keys. */
static besom_status next_absent(void *ctx, besom_bytes *key, uint64_t *weight) {
  no_source *s = ctx;
  (void)weight;
  while (s->at < s->m->universe && s->m->copies[s->at]) s->at++;
  if (s->n == s->left || s->at == s->m->universe) return BESOM_END;
  s->given[s->n++] = s->at;
  s->key = besom_u64(s->m->keys[s->at++]);
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

/* FULL is possible at another seed; a task may have been cancelled. */
static besom_status rekey(model *m, no_source *absent) {
  copy_source members = {.m = m};
  besom_source yes = {.next = next_copy, .ctx = &members},
               no = {.next = next_absent, .ctx = absent};
  uint8_t seed[16];
  besom_task *task = NULL;
  bool in_steps = model_chance(m, 2);
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&m->random);
  model_arm(m);
  besom_status status =
      besom_rekey(m->f, &yes, absent->left ? &no : NULL, seed, in_steps ? &task : NULL);
  if (in_steps && status == BESOM_OK) status = finish(m, task);
  if (model_disarm(m, status)) return BESOM_CANCELLED;
  return status;
}

/* Kinds that adapt without a store take absent keys, too. None was forgotten: they stay. */
static void check_absent(model *m, const no_source *absent) {
  for (size_t i = 0; i < absent->n && !model_dropped(m); i++) {
    if (besom_contains_digest(m->f, m->digests[absent->given[i]]))
      model_fail(m, "an absent key that a rekey was given is answered yes", absent->given[i]);
    model_fix(m, absent->given[i]);
  }
}

void model_rekey(model *m) {
  no_source absent = {.m = m, .at = (size_t)model_below(m, m->universe)};
  if (m->keeps == PER_FINGERPRINT && m->adapts && model_chance(m, 3))
    absent.left = 1 + (size_t)model_below(m, 8);
  uint32_t *before = heap_array(m->universe, sizeof *before);
  memcpy(before, m->copies, m->universe * sizeof *before);
  leave_out_some(m);
  besom_status status = rekey(m, &absent);
  end_leaving_out(m, before, status == BESOM_OK);
  free(before);
  m->counts->operations++;
  if (status == BESOM_FULL || status == BESOM_CANCELLED) return;
  if (status == BESOM_RESERVE_FULL && absent.left) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), SIZE_MAX);
  model_unfix_all(m);
  memset(m->marks, 0, m->universe);
  model_renew(m, true);
  model_values_zero(m);
  check_absent(m, &absent);
  m->counts->rekeys++;
}

/*
 * A guard's rekey: all members are inserted into an empty filter with another seed, and their
 * records follow. It empties the reserve of a filter with a store.
 */
static besom_status fill(model *m, besom_filter *fresh, bucket_lists *store,
                         besom_digest *digests) {
  size_t n = 0;
  besom_status status = BESOM_OK;
  model_record *all = model_records(&m->store, &n);
  for (size_t i = 0; i < n && status == BESOM_OK; i++) {
    besom_match match;
    uint32_t number = all[i].number;
    status = besom_insert_at(fresh, digests[number], all[i].value, &match);
    if (status != BESOM_OK) break;
    uint32_t rank = bucket_append(store, match.bucket, number);
    if (rank != match.rank) model_fail(m, "insert_at reports another rank than the store", number);
    bucket_find(store, match.bucket, rank)->value = all[i].value;
    m->counts->operations++;
    m->counts->inserts++;
  }
  free(all);
  return status;
}

void model_move(model *m) {
  besom_statistics stats = model_stats(m);
  besom_config config = m->config;
  uint8_t seed[sizeof m->seed];
  besom_filter *fresh = NULL;
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&m->random);
  config.seed = seed;
  config.slots = stats.slots;
  config.width = stats.width;
  config.capacity = 0;
  config.fpr = 0;
  if (besom_create(&config, &fresh) != BESOM_OK) return;
  bucket_lists store;
  besom_digest *digests = heap_array(m->universe, sizeof *digests);
  bucket_lists_open(&store, m->universe);
  for (size_t i = 0; i < m->universe; i++)
    digests[i] = m->has_keys ? besom_hash_u64(fresh, m->keys[i]) : m->digests[i];
  bucket_lists old_store = m->store;
  besom_digest *old = m->digests;
  besom_status status = fill(m, fresh, &store, digests);
  if (status == BESOM_OK) {
    m->store = store;
    m->digests = digests;
    memcpy(m->seed, seed, sizeof seed);
    model_unfix_all(m);
    model_replace(m, fresh);
    m->counts->moves++;
  } else {
    model_demand(m, status == BESOM_FULL);
    besom_free(fresh);
  }
  bucket_lists_close(status == BESOM_OK ? &old_store : &store);
  free(status == BESOM_OK ? old : digests);
}

/* besom_build of a filter like this one has one copy of each key, no adaptations and no values. */
void model_build_again(model *m) {
  if (m->is_static || m->bound || !m->has_keys || !(m->can & BESOM_CAN_INSERT) ||
      m->can & BESOM_TAKES_SAMPLE || !m->items)
    return;
  copy_source members = {.m = m};
  besom_source yes = {.next = next_copy, .ctx = &members};
  besom_filter *fresh = NULL;
  besom_status status = besom_build(NULL, &(besom_input){.yes = &yes, .like = m->f}, &fresh);
  m->counts->operations++;
  if (status == BESOM_FULL || status == BESOM_UNSUPPORTED) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), SIZE_MAX);
  model_unfix_all(m);
  memset(m->marks, 0, m->universe);
  m->items = 0;
  for (size_t i = 0; i < m->universe; i++) m->items += m->copies[i] = m->copies[i] > 0;
  model_replace(m, fresh);
  if (m->form->flags & BESOM_CONCURRENT) model_demand(m, besom_share(m->f) == BESOM_OK);
  model_values_zero(m);
  m->counts->rebuilds++;
}

/* ------------------------------------------------------------------ files */

static void save_to(model *m, const besom_filter *f, memory_sink *sink) {
  memory_sink_init(sink);
  model_demand(m, besom_save(f, &sink->api) == BESOM_OK);
}

static besom_filter *load(model *m, const memory_sink *saved) {
  besom_filter *f = NULL;
  besom_status status = besom_load(saved->data, saved->len, &m->memory.api, &f);
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), SIZE_MAX);
  return f;
}

/* A file, opened in any way, answers as the filter does. */
static void check_answers(model *m, besom_filter *f) {
  model_bind_groups(m, f);
  for (int n = 0; n < 200; n++) {
    size_t i = (size_t)model_below(m, m->universe);
    bool yes = besom_contains_digest(f, m->digests[i]);
    if (yes != besom_contains_digest(m->f, m->digests[i]))
      model_fail(m, "an opened file answers differently", i);
  }
}

/* If it is mapped it refuses changes. */
static void check_opened(model *m, const memory_sink *saved) {
  static int file = -1;
  static const unsigned flags[] = {BESOM_OPEN_MMAP, BESOM_OPEN_MMAP | BESOM_OPEN_CHECKSUMS,
                                   BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED, 0, BESOM_OPEN_CHECKSUMS};
  char path[32];
  besom_filter *f = NULL;
  if (file < 0) file = memfd_create("soak_model", 0);
  model_demand(m, file >= 0 && ftruncate(file, 0) == 0 &&
                      pwrite(file, saved->data, saved->len, 0) == (ssize_t)saved->len);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  besom_open_options options = {.flags = flags[model_below(m, 5)], .allocator = &m->memory.api};
  model_demand(m, besom_open(path, &options, &f) == BESOM_OK);
  check_answers(m, f);
  if (options.flags & BESOM_OPEN_MMAP) {
    besom_status status = besom_insert_digest(f, m->digests[0]);
    model_demand(m, status == BESOM_READ_ONLY || status == BESOM_UNSUPPORTED);
    m->counts->mapped++;
  }
  besom_free(f);
}

/* besom_save_file writes the same bytes. */
static void check_file(model *m, const memory_sink *saved) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "saved");
  size_t len = 0;
  model_demand(m, besom_save_file(m->f, path.text) == BESOM_OK);
  uint8_t *bytes = read_whole_file(path.text, &len);
  model_demand(m, bytes && len == saved->len && !memcmp(bytes, saved->data, len));
  free(bytes);
  temp_dir_remove(&dir);
}

/* A patch from an earlier state to this one makes the same bytes. */
static besom_filter *patched(model *m, const memory_sink *saved) {
  besom_filter *old = load(m, saved), *fresh = NULL;
  memory_sink diff, now, again;
  for (int n = 0; n < 50; n++) model_insert(m, model_pick(m));
  for (int n = 0; n < 50; n++) model_remove(m, model_pick(m));
  memory_sink_init(&diff);
  besom_status status = besom_diff(old, m->f, &diff.api);
  if (status == BESOM_OK) {
    status = besom_patch(old, diff.data, diff.len, &fresh);
    if (status != BESOM_OK) model_fail(m, "a patch is refused", SIZE_MAX);
    save_to(m, m->f, &now);
    save_to(m, fresh, &again);
    if (!memory_sinks_equal(&now, &again)) model_fail(m, "a patch makes other bytes", SIZE_MAX);
    memory_sink_close(&now);
    memory_sink_close(&again);
    m->counts->patches++;
  } else if (status != BESOM_UNSUPPORTED && status != BESOM_INCOMPATIBLE) {
    model_fail(m, besom_strerror(status), SIZE_MAX);
  }
  memory_sink_close(&diff);
  besom_free(old);
  return fresh;
}

void model_save(model *m) {
  memory_sink saved;
  besom_filter *copy = NULL;
  save_to(m, m->f, &saved);
  uint64_t choice = model_below(m, 4);
  if (choice == 0) check_opened(m, &saved);
  if (model_chance(m, 50)) check_file(m, &saved);
  if (choice == 1) copy = patched(m, &saved);
  if (choice != 1 || model_chance(m, 2)) {
    besom_free(copy);
    memory_sink_close(&saved);
    save_to(m, m->f, &saved);
    copy = load(m, &saved);
  }
  if (copy) model_replace(m, copy);
  if (m->form->flags & BESOM_CONCURRENT) model_demand(m, besom_share(m->f) == BESOM_OK);
  memory_sink_close(&saved);
  m->counts->operations++;
  m->counts->saves++;
}

/* ------------------------------------------------------------------ static kinds */

/* Some keys change lists. Without a no list, a build forgets the exceptions of the old filter. */
static void change_lists(model *m) {
  uint64_t n = 1 + model_below(m, m->universe / 4);
  bool lists = m->form->kind->abilities & BESOM_CAN_BUILD_NO;
  for (size_t i = 0; i < m->universe; i++)
    m->marks[i] = lists && m->marks[i] & (NO_LISTED | BUILT_NO) ? BUILT_NO : 0;
  while (n--) {
    size_t i = (size_t)model_below(m, m->universe);
    m->items -= m->copies[i];
    m->copies[i] = !m->copies[i] || m->items == 0;
    m->items += m->copies[i];
    m->marks[i] = lists && !m->copies[i] ? BUILT_NO : 0;
  }
}

void model_rebuild(model *m) {
  if (!m->is_static) return;
  besom_filter *fresh = NULL;
  bool update = !strcmp(m->form->kind->name, "updated") && !model_chance(m, 8);
  model_unfix_all(m);
  change_lists(m);
  besom_status status = model_build(m, update ? m->f : NULL, &fresh);
  if (status == BESOM_FULL && update) status = model_build(m, NULL, &fresh);
  m->counts->operations++;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), SIZE_MAX);
  m->counts->rebuilds++;
  model_replace(m, fresh);
  model_renew(m, true);
}
