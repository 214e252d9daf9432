#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "support/heap.h"
#include "support/reference.h"

/* Kinds whose entries are the quotients and remainders of their keys, whatever was reported. */
static bool has_exact_entries(const model *m) {
  static const char *const kinds[] = {"aqf", "qf", "exaf"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(m->form->kind->name, kinds[i])) return m->can & BESOM_CAN_ITERATE;
  return false;
}

/* The entries are those of the members, one for each copy. */
static void check_entries(model *m, const besom_statistics *stats) {
  size_t n = 0, at = 0;
  address *stored = stored_addresses(m->f, &n);
  model_demand(m, stored && n == m->items);
  address *wanted = heap_array((size_t)m->items, sizeof *wanted);
  for (size_t i = 0; i < m->universe; i++) {
    fingerprint p = fingerprint_of(m->digests[i], stats->slots, stats->width);
    address number = {p.quotient, p.remainder};
    if (stats->width < 64)
      number =
          (address){p.quotient >> (64 - stats->width), p.quotient << stats->width | p.remainder};
    for (uint32_t c = 0; c < m->copies[i]; c++) wanted[at++] = number;
  }
  qsort(wanted, at, sizeof *wanted, compare_addresses);
  if (at != n || memcmp(wanted, stored, n * sizeof *wanted) != 0)
    model_fail(m, "the entries are not those of the members", SIZE_MAX);
  free(wanted);
  free(stored);
}

static void check_counts(model *m) {
  for (size_t i = 0; i < m->universe; i++) {
    uint64_t n = 0;
    if (besom_count_u64(m->f, m->keys[i], &n) != BESOM_OK) model_fail(m, "count fails", i);
    if (n < m->copies[i]) model_fail(m, "a count below the number of copies", i);
  }
}

void model_check_reports(model *m) {
  if (m->reports >= LEAST_REPORTS && m->unfixed > m->reports / MOST_UNFIXED)
    model_fail(m, "too many reported keys are still answered yes", SIZE_MAX);
  if (m->keeps != NO_PROMISE || !(m->can & BESOM_CAN_ADAPT)) return;
  for (size_t i = 0; i < m->universe; i++) {
    if (!m->reported[i] || m->copies[i] || m->marks[i] & NO_LISTED) continue;
    m->counts->reported++;
    m->counts->learned += !besom_contains_digest(m->f, m->digests[i]);
  }
}

void model_check(model *m) {
  const char *reason = NULL;
  if (besom_validate(m->f, &reason) != BESOM_OK)
    model_fail(m, reason ? reason : "not valid", SIZE_MAX);
  besom_statistics stats = model_stats(m);
  bool counts = m->can & BESOM_CAN_COUNT || m->bound;
  uint64_t listed = m->can & BESOM_CAN_NO_LIST_AT && m->bound ? m->store.n - m->items : 0;
  if (counts && !listed ? stats.keys != m->items : stats.keys > m->items + listed)
    model_fail(m, "a wrong number of keys", SIZE_MAX);
  model_demand(m, stats.load_factor >= 0 && stats.reserve_used >= 0);
  model_demand(m, m->is_static || stats.load_factor <= 1); /* static lists may hold the others */
  for (size_t i = 0; i < m->universe; i++)
    model_answer(m, i,
                 m->key_only ? besom_contains_u64(m->f, m->keys[i])
                             : besom_contains_digest(m->f, m->digests[i]));
  if (m->can & BESOM_CAN_COUNT && m->has_keys) check_counts(m);
  if (has_exact_entries(m)) check_entries(m, &stats);
  model_check_values(m);
  m->counts->operations += m->universe;
  m->counts->queries += m->universe;
  m->counts->checks++;
}
