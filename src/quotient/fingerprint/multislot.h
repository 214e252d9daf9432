/*
 * Fingerprints of several slots: a head slot with the remainder, then further slots that hold one
 * bit string. Their number is known from the heads, so no code need tell its own length. There are
 * three forms:
 *
 *   0  extension  1 0...0           a count of 1: bits of the digest after the remainder. The 1
 *                                   closes them; zeros fill the last slot
 *   1 1  number                     no extension, a count of 2 or more: a counter. All other bits
 *                                   of the n slots are the count, less the lowest one that does not
 *                                   fit into n - 1 slots
 *   1 0  count  extension  1 0...0  both: the count as an Elias gamma code. Of 1 for a count of 0
 *
 * Remainders of 8 bits leave 5 bits of payload per further slot. So one further slot counts from 2
 * to 9, two to 265, three to 8457.
 *
 * A fingerprint with a count of 1 and no extension has no bit string. A count of 0 is a tombstone:
 * it is no member and matches nothing, and is kept for its extension. In tables with tags, a tagged
 * fingerprint is an entry of the no list: it is no member and matches nothing, and is kept because
 * it determines how long the extensions of members must be. Every further slot begins with a tag
 * (quotient_table.h), followed by bits of the bit string: its payload. In tables with WHOLE_SLOTS
 * there is no tag. Lengths of extensions are exact to the bit, so that a change of the slot width
 * repacks the bit string without loss.
 */
#ifndef BESOM_QUOTIENT_MULTISLOT_H
#define BESOM_QUOTIENT_MULTISLOT_H

#include "quotient/table/appender.h"

#define MAX_EXTENSION 112 /* bits: more than separate any two digests */

struct fingerprint {
  uint64_t quotient, position; /* position: of the head slot */
  uint64_t remainder, value, count;
  bool tagged;
  besom_digest extension; /* the first bit uppermost; zeros after extension_bits */
  unsigned extension_bits;
  unsigned slots; /* including the head */
};

/* Reads the fingerprint whose head is at the position. */
struct fingerprint besom__fingerprint_read(const struct qtable *t, uint64_t quotient,
                                           uint64_t position);

/*
 * The number of slots of a fingerprint with this count and extension, if a further slot has this
 * payload.
 */
unsigned besom__fingerprint_slots(uint64_t count, unsigned extension_bits, unsigned payload);

static inline bool is_member(const struct fingerprint *fp) {
  return fp->count && !fp->tagged;
}

/* The number of slots without the extension; 0 for a tombstone. */
static inline unsigned member_slots_of(uint64_t count, unsigned payload) {
  return count ? besom__fingerprint_slots(count, 0, payload) : 0;
}

/* The number of slots that exist only because of the extension; all slots of a tombstone. */
static inline unsigned extension_slots_of(const struct fingerprint *fp, unsigned payload) {
  return besom__fingerprint_slots(fp->count, fp->extension_bits, payload) -
         member_slots_of(fp->count, payload);
}

/* Whether a query must look at more than the remainder, also one that it may not be asked for. */
static inline bool is_extended(const struct qtable *t, const struct fingerprint *fp) {
  return fp->extension_bits || fp->tagged || (t->code == WHOLE_SLOTS && fp->count > 1);
}

/*
 * Whether n more copies should raise the count. In narrow slots a higher count may take more slots
 * than separate fingerprints: then the answer is no.
 */
bool besom__fingerprint_can_count(uint64_t count, uint64_t n, unsigned payload);

/* The slots of so many copies of one key, inserted one by one into slots with tags. */
uint64_t besom__slots_of_copies(uint64_t copies, unsigned width);

/*
 * The longest extension of at least this many bits that takes the same number of slots: uses the
 * bits left in the last slot.
 */
unsigned besom__fingerprint_stretch(uint64_t count, unsigned extension_bits, unsigned payload);

/*
 * Writes count, extension and value. Inserts or deletes further slots as needed. Returns FULL, with
 * nothing changed, if there are not enough free slots up to the end of the table.
 */
besom_status besom__fingerprint_write(struct qtable *t, const struct fingerprint *fp);

/* Appends the fingerprint to a table that is being filled. */
besom_status besom__fingerprint_append(struct qtable_appender *out, const struct fingerprint *fp);

/* Removes all slots of the fingerprint from its run. */
void besom__fingerprint_remove(struct qtable *t, const struct fingerprint *fp);

/*
 * Returns NULL if the fingerprint, as it was read, would be written the same; else what is wrong.
 */
const char *besom__fingerprint_check(const struct qtable *t, const struct fingerprint *fp);

/* The first `bits` bits after the remainder. `rest` is the fraction that the address gives. */
besom_digest besom__extension_of(besom_digest rest, unsigned width, unsigned bits);

/*
 * Whether remainder and extension are a prefix of this fraction. The caller has compared the
 * remainder.
 */
bool besom__fingerprint_is_prefix(const struct fingerprint *fp, besom_digest rest, unsigned width);

/* The same, and the fingerprint is a member's. */
bool besom__fingerprint_matches(const struct fingerprint *fp, besom_digest rest, unsigned width);

#endif
