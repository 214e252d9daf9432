/* Filters from streams of keys or of sorted digests. */
#include <string.h>

#include "core/memory.h"
#include "core/sort.h"
#include "filter.h"

#define FIRST_ROOM 4096 /* digests, when nobody told how many there will be */

/* The number of keys of a source: its hint, or a first pass over it. */
static besom_status size_of(const besom_source *source, uint64_t *size) {
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

/* Reads up to n keys and hashes them, since a key is only there until the next is read. */
static besom_status read_digests(const besom_filter *f, const besom_source *source, besom_digest *out, size_t cap,
                                 size_t *n) {
  for (*n = 0; *n < cap; ++*n) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = source->next(source->ctx, &key, &weight);
    if (status != BESOM_OK) return status;
    if (!key.data && key.len) return BESOM_INVALID;
    out[*n] = besom_hash(f, key.data, key.len);
  }
  return BESOM_OK;
}

besom_status besom__insert_batch(besom_filter *f, const besom_source *source, size_t cap, size_t *n) {
  besom_digest batch[BUILD_BATCH];
  size_t inserted;
  besom_status read = read_digests(f, source, batch, cap, n);
  if (read != BESOM_OK && read != BESOM_END) return read;
  besom_status status = f->kind->insert_many(f, batch, *n, &inserted);
  return status == BESOM_OK ? read : status;
}

