#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "maplets.h"

/* ------------------------------------------------------------------ a full check */

/* Every stored pair has an entry, with its count. */
static void check_entries(maplet_model *m) {
  besom_iter iter = {.filter = m->f};
  besom_entry entry;
  uint64_t found[MOST_VALUES] = {0}, all = 0;
  while (besom_iter_next(&iter, &entry) == BESOM_OK) {
    unsigned v = 0;
    while (v < m->n_values && m->values[v] != entry.value) v++;
    maplet_demand(m, v < m->n_values && entry.count > 0);
    found[v] += entry.count;
    all += entry.count;
  }
  maplet_demand(m, all == m->pairs);
  for (size_t g = 0; g < m->n_groups; g++)
    for (unsigned v = 0; v < m->n_values; v++) found[v] -= m->groups[g].copies[v];
  for (unsigned v = 0; v < m->n_values; v++) maplet_demand(m, !found[v]);
  m->counts->iterations++;
}

void maplet_check(maplet_model *m) {
  const char *reason = NULL;
  size_t len = 0;
  besom_statistics stats;
  if (besom_validate(m->f, &reason) != BESOM_OK)
    maplet_fail(m, reason ? reason : "not valid", SIZE_MAX);
  for (size_t i = 0; i < m->n_keys; i++) {
    uint8_t got = maplet_ask(m, m->f, i);
    if (maplet_must(m, i) & ~got) maplet_fail(m, "a value is missing", i);
    if (got & ~maplet_may(m, i)) maplet_fail(m, "a wrong candidate", i);
  }
  m->counts->operations += m->n_keys;
  m->counts->queries += m->n_keys;
  m->counts->checks++;
  const void *note = besom_note(m->f, &len);
  maplet_demand(m, len == sizeof m->seed && !memcmp(note, m->seed, len));
  maplet_demand(m, besom_stats(m->f, &stats) == BESOM_OK);
  if (!m->counted) return;
  maplet_demand(m, stats.keys == m->pairs);
  if (besom_abilities(m->f) & BESOM_CAN_ITERATE) check_entries(m);
}

/* ------------------------------------------------------------------ pairs as a source */

typedef struct pair_reader {
  const maplet_model *m;
  size_t at; /* the key and the value */
  unsigned given;
  besom_u64_key key;
} pair_reader;

static besom_status next_pair(void *ctx, besom_bytes *key, uint64_t *value) {
  pair_reader *r = ctx;
  for (; r->at < r->m->n_keys * MOST_VALUES; r->at++, r->given = 0) {
    const maplet_key *k = &r->m->keys[r->at / MOST_VALUES];
    if (r->given == k->copies[r->at % MOST_VALUES]) continue;
    r->given++;
    r->key = besom_u64(k->key);
    *key = (besom_bytes){r->key.bytes, 8};
    *value = r->m->values[r->at % MOST_VALUES];
    return BESOM_OK;
  }
  return BESOM_END;
}

static besom_status rewind_pairs(void *ctx) {
  pair_reader *r = ctx;
  r->at = r->given = 0;
  return BESOM_OK;
}

static besom_pair_source source_of(pair_reader *r, const maplet_model *m) {
  *r = (pair_reader){.m = m};
  return (besom_pair_source){.next = next_pair, .rewind = rewind_pairs, .ctx = r};
}

/* ------------------------------------------------------------------ tasks */

/* Meanwhile queries are answered, and changes are BUSY. */
static besom_status finish(maplet_model *m, besom_task *task) {
  uint64_t step = 1 + maplet_below(m, 1000);
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;) {
    size_t i = maplet_some_key(m);
    uint8_t got = maplet_ask(m, m->f, i);
    if (maplet_must(m, i) & ~got || got & ~maplet_may(m, i))
      maplet_fail(m, "a wrong answer while a task runs", i);
    if (m->form != WITH_STORE)
      maplet_demand(m, besom_insert_value_digest(m->f, m->keys[i].digest, 0) == BESOM_BUSY);
    if (maplet_chance(m, 40)) {
      besom_task_cancel(task);
      return BESOM_CANCELLED;
    }
    status = besom_task_step(task, step, &finished);
  }
  return status;
}

