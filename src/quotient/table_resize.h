/* Doubling and halving a quotient table, in steps: a cursor reads it, an appender fills the new one. */
#ifndef BESOM_QUOTIENT_TABLE_RESIZE_H
#define BESOM_QUOTIENT_TABLE_RESIZE_H

#include "quotient/appender.h"
#include "quotient/cursor.h"

/*
 * For tables whose slots have more to them than the table knows of, in `from` and `into`: what to do on the way of
 * fingerprints of one slot to another size. Both may be NULL.
 */
struct qtable_resize_hooks {
  /* The remainder that counts, if it is not the one in the cursor's slot. */
  besom_status (*remainder)(const void *from, const struct qtable_cursor *at, uint64_t *remainder);
  /* The cursor's fingerprint has this position now. */
  void (*placed)(void *into, const struct qtable_cursor *at, uint64_t position);
  const void *from;
  void *into;
};

/*
 * Fills the empty table `into`, of twice (half) the slots and one bit of width less (more), moving the
 * first bit of every remainder into the quotient (back). Runs keep their order, long fingerprints their
 * bits. A step looks at no more than max fingerprints; it may be FULL, and then `into` is to be dropped.
 */
struct qtable_resizing {
  const struct qtable *from;
  struct qtable *into;
  struct qtable_appender out;
  struct qtable_cursor run, at; /* doubling: the run at hand, and where in it */
  uint64_t
      first_bit; /* doubling goes over each run twice, for those that begin with 0, and with 1 */
  uint64_t extension_slots;    /* that extensions take in `into` so far */
  struct qtable_resize_hooks hooks; /* may be set after start */
};

void besom__qtable_resize_start(struct qtable_resizing *r, const struct qtable *from,
                                struct qtable *into);
besom_status besom__qtable_resize_step(struct qtable_resizing *r, uint64_t max, bool *finished);

#endif
