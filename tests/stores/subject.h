/*
 * subject.h - the stores that the laws are tried on.
 */
#ifndef BESOM_TESTS_STORE_SUBJECT_H
#define BESOM_TESTS_STORE_SUBJECT_H

#include "array_db.h"
#include "besom_store.h"
#include "support/temp_files.h"

/* Where a store is: a directory, or a server's address and a prefix. A child process gets it as text. */
typedef struct place {
  char text[300];
} place;

typedef struct subject {
  const char *name;
  besom_status (*open)(struct subject *s, besom_store **out);
  bool outlives;  /* what was committed is there after it was closed */
  bool processes; /* another process can open it */
  bool remote;    /* on a server */
  /* of one test: */
  place at;
  temp_dir dir;
  array_db array;
} subject;

extern subject all_subjects[];
extern const size_t all_subjects_count;

subject *find_subject(const char *name);

/* A fresh, empty place; its end. */
void subject_set_up(subject *s);
void subject_tear_down(subject *s);

besom_store *subject_open(subject *s); /* ends the test if it cannot */

/* Runs this program again, as besom_child in main.c understands it, with the subject's name and place; its process. */
int child_start(const subject *s, const char *what, int output);

/* What it returned, or -1 if it was killed. */
int child_wait(int process);

#endif
