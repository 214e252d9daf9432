/* Who sends queries in the demo: keys are made up, some thousand at a time. */
#ifndef CLI_ASKER_H
#define CLI_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zipf.h"

/*
 * UNIFORM: one in ten is for a member, the others for keys that never come again. ZIPF: the same, but the others are
 * for keys of which few are asked for all the time. ADVERSARY: asks for keys that are not there, watches which of them
 * cost a read, and asks for these again and again, as long as they do.
 */
typedef enum asking { UNIFORM, ZIPF, ADVERSARY, ASKINGS } asking;

extern const char *const asking_names[ASKINGS];

enum { ASKED_AT_ONCE = 1000 };

typedef struct asker {
  asking how;
  uint64_t members, asked;
  zipf popularity;
  uint64_t *costly; /* ADVERSARY: keys that cost a read when they were last asked for */
  size_t costly_count;
  size_t again[ASKED_AT_ONCE]; /* which of these each of the last keys was; SIZE_MAX: none */
} asker;

/* The member of that number, from 0. */
uint64_t member_key(uint64_t number);

asker asker_create(asking how, uint64_t members);
void asker_free(asker *a);

/* The next n <= ASKED_AT_ONCE queries; is_member tells who is one. */
void asker_next(asker *a, uint64_t *keys, bool *is_member, size_t n);

/* Which of them cost a read. */
void asker_watch(asker *a, const uint64_t *keys, const bool *was_read, size_t n);

#endif
