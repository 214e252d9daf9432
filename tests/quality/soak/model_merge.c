#include <stdlib.h>

#include "model.h"

enum { MOST_ADDED = 64, MOST_LISTED = 16 };

/* A filter that is merged, the keys that were inserted into it, and those of its no list. */
typedef struct partner {
  besom_filter *f;
  uint32_t added[MOST_ADDED], listed[MOST_LISTED];
  size_t n, n_listed;
} partner;

static bool has(const uint32_t *numbers, size_t n, uint32_t i) {
  for (size_t k = 0; k < n; k++)
    if (numbers[k] == i) return true;
  return false;
}

static besom_status insert_into(model *m, besom_filter *other, uint32_t i) {
  besom_match match;
  if (!m->bound) return besom_insert_digest(other, m->digests[i]);
  uint32_t value = model_some_value(m);
  besom_status status = besom_insert_at(other, m->digests[i], value, &match);
  if (status != BESOM_OK) return status;
  if (bucket_append(&m->other_store, match.bucket, i) != match.rank)
    model_fail(m, "insert_at reports another rank than the other store", i);
  bucket_find(&m->other_store, match.bucket, match.rank)->value = value;
  return BESOM_OK;
}

/* Reports some false positives of the partner, of absent keys. */
static void adapt_partner(model *m, const partner *p) {
  for (int tries = 0; tries < 20; tries++) {
    uint32_t i = (uint32_t)model_below(m, m->universe);
    if (m->copies[i] || has(p->added, p->n, i)) continue;
    if (!besom_contains_digest(p->f, m->digests[i])) continue;
    besom_status status = besom_adapt_digest(p->f, m->digests[i]);
    model_demand(m, status == BESOM_OK || status == BESOM_EVICTED || status == BESOM_RESERVE_FULL ||
                        status == BESOM_NEEDS_STORE || status == BESOM_UNSUPPORTED);
  }
}

/* yesno-dynamic: keys that are on no list of the two filters. */
static void list_some(model *m, partner *p) {
  for (int tries = 0; tries < 20 && p->n_listed < MOST_LISTED; tries++) {
    uint32_t i = (uint32_t)model_below(m, m->universe);
    besom_match match;
    if (m->copies[i] || m->marks[i] || has(p->added, p->n, i)) continue;
    if (has(p->listed, p->n_listed, i)) continue;
    besom_status status = besom_no_add_at(p->f, m->digests[i], &match);
    if (status == BESOM_FULL || status == BESOM_RESERVE_FULL) return;
    if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
    if (bucket_append(&m->other_store, match.bucket, i) != match.rank)
      model_fail(m, "no_add_at reports another rank than the other store", i);
    p->listed[p->n_listed++] = i;
  }
}

static void open_partner(model *m, partner *p) {
  size_t wanted = (size_t)model_below(m, MOST_ADDED);
  *p = (partner){.n = 0};
  model_demand(m, besom_create_like(m->f, &p->f) == BESOM_OK);
  m->other = p->f;
  bucket_lists_open(&m->other_store, MOST_ADDED);
  if (m->bound) model_bind_to(m, p->f);
  while (p->n < wanted) {
    uint32_t i = (uint32_t)model_pick(m);
    if (m->marks[i] & NO_LISTED || insert_into(m, p->f, i) != BESOM_OK) break;
    p->added[p->n++] = i;
  }
  if (m->bound && m->adapts) adapt_partner(m, p);
  if (m->bound && m->can & BESOM_CAN_NO_LIST_AT) list_some(m, p);
}

static void close_partner(model *m, partner *p) {
  besom_free(p->f);
  bucket_lists_close(&m->other_store);
  m->other = NULL;
}

/*
 * An exception of one filter is dropped if the other answers yes: its key may be a member there.
 * Exceptions have 127 bits of the digest, so that they deny two digests.
 */
static void drop_exceptions_of(model *m, const besom_filter *other) {
  if (m->bound) return;
  for (size_t i = 0; i < m->universe; i++) {
    besom_digest d = m->digests[i], next = {d.hi, d.lo ^ 1};
    if (!m->marks[i]) continue;
    if (!besom_contains_digest(other, d) && !besom_contains_digest(other, next)) continue;
    m->marks[i] &= (uint8_t)~NO_LISTED;
    if (m->keeps == PER_KEY) model_unfix(m, d);
  }
}

/* In every bucket the records of the partner follow. */
static void join_stores(model *m) {
  size_t n = 0;
  model_record *all = model_records(&m->other_store, &n);
  for (size_t i = 0; i < n; i++) {
    uint32_t rank = bucket_append(&m->store, all[i].bucket, all[i].number);
    bucket_find(&m->store, all[i].bucket, rank)->value = all[i].value;
  }
  free(all);
}

static void merged_with(model *m, const partner *p, besom_filter *merged) {
  drop_exceptions_of(m, p->f);
  join_stores(m);
  model_replace(m, merged);
  if (m->keeps >= PER_QUOTIENT && model_dropped(m)) model_unfix_all(m); /* it began with 0 */
  for (size_t i = 0; i < p->n; i++) {
    size_t key = p->added[i];
    m->copies[key]++;
    m->items++;
    m->marks[key] = 0;
    if (m->keeps >= PER_QUOTIENT) model_unfix(m, m->digests[key]);
    model_value_inserted(m, key, 1);
  }
  for (size_t i = 0; i < p->n_listed; i++) m->marks[p->listed[i]] = NO_LISTED;
  m->counts->merges++;
  m->counts->bound_merges += m->bound;
}

void model_merge(model *m) {
  if (!(m->can & BESOM_CAN_MERGE)) return;
  partner p;
  besom_filter *merged = NULL;
  memory_sink before, after;
  open_partner(m, &p);
  memory_sink_init(&before);
  memory_sink_init(&after);
  model_demand(m, besom_save(p.f, &before.api) == BESOM_OK);
  model_before_new_table(m);
  model_arm(m);
  besom_status status = besom_merge(m->f, p.f, &merged);
  bool failed = model_disarm(m, status);
  m->counts->operations++;
  model_demand(m, besom_save(p.f, &after.api) == BESOM_OK);
  if (!memory_sinks_equal(&before, &after)) model_fail(m, "a merge has changed a filter", SIZE_MAX);
  memory_sink_close(&before);
  memory_sink_close(&after);
  bool refused =
      status == BESOM_FULL || status == BESOM_RESERVE_FULL || status == BESOM_UNSUPPORTED;
  if (!failed && !refused && status != BESOM_OK) model_fail(m, besom_strerror(status), SIZE_MAX);
  if (status == BESOM_OK) merged_with(m, &p, merged);
  close_partner(m, &p);
}
