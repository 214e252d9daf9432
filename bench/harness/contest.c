#include "harness/contest.h"

#include <stdio.h>
#include <stdlib.h>

#include "besom_store.h"
#include "fail.h"
#include "harness/interval.h"
#include "workloads/key_stream.h"

enum { STEP_ITEMS = 256 };

/* Of the memory, for exceptions. A pqf has one size at about 12 bits per key, so it gets what is
 * left of them. */
static const double exception_share = 0.12, pqf_exception_share = 0.02;
static const double tolerance = 1.05; /* of the memory: tables have rounded sizes */

const char *const design_names[DESIGNS] = {
    "bloom",      "ribbon",     "learned",        "stacked_bloom", "stacked_fuse",
    "cached",     "adapt",      "ribbon_reports", "fuse_reports",  "blocked_reports",
    "cf_reports", "qf_reports", "pqf_reports",    "adapt_store",   "adapt_half",
    "adapt_once", "taf_store",  "broom_store"};

static const struct {
  const char *kind, *options;
} kinds[DESIGNS] = {{"bloom", NULL},
                    {"ribbon", NULL},
                    {"learned", NULL},
                    {"stacked", "base=bloom"},
                    {"stacked", "base=fuse"},
                    {"cached", "base=bloom"},
                    {"aqf", NULL},
                    {"ribbon", NULL},
                    {"fuse", NULL},
                    {"blocked-bloom", NULL},
                    {"cf", NULL},
                    {"qf", NULL},
                    {"pqf", NULL},
                    {"aqf", "form=published"},
                    {"aqf", "form=published"},
                    {"aqf", "form=published"},
                    {"taf", NULL},
                    {"broom", NULL}};

bool design_is_trained(design d) {
  return d == LEARNED || d == STACKED_BLOOM || d == STACKED_FUSE;
}

static bool design_adapts(design d) {
  return d >= CACHED;
}

bool design_has_store(design d) {
  return d >= ADAPT_STORE;
}

bool design_fits(design d) {
  return d != ADAPT_STORE;
}

bool design_takes_reports(design d) {
  return d >= ADAPT && d <= PQF_REPORTS;
}

bool design_is_dynamic(design d) {
  return d == ADAPT || d == CF_REPORTS || d == QF_REPORTS || d == PQF_REPORTS ||
         design_has_store(d);
}

/* ------------------------------------------------------------------ creating */

/* Gives NULL if there is no filter that small. */
static besom_filter *build(const besom_config *config, text_list *members, besom_workload *sample) {
  besom_source yes = text_list_source(members, members->n), no = {0};
  besom_filter *f = NULL;
  if (sample) no = besom_workload_source(sample);
  besom_status status =
      besom_build(config, &(besom_input){.yes = &yes, .no = sample ? &no : NULL}, &f);
  if (status != BESOM_INVALID) check(status, "building %s", config->kind);
  return f;
}

/* Gives NULL if there is no filter that small. */
static besom_guard *fill_guard(design d, const besom_config *config, const text_list *members) {
  besom_store *store;
  besom_guard *guard;
  bool rekeys = d == ADAPT_STORE || d == ADAPT_HALF;
  besom_guard_config g = {.filter = config, .grow_at = 1, .rekey_at = rekeys ? 1 : 2};
  check(besom_store_memory(NULL, &store), "creating a store");
  besom_status status = besom_guard_open(&g, store, &guard);
  if (status == BESOM_INVALID && d != ADAPT_STORE) {
    besom_store_close(store);
    return NULL;
  }
  check(status, "opening a guard");
  for (size_t i = 0; i < members->n; i++)
    check(besom_guard_put(guard, members->lines[i].data, members->lines[i].len, NULL, 0,
                          BESOM_PUT_NEW),
          "storing a key");
  return guard;
}

static besom_guard_statistics guard_stats(const contestant *c) {
  besom_guard_statistics stats;
  check(besom_guard_stats(c->guard, &stats), "statistics of a guard");
  return stats;
}

static void note_memory(contestant *c) {
  besom_statistics stats;
  if (c->own) check(besom_stats(c->own, &stats), "statistics of a filter");
  uint64_t bytes = c->own ? stats.bytes : c->guard ? guard_stats(c).filter_bytes : 0;
  if (bytes > c->most_bytes) c->most_bytes = bytes;
}

