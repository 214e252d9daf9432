/*
 * updated: a static list, the base, and up to 16 updates of it. An update is an exact filter, a
 * cascade, that answers yes for the keys whose answer it changes. So the answer for a key is that
 * of the base, changed once for each update that answers yes.
 *
 * An update is built from the lists as they are then: it changes the answers of the listed keys
 * that the base and the earlier updates answer wrongly, and of no other listed key. Nothing depends
 * on how the earlier layers came about, so every update makes the filter exact on the new lists.
 * Keys that were on the yes list before count as keys of the no list, so they are answered no from
 * then on. Keys on no list are changed rarely: each update adds a share of the base's rate.
 *
 * The saved base and the saved earlier updates stay as they are. So the diff of two files is little
 * more than the new update.
 */
#include "lists/updated.h"

#include <math.h>

#include "core/sort.h"
#include "core/system/memory.h"
#include "kinds.h"
#include "layers/layer.h"
#include "lists/cascade_plan.h"

#define MAX_UPDATES 16
#define SHARE_OF_RATE 32 /* an update adds at most this share of the base's false-positive rate */
#define LOWEST_RATE 0x1p-32 /* of a cascade over ribbon filters */
#define FIRST_UPDATE 64 /* its layer number: other bits of the digest than any layer of the base */
#define BATCH 256

struct updated {
  besom_filter head;
  besom_filter *base;
  besom_filter *updates[MAX_UPDATES]; /* the oldest first */
  unsigned n;
};

static const struct updated *const_updated(const besom_filter *f) {
  return (const struct updated *)f;
}

static struct updated *updated(besom_filter *f) {
  return (struct updated *)f;
}

static bool is_named(const struct besom_kind *kind, const char *name) {
  return strcmp(kind->name, name) == 0;
}

static bool can_be_base(const struct besom_kind *kind) {
  return is_named(kind, "cascade") || is_named(kind, "ribbon") || is_named(kind, "fuse");
}

static bool can_be_update(const struct besom_kind *kind) {
  return is_named(kind, "cascade");
}

static void updated_destroy(besom_filter *f) {
  struct updated *u = updated(f);
  while (u->n) besom_free(u->updates[--u->n]);
  besom_free(u->base);
  u->base = NULL;
}

/* ------------------------------------------------------------------ queries */

static besom_digest update_digest(besom_digest d, unsigned i) {
  return layer_digest(d, FIRST_UPDATE + i);
}

static bool updated_contains(const besom_filter *f, besom_digest d) {
  const struct updated *u = const_updated(f);
  bool yes = u->base->kind->query.contains(u->base, d);
  for (unsigned i = 0; i < u->n; i++)
    yes ^= u->updates[i]->kind->query.contains(u->updates[i], update_digest(d, i));
  return yes;
}

static void updated_prefetch(const besom_filter *f, besom_digest d) {
  const struct updated *u = const_updated(f);
  layer_prefetch(u->base, d);
  for (unsigned i = 0; i < u->n; i++) layer_prefetch(u->updates[i], update_digest(d, i));
}

static void change_answers(const struct updated *u, unsigned update, const besom_digest *d,
                           size_t n, uint64_t *bitmap) {
  const besom_filter *layer = u->updates[update];
  besom_digest asked[BATCH] = {{0, 0}};
  uint64_t changed[BATCH / 64];
  for (size_t i = 0; i < n; i++) asked[i] = update_digest(d[i], update);
  layer->kind->query.contains_many(layer, asked, n, changed);
  for (size_t i = 0; i < (n + 63) / 64; i++) bitmap[i] ^= changed[i];
}

static void updated_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  const struct updated *u = const_updated(f);
  u->base->kind->query.contains_many(u->base, d, n, bitmap);
  for (size_t at = 0; at < n; at += BATCH)
    for (unsigned i = 0; i < u->n; i++)
      change_answers(u, i, d + at, n - at < BATCH ? n - at : BATCH, bitmap + at / 64);
}

/* ------------------------------------------------------------------ building */

/* Only the base, a cascade over ribbon filters. */
static besom_status updated_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress) {
  const struct besom_kind *kind = besom__in_this_build(&besom__cascade);
  besom_filter *base;
  besom_status status = besom__filter_new(kind, &f->hasher, &f->allocator, &base);
  if (status != BESOM_OK) return status;
  status = besom__filter_made(besom__cascade_build_as(f->kind, base, config, yes, no, progress),
                              base, &updated(f)->base);
  if (status != BESOM_OK) return status;
  f->items = updated(f)->base->items;
  f->capacity = updated(f)->base->capacity;
  return BESOM_OK;
}

static besom_status copy_layers(struct updated *u, const besom_filter *old, uint64_t without) {
  bool is_updated = is_named(old->kind, "updated");
  const besom_filter *base = is_updated ? const_updated(old)->base : old;
  unsigned n = is_updated ? const_updated(old)->n : 0;
  if (without > n) return BESOM_INVALID;
  besom_status status = besom__layer_clone_if(&u->head, base, can_be_base, &u->base);
  while (status == BESOM_OK && u->n < n - without) {
    const besom_filter *update = const_updated(old)->updates[u->n];
    status = besom__layer_clone_if(&u->head, update, can_be_update, &u->updates[u->n]);
    u->n += status == BESOM_OK;
  }
  return status;
}

