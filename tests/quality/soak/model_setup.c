#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "support/heap.h"

/* ------------------------------------------------------------------ the kind */

static bool is_one_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(name, *names)) return true;
  return false;
}

static promise promise_of(const char *kind) {
  static const char *const by_fingerprint[] = {"aqf", "yesno", NULL};
  static const char *const by_quotient[] = {"exaf", "broom", "taf", "utaf", NULL};
  static const char *const cuckoo[] = {"acf-cyclic", "acf-swapping", "acf-cuckooing", NULL};
  static const char *const at_once[] = {"cached", "scaling", NULL};
  if (is_one_of(kind, by_fingerprint)) return PER_FINGERPRINT;
  if (is_one_of(kind, by_quotient)) return PER_QUOTIENT;
  if (is_one_of(kind, cuckoo)) return MOSTLY;
  return is_one_of(kind, at_once) ? AT_ONCE : NO_PROMISE;
}

static bool needs_store_to_insert(const model *m) {
  unsigned abilities = m->form->kind->abilities;
  return (abilities & BESOM_CAN_MATCH) && !(abilities & BESOM_CAN_INSERT);
}

static void choose_form(model *m, const subject *form) {
  static const char *const selectors[] = {"taf", "utaf", NULL};
  static const char *const telescoping[] = {"exaf", "taf", "utaf", NULL};
  static const char *const key_only[] = {"grouped", "learned", NULL};
  const char *kind = form->kind->name;
  m->form = form;
  m->keeps = promise_of(kind);
  m->by_quotient = m->keeps == PER_QUOTIENT;
  m->selectors = is_one_of(kind, selectors);
  m->key_only = is_one_of(kind, key_only);
  m->is_static =
      !(form->kind->abilities & (BESOM_CAN_INSERT | BESOM_CAN_MATCH | BESOM_INSERTS_LATER));
  m->order = (key_order)model_below(m, KEY_ORDERS);
  bool can_bind = form->kind->abilities & BESOM_CAN_MATCH;
  bool has_lists = form->kind->abilities & BESOM_CAN_NO_LIST_AT && !model_chance(m, 8);
  m->bound = needs_store_to_insert(m) || has_lists || (can_bind && model_chance(m, 2));
  if (m->keeps == NO_PROMISE && strcmp(kind, "adaptive-stacked") && !m->bound) m->keeps = PER_KEY;
  bool is_published = form->options && !strcmp(form->options, "form=published");
  if (is_published && m->keeps >= PER_QUOTIENT)
    m->keeps = is_one_of(kind, telescoping) ? NO_PROMISE : AT_ONCE;
}

/* ------------------------------------------------------------------ the configuration */

/* From 1 to 2^most, small numbers as often as large ones, and powers of two often. */
static uint64_t some_size(model *m, uint64_t least, uint64_t most) {
  uint64_t n = (uint64_t)1 << (least + model_below(m, most - least + 1));
  if (model_chance(m, 2)) n += model_below(m, n);
  return n;
}

/* Mostly high rates for adaptive kinds: without false positives nothing is reported. */
static double some_fpr(model *m) {
  static const double rates[] = {0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 1.0 / 256, 1e-3, 1e-5, 1e-9};
  bool adaptive = m->form->kind->abilities & (BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST_AT);
  size_t n = sizeof rates / sizeof *rates;
  if (m->form->most_fpr != 0) return m->form->most_fpr;
  return rates[model_below(m, adaptive && !model_chance(m, 4) ? 3 : n)];
}

static void choose_geometry(model *m, uint64_t slots) {
  m->config.slots = slots;
  m->config.width =
      (uint32_t)(model_chance(m, 8) ? 1 + model_below(m, 64) : 2 + model_below(m, 10));
  uint64_t bits = 64 - (uint64_t)__builtin_clzll(slots);
  if (m->bound && m->config.width + bits > 60) m->config.width = (uint32_t)(60 - bits);
}

/* Options that no form has, of an aqf. As published, a report may undo another one. */
static const char *some_options(model *m) {
  static const char *const options[] = {"tombstones=yes", "exceptions=full", "form=published"};
  if (m->form->kind->abilities & BESOM_CAN_SCALE && m->form->options && model_chance(m, 2) &&
      !strcmp(m->form->options, "base=aqf"))
    return "base=aqf,forget=yes"; /* others refuse most reports, because their reserve is full */
  if (m->form->options || strcmp(m->form->kind->name, "aqf") || model_below(m, 3))
    return m->form->options;
  const char *text = options[model_below(m, 3)];
  if (!strcmp(text, "form=published")) m->keeps = AT_ONCE;
  return text;
}

