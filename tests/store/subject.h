/*
 * subject.h - the stores that the laws are checked on.
 */
#ifndef BESOM_TESTS_STORE_SUBJECT_H
#define BESOM_TESTS_STORE_SUBJECT_H

#include "array_db.h"
#include "besom_store.h"
#include "support/temp_files.h"

/* The location of a store: a directory, or a server's address and a key prefix. A child process
   gets it as an argument. */
typedef struct location {
  char text[300];
} location;

typedef struct subject {
  const char *name;
  besom_status (*open)(struct subject *s, besom_store **out);
  bool persistent; /* committed data survive close */
  bool processes;  /* another process can open it */
  bool remote;     /* on a server */
  /* per test: */
  location at;
  temp_dir dir;
  array_db array;
} subject;

extern subject all_subjects[];
extern const size_t all_subjects_count;

subject *find_subject(const char *name);

/* set_up makes an empty location, tear_down removes it. */
void subject_set_up(subject *s);
void subject_tear_down(subject *s);

besom_store *subject_open(subject *s); /* fails the test if it cannot */

/* The directory of the store is the one at this path. */
void assert_is_directory(const besom_store *store, const char *path);

/* Starts this program with --child (main.c), the subject's name and location. Returns its process
   id. */
int child_start(const subject *s, const char *what, int output);

/* Waits for a child. Returns its exit status, or -1 if it was killed. */
int child_wait(int process);

#endif
