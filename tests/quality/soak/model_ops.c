#include <string.h>

#include "model.h"
#include "support/counters.h"
#include "support/u64_forms.h"

/* ------------------------------------------------------------------ reported keys */

/* Equal for keys whose insertion may undo the report of the other one. */
static uint64_t class_of(const model *m, besom_digest d) {
  besom_statistics stats = model_stats(m);
  if (m->keeps == PER_KEY) return d.hi;
  if (m->keeps != PER_QUOTIENT) return model_address(m, d);
  return !stats.width || stats.width > 64 ? 0
                                          : fingerprint_of(d, stats.slots, stats.width).quotient;
}

uint64_t model_dropped(const model *m) {
  return counter_of(m->f, "rebuilds") + counter_of(m->f, "forgotten");
}

void model_unfix_all(model *m) {
  for (size_t i = 0; i < m->universe && m->fixed.n; i++) m->marks[i] &= (uint8_t)~FIXED;
  if (m->fixed.n) bucket_lists_clear(&m->fixed);
}

void model_unfix(model *m, besom_digest inserted) {
  uint32_t number = 0;
  if (!m->fixed.n) return;
  uint64_t class = class_of(m, inserted);
  while (bucket_take(&m->fixed, class, 0, &number)) m->marks[number] &= (uint8_t)~FIXED;
}

void model_fix(model *m, size_t i) {
  if (m->selectors) model_unfix(m, m->digests[i]);
  if (m->marks[i] & FIXED) return;
  if (!m->fixed.n) m->dropped = model_dropped(m);
  m->marks[i] |= FIXED;
  bucket_append(&m->fixed, class_of(m, m->digests[i]), (uint32_t)i);
}

static void check_repeat(model *m, size_t i) {
  if (model_dropped(m) == m->dropped) model_fail(m, "a reported false positive is repeated", i);
  model_unfix_all(m);
}

void model_answer(model *m, size_t i, bool yes) {
  if (!yes && m->copies[i]) model_fail(m, "a false negative", i);
  if (!yes || !m->marks[i]) return;
  if (m->marks[i] & (NO_LISTED | BUILT_NO))
    model_fail(m, "a key of the no list is answered yes", i);
  check_repeat(m, i);
}

/* ------------------------------------------------------------------ queries */

size_t model_pick(model *m) {
  if (m->order == RANDOM || model_chance(m, 4)) return (size_t)model_below(m, m->universe);
  m->cursor = m->order == DESCENDING ? m->cursor + m->universe - 1 : m->cursor + 1;
  return m->cursor %= m->universe;
}

enum { BATCH = 16, MOST_MATCHES = 1 << 14 };

static void query_many(model *m, const uint32_t *numbers, bool *yes) {
  besom_digest digests[BATCH];
  uint64_t keys[BATCH], bitmap = 0;
  bool by_key = m->has_keys && (m->key_only || model_chance(m, 2));
  for (size_t i = 0; i < BATCH; i++) {
    keys[i] = m->keys[numbers[i]];
    digests[i] = m->digests[numbers[i]];
  }
  besom_status status = by_key ? besom_contains_many_u64(m->f, keys, BATCH, &bitmap)
                               : besom_contains_many_digest(m->f, digests, BATCH, &bitmap);
  model_demand(m, status == BESOM_OK);
  for (size_t i = 0; i < BATCH; i++) yes[i] = bitmap >> i & 1;
}

static void query_each(model *m, const uint32_t *numbers, bool *yes) {
  if (m->has_keys && model_chance(m, 4))
    for (size_t i = 0; i < BATCH; i++)
      yes[i] = besom_contains(m->f, besom_u64(m->keys[numbers[i]]).bytes, sizeof(uint64_t));
  else if (m->has_keys && (m->key_only || model_chance(m, 2)))
    for (size_t i = 0; i < BATCH; i++) yes[i] = besom_contains_u64(m->f, m->keys[numbers[i]]);
  else
    for (size_t i = 0; i < BATCH; i++) yes[i] = besom_contains_digest(m->f, m->digests[numbers[i]]);
}

/* Most false positives are reported. */
static void report(model *m, size_t i) {
  if (model_chance(m, 4)) return;
  if (m->adapts)
    model_adapt(m, i);
  else if (m->can & BESOM_CAN_NO_LIST_AT)
    model_change_no_list(m, i);
}

