/*
 * Long fingerprints: a head slot with the remainder, and further slots that form one string of bits:
 *
 *   counted                 1 bit: the count is not 1
 *   [count + 1              Elias gamma code, if so]
 *   extension               the digest's bits behind the remainder
 *   1 0...0                 closes the string and fills the last slot
 *
 * A count of 1 without extension has no string at all. A count of 0 is a tombstone: no member, matched by nothing,
 * kept for the extension that it had. In tables with tags a tagged fingerprint is no member either, but an entry of the
 * no list: matched by nothing, kept to tell how long those of members must be. Every further slot begins with a tag
 * (table.h), and has bits of the string behind it. Lengths are exact to the bit, so that a change of the slots' width
 * repacks the string and loses nothing.
 */
#ifndef BESOM_QUOTIENT_LONG_H
#define BESOM_QUOTIENT_LONG_H

#include "quotient/appender.h"

#define MAX_EXTENSION 112 /* bits; more than tell any two digests apart */

struct fingerprint {
  uint64_t quotient, position; /* of the head */
  uint64_t remainder, value, count;
  bool tagged;
  besom_digest extension; /* the first bit uppermost; zero behind extension_bits */
  unsigned extension_bits;
  unsigned slots; /* the head's included */
};

/* Reads the fingerprint whose head is at the position. */
struct fingerprint besom__fingerprint_read(const struct qtable *t, uint64_t quotient,
                                         uint64_t position);

/* How many slots a fingerprint of this count and extension takes. */
unsigned besom__long_slots(uint64_t count, unsigned extension_bits, unsigned width);

static inline bool is_member(const struct fingerprint *fp) {
  return fp->count && !fp->tagged;
}

/* How many it takes for its keys alone. */
static inline unsigned member_slots_of(uint64_t count, unsigned width) {
  return count ? besom__long_slots(count, 0, width) : 0;
}

/* And how many for its extension besides; all of them, if it is a tombstone. */
static inline unsigned extension_slots_of(const struct fingerprint *fp, unsigned width) {
  return besom__long_slots(fp->count, fp->extension_bits, width) -
         member_slots_of(fp->count, width);
}

/* Whether a query has to look at more of it than the remainder. */
static inline bool is_extended(const struct fingerprint *fp) {
  return fp->extension_bits || fp->tagged;
}

/*
 * Whether n more copies go into the count. In narrow slots that may take more of them than a second fingerprint: then
 * that is kept instead.
 */
bool besom__fingerprint_can_count(uint64_t count, uint64_t n, unsigned width);

/*
 * The longest extension of at least this many bits that takes no more slots than they do: what is left
 * over in the last slot is used, too.
 */
unsigned besom__fingerprint_stretch(uint64_t count, unsigned extension_bits, unsigned width);

/*
 * Writes count, extension and value back, opening or closing further slots as it takes. FULL (nothing
 * changed) if there is no room for them up to the end of the tail.
 */
besom_status besom__fingerprint_write(struct qtable *t, const struct fingerprint *fp);

/* Appends the fingerprint to a table that is being filled. */
besom_status besom__fingerprint_append(struct qtable_appender *out, const struct fingerprint *fp);

/* Takes the whole fingerprint out of its run. */
void besom__fingerprint_remove(struct qtable *t, const struct fingerprint *fp);

/*
 * The answer of a fingerprint to a key with these bits behind its remainder, from its string: all of it, with zeros
 * behind, the first bit uppermost. MAYBE if there is a count.
 */
ALWAYS_INLINE enum answer answer_of_string(uint64_t string, uint64_t behind) {
  uint64_t extension = string << 1, closing = extension & (0 - extension);
  if (UNLIKELY(string >> 63 || !closing)) return ANSWER_MAYBE;
  return (extension ^ behind) & ~(closing | (closing - 1)) ? ANSWER_NO : ANSWER_YES;
}

/* NULL if what was read is what would be written, else what is wrong. */
const char *besom__fingerprint_check(const struct qtable *t, const struct fingerprint *fp);

/* The first `bits` bits of what follows the remainder in a digest's fraction. */
besom_digest besom__extension_of(besom_digest rest, unsigned width, unsigned bits);

/* Whether the extension begins the bits that follow the remainder in this fraction. */
bool besom__fingerprint_is_prefix(const struct fingerprint *fp, besom_digest rest, unsigned width);

/* The same, if it is a member's. */
bool besom__fingerprint_matches(const struct fingerprint *fp, besom_digest rest, unsigned width);

#endif
