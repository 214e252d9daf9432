/*
 * Reported pairs of maplets: a key and a value that is no candidate of it any more. A pair is an
 * exception as any other (exceptions.h), in the set of the filter's head, but its number ends with
 * the value: the last bits of the key's number are replaced by it. So an exception denies one value
 * for one key, and at least 96 bits tell the key.
 *
 * The operations of a maplet call these functions; src/api/ does not look up reports of maplets.
 */
#ifndef BESOM_EXCEPTIONS_PAIRS_H
#define BESOM_EXCEPTIONS_PAIRS_H

#include "exceptions/reports.h"

static inline bool has_pairs(const besom_filter *f) {
  return UNLIKELY(f->exceptions) && f->exceptions->count;
}

bool besom__pair_is_reported(const besom_filter *f, besom_digest d, uint64_t value);

/* Whether the pair of a key and this value is denied. */
static inline bool pair_is_denied(const besom_filter *f, besom_digest d, uint64_t value) {
  return has_pairs(f) && exceptions_hint(f->exceptions, d.hi) &&
         besom__pair_is_reported(f, d, value);
}

/* Adds an exception, or refreshes it. EVICTED, RESERVE_FULL (also without memory). */
besom_status besom__pair_report(besom_filter *f, besom_digest d, uint64_t value);

/* Reports all candidates of a key, or none. EVICTED, RESERVE_FULL. */
besom_status besom__pair_report_all(besom_filter *f, besom_digest d);

/* Removes the exception of a pair, if there is one. */
void besom__pair_forget(besom_filter *f, besom_digest d, uint64_t value);

/*
 * Adds a value to the kept ones, which are distinct and ascending, at most `room`. Returns false if
 * one was left out: the greatest.
 */
bool besom__keep_value(uint64_t *kept, size_t *n, size_t room, uint64_t value);

/* After contains_many of the fingerprints: clears the yes of keys all of whose pairs are denied. */
void besom__pairs_deny(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);

/*
 * Adds the exceptions of a and b to a maplet that holds the pairs of both. One survives if the
 * other maplet surely does not have its pair. RESERVE_FULL, NO_MEMORY.
 */
besom_status besom__pairs_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);

/* Whether all exceptions are as besom__pair_report makes them. */
bool besom__pairs_are_sound(const besom_filter *f);

#endif