/* Whether the table is another one. FULL: other fingerprints have to be counted in more slots. */
static bool has_ended(maplet_model *m, besom_status status, besom_task *task) {
  if (task && status == BESOM_OK) status = finish(m, task);
  bool full = status == BESOM_FULL || (status == BESOM_RESERVE_FULL && m->form == WITH_STORE);
  if (maplet_disarm(m, status) || status == BESOM_CANCELLED || full) return false;
  if (status != BESOM_OK) maplet_fail(m, besom_strerror(status), SIZE_MAX);
  return true;
}

static void resize(maplet_model *m) {
  bool grow = m->slots <= m->most_slots / 4 || (m->slots < m->most_slots && maplet_chance(m, 2));
  bool narrow = grow && m->width < 3;
  besom_task *task = NULL;
  if (m->form == CHAIN || narrow || (!grow && m->slots % 2)) return;
  maplet_arm(m);
  besom_status status =
      besom_resize(m->f, grow ? 2 * m->slots : m->slots / 2, maplet_chance(m, 2) ? &task : NULL);
  m->counts->operations++;
  if (status == BESOM_INVALID || status == BESOM_UNSUPPORTED) { /* fingerprints are too wide */
    maplet_disarm(m, status);
    maplet_demand(m, !grow);
    return;
  }
  if (!has_ended(m, status, task)) return;
  m->counts->resizes++;
  maplet_regroup(m);
}

static void forget_reports(maplet_model *m) {
  for (size_t i = 0; i < m->n_keys; i++) m->keys[i].denied = m->keys[i].perhaps = 0;
}

static void rekey(maplet_model *m) {
  uint8_t seed[16];
  pair_reader reader;
  besom_pair_source source = source_of(&reader, m);
  besom_source keys = {.ctx = &reader};
  besom_task *task = NULL;
  if (m->form == WITH_STORE) {
    maplet_move(m);
    return;
  }
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&m->random);
  maplet_demand(m, besom_rekey(m->f, &keys, NULL, seed, NULL) == BESOM_INVALID);
  maplet_arm(m);
  besom_status status = besom_rekey_pairs(m->f, &source, seed, maplet_chance(m, 2) ? &task : NULL);
  m->counts->operations++;
  if (!has_ended(m, status, task)) return;
  m->counts->rekeys++;
  m->counted = true;
  forget_reports(m);
  maplet_regroup(m);
}

/* ------------------------------------------------------------------ another maplet */

static void take(maplet_model *m, besom_filter *f) {
  besom_free(m->f);
  m->f = f;
  maplet_bind(m);
}

static void build_like(maplet_model *m) {
  pair_reader reader;
  besom_pair_source source = source_of(&reader, m);
  besom_input input = {.pairs = &source, .like = m->f};
  besom_filter *fresh = NULL;
  if (m->form == WITH_STORE) return;
  maplet_arm(m);
  besom_status status = besom_build(NULL, &input, &fresh);
  m->counts->operations++;
  if (maplet_disarm(m, status) || status == BESOM_FULL) return;
  if (status != BESOM_OK) maplet_fail(m, besom_strerror(status), SIZE_MAX);
  maplet_demand(m, besom_set_note(fresh, m->seed, sizeof m->seed) == BESOM_OK);
  take(m, fresh);
  m->counts->builds++;
  m->counted = true;
  forget_reports(m);
  maplet_regroup(m);
}

/* All pairs are inserted into an empty maplet with another seed, and their records follow. */
void maplet_move(maplet_model *m) {
  maplet_model fresh;
  besom_config config = m->config;
  uint8_t seed[16];
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&m->random);
  config.seed = seed;
  config.slots = m->slots;
  config.width = m->width;
  config.capacity = 0;
  config.fpr = 0;
  maplet_open_like(m, &fresh);
  besom_free(fresh.f);
  fresh.f = NULL;
  if (besom_create(&config, &fresh.f) == BESOM_OK) {
    maplet_demand(m, besom_set_note(fresh.f, m->seed, sizeof m->seed) == BESOM_OK);
    maplet_bind(&fresh);
    maplet_regroup(&fresh);
    fresh.rising = true; /* until an insert is FULL */
    for (size_t at = 0; at < m->n_keys * MOST_VALUES && fresh.rising; at++)
      for (unsigned n = m->keys[at / MOST_VALUES].copies[at % MOST_VALUES]; n && fresh.rising; n--)
        maplet_insert(&fresh, at / MOST_VALUES, at % MOST_VALUES);
    if (fresh.pairs == m->pairs) {
      maplet_model old = *m;
      *m = fresh;
      m->rising = old.rising;
      fresh = old;
      maplet_bind(m);
      m->counts->rekeys++;
    }
  }
  m->random.state++;
  maplet_close_like(&fresh);
}

