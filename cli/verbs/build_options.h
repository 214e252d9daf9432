/* besom build: its options, and which of them go together. */
#ifndef CLI_BUILD_OPTIONS_H
#define CLI_BUILD_OPTIONS_H

#include "arguments.h"
#include "lists/keys.h"

typedef struct build_options {
  words yes, no, was;
  const char *kind, *options, *seed, *like, *hash, *group_by, *update;
  double fpr, bits;
  const char *reserve;
  uint64_t capacity, max_capacity, value_bits, memory;
  const char *on_conflict, *conflicts, *merge, *max_change, *suffixes, *no_format;
  bool dynamic, smallest, closed, json, allow_empty;
  key_form form;
} build_options;

extern build_options given;
extern const command build_command;

/* --on-conflict, --merge. They fail if the option has another value. */
bool given_conflict_is_error(void);
bool given_merge_is_auto(void);
uint64_t given_updates_to_merge(void);

/* What --smallest, --closed and --group-by mean, in terms of kinds and options. Fails if options
 * exclude each other. */
void given_choose_kind(void);

#endif
