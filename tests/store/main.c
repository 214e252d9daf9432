/*
 * main.c - checks every law on every store.
 *
 *     store_contract                 all of them
 *     store_contract 'lmdb/x*'       those whose name ("store/law") matches the pattern
 */
#define _DEFAULT_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "laws.h"
#include "support/heap.h"

#ifdef BESOM_TEST_REDIS
#include "redis_server.h"
#endif

static const law *const all_laws[] = {
    data_laws,    process_laws, thread_laws, array_laws,
#ifdef BESOM_TEST_LMDB
    lmdb_laws,
#endif
#ifdef BESOM_TEST_ROCKSDB
    rocksdb_laws,
#endif
#ifdef BESOM_TEST_REDIS
    redis_laws,
#endif
};

enum { MAX_TRIALS = 256 };

typedef struct trial {
  char name[120];
  subject *subject;
  const law *law;
} trial;

static void run_trial(void **state) {
  const trial *t = *state;
  t->law->check(t->subject);
}

static int set_up(void **state) {
  subject_set_up(((trial *)*state)->subject);
  return 0;
}

static int tear_down(void **state) {
  subject_tear_down(((trial *)*state)->subject);
  return 0;
}

static size_t make_trials(trial *trials) {
  size_t n = 0;
  for (size_t s = 0; s < all_subjects_count; s++)
    for (size_t i = 0; i < sizeof all_laws / sizeof *all_laws; i++)
      for (const law *l = all_laws[i]; l->name; l++) {
        if (n == MAX_TRIALS || (l->applies && !l->applies(&all_subjects[s]))) continue;
        trials[n] = (trial){.subject = &all_subjects[s], .law = l};
        snprintf(trials[n].name, sizeof trials[n].name, "%s/%s", all_subjects[s].name, l->name);
        n++;
      }
  return n;
}

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "--child")) {
    subject *s = find_subject(argv[3]);
    snprintf(s->at.text, sizeof s->at.text, "%s", argv[4]);
    return child_main(argv[2], s);
  }
  static trial trials[MAX_TRIALS];
  static struct CMUnitTest tests[MAX_TRIALS];
  size_t n = make_trials(trials);
  for (size_t i = 0; i < n; i++)
    tests[i] = (struct CMUnitTest){trials[i].name, run_trial, set_up, tear_down, &trials[i]};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  int failed = _cmocka_run_group_tests("stores", tests, n, NULL, NULL);
#ifdef BESOM_TEST_REDIS
  redis_server_stop();
#endif
  return failed;
}