/* The keys of an update, as its layers see them. */
struct changes {
  struct digests wrong, right; /* the answer so far is wrong, is right */
};

static besom_status updated_make_room(const besom_filter *f, struct digests *d, uint64_t room) {
  *d = (struct digests){.room = room ? room : 1};
  d->at = besom__allocate(&f->allocator, d->room * sizeof *d->at);
  return d->at ? BESOM_OK : BESOM_NO_MEMORY;
}

/* Adds all keys of a list, whose answer should be `expected`. */
static void updated_add_keys(const struct updated *u, const struct digests *list, bool expected,
                             struct changes *c) {
  uint64_t answers[BATCH / 64];
  for (uint64_t at = 0; at < list->n; at += BATCH) {
    size_t some = list->n - at < BATCH ? (size_t)(list->n - at) : BATCH;
    updated_contains_many(&u->head, list->at + at, some, answers);
    for (size_t i = 0; i < some; i++) {
      bool right = (answers[i / 64] >> (i % 64) & 1) == expected;
      struct digests *to = right ? &c->right : &c->wrong;
      to->at[to->n++] = update_digest(list->at[at + i], u->n);
    }
  }
}

static double base_rate(const besom_filter *base) {
  struct stats_out stats;
  besom__stats(base, &stats);
  return stats.common.fpr_at_capacity;
}

static besom_status updated_build_update(struct updated *u, struct changes *c, bool closed) {
  besom_config config = {.capacity = c->wrong.n,
                         .fpr = closed ? 0 : fmax(base_rate(u->base) / SHARE_OF_RATE, LOWEST_RATE),
                         .options = closed ? "base=ribbon,universe=closed" : "base=ribbon"};
  besom_filter *f;
  besom_status status = besom__filter_new(besom__in_this_build(&besom__cascade), &u->head.hasher,
                                          &u->head.allocator, &f);
  if (status != BESOM_OK) return status;
  status = besom__cascade_of_digests(f, &config, &c->wrong, &c->right);
  status = besom__filter_made(status, f, &u->updates[u->n]);
  u->n += status == BESOM_OK;
  return status;
}

/* Removes the keys of `from` that are in one of two lists. All are sorted. */
static void subtract(struct digests *from, const struct digests *x, const struct digests *y) {
  uint64_t kept = 0, i = 0, j = 0;
  for (uint64_t k = 0; k < from->n; k++) {
    besom_digest d = from->at[k];
    while (i < x->n && digest_less(x->at[i], d)) i++;
    while (j < y->n && digest_less(y->at[j], d)) j++;
    bool in_x = i < x->n && !digest_less(d, x->at[i]);
    bool in_y = j < y->n && !digest_less(d, y->at[j]);
    if (!in_x && !in_y) from->at[kept++] = d;
  }
  from->n = kept;
}

/* The three lists, sorted; was without the keys of the others. */
struct lists {
  struct digests yes, no, was;
};

/* Reads keys or digests; neither: an empty list. */
static besom_status read_list(const besom_filter *f, const besom_source *keys,
                              const besom_digest_source *digests, const besom_progress *progress,
                              struct digests *out) {
  if (keys) return besom__collect(f, keys, MAX_CAPACITY, progress, out);
  return digests ? besom__collect_sorted(f, digests, MAX_CAPACITY, progress, out) : BESOM_OK;
}

static besom_status read_lists(const besom_filter *f, const struct update_input *in,
                               struct lists *l) {
  besom_status status = read_list(f, in->yes, in->digests, in->progress, &l->yes);
  if (status == BESOM_OK) status = read_list(f, in->no, NULL, in->progress, &l->no);
  if (status == BESOM_OK) status = read_list(f, in->was, in->was_digests, in->progress, &l->was);
  if (status != BESOM_OK) return status;
  besom__digests_unite(&l->yes);
  besom__digests_unite(&l->no);
  besom__digests_unite(&l->was);
  subtract(&l->was, &l->yes, &l->no);
  return BESOM_OK;
}

/* A key of both lists is wrong as one and right as the other: the cascade finds it. */
static besom_status add_update(struct updated *u, const struct lists *l, bool closed) {
  struct changes c = {{0}, {0}};
  uint64_t all = l->yes.n + l->no.n + l->was.n;
  besom_status status = updated_make_room(&u->head, &c.wrong, all);
  if (status == BESOM_OK) status = updated_make_room(&u->head, &c.right, all);
  if (status == BESOM_OK) {
    updated_add_keys(u, &l->yes, true, &c);
    updated_add_keys(u, &l->no, false, &c);
    updated_add_keys(u, &l->was, false, &c);
    u->head.items = l->yes.n;
    u->head.capacity = l->yes.n > u->base->capacity ? l->yes.n : u->base->capacity;
    if (c.wrong.n) status = updated_build_update(u, &c, closed);
  }
  besom__digests_free(&u->head, &c.wrong);
  besom__digests_free(&u->head, &c.right);
  return status;
}

