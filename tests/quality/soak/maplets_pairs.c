#include <string.h>

#include "maplets.h"
#include "support/u64_forms.h"

enum { BATCH = 16 };

static uint8_t bit(unsigned v) {
  return (uint8_t)(1u << v);
}

static maplet_group *group_of(const maplet_model *m, size_t i) {
  return &m->groups[m->keys[i].group];
}

/* ------------------------------------------------------------------ what the model expects */

/*
 * In an aqf without a store no fingerprint is longer than others: a key has the values of all keys
 * with its fingerprint. A chain has fingerprints of several lengths, and one with a store extends
 * them: a key has its own values, and perhaps others.
 */
uint8_t maplet_must(const maplet_model *m, size_t i) {
  const maplet_key *k = &m->keys[i];
  if (m->form == CHAIN || m->form == WITH_STORE) return k->has;
  return group_of(m, i)->has & (uint8_t) ~(k->denied | k->perhaps);
}

uint8_t maplet_may(const maplet_model *m, size_t i) {
  const maplet_key *k = &m->keys[i];
  unsigned all = m->form == CHAIN ? (1u << m->n_values) - 1 : group_of(m, i)->has;
  return (uint8_t)(all & ~(unsigned)k->denied);
}

/* The values as a mask; fails if they are not distinct and ascending values of the model. */
static uint8_t mask_of(const maplet_model *m, size_t i, const uint64_t *out, size_t n) {
  uint8_t mask = 0;
  size_t at = 0;
  for (unsigned v = 0; v < m->n_values && at < n; v++)
    if (out[at] == m->values[v]) {
      mask |= bit(v);
      at++;
    }
  if (at < n) maplet_fail(m, "candidates that no pair has, or in a wrong order", i);
  return mask;
}

static void compare(const maplet_model *m, size_t i, uint8_t got) {
  uint8_t must = maplet_must(m, i);
  if (m->keys[i].has & ~got) maplet_fail(m, "a member misses a value", i);
  if (must & ~got) maplet_fail(m, "a candidate is missing", i);
  if (got & ~maplet_may(m, i)) maplet_fail(m, "a candidate that was reported, or of no pair", i);
  m->counts->queries++;
  m->counts->operations++;
  m->counts->shared += m->form != CHAIN && m->keys[i].has && group_of(m, i)->has != m->keys[i].has;
}

uint8_t maplet_ask(const maplet_model *m, const besom_filter *f, size_t i) {
  besom_u64_key key = besom_u64(m->keys[i].key);
  uint64_t out[MOST_VALUES];
  size_t n = 0;
  maplet_demand(m, besom_get_values(f, key.bytes, 8, out, MOST_VALUES, &n) == BESOM_OK &&
                       n <= MOST_VALUES);
  return mask_of(m, i, out, n);
}

/* ------------------------------------------------------------------ queries */

/* Of a few calls on one key, all must agree. */
static void query_one(maplet_model *m, size_t i) {
  uint64_t out[MOST_VALUES + 1], value = 0, copies = 0;
  size_t n = 0, room = (size_t)maplet_below(m, MOST_VALUES + 1);
  uint8_t got = maplet_ask(m, m->f, i);
  compare(m, i, got);
  maplet_demand(m, besom_contains_u64(m->f, m->keys[i].key) == (got != 0));
  out[room] = UINT64_MAX;
  maplet_demand(m, besom_get_values_digest(m->f, m->keys[i].digest, room ? out : NULL, room, &n) ==
                       BESOM_OK);
  unsigned wanted = (unsigned)__builtin_popcount(got);
  if (n < wanted || (n > wanted && n <= room) || out[room] != UINT64_MAX)
    maplet_fail(m, "a wrong number of candidates", i);
  uint8_t smallest = mask_of(m, i, out, wanted < room ? wanted : room);
  if ((got & ((2u << (31 - __builtin_clz(smallest | 1u))) - 1u)) != smallest && smallest)
    maplet_fail(m, "with little room, the candidates are not the smallest", i);
  besom_status only = get_value_u64(m->f, m->keys[i].key, &value);
  maplet_demand(m, only == (wanted > 1 ? BESOM_AMBIGUOUS : wanted ? BESOM_OK : BESOM_NOT_FOUND));
  if (wanted == 1) maplet_demand(m, value == m->values[__builtin_ctz(got)]);
  if (m->form == AS_SET) return;
  maplet_demand(m, besom_count_u64(m->f, m->keys[i].key, &copies) == BESOM_OK);
  for (unsigned v = 0; v < m->n_values; v++) {
    uint64_t own = m->keys[i].copies[v];
    maplet_demand(m, copies >= own);
    copies -= own;
  }
}

