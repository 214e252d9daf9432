/*
 * soak_adversary --seed S --amount QUERIES --kind KIND: a guard whose queries are chosen by an
 * adversary that sees which of them were false positives. It looks for new ones, repeats those that
 * it knows, runs in small loops over them, and prefers keys that were false positives again.
 *
 * Answers must be exact. For kinds with a sustained false-positive rate (aqf, exaf and taf with
 * rekeys, utaf, broom) the rate over every window of a guard's life must be at most its target,
 * within 6 standard deviations. Of all kinds, so must be the rate of the keys of the window that
 * were never queried before. Memory must stay within that of two filters.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "besom_guard.h"
#include "besom_store.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/keys.h"

/* One guard in ten lives for LONG_LIFE windows, the others for WINDOWS. */
enum { KNOWN = 4096, HOT = 32, WINDOW = 100000, WINDOWS = 10, LONG_LIFE = 200, STEP_ITEMS = 64 };

static const struct {
  const char *name;
  bool sustained, rekeys;
} kinds[] = {{"aqf", true, true},
             {"exaf", true, true},
             {"taf", true, true},
             {"utaf", true, false},
             {"broom", true, false},
             {"acf-cyclic", false, false},
             {"acf-swapping", false, false},
             {"acf-cuckooing", false, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct results {
  uint64_t queries, false_positives, repeated, rekeys, guards, long_lives, changes;
} results;

typedef struct attack {
  besom_guard *guard;
  random_stream random;
  double eps;
  uint64_t members, next_member; /* keys next_member - members to next_member - 1 are stored */
  uint64_t fresh;                /* keys that were queried for the first time */
  uint64_t known[KNOWN], n_known;
  uint64_t hot[HOT], n_hot; /* false positives that were one before */
  uint64_t loop[16], in_loop, loop_length, loop_left;
  uint64_t most_bytes, first_bytes;
  besom_guard_statistics stats;
} attack;

/* ------------------------------------------------------------------ the guard */

static void read_stats(attack *a) {
  demand(besom_guard_stats(a->guard, &a->stats) == BESOM_OK);
  if (a->stats.filter_bytes > a->most_bytes) a->most_bytes = a->stats.filter_bytes;
}

static void put(attack *a) {
  uint64_t key = key_u64(MEMBERS, a->next_member++);
  demand(besom_guard_put_u64(a->guard, key, &key, sizeof key, BESOM_PUT_NEW) == BESOM_OK);
  a->members++;
}

static void open_guard(attack *a, int kind) {
  static const double rates[] = {1.0 / 16, 1.0 / 64, 1.0 / 256};
  besom_store *store = NULL;
  uint8_t seed[16];
  uint64_t members = 1000 + random_below(&a->random, 9000);
  for (size_t i = 0; i < sizeof seed; i++) seed[i] = (uint8_t)random_next(&a->random);
  a->eps = rates[random_below(&a->random, 3)];
  besom_config config = {
      .kind = kinds[kind].name, .capacity = members + 10, .fpr = a->eps, .seed = seed};
  besom_guard_config g = {.filter = &config,
                          .adapt = BESOM_ADAPT_ALWAYS,
                          .grow_at = 1,
                          .rekey_at = kinds[kind].rekeys ? 1 : 2};
  demand(besom_store_memory(NULL, &store) == BESOM_OK);
  demand(besom_guard_open(&g, store, &a->guard) == BESOM_OK);
  while (a->members < members) put(a);
  read_stats(a);
  a->first_bytes = a->stats.filter_bytes;
}

/* ------------------------------------------------------------------ the adversary */

/* A loop of some keys that were false positives before. */
static void begin_loop(attack *a) {
  a->loop_length = 1 + random_below(&a->random, 16);
  a->loop_left = a->loop_length * (2 + random_below(&a->random, 60));
  a->in_loop = 0;
  for (uint64_t i = 0; i < a->loop_length; i++)
    a->loop[i] = a->n_hot && random_below(&a->random, 2)
                     ? a->hot[random_below(&a->random, a->n_hot < HOT ? a->n_hot : HOT)]
                     : a->known[random_below(&a->random, a->n_known < KNOWN ? a->n_known : KNOWN)];
}

/* The next key; *is_new if it was never queried. */
static uint64_t choose_key(attack *a, bool *is_new) {
  *is_new = false;
  if (a->loop_left) {
    a->loop_left--;
    return a->loop[a->in_loop++ % a->loop_length];
  }
  if (a->n_known && random_below(&a->random, 400) == 0) begin_loop(a);
  uint64_t choice = random_below(&a->random, 8);
  if (choice < 3 && a->n_known)
    return a->known[random_below(&a->random, a->n_known < KNOWN ? a->n_known : KNOWN)];
  if (choice < 4 && a->n_hot)
    return a->hot[random_below(&a->random, a->n_hot < HOT ? a->n_hot : HOT)];
  *is_new = true;
  return key_u64(NEGATIVES, a->fresh++);
}

/* Queries an absent key and lets the guard work. Returns true for a false positive. */
static bool query(attack *a, uint64_t key) {
  uint64_t before = a->stats.false_positives;
  demand(besom_guard_get_u64(a->guard, key, NULL) == BESOM_NOT_FOUND);
  read_stats(a);
  if (a->stats.false_positives == before) return false;
  demand(besom_guard_step(a->guard, STEP_ITEMS, NULL) == BESOM_OK);
  return true;
}

/* Members are there; now and then one is replaced. */
static void use_members(attack *a, results *r) {
  besom_bytes value;
  uint64_t key = key_u64(MEMBERS, a->next_member - 1 - random_below(&a->random, a->members));
  demand(besom_guard_get_u64(a->guard, key, &value) == BESOM_OK);
  demand(value.len == sizeof key && !memcmp(value.data, &key, sizeof key));
  besom_guard_release(a->guard, &value);
  if (random_below(&a->random, 10)) return;
  uint64_t oldest = key_u64(MEMBERS, a->next_member - a->members);
  demand(besom_guard_delete_u64(a->guard, oldest) == BESOM_OK);
  a->members--;
  put(a);
  r->changes++;
}

/* ------------------------------------------------------------------ the rules */

static void check_rate(const attack *a, int kind, const char *of, uint64_t hits, uint64_t queries) {
  double expected = a->eps * (double)queries, most = expected + 6 * sqrt(expected) + 5;
  if ((double)hits <= most) return;
  fprintf(stderr, "%s: %.0f false positives of %.0f %s; at most %.0f at a rate of %g\n",
          kinds[kind].name, (double)hits, (double)queries, of, most, a->eps);
  exit(1);
}

/* A filter, the next one during a migration, a front, and the exceptions of false positives that no
   writer has handled. */
static void check_memory(const attack *a, int kind) {
  if (a->most_bytes <= 3 * a->first_bytes + 32768) return;
  fprintf(stderr, "%s: the filter took %.0f bytes, %.0f at first\n", kinds[kind].name,
          (double)a->most_bytes, (double)a->first_bytes);
  exit(1);
}

static void run_window(attack *a, int kind, results *r) {
  uint64_t hits = 0, new_hits = 0, new_keys = 0;
  for (uint64_t i = 0; i < WINDOW; i++) {
    bool is_new;
    uint64_t key = choose_key(a, &is_new);
    new_keys += is_new;
    if (random_below(&a->random, 100) == 0) use_members(a, r);
    if (!query(a, key)) continue;
    hits++;
    new_hits += is_new;
    if (is_new)
      a->known[a->n_known++ % KNOWN] = key;
    else
      a->hot[a->n_hot++ % HOT] = key;
    r->repeated += !is_new;
  }
  if (kinds[kind].sustained) check_rate(a, kind, "queries", hits, WINDOW);
  check_rate(a, kind, "queries of new keys", new_hits, new_keys);
  check_memory(a, kind);
  r->queries += WINDOW;
  r->false_positives += hits;
}

typedef struct attacks {
  int kind;
  uint64_t amount;
  results r;
} attacks;

static void attack_one(void *ctx, uint64_t seed) {
  attacks *all = ctx;
  attack a = {.random = {mix64(seed)}};
  bool is_long = random_below(&a.random, 10) == 0;
  open_guard(&a, all->kind);
  for (int i = 0; is_long ? i < LONG_LIFE : i < WINDOWS && all->r.queries < all->amount; i++)
    run_window(&a, all->kind, &all->r);
  all->r.long_lives += is_long;
  all->r.rekeys += a.stats.rekeys;
  all->r.guards++;
  demand(besom_guard_close(a.guard) == BESOM_OK);
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--kind");
  attacks all = {.amount = request.amount};
  const results *r = &all.r;
  while (all.kind < KINDS && !(request.row && !strcmp(kinds[all.kind].name, request.row)))
    all.kind++;
  if (all.kind == KINDS) return fputs("--kind: no such adaptive kind\n", stderr), 2;
  batch_run(request, &r->queries, attack_one, &all);
  count counts[] = {{"queries", r->queries},
                    {"false_positives", r->false_positives},
                    {"repeated_false_positives", r->repeated},
                    {"rekeys", r->rekeys},
                    {"replaced_members", r->changes},
                    {"guards", r->guards},
                    {"long_lives", r->long_lives}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}