/* Inserts all that the source has left, when `done` keys are in already. */
static besom_status insert_all(besom_filter *f, const besom_source *source, uint64_t done, uint64_t total,
                               const besom_progress *progress) {
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

/* ------------------------------------------------------------------ collecting, sorting, appending */

/* The digests of a source. A key is half done when it is in here, and done when it is in the filter. */
struct collection {
  besom_digest *digests;
  size_t count, room;
  uint64_t total; /* of the source, 0 if unknown */
  const besom_progress *progress;
};

/* Makes room for more, up to `most` digests and one, to see that none comes; false if it is not to be had. */
static bool make_room(struct collection *c, const besom_allocator *allocator, uint64_t most) {
  uint64_t room = c->room ? 2 * (uint64_t)c->room : c->total ? c->total : FIRST_ROOM;
  room = (room < most ? room : most) + 1;
  if (room <= c->room || room > SIZE_MAX / sizeof *c->digests) return false;
  besom_digest *digests = besom__allocate(allocator, (size_t)room * sizeof *digests);
  if (!digests) return false;
  if (c->count) memcpy(digests, c->digests, c->count * sizeof *digests);
  besom__release(allocator, c->digests, c->room * sizeof *digests);
  c->digests = digests;
  c->room = (size_t)room;
  return true;
}

/*
 * Reads the source; *all is false if there is more of it than there is room. More than the capacity are not collected:
 * they do not fit, unless they are few keys with many copies, for which this would be a waste of memory.
 */
static besom_status collect(const besom_filter *f, const besom_source *source, struct collection *c, bool *all) {
  for (*all = false;;) {
    if (c->count == c->room && !make_room(c, &f->allocator, f->capacity)) return BESOM_OK;
    size_t n, left = c->room - c->count;
    besom_status status = read_digests(f, source, c->digests + c->count, left < BUILD_BATCH ? left : BUILD_BATCH, &n);
    c->count += n;
    *all = status == BESOM_END;
    if (status != BESOM_OK) return *all ? BESOM_OK : status;
    status = besom__tick(c->progress, c->count / 2, c->total);
    if (status != BESOM_OK) return status;
  }
}

/* The second half of the progress. */
static bool tick_collected(void *ctx, uint64_t done, uint64_t total) {
  const struct collection *c = ctx;
  return besom__tick(c->progress, (c->count + done) / 2, c->total ? c->total : total) == BESOM_OK;
}

/* Gives a collection in ascending order. A group is sorted when its turn has come, and appended from the cache. */
struct sorting {
  const struct collection *collection;
  size_t starts[DIGEST_GROUPS + 1];
  size_t groups, sorted, given; /* how many groups, and digests, are sorted; how many are given */
};

static besom_status next_sorted(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  struct sorting *s = ctx;
  besom_digest *digests = s->collection->digests;
  while (s->sorted - s->given < cap && s->groups < DIGEST_GROUPS) {
    size_t start = s->sorted;
    s->sorted = s->starts[++s->groups];
    besom__sort_digests(digests + start, s->sorted - start, DIGEST_GROUP_BITS);
  }
  if (s->given == s->sorted) return BESOM_END;
  *n = s->sorted - s->given < cap ? s->sorted - s->given : cap;
  memcpy(out, digests + s->given, *n * sizeof *out);
  s->given += *n;
  return BESOM_OK;
}

static besom_status append_collected(besom_filter *f, struct collection *c) {
  struct sorting sorting = {.collection = c};
  besom_digest_source sorted = {.next = next_sorted, .size_hint = c->count, .ctx = &sorting};
  besom_progress second_half = {.tick = tick_collected, .ctx = c};
  besom__group_digests(c->digests, c->count, sorting.starts);
  return f->kind->append(f, &sorted, &second_half);
}

static besom_status insert_collected(besom_filter *f, struct collection *c) {
  besom_progress second_half = {.tick = tick_collected, .ctx = c};
  besom_status status = BESOM_OK;
  for (size_t done = 0, some, inserted; done < c->count && status == BESOM_OK; done += some) {
    some = c->count - done < BUILD_BATCH ? c->count - done : BUILD_BATCH;
    status = f->kind->insert_many(f, c->digests + done, some, &inserted);
    if (status == BESOM_OK) status = besom__tick(&second_half, done + some, c->count);
  }
  return status;
}

/* Puts the keys of a source into an empty filter: by one pass over sorted digests if it can, else one by one. */
static besom_status fill(besom_filter *f, const besom_source *source, uint64_t total, const besom_progress *progress) {
  if (!f->kind->append) return insert_all(f, source, 0, total, progress);
  struct collection c = {.total = total, .progress = progress};
  bool all;
  besom_status status = collect(f, source, &c, &all);
  if (status == BESOM_OK) status = all ? append_collected(f, &c) : insert_collected(f, &c);
  besom__release(&f->allocator, c.digests, c.room * sizeof *c.digests);
  if (status == BESOM_OK && !all) status = insert_all(f, source, c.count, total, progress);
  return status;
}

/* Hands the filter over if status is OK, else frees it. */
static besom_status finish(besom_status status, besom_filter *f, besom_filter **out) {
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  return status;
}

/* For kinds that are made of a whole set. */
static besom_status build_whole(const besom_config *config, const besom_source *yes, const besom_source *no,
                                const besom_progress *progress, besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  besom_filter *f;
  besom_status status = besom__config_read(config, &kind, &hasher);
  if (status == BESOM_OK) status = besom__filter_new(kind, &hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  status = kind->build(f, config, yes, no, progress);
  if (status == BESOM_OK)
    *out = f;
  else
    besom__filter_drop(f);
  return status;
}

besom_status besom_build(const besom_config *config, const besom_source *yes, const besom_source *no,
                         const besom_progress *progress, besom_filter **out) {
  if (!config || !yes || !yes->next || (no && !no->next) || !out) return BESOM_INVALID;
  if (no && !besom__is_built_whole(config, no)) return BESOM_UNSUPPORTED;
  besom_config sized = *config;
  uint64_t total = yes->size_hint;
  besom_status status = BESOM_OK;
  if (!sized.capacity && !sized.slots) {
    status = size_of(yes, &total);
    sized.capacity = total ? total : 1;
  }
  if (status == BESOM_OK && besom__is_built_whole(config, no)) return build_whole(&sized, yes, no, progress, out);
  besom_filter *f;
  if (status == BESOM_OK) status = besom_create(&sized, &f);
  if (status != BESOM_OK) return status;
  return finish(fill(f, yes, total, progress), f, out);
}

besom_status besom_build_sorted(const besom_config *config, const besom_digest_source *digests,
                                const besom_progress *progress, besom_filter **out) {
  if (!config || !digests || !digests->next || !out) return BESOM_INVALID;
  besom_config sized = *config;
  besom_status status = BESOM_OK;
  if (!sized.capacity && !sized.slots) {
    status = size_of_digests(digests, &sized.capacity);
    if (!sized.capacity) sized.capacity = 1;
  }
  besom_filter *f;
  if (status == BESOM_OK) status = besom_create(&sized, &f);
  if (status != BESOM_OK) return status;
  status = f->kind->append ? f->kind->append(f, digests, progress) : BESOM_UNSUPPORTED;
  return finish(status, f, out);
}
