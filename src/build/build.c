/* besom_build: filters from streams of keys or of sorted digests. */
#include <string.h>

#include "build/build_distinct.h"
#include "build/bulk.h"
#include "build/parts.h"
#include "exceptions/reports.h"
#include "kinds.h"
#include "lists/updated.h"

/* The number of keys of a source: its hint, or a first pass over it. */
static besom_status build_size_of(const besom_source *source, uint64_t *size) {
  *size = source->size_hint;
  if (*size) return BESOM_OK;
  if (!source->rewind) return BESOM_INVALID;
  besom_bytes key;
  uint64_t weight;
  besom_status status;
  while (weight = 1, (status = source->next(source->ctx, &key, &weight)) == BESOM_OK) ++*size;
  return status == BESOM_END ? source->rewind(source->ctx) : status;
}

static besom_status size_of_digests(const besom_digest_source *source, uint64_t *size) {
  *size = source->size_hint;
  if (*size) return BESOM_OK;
  if (!source->rewind) return BESOM_INVALID;
  besom_digest batch[BUILD_BATCH];
  size_t n;
  besom_status status;
  while ((status = source->next(source->ctx, batch, BUILD_BATCH, &n)) == BESOM_OK) *size += n;
  return status == BESOM_END ? source->rewind(source->ctx) : status;
}

besom_status besom__insert_batch(besom_filter *f, const besom_source *source, size_t cap,
                                 size_t *n) {
  besom_digest batch[BUILD_BATCH];
  size_t inserted;
  besom_status read = besom__read_digests(f, source, batch, cap, n);
  if (read != BESOM_OK && read != BESOM_END) return read;
  besom_status status = besom__insert_digests(f, batch, *n, &inserted);
  return status == BESOM_OK ? read : status;
}

static besom_status build_insert_all(besom_filter *f, const besom_source *source, uint64_t total,
                                     const besom_progress *progress) {
  uint64_t done = 0;
  for (;;) {
    size_t n;
    besom_status read = besom__insert_batch(f, source, BUILD_BATCH, &n);
    if (read != BESOM_OK && read != BESOM_END) return read;
    done += n;
    besom_status status = besom__tick(progress, done, total);
    if (status != BESOM_OK) return status;
    if (read == BESOM_END) return BESOM_OK;
  }
}

/* ------------------------------------------------------------------ distinct keys */

static besom_status next_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  struct digests *left = ctx;
  if (!left->n) return BESOM_END;
  *n = left->n < cap ? (size_t)left->n : cap;
  memcpy(out, left->at, *n * sizeof *out);
  left->at += *n;
  left->n -= *n;
  return BESOM_OK;
}

bool besom__can_append(const besom_filter *f) {
  return KIND_HAS(f->kind, whole, append) && besom_abilities(f) & BESOM_CAN_BUILD_SORTED;
}

/* Inserts each digest into an empty filter once. Frees the digests. */
static besom_status insert_distinct(besom_filter *f, struct digests *all) {
  besom__digests_unite(all);
  struct digests left = *all;
  besom_digest_source sorted = {.next = next_digests, .size_hint = all->n, .ctx = &left};
  size_t inserted;
  besom_status status = besom__can_append(f)
                            ? f->kind->whole->append(f, &sorted, NULL)
                            : besom__insert_digests(f, all->at, (size_t)all->n, &inserted);
  besom__digests_free(f, all);
  return status;
}

static uint64_t distinct_limit(const besom_filter *f) {
  return kind_abilities(f->kind) & BESOM_CAN_SCALE ? MAX_CAPACITY : f->capacity;
}

/* Inserts each distinct key of a source into an empty filter once. */
static besom_status fill_distinct(besom_filter *f, const besom_source *source, uint64_t total,
                                  const besom_progress *progress) {
  besom_source hinted = *source;
  hinted.size_hint = total;
  struct digests all;
  besom_status status = besom__collect(f, &hinted, distinct_limit(f), progress, &all);
  return status == BESOM_OK ? insert_distinct(f, &all) : status;
}

/* Inserts the keys of a source into an empty filter; one by one if it cannot append or there is no
   memory to sort. */
