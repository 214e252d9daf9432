/*
 * Passes over the members of an adaptive stacked filter. The members come from a source that the
 * caller binds. Each report reads a few thousand of them, so that no call takes long.
 *
 * A pass that extends the stack takes the layers of non-members as they will be, and adds every
 * member that passes one of them to the layer of members that follows. Layers of members may be in
 * use meanwhile: one more member in them does no harm. At the end of the pass the layers that
 * waited are used, all at once. So a member that passes a layer of non-members in use is always in
 * the next layer, and there are no false negatives.
 */
#include <math.h>

#include "papers/adaptive_stacked/asf.h"

#define MEMBERS_PER_STEP 16384
#define MAX_FOUND 512 /* members that reach a further layer, per step */
#define ROOM_FOR_INSERTS 64

/* What a step has found. It is applied when the source has not failed. */
struct found {
  uint64_t members; /* read; over a base that counts, their copies in the first layer */
  bool no_room;     /* for one of them in the new first layer */
  unsigned n;
  besom_digest digests[MAX_FOUND];
};

void besom__asf_begin_pass(struct asf *a, enum pass pass) {
  a->pass = pass;
  a->pass_started = false;
}

/* Layers of members that were being filled are dropped: they do not have all members. */
void besom__asf_end_pass(struct asf *a) {
  for (unsigned i = 2; i < ASF_MAX_LAYERS; i += 2) {
    besom_free(a->next[i]);
    a->next[i] = NULL;
  }
  besom_free(a->first);
  a->first = NULL;
  a->pass = NO_PASS;
  a->pass_started = false;
}

/* ------------------------------------------------------------------ layers of members */

/* The members that reach layer i at capacity, and some more. */
static double expected_members(const struct asf *a, unsigned i) {
  double members = (double)a->head.capacity;
  for (unsigned j = 1; j < i; j += 2) members *= a->plan.stack.rates[j];
  return fmin(1.02 * members + 4 * sqrt(members) + ROOM_FOR_INSERTS, (double)MAX_CAPACITY);
}

/* Creates the layers of members that do not exist yet. */
static besom_status make_layers(struct asf *a) {
  struct layer_kind base = {.kind = a->objective.kind};
  besom_status status = BESOM_OK;
  for (unsigned i = 2; i < ASF_MAX_LAYERS && status == BESOM_OK; i += 2) {
    if (!a->next[i - 1] || asf_coming(a, i)) continue;
    besom_config config = {.capacity = (uint64_t)ceil(expected_members(a, i)),
                           .fpr = a->plan.stack.rates[i]};
    status = besom__layer_create(&a->head, &base, &config, &a->next[i]);
  }
  return status;
}

/* Whether a member reaches a layer of members that does not have it. */
static bool is_missing(const struct asf *a, besom_digest d) {
  for (unsigned i = 1; i + 1 < ASF_MAX_LAYERS; i += 2) {
    const besom_filter *coming = asf_coming(a, i), *holds = asf_coming(a, i + 1);
    if (!coming || !holds || !asf_layer_has(a, coming, i, d)) return false;
    if (!asf_layer_has(a, holds, i + 1, d)) return true;
  }
  return false;
}

