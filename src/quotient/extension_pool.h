/*
 * A pool of notes: strings of bits (code.h) that some slots have, all from one budget of bits.
 *
 * 64 blocks of the table, or what is left of them, share a page of the pool. For its m blocks it has
 *
 *   presence   m words: bit i = slot i of the block has a string
 *   lengths    m numbers of 2 bytes: how many bits the strings of the block take
 *   strings    m * 64 * (budget - 1) bits: those of all slots, in their order, without gaps; zeros behind them
 *
 * A string of n bits is n - 1 ones, a zero, and its n bits as a number; lowest bits come first throughout. So a short
 * string, as half of them are, takes 2 bits, and every block takes as many as it needs, up to what the page has.
 * Changing a string moves what is behind it in the page: a kilobyte at most, for a budget of 3 bits a slot.
 */
#ifndef BESOM_QUOTIENT_POOL_H
#define BESOM_QUOTIENT_POOL_H

#include <stddef.h>

#include "quotient/slot_meta_code.h"

#define POOL_PAGE_BLOCKS 64
#define MIN_BUDGET 2
#define MAX_BUDGET 15 /* so that the bits of a page can be counted in 16 */

struct pool {
  uint8_t *bytes;  /* NULL: the filter has no pool */
  uint64_t blocks; /* of the table */
  uint64_t budget; /* bits a slot, presence included: MIN_BUDGET to MAX_BUDGET */
  uint64_t
      limit; /* bits that strings should take, all together; pages have a little more room than that */
  uint64_t used; /* bits that they take */
};

/* A pool for a table of so many slots and blocks; its zeroed memory is the caller's to bring. */
struct pool besom__pool_of(uint64_t slots, uint64_t blocks, uint64_t budget);
size_t besom__pool_bytes(const struct pool *p);

/* The slots of a block that have a string. */
uint64_t besom__pool_presence(const struct pool *p, uint64_t block);

/* The strings of a block; 0 for a slot without one. Whatever the bits are, this ends. */
void besom__pool_read(const struct pool *p, uint64_t block, slot_meta *meta);

/* False, and nothing is changed, if the page has no room for them. */
bool besom__pool_write(struct pool *p, uint64_t block, const slot_meta *meta);

/* How many bits the strings of these 64 slots take. */
uint64_t besom__pool_cost(const slot_meta *meta);
uint64_t besom__pool_cost_of(const struct pool *p, uint64_t block);

/* How many bits more strings of the block can take within the limit and the page. */
uint64_t besom__pool_room(const struct pool *p, uint64_t block);

/* NULL, or what is wrong. Safe on any bits. */
const char *besom__pool_check(const struct pool *p);

#endif