/* ------------------------------------------------------------------ merging */

/* Some pairs, and some reports. */
static void fill_partner(maplet_model *m, maplet_model *other) {
  other->random.state = random_next(&m->random);
  uint64_t wanted = maplet_below(m, 64);
  for (uint64_t n = 0; n < wanted; n++)
    maplet_insert(other, maplet_some_key(other), maplet_some_value(other));
  for (int n = 0; n < 20; n++)
    maplet_adapt(other, maplet_some_key(other), maplet_some_value(other));
}

/*
 * A report stays if the other maplet surely does not have the pair. What a chain may have depends
 * on its layers; what a maplet forgets that is at its limit is not modelled either.
 */
static void merge_reports(const maplet_model *m, maplet_key *k, const maplet_model *other,
                          const maplet_key *of) {
  unsigned has = m->groups[k->group].has & ~(unsigned)k->denied;
  unsigned other_has = other->groups[of->group].has & ~(unsigned)of->denied;
  unsigned all = (unsigned)(k->denied | k->perhaps | of->denied | of->perhaps);
  unsigned kept = (k->denied & ~other_has) | (of->denied & ~has);
  bool forgets = strstr(m->config.options, "forget=yes");
  if (m->form == CHAIN || forgets) kept = forgets ? 0 : (unsigned)(k->denied & of->denied);
  k->denied = (uint8_t)kept;
  k->perhaps = (uint8_t)(all & ~kept & ~(unsigned)(k->has | of->has));
}

/* In every bucket the records of the other one follow. */
static void join_stores(maplet_model *m, const bucket_lists *other) {
  for (size_t n = 0; n < other->used; n++) { /* nothing was taken out: in the order of inserts */
    const bucket_node *node = &other->nodes[n];
    uint32_t rank = bucket_append(&m->store, node->bucket, node->number);
    bucket_find(&m->store, node->bucket, rank)->value = node->value;
  }
}

static void merged_with(maplet_model *m, const maplet_model *other, besom_filter *both) {
  join_stores(m, &other->store);
  for (size_t i = 0; i < m->n_keys; i++) merge_reports(m, &m->keys[i], other, &other->keys[i]);
  for (size_t i = 0; i < m->n_keys; i++)
    for (unsigned v = 0; v < m->n_values; v++) {
      maplet_key *k = &m->keys[i];
      unsigned sum = k->copies[v] + other->keys[i].copies[v];
      k->copies[v] = (uint16_t)(m->form == AS_SET && sum ? 1 : sum);
      k->has |= (uint8_t)((sum > 0) << v);
    }
  take(m, both);
  m->counted &= m->form != AS_SET;
  m->counts->merges++;
  maplet_regroup(m);
}

static void merge(maplet_model *m) {
  maplet_model other;
  besom_filter *both = NULL;
  maplet_open_like(m, &other);
  forget_reports(&other);
  fill_partner(m, &other);
  if (maplet_chance(m, 2))
    maplet_demand(m, besom_set_note(other.f, m->seed, sizeof m->seed) == BESOM_OK);
  maplet_arm(m);
  besom_status status = besom_merge(m->f, other.f, &both);
  bool failed = maplet_disarm(m, status);
  m->counts->operations++;
  if (!failed && status != BESOM_OK && status != BESOM_FULL && status != BESOM_RESERVE_FULL)
    maplet_fail(m, besom_strerror(status), SIZE_MAX);
  if (status == BESOM_OK) merged_with(m, &other, both);
  maplet_close_like(&other);
}

/* ------------------------------------------------------------------ files */

static void save_to(maplet_model *m, const besom_filter *f, memory_sink *sink) {
  memory_sink_init(sink);
  maplet_demand(m, besom_save(f, &sink->api) == BESOM_OK);
}

