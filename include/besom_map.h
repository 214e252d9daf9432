/*
 * besom_map.h - maplets: filters that lead from a key to the values stored with it.
 *
 * A maplet answers "which places may have this key?" from the bits of a filter plus those of a
 * value per pair. The answer is a set of candidates. It always contains every value of a member. A
 * wrong candidate is a false positive: an absent key gets one with the probability of the target
 * FPR, and a member gets at most that many more on average. If you report a wrong candidate
 * (besom_adapt_value), it does not come back.
 *
 *     besom_config config = {
 *         .kind = "aqf", .options = "maplet=yes", .value_bits = 16, .capacity = 1000000};
 *     besom_create(&config, &f);
 *     besom_insert_value(f, "key", 3, 7);                    // the key is in file 7
 *     besom_get_values(f, "key", 3, files, 8, &n);           // open these n files
 *     besom_adapt_value(f, "pear", 4, 12);                   // file 12 does not have the pear
 *
 * The option maplet=yes of aqf makes a maplet (BESOM_IS_MAPLET), and of scaling with base=aqf one
 * that grows. config.value_bits is 1 to 32. It is saved with the filter, in version 2 of the
 * format. Other filters are UNSUPPORTED by the calls of this header. A maplet has no concurrent
 * form, no no list, no tombstones, and is no list of domains.
 *
 * What a maplet holds is pairs of a key and a value. A key may have several values; the same pair
 * again is a count. Two members whose fingerprints are equal both keep their values.
 *
 *     besom_insert            inserts the pair of the key and the value 0
 *     besom_contains          yes while the key has a candidate
 *     besom_count             pairs of the key, copies included; an upper bound
 *     besom_get_value         the only candidate; AMBIGUOUS if there are several
 *     besom_set_value         as of every filter: AMBIGUOUS if the fingerprint is not the key's own
 *     besom_remove            removes a pair; AMBIGUOUS if the key has several candidates
 *     besom_adapt             reports all candidates of an absent key; RESERVE_FULL, and none, if
 *                             they are more than the limit of reports, or above 127 with those that
 *                             were reported for this key before
 *     besom_iter_next         gives a fingerprint per pair, with its value
 *     besom_merge             keeps all pairs. INCOMPATIBLE with a filter that is no maplet, or has
 *                             other value_bits
 *     besom_build             takes pairs (besom_input.pairs), or keys, whose values are 0
 *     besom_rekey             INVALID: see besom_rekey_pairs
 *
 * repeats=ignore   with maplet=yes: a pair that may be there already is not inserted again. So
 *                  pairs that come again take no memory. The pair that is there may be that of a
 *                  key with the same fingerprint. So the maplet is a set, as with BESOM_SET: it has
 *                  no remove, remove_value, replace_value or count, and is not bound to a store.
 *
 * Threads: get_values is a query, the others are changes (besom.h).
 */
#ifndef BESOM_MAP_H
#define BESOM_MAP_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- changes */

/*
 * insert_value: adds a pair. It removes the report of this pair. Errors: INVALID (the value has
 * more than value_bits bits), FULL.
 * insert_values_many: adds pairs in order, stops at the first failure, and sets *done (may be NULL)
 * to the number of pairs that it has added or found.
 */
BESOM_API besom_status besom_insert_value(besom_filter *f, const void *key, size_t len,
                                          uint64_t value);
BESOM_API besom_status besom_insert_value_digest(besom_filter *f, besom_digest digest,
                                                 uint64_t value);
BESOM_API besom_status besom_insert_values_many(besom_filter *f, const besom_bytes *keys,
                                                const uint64_t *values, size_t n, size_t *done);
BESOM_API besom_status besom_insert_values_many_u64(besom_filter *f, const uint64_t *keys,
                                                    const uint64_t *values, size_t n, size_t *done);

/*
 * remove_value: takes out one copy of a pair. Members only: otherwise it removes the pair of
 * another key. It takes the longest fingerprint that matches and has this value, so every other
 * pair stays. Errors: NOT_FOUND, UNSUPPORTED (repeats=ignore).
 */
BESOM_API besom_status besom_remove_value(besom_filter *f, const void *key, size_t len,
                                          uint64_t value);

