/*
 * patch_subject.h - the filters whose patches the fuzzer and the soak damage: one per kind that has
 * a way of its own to write patches.
 */
#ifndef BESOM_FUZZ_PATCH_SUBJECT_H
#define BESOM_FUZZ_PATCH_SUBJECT_H

#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "support/demand.h"
#include "support/keys.h"

enum { PATCH_KEYS = 200 };

static const char *const patch_kinds[] = {"aqf", "qf", "bloom", "exaf", "cf", "updated"};
enum { PATCH_KINDS = sizeof patch_kinds / sizeof *patch_kinds };

typedef struct patch_list {
  uint64_t n, at, key;
} patch_list;

static inline besom_status next_patch_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  patch_list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  l->key = key_u64(MEMBERS, l->at++);
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

/* A patch may ask for any amount of memory. */
enum { MOST_PATCHED_BYTES = 1 << 26 };

static inline void *allocate_for_patch(void *ctx, size_t size) {
  (void)ctx;
  return size <= MOST_PATCHED_BYTES ? calloc(1, size) : NULL;
}

static inline void release_for_patch(void *ctx, void *memory, size_t size) {
  (void)ctx, (void)size;
  free(memory);
}

/* With one update, which adds half of the keys. */
static inline besom_filter *make_updated(besom_config config) {
  patch_list some = {.n = PATCH_KEYS / 2}, all = {.n = PATCH_KEYS};
  besom_source from_some = {.next = next_patch_key, .ctx = &some},
               from_all = {.next = next_patch_key, .ctx = &all};
  besom_filter *base = NULL, *f = NULL;
  demand(besom_build(&config, &(besom_input){.yes = &from_some}, &base) == BESOM_OK);
  demand(besom_build(NULL, &(besom_input){.yes = &from_all, .update = base}, &f) == BESOM_OK);
  besom_free(base);
  return f;
}

/* The filter of this choice. */
static inline besom_filter *patch_subject(uint8_t choice) {
  static const uint8_t seed[16] = {1, 2, 3};
  static const besom_allocator allocator = {allocate_for_patch, release_for_patch, NULL};
  besom_config config = {.kind = patch_kinds[choice % PATCH_KINDS],
                         .capacity = 2 * PATCH_KEYS,
                         .fpr = 1.0 / 64,
                         .seed = seed,
                         .allocator = &allocator};
  besom_filter *f = NULL;
  if (strcmp(config.kind, "updated") == 0) return make_updated(config);
  demand(besom_create(&config, &f) == BESOM_OK);
  for (size_t i = 0; i < PATCH_KEYS; i++)
    demand(besom_insert_u64(f, key_u64(MEMBERS, i)) == BESOM_OK);
  return f;
}

#endif
