/*
 * besom_reverse.h - fingerprints and the keys behind them, for code that runs its own store.
 *
 * A filter in front of a store answers with matches: which fingerprints match a digest. The reverse
 * map leads from a match to the stored key. With it a filter adapts by extension: it extends the
 * fingerprints that matched a false positive by further bits of their own keys. besom_guard.h does
 * all this over any store; use this header only if you cannot use a guard. examples/own_guard.c is
 * a complete program.
 *
 * Kinds with BESOM_CAN_MATCH have these calls. Errors: INVALID, UNSUPPORTED, READ_ONLY and BUSY are
 * as in besom.h and not repeated. Callbacks' statuses are returned as they are. Threads: bind needs
 * the filter to itself; matches and no_matches are queries; the others are changes.
 */
#ifndef BESOM_REVERSE_H
#define BESOM_REVERSE_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- matches */

/*
 * Which stored fingerprint matched. A store keeps the keys of each bucket as a list in the order of
 * their insertion; rank is the position in that list. Both stay the same while the key is in the
 * filter, with three exceptions.
 *
 * Removing an entry lowers the ranks of those after it in its bucket by one, in filter and store.
 *
 * besom_resize renumbers the buckets of exaf, taf and utaf. The store must follow before the next
 * call: from the lowest bucket on, take the records in the order of their ranks and append each to
 * the bucket that besom_matches now reports for it.
 *
 * Adaptive cuckoo kinds have buckets of one entry and move entries (besom_reverse.exchange).
 */
typedef struct besom_match {
  uint64_t bucket;
  uint32_t rank;
} besom_match;

/*
 * All fingerprints that match the digest, in the order of their ranks. Compare the key of each
 * before you call a yes a false positive. Up to cap are written; *total is their number; 0 means
 * no.
 */
BESOM_API besom_status besom_matches_sized(const besom_filter *f, besom_digest digest,
                                           besom_match *out, size_t stride, size_t cap,
                                           size_t *total);
static inline besom_status besom_matches(const besom_filter *f, besom_digest digest,
                                         besom_match *out, size_t cap, size_t *total) {
  return besom_matches_sized(f, digest, out, sizeof *out, cap, total);
}

/* -------------------------------------------------------------- binding */

/*
 * The reverse map. digest_of writes the digest (besom_hash) of the key of a match. exchange swaps
 * what is stored for two matches, one of which may have nothing stored; on failure nothing has
 * changed. Only adaptive cuckoo kinds call exchange; other kinds accept NULL.
 */
typedef struct besom_reverse {
  besom_status (*digest_of)(void *ctx, const besom_filter *f, const besom_match *match,
                            besom_digest *digest);
  void *ctx;
  besom_status (*exchange)(void *ctx, const besom_filter *f, const besom_match *a,
                           const besom_match *b);
} besom_reverse;

/*
 * Binds the filter to its stored keys. From now on besom_adapt extends fingerprints instead of
 * storing exceptions, and every insert must be besom_insert_at. The struct is copied; NULL unbinds.
 * Errors: INVALID (quotient and remainder have more than 64 bits together; exchange is missing).
 */
BESOM_API besom_status besom_bind_sized(besom_filter *f, const besom_reverse *reverse, size_t size);
static inline besom_status besom_bind(besom_filter *f, const besom_reverse *reverse) {
  return besom_bind_sized(f, reverse, sizeof *reverse);
}

/*
 * Binds adaptive-stacked to a source of its members. besom_adapt reads it, some thousand keys per
 * call, and rewinds it when needed; nobody else may move it. It must give every key that was
 * inserted before its last rewind, in any order, repeats allowed. A member that it omits may be
 * denied. If it fails, nothing is learned and no answer changes. The struct is copied; ctx must
 * live until the filter is bound again or freed. NULL unbinds. Errors: INVALID (next or rewind is
 * missing).
 */
BESOM_API besom_status besom_bind_source(besom_filter *f, const besom_source *members);

/* -------------------------------------------------------------- changes by match */