/*
 * replace_value: removes one copy of the pair of the key and `old`, and inserts that of the key and
 * `value`: both or neither. Members only. Errors: NOT_FOUND, INVALID, FULL (the pair has copies,
 * and there is no room for another one), UNSUPPORTED (repeats=ignore).
 */
BESOM_API besom_status besom_replace_value(besom_filter *f, const void *key, size_t len,
                                           uint64_t old, uint64_t value);

/* -------------------------------------------------------------- queries */

/*
 * The candidates of a key: distinct and ascending. *n is their number. The smallest ones, up to
 * room, are written; out may be NULL if room is 0. If *n is above room, it is at least their
 * number: call again with that much room. Errors: INVALID.
 */
BESOM_API besom_status besom_get_values(const besom_filter *f, const void *key, size_t len,
                                        uint64_t *out, size_t room, size_t *n);
BESOM_API besom_status besom_get_values_digest(const besom_filter *f, besom_digest digest,
                                               uint64_t *out, size_t room, size_t *n);

/*
 * The candidates of many keys: those of key i are out[starts[i]] to out[starts[i + 1] - 1]. starts
 * has room for n + 1 numbers; starts[0] is 0. Stops before the first key whose candidates do not
 * fit into out; *done is the number of keys that were answered. Cost: half again that of
 * besom_contains_many. Errors: INVALID.
 */
BESOM_API besom_status besom_get_values_many(const besom_filter *f, const besom_bytes *keys,
                                             size_t n, uint64_t *out, size_t room, size_t *starts,
                                             size_t *done);
BESOM_API besom_status besom_get_values_many_u64(const besom_filter *f, const uint64_t *keys,
                                                 size_t n, uint64_t *out, size_t room,
                                                 size_t *starts, size_t *done);

/* -------------------------------------------------------------- reports */

/*
 * Reports that a candidate is wrong for a key: the pair is not a member. The candidate is not
 * returned for this key any more, until the pair is inserted. No other answer changes. What is no
 * candidate already is OK.
 *
 * A maplet that is bound to its stored keys (besom_reverse.h) extends the fingerprints that gave
 * the candidate. Any other stores an exception for the pair: 13 to 17 bytes; how many it holds, and
 * what happens then, is as of besom_adapt. A mapped maplet keeps them in memory, and besom_save
 * writes them. An exception denies one pair: it has at least 96 bits of the digest. So no member
 * loses a value, unless its own pair is reported. insert_value, replace_value and set_value remove
 * the exception of their pair. A merge drops an exception if the other maplet may have the pair.
 *
 * Not bound, a key has at most 127 reports. One more is RESERVE_FULL, changes nothing, and forgets
 * no older one (forget=yes). Fewer wrong candidates need wider fingerprints: a lower config.fpr.
 *
 * Errors: as besom_adapt; IS_MEMBER (bound: a stored key with this value is the key), INVALID.
 */
BESOM_API besom_status besom_adapt_value(besom_filter *f, const void *key, size_t len,
                                         uint64_t value);

/* -------------------------------------------------------------- a note */

/*
 * Bytes of the caller that are kept with the maplet: what its values mean, for instance a table of
 * names. They are saved, and survive growing, rekeying and patches. A merge keeps them; maplets
 * with different notes are INCOMPATIBLE, because equal values may mean different things.
 *
 * besom_note returns them, or NULL if there are none; *len (may be NULL) is their number. They stay
 * valid until the maplet changes. docs/format.md has the notes that the besom command writes.
 * Errors: INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_set_note(besom_filter *f, const void *data, size_t len);
BESOM_API const void *besom_note(const besom_filter *f, size_t *len);

/* -------------------------------------------------------------- whole maplets */

/*
 * Rebuilds the maplet under a new seed (16 bytes; NULL for random ones). pairs must give every pair
 * as often as it was inserted. All reports are dropped. Memory, task and errors: as besom_rekey.
 */
BESOM_API besom_status besom_rekey_pairs(besom_filter *f, const besom_pair_source *pairs,
                                         const uint8_t *seed, besom_task **task);

#ifdef __cplusplus
}
#endif

#endif
