/*
 * Creating, freeing and merging filters. filter_query.c and filter_change.c have the calls on keys.
 */
#include "kinds.h"

#include <string.h>

#include "core/system/durable_file.h"
#include "core/system/memory.h"
#include "exceptions/pairs.h"

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
  besom__reports_drop(f);
  if (!f->mapping) besom__release(&allocator, f->note.data, f->note.len);
  if (f->mapping_size) besom__file_unmap(f->mapping, f->mapping_size);
  besom__release(&allocator, f, f->kind->size);
}

besom_filter *besom__visit_blocks(besom_filter *f, const struct block_visitor *v) {
  if (!f->kind->visit_blocks || f->snapshot || f->mapping || f->task) return NULL;
  f = v->visit(v->ctx, f);
  if (f->exceptions) {
    f->exceptions = v->visit(v->ctx, f->exceptions);
    besom__exceptions_visit(f->exceptions, v);
  }
  f->kind->visit_blocks(f, v);
  return f;
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
  besom_status status = besom__check_set(kind, config->flags);
  if (status == BESOM_OK) status = besom__filter_new(kind, hasher, config->allocator, &f);
  if (status != BESOM_OK) return status;
  f->is_set = config->flags & BESOM_SET;
  status = besom__reports_configure(f, config);
  if (status == BESOM_OK) status = kind->create(f, config);
  if (status == BESOM_OK) besom__set_settle(f);
  return besom__filter_made(status, f, out);
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
  const struct besom_kind *kind = besom__kind_named(f->kind->name);
  if (!kind->create_like) return BESOM_UNSUPPORTED;
  besom_filter *g;
  besom_status status = besom__filter_new(kind, &f->hasher, &f->allocator, &g);
  if (status != BESOM_OK) return status;
  g->capacity = f->capacity;
  g->reports = f->reports;
  g->is_set = f->is_set;
  return besom__filter_made(kind->create_like(g, f), g, out);
}

besom_status besom_create_like(const besom_filter *f, besom_filter **out) {
  if (!f || !out) return BESOM_INVALID;
  besom_filter *g = NULL;
  struct reader r = besom__reader_enter(f);
  besom_status status = besom__plain_like(r.filter, &g);
  if (status == BESOM_OK) besom__copy_domains(g, r.filter);
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

/* Values of maplets with different notes may mean different things. */
static bool notes_agree(const struct filter_note *a, const struct filter_note *b) {
  return !a->len || !b->len || (a->len == b->len && memcmp(a->data, b->data, a->len) == 0);
}

/* Of two filters without snapshot handles: a new plain one. */
static besom_status filter_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (strcmp(a->kind->name, b->kind->name) || !hashers_equal(&a->hasher, &b->hasher))
    return BESOM_INCOMPATIBLE;
  if (!a->domains.labels != !b->domains.labels) return BESOM_INCOMPATIBLE;
  if (!a->kind->map != !b->kind->map || !notes_agree(&a->note, &b->note)) return BESOM_INCOMPATIBLE;
  besom_filter *into = NULL;
  besom_status status = besom__plain_like(a, &into);
  if (status != BESOM_OK) return status;
  into->is_set |= b->is_set;
  pause_both(a, b);
  status =
      KIND_HAS(into->kind, whole, merge) ? into->kind->whole->merge(a, b, into) : BESOM_UNSUPPORTED;
  if (status == BESOM_OK)
    status = a->kind->map ? besom__pairs_merge(a, b, into) : besom__reports_merge(a, b, into);
  resume_both(a, b);
  const struct filter_note *note = a->note.len ? &a->note : &b->note;
  if (status == BESOM_OK) status = besom__note_copy(into, note->data, note->len);
  besom__choose_calls(into);
  if (status == BESOM_OK) {
    besom__copy_domains(into, a->domains.labels > b->domains.labels ? a : b);
    into->domains.excepts = a->domains.excepts || b->domains.excepts;
    *out = into;
  } else {
    besom_free(into);
  }
  return status;
}

/* A plain copy of a filter with another number of slots. It has no keys to read. */
static besom_status filter_copy_resized(const besom_filter *f, uint64_t slots, besom_filter **out) {
  besom_filter *empty = NULL, *copy = NULL;
  besom_status status = besom__plain_like(f, &empty);
  if (status != BESOM_OK) return status;
  status = KIND_HAS(empty->kind, whole, resize_start) ? filter_merge(f, empty, &copy)
                                                      : BESOM_UNSUPPORTED;
  besom_free(empty);
  if (status != BESOM_OK) return status;
  status = besom_resize(copy, slots, NULL);
  if (status == BESOM_OK)
    *out = copy;
  else
    besom_free(copy);
  return status;
}

/* Selectors of a bound filter become 0, from its stored keys. */
static besom_status filter_resized(const besom_filter *f, uint64_t slots, besom_filter **out) {
  besom_statistics now;
  besom_stats(f, &now);
  bool by_keys = f->bound && !f->exceptions && !KIND_HAS(f->kind, threads, pause_writers) &&
                 KIND_HAS(f->kind, whole, resize_start) && now.slots != slots;
  return (by_keys ? besom__resized_by_keys : filter_copy_resized)(f, slots, out);
}

static besom_status merge_resized(const besom_filter *a, const besom_filter *b, uint64_t slots,
                                  besom_filter **out) {
  besom_filter *x = NULL, *y = NULL;
  besom_status status = filter_resized(a, slots, &x);
  if (status == BESOM_OK) status = filter_resized(b, slots, &y);
  if (status == BESOM_OK) status = filter_merge(x, y, out);
  besom_free(x);
  besom_free(y);
  return status;
}

besom_status besom_merge_slots(const besom_filter *a, const besom_filter *b, uint64_t slots,
                               besom_filter **out) {
  if (!a || !b || !out || !slots) return BESOM_INVALID;
  struct reader x = besom__reader_enter(a), y = besom__reader_enter(b);
  besom_filter *both = NULL;
  besom_status status = merge_resized(x.filter, y.filter, slots, &both);
  besom__reader_leave(x);
  besom__reader_leave(y);
  return status == BESOM_OK ? besom__hand_over(both, a->snapshot, out) : status;
}

besom_status besom_merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  if (!a || !b || !out) return BESOM_INVALID;
  struct reader x = besom__reader_enter(a), y = besom__reader_enter(b);
  besom_filter *both = NULL;
  besom_status status = filter_merge(x.filter, y.filter, &both);
  besom__reader_leave(x);
  besom__reader_leave(y);
  return status == BESOM_OK ? besom__hand_over(both, a->snapshot, out) : status;
}
