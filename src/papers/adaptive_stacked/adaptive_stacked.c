/*
 * adaptive-stacked: a stack of filters that learns which keys to deny (Deeds, Hentschel, Idreos:
 * "Stacked Filters", 2021, section 6). The first layer holds the members; at first it answers
 * alone. Reported false positives are added to the second layer. The third holds the members that
 * are false positives of the second. A key that passes the first two layers is a member only if the
 * third has it, too. A fourth layer learns the false positives that the third cannot deny, and so
 * on.
 *
 * In the published form the third layer is made when the second is full; only then both are used.
 * Here they are used as soon as a pass over the members pays, and extended by further passes.
 * asf.h lists the files.
 */
#include "papers/adaptive_stacked/asf.h"

#include "core/system/memory.h"

/* ------------------------------------------------------------------ queries */

static struct layer_chain in_use(const struct asf *a) {
  return (struct layer_chain){.layers = (besom_filter **)(uintptr_t)a->layers,
                              .n = a->n,
                              .max = ASF_MAX_LAYERS,
                              .plain_first = true,
                              .salt = asf_salt(a)};
}

/*
 * Queries may run concurrently and the filter is const to them. A lost count only makes the
 * observed rate slightly less accurate.
 */
static void asf_count_denied(const struct asf *a, uint64_t n) {
  _Atomic uint64_t *denied = (_Atomic uint64_t *)(uintptr_t)&a->denied;
  atomic_store_explicit(denied, atomic_load_explicit(denied, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

static bool asf_has(const struct asf *a, besom_digest d) {
  const besom_filter *first = a->layers[0];
  struct layer_chain stack = in_use(a);
  return first->kind->query.contains(first, d) && besom__layer_chain_answer(&stack, 1, d);
}

static bool asf_contains(const besom_filter *f, besom_digest d) {
  bool yes = asf_has(const_asf(f), d);
  if (!yes) asf_count_denied(const_asf(f), 1);
  return yes;
}

static void asf_prefetch(const besom_filter *f, besom_digest d) {
  layer_prefetch(const_asf(f)->layers[0], d);
}

static void asf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap) {
  const struct asf *a = const_asf(f);
  struct layer_chain stack = in_use(a);
  uint64_t yes = 0;
  besom__layer_chain_answer_many(&stack, d, n, bitmap);
  for (size_t i = 0; i < n; i += 64) yes += popcount(bitmap[i / 64]);
  asf_count_denied(a, n - yes);
}

/* ------------------------------------------------------------------ changes */

static besom_status asf_bind_source(besom_filter *f, const besom_source *members) {
  struct asf *a = asf(f);
  besom__asf_end_pass(a); /* it read other members */
  a->members = members ? *members : (besom_source){0};
  return BESOM_OK;
}

/*
 * Learns a false positive, or counts it. When the second layer is full every one counts; deeper
 * layers may still learn it.
 */
static besom_status asf_learn(struct asf *a, besom_digest d) {
  enum lesson lesson;
  bool complete = asf_is_complete(a);
  if (complete || a->plan.learn == 0) {
    besom_status status = besom__asf_check_rate(a);
    if (status != BESOM_OK || a->pass != NO_PASS || !asf_is_complete(a)) return status;
  }
  besom_status status = besom__asf_learn(a, d, &lesson);
  if (status != BESOM_OK) return status;
  if (besom__asf_pass_is_due(a)) besom__asf_begin_pass(a, EXTEND_STACK);
  return lesson == CANNOT_LEARN && !complete ? besom__asf_check_rate(a) : BESOM_OK;
}

static besom_status asf_adapt(besom_filter *f, besom_digest d) {
  struct asf *a = asf(f);
  if (!a->members.next) return BESOM_NEEDS_STORE;
  if (a->pass == NO_PASS) return asf_learn(a, d);
  uint64_t *counted = asf_is_complete(a) ? &a->wrong : &a->learning;
  besom_status status = besom__asf_step(a);
  if (status != BESOM_OK)
    besom__asf_end_pass(a);
  else
    ++*counted;
  return status;
}

static besom_status asf_insert(besom_filter *f, besom_digest d) {
  struct asf *a = asf(f);
  besom_status status = asf_first_add(a->layers[0], d);
  f->items = a->layers[0]->items;
  if (status == BESOM_OK) besom__asf_add_member(a, d);
  return status;
}

static besom_status asf_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                    size_t *done) {
  struct asf *a = asf(f);
  besom_filter *first = a->layers[0];
  besom_status status = BESOM_OK;
  if (first->kind->query.count)
    for (*done = 0; *done < n && (status = asf_first_add(first, d[*done])) == BESOM_OK;) ++*done;
  else
    status = first->kind->change->insert_many(first, d, n, done);
  f->items = first->items;
  for (size_t i = 0; i < *done; i++) besom__asf_add_member(a, d[i]);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* Layers that wait for a pass are not queried, but use memory. */
static void asf_stats(const besom_filter *f, struct stats_out *out) {
  const struct asf *a = const_asf(f);
  const besom_filter *second = asf_coming(a, 1);
  struct layer_chain stack = in_use(a);
  besom__layer_chain_stats(&stack, out);
  if (a->measured) out->common.bytes += sizeof *a->measured;
  besom__add_counter(out, "rebuilds", a->relearned);
  besom__add_counter(out, "learned_keys", a->n > 1 ? a->layers[1]->items : 0);
  if (second) out->common.reserve_used = (double)second->items / (double)second->capacity;
  for (unsigned i = 0; i < ASF_MAX_LAYERS; i++)
    if (a->next[i]) besom__layer_stats(a->next[i], out);
}

/* Those in use, then those that wait. */
static const besom_filter *asf_layer(const besom_filter *f, size_t i) {
  const struct asf *a = const_asf(f);
  if (i < a->n) return a->layers[i];
  i -= a->n;
  for (unsigned j = 0; j < ASF_MAX_LAYERS; j++)
    if (a->next[j] && i-- == 0) return a->next[j];
  return NULL;
}

static const char *asf_validate(const besom_filter *f) {
  const struct asf *a = const_asf(f);
  for (unsigned i = 0; asf_layer(f, i); i++) {
    const char *wrong = asf_layer(f, i)->kind->file->validate(asf_layer(f, i));
    if (wrong) return wrong;
  }
  return f->items != a->layers[0]->items || f->capacity > a->layers[0]->capacity
             ? "the numbers of keys differ from those of the first layer"
             : NULL;
}

const struct besom_kind besom__adaptive_stacked = {
    .name = "adaptive-stacked",
    .summary =
        "stack of filters that learns frequent false positives; needs a source of its members",
    .size = sizeof(struct asf),
    .options = {OPTION_ROWS(besom__asf_rows), .conflict = besom__asf_conflict},
    .create = besom__asf_create,
    .create_like = besom__asf_create_like,
    .destroy = besom__asf_destroy,
    .stats = asf_stats,
    .layer = asf_layer,
    .query = {.contains = asf_contains,
              .contains_many = asf_contains_many,
              .prefetch = asf_prefetch},
    .change = &(const struct change_ops){.insert = asf_insert, .insert_many = asf_insert_many},
    .adapt = &(const struct adapt_ops){.adapt = asf_adapt, .bind_source = asf_bind_source},
    .build = &(const struct build_ops){.takes_no = BESOM_TAKES_SAMPLE, .build = besom__asf_build},
    .file = &(const struct file_ops){.validate = asf_validate,
                                     .save = besom__asf_save,
                                     .load = besom__asf_load},
};
