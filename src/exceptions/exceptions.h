/*
 * Exceptions: the set of digests that a filter without a store must answer no.
 *
 * The *number* of a digest is the digest times `slots`, as a number of 128 bits. A set of a filter
 * whose fingerprints are prefixes of that product (core/hash.h) has the slots of the filter, so
 * that the number does not change when the filter is resized by a power of two. Other sets have
 * 2^63. An exception is the beginning of a number: its first `length` bits. It denies every key
 * whose number begins with these bits. The filter chooses the length (reports.c).
 *
 * The set is an open-addressing hash table, at most 62/64 full, that grows by 1/100. Adjacent
 * exceptions are in the order of their homes (Robin Hood hashing). The home of a number is its
 * first 48 bits, scaled to the number of cells. So a cell stores only what its home does not tell:
 *
 *   tag    16 bits: 7 bits, distance from home + 1, 0 for a free cell; 7 bits of the number;
 *          1 bit: on the no list; 1 bit: fresh
 *   rest   the further bits of the number, packed: as many as the longest exception has. If lengths
 *          differ, a 1 and zeros follow the last bit of each.
 *
 * Tags and rests are separate arrays. A search reads only tags, two bytes per cell, until 14 bits
 * are equal. Most queries do not search: there are 8 hint bits per cell (4 of whole digests),
 * before the tags, and the one of a digest is set if it may be denied.
 *
 * Forgetting (the clock algorithm): a new or refreshed exception is fresh. With every new one a
 * hand moves over one cell, whose exception is no longer fresh then. At the limit it moves on to
 * the next exception that is not fresh, and removes it. It passes over exceptions of the no list.
 * So what is forgotten depends on the calls alone.
 */
#ifndef BESOM_EXCEPTIONS_EXCEPTIONS_H
#define BESOM_EXCEPTIONS_EXCEPTIONS_H

#include <stddef.h>

#include "besom.h"
#include "core/bits.h"
#include "core/blocks.h"
#include "core/byte_io.h"

#define NUMBER_BITS 128
#define MOST_EXCEPTIONS (UINT64_C(1) << 40) /* of a limit in the configuration */
#define MOST_OF_ONE_HOME 127                /* exceptions whose first 48 bits are equal */

/* Zero is an empty set. */
struct exception_set {
  uint8_t *tags; /* as in a file; the rests follow, and the hints are before them */
  uint64_t cells;
  uint64_t count, listed; /* exceptions; how many of them are on the no list */
  uint64_t hand;          /* the cell that it looks at next */
  uint64_t forgotten;     /* exceptions removed at the limit */
  uint64_t slots;         /* times a power of two: the upper bit is set */
  uint64_t scale;         /* home = first 48 bits * scale / 2^64 */
  uint8_t length;         /* bits of the longest exception */
  uint8_t home_bits;      /* bits of the first 48 that a home does not tell */
  uint8_t hint_bits;      /* there are 2^hint_bits hints per cell */
  bool mixed;             /* lengths may differ */
};

struct exception {
  besom_digest number; /* zeros after its length */
  unsigned length;
  bool listed, fresh;
};

/* Prepares an empty set whose numbers have so many slots. */
void besom__exceptions_start(struct exception_set *m, uint64_t slots);

/* Whether a set is another one than besom__exceptions_start makes. */
static inline bool exceptions_are_changed(const struct exception_set *m) {
  return m->cells || m->forgotten || m->length || m->mixed;
}

/* The number of a digest. */
besom_digest besom__exception_number(const struct exception_set *m, besom_digest d);

/* The digests that the exception denies: from *first to *last. */
void besom__exception_range(const struct exception_set *m, const struct exception *e,
                            besom_digest *first, besom_digest *last);

bool besom__exceptions_has(const struct exception_set *m, besom_digest d);
bool besom__exceptions_has_number(const struct exception_set *m, besom_digest number);

/* Where the hint bit of a digest is, in the bytes before the tags. */
ALWAYS_INLINE uint64_t hint_of(const struct exception_set *m, uint64_t digest_hi) {
  return (uint64_t)((unsigned __int128)digest_hi * (m->cells << m->hint_bits) >> 64);
}

