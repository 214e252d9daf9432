/*
 * A small aqf, or a chain of one aqf, in one small allocation: for servers with millions of filters
 * for few keys each. A packed filter answers, inserts, counts and removes as the filter it was made
 * from. For everything else it is unpacked: besom__unpack makes a filter with the same bytes.
 *
 * What it has in common with other filters of the same configuration is stored once, in a *model*:
 * the saved bytes of the empty filter, without the seed. A packed filter itself has the seed, and
 * the fingerprints in the order of the table:
 *
 *   runs         for each quotient one bit 1 per fingerprint, then a bit 0
 *   remainders   those of all runs, `width` bits each
 *   directory    how many fingerprints come before every 64th quotient
 *
 * So a fingerprint takes width + 1 bits and a slot one bit; there are no empty slots and no tail. A
 * copy of a key is a further fingerprint. The exceptions of the filter are a block of their own.
 */
#ifndef BESOM_QUOTIENT_PACKED_H
#define BESOM_QUOTIENT_PACKED_H

#include "besom.h"
#include "core/blocks.h"

struct packed;

/*
 * Packs a filter, which stays as it is. UNSUPPORTED if it cannot be packed: another kind or hash,
 * more than one layer, values, extensions, or more than PACKED_MAX_SLOTS slots.
 */
#define PACKED_MAX_SLOTS 24576
besom_status besom__pack(const besom_filter *f, const besom_allocator *allocator,
                         struct packed **out);
/* Makes the filter again. Errors: NO_MEMORY. */
besom_status besom__unpack(const struct packed *p, const besom_allocator *allocator,
                           besom_filter **out);
struct packed *besom__packed_copy(const struct packed *p, const besom_allocator *allocator);
/*
 * Takes the exceptions of f, which besom__unpack made of p with the same allocator. So a change of
 * exceptions is one of the unpacked filter, which is then freed. It takes the time of an unpack.
 */
void besom__packed_take_exceptions(struct packed *p, besom_filter *f,
                                   const besom_allocator *allocator);
/* Visits all memory of p. Returns where p is. */
struct packed *besom__packed_visit(struct packed *p, const struct block_visitor *v);
/* May run in any thread. */
void besom__packed_free(struct packed *p, const besom_allocator *allocator);

uint64_t besom__packed_slots(const struct packed *p);
bool besom__packed_has_exceptions(const struct packed *p);
besom_digest besom__packed_hash(const struct packed *p, const void *key, size_t len);
bool besom__packed_contains(const struct packed *p, besom_digest d);
uint64_t besom__packed_count(const struct packed *p, besom_digest d);
/* FULL: insert it into the unpacked filter. NO_MEMORY. *p may move. */
besom_status besom__packed_insert(struct packed **p, besom_digest d,
                                  const besom_allocator *allocator);
/* Whether the filter that the packed one was made from would refuse every further key, too. */
bool besom__packed_is_full(const struct packed *p);
/* Returns whether there was one. */
bool besom__packed_remove(struct packed *p, besom_digest d);

#endif