static besom_status build_fill(besom_filter *f, const besom_input *in, uint64_t total,
                               const besom_config *config) {
  if (config->flags & BESOM_DISTINCT && !config->build_memory)
    return fill_distinct(f, in->yes, total, in->progress);
  bool begun = false;
  besom_status status =
      besom__can_append(f) ? besom__bulk_build(f, in, total, config, &begun) : BESOM_OK;
  return begun ? status : build_insert_all(f, in->yes, total, in->progress);
}

/* Hands over the filter if status is OK, else frees it. */
static besom_status build_finish(besom_status status, bool shared, besom_filter *f,
                                 besom_filter **out) {
  if (status == BESOM_OK) return besom__hand_over(f, shared, out);
  besom_free(f);
  return status;
}

/* -------------------------------------------------------------- besom_build */

/* For kinds that are made of a whole set. */
static besom_status build_whole(const besom_config *config, const besom_input *in,
                                besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  besom_filter *f;
  besom_status status = besom__config_read(config, &kind, &hasher);
  if (status == BESOM_OK && config->flags & BESOM_CONCURRENT) status = BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__check_set(kind, config->flags);
  if (status == BESOM_OK) status = besom__filter_new(kind, &hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  f->is_set = config->flags & BESOM_SET;
  status = besom__reports_configure(f, config);
  if (status == BESOM_OK) status = kind->build->build(f, config, in->yes, in->no, in->progress);
  if (status == BESOM_OK) besom__set_settle(f);
  return besom__filter_made(status, f, out);
}

/* From ascending digests, for kinds that are built as a whole. */
static besom_status build_whole_sorted(const besom_config *config, const besom_input *in,
                                       besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  besom_filter *f;
  besom_status status = besom__config_read(config, &kind, &hasher);
  if (status == BESOM_OK && config->flags & BESOM_CONCURRENT) status = BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__filter_new(kind, &hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  struct digests d = {0};
  status = besom__reports_configure(f, config);
  if (status == BESOM_OK)
    status = besom__collect_sorted(f, in->digests, config->capacity, in->progress, &d);
  if (status == BESOM_OK) status = kind->build->build_digests(f, config, &d);
  besom__digests_free(f, &d);
  return besom__filter_made(status, f, out);
}

/* As fill_distinct, from ascending digests. */
static besom_status fill_sorted(besom_filter *f, const besom_input *in) {
  struct digests all;
  besom_status status =
      besom__collect_sorted(f, in->digests, distinct_limit(f), in->progress, &all);
  return status == BESOM_OK ? insert_distinct(f, &all) : status;
}

/* In the geometry of in->like. */
static besom_status build_in_geometry(const besom_input *in, besom_filter **out) {
  const besom_filter *model = in->like;
  const struct besom_kind *kind = model->kind;
  besom_filter *f;
  besom_status status;
  if (KIND_HAS(kind, build, build_like)) {
    if (in->digests) return BESOM_UNSUPPORTED;
    status = besom__filter_new(kind, &model->hasher, &model->allocator, &f);
    if (status != BESOM_OK) return status;
    f->reports = model->reports;
    f->is_set = model->is_set;
    status = kind->build->build_like(f, model, in->yes, in->no, in->progress);
    status = besom__filter_made(status, f, out);
    if (status == BESOM_OK) besom__copy_domains(*out, model);
    return status;
  }
  if (in->no || !KIND_HAS(kind, change, insert_many)) return BESOM_UNSUPPORTED;
  struct reader r = besom__reader_enter(model);
  status = besom__plain_like(r.filter, &f);
  struct domain_mode mode = r.filter->domains;
  besom__reader_leave(r);
  if (status != BESOM_OK) return status;
  status = in->digests ? fill_sorted(f, in)
                       : fill_distinct(f, in->yes, in->yes->size_hint, in->progress);
  if (status == BESOM_OK) f->domains = mode, besom__choose_calls(f);
  return build_finish(status, model->snapshot, f, out);
}

/* From ascending digests: kinds that can append in one pass over the table. */
static besom_status build_sorted(besom_config *config, const besom_input *in, besom_filter **out) {
  besom_status status = BESOM_OK;
  if (!config->capacity && !config->slots) {
    status = size_of_digests(in->digests, &config->capacity);
    if (!config->capacity) config->capacity = 1;
  }
  const struct besom_kind *kind = config->kind ? besom__kind_named(config->kind) : NULL;
  if (status == BESOM_OK && kind && !kind->create && KIND_HAS(kind, build, build_digests))
    return build_whole_sorted(config, in, out);
  besom_filter *f;
  if (status == BESOM_OK) status = besom__create_plain(config, &f);
  if (status != BESOM_OK) return status;
  status = KIND_HAS(f->kind, whole, append) ? f->kind->whole->append(f, in->digests, in->progress)
                                            : BESOM_UNSUPPORTED;
  return build_finish(status, config->flags & BESOM_CONCURRENT, f, out);
}

enum { MAX_SEEDS = 4 };

/* A build that was FULL below the capacity may succeed with another random seed. */
static bool can_try_another_seed(const besom_filter *f, const besom_config *config,
                                 const besom_source *source) {
  return f->kind->full_by_chance && !config->seed && source->rewind && f->items &&
         f->items < f->capacity;
}

/* By inserts, or in sorted order: one new filter per seed. */
static besom_status build_by_filling(const besom_config *config, const besom_input *in,
                                     uint64_t total, besom_filter **out) {
  for (unsigned seeds = 1;; seeds++) {
    besom_filter *f;
    besom_status status = besom__create_plain(config, &f);
    if (status != BESOM_OK) return status;
    status = build_fill(f, in, total, config);
    if (status != BESOM_FULL || seeds == MAX_SEEDS || !can_try_another_seed(f, config, in->yes))
      return build_finish(status, config->flags & BESOM_CONCURRENT, f, out);
    besom_free(f);
    status = in->yes->rewind(in->yes->ctx);
    if (status != BESOM_OK) return status;
  }
}

/* Whether the number of keys is needed only after they were read. A kind that may be full by chance
 * reads them again. */
static bool may_count_later(const besom_config *config, const besom_source *source) {
  return config->flags & BESOM_DISTINCT && !config->build_memory && !config->capacity &&
         !config->slots && !source->size_hint && !besom__kind_named(config->kind)->full_by_chance;
}

static besom_status build_keys(besom_config *config, const besom_input *in, besom_filter **out) {
  bool known = config->kind && besom__kind_named(config->kind);
  bool whole = besom__is_built_whole(config, in->no);
  if (in->no && known && !whole) return BESOM_UNSUPPORTED;
  uint64_t total = in->yes->size_hint;
  besom_status status = BESOM_OK;
  if (known && !whole && may_count_later(config, in->yes)) {
    besom_filter *f;
    status = besom__build_distinct(config, in->yes, in->progress, DISTINCT_ENTRY_BITS, &f);
    if (status != BESOM_OK) return status;
    return besom__hand_over(f, config->flags & BESOM_CONCURRENT, out);
  }
  if (!config->capacity && !config->slots) {
    status = build_size_of(in->yes, &total);
    config->capacity = total ? total : 1;
  }
  if (status != BESOM_OK) return status;
  return whole ? build_whole(config, in, out) : build_by_filling(config, in, total, out);
}

/* -------------------------------------------------------------- pairs */

besom_status besom__insert_pairs(besom_filter *f, const besom_pair_source *source, size_t cap,
                                 size_t *n) {
  besom_digest digests[BUILD_BATCH];
  uint64_t values[BUILD_BATCH];
  besom_status read = BESOM_OK;
  besom_bytes key;
  size_t inserted;
  unsigned bits = f->kind->map->value_bits(f);
  for (*n = 0; *n < cap; ++*n) {
    read = source->next(source->ctx, &key, &values[*n]);
    if (read != BESOM_OK) break;
    if ((!key.data && key.len) || values[*n] >> bits) return BESOM_INVALID;
    digests[*n] = hash_bytes(&f->hasher, key.data, key.len);
  }
  if (read != BESOM_OK && read != BESOM_END) return read;
  besom_status status = f->kind->map->insert_many(f, digests, values, *n, &inserted);
  return status == BESOM_OK ? read : status;
}

/* The number of pairs of a source: its hint, or a first pass over it. */
static besom_status size_of_pairs(const besom_pair_source *source, uint64_t *size) {
  *size = source->size_hint;
  if (*size) return BESOM_OK;
  if (!source->rewind) return BESOM_INVALID;
  besom_bytes key;
  uint64_t value;
  besom_status status;
  while ((status = source->next(source->ctx, &key, &value)) == BESOM_OK) ++*size;
  return status == BESOM_END ? source->rewind(source->ctx) : status;
}

static besom_status insert_all_pairs(besom_filter *f, const besom_input *in) {
  besom_status status = BESOM_OK;
  uint64_t done = 0;
  for (size_t n; status == BESOM_OK; done += n) {
    status = besom__insert_pairs(f, in->pairs, BUILD_BATCH, &n);
    besom_status told = besom__tick(in->progress, done + n, in->pairs->size_hint);
    if (told != BESOM_OK) return told;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status build_pairs(besom_config *config, const besom_input *in, besom_filter **out) {
  besom_filter *f;
  besom_status status = BESOM_OK;
  if (in->like) {
    status = besom_create_like(in->like, &f);
  } else {
    if (!config->capacity && !config->slots) {
      status = size_of_pairs(in->pairs, &config->capacity);
      if (!config->capacity) config->capacity = 1;
    }
    if (status == BESOM_OK) status = besom__create_plain(config, &f);
  }
  if (status != BESOM_OK) return status;
  status = f->kind->map ? insert_all_pairs(f, in) : BESOM_UNSUPPORTED;
  return build_finish(status, config->flags & BESOM_CONCURRENT, f, out);
}

/* -------------------------------------------------------------- from any input */

/* An update has one option. */
static besom_status build_as_update(const char *options, const besom_input *in,
                                    besom_filter **out) {
  if (in->like || in->update->snapshot || (in->was && !in->was->next) ||
      (in->was_digests && !in->was_digests->next))
    return BESOM_INVALID;
  bool closed = options && strcmp(options, "universe=closed") == 0;
  if (options && options[0] && !closed) return BESOM_BAD_OPTION;
  struct update_input update = {.yes = in->yes,
                                .no = in->no,
                                .was = in->was,
                                .digests = in->digests,
                                .was_digests = in->was_digests,
                                .merge_updates = in->merge_updates,
                                .closed = closed,
                                .progress = in->progress};
  besom_status status = besom__update(in->update, &update, out);
  if (status == BESOM_OK) besom__copy_domains(*out, in->update);
  return status;
}

/* The sources of members: one is given, or pairs or digests. */
static bool has_one_list(const besom_input *in) {
  unsigned lists = !!in->yes + !!in->parts + !!in->keys + !!in->keys_u64;
  return lists == !(in->pairs || in->digests);
}

static bool input_valid(const besom_input *in) {
  if (!has_one_list(in)) return false;
  if ((in->was || in->was_digests || in->merge_updates) && !in->update) return false;
  if (in->was && in->was_digests) return false;
  if (in->pairs) return in->pairs->next && !in->no && !in->digests && !in->update;
  if (in->digests) return in->digests->next && !in->no && !(in->like && in->update);
  return (!in->yes || in->yes->next) && (!in->no || in->no->next);
}

static besom_status build_from(const besom_config *config, size_t config_size,
                               const besom_input *in, besom_filter **out) {
  if (in->like && !in->update && !in->pairs) return build_in_geometry(in, out);
  besom_config c = {0};
  if (config) besom_copy_struct(&c, sizeof c, config, config_size);
  if (in->pairs) return build_pairs(&c, in, out);
  if (in->update) return build_as_update(c.options, in, out);
  return in->digests ? build_sorted(&c, in, out) : build_keys(&c, in, out);
}

besom_status besom_build_sized(const besom_config *config, size_t config_size,
                               const besom_input *input, size_t input_size, besom_filter **out) {
  if (!input || !out) return BESOM_INVALID;
  besom_input in;
  besom_copy_struct(&in, sizeof in, input, input_size);
  if (!input_valid(&in) || (!config && !in.like && !in.update)) return BESOM_INVALID;
  if (!has_parts(&in)) return build_from(config, config_size, &in, out);
  struct key_parts parts;
  besom_status status = besom__parts_of(&in, &parts);
  in.yes = &parts.all;
  return status == BESOM_OK ? build_from(config, config_size, &in, out) : status;
}