static uint64_t group_of(void *ctx, const void *key, size_t len) {
  const uint8_t *bytes = key;
  (void)ctx;
  return len ? bytes[len - 1] % 5 : 0;
}

static const besom_grouping grouping = {.group_of = group_of};

/* Some filters of the kind grouped have a function instead of the option. */
static void choose_groups(model *m) {
  if (strcmp(m->form->kind->name, "grouped") || model_chance(m, 2)) return;
  m->config.options = NULL;
  m->config.grouping = &grouping;
}

static besom_config some_config(model *m) {
  uint64_t size = some_size(m, 5, model_chance(m, 100) ? 16 : model_chance(m, 10) ? 13 : 9);
  for (size_t i = 0; i < sizeof m->seed; i++) m->seed[i] = (uint8_t)random_next(&m->random);
  m->config = (besom_config){.kind = m->form->kind->name,
                             .options = some_options(m),
                             .hash = m->form->hash,
                             .seed = m->seed,
                             .flags = m->form->flags,
                             .allocator = &m->memory.api};
  choose_groups(m);
  if (m->form->kind->abilities & BESOM_CAN_SCALE) { /* so that it grows */
    m->config.capacity = 1 + size / 32;
    m->config.fpr = some_fpr(m);
  } else if (!m->is_static && model_chance(m, 2)) {
    choose_geometry(m, size);
  } else {
    m->config.capacity = size;
    m->config.fpr = some_fpr(m);
  }
  bool has_reserve = m->keeps >= AT_ONCE || m->form->kind->abilities & BESOM_CAN_NO_LIST_AT;
  if (has_reserve && model_chance(m, 2)) m->config.reserve = (double)(1 + model_below(m, 50)) / 100;
  m->has_values = m->form->kind->abilities & BESOM_CAN_VALUE && model_chance(m, 3);
  if (m->has_values)
    m->config.value_bits = 1 + (uint32_t)model_below(m, model_chance(m, 4) ? 32 : 8);
  m->most_slots = 8 * size;
  return m->config;
}

/* Kinds that take no geometry get a capacity instead. */
static besom_status create(model *m) {
  besom_status status = besom_create(&m->config, &m->f);
  if (status == BESOM_INVALID && m->config.slots) {
    m->config.capacity = m->config.slots;
    m->config.slots = m->config.width = 0;
    m->config.fpr = some_fpr(m);
    status = besom_create(&m->config, &m->f);
  }
  if (status == BESOM_INVALID && m->config.reserve != 0) {
    m->config.reserve = 0;
    status = besom_create(&m->config, &m->f);
  }
  return status;
}

/* ------------------------------------------------------------------ the universe */

/*
 * Digests that share their beginnings: groups of 2 to 32 in one run, whose fingerprints differ late
 * or not at all. Not so late that an exception, which has 60 bits more than a fingerprint, would be
 * one of two keys.
 */
static void make_up_digests(model *m, const besom_statistics *stats) {
  unsigned slot_bits = 64 - (unsigned)__builtin_clzll(stats->slots);
  besom_digest base = {0, 0};
  for (size_t i = 0, left = 0; i < m->universe; i++, left--) {
    besom_digest d = {random_next(&m->random), random_next(&m->random)};
    if (!left) {
      base = d;
      left = 2 + (size_t)model_below(m, 31);
    }
    uint64_t same = slot_bits + model_below(m, stats->width + 24);
    if (same < 64)
      d = (besom_digest){base.hi ^ d.hi >> same, d.lo};
    else
      d = (besom_digest){base.hi, base.lo ^ d.lo >> (same < 127 ? same - 64 : 63)};
    m->digests[i] = d;
  }
}