void model_query(model *m) {
  uint32_t numbers[BATCH];
  bool yes[BATCH];
  for (size_t i = 0; i < BATCH; i++) numbers[i] = (uint32_t)model_below(m, m->universe);
  if (model_chance(m, 2))
    query_many(m, numbers, yes);
  else
    query_each(m, numbers, yes);
  for (size_t i = 0; i < BATCH; i++) model_answer(m, numbers[i], yes[i]);
  for (size_t i = 0; i < BATCH; i++)
    if (yes[i] && !m->copies[numbers[i]] && !m->marks[numbers[i]]) report(m, numbers[i]);
  if (m->empty_reserve) model_move(m);
  m->empty_reserve = false;
  m->counts->operations += BATCH;
  m->counts->queries += BATCH;
}

/* ------------------------------------------------------------------ failures on purpose */

void model_arm(model *m) {
  if (!model_chance(m, 300)) return;
  m->armed = true;
  m->reads = 0;
  memory_sink_init(&m->before);
  model_demand(m, besom_save(m->f, &m->before.api) == BESOM_OK);
  if (model_chance(m, 2)) m->fail_at = 1 + model_below(m, 4);
  if (!m->fail_at) m->memory.fail_at = m->memory.calls + 1 + model_below(m, 3);
}

bool model_disarm(model *m, besom_status status) {
  if (!m->armed) return false;
  bool read_failed = m->fail_at && m->reads >= m->fail_at;
  bool memory_failed = m->memory.fail_at && m->memory.calls >= m->memory.fail_at;
  m->armed = false;
  m->fail_at = m->memory.fail_at = 0;
  if (status != BESOM_OK && status != BESOM_EVICTED) {
    memory_sink now;
    memory_sink_init(&now);
    model_demand(m, besom_save(m->f, &now.api) == BESOM_OK);
    if (!memory_sinks_equal(&now, &m->before))
      model_fail(m, "a failed call has changed the filter", SIZE_MAX);
    memory_sink_close(&now);
    m->counts->refused++;
  }
  memory_sink_close(&m->before);
  if (read_failed && status == BESOM_IO) return true;
  return memory_failed && (status == BESOM_NO_MEMORY || status == BESOM_RESERVE_FULL);
}

/* ------------------------------------------------------------------ inserts and removes */

static besom_status insert_into_store(model *m, size_t i) {
  besom_match match = {0, 0};
  uint32_t value = model_some_value(m);
  besom_status status = besom_insert_at(m->f, m->digests[i], value, &match);
  if (status != BESOM_OK) return status;
  uint32_t rank = bucket_append(&m->store, match.bucket, (uint32_t)i);
  if (rank != match.rank) model_fail(m, "insert_at reports another rank than the store", i);
  bucket_find(&m->store, match.bucket, rank)->value = value;
  return BESOM_OK;
}

/* Some copies, by one of the calls that insert. Sets *n to the number that was inserted. */
static besom_status insert_copies(model *m, size_t i, uint64_t *n) {
  uint64_t choice = model_below(m, 16);
  *n = 1;
  if (m->bound) return insert_into_store(m, i);
  if (choice == 0 && m->has_keys && m->can & BESOM_CAN_COUNT) {
    *n = 1 + model_below(m, model_chance(m, 8) ? 300 : 4);
    return insert_count_u64(m->f, m->keys[i], *n);
  }
  if (choice < 3 && m->has_keys)
    return besom_insert(m->f, besom_u64(m->keys[i]).bytes, sizeof(uint64_t));
  if (choice < 8 && m->has_keys) return besom_insert_u64(m->f, m->keys[i]);
  return besom_insert_digest(m->f, m->digests[i]);
}

static void inserted(model *m, size_t i, uint64_t n) {
  m->counts->inserts++;
  m->items += n;
  m->copies[i] += (uint32_t)n;
  if (m->keeps >= PER_QUOTIENT) model_unfix(m, m->digests[i]);
  m->marks[i] = 0;
  model_value_inserted(m, i, n);
}

/* Whether there was no room. */
static bool is_refused(model *m, besom_status status) {
  bool refused =
      status == BESOM_FULL || (status == BESOM_RESERVE_FULL && m->can & BESOM_CAN_NO_LIST_AT);
  m->full += refused;
  if (refused) m->rising = false;
  return refused;
}

static besom_status insert_many(model *m, const size_t *numbers, size_t n, size_t *done) {
  besom_digest digests[BATCH];
  besom_bytes bytes[BATCH];
  besom_u64_key keys[BATCH];
  uint64_t choice = m->has_keys ? model_below(m, 3) : 0, integers[BATCH];
  for (size_t k = 0; k < n; k++) {
    digests[k] = m->digests[numbers[k]];
    integers[k] = m->keys[numbers[k]];
    keys[k] = besom_u64(integers[k]);
    bytes[k] = (besom_bytes){keys[k].bytes, sizeof keys[k].bytes};
  }
  if (choice == 1) return besom_insert_many_u64(m->f, integers, n, done);
  return choice ? besom_insert_many(m->f, bytes, n, done)
                : besom_insert_many_digest(m->f, digests, n, done);
}