/* Whether the hint bit is set. The set is not empty. */
ALWAYS_INLINE bool exceptions_hint(const struct exception_set *m, uint64_t digest_hi) {
  uint64_t hint = hint_of(m, digest_hi);
  return m->tags[-1 - (ptrdiff_t)(hint / 8)] >> hint % 8 & 1;
}

/* besom__exceptions_has of a set that is not empty, in few instructions without the hint bit. */
ALWAYS_INLINE bool exceptions_deny(const struct exception_set *m, besom_digest d) {
  return UNLIKELY(exceptions_hint(m, d.hi)) && besom__exceptions_has(m, d);
}

/* Prefetches the tags where a search begins. The set is not empty. */
void besom__exceptions_prefetch(const struct exception_set *m, besom_digest d);

/* Whether one exception denies all keys that e denies. */
bool besom__exceptions_cover(const struct exception_set *m, const struct exception *e);

/* How many exceptions begin like e, which has at least 48 bits. All others are longer. */
uint64_t besom__exceptions_like(const struct exception_set *m, const struct exception *e);

struct exception_limit {
  uint64_t most; /* exceptions */
  bool forget;   /* at the limit: forget another one, instead of refusing */
  bool no_memory_fails;
  bool reserved;                /* besom__exceptions_reserve has made room: takes no memory */
  const struct exception *keep; /* not NULL: none that begins like this one is forgotten */
};

/*
 * Adds an exception, or makes an equal one fresh and listed, if e is. EVICTED if another one was
 * forgotten for it. RESERVE_FULL at the limit, if none can be forgotten, or if there is no memory;
 * nothing has changed then. With no_memory_fails, missing memory is NO_MEMORY, and nothing is
 * forgotten for it: for calls whose result must not depend on memory.
 */
besom_status besom__exceptions_add(struct exception_set *m, const besom_allocator *allocator,
                                   const struct exception *e, const struct exception_limit *limit);

/*
 * Makes room for n new exceptions whose homes are that of e, so that adding all of them, with
 * limit->reserved, does not fail. The limit must hold them beside those that it keeps. Without
 * memory there is room, too, if it may forget so many others. RESERVE_FULL, with nothing changed:
 * there is none.
 */
besom_status besom__exceptions_reserve(struct exception_set *m, const besom_allocator *allocator,
                                       const struct exception *e, uint64_t n,
                                       const struct exception_limit *limit);

/* Removes what denies the digest; with `listed` only from the no list. Returns whether it did. */
bool besom__exceptions_remove(struct exception_set *m, besom_digest d, bool listed);
bool besom__exceptions_remove_number(struct exception_set *m, besom_digest number, bool listed);

/* The exception of the first used cell from *cell on; then *cell is the next. Or false. */
bool besom__exceptions_next(const struct exception_set *m, uint64_t *cell, struct exception *e);

/* Copies a set into an empty one, with memory of its own. Returns NO_MEMORY. */
besom_status besom__exceptions_copy(struct exception_set *to, const struct exception_set *from,
                                    const besom_allocator *allocator);

void besom__exceptions_free(struct exception_set *m, const besom_allocator *allocator);

/* Visits the memory of the cells. */
void besom__exceptions_visit(struct exception_set *m, const struct block_visitor *v);

/* The bytes of its memory that are saved; all that it has taken. */
uint64_t besom__exceptions_saved_bytes(const struct exception_set *m);
uint64_t besom__exceptions_bytes(const struct exception_set *m);

/* The members that are saved besides the slots; read sets what write wrote. */
void besom__exceptions_write(const struct exception_set *m, struct byte_writer *w);
void besom__exceptions_read(struct exception_set *m, struct byte_reader *r);

/*
 * Takes a copy of saved bytes. The members that are saved are set; slots, too. Returns NO_MEMORY,
 * or CORRUPT if the bytes are none of a set: then the set is empty.
 */
besom_status besom__exceptions_load(struct exception_set *m, const besom_allocator *allocator,
                                    const void *data, uint64_t len);

/* Checks cells of unknown origin. Returns NULL, or what is wrong. */
const char *besom__exceptions_check(const struct exception_set *m);

#endif