static int by_digest(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Equal digests would be one key. */
static void drop_equal_digests(model *m) {
  qsort(m->digests, m->universe, sizeof *m->digests, by_digest);
  size_t n = 0;
  for (size_t i = 0; i < m->universe; i++)
    if (!n || by_digest(&m->digests[n - 1], &m->digests[i])) m->digests[n++] = m->digests[i];
  m->universe = n;
}

/* Keys in the order of their digests, so that a cursor takes them in that order. */
static void sort_keys(model *m) {
  typedef struct pair {
    besom_digest digest;
    uint64_t key;
  } pair;
  pair *all = heap_array(m->universe, sizeof *all);
  for (size_t i = 0; i < m->universe; i++) all[i] = (pair){m->digests[i], m->keys[i]};
  qsort(all, m->universe, sizeof *all, by_digest);
  for (size_t i = 0; i < m->universe; i++) {
    m->digests[i] = all[i].digest;
    m->keys[i] = all[i].key;
  }
  free(all);
}

static void allocate_universe(model *m, size_t n) {
  m->universe = n < 16 ? 16 : n;
  m->keys = heap_array(m->universe, sizeof *m->keys);
  m->digests = heap_array(m->universe, sizeof *m->digests);
  m->copies = heap_array(m->universe, sizeof *m->copies);
  m->marks = heap_array(m->universe, 1);
  m->reported = heap_array(m->universe, 1);
  for (size_t i = 0; i < m->universe; i++) m->keys[i] = key_u64(MEMBERS, i);
}

static void hash_keys(model *m) {
  for (size_t i = 0; i < m->universe; i++) m->digests[i] = besom_hash_u64(m->f, m->keys[i]);
}

/* The filter is empty. */
static void fill_universe(model *m) {
  besom_statistics stats = model_stats(m);
  uint64_t room = stats.capacity > (1 << 20) ? m->most_slots / 8 : stats.capacity;
  allocate_universe(m, (size_t)((2 + model_below(m, 3)) * room));
  m->has_keys =
      m->order != CLUSTERED || m->key_only || !stats.width || stats.width > 64 ||
      (m->can & BESOM_CAN_ADAPT && !m->bound && (m->keeps < AT_ONCE || m->keeps == PER_KEY));
  if (!m->has_keys) {
    make_up_digests(m, &stats);
    drop_equal_digests(m);
    return;
  }
  hash_keys(m);
  if (m->order != RANDOM) sort_keys(m);
}

/* ------------------------------------------------------------------ the store */

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  model *m = ctx;
  uint32_t number = 0;
  const bucket_lists *store = f == m->other ? &m->other_store : &m->store;
  if (++m->reads == m->fail_at) return BESOM_IO;
  if (!bucket_get(store, match->bucket, match->rank, &number))
    model_fail(m, "the filter reads a match that has no record", SIZE_MAX);
  *digest = m->digests[number];
  return BESOM_OK;
}

static besom_status exchange(void *ctx, const besom_filter *f, const besom_match *a,
                             const besom_match *b) {
  model *m = ctx;
  uint32_t of_a = 0, of_b = 0;
  (void)f;
  if (++m->reads == m->fail_at) return BESOM_IO;
  bool has_a = bucket_take(&m->store, a->bucket, a->rank, &of_a);
  bool has_b = bucket_take(&m->store, b->bucket, b->rank, &of_b);
  if (!has_a && !has_b) model_fail(m, "the filter exchanges two matches without records", SIZE_MAX);
  if (has_a) bucket_append(&m->store, b->bucket, of_a);
  if (has_b) bucket_append(&m->store, a->bucket, of_b);
  return BESOM_OK;
}

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  model *m = ctx;
  (void)weight;
  while (m->members_at < m->universe && !m->copies[m->members_at]) m->members_at++;
  if (m->members_at == m->universe) return BESOM_END;
  m->current = besom_u64(m->keys[m->members_at++]);
  *key = (besom_bytes){m->current.bytes, sizeof m->current.bytes};
  return BESOM_OK;
}

static besom_status rewind_members(void *ctx) {
  ((model *)ctx)->members_at = 0;
  return BESOM_OK;
}

void model_bind_to(model *m, besom_filter *f) {
  besom_reverse reverse = {.digest_of = digest_of, .ctx = m, .exchange = exchange};
  model_demand(m, besom_bind(f, &reverse) == BESOM_OK);
}

void model_bind_groups(model *m, besom_filter *f) {
  if (m->config.grouping) model_demand(m, besom_bind_groups(f, m->config.grouping) == BESOM_OK);
}

static void find_abilities_of(model *m) {
  m->can = besom_abilities(m->f);
  m->adapts = m->can & BESOM_CAN_ADAPT;
}

void model_bind(model *m) {
  if (m->bound) model_bind_to(m, m->f);
  model_bind_groups(m, m->f);
  if (m->has_keys && m->can & BESOM_CAN_INSERT && m->can & BESOM_TAKES_SAMPLE)
    model_demand(m, besom_bind_source(m->f, &(besom_source){.next = next_member,
                                                            .rewind = rewind_members,
                                                            .ctx = m}) == BESOM_OK);
  find_abilities_of(m); /* yesno-dynamic: no reports while it is bound */
}

void model_renew(model *m, bool new_seed) {
  find_abilities_of(m);
  if (new_seed && m->has_keys) hash_keys(m);
  m->dropped = model_dropped(m);
}

