#include <stdlib.h>
#include <string.h>

#include "maplets.h"
#include "support/heap.h"

const char *const maplet_form_names[MAPLET_FORMS] = {"aqf", "aqf-set", "aqf-store", "scaling"};

/* ------------------------------------------------------------------ the configuration */

static const char *some_options(maplet_model *m) {
  static const char *const of_aqf[] = {"maplet=yes", "maplet=yes,max_exceptions=30,forget=yes",
                                       "maplet=yes,max_exceptions=100000"};
  static const char *const of_sets[] = {"maplet=yes,repeats=ignore",
                                        "maplet=yes,repeats=ignore,max_exceptions=100000"};
  static const char *const of_chains[] = {"base=aqf,maplet=yes",
                                          "base=aqf,maplet=yes,max_exceptions=30,forget=yes",
                                          "base=aqf,maplet=yes,max_exceptions=100000"};
  if (m->form == CHAIN) return of_chains[maplet_below(m, 3)];
  if (m->form == AS_SET) return of_sets[maplet_below(m, 2)];
  return m->form == WITH_STORE ? of_aqf[0] : of_aqf[maplet_below(m, 3)];
}

/* Mostly so few bits per fingerprint that keys share them. */
static void choose_config(maplet_model *m) {
  static const double rates[] = {0.4, 0.2, 0.1, 0.05, 0.01, 1.0 / 256};
  uint64_t size = (uint64_t)1 << (4 + maplet_below(m, maplet_chance(m, 20) ? 8 : 5));
  size += maplet_chance(m, 2) ? maplet_below(m, size) : 0;
  for (size_t i = 0; i < sizeof m->seed; i++) m->seed[i] = (uint8_t)random_next(&m->random);
  uint64_t wide = maplet_below(m, 3);
  m->config = (besom_config){.kind = m->form == CHAIN ? "scaling" : "aqf",
                             .options = some_options(m),
                             .value_bits = 1 + (uint32_t)maplet_below(m, wide ? 32 : 8),
                             .seed = m->seed,
                             .allocator = &m->memory->api};
  if (m->form == CHAIN) { /* so that it grows */
    m->config.capacity = 1 + size / 32;
    m->config.fpr = rates[maplet_below(m, 5)];
  } else if (maplet_chance(m, 2)) {
    m->config.slots = size;
    m->config.width = 2 + (uint32_t)maplet_below(m, maplet_chance(m, 4) ? 10 : 2);
  } else {
    m->config.capacity = size;
    m->config.fpr = rates[maplet_below(m, 6)];
  }
  if (m->form == WITH_STORE) m->config.reserve = (double)(5 + maplet_below(m, 40)) / 100;
  m->most_slots = 8 * size;
  m->n_keys = 16 + (size_t)maplet_below(m, 2 * size);
}

static bool is_among(const uint64_t *values, unsigned n, uint64_t value) {
  for (unsigned i = 0; i < n; i++)
    if (values[i] == value) return true;
  return false;
}

/* 0, which besom_insert stores, and others, ascending. */
static void choose_values(maplet_model *m) {
  uint64_t bound = UINT64_C(1) << m->config.value_bits;
  unsigned most = bound < MOST_VALUES ? (unsigned)bound : MOST_VALUES;
  m->values[0] = 0;
  for (m->n_values = 1; m->n_values < most;) {
    uint64_t value = maplet_chance(m, 8) ? bound - 1 : maplet_below(m, bound);
    if (is_among(m->values, m->n_values, value)) continue;
    unsigned at = m->n_values++;
    for (; m->values[at - 1] > value; at--) m->values[at] = m->values[at - 1];
    m->values[at] = value;
  }
}

/* ------------------------------------------------------------------ keys that share them */

typedef struct addressed {
  fingerprint at;
  uint32_t number;
} addressed;

static int by_address(const void *a, const void *b) {
  const fingerprint *x = &((const addressed *)a)->at, *y = &((const addressed *)b)->at;
  if (x->quotient != y->quotient) return x->quotient < y->quotient ? -1 : 1;
  return x->remainder < y->remainder ? -1 : x->remainder > y->remainder;
}

/* The stored copies of all keys of all groups. */
static void count_groups(maplet_model *m) {
  m->pairs = 0;
  for (size_t g = 0; g < m->n_groups; g++) {
    maplet_group *group = &m->groups[g];
    for (uint32_t k = group->first; k < group->first + group->n; k++)
      for (unsigned v = 0; v < m->n_values; v++) group->copies[v] += m->keys[m->order[k]].copies[v];
    for (unsigned v = 0; v < m->n_values; v++) {
      if (m->form == AS_SET && group->copies[v]) group->copies[v] = 1;
      group->has |= (uint8_t)((group->copies[v] > 0) << v);
      m->pairs += group->copies[v];
    }
  }
}

