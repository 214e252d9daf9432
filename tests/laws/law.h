/*
 * law.h - the contract of besom.h as laws, and the filters that they are tested on.
 *
 * A law is a test that must pass for every kind of filter with the abilities that the law needs. A
 * subject is a kind with one set of options, hash and flags. main.c runs all laws on all subjects.
 * Each laws_*.c is a group of laws and ends with their table.
 */
#ifndef BESOM_TESTS_LAW_H
#define BESOM_TESTS_LAW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "besom_reverse.h"

typedef struct subject {
  const besom_kind_info *kind;
  const char *options;
  const char *hash;
  uint32_t flags;
  double most_fpr;    /* 0, or at this rate the kind has another layout: config_of asks for it */
  const char *golden; /* the name of its golden files; NULL: that of the kind */
  bool is_default;    /* the kind with default options: the first subject of its kind, or layout */
  bool same_format;   /* the options do not change the saved filter */
  char label[48];     /* "qf", "qf,isa=portable", "qf,sip" */
} subject;

typedef enum law_scope {
  EVERY_SUBJECT,
  EVERY_KIND,  /* default options only: neither options nor hash matter to the law */
  THE_LIBRARY, /* no filter: *state is NULL */
} law_scope;

typedef struct law {
  const char *name;
  void (*holds)(void **state); /* *state is a const subject */
  law_scope scope;
  unsigned needs;  /* the law applies to kinds with all these abilities */
  unsigned unless; /* and with none of these */
} law;

/* An ability of all kinds but those that need a store to insert: besom_build works. */
#define CAN_BUILD (1u << 31)

/* A row of a group's table. */
#define LAW(function, scope, needs) \
  { #function, function, scope, needs, 0 }
#define LAW_UNLESS(function, scope, needs, unless) \
  { #function, function, scope, needs, unless }

/* The groups. Each ends with a law without a name. */
extern const law membership_laws[];
extern const law rate_laws[];
extern const law full_laws[];
extern const law multiset_laws[];
extern const law set_laws[];
extern const law exception_laws[];
extern const law report_laws[];
extern const law adapt_bound_laws[];
extern const law value_laws[];
extern const law maplet_laws[];
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
extern const law memory_call_laws[];
extern const law config_laws[];
extern const law argument_laws[];
extern const law ability_laws[];
extern const law size_laws[];
extern const law golden_laws[];

/*
 * Writes the golden files, for a new kind or format version. Returns false if a file cannot be
 * written.
 */
bool write_golden_files(void);

#endif
