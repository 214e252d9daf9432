/*
 * Resizing a quotient table: doubling and halving, in steps. A cursor reads the old table, an
 * appender fills the new one.
 */
#ifndef BESOM_QUOTIENT_TABLE_RESIZE_H
#define BESOM_QUOTIENT_TABLE_RESIZE_H

#include "quotient/table/appender.h"
#include "quotient/table/cursor.h"

/*
 * Resize hooks, for kinds that keep slot metadata: called for fingerprints of one slot on their way
 * from `from` to `into`. Both functions may be NULL.
 */
struct qtable_resize_hooks {
  /* Replaces the remainder if it is not the one in the cursor's slot. */
  besom_status (*remainder)(const void *from, const struct qtable_cursor *at, uint64_t *remainder);
  /* Tells the new position of the cursor's fingerprint. */
  void (*placed)(void *into, const struct qtable_cursor *at, uint64_t position);
  const void *from;
  void *into;
};

/*
 * A resize in progress. Fills the empty table `into`, which has twice the slots and one bit of
 * width less: the first bit of every remainder moves into the quotient; or half the slots and one
 * bit more: the bit moves back. Runs keep their order, multislot fingerprints their bits. A step
 * handles at most max fingerprints. It may return FULL; the caller must drop `into` then.
 */
struct qtable_resizing {
  const struct qtable *from;
  struct qtable *into;
  struct qtable_appender out;
  struct qtable_cursor run, at; /* when doubling: the current run, and the position in it */
  /* doubling reads each run twice, for remainders that begin with 0 and with 1 */
  uint64_t first_bit;
  uint64_t extension_slots;         /* slots that extensions take in `into` so far */
  struct qtable_resize_hooks hooks; /* may be set after start */
};

void besom__qtable_resize_start(struct qtable_resizing *r, const struct qtable *from,
                                struct qtable *into);
besom_status besom__qtable_resize_step(struct qtable_resizing *r, uint64_t max, bool *finished);

#endif