/* Keys that are neither members nor on the no list, in one call. */
static void insert_batch(model *m) {
  size_t numbers[BATCH], n = 0, done = 0, i = model_below(m, m->universe);
  for (uint64_t left = 1 + model_below(m, BATCH); left; left--, i = (i + 1) % m->universe) {
    if (m->copies[i] || m->marks[i] & (NO_LISTED | BUILT_NO)) continue;
    numbers[n++] = i;
  }
  besom_status status = insert_many(m, numbers, n, &done);
  m->counts->operations += n;
  if (status != BESOM_OK && !is_refused(m, status)) model_fail(m, besom_strerror(status), i);
  for (size_t k = 0; k < done; k++) inserted(m, numbers[k], 1);
  for (size_t k = 0; k < done; k++)
    model_answer(m, numbers[k], besom_contains_digest(m->f, m->digests[numbers[k]]));
}

void model_insert(model *m, size_t i) {
  uint64_t n = 0;
  if (m->is_static || (m->copies[i] && !model_chance(m, 16))) return;
  if (!m->bound && model_chance(m, 100)) {
    insert_batch(m);
    return;
  }
  model_arm(m);
  besom_status status = insert_copies(m, i, &n);
  m->counts->operations++;
  if (model_disarm(m, status) || is_refused(m, status)) return;
  if (status == BESOM_IS_MEMBER && m->marks[i] & NO_LISTED) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
  inserted(m, i, n);
  model_answer(m, i, besom_contains_digest(m->f, m->digests[i]));
}

/* The match of the key itself, as a guard finds it: by comparing the records of all matches. */
static bool own_match(model *m, size_t i, bool no_list, besom_match *own) {
  static besom_match matches[MOST_MATCHES];
  size_t total = 0;
  besom_status status = no_list
                            ? besom_no_matches(m->f, m->digests[i], matches, MOST_MATCHES, &total)
                            : besom_matches(m->f, m->digests[i], matches, MOST_MATCHES, &total);
  model_demand(m, status == BESOM_OK);
  for (size_t at = 0; at < total && at < MOST_MATCHES; at++) {
    uint32_t number = 0;
    if (!bucket_get(&m->store, matches[at].bucket, matches[at].rank, &number))
      model_fail(m, "a match that has no record", i);
    *own = matches[at];
    if (number == i) return true;
  }
  return false;
}

static void drop_record(model *m, besom_match match, size_t i) {
  uint32_t number = 0;
  if (!bucket_take(&m->store, match.bucket, match.rank, &number) || number != i)
    model_fail(m, "removing a key has moved its record", i);
}

static besom_status remove_from_store(model *m, size_t i) {
  besom_match match;
  if (!own_match(m, i, false, &match)) model_fail(m, "a member does not match its record", i);
  besom_status status = besom_remove_at(m->f, &match);
  if (status == BESOM_OK) drop_record(m, match, i);
  return status;
}

static void remove_absent(model *m, size_t i) {
  if (m->bound || besom_contains_digest(m->f, m->digests[i])) return;
  model_demand(m, besom_remove_digest(m->f, m->digests[i]) == BESOM_NOT_FOUND);
  m->counts->operations++;
}

void model_remove(model *m, size_t i) {
  if (!(m->can & BESOM_CAN_REMOVE) && !m->bound) return;
  if (!m->copies[i]) {
    remove_absent(m, i);
    return;
  }
  model_arm(m);
  besom_status status;
  if (m->bound)
    status = remove_from_store(m, i);
  else if (m->has_keys && model_chance(m, 4))
    status = besom_remove(m->f, besom_u64(m->keys[i]).bytes, sizeof(uint64_t));
  else if (m->has_keys && model_chance(m, 2))
    status = besom_remove_u64(m->f, m->keys[i]);
  else
    status = besom_remove_digest(m->f, m->digests[i]);
  m->counts->operations++;
  if (model_disarm(m, status)) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
  m->counts->removes++;
  m->items--;
  m->copies[i]--;
  model_value_removed(m, i);
  if (m->items == 0) m->rising = true;
}

/* ------------------------------------------------------------------ adaptation and the no list */

static bool may_refuse(const model *m, besom_status status) {
  return status == BESOM_RESERVE_FULL || (status == BESOM_NEEDS_STORE && !m->bound);
}

