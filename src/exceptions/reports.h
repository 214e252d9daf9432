/*
 * Reports: what filters of every kind do with reported keys that they cannot deny otherwise. Such a
 * key becomes an exception (exceptions.h), in a set that belongs to the head of the outermost
 * filter. An answer is that of the kind and, if it is yes, a search in the set; inserting a key
 * removes what denies it.
 *
 * A kind that keeps_reports (kind.h) calls these functions itself, under its own locks.
 */
#ifndef BESOM_EXCEPTIONS_REPORTS_H
#define BESOM_EXCEPTIONS_REPORTS_H

#include "exceptions/exceptions.h"
#include "kind.h"

/*
 * Reads the options max_exceptions, forget and exceptions, config.reserve and config.no_capacity
 * for a new filter. Errors: BAD_OPTION.
 */
besom_status besom__reports_configure(besom_filter *f, const besom_config *config);

/*
 * Whether reports are taken by the calls of this file. Not those of a filter that is bound to its
 * stored keys and has a no list among them (yesno-dynamic).
 */
static inline bool takes_reports(const besom_filter *f) {
  return !f->kind->keeps_reports && (!f->bound || KIND_HAS(f->kind, adapt, adapt));
}

/* ------------------------------------------------------------------ queries */

/* Whether there is something to look up after a yes of the kind. */
static inline bool has_reports(const besom_filter *f) {
  return UNLIKELY(f->exceptions) && !f->kind->keeps_reports && f->exceptions->count;
}

static inline bool is_reported(const besom_filter *f, besom_digest d) {
  return has_reports(f) && exceptions_deny(f->exceptions, d);
}

/* Clears the yes of each reported key of a batch. */
void besom__reports_deny(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);

/* ------------------------------------------------------------------ changes */

/*
 * A report of a key; yes: the kind's own answer. Errors: those of besom_adapt, and FULL from a kind
 * that adapts.
 */
besom_status besom__report(besom_filter *f, besom_digest d, bool yes);

/* Adds an exception, or refreshes it. EVICTED, RESERVE_FULL (also without memory). */
besom_status besom__reports_add(besom_filter *f, besom_digest d, bool listed);

/* Removes what denies the digest; with `listed` only from the no list. Returns whether it did. */
bool besom__reports_remove(besom_filter *f, besom_digest d, bool listed);

/* After inserts of n digests. */
static inline void forget_reports_of(besom_filter *f, const besom_digest *d, size_t n) {
  for (size_t i = 0; has_reports(f) && i < n; i++) besom__reports_remove(f, d[i], false);
}

/* ------------------------------------------------------------------ whole filters */

/* How many exceptions a filter may have, those of the no list included. */
uint64_t besom__report_limit(const besom_filter *f);

/* Whether exceptions are whole digests because of an option or of the kind. */
bool besom__reports_are_full(const besom_filter *f);

/* The set of a filter, which is made if it is missing; NULL if there is no memory. */
struct exception_set *besom__reports_set(besom_filter *f);

/* Frees the set. */
void besom__reports_drop(besom_filter *f);

/*
 * Gives the exceptions of `from` to `fresh`, which replaces it: moves them, or copies them if other
 * threads query `from`. NO_MEMORY.
 */
besom_status besom__reports_hand_on(besom_filter *fresh, besom_filter *from);

/*
 * Adds the exceptions of a and b to a filter that holds the keys of both. One survives if the other
 * filter surely denies its key. RESERVE_FULL, NO_MEMORY.
 */
besom_status besom__reports_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);

void besom__reports_stats(const besom_filter *f, struct stats_out *out);

/* The sections of exceptions, for kinds whose files have no other place. Errors of load, after
 * which the caller drops the filter: CORRUPT, NO_MEMORY. */
#define REPORT_PARAMETER_BYTES 96
void besom__reports_save(const besom_filter *f, uint8_t parameters[REPORT_PARAMETER_BYTES],
                         struct sections_out *out);
besom_status besom__reports_load(besom_filter *f, struct sections_in *in);

#endif
