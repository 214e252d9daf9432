#include "workloads/loop_hunter.h"

#include <string.h>

#include "workloads/key_list.h"

/*
 * Keys that stay false positives when all collected ones are asked in turn are in loops, many loops at once. Which
 * belong together shows when one is left out: those of its loop then err no more, for nothing brings the filter back
 * into the state in which they did. Each candidate is then put to the test, alone.
 */
enum { SIFTS = 12, ALONE = 4, SETTLING = 3, TRIALS = 10, MOST_RECURRING = 512 };

typedef struct hunter {
  learner *learner;
  key_list keys; /* of one round, in the order in which they are asked */
  bool erred[MOST_RECURRING], in_loop[MOST_RECURRING];
  hunt result;
} hunter;

static bool ask(hunter *h, uint64_t key) {
  h->result.queries++;
  return learner_ask(h->learner, key);
}

static void collect(hunter *h, const key_stream *strangers, uint64_t queries) {
  for (uint64_t i = 0; i < queries; i++) {
    uint64_t key;
    strangers->generate(strangers, i, 1, &key);
    if (ask(h, key)) key_list_add(&h->keys, key);
  }
  h->result.collected = h->keys.count;
}

/* One round; who was no false positive has to go. */
static void sift(hunter *h) {
  size_t stay = 0;
  for (size_t i = 0; i < h->keys.count; i++)
    if (ask(h, h->keys.keys[i])) h->keys.keys[stay++] = h->keys.keys[i];
  h->keys.count = stay;
}

/* Who errs without the help of others is in no loop. */
static void drop_stuck(hunter *h) {
  size_t stay = 0;
  for (size_t i = 0; i < h->keys.count; i++) {
    uint64_t key = h->keys.keys[i];
    int hits = 0;
    for (int asked = 0; asked < ALONE; asked++) hits += ask(h, key);
    if (hits < ALONE) h->keys.keys[stay++] = key;
  }
  h->result.stuck = h->keys.count - stay;
  h->keys.count = stay;
}

/* Some rounds, without one key (any number that is none: with all); notes who erred in the last. */
static void settle(hunter *h, size_t without) {
  for (int round = 0; round < SETTLING; round++)
    for (size_t i = 0; i < h->keys.count; i++)
      h->erred[i] = i != without && ask(h, h->keys.keys[i]);
}

/* The key and those that err no more without it; of length 0 if these are too many. */
static loop find_candidate(hunter *h, size_t key) {
  bool usual[MOST_RECURRING];
  loop candidate = {0};
  settle(h, SIZE_MAX);
  memcpy(usual, h->erred, sizeof usual);
  settle(h, key);
  for (size_t i = 0; i < h->keys.count; i++) {
    if (!usual[i] || h->erred[i]) continue;
    if (candidate.length == LONGEST_LOOP) return (loop){0};
    candidate.keys[candidate.length++] = h->keys.keys[i];
    h->in_loop[i] = true;
  }
  return candidate;
}

/* A loop errs every time that it is gone through, once the filter is in it. */
static bool is_loop(hunter *h, loop *candidate) {
  uint64_t hits = 0;
  bool errs = true;
  loop_replay(candidate, h->learner, 1);
  for (int trial = 0; trial < TRIALS; trial++) {
    uint64_t now = loop_replay(candidate, h->learner, 1);
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

hunt hunt_loops(learner *l, const key_stream *strangers, uint64_t queries) {
  hunter h = {.learner = l};
  collect(&h, strangers, queries);
  for (int i = 0; i < SIFTS; i++) sift(&h);
  h.result.recurring = h.keys.count;
  drop_stuck(&h);
  if (h.keys.count > MOST_RECURRING) h.keys.count = MOST_RECURRING;
  find_loops(&h);
  key_list_free(&h.keys);
  return h.result;
}

uint64_t loop_replay(const loop *found, learner *l, uint64_t times) {
  uint64_t hits = 0;
  for (uint64_t t = 0; t < times; t++)
    for (size_t i = 0; i < found->length; i++) hits += learner_ask(l, found->keys[i]);
  return hits;
}
