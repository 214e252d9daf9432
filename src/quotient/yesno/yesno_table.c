#include "quotient/yesno/yesno_table.h"

#include <math.h>

#include "core/hash.h"
#include "core/sort.h"
#include "kind.h"
#include "quotient/fingerprint/multislot.h"

/* load factor; nothing is inserted, so that it may be higher than in other tables */
#define LOAD 0.97
#define TICK_EVERY 4096

/* ------------------------------------------------------------------ sizes */

/*
 * The expected number of slots per key that extensions take, if `near` no keys are expected to
 * share its remainder. Half of these share the next bit, and so on: the number that share b further
 * bits is Poisson with mean near / 2^b.
 */
static double extension_slots(double near, unsigned width) {
  double slots = 0, shorter = exp(-near);
  for (unsigned bits = 1; bits <= MAX_EXTENSION; bits++) {
    double enough = exp(-ldexp(near, -(int)bits));
    slots += (enough - shorter) * (besom__fingerprint_slots(1, bits, further_payload(width)) - 1);
    shorter = enough;
  }
  return slots;
}

uint64_t besom__yesno_table_slots_for(uint64_t used) {
  return (uint64_t)((double)used / LOAD) + 1;
}

void besom__yesno_table_plan(size_t n_yes, size_t n_no, unsigned min_width, unsigned max_width,
                             struct qtable_shape *shape) {
  uint64_t least = UINT64_MAX;
  for (unsigned width = min_width; width <= max_width; width++) {
    struct qtable_shape tried = *shape;
    tried.width = width;
    tried.slots = besom__yesno_table_slots_for(n_yes);
    double near = ldexp((double)n_no / (double)tried.slots, -(int)width);
    tried.slots = besom__yesno_table_slots_for(
        (uint64_t)((double)n_yes * (1 + extension_slots(near, width))));
    uint64_t bytes = besom__qtable_bytes(&tried);
    if (!bytes || bytes >= least) continue;
    least = bytes;
    *shape = tried;
  }
}

/* ------------------------------------------------------------------ fingerprints */

/* The number of bits after the remainder that separate the digest from another one. */
static unsigned bits_to_separate(struct address mine, besom_digest other,
                                 const struct qtable_shape *shape) {
  struct address a = address_of(other, shape->slots);
  if (a.quotient != mine.quotient) return 0;
  unsigned common = common_bits(mine.rest, a.rest);
  return common < shape->width ? 0 : common + 1 - shape->width;
}

/* Iterates over the yes list, with the position in the no list where the digest would be. */
struct walk {
  const struct lists *lists;
  size_t yes, no;
};

/*
 * The next fingerprint, or END. Its extension separates it from both neighbours in the no list and
 * fills its last slot.
 */
static besom_status next_fingerprint(struct walk *w, const struct qtable_shape *shape,
                                     struct fingerprint *fp) {
  const struct lists *l = w->lists;
  if (w->yes == l->n_yes) return BESOM_END;
  besom_digest d = l->yes[w->yes++];
  while (w->no < l->n_no && digest_less(l->no[w->no], d)) w->no++;
  if (w->no < l->n_no && !digest_less(d, l->no[w->no])) return BESOM_IS_MEMBER;
  struct address a = address_of(d, shape->slots);
  unsigned before = w->no ? bits_to_separate(a, l->no[w->no - 1], shape) : 0;
  unsigned after = w->no < l->n_no ? bits_to_separate(a, l->no[w->no], shape) : 0;
  unsigned bits = before > after ? before : after;
  if (bits > MAX_EXTENSION || bits + shape->width > 128)
    return BESOM_FULL; /* does not occur: two digests with so long a common prefix */
  if (bits) bits = besom__fingerprint_stretch(1, bits, further_payload(shape->width));
  if (bits > 128 - shape->width) bits = 128 - shape->width;
  *fp = (struct fingerprint){.quotient = a.quotient,
                             .remainder = remainder_of(a, shape->width),
                             .count = 1,
                             .extension = besom__extension_of(a.rest, shape->width, bits),
                             .extension_bits = bits};
  return BESOM_OK;
}

besom_status besom__yesno_table_count_slots(const struct lists *lists,
                                            const struct qtable_shape *shape, uint64_t *slots) {
  struct walk w = {.lists = lists};
  struct fingerprint fp;
  besom_status status;
  for (*slots = 0; (status = next_fingerprint(&w, shape, &fp)) == BESOM_OK;)
    *slots += besom__fingerprint_slots(1, fp.extension_bits, further_payload(shape->width));
  return status == BESOM_END ? BESOM_OK : status;
}

besom_status besom__yesno_table_fill(const struct lists *lists, struct qtable *t,
                                     const besom_progress *progress) {
  struct qtable_shape shape = {.slots = t->slots, .width = t->width};
  struct qtable_appender out = qtable_append_start(t);
  struct walk w = {.lists = lists};
  struct fingerprint fp;
  besom_status status;
  while ((status = next_fingerprint(&w, &shape, &fp)) == BESOM_OK) {
    status = besom__fingerprint_append(&out, &fp);
    if (status == BESOM_OK && w.yes % TICK_EVERY == 0)
      status = besom__tick(progress, w.yes, lists->n_yes);
    if (status != BESOM_OK) return status;
  }
  qtable_append_finish(&out, t);
  return status == BESOM_END ? BESOM_OK : status;
}