static void query_many(maplet_model *m) {
  uint64_t keys[BATCH], out[BATCH * MOST_VALUES];
  size_t numbers[BATCH], starts[BATCH + 1], done = 0;
  size_t room = maplet_chance(m, 4) ? (size_t)maplet_below(m, BATCH) : BATCH * MOST_VALUES;
  for (size_t k = 0; k < BATCH; k++) keys[k] = m->keys[numbers[k] = maplet_some_key(m)].key;
  maplet_demand(m,
                besom_get_values_many_u64(m->f, keys, BATCH, out, room, starts, &done) == BESOM_OK);
  maplet_demand(m, done == BATCH || room < BATCH * MOST_VALUES);
  for (size_t k = 0; k < done; k++)
    compare(m, numbers[k], mask_of(m, numbers[k], out + starts[k], starts[k + 1] - starts[k]));
}

void maplet_query(maplet_model *m) {
  if (maplet_below(m, 3))
    query_many(m);
  else
    for (int n = 0; n < 4; n++) query_one(m, maplet_some_key(m));
}

/* ------------------------------------------------------------------ pairs come and go */

void maplet_count_in(maplet_model *m, size_t i, unsigned v) {
  maplet_key *k = &m->keys[i];
  maplet_group *group = group_of(m, i);
  bool known = m->form == AS_SET && group->has & bit(v);
  if (m->form != AS_SET || !k->copies[v]) k->copies[v]++;
  group->copies[v] += !known;
  m->pairs += !known;
  group->has |= bit(v);
  k->has |= bit(v);
  k->denied &= (uint8_t)~bit(v);
  k->perhaps &= (uint8_t)~bit(v);
  if (m->form != WITH_STORE) return;
  for (uint32_t at = group->first; at < group->first + group->n; at++)
    m->keys[m->order[at]].denied &= (uint8_t)~bit(v); /* the new fingerprint has no extension */
}

void maplet_count_out(maplet_model *m, size_t i, unsigned v) {
  maplet_key *k = &m->keys[i];
  maplet_group *group = group_of(m, i);
  if (!--k->copies[v]) k->has &= (uint8_t)~bit(v);
  if (!--group->copies[v]) group->has &= (uint8_t)~bit(v);
  m->pairs--;
}

/* ------------------------------------------------------------------ inserts */

static besom_status insert_with_record(maplet_model *m, size_t i, unsigned v) {
  besom_match match = {0, 0};
  besom_status status = besom_insert_at(m->f, m->keys[i].digest, m->values[v], &match);
  if (status != BESOM_OK) return status;
  uint32_t rank = bucket_append(&m->store, match.bucket, (uint32_t)i);
  if (rank != match.rank) maplet_fail(m, "insert_at reports another rank than the store", i);
  bucket_find(&m->store, match.bucket, rank)->value = v;
  return BESOM_OK;
}

static besom_status insert_pair(maplet_model *m, size_t i, unsigned v) {
  besom_u64_key key = besom_u64(m->keys[i].key);
  if (m->form == WITH_STORE) return insert_with_record(m, i, v);
  if (!v && maplet_chance(m, 4)) return besom_insert_u64(m->f, m->keys[i].key);
  if (maplet_chance(m, 2)) return besom_insert_value(m->f, key.bytes, 8, m->values[v]);
  return besom_insert_value_digest(m->f, m->keys[i].digest, m->values[v]);
}