/* ------------------------------------------------------------------ static kinds */

typedef struct list_source {
  const model *m;
  uint8_t kind; /* 0: members; BUILT_NO: keys with that mark; 255: all others */
  size_t at;
  besom_u64_key key;
} list_source;

static bool is_on_list(const list_source *s, size_t i) {
  if (s->kind == 0) return s->m->copies[i];
  return !s->m->copies[i] && (s->kind == 255 || s->m->marks[i] & s->kind);
}

static besom_status next_of_list(void *ctx, besom_bytes *key, uint64_t *weight) {
  list_source *s = ctx;
  while (s->at < s->m->universe && !is_on_list(s, s->at)) s->at++;
  if (s->at == s->m->universe) return BESOM_END;
  s->key = besom_u64(s->m->keys[s->at++]);
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  if (s->kind == 255) *weight = 1 + s->at % 7;
  return BESOM_OK;
}

static besom_status rewind_list(void *ctx) {
  ((list_source *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_source source_of(list_source *s) {
  return (besom_source){.next = next_of_list, .rewind = rewind_list, .ctx = s};
}

besom_status model_build(model *m, const besom_filter *update, besom_filter **out) {
  bool lists = m->form->kind->abilities & BESOM_CAN_BUILD_NO;
  bool sample = m->form->kind->abilities & BESOM_TAKES_SAMPLE;
  list_source members = {.m = m}, others = {.m = m, .kind = lists ? BUILT_NO : 255},
              was = {.m = m, .kind = 255};
  besom_source yes = source_of(&members), no = source_of(&others), all = source_of(&was);
  besom_input input = {.yes = &yes, .no = lists || sample ? &no : NULL};
  if (update) {
    input.update = update;
    input.was = &all;
  }
  besom_config config = m->config;
  config.capacity = 0;
  return besom_build(update ? NULL : &config, &input, out);
}

static besom_status open_static(model *m) {
  m->has_keys = true;
  m->order = RANDOM;
  allocate_universe(m, (size_t)m->config.capacity);
  uint64_t share = 5 + model_below(m, 91), listed = 20 + model_below(m, 81);
  for (size_t i = 0; i < m->universe; i++) {
    m->copies[i] = i == 0 || model_below(m, 100) < share;
    m->items += m->copies[i];
    if (!m->copies[i] && model_below(m, 100) < listed &&
        m->form->kind->abilities & BESOM_CAN_BUILD_NO)
      m->marks[i] = BUILT_NO;
  }
  return model_build(m, NULL, &m->f);
}

/* Exceptions of a filter without a store: any limit, and at the limit old ones may be forgotten. */
void model_set_reserve(model *m) {
  if (m->bound || model_chance(m, 3)) return;
  uint64_t reports = 1 + model_below(m, m->universe / 4);
  besom_status status = besom_set_reserve(m->f, reports, model_chance(m, 2));
  model_demand(m, status == BESOM_OK || status == BESOM_UNSUPPORTED);
}

bool model_open(model *m, const subject *form, uint64_t seed) {
  *m = (model){
      .counts = m->counts, .episode = m->episode, .repeat = m->repeat, .random = {mix64(seed)}};
  failing_allocator_init(&m->memory);
  choose_form(m, form);
  some_config(m);
  besom_status status = m->is_static ? open_static(m) : create(m);
  if (status == BESOM_UNSUPPORTED || status == BESOM_INVALID || status == BESOM_BAD_OPTION)
    return false;
  model_demand(m, status == BESOM_OK);
  m->can = besom_abilities(m->f);
  if (!m->is_static) fill_universe(m);
  bucket_lists_open(&m->store, m->bound ? m->universe : 1);
  bucket_lists_open(&m->fixed, m->universe / 4);
  bucket_lists_open(&m->values, m->has_values && !m->bound ? m->universe : 1);
  model_renew(m, m->is_static);
  model_bind(m);
  model_set_reserve(m);
  /* With a store, an aqf would refuse most reports: its reserve is full. */
  m->can_empty_reserve = m->bound && !strcmp(m->form->kind->name, "aqf");
  m->rising = true;
  return true;
}

void model_close(model *m) {
  besom_free(m->f);
  const char *mistake = failing_allocator_verdict(&m->memory);
  if (mistake) model_fail(m, mistake, SIZE_MAX);
  failing_allocator_close(&m->memory);
  bucket_lists_close(&m->store);
  bucket_lists_close(&m->fixed);
  bucket_lists_close(&m->values);
  free(m->keys);
  free(m->digests);
  free(m->copies);
  free(m->marks);
  free(m->reported);
}
