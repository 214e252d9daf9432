/* What besom has and besom query ask: a filter in a file, or the copy of a published set; and the
 * fixes of the caller beside it. */
#ifndef CLI_ASKED_H
#define CLI_ASKED_H

#include "besom.h"
#include "besom_set.h"
#include "lists/fixes.h"

typedef struct asked_target {
  besom_filter *filter;
  besom_set *set;   /* one of both is NULL */
  key_index *fixes; /* keys that are answered no; NULL: none */
} asked_target;

/* Whether the path is a directory with a published set. */
bool is_published_set(const char *path);

/* Opens a filter as filter_open does, or a set. Fails if the set has expired; with --verify, also
 * if a signature or a checksum is wrong. fixes: a file of `besom fix --fixes`; NULL: none. */
asked_target asked_open(const char *path, const char *fixes);
void asked_close(asked_target a);

/* The same for besom fix --fixes, without fixes and whether or not it has expired. */
asked_target asked_open_for_fixes(const char *path);
fixes_of asked_fixes_of(asked_target a, const char *path);

bool asked_contains(asked_target a, besom_bytes key);
void asked_contains_many(asked_target a, const besom_bytes *keys, size_t n, uint64_t *bitmap);

/*
 * Whether fixes make a no of a yes. entry: the key; with `domains`, the entry that answers a name,
 * which becomes the next one that does, if it is not fixed.
 */
bool asked_is_fixed(asked_target a, besom_bytes *entry, bool domains);

/* The option of verbs that ask. */
#define FIXES_ARGUMENT(variable)                                                              \
  {                                                                                           \
    "--fixes", "FILE",                                                                        \
        "answer no to the keys of this file, which besom fix --fixes wrote for this version", \
        .text = &(variable)                                                                   \
  }

/* Whether it is a list of domains. */
bool asked_is_domains(asked_target a);

/* Opens a set; fails unless it can be read. */
besom_set *published_set_open(const char *path);

/* besom info, and besom verify, of a set. They return the exit code. */
int published_set_info(const char *path, bool as_json);
int published_set_verify(const char *path, bool as_json);

#endif