static void save_layers(const struct updated *u, struct sections_out *out) {
  besom__layer_save(u->base, out);
  for (unsigned i = 0; i < u->n; i++) besom__layer_save(u->updates[i], out);
}

/* Whether a file has room for all layers: those of a Bloom cascade may be too many with the
 * updates. Counted by saving without a file. */
static bool fits_in_file(const struct updated *u) {
  uint8_t parameters[MAX_SAVED_LAYERS][LAYER_PARAMETER_BYTES];
  struct sections_out saved = {.n = 1, .layer_parameters = parameters}; /* its own parameters */
  save_layers(u, &saved);
  return !saved.failed;
}

besom_status besom__update(const besom_filter *old, const struct update_input *in,
                           besom_filter **out) {
  besom_filter *f;
  struct lists l = {{0}, {0}, {0}};
  if (!is_named(old->kind, "updated") && !can_be_base(old->kind)) return BESOM_UNSUPPORTED;
  besom_status status =
      besom__filter_new(besom__in_this_build(&besom__updated), &old->hasher, &old->allocator, &f);
  if (status != BESOM_OK) return status;
  status = copy_layers(updated(f), old, in->merge_updates);
  if (status == BESOM_OK && updated(f)->n == MAX_UPDATES) status = BESOM_FULL;
  if (status == BESOM_OK) status = read_lists(f, in, &l);
  if (status == BESOM_OK) status = add_update(updated(f), &l, in->closed);
  if (status == BESOM_OK && !fits_in_file(updated(f))) status = BESOM_FULL;
  besom__digests_free(f, &l.yes);
  besom__digests_free(f, &l.no);
  besom__digests_free(f, &l.was);
  if (status != BESOM_OK) updated_destroy(f);
  return besom__filter_made(status, f, out);
}

/* ------------------------------------------------------------------ whole filters */

static void updated_stats(const besom_filter *f, struct stats_out *out) {
  const struct updated *u = const_updated(f);
  besom_statistics base = besom__layer_stats(u->base, out);
  double now = base.expected_fpr, planned = base.fpr_at_capacity;
  for (unsigned i = 0; i < u->n; i++) {
    besom_statistics s = besom__layer_stats(u->updates[i], out);
    now = now * (1 - s.expected_fpr) + (1 - now) * s.expected_fpr;
    planned = planned * (1 - s.fpr_at_capacity) + (1 - planned) * s.fpr_at_capacity;
  }
  out->common.expected_fpr = now;
  out->common.fpr_at_capacity = planned;
  besom__add_counter(out, "updates", u->n);
}

static const besom_filter *updated_layer(const besom_filter *f, size_t i) {
  const struct updated *u = const_updated(f);
  if (i == 0) return u->base;
  return i <= u->n ? u->updates[i - 1] : NULL;
}

static const char *updated_validate(const besom_filter *f) {
  const struct updated *u = const_updated(f);
  const char *wrong = u->base->kind->file->validate(u->base);
  for (unsigned i = 0; i < u->n && !wrong; i++)
    wrong = u->updates[i]->kind->file->validate(u->updates[i]);
  if (wrong) return wrong;
  return f->items <= f->capacity ? NULL : "there are more keys than the capacity";
}

static void updated_save(const besom_filter *f, struct sections_out *out) {
  const struct updated *u = const_updated(f);
  besom__write_u64(&out->parameters, u->n);
  save_layers(u, out);
}

static besom_status updated_load(besom_filter *f, struct sections_in *in) {
  struct updated *u = updated(f);
  uint64_t n = besom__read_u64(&in->parameters);
  besom_status status = n <= MAX_UPDATES ? BESOM_OK : BESOM_CORRUPT;
  if (status == BESOM_OK) status = besom__layer_load_if(f, in, can_be_base, &u->base);
  while (status == BESOM_OK && u->n < n) {
    status = besom__layer_load_if(f, in, can_be_update, &u->updates[u->n]);
    u->n += status == BESOM_OK;
  }
  if (status != BESOM_OK) updated_destroy(f);
  return status;
}

const struct besom_kind besom__updated = {
    .name = "updated",
    .summary = "static: a ribbon, fuse or cascade filter and its updates, for small diffs",
    .size = sizeof(struct updated),
    .options = {OPTION_ROWS(besom__updated_rows), .passes_on = true,
                .conflict = besom__cascade_conflict},
    .destroy = updated_destroy,
    .stats = updated_stats,
    .layer = updated_layer,
    .query = {.contains = updated_contains,
              .contains_many = updated_contains_many,
              .prefetch = updated_prefetch},
    .build = &(const struct build_ops){.takes_no = BESOM_CAN_BUILD_NO, .build = updated_build},
    .file = &(const struct file_ops){.validate = updated_validate,
                                     .save = updated_save,
                                     .load = updated_load},
};
