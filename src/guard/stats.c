/* Statistics and offenders. */
#include <stddef.h>

#include "guard/guard.h"

/* ------------------------------------------------------------------ numbers */

static uint64_t load_counter(const uint64_t *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* The counters come first in the struct. Each is read atomically, because readers may add to it. */
static void load_counters(const besom_guard_statistics *from, besom_guard_statistics *to) {
  size_t n = offsetof(besom_guard_statistics, keys) / sizeof(uint64_t);
  const uint64_t *in = &from->queries;
  uint64_t *out = &to->queries;
  for (size_t i = 0; i < n; i++) out[i] = load_counter(&in[i]);
}

static double ratio(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}

static void add_filter(const besom_filter *f, besom_guard_statistics *stats) {
  besom_statistics filter;
  if (!f || besom_stats(f, &filter) != BESOM_OK) return;
  stats->keys += filter.keys;
  stats->filter_bytes += filter.bytes;
  if (filter.reserve_used > stats->reserve_used) stats->reserve_used = filter.reserve_used;
}

/* Rates of negative queries. A reader that has counted a false positive has counted the query
   before, but a window may end between two loads. */
static void collect_rates(const besom_guard *g, besom_guard_statistics *stats) {
  uint64_t absent = load_counter(&g->absent), counted = stats->false_positives,
           in_window = absent % WINDOW, window_false = load_counter(&g->window_false);
  stats->filter_negatives = absent > counted ? absent - counted : 0;
  stats->queries += stats->filter_negatives;
  stats->observed_fpr = ratio(counted, counted + stats->filter_negatives);
  if (absent >= WINDOW) stats->window_fpr = ratio(load_counter(&g->last_false), WINDOW);
  stats->current_fpr = ratio(window_false < in_window ? window_false : in_window, in_window);
}

static void collect(const besom_guard *g, besom_guard_statistics *stats) {
  besom_store_statistics store;
  *stats = (besom_guard_statistics){0};
  stats->growths_refused = load_counter(&g->stats.growths_refused);
  stats->rekeys_refused = load_counter(&g->stats.rekeys_refused);
  stats->full_puts = load_counter(&g->stats.full_puts);
  lock_commit(g); /* before the view: gets behind a waiting writer would wait for the disk */
  lock_read(g);
  if (besom_store_stats(g->store, &store) == BESOM_OK) stats->store_bytes = store.bytes;
  add_filter(g->current.filter, stats);
  add_filter(g->next.filter, stats);
  stats->migrating = g->next.filter;
  stats->no_keys = load_counter(&g->no_keys);
  stats->migration_pending = !g->read_only && besom__migration_pending(g);
  stats->unwritten = load_counter(&g->tx_changes);
  stats->bypassed = load_counter(&g->stats.bypassed);
  unlock(g);
  unlock_commit(g);
  load_counters(&g->stats, stats); /* not before a lock: in that time queries would go on */
  collect_rates(g, stats);
}

besom_status besom_guard_stats_sized(const besom_guard *g, besom_guard_statistics *stats,
                                     size_t size) {
  if (!g || !stats) return BESOM_INVALID;
  if (!in_own_process(g)) return BESOM_LOCKED;
  besom_guard_statistics all;
  collect(g, &all);
  besom_copy_struct(stats, size, &all, sizeof all);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ offenders */

static uint64_t proven_count(const besom_offender *x) {
  return x->count - x->error;
}

/* A key that took over another's counter, and was not a false positive since, proves nothing. */
static bool is_offender(const besom_offender *x) {
  return proven_count(x) > 1 || (x->count && !x->error);
}

static void insert_by_count(besom_offender *sorted, size_t n, const besom_offender *x) {
  for (; n && proven_count(&sorted[n - 1]) < proven_count(x); n--) sorted[n] = sorted[n - 1];
  sorted[n] = *x;
}

besom_status besom_guard_offenders_sized(const besom_guard *g, besom_offender *out, size_t stride,
                                         size_t cap, size_t *n) {
  if (!g || !n || (!out && cap)) return BESOM_INVALID;
  if (!in_own_process(g)) return BESOM_LOCKED;
  besom_offender sorted[OFFENDERS + 1];
  size_t found = 0;
  lock_queue(g);
  for (size_t i = 0; i < OFFENDERS; i++)
    if (is_offender(&g->offenders[i].api)) insert_by_count(sorted, found++, &g->offenders[i].api);
  unlock_queue(g);
  if (found > BESOM_OFFENDERS) found = BESOM_OFFENDERS;
  *n = found < cap ? found : cap;
  for (size_t i = 0; i < *n; i++)
    besom_copy_struct((unsigned char *)out + i * stride, stride, &sorted[i], sizeof sorted[i]);
  return BESOM_OK;
}
