/*
 * A chain of filters that hold keys to confirm and keys to deny in turn: the first all members, each further one those
 * keys of its side that the one before it was wrong about. A key's answer is told by the first that does not hold it:
 * no if it is one of the members' (number 0, 2, ...), else yes. What cascade and stacked have in common.
 */
#ifndef BESOM_LAYERED_ALTERNATING_H
#define BESOM_LAYERED_ALTERNATING_H

#include "layered/inner.h"

struct alternating {
  besom_filter **layers; /* room for `most` of them, in the struct of the kind */
  unsigned n, most;
  bool
      plain_first; /* the first layer sees a key's digest as it is: the least work for what one layer answers */
};

/* The digest by which a layer sees a key. Layers must err independently of each other, so each sees other bits. */
besom_digest besom__alternating_digest(const struct alternating *a, unsigned layer, besom_digest d);

static inline bool alternating_has(const struct alternating *a, unsigned layer, besom_digest d) {
  const besom_filter *f = a->layers[layer];
  return f->kind->contains(f, besom__alternating_digest(a, layer, d));
}

/*
 * One more layer, made as the config says, that holds all of the list. Errors: as besom_create; FULL. The layers that
 * there are stay in any case: besom__alternating_free them.
 */
besom_status besom__alternating_add(struct alternating *a, const besom_filter *outer,
                                    const struct inner_kind *inner, const besom_config *config,
                                    const struct digests *held);
void besom__alternating_free(struct alternating *a);

/* Leaves those of the list that the newest layer is wrong about. */
void besom__alternating_keep_wrong(const struct alternating *a, struct digests *list);

/* The answer of a key that all layers before this one hold. */
bool besom__alternating_answer(const struct alternating *a, unsigned from, besom_digest d);
void besom__alternating_answer_many(const struct alternating *a, const besom_digest *d, size_t n,
                                    uint64_t *bitmap);

/* Adds up the layers; the rates are those for keys that no layer was made for. */
void besom__alternating_stats(const struct alternating *a, besom_statistics *out);
const char *besom__alternating_validate(const struct alternating *a);

/* The layers' sections alone; load wants n layers of one kind that has a price. Errors of load: as besom__inner_load.
 */
void besom__alternating_save(const struct alternating *a, struct sections_out *out);
besom_status besom__alternating_load(struct alternating *a, const besom_filter *outer,
                                     struct sections_in *in, uint64_t n);

#endif
