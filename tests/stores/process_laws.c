/* Several processes: one is killed, one is locked out. */
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

/* The transactions of a child are the same in every run: who repeats them knows what it had committed. */
static besom_status make_transaction(model *m, const key_universe *keys, besom_store *store,
                                     random_stream *random, bool durable) {
  besom_status status = store->ops->begin(store);
  for (unsigned i = 0; i < CHANGES && status == BESOM_OK; i++)
    status = model_change(m, keys, store, random);
  return status == BESOM_OK ? store->ops->commit(store, durable) : status;
}

/* Commits for ever, and says so each time with a byte. */
static int commit_for_ever(besom_store *store) {
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
  return commit_for_ever(store);
}

/* Lets a child run until it has said so many commits, kills it, and tells how many it said. */
static unsigned kill_after(const subject *s, unsigned commits) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  int process = child_start(s, "commit", ends[1]);
  close(ends[1]);
  unsigned said = 0;
  char byte;
  while (said < commits && read(ends[0], &byte, 1) == 1) said++;
  usleep(said * 37 % 700); /* somewhere in the next one */
  kill(process, SIGKILL);
  while (read(ends[0], &byte, 1) == 1) said++;
  close(ends[0]);
  assert_int_equal(child_wait(process), -1);
  return said;
}

/* The child's last commit may have come through without its word. */
static void assert_has_committed(subject *s, unsigned said) {
  key_universe keys;
  key_universe_make(&keys);
  model *m = heap_array(1, sizeof *m);
  random_stream random = {SEED};
  besom_store *other, *store = subject_open(s);
  assert_int_equal(besom_store_memory(NULL, &other), BESOM_OK);
  for (unsigned i = 0; i < said; i++)
    assert_int_equal(make_transaction(m, &keys, other, &random, false), BESOM_OK);
  if (!store_is(store, m, &keys))
    assert_int_equal(make_transaction(m, &keys, other, &random, false), BESOM_OK);
  assert_store_is(store, m, &keys);
  besom_store_close(other);
  besom_store_close(store);
  key_universe_free(&keys);
  free(m);
}

static void a_killed_process_leaves_whole_transactions(subject *s) {
  for (unsigned i = 0; i < KILLS; i++) {
    if (i) {
      subject_tear_down(s);
      subject_set_up(s);
    }
    unsigned said = kill_after(s, 1 + 13 * i);
    assert_true(said >= 1 + 13 * i);
    assert_has_committed(s, said);
  }
}

static void one_process_at_a_time(subject *s) {
  besom_store *store = subject_open(s), *second = NULL;
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_LOCKED);
  assert_int_equal(s->open(s, &second), BESOM_LOCKED);
  assert_null(second);
  besom_place at = {.bucket = 1};
  const besom_record record = {{"k", 1}, {"v", 1}};
  assert_int_equal(store->ops->append(store, at, &record), BESOM_OK); /* nobody minds */
  besom_store_close(store);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_OK);
  store = subject_open(s);
  besom_store_close(store);
}

const law process_laws[] = {
    {"a_killed_process_leaves_whole_transactions", a_killed_process_leaves_whole_transactions,
     processes},
    {"one_process_at_a_time", one_process_at_a_time, processes},
    {NULL, NULL, NULL},
};