void maplet_insert(maplet_model *m, size_t i, unsigned v) {
  if (m->keys[i].copies[v] >= MOST_COPIES) return;
  maplet_arm(m);
  besom_status status = insert_pair(m, i, v);
  m->counts->operations++;
  if (maplet_disarm(m, status)) return;
  if (status == BESOM_FULL) {
    m->rising = false;
    return;
  }
  if (status != BESOM_OK) maplet_fail(m, besom_strerror(status), i);
  maplet_count_in(m, i, v);
  m->counts->inserts++;
}

void maplet_insert_many(maplet_model *m) {
  uint64_t keys[BATCH], values[BATCH];
  size_t numbers[BATCH], done = 0;
  unsigned which[BATCH];
  if (m->form == WITH_STORE) return;
  for (size_t k = 0; k < BATCH; k++) {
    numbers[k] = maplet_some_key(m);
    keys[k] = m->keys[numbers[k]].key;
    values[k] = m->values[which[k] = maplet_some_value(m)];
    if (m->keys[numbers[k]].copies[which[k]] >= MOST_COPIES) return;
  }
  besom_status status = besom_insert_values_many_u64(m->f, keys, values, BATCH, &done);
  maplet_demand(m, status == BESOM_FULL ? done < BATCH : status == BESOM_OK && done == BATCH);
  for (size_t k = 0; k < done; k++) maplet_count_in(m, numbers[k], which[k]);
  m->counts->operations += done;
  m->counts->inserts += done;
}

/* ------------------------------------------------------------------ removes and replaces */

/* The first record of the pair. */
static besom_status remove_record(maplet_model *m, size_t i, unsigned v) {
  fingerprint p = fingerprint_of(m->keys[i].digest, m->slots, m->width);
  besom_match at = {p.quotient << m->width | p.remainder, 0};
  uint32_t number = 0;
  const bucket_node *node = bucket_find(&m->store, at.bucket, 0);
  while (node && (node->number != i || node->value != v))
    node = bucket_find(&m->store, at.bucket, ++at.rank);
  if (!node) maplet_fail(m, "a pair without a record", i);
  besom_status status = besom_remove_at(m->f, &at);
  if (status == BESOM_OK) bucket_take(&m->store, at.bucket, at.rank, &number);
  return status;
}

static void removed(maplet_model *m, size_t i, unsigned v) {
  maplet_count_out(m, i, v);
  m->counts->operations++;
  m->counts->removes++;
}

/* Pairs of the key only; or if there is none, and no candidate either, it is NOT_FOUND. */
void maplet_remove(maplet_model *m, size_t i, unsigned v) {
  besom_u64_key key = besom_u64(m->keys[i].key);
  bool member = m->keys[i].has & bit(v);
  if (!member && (m->form == WITH_STORE || maplet_ask(m, m->f, i) & bit(v))) return;
  maplet_arm(m);
  besom_status status = m->form == WITH_STORE
                            ? remove_record(m, i, v)
                            : besom_remove_value(m->f, key.bytes, 8, m->values[v]);
  if (maplet_disarm(m, status)) return;
  if (m->form == AS_SET)
    maplet_demand(m, status == BESOM_UNSUPPORTED);
  else if (status != (member ? BESOM_OK : BESOM_NOT_FOUND))
    maplet_fail(m, besom_strerror(status), i);
  if (status == BESOM_OK) removed(m, i, v);
}

void maplet_remove_key(maplet_model *m, size_t i) {
  uint8_t got = maplet_ask(m, m->f, i);
  int n = __builtin_popcount(got);
  if (m->form == WITH_STORE || m->form == AS_SET || (n == 1 && m->keys[i].has != got)) return;
  besom_status status = besom_remove_u64(m->f, m->keys[i].key);
  maplet_demand(m, status == (n > 1 ? BESOM_AMBIGUOUS : n ? BESOM_OK : BESOM_NOT_FOUND));
  if (n == 1) removed(m, i, (unsigned)__builtin_ctz(got));
}

static void exchanged(maplet_model *m, size_t i, unsigned v, unsigned by) {
  maplet_count_out(m, i, v);
  maplet_count_in(m, i, by);
  m->counts->operations++;
  m->counts->replaces++;
}