void maplet_regroup(maplet_model *m) {
  besom_statistics stats;
  maplet_demand(m, besom_stats(m->f, &stats) == BESOM_OK);
  m->slots = stats.slots;
  m->width = stats.width;
  addressed *all = heap_array(m->n_keys, sizeof *all);
  for (size_t i = 0; i < m->n_keys; i++) {
    m->keys[i].digest = besom_hash_u64(m->f, m->keys[i].key);
    all[i].number = (uint32_t)i;
    if (m->form != CHAIN) all[i].at = fingerprint_of(m->keys[i].digest, m->slots, m->width);
  }
  qsort(all, m->n_keys, sizeof *all, by_address);
  m->n_groups = 0;
  for (size_t k = 0; k < m->n_keys; k++) {
    if (!k || by_address(&all[k - 1], &all[k]))
      m->groups[m->n_groups++] = (maplet_group){.first = (uint32_t)k};
    m->groups[m->n_groups - 1].n++;
    m->order[k] = all[k].number;
    m->keys[all[k].number].group = (uint32_t)m->n_groups - 1;
  }
  free(all);
  count_groups(m);
}

static void allocate_keys(maplet_model *m) {
  m->keys = heap_array(m->n_keys, sizeof *m->keys);
  m->order = heap_array(m->n_keys, sizeof *m->order);
  m->groups = heap_array(m->n_keys, sizeof *m->groups);
  for (size_t i = 0; i < m->n_keys; i++) m->keys[i].key = key_u64(MEMBERS, i);
}

/* ------------------------------------------------------------------ the store */

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  maplet_model *m = ctx;
  uint32_t number = 0;
  (void)f;
  if (++m->reads == m->fail_at) return BESOM_IO;
  if (!bucket_get(&m->store, match->bucket, match->rank, &number))
    maplet_fail(m, "the filter reads a match that has no record", SIZE_MAX);
  *digest = m->keys[number].digest;
  return BESOM_OK;
}

void maplet_bind(maplet_model *m) {
  besom_reverse reverse = {.digest_of = digest_of, .ctx = m};
  if (m->form == WITH_STORE) maplet_demand(m, besom_bind(m->f, &reverse) == BESOM_OK);
}

/* ------------------------------------------------------------------ opening and closing */

void maplet_open(maplet_model *m, maplet_form form, uint64_t seed) {
  *m = (maplet_model){.form = form, .counts = m->counts, .random = {mix64(seed)}, .rising = true};
  m->counted = true;
  m->memory = heap_array(1, sizeof *m->memory);
  failing_allocator_init(m->memory);
  choose_config(m);
  choose_values(m);
  maplet_demand(m, besom_create(&m->config, &m->f) == BESOM_OK);
  maplet_demand(m, besom_set_note(m->f, m->seed, sizeof m->seed) == BESOM_OK);
  allocate_keys(m);
  bucket_lists_open(&m->store, m->form == WITH_STORE ? m->n_keys : 1);
  maplet_regroup(m);
  maplet_bind(m);
}

static void free_keys(maplet_model *m) {
  bucket_lists_close(&m->store);
  free(m->keys);
  free(m->order);
  free(m->groups);
}

void maplet_close(maplet_model *m) {
  besom_free(m->f);
  m->f = NULL;
  const char *mistake = failing_allocator_verdict(m->memory);
  if (mistake) maplet_fail(m, mistake, SIZE_MAX);
  failing_allocator_close(m->memory);
  free(m->memory);
  free_keys(m);
}

void maplet_open_like(const maplet_model *m, maplet_model *other) {
  *other = *m;
  maplet_demand(m, besom_create_like(m->f, &other->f) == BESOM_OK);
  other->armed = false;
  allocate_keys(other);
  bucket_lists_open(&other->store, 64);
  maplet_regroup(other);
  maplet_bind(other);
}

void maplet_close_like(maplet_model *other) {
  besom_free(other->f);
  free_keys(other);
}

/* ------------------------------------------------------------------ failures on purpose */

void maplet_arm(maplet_model *m) {
  if (!maplet_chance(m, 300)) return;
  m->armed = true;
  m->reads = 0;
  memory_sink_init(&m->before);
  maplet_demand(m, besom_save(m->f, &m->before.api) == BESOM_OK);
  if (m->form == WITH_STORE && maplet_chance(m, 2)) m->fail_at = 1 + maplet_below(m, 4);
  if (!m->fail_at) m->memory->fail_at = m->memory->calls + 1 + maplet_below(m, 3);
}

bool maplet_disarm(maplet_model *m, besom_status status) {
  if (!m->armed) return false;
  bool failed = (m->fail_at && m->reads >= m->fail_at) ||
                (m->memory->fail_at && m->memory->calls >= m->memory->fail_at);
  m->armed = false;
  m->fail_at = m->memory->fail_at = 0;
  if (status != BESOM_OK && status != BESOM_EVICTED) {
    memory_sink now;
    memory_sink_init(&now);
    maplet_demand(m, besom_save(m->f, &now.api) == BESOM_OK);
    if (!memory_sinks_equal(&now, &m->before))
      maplet_fail(m, "a failed call has changed the maplet", SIZE_MAX);
    memory_sink_close(&now);
    m->counts->refused++;
  }
  memory_sink_close(&m->before);
  return failed && status != BESOM_OK && status != BESOM_EVICTED;
}