/* Extends one fingerprint after the other, as a caller does that has read their keys already. */
static besom_status adapt_each(model *m, size_t i) {
  besom_match match = {0, 0};
  uint32_t number = 0;
  size_t total = 0;
  for (int n = 0; n < 1000; n++) {
    model_demand(m, besom_matches(m->f, m->digests[i], &match, 1, &total) == BESOM_OK);
    if (!total) return BESOM_OK;
    model_demand(m, bucket_get(&m->store, match.bucket, match.rank, &number));
    besom_status status = besom_adapt_at(m->f, m->digests[i], &match, m->digests[number]);
    if (status != BESOM_OK || m->keeps < AT_ONCE) return status;
    if (m->selectors) model_unfix(m, m->digests[i]); /* also if the next one is refused */
  }
  model_fail(m, "a fingerprint matches after adapt_at", i);
}

static besom_status adapt(model *m, size_t i) {
  if (m->has_keys && model_chance(m, 4))
    return besom_adapt(m->f, besom_u64(m->keys[i]).bytes, sizeof(uint64_t));
  return m->has_keys && model_chance(m, 2) ? besom_adapt_u64(m->f, m->keys[i])
                                           : besom_adapt_digest(m->f, m->digests[i]);
}

/* All of its matches were reported, or only one. */
static void reported(model *m, size_t i, bool all) {
  m->counts->adaptations++;
  m->counts->bound_adaptations += m->bound;
  m->reported[i] = 1;
  if (m->keeps == NO_PROMISE) return;
  bool yes = besom_contains_digest(m->f, m->digests[i]);
  if (m->keeps == MOSTLY) {
    m->reports += all;
    m->unfixed += all && yes;
    return;
  }
  if (yes) model_fail(m, "a reported key is still answered yes", i);
  if (m->keeps >= PER_QUOTIENT) model_fix(m, i);
}

void model_adapt(model *m, size_t i) {
  bool each = m->bound && model_chance(m, 3);
  if (!each) model_arm(m);
  besom_status status = each ? adapt_each(m, i) : adapt(m, i);
  m->counts->operations++;
  if (model_disarm(m, status)) return;
  if (status == BESOM_NEEDS_STORE || status == BESOM_UNSUPPORTED) m->adapts = false;
  if (status == BESOM_RESERVE_FULL && m->can_empty_reserve)
    m->empty_reserve = model_chance(m, 16 + m->items / 32);
  if (may_refuse(m, status)) return;
  if (status == BESOM_EVICTED) model_unfix_all(m);
  if (status != BESOM_OK && status != BESOM_EVICTED) model_fail(m, besom_strerror(status), i);
  reported(m, i, !each);
}

/* yesno-dynamic: entries of the no list have records, too. */
static void change_stored_no_list(model *m, size_t i) {
  besom_match match = {0, 0};
  besom_status status;
  m->counts->operations++;
  model_arm(m);
  if (m->marks[i] & NO_LISTED) {
    if (!own_match(m, i, true, &match)) model_fail(m, "a no entry does not match its record", i);
    status = besom_no_remove_at(m->f, &match);
    if (model_disarm(m, status)) return;
    if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
    drop_record(m, match, i);
    m->marks[i] = 0;
    return;
  }
  bool was_yes = besom_contains_digest(m->f, m->digests[i]);
  status = besom_no_add_at(m->f, m->digests[i], &match);
  if (model_disarm(m, status) || status == BESOM_FULL || status == BESOM_RESERVE_FULL) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
  if (bucket_append(&m->store, match.bucket, (uint32_t)i) != match.rank)
    model_fail(m, "no_add_at reports another rank than the store", i);
  m->marks[i] = NO_LISTED;
  m->counts->adaptations += was_yes;
  m->counts->bound_adaptations += was_yes;
}

void model_change_no_list(model *m, size_t i) {
  if (m->copies[i]) return;
  if (m->can & BESOM_CAN_NO_LIST_AT && m->bound) change_stored_no_list(m, i);
  if (!(m->can & BESOM_CAN_NO_LIST) || !m->has_keys || m->bound) return;
  m->counts->operations++;
  model_arm(m);
  if (m->marks[i] & NO_LISTED) {
    besom_status status = no_remove_u64(m->f, m->keys[i]);
    if (model_disarm(m, status)) return;
    if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
    m->marks[i] &= (uint8_t)~NO_LISTED;
    model_unfix(m, m->digests[i]);
    return;
  }
  besom_status status = no_add_u64(m->f, m->keys[i]);
  if (model_disarm(m, status) || status == BESOM_RESERVE_FULL) return;
  if (status != BESOM_OK) model_fail(m, besom_strerror(status), i);
  m->marks[i] |= NO_LISTED;
  model_answer(m, i, besom_contains_digest(m->f, m->digests[i]));
}
