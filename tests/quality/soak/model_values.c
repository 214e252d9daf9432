#include "model.h"
#include "support/u64_forms.h"

uint64_t model_address(const model *m, besom_digest d) {
  besom_statistics stats = model_stats(m);
  if (!stats.width || stats.width > 64) return 0;
  fingerprint p = fingerprint_of(d, stats.slots, stats.width);
  return stats.width < 64
             ? mix64(p.quotient >> (64 - stats.width)) ^ (p.quotient << stats.width | p.remainder)
             : mix64(p.quotient) ^ p.remainder;
}

uint32_t model_some_value(model *m) {
  return m->has_values ? (uint32_t)model_below(m, UINT64_C(1) << m->config.value_bits) : 0;
}

/* Layers have values of their own; which one is shown is not modelled. */
static bool is_modelled(const model *m) {
  return m->has_values && !(m->can & BESOM_CAN_SCALE);
}

/* ------------------------------------------------------------------ what the values are */

void model_value_inserted(model *m, size_t i, uint64_t n) {
  if (!is_modelled(m) || m->bound) return;
  uint64_t address = model_address(m, m->digests[i]);
  bucket_node *node = bucket_find(&m->values, address, 0);
  if (node)
    node->number += (uint32_t)n;
  else
    bucket_append(&m->values, address, (uint32_t)n);
}

void model_value_removed(model *m, size_t i) {
  uint32_t copies = 0;
  if (!is_modelled(m) || m->bound) return;
  uint64_t address = model_address(m, m->digests[i]);
  bucket_node *node = bucket_find(&m->values, address, 0);
  model_demand(m, node && node->number);
  if (--node->number == 0) bucket_take(&m->values, address, 0, &copies);
}

void model_values_zero(model *m) {
  if (!is_modelled(m) || m->bound) return;
  bucket_lists_clear(&m->values);
  for (size_t i = 0; i < m->universe; i++)
    if (m->copies[i]) model_value_inserted(m, i, m->copies[i]);
}

/* Whether set_value finds a fingerprint of one key and one copy, or of several. */
typedef enum matching { ONE, SEVERAL } matching;

/*
 * Where the value of a member is: it is that of the first match. An unbound filter counts equal
 * fingerprints, or stores them again where a count would take more slots.
 */
static bucket_node *value_of(model *m, size_t i, matching *how) {
  besom_match first;
  size_t total = 0;
  if (!m->bound) {
    bucket_node *node = bucket_find(&m->values, model_address(m, m->digests[i]), 0);
    *how = node->number == 1 ? ONE : SEVERAL;
    return node;
  }
  model_demand(m, besom_matches(m->f, m->digests[i], &first, 1, &total) == BESOM_OK && total);
  *how = total == 1 ? ONE : SEVERAL;
  return bucket_find(&m->store, first.bucket, first.rank);
}

/* ------------------------------------------------------------------ calls */

static void compare(model *m, size_t i, uint32_t wanted) {
  uint64_t value = 0;
  besom_status status = get_value_u64(m->f, m->keys[i], &value);
  if (status != BESOM_OK) model_fail(m, "a member has no value", i);
  if (value != wanted) model_fail(m, "a member has another value", i);
}

static void compare_absent(model *m, size_t i) {
  uint64_t value = 0;
  if (besom_contains_digest(m->f, m->digests[i])) return;
  if (get_value_u64(m->f, m->keys[i], &value) != BESOM_NOT_FOUND)
    model_fail(m, "a key that is answered no has a value", i);
  if (set_value_u64(m->f, m->keys[i], 0) != BESOM_NOT_FOUND)
    model_fail(m, "a key that is answered no gets a value", i);
}

/* Kinds with layers: what was set is read again. */
static void set_in_layers(model *m, size_t i) {
  uint32_t fresh = model_some_value(m);
  besom_status status = set_value_u64(m->f, m->keys[i], fresh);
  if (status == BESOM_OK) compare(m, i, fresh);
  if (status != BESOM_OK && status != BESOM_AMBIGUOUS) model_fail(m, besom_strerror(status), i);
}

static void set(model *m, size_t i) {
  matching how = ONE;
  bucket_node *node = value_of(m, i, &how);
  uint32_t fresh = model_some_value(m);
  compare(m, i, node->value);
  if (set_value_u64(m->f, m->keys[i], UINT64_C(1) << m->config.value_bits) != BESOM_INVALID)
    model_fail(m, "a value that does not fit is accepted", i);
  model_arm(m);
  besom_status status = set_value_u64(m->f, m->keys[i], fresh);
  if (model_disarm(m, status)) return;
  if (status != (how == ONE ? BESOM_OK : BESOM_AMBIGUOUS)) model_fail(m, besom_strerror(status), i);
  if (status == BESOM_OK) node->value = fresh;
  compare(m, i, node->value);
}

void model_use_value(model *m, size_t i) {
  if (!m->has_values || !m->has_keys || !(m->can & BESOM_CAN_VALUE)) return;
  m->counts->operations++;
  m->counts->values++;
  if (!m->copies[i])
    compare_absent(m, i);
  else if (is_modelled(m))
    set(m, i);
  else
    set_in_layers(m, i);
}

void model_check_values(model *m) {
  if (!is_modelled(m) || !m->has_keys) return;
  for (size_t i = 0; i < m->universe; i++) {
    matching how;
    if (m->copies[i]) compare(m, i, value_of(m, i, &how)->value);
  }
}
