/*
 * The extension pool: extensions (slot_meta_code.h) of all slots that have one, from one budget of
 * bits.
 *
 * 64 blocks of the table, or what is left of them, share a page of the pool. A page of m blocks
 * holds
 *
 *   presence     m words: bit i = slot i of the block has an extension
 *   lengths      m numbers of 2 bytes: how many bits the extensions of the block take
 *   extensions   m * 64 * (budget - 1) bits: in the order of slots, without gaps, then zeros
 *
 * An extension of n bits is written as n - 1 ones, a zero, and its n bits as a number, lowest bits
 * first. So an extension of one bit, as half of them are, takes 2 bits, and every block takes as
 * many bits as it needs, up to the size of the page. Changing an extension moves what follows it in
 * the page: at most a kilobyte at a budget of 3 bits per slot.
 */
#ifndef BESOM_QUOTIENT_EXTENSION_POOL_H
#define BESOM_QUOTIENT_EXTENSION_POOL_H

#include <stddef.h>

#include "papers/telescoping/slot_meta_code.h"

#define POOL_PAGE_BLOCKS 64
#define MIN_BUDGET 2
#define MAX_BUDGET 15 /* so that 16 bits can count the bits of a page */

struct extension_pool {
  uint8_t *bytes;  /* NULL: the filter has no pool */
  uint64_t blocks; /* of the table */
  uint64_t budget; /* bits per slot, including presence: MIN_BUDGET to MAX_BUDGET */
  uint64_t limit; /* bits that all extensions should take at most; pages have slightly more space */
  uint64_t used;  /* bits that they take */
};

/* A pool for a table of so many slots and blocks. The caller provides its memory, zeroed. */
struct extension_pool besom__pool_of(uint64_t slots, uint64_t blocks, uint64_t budget);
uint64_t besom__pool_bytes(const struct extension_pool *p);

/* Bit i: slot i of the block has an extension. */
uint64_t besom__pool_presence(const struct extension_pool *p, uint64_t block);

/* Reads the extensions of a block; 0 for a slot without one. Safe on any bits. */
void besom__pool_read(const struct extension_pool *p, uint64_t block, slot_meta *meta);

/*
 * Replaces the extensions of a block. Returns false, with nothing changed, if the page has no
 * space, or if its lengths exceed it. Safe on any bits.
 */
bool besom__pool_write(struct extension_pool *p, uint64_t block, const slot_meta *meta);

/* The bits that these 64 extensions take in a pool, and those that a block takes now. */
uint64_t besom__pool_cost(const slot_meta *meta);
uint64_t besom__pool_cost_of(const struct extension_pool *p, uint64_t block);

/* The bits that the extensions of the block may still grow by, within the limit and the page. */
uint64_t besom__pool_free_bits(const struct extension_pool *p, uint64_t block);

/* Returns NULL, or what is wrong. Safe on any bits. */
const char *besom__pool_check(const struct extension_pool *p);

#endif
