/*
 * What an adaptive stacked filter does with a reported key. The first layer of non-members that
 * does not have it learns it: usually the second layer; the fourth if the second has the key but
 * the third, a layer of members, errs; and so on.
 *
 * A key that is added to a layer lets further members pass it, which the next layer must have. So
 * the key is added to a copy of the layer, which waits for a pass over the members. A pass costs
 * about as much as so many false positives as it takes reports. So it is due when as many reports
 * were for keys that wait: the cost of passes is at most that of the false positives that they are
 * to avoid. In the published form a pass is due when the second layer is full.
 */
#include <math.h>

#include "papers/adaptive_stacked/asf.h"

#define MIN_REPEATS 32
#define MEMBERS_PER_REPEAT 4096

void besom__asf_drop_learned(struct asf *a) {
  besom__asf_end_pass(a);
  for (unsigned i = 1; i < ASF_MAX_LAYERS; i++) {
    besom_free(a->next[i]);
    if (i < a->n) besom_free(a->layers[i]);
    a->next[i] = a->layers[i] = NULL;
  }
  a->n = 1;
  a->generation++;
  a->repeats = a->learning = 0;
  a->queries = 0;
  besom__asf_begin_window(a);
}

/* A copy of the layer in use, or a new one. */
static besom_status make_waiting(struct asf *a, unsigned i) {
  if (a->next[i]) return BESOM_OK;
  if (i < a->n) return besom__layer_clone(&a->head, a->layers[i], &a->next[i]);
  struct layer_kind base = {.kind = a->objective.kind};
  besom_config config = {.capacity = (uint64_t)besom__asf_learned(&a->plan, i),
                         .fpr = a->plan.stack.rates[i]};
  return besom__layer_create(&a->head, &base, &config, &a->next[i]);
}

/*
 * A key that passes all layers is learned by one that does not exist yet. What one layer of
 * non-members has learned and waits for, a later one need not learn.
 */
static unsigned layer_to_learn(const struct asf *a, besom_digest d, bool *waits) {
  unsigned i = 1;
  *waits = false;
  for (; i < a->plan.stack.layers; i += 2) {
    const besom_filter *coming = asf_coming(a, i);
    if (!coming || !asf_layer_has(a, coming, i, d)) break;
    *waits = i >= a->n || !asf_layer_has(a, a->layers[i], i, d);
    if (*waits) break;
  }
  return i;
}

besom_status besom__asf_learn(struct asf *a, besom_digest d, enum lesson *lesson) {
  bool waits;
  unsigned i = layer_to_learn(a, d, &waits);
  if (waits) {
    a->repeats++;
    a->learning++;
    *lesson = WAITS;
    return BESOM_OK;
  }
  const besom_filter *coming = i < a->plan.stack.layers ? asf_coming(a, i) : NULL;
  *lesson = CANNOT_LEARN;
  if (i >= a->plan.stack.layers || (coming && layer_is_full(coming))) return BESOM_OK;
  besom_status status = make_waiting(a, i);
  if (status != BESOM_OK) return status;
  status = a->next[i]->kind->change->insert(a->next[i], layer_digest(d, i + asf_salt(a)));
  if (status == BESOM_FULL) return BESOM_OK;
  if (status == BESOM_OK) *lesson = LEARNED, a->learning++;
  return status;
}

bool besom__asf_pass_is_due(const struct asf *a) {
  const besom_filter *second = a->next[1];
  bool filled = second && layer_is_full(second);
  if (a->objective.published) return filled;
  uint64_t repeats = a->head.items / MEMBERS_PER_REPEAT;
  return filled || a->repeats >= (repeats > MIN_REPEATS ? repeats : MIN_REPEATS);
}
