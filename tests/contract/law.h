/*
 * law.h - the contract of besom.h as laws, and what they are tried on.
 *
 * A law is a test that holds for every kind of filter with the abilities that the law needs. A subject is
 * what it is tried on: a kind, and one way to run it (options, hash). main.c tries all laws on all
 * subjects; each laws_*.c is a group of laws and ends with the table of them.
 */
#ifndef BESOM_TESTS_LAW_H
#define BESOM_TESTS_LAW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "besom.h"

typedef struct subject {
  const besom_kind_info *kind;
  const char *options;
  const char *hash;
  uint32_t flags;
  bool first;       /* the kind as it comes: the first subject of its kind */
  bool same_format; /* options that leave no trace in a saved filter: as if there were none */
  char label[48];   /* "qf", "qf,isa=portable", "qf,sip" */
} subject;

typedef enum law_scope {
  EVERY_SUBJECT,
  EVERY_KIND,  /* what neither options nor hash have a part in */
  THE_LIBRARY, /* what has no kind: *state is NULL */
} law_scope;

typedef struct law {
  const char *name;
  void (*holds)(void **state); /* *state is a const subject */
  law_scope scope;
  unsigned needs;  /* abilities that the law is about */
  unsigned unless; /* abilities that make an exception of a kind */
} law;

/* An ability of all kinds but those that need a store to insert: besom_build makes a filter. */
#define CAN_BUILD (1u << 31)

/* A row of a group's table. */
#define LAW(function, scope, needs) \
  { #function, function, scope, needs, 0 }
#define LAW_UNLESS(function, scope, needs, unless) \
  { #function, function, scope, needs, unless }

/* The groups, each ended by a law without a name. */
extern const law membership_laws[];
extern const law rate_laws[];
extern const law full_laws[];
extern const law multiset_laws[];
extern const law exception_laws[];
extern const law adapt_bound_laws[];
extern const law value_laws[];
extern const law tombstone_laws[];
extern const law cache_laws[];
extern const law list_laws[];
extern const law moving_laws[];
extern const law file_laws[];
extern const law hostile_laws[];
extern const law merge_laws[];
extern const law build_laws[];
extern const law patch_laws[];
extern const law growth_laws[];
extern const law task_laws[];
extern const law memory_laws[];
extern const law argument_laws[];
extern const law size_laws[];
extern const law golden_laws[];

/* Writes the golden files anew; false if one could not be written. Only for a new kind or format version. */
bool write_golden_files(void);

#endif
