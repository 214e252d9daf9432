/*
 * subjects.h - all kinds in the registry, each with the options, hashes and flags that it knows.
 */
#ifndef BESOM_TESTS_SUBJECTS_H
#define BESOM_TESTS_SUBJECTS_H

#include "law.h"

enum { MAX_SUBJECTS = 256 };

typedef struct subjects {
  subject list[MAX_SUBJECTS];
  besom_kind_info kinds[MAX_SUBJECTS]; /* of subjects with options */
  size_t n;
} subjects;

/* All subjects, those of one kind together, its default form first. `all` must be zero. */
void find_subjects(subjects *all);

/* The names of the published systems, in this build or not; NULL after the last. */
const char *const *published_systems(void);
bool is_published_system(const char *kind);

#endif
