#include "workloads/loop_hunter.h"

#include <string.h>

#include "workloads/key_list.h"

/*
 * Keys that stay false positives when all collected keys are queried in turn are part of loops, of
 * many loops at once. To find the keys of one loop, one key is left out: the other keys of its loop
 * then stop being false positives, because nothing returns the filter to the state in which they
 * were. Each candidate loop is then tested alone.
 */
enum { PASSES = 12, ALONE = 4, SETTLING = 3, TRIALS = 10, MAX_RECURRING = 512 };

typedef struct hunter {
  tested_filter *tested;
  key_list keys; /* keys of one pass, in query order */
  bool erred[MAX_RECURRING], in_loop[MAX_RECURRING];
  hunt result;
} hunter;

static bool query(hunter *h, uint64_t key) {
  h->result.queries++;
  return tested_filter_query(h->tested, key);
}

static void collect(hunter *h, const key_stream *absent, uint64_t queries) {
  for (uint64_t i = 0; i < queries; i++) {
    uint64_t key;
    absent->generate(absent, i, 1, &key);
    if (query(h, key)) key_list_add(&h->keys, key);
  }
  h->result.collected = h->keys.count;
}

/* One pass; drops the keys that were no false positives. */
static void keep_erring(hunter *h) {
  size_t stay = 0;
  for (size_t i = 0; i < h->keys.count; i++)
    if (query(h, h->keys.keys[i])) h->keys.keys[stay++] = h->keys.keys[i];
  h->keys.count = stay;
}

/* A key that errs when it is repeated alone is in no loop. */
static void drop_stuck(hunter *h) {
  size_t stay = 0;
  for (size_t i = 0; i < h->keys.count; i++) {
    uint64_t key = h->keys.keys[i];
    int hits = 0;
    for (int queried = 0; queried < ALONE; queried++) hits += query(h, key);
    if (hits < ALONE) h->keys.keys[stay++] = key;
  }
  h->result.stuck = h->keys.count - stay;
  h->keys.count = stay;
}

/*
 * Runs some passes without the key number `without` (SIZE_MAX: with all keys). Records the false
 * positives of the last pass.
 */
static void settle(hunter *h, size_t without) {
  for (int round = 0; round < SETTLING; round++)
    for (size_t i = 0; i < h->keys.count; i++)
      h->erred[i] = i != without && query(h, h->keys.keys[i]);
}

/* The key and all keys that stop erring without it. Length 0 if these are too many. */
static loop find_candidate(hunter *h, size_t key) {
  bool usual[MAX_RECURRING];
  loop candidate = {0};
  settle(h, SIZE_MAX);
  memcpy(usual, h->erred, sizeof usual);
  settle(h, key);
  for (size_t i = 0; i < h->keys.count; i++) {
    if (!usual[i] || h->erred[i]) continue;
    if (candidate.length == MAX_LOOP_LENGTH) return (loop){0};
    candidate.keys[candidate.length++] = h->keys.keys[i];
    h->in_loop[i] = true;
  }
  return candidate;
}

/* A loop errs in every pass, once the filter is in it. */
static bool is_loop(hunter *h, loop *candidate) {
  uint64_t hits = 0;
  bool errs = true;
  loop_replay(candidate, h->tested, 1);
  for (int trial = 0; trial < TRIALS; trial++) {
    uint64_t now = loop_replay(candidate, h->tested, 1);
    errs &= now > 0;
    hits += now;
  }
  h->result.queries += (TRIALS + 1) * candidate->length;
  candidate->fpr = (double)hits / (double)(TRIALS * candidate->length);
  return errs;
}

static bool is_better(const loop *a, const loop *b) {
  if (!b->length || a->fpr > b->fpr) return true;
  return a->fpr == b->fpr && a->length < b->length;
}

static void find_loops(hunter *h) {
  for (size_t i = 0; i < h->keys.count; i++) {
    if (h->in_loop[i]) continue;
    loop candidate = find_candidate(h, i);
    if (candidate.length < 2 || !is_loop(h, &candidate)) continue;
    h->result.loops++;
    if (is_better(&candidate, &h->result.best)) h->result.best = candidate;
  }
}

hunt hunt_loops(tested_filter *tested, const key_stream *absent, uint64_t queries) {
  hunter h = {.tested = tested};
  collect(&h, absent, queries);
  for (int i = 0; i < PASSES; i++) keep_erring(&h);
  h.result.recurring = h.keys.count;
  drop_stuck(&h);
  if (h.keys.count > MAX_RECURRING) h.keys.count = MAX_RECURRING;
  find_loops(&h);
  key_list_free(&h.keys);
  return h.result;
}

uint64_t loop_replay(const loop *found, tested_filter *tested, uint64_t times) {
  uint64_t hits = 0;
  for (uint64_t t = 0; t < times; t++)
    for (size_t i = 0; i < found->length; i++) hits += tested_filter_query(tested, found->keys[i]);
  return hits;
}
