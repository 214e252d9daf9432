#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "support/heap.h"

static bool is_same(const besom_entry *a, const besom_entry *b) {
  return a->quotient == b->quotient && a->remainder == b->remainder && a->count == b->count &&
         a->value == b->value && a->extension_bits == b->extension_bits &&
         a->extension.hi == b->extension.hi && a->extension.lo == b->extension.lo;
}

/* Two iterators of one filter show the same. Between their steps the filter is queried. */
static size_t visit(model *m, besom_entry *out, size_t most) {
  besom_iter one = {.filter = m->f}, two = {.filter = m->f};
  uint64_t last = 0;
  size_t n = 0;
  for (; n < most; n++) {
    besom_entry again;
    besom_status status = besom_iter_next(&one, &out[n]);
    model_demand(m, status == besom_iter_next(&two, &again));
    if (status == BESOM_END) break;
    model_demand(m, status == BESOM_OK && is_same(&out[n], &again) && out[n].count > 0);
    if (out[n].quotient < last) model_fail(m, "entries are not in the order of quotients", n);
    last = out[n].quotient;
    if (!model_chance(m, 16)) continue;
    size_t i = (size_t)model_below(m, m->universe);
    if (!m->key_only) model_answer(m, i, besom_contains_digest(m->f, m->digests[i]));
  }
  return n;
}

/* An aqf in front of a store has an entry per record, in each bucket in the order of the ranks. */
static void compare_with_records(model *m, const besom_entry *entries, size_t n) {
  if (!m->bound || strcmp(m->form->kind->name, "aqf")) return;
  unsigned width = model_stats(m).width;
  bucket_lists shown;
  bucket_lists_open(&shown, n);
  model_demand(m, n == m->store.n);
  for (size_t i = 0; i < n; i++) {
    uint64_t bucket = entries[i].quotient << width | entries[i].remainder;
    uint32_t rank = bucket_append(&shown, bucket, 0);
    const bucket_node *record = bucket_find(&m->store, bucket, rank);
    if (!record || entries[i].count != 1) model_fail(m, "an entry that has no record", i);
    if (entries[i].value != record->value)
      model_fail(m, "an entry has another value", record->number);
  }
  bucket_lists_close(&shown);
}

void model_iterate(model *m) {
  if (!(m->can & BESOM_CAN_ITERATE)) return;
  size_t most = (size_t)(m->items + m->store.n) + 1;
  besom_entry *entries = heap_array(most, sizeof *entries);
  bool whole = model_below(m, 4);
  size_t n = visit(m, entries, whole ? most : model_below(m, most));
  uint64_t copies = 0;
  for (size_t i = 0; i < n; i++) copies += entries[i].count;
  if (whole) {
    model_demand(m, n < most && copies == model_stats(m).keys);
    compare_with_records(m, entries, n);
  }
  m->counts->operations++;
  m->counts->iterations++;
  free(entries);
}
