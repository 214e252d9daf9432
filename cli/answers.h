/* Prints the answers to queries, for the verbs has, query and redis. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include "lists/keys.h"

typedef struct answer_form {
  bool invert, count, tag, json;
} answer_form;

#define ANSWER_FORM_ARGUMENTS(form)                                                               \
  {"--invert", NULL, "print the keys that are certainly not in the set", .flag = &(form).invert}, \
      {"--count", NULL, "print the number of keys, not the keys", .flag = &(form).count},         \
      {"--tag", NULL, "print every key, after yes or no and a tab", .flag = &(form).tag}, {       \
    "--json", NULL, "print one JSON object per key, or with --count", .flag = &(form).json        \
  }

/* The answers to the keys of a batch. */
typedef struct answer_batch {
  const besom_bytes *keys;
  size_t n;
  const uint64_t *bitmap;
  const besom_bytes *entries; /* the listed name that answers a key, if yes; NULL: not domains */
  const uint64_t *fixed;      /* answered no only by a fix of the caller; NULL: none */
} answer_batch;

/* Prints the selected keys: by default those whose bit is set. Returns their number. */
uint64_t answers_print(const answer_form *answers, const key_form *form, const answer_batch *batch);

/* Writes what is still in the buffer, and the count if it was asked for. */
void answers_finish(const answer_form *answers, uint64_t selected, uint64_t keys);

#endif
