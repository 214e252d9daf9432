/* Several processes: a killed one, and one that finds the store locked. */
#define _DEFAULT_SOURCE 1
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "laws.h"
#include "model.h"
#include "support/heap.h"

enum { SEED = 4, CHANGES = 30, KILLS = 4, NOBODY = 65534 };

static bool processes(const subject *s) {
  return s->processes;
}

/* The transactions of a child are the same in every run, so the parent can repeat them. */
static besom_status make_transaction(model *m, const key_universe *keys, besom_store *store,
                                     random_stream *random, bool durable) {
  besom_status status = store->ops->begin(store);
  for (unsigned i = 0; i < CHANGES && status == BESOM_OK; i++)
    status = model_change(m, keys, store, random);
  return status == BESOM_OK ? store->ops->commit(store, durable) : status;
}

/* Commits transactions without end and writes one byte after each. */
static int commit_until_killed(besom_store *store) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m);
  random_stream random = {SEED};
  for (unsigned i = 0;; i++) {
    if (make_transaction(m, &keys, store, &random, i % 8 == 0) != BESOM_OK) return 1;
    if (write(STDOUT_FILENO, "c", 1) != 1) return 1;
  }
}

int child_main(const char *what, subject *s) {
  besom_store *store = NULL;
  if (!strcmp(what, "open-as-nobody") && geteuid() == 0 && setuid(NOBODY) != 0) return 1;
  besom_status status = s->open(s, &store);
  if (!strncmp(what, "open", 4) || status != BESOM_OK) {
    besom_store_close(store);
    return (int)status;
  }
  return commit_until_killed(store);
}

/* Runs a child until it has reported so many commits, and kills it. Returns the number reported. */
static unsigned kill_after(const subject *s, unsigned commits) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  int process = child_start(s, "commit", ends[1]);
  close(ends[1]);
  unsigned reported = 0;
  char byte;
  while (reported < commits && read(ends[0], &byte, 1) == 1) reported++;
  usleep(reported * 37 % 700); /* to kill it within a transaction */
  kill(process, SIGKILL);
  while (read(ends[0], &byte, 1) == 1) reported++;
  close(ends[0]);
  assert_int_equal(child_wait(process), -1);
  return reported;
}

/* The child may have committed one transaction more than it reported. */
static void assert_has_committed(subject *s, unsigned reported) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m);
  random_stream random = {SEED};
  besom_store *other, *store = subject_open(s);
  assert_int_equal(besom_store_memory(NULL, &other), BESOM_OK);
  for (unsigned i = 0; i < reported; i++)
    assert_int_equal(make_transaction(m, &keys, other, &random, false), BESOM_OK);
  if (!store_is(store, m, &keys))
    assert_int_equal(make_transaction(m, &keys, other, &random, false), BESOM_OK);
  assert_store_is(store, m, &keys);
  besom_store_close(other);
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
}

static void a_killed_process_leaves_complete_transactions(subject *s) {
  for (unsigned i = 0; i < KILLS; i++) {
    if (i) {
      subject_tear_down(s);
      subject_set_up(s);
    }
    unsigned reported = kill_after(s, 1 + 13 * i);
    assert_true(reported >= 1 + 13 * i);
    assert_has_committed(s, reported);
  }
}

static void one_process_at_a_time(subject *s) {
  besom_store *store = subject_open(s), *second = NULL;
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_LOCKED);
  assert_int_equal(s->open(s, &second), BESOM_LOCKED);
  assert_null(second);
  besom_place at = {.bucket = 1};
  const besom_record record = {{"k", 1}, {"v", 1}};
  assert_int_equal(store->ops->append(store, at, &record),
                   BESOM_OK); /* the failed opens did no harm */
  besom_store_close(store);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_OK);
  store = subject_open(s);
  besom_store_close(store);
}

const law process_laws[] = {
    {"a_killed_process_leaves_complete_transactions", a_killed_process_leaves_complete_transactions,
     processes},
    {"one_process_at_a_time", one_process_at_a_time, processes},
    {NULL, NULL, NULL},
};