/*
 * insert_at adds a key with a fingerprint of its own, even if an equal one is there, and reports
 * where to store it. Errors: FULL, NEEDS_STORE (the kind moves fingerprints or has a no list, and
 * is not bound), RESERVE_FULL (it must be distinguished from keys of the no list), IS_MEMBER (the
 * key is on the no list; *match is its entry).
 *
 * remove_at takes out exactly this fingerprint. Call it while the record is still stored: taf may
 * read keys. Errors: NOT_FOUND, NEEDS_STORE (taf).
 *
 * adapt_at extends one fingerprint, whose key has the digest `stored`, until it no longer matches
 * `offender`. Kinds that move fingerprints exchange it for another one. Errors: RESERVE_FULL,
 * NOT_FOUND (also: another key is there now), IS_MEMBER (the digests are equal), INVALID (`stored`
 * is not that key's digest), NEEDS_STORE.
 */
BESOM_API besom_status besom_insert_at(besom_filter *f, besom_digest digest, uint64_t value,
                                       besom_match *match);
BESOM_API besom_status besom_remove_at(besom_filter *f, const besom_match *match);
BESOM_API besom_status besom_adapt_at(besom_filter *f, besom_digest offender,
                                      const besom_match *match, besom_digest stored);

/* -------------------------------------------------------------- a no list in front of a store */

/*
 * yesno-dynamic (BESOM_CAN_NO_LIST_AT): both lists are stored and may change at any time. Every
 * member is answered yes and every key of the no list no. A no entry is a tagged fingerprint with a
 * bucket and a rank like a member's, so digest_of is called for keys of both lists. A key is on one
 * list: adding it to the other is IS_MEMBER, and *match is its entry, which must be removed first.
 * Capacity counts both lists. While the no list is not empty, inserts and removals without _at are
 * NEEDS_STORE.
 *
 * no_add_at extends the members' fingerprints that match the key, one read for each, and reports
 * where to store it. It is also how a false positive is reported: besom_adapt of a bound one is
 * UNSUPPORTED.
 * Adding a key twice makes two entries. Errors: FULL, RESERVE_FULL, IS_MEMBER, NEEDS_STORE, INVALID
 * (digest_of returned another key's digest). no_matches reports the entries that may be this key's.
 * no_remove_at removes an entry without reading keys; later ranks of its bucket move down by one,
 * and members' fingerprints become as short as they can be. Errors: NOT_FOUND.
 */
BESOM_API besom_status besom_no_add_at(besom_filter *f, besom_digest digest, besom_match *match);
BESOM_API besom_status besom_no_matches_sized(const besom_filter *f, besom_digest digest,
                                              besom_match *out, size_t stride, size_t cap,
                                              size_t *total);
static inline besom_status besom_no_matches(const besom_filter *f, besom_digest digest,
                                            besom_match *out, size_t cap, size_t *total) {
  return besom_no_matches_sized(f, digest, out, sizeof *out, cap, total);
}
BESOM_API besom_status besom_no_remove_at(besom_filter *f, const besom_match *match);

/* -------------------------------------------------------------- all fingerprints */

/* A stored fingerprint. */
typedef struct besom_entry {
  uint64_t quotient, remainder;
  besom_digest extension;  /* the bits after the remainder, left-aligned */
  uint32_t extension_bits; /* how many there are */
  uint64_t count, value;   /* value: of taf and utaf the selector */
  bool has_alternate;      /* cuckoo kinds: the fingerprint may be in `alternate` as well as here */
  uint64_t alternate;
} besom_entry;

/* Frozen. Set filter, leave the rest 0. Needs no closing. */
typedef struct besom_iter {
  const besom_filter *filter;
  uint64_t started;
  uint64_t state[12];
} besom_iter;

/*
 * Visits all stored fingerprints in the order of their quotients (BESOM_CAN_ITERATE):
 *     besom_iter iter = {.filter = f};
 *     while (besom_iter_next(&iter, &entry) == BESOM_OK) ...
 * The filter must not change meanwhile. Statuses: OK, END.
 */
BESOM_API besom_status besom_iter_next_sized(besom_iter *iter, besom_entry *entry, size_t size);
static inline besom_status besom_iter_next(besom_iter *iter, besom_entry *entry) {
  return besom_iter_next_sized(iter, entry, sizeof *entry);
}

#ifdef __cplusplus
}
#endif

#endif
