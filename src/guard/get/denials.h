/* Denials: false positives that no writer has handled yet, in memory. */
#ifndef BESOM_GUARD_DENIALS_H
#define BESOM_GUARD_DENIALS_H

#include "guard/guard.h"

/* Whether a key with this digest is known to be absent. Only if g->denials is not NULL; with the
   view locked, as all of these. add: for reading; erase, clear: for writing. */
bool besom__denials_have(const besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_add(besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_erase(besom_guard *g, uint32_t epoch, besom_digest digest);
void besom__denials_clear(besom_guard *g);
uint64_t besom__denials_bytes(const besom_guard *g);
uint64_t besom__denials_capacity(const besom_guard *g); /* in digests */
uint64_t besom__denials_added(const besom_guard *g);    /* so far; clear changes nothing */
void besom__denials_free(besom_guard *g);

static inline bool has_denial(const besom_guard *g, uint32_t epoch, besom_digest digest) {
  return UNLIKELY(__atomic_load_n(&g->denials, __ATOMIC_ACQUIRE) != NULL) &&
         besom__denials_have(g, epoch, digest);
}

#endif
