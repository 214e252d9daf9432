/*
 * Creating, freeing and merging filters. filter_query.c and filter_change.c have the calls on keys.
 */
#include "filter.h"

#include <string.h>

#include "core/durable_file.h"
#include "core/memory.h"

/* -------------------------------------------------------------- life */

besom_status besom__filter_new(const struct besom_kind *kind, const struct hasher *hasher,
                               const besom_allocator *allocator, besom_filter **out) {
  if (!allocator) allocator = &besom__default_allocator;
  if (!allocator->allocate || !allocator->release) return BESOM_INVALID;
  besom_filter *f = besom__allocate(allocator, kind->size);
  if (!f) return BESOM_NO_MEMORY;
  f->kind = kind;
  f->hasher = *hasher;
  f->allocator = *allocator;
  besom__choose_calls(f); /* the general ones: the kind's part is not made yet */
  *out = f;
  return BESOM_OK;
}

void besom__filter_drop(besom_filter *f) {
  besom_allocator allocator = f->allocator;
  if (f->mapping_size) besom__file_unmap(f->mapping, f->mapping_size);
  besom__release(&allocator, f, f->kind->size);
}

besom_status besom__filter_made(besom_status status, besom_filter *f, besom_filter **out) {
  if (status == BESOM_OK) {
    besom__choose_calls(f);
    *out = f;
  } else {
    besom__filter_drop(f);
  }
  return status;
}

void besom_free(besom_filter *f) {
  if (!f) return;
  besom_task_cancel(f->task);
  if (f->snapshot)
    besom__snapshot_free(f);
  else
    f->kind->destroy(f);
  besom__filter_drop(f);
}

besom_status besom__filter_create(const struct besom_kind *kind, const besom_config *config,
                                  const struct hasher *hasher, besom_filter **out) {
  besom_filter *f;
  if (config->repeated != 0 && !kind->takes_repeats) return BESOM_INVALID;
  besom_status status = besom__filter_new(kind, hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  return besom__filter_made(kind->create(f, config), f, out);
}

besom_status besom__create_plain(const besom_config *config, besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  if (besom__is_built_whole(config, NULL)) return BESOM_UNSUPPORTED;
  besom_status status = besom__config_read(config, &kind, &hasher);
  return status == BESOM_OK ? besom__filter_create(kind, config, &hasher, out) : status;
}

besom_status besom_create_sized(const besom_config *config, size_t config_size,
                                besom_filter **out) {
  if (!config || !out) return BESOM_INVALID;
  besom_config c;
  besom_filter *f;
  besom_copy_struct(&c, sizeof c, config, config_size);
  besom_status status = besom__create_plain(&c, &f);
  return status == BESOM_OK ? besom__hand_over(f, c.flags & BESOM_CONCURRENT, out) : status;
}

besom_status besom__hand_over(besom_filter *f, bool shared, besom_filter **out) {
  besom_status status = shared ? besom_share(f) : BESOM_OK;
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  return status;
}

besom_status besom__plain_like(const besom_filter *f, besom_filter **out) {
  const struct besom_kind *kind = besom__kind_named(f->kind->info.name);
  if (!kind->create_like) return BESOM_UNSUPPORTED;
  besom_filter *g;
  besom_status status = besom__filter_new(kind, &f->hasher, &f->allocator, &g);
  if (status != BESOM_OK) return status;
  g->capacity = f->capacity;
  return besom__filter_made(kind->create_like(g, f), g, out);
}

besom_status besom_create_like(const besom_filter *f, besom_filter **out) {
  if (!f || !out) return BESOM_INVALID;
  besom_filter *g = NULL;
  struct reader r = besom__reader_enter(f);
  besom_status status = besom__plain_like(r.filter, &g);
  besom__reader_leave(r);
  return status == BESOM_OK ? besom__hand_over(g, f->snapshot, out) : status;
}

/* -------------------------------------------------------------- merging */

/* Two filters at once, in the order of their addresses, so that two threads cannot deadlock. */
static void pause_both(const besom_filter *a, const besom_filter *b) {
  besom__pause_writers(a < b ? a : b);
  if (a != b) besom__pause_writers(a < b ? b : a);
}

static void resume_both(const besom_filter *a, const besom_filter *b) {
  besom__resume_writers(a);
  if (a != b) besom__resume_writers(b);
}

/* Of two filters without snapshot handles: a new plain one. */
static besom_status merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (strcmp(a->kind->info.name, b->kind->info.name) || !hashers_equal(&a->hasher, &b->hasher))
    return BESOM_INCOMPATIBLE;
  besom_filter *into = NULL;
  besom_status status = besom__plain_like(a, &into);
  if (status != BESOM_OK) return status;
  pause_both(a, b);
  status = into->kind->merge ? into->kind->merge(a, b, into) : BESOM_UNSUPPORTED;
  resume_both(a, b);
  if (status == BESOM_OK)
    *out = into;
  else
    besom_free(into);
  return status;
}

besom_status besom_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (!a || !b || !out) return BESOM_INVALID;
  struct reader x = besom__reader_enter(a), y = besom__reader_enter(b);
  besom_filter *both = NULL;
  besom_status status = merge(x.filter, y.filter, &both);
  besom__reader_leave(x);
  besom__reader_leave(y);
  return status == BESOM_OK ? besom__hand_over(both, a->snapshot, out) : status;
}
