/* Statistics and offenders, as structs and as one line of JSON. */
#include <stddef.h>
#include <stdio.h>

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
  stats->keys += filter.items;
  stats->filter_bytes += filter.bytes;
  if (filter.reserve_used > stats->reserve_used) stats->reserve_used = filter.reserve_used;
}

besom_status besom_guard_stats(const besom_guard *g, besom_guard_statistics *stats) {
  if (!g || !stats) return BESOM_INVALID;
  besom_store_statistics store;
  *stats = (besom_guard_statistics){0};
  load_counters(&g->stats, stats);
  lock_read(g);
  add_filter(g->current.filter, stats);
  add_filter(g->next.filter, stats);
  stats->moving = g->next.filter;
  lock_commit(g);
  if (besom_store_stats(g->store, &store) == BESOM_OK) stats->store_bytes = store.bytes;
  unlock_commit(g);
  unlock(g);
  stats->observed_fpr =
      ratio(stats->false_positives, stats->false_positives + stats->filter_negatives);
  if (load_counter(&g->windows)) stats->window_fpr = ratio(load_counter(&g->last_false), WINDOW);
  stats->current_fpr = ratio(load_counter(&g->window_false), load_counter(&g->window_queries));
  return BESOM_OK;
}

/* ------------------------------------------------------------------ offenders */

static void insert_by_count(besom_offender *sorted, size_t n, const besom_offender *x) {
  for (; n && sorted[n - 1].count < x->count; n--) sorted[n] = sorted[n - 1];
  sorted[n] = *x;
}

besom_status besom_guard_offenders(const besom_guard *g, besom_offender *out, size_t cap,
                                   size_t *n) {
  if (!g || !n || (!out && cap)) return BESOM_INVALID;
  besom_offender sorted[OFFENDERS + 1];
  size_t found = 0;
  lock_queue(g);
  for (size_t i = 0; i < OFFENDERS; i++)
    if (g->offenders[i].api.count) insert_by_count(sorted, found++, &g->offenders[i].api);
  unlock_queue(g);
  *n = found < cap ? found : cap;
  if (*n) memcpy(out, sorted, *n * sizeof *out);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ JSON */

/* Output into a buffer. len counts all characters, also those that do not fit. */
struct text {
  char *out;
  size_t size, len;
};

static void put_text(struct text *t, const char *text, size_t len) {
  for (size_t i = 0; i < len; i++, t->len++)
    if (t->len < t->size) t->out[t->len] = text[i];
}

static void put_string(struct text *t, const char *text) {
  put_text(t, text, strlen(text));
}

static void put_name(struct text *t, const char *name) {
  put_string(t, t->len && t->len <= t->size && t->out[t->len - 1] == '{' ? "\"" : ",\"");
  put_string(t, name);
  put_string(t, "\":");
}

static void put_count(struct text *t, const char *name, uint64_t x) {
  char digits[24];
  put_name(t, name);
  put_text(t, digits, (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)x));
}

static void put_number(struct text *t, const char *name, double x) {
  char digits[32];
  put_name(t, name);
  put_text(t, digits, (size_t)snprintf(digits, sizeof digits, "%.6g", x));
}

/* A JSON string has characters: byte b becomes the character with code b. */
static void put_bytes(struct text *t, const uint8_t *bytes, size_t n) {
  char escaped[8];
  for (size_t i = 0; i < n; i++) {
    bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
    if (plain)
      put_text(t, (const char *)&bytes[i], 1);
    else
      put_text(t, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", bytes[i]));
  }
}

/* The names of the counters, in the order of the struct. */
static const char *const counter_names[] = {
    "queries",
    "filter_negatives",
    "store_reads",
    "true_positives",
    "false_positives",
    "repeated_false_positives",
    "adapted",
    "adapt_full",
    "puts",
    "replaced",
    "deletes",
    "put_reads",
    "delete_reads",
    "moved",
    "filter_reads",
    "queued",
    "queue_drops",
    "rekeys",
    "growths",
    "steps",
    "step_items",
    "largest_step",
    "failed_steps",
    "rebuilt",
    "keys",
    "filter_bytes",
    "store_bytes",
};
enum { COUNTERS = sizeof counter_names / sizeof *counter_names };
_Static_assert(offsetof(besom_guard_statistics, moving) == COUNTERS * sizeof(uint64_t),
               "a name for each counter");

static void put_stats(struct text *t, const besom_guard_statistics *stats) {
  const uint64_t *counters = &stats->queries;
  for (size_t i = 0; i < COUNTERS; i++) put_count(t, counter_names[i], counters[i]);
  put_name(t, "moving");
  put_string(t, stats->moving ? "true" : "false");
  put_number(t, "reserve_used", stats->reserve_used);
  put_number(t, "observed_fpr", stats->observed_fpr);
  put_number(t, "window_fpr", stats->window_fpr);
  put_number(t, "current_fpr", stats->current_fpr);
}

static void put_offenders(struct text *t, const besom_offender *offenders, size_t n) {
  put_name(t, "offenders");
  put_string(t, "[");
  for (size_t i = 0; i < n; i++) {
    const besom_offender *o = &offenders[i];
    put_string(t, i ? ",{" : "{");
    put_string(t, "\"key\":\"");
    put_bytes(t, o->key, o->len < sizeof o->key ? o->len : sizeof o->key);
    put_string(t, "\"");
    put_count(t, "length", o->len);
    put_count(t, "count", o->count);
    put_count(t, "error", o->error);
    put_string(t, "}");
  }
  put_string(t, "]");
}

besom_status besom_guard_stats_json(const besom_guard *g, char *out, size_t size, size_t *len) {
  besom_guard_statistics stats;
  besom_offender offenders[OFFENDERS];
  size_t n;
  if (!g || (!out && size)) return BESOM_INVALID;
  besom_status status = besom_guard_stats(g, &stats);
  if (status == BESOM_OK) status = besom_guard_offenders(g, offenders, OFFENDERS, &n);
  if (status != BESOM_OK) return status;
  struct text t = {out, size, 0};
  put_string(&t, "{");
  put_stats(&t, &stats);
  put_offenders(&t, offenders, n);
  put_string(&t, "}");
  if (len) *len = t.len;
  if (size) out[t.len < size ? t.len : 0] = 0;
  return t.len < size ? BESOM_OK : BESOM_FULL;
}