static besom_filter *load(maplet_model *m, const memory_sink *saved) {
  besom_filter *f = NULL;
  maplet_demand(m, besom_load(saved->data, saved->len, &m->memory->api, &f) == BESOM_OK);
  return f;
}

/* A mapped maplet answers alike, refuses changes, and takes reports. */
static void check_mapped(maplet_model *m, const memory_sink *saved) {
  static int file = -1;
  char path[32];
  besom_filter *f = NULL;
  if (file < 0) file = memfd_create("soak_maplets", 0);
  maplet_demand(m, file >= 0 && ftruncate(file, 0) == 0 &&
                       pwrite(file, saved->data, saved->len, 0) == (ssize_t)saved->len);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  besom_open_options options = {.flags = BESOM_OPEN_MMAP, .allocator = &m->memory->api};
  maplet_demand(m, besom_open(path, &options, &f) == BESOM_OK);
  maplet_demand(m, besom_insert_value(f, "a", 1, 0) == BESOM_READ_ONLY);
  for (int n = 0; n < 100; n++) {
    size_t i = maplet_some_key(m);
    uint8_t got = maplet_ask(m, f, i), wrong = got & (uint8_t)~m->keys[i].has;
    if (maplet_must(m, i) & ~got || got & ~maplet_may(m, i))
      maplet_fail(m, "a mapped maplet answers differently", i);
    if (!wrong) continue;
    unsigned v = (unsigned)__builtin_ctz(wrong);
    besom_u64_key key = besom_u64(m->keys[i].key);
    if (besom_adapt_value(f, key.bytes, 8, m->values[v]) == BESOM_RESERVE_FULL) continue;
    if (maplet_ask(m, f, i) != (got & ~(1u << v))) maplet_fail(m, "a report to a mapped file", i);
    break;
  }
  besom_free(f);
  m->counts->mapped++;
}

/* A patch from an earlier state to this one makes the same bytes. */
static besom_filter *patched(maplet_model *m, const memory_sink *saved) {
  besom_filter *old = load(m, saved), *fresh = NULL;
  memory_sink diff, now, again;
  for (int n = 0; n < 50; n++) maplet_insert(m, maplet_some_key(m), maplet_some_value(m));
  for (int n = 0; n < 50; n++) maplet_remove(m, maplet_some_key(m), maplet_some_value(m));
  memory_sink_init(&diff);
  besom_status status = maplet_chance(m, 2) ? besom_diff(old, m->f, &diff.api)
                                            : besom_diff_compact(old, m->f, &diff.api);
  if (status == BESOM_OK) {
    maplet_demand(m, besom_patch(old, diff.data, diff.len, &fresh) == BESOM_OK);
    save_to(m, m->f, &now);
    save_to(m, fresh, &again);
    if (!memory_sinks_equal(&now, &again)) maplet_fail(m, "a patch makes other bytes", SIZE_MAX);
    memory_sink_close(&now);
    memory_sink_close(&again);
    m->counts->patches++;
  } else {
    maplet_demand(m, status == BESOM_UNSUPPORTED || status == BESOM_INCOMPATIBLE);
  }
  memory_sink_close(&diff);
  besom_free(old);
  return fresh;
}

static void save_and_load(maplet_model *m) {
  memory_sink saved;
  besom_filter *copy = NULL;
  save_to(m, m->f, &saved);
  uint64_t choice = maplet_below(m, 3);
  if (choice == 0 && m->form != WITH_STORE) check_mapped(m, &saved);
  if (choice == 1) copy = patched(m, &saved);
  if (choice != 1) copy = load(m, &saved);
  memory_sink_close(&saved);
  if (copy) take(m, copy);
  m->counts->operations++;
  m->counts->saves++;
}

/* ------------------------------------------------------------------ any of them */

void maplet_change_whole(maplet_model *m) {
  switch (maplet_below(m, 8)) {
  case 0:
    maplet_check(m);
    break;
  case 1:
    merge(m);
    break;
  case 2:
  case 3:
    resize(m);
    break;
  case 4:
    rekey(m);
    break;
  case 5:
    build_like(m);
    break;
  default:
    save_and_load(m);
  }
}
