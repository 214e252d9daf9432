/*
 * The work of a guard that is recorded, and the contents that it must have after a power cut.
 *
 * A plan is a list of steps, by a seed. The recorded process does the steps and marks each that has
 * returned.
 */
#ifndef BESOM_TESTS_WORKLOAD_H
#define BESOM_TESTS_WORKLOAD_H

#include "guard/databases.h"

/* Keys from WORK_RECORDS on are keys of the no list, whose value is 1 if they are on it. */
enum { WORK_RECORDS = 144, WORK_KEYS = 160, WORK_VALUE = 3000 };

enum step_kind {
  STEP_CHANGE, /* one put or delete, of a record or of the no list */
  STEP_BATCH,  /* begin, changes, commit */
  STEP_ABORT,  /* begin, changes, abort */
  STEP_SYNC,
  STEP_REOPEN, /* close and open: writes a checkpoint, uses and drops it */
  STEP_REKEY,
  STEP_MIGRATE, /* besom_guard_step */
  STEP_QUERY,   /* gets of absent keys: the filter adapts */
};

struct change {
  uint32_t key;
  uint64_t value; /* 0: delete */
};

struct step {
  enum step_kind kind;
  uint32_t first, n; /* changes */
};

struct plan {
  struct step *steps;
  struct change *changes;
  uint32_t steps_n, changes_n;
};

struct setup {
  opener open;
  besom_layout layout;
  besom_durability durability;
};

struct plan plan_new(uint64_t seed, besom_durability durability);
void plan_free(struct plan *plan);

/* Opens the guard of a setup. A message if that fails; the store is closed then. */
besom_status work_open(const struct setup *setup, const char *directory, besom_guard **out);

/* Does all steps, with a mark after each; the first mark is 1. */
besom_status work_do(const struct setup *setup, const struct plan *plan, const char *directory);

/*
 * Checks a guard that was opened after a power cut, when the first `marked` steps had returned.
 * Leaves its contents in values. Returns NULL or what is wrong.
 */
const char *work_check(const struct setup *setup, const struct plan *plan, besom_guard *g,
                       uint64_t marked, uint64_t values[WORK_KEYS]);

/* Makes a few more changes, and follows them in values. */
besom_status work_go_on(besom_guard *g, uint64_t seed, uint64_t values[WORK_KEYS]);

/* Compares the contents with values: gets, a scan, the number of keys. NULL or what is wrong. */
const char *work_compare(besom_guard *g, const uint64_t values[WORK_KEYS]);

#endif