/* Adds a member to every layer of members that it reaches. Errors: FULL. */
static besom_status add_to_all(struct asf *a, besom_digest d) {
  for (unsigned i = 1; i + 1 < ASF_MAX_LAYERS; i += 2) {
    besom_filter *coming = asf_coming(a, i), *holds = asf_coming(a, i + 1);
    if (!coming || !holds || !asf_layer_has(a, coming, i, d)) break;
    if (asf_layer_has(a, holds, i + 1, d)) continue;
    besom_status status = holds->kind->change->insert(holds, layer_digest(d, i + 1 + asf_salt(a)));
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

void besom__asf_add_member(struct asf *a, besom_digest d) {
  if (a->pass == FILL_FIRST && a->pass_started && asf_first_add(a->first, d) != BESOM_OK)
    besom__asf_end_pass(a);
  if (add_to_all(a, d) != BESOM_OK) besom__asf_drop_learned(a);
}

/* ------------------------------------------------------------------ the end of a pass */

/* The layers that waited are used from now on. */
static void use_waiting(struct asf *a) {
  for (unsigned i = 1; i + 1 < ASF_MAX_LAYERS; i += 2) {
    if (!a->next[i]) continue;
    if (i < a->n) besom_free(a->layers[i]);
    a->layers[i] = a->next[i];
    a->next[i] = NULL;
    if (a->next[i + 1]) a->layers[i + 1] = a->next[i + 1];
    a->next[i + 1] = NULL;
    if (a->n < i + 2) a->n = i + 2;
  }
  a->repeats = 0;
}

static void use_first(struct asf *a) {
  besom_filter *old = a->layers[0];
  a->layers[0] = a->first;
  a->first = NULL;
  besom_free(old);
  a->head.items = a->layers[0]->items;
  besom__asf_drop_learned(a);
  besom__asf_set_objective(a, &a->another);
  besom__asf_begin_window(a);
  a->remedy = REPLANNED;
  a->relearned++;
}

/* All members have been read. */
static void finish_pass(struct asf *a) {
  bool was_complete = asf_is_complete(a);
  if (a->pass == FILL_FIRST)
    use_first(a);
  else
    use_waiting(a);
  besom__asf_end_pass(a);
  if (asf_is_complete(a) && !was_complete) besom__asf_completed(a);
}

/* ------------------------------------------------------------------ steps */

static besom_status start_reading(struct asf *a) {
  besom_status status = a->pass == EXTEND_STACK ? make_layers(a) : BESOM_OK;
  if (status == BESOM_OK) status = a->members.rewind(a->members.ctx);
  if (status != BESOM_OK) return status;
  a->pass_started = true;
  a->due = a->head.items;
  a->passed = 0;
  return BESOM_OK;
}

/*
 * What a member adds to the number that was read. A first layer of an older file may hold copies of
 * members; the source need not repeat those.
 */
static uint64_t members_at(const struct asf *a, besom_digest d) {
  const besom_filter *first = a->layers[0];
  uint64_t n = 1;
  if (first->kind->query.count && first->kind->query.count(first, d, &n) != BESOM_OK) n = 0;
  return n;
}

/*
 * Reads members until there are enough, of all or of those that are missing. A first layer that is
 * being filled is not used yet, so it gets them at once.
 */
static besom_status read_members(struct asf *a, struct found *found) {
  for (unsigned i = 0; i < MEMBERS_PER_STEP && found->n < MAX_FOUND && !found->no_room; i++) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = a->members.next(a->members.ctx, &key, &weight);
    if (status == BESOM_OK && !key.data && key.len) status = BESOM_INVALID;
    if (status != BESOM_OK) return status;
    besom_digest d = hash_bytes(&a->head.hasher, key.data, key.len);
    found->members += members_at(a, d);
    if (a->pass == FILL_FIRST)
      found->no_room = asf_first_add(a->first, d) != BESOM_OK;
    else if (is_missing(a, d))
      found->digests[found->n++] = d;
  }
  return BESOM_OK;
}

static besom_status add_found(struct asf *a, const struct found *found) {
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < found->n && status == BESOM_OK; i++)
    status = add_to_all(a, found->digests[i]);
  return status;
}

/* The new plan cannot be used. It counts as tried, so that the next remedy is another one. */
static void give_up_first(struct asf *a) {
  besom__asf_end_pass(a);
  a->remedy = REPLANNED;
}

/*
 * With fewer members than the filter holds, there would be false negatives. If a layer of members
 * is full, more members pass than planned: what was learned is dropped, and learned again.
 */
besom_status besom__asf_step(struct asf *a) {
  struct found found = {.n = 0};
  besom_status status = a->pass_started ? BESOM_OK : start_reading(a);
  if (status != BESOM_OK) return status;
  status = read_members(a, &found);
  if (status != BESOM_OK && status != BESOM_END) return status;
  if (status == BESOM_END && a->passed + found.members < a->due) return BESOM_INVALID;
  if (found.no_room) {
    give_up_first(a);
    return BESOM_OK;
  }
  if (add_found(a, &found) != BESOM_OK) {
    besom__asf_drop_learned(a);
    return BESOM_OK;
  }
  a->passed += found.members;
  if (status == BESOM_END) finish_pass(a);
  return BESOM_OK;
}