contestant contestant_create(design d, double bits, text_list *members, besom_workload *sample,
                             uint64_t seed) {
  uint8_t hash[16];
  char options[64];
  hash_seed(seed, hash);
  besom_config config = {.kind = kinds[d].kind,
                         .options = kinds[d].options,
                         .capacity = members->n,
                         .bits_per_key = bits,
                         .seed = hash};
  contestant c = {.design = d};
  if (design_takes_reports(d)) {
    double share = d == PQF_REPORTS ? pqf_exception_share : exception_share;
    double exceptions = share * bits * (double)members->n / EXCEPTION_BITS;
    snprintf(options, sizeof options, "forget=yes,max_exceptions=%.0f", exceptions);
    config.options = options;
    config.bits_per_key = (1 - share) * bits;
  }
  if (d == ADAPT_HALF) config.bits_per_key = bits / 2;
  if (design_has_store(d))
    c.guard = fill_guard(d, &config, members);
  else
    c.own = build(&config, members, design_is_trained(d) ? sample : NULL);
  note_memory(&c);
  return c;
}

void contestant_free(contestant *c) {
  check(besom_guard_close(c->guard), "closing a guard");
  besom_free(c->own);
  free(c->answers);
  *c = (contestant){0};
}

/* ------------------------------------------------------------------ querying */

static bool query_guard(contestant *c, besom_bytes key) {
  if (!c->migrating && !besom_contains(besom_guard_filter(c->guard), key.data, key.len))
    return false;
  besom_status status = besom_guard_get(c->guard, key.data, key.len, NULL);
  if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
  uint64_t before = c->false_positives;
  c->false_positives = guard_stats(c).false_positives;
  if (c->false_positives == before) return false;
  bool finished;
  check(besom_guard_step(c->guard, STEP_ITEMS, &finished), "a step");
  c->migrating = !finished;
  return true;
}

static bool query_own(contestant *c, besom_bytes key) {
  if (!besom_contains(c->own, key.data, key.len)) return false;
  if (!design_adapts(c->design)) return true;
  besom_status status = besom_adapt(c->own, key.data, key.len);
  if (status != BESOM_EVICTED && status != BESOM_RESERVE_FULL) check(status, "adapting");
  return true;
}

bool contestant_query(contestant *c, besom_bytes key) {
  if (!c->guard && !c->own) return true;
  bool hit = c->guard ? query_guard(c, key) : query_own(c, key);
  if (hit) note_memory(c);
  return hit;
}

bool contestant_query_line(contestant *c, const text_list *absent, size_t line) {
  if (design_adapts(c->design)) return contestant_query(c, absent->lines[line]);
  if (!c->answers) c->answers = allocate(absent->n, 1);
  if (!c->answers[line]) c->answers[line] = contestant_query(c, absent->lines[line]) ? 2 : 1;
  return c->answers[line] == 2;
}

void contestant_insert(contestant *c, besom_bytes key) {
  if (c->guard)
    check(besom_guard_put(c->guard, key.data, key.len, NULL, 0, BESOM_PUT_NEW), "storing a key");
  else if (c->own)
    check(besom_insert(c->own, key.data, key.len), "inserting a key");
}

void contestant_remove(contestant *c, besom_bytes key) {
  if (c->guard)
    check(besom_guard_delete(c->guard, key.data, key.len), "deleting a key");
  else if (c->own)
    check(besom_remove(c->own, key.data, key.len), "removing a key");
}

/* ------------------------------------------------------------------ who is best */

static bool is_judged(const standings *s, design d, bool map_counted) {
  return s->rates[d].count && design_fits(d) && s->most_bits[d] <= tolerance * s->bits &&
         !(map_counted && design_has_store(d));
}

design standings_best(const standings *s, bool map_counted) {
  design best = PLAIN_RIBBON;
  for (design d = 0; d < DESIGNS; d++)
    if (is_judged(s, d, map_counted) &&
        interval_of(&s->rates[d]).mean < interval_of(&s->rates[best]).mean)
      best = d;
  return best;
}

bool standings_may_win(const standings *s, design d, bool map_counted) {
  design best = standings_best(s, map_counted);
  return is_judged(s, d, map_counted) &&
         interval_of(&s->rates[d]).low <= interval_of(&s->rates[best]).high;
}

const char *standings_word(const standings *s, design d, bool map_counted) {
  if (!is_judged(s, d, map_counted)) return "-";
  if (d == standings_best(s, map_counted)) return "yes";
  return standings_may_win(s, d, map_counted) ? "tie" : "no";
}

void standings_free(standings *s) {
  for (design d = 0; d < DESIGNS; d++) samples_free(&s->rates[d]);
}
