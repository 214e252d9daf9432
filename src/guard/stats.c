/* Statistics and offenders. */
#include <stddef.h>

#include "core/system/wait.h"
#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/migration/migration.h"

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

static void guard_stats_add_filter(const besom_filter *f, struct observed *now) {
  besom_statistics filter;
  if (!f || besom_stats(f, &filter) != BESOM_OK) return;
  now->keys += filter.keys;
  now->filter_bytes += filter.bytes;
  if (filter.reserve_used > now->reserve_used) now->reserve_used = filter.reserve_used;
  if (filter.expected_fpr > now->expected_fpr) now->expected_fpr = filter.expected_fpr;
}

/* Rates of negative queries. A reader that has counted a false positive has counted the query
   before, but a window may end between two loads. */
static void collect_rates(const besom_guard *g, besom_guard_statistics *stats) {
  uint64_t absent = load_counter(&g->rates.absent), counted = stats->false_positives,
           in_window = absent % WINDOW, window_false = load_counter(&g->rates.window_false);
  stats->filter_negatives = absent > counted ? absent - counted : 0;
  stats->queries += stats->filter_negatives;
  stats->observed_fpr = ratio(counted, counted + stats->filter_negatives);
  if (absent >= WINDOW) stats->window_fpr = ratio(load_counter(&g->rates.last_false), WINDOW);
  stats->current_fpr = ratio(window_false < in_window ? window_false : in_window, in_window);
}

/* While the store writes to disk, its size is that of the last call. */
static uint64_t store_bytes(const besom_guard *g) {
  besom_store_statistics store;
  uint64_t *known = (uint64_t *)&g->store_bytes;
  if (g->locks && !besom__try_lock_commit(g->locks)) return load_counter(known);
  if (besom_store_stats(g->store, &store) == BESOM_OK)
    __atomic_store_n(known, store.bytes, __ATOMIC_RELAXED);
  unlock_commit(g);
  return load_counter(known);
}

/* What only the view tells. It is locked for reading. */
static struct observed observe(const besom_guard *g) {
  struct observed now = {.store_bytes = store_bytes(g)};
  guard_stats_add_filter(g->current.filter, &now);
  guard_stats_add_filter(g->next.filter, &now);
  now.filter_bytes += besom__denials_bytes(g) + besom__front_bytes(g);
  now.migrating = g->next.filter;
  now.migration_pending = !g->read_only && besom__migration_pending(g);
  now.has_front = __atomic_load_n(&g->fronts.asked, __ATOMIC_RELAXED) &&
                  !__atomic_load_n(&g->fronts.refused, __ATOMIC_RELAXED);
  return now;
}

/* False: somebody has the view for long. */
static bool try_to_observe(const besom_guard *g, struct observed *now) {
  enum { ATTEMPTS = 2048 };
  for (unsigned times = 0; times < ATTEMPTS; besom__wait(&times)) {
    if (!besom__try_lock_read(g->locks)) continue;
    *now = observe(g);
    besom__unlock(g->locks);
    return true;
  }
  return false;
}

/* Readers and writers have the view for less than a step of a migration, but a scan, a batch of
   reads, or a store that is reopened may take long. Then what was seen last is told: nobody waits
   for the disk. */
struct observed besom__guard_observe(const besom_guard *g) {
  struct observed *last = (struct observed *)&g->observed, now;
  if (!g->locks) return observe(g);
  bool seen = try_to_observe(g, &now);
  lock_queue(g);
  if (seen)
    *last = now;
  else
    now = *last;
  unlock_queue(g);
  return now;
}

static void guard_stats_collect(const besom_guard *g, besom_guard_statistics *stats) {
  struct observed now = besom__guard_observe(g);
  *stats = (besom_guard_statistics){.keys = now.keys,
                                    .filter_bytes = now.filter_bytes,
                                    .store_bytes = now.store_bytes,
                                    .reserve_used = now.reserve_used,
                                    .migrating = now.migrating,
                                    .migration_pending = now.migration_pending};
  stats->growths_refused = load_counter(&g->stats.growths_refused);
  stats->rekeys_refused = load_counter(&g->stats.rekeys_refused);
  stats->full_puts = load_counter(&g->stats.full_puts);
  stats->no_keys = load_counter(&g->no_keys);
  stats->unwritten = load_counter(&g->tx_changes);
  stats->bypassed = load_counter(&g->stats.bypassed);
  stats->exceptions = load_counter(&g->stats.exceptions);
  stats->exceptions_forgotten = load_counter(&g->stats.exceptions_forgotten);
  load_counters(&g->stats, stats); /* not before a lock: in that time queries would go on */
  collect_rates(g, stats);
}

besom_status besom_guard_stats_sized(const besom_guard *g, besom_guard_statistics *stats,
                                     size_t size) {
  if (!g || !stats) return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  besom_guard_statistics all;
  guard_stats_collect(g, &all);
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
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
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