void maplet_replace_pair(maplet_model *m, size_t i, unsigned v, unsigned by) {
  besom_u64_key key = besom_u64(m->keys[i].key);
  bool member = m->keys[i].has & bit(v);
  if (m->form == WITH_STORE || m->keys[i].copies[by] >= MOST_COPIES) return;
  if (!member && maplet_ask(m, m->f, i) & bit(v)) return;
  maplet_arm(m);
  besom_status status = besom_replace_value(m->f, key.bytes, 8, m->values[v], m->values[by]);
  if (maplet_disarm(m, status)) return;
  if (m->form == AS_SET) maplet_demand(m, status == BESOM_UNSUPPORTED);
  if (m->form == AS_SET) return;
  if (status == BESOM_FULL) {
    maplet_demand(m, m->form == CHAIN || group_of(m, i)->copies[v] > 1);
    return;
  }
  if (status != (member ? BESOM_OK : BESOM_NOT_FOUND)) maplet_fail(m, besom_strerror(status), i);
  if (member && v != by) exchanged(m, i, v, by);
}

/* Of members. It is their own value that changes, or it is AMBIGUOUS. */
void maplet_set_value(maplet_model *m, size_t i, unsigned by) {
  const maplet_key *k = &m->keys[i];
  uint64_t copies = 0;
  if (m->form == WITH_STORE || m->form == AS_SET || !k->has) return;
  uint8_t got = maplet_ask(m, m->f, i);
  for (unsigned v = 0; v < m->n_values; v++)
    if (got & bit(v)) copies += m->form == CHAIN ? k->copies[v] : group_of(m, i)->copies[v];
  besom_status status = set_value_u64(m->f, k->key, m->values[by]);
  if (status == BESOM_AMBIGUOUS && (copies > 1 || m->form == CHAIN)) return;
  if (status != BESOM_OK || copies > 1) maplet_fail(m, "set_value of several pairs", i);
  exchanged(m, i, (unsigned)__builtin_ctz(k->has), by);
}

/* ------------------------------------------------------------------ reports */

/* It was at its limit: any other report may be forgotten. */
static void forget_some(maplet_model *m) {
  for (size_t i = 0; i < m->n_keys; i++) {
    m->keys[i].perhaps |= m->keys[i].denied;
    m->keys[i].denied = 0;
  }
}

/* Whether the report was taken. */
static bool was_taken(maplet_model *m, besom_status status, size_t i) {
  m->counts->operations++;
  if (maplet_disarm(m, status)) return false;
  if (status == BESOM_RESERVE_FULL) {
    m->full_reserve |= m->form == WITH_STORE;
    return false;
  }
  if (status == BESOM_EVICTED) forget_some(m);
  if (status != BESOM_OK && status != BESOM_EVICTED) maplet_fail(m, besom_strerror(status), i);
  m->counts->adaptations++;
  return true;
}

void maplet_adapt(maplet_model *m, size_t i, unsigned v) {
  besom_u64_key key = besom_u64(m->keys[i].key);
  maplet_key *k = &m->keys[i];
  bool member = k->has & bit(v), wrong = maplet_ask(m, m->f, i) & bit(v);
  if (member && (m->form != WITH_STORE || !maplet_chance(m, 8))) return;
  if (!member && !wrong && !maplet_chance(m, 8)) return;
  maplet_arm(m);
  besom_status status = besom_adapt_value(m->f, key.bytes, 8, m->values[v]);
  if (member && status == BESOM_IS_MEMBER) {
    maplet_disarm(m, status);
    return;
  }
  if (!was_taken(m, status, i)) return;
  maplet_demand(m, !member);
  if (wrong) k->denied |= bit(v);
  if (maplet_ask(m, m->f, i) & bit(v)) maplet_fail(m, "a reported candidate is still there", i);
}

void maplet_adapt_key(maplet_model *m, size_t i) {
  maplet_key *k = &m->keys[i];
  uint8_t wrong = maplet_ask(m, m->f, i);
  if (k->has || !wrong) return;
  maplet_arm(m);
  if (!was_taken(m, besom_adapt_u64(m->f, k->key), i)) return;
  k->denied |= wrong;
  if (maplet_ask(m, m->f, i)) maplet_fail(m, "a reported key still has candidates", i);
}
