#include "exceptions/reports.h"
#include "kinds.h"

#include <math.h>
#include <string.h>

#include "core/system/memory.h"

#define DEFAULT_REPORT_RESERVE 0.05
#define EXCEPTIONS_OF_RESERVE 0.625 /* per key and reserve: 1/32 per key with the default reserve */
#define LEAST_EXCEPTIONS 64         /* of the default limit, for tiny filters */

/*
 * The length of exceptions. At most 2^-40 members are denied by chance, of 10^9 members and with
 * 10^6 reports. A reported key has the bits in common with a member that a match fixes, so 60 bits
 * more are needed, and one for the rounding of numbers. Of kinds whose matches fix bits anywhere in
 * the digest, at most 37 of them, 97 bits are enough.
 */
#define BITS_BEYOND_MATCH 61
#define INDEPENDENT_BITS 97
#define ANY_SLOTS (UINT64_C(1) << 63) /* of kinds without exception_slots: numbers have 127 bits */

#define TAG_REPORTS SECTION_TAG('R', 'E', 'P', 'T')
#define TAG_EXCEPTION_CELLS SECTION_TAG('E', 'X', 'C', 'P')

/* ------------------------------------------------------------------ options */

besom_status besom__reports_configure(besom_filter *f, const besom_config *config) {
  struct report_values o = {0};
  struct option_reader reader = {.table = &f->kind->options, .reports = &o};
  if (f->kind->keeps_reports) return BESOM_OK;
  besom_status status = besom__options_read_all(&reader, config->options);
  f->reports =
      (struct report_options){.most = o.max_exceptions == OPTION_UNSET ? 0 : o.max_exceptions,
                              .no_capacity = config->no_capacity,
                              .reserve = config->reserve,
                              .forget = o.forget,
                              .form = o.exceptions == OPTION_UNSET ? EXCEPTIONS_DEFAULT
                                      : o.exceptions               ? EXCEPTIONS_FULL
                                                                   : EXCEPTIONS_SHORT};
  return status;
}

/* Of a chain, which grows: what its layers hold. */
static uint64_t report_capacity(const besom_filter *f) {
  uint64_t sum = 0;
  const besom_filter *layer;
  if (f->capacity < MAX_CAPACITY || !f->kind->layer) return f->capacity;
  for (size_t i = 0; (layer = f->kind->layer(f, i)); i++) sum += layer->capacity;
  return sum;
}

uint64_t besom__report_limit(const besom_filter *f) {
  const struct report_options *o = &f->reports;
  if (o->most) return o->most + o->no_capacity;
  double reserve = o->reserve != 0 ? o->reserve : DEFAULT_REPORT_RESERVE;
  uint64_t most = (uint64_t)(EXCEPTIONS_OF_RESERVE * reserve * (double)report_capacity(f));
  return (most < LEAST_EXCEPTIONS ? LEAST_EXCEPTIONS : most) + o->no_capacity;
}

bool besom__reports_are_full(const besom_filter *f) {
  return f->reports.form == EXCEPTIONS_FULL ||
         (f->reports.form == EXCEPTIONS_DEFAULT && f->kind->full_exceptions);
}

static unsigned prefix_bits_of(const besom_filter *f) {
  return f->kind->query.prefix_bits ? f->kind->query.prefix_bits(f) : 0;
}

/* To merge kinds whose queries need the whole digest, exceptions must be whole. */
static unsigned length_of_report(const besom_filter *f) {
  unsigned prefix = prefix_bits_of(f), length = 1 + INDEPENDENT_BITS;
  if (besom__reports_are_full(f)) return NUMBER_BITS;
  if (prefix)
    length = prefix + BITS_BEYOND_MATCH;
  else if (KIND_HAS(f->kind, whole, merge) && f->reports.form == EXCEPTIONS_DEFAULT)
    return NUMBER_BITS;
  return length < NUMBER_BITS ? length : NUMBER_BITS;
}

/* ------------------------------------------------------------------ the set */

struct exception_set *besom__reports_set(besom_filter *f) {
  if (f->exceptions) return f->exceptions;
  struct exception_set *m = besom__allocate(&f->allocator, sizeof *m);
  if (m)
    besom__exceptions_start(m, KIND_HAS(f->kind, adapt, exception_slots)
                                   ? f->kind->adapt->exception_slots(f)
                                   : ANY_SLOTS);
  f->exceptions = m;
  return m;
}

void besom__reports_drop(besom_filter *f) {
  if (!f->exceptions) return;
  besom__exceptions_free(f->exceptions, &f->allocator);
  besom__release(&f->allocator, f->exceptions, sizeof *f->exceptions);
  f->exceptions = NULL;
}

besom_status besom__reports_hand_on(besom_filter *fresh, besom_filter *from) {
  if (!from->exceptions) return BESOM_OK;
  if (from->kind->keeps_reports && !from->kind->map) {
    struct exception_set *copy = besom__reports_set(fresh);
    return copy ? besom__exceptions_copy(copy, from->exceptions, &fresh->allocator)
                : BESOM_NO_MEMORY;
  }
  fresh->exceptions = from->exceptions;
  from->exceptions = NULL;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries and changes */

void besom__reports_deny(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap) {
  const struct exception_set *m = f->exceptions;
  for (size_t i = 0; i < n; i += 64) {
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      besom__exceptions_prefetch(m, d[i + trailing_zeros(left)]);
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      if (exceptions_deny(m, d[i + trailing_zeros(left)])) bitmap[i / 64] &= ~(left & (0 - left));
  }
}

besom_status besom__reports_add(besom_filter *f, besom_digest d, bool listed) {
  struct exception_set *m = besom__reports_set(f);
  if (!m) return BESOM_RESERVE_FULL;
  bool was_empty = !m->count;
  struct exception_limit limit = {besom__report_limit(f), f->reports.forget};
  struct exception e = {besom__exception_number(m, d), length_of_report(f), listed, .fresh = true};
  besom_status status = besom__exceptions_add(m, &f->allocator, &e, &limit);
  if (was_empty && !f->kind->keeps_reports) besom__choose_calls(f);
  return status == BESOM_EVICTED && listed ? BESOM_OK : status; /* only reports tell it */
}

bool besom__reports_remove(besom_filter *f, besom_digest d, bool listed) {
  if (!f->exceptions || !f->exceptions->count) return false;
  bool was_there = besom__exceptions_remove(f->exceptions, d, listed);
  if (!f->exceptions->count && !f->kind->keeps_reports) besom__choose_calls(f);
  return was_there;
}

/* Reporting an exception again refreshes it. */
besom_status besom__report(besom_filter *f, besom_digest d, bool yes) {
  const struct besom_kind *kind = f->kind;
  if (!takes_reports(f))
    return KIND_HAS(kind, adapt, adapt) ? kind->adapt->adapt(f, d) : BESOM_UNSUPPORTED;
  bool known = is_reported(f, d);
  if (!known && !yes) return BESOM_OK;
  besom_status status = BESOM_NEEDS_STORE;
  if (!known && KIND_HAS(kind, adapt, adapt) && !f->mapping) status = kind->adapt->adapt(f, d);
  if (status != BESOM_NEEDS_STORE ||
      (KIND_HAS(kind, adapt, is_published) && kind->adapt->is_published(f)))
    return status;
  return besom__reports_add(f, d, false);
}

/* ------------------------------------------------------------------ merging */

/* Whether a filter answers no, without its exceptions, to all keys that e denies. */
static bool surely_denies(const besom_filter *f, besom_digest first, besom_digest last,
                          unsigned length) {
  const struct besom_kind *plain = f->kind->threads ? f->kind->threads->plain : f->kind; /* writers
                                                                                are paused */
  unsigned prefix = prefix_bits_of(f);
  bool is_one_or_two = last.hi - first.hi == (last.lo < first.lo) && last.lo - first.lo <= 1;
  if (!is_one_or_two && (!prefix || length <= prefix)) return false;
  return !plain->query.contains(f, first) && !plain->query.contains(f, last);
}

static besom_status merge_reports(const besom_filter *from, const besom_filter *other,
                                  besom_filter *into) {
  const struct exception_set *m = from->exceptions, *others = other->exceptions;
  if (!m || !m->count) return BESOM_OK;
  struct exception_set *all = besom__reports_set(into);
  if (!all) return BESOM_NO_MEMORY;
  if (!all->cells) all->slots = m->slots;
  struct exception_limit limit = {besom__report_limit(into), into->reports.forget,
                                  .no_memory_fails = true};
  struct exception e;
  if (all->slots != m->slots) return BESOM_OK; /* a set of an older file: what it has is dropped */
  for (uint64_t i = 0; besom__exceptions_next(m, &i, &e);) {
    besom_digest first, last;
    besom__exception_range(m, &e, &first, &last);
    bool covered = others && others->slots == m->slots && besom__exceptions_cover(others, &e);
    if (!covered && !surely_denies(other, first, last, e.length)) continue;
    besom_status status = besom__exceptions_add(all, &into->allocator, &e, &limit);
    if (status != BESOM_OK && status != BESOM_EVICTED) return status;
  }
  return BESOM_OK;
}

besom_status besom__reports_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  besom_status status = merge_reports(a, b, into);
  if (status == BESOM_OK) status = merge_reports(b, a, into);
  if (status == BESOM_OK) besom__choose_calls(into);
  return status;
}

/* ------------------------------------------------------------------ statistics */

void besom__reports_stats(const besom_filter *f, struct stats_out *out) {
  const struct exception_set none = {0}, *m = f->exceptions ? f->exceptions : &none;
  if (f->kind->keeps_reports && !f->kind->map && !f->exceptions) return; /* it has others */
  uint64_t limit = besom__report_limit(f);
  if (f->exceptions) out->common.bytes += sizeof *m + besom__exceptions_bytes(m);
  besom__add_counter(out, "exceptions", m->count);
  besom__add_counter(out, "exception_limit", limit);
  besom__add_counter(out, "forgotten", m->forgotten);
  /* after a resize there may be slightly more than fits */
  double used = fmin(1, (double)m->count / (double)limit);
  out->common.reserve_used = fmax(out->common.reserve_used, used);
}

/* ------------------------------------------------------------------ files */

/* Whether a file without the sections would be another filter. */
static bool must_be_saved(const besom_filter *f) {
  const struct report_options *o = &f->reports;
  const struct exception_set *m = f->exceptions;
  return (m && (m->cells || m->forgotten)) || o->most || o->no_capacity || o->reserve != 0 ||
         o->forget || o->form;
}

void besom__reports_save(const besom_filter *f, uint8_t parameters[REPORT_PARAMETER_BYTES],
                         struct sections_out *out) {
  const struct exception_set none = {.slots = ANY_SLOTS},
                             *m = f->exceptions ? f->exceptions : &none;
  const struct report_options *o = &f->reports;
  bool elsewhere =
      KIND_HAS(f->kind, adapt, exception_slots) || (f->kind->keeps_reports && !f->kind->map);
  if (elsewhere || !must_be_saved(f)) return;
  struct byte_writer w = {parameters, parameters + REPORT_PARAMETER_BYTES, false};
  besom__write_u64(&w, o->most);
  besom__write_u64(&w, o->no_capacity);
  besom__write_double(&w, o->reserve);
  besom__write_u32(&w, o->form);
  besom__write_u32(&w, o->forget);
  besom__write_u64(&w, m->slots);
  besom__exceptions_write(m, &w);
  add_section(out, TAG_REPORTS, parameters, (uint64_t)(w.at - parameters));
  add_section(out, TAG_EXCEPTION_CELLS, m->tags, besom__exceptions_saved_bytes(m));
}

static bool load_report_options(struct report_options *o, struct byte_reader *r) {
  o->most = besom__read_u64(r);
  o->no_capacity = besom__read_u64(r);
  o->reserve = besom__read_double(r);
  uint32_t form = besom__read_u32(r), forget = besom__read_u32(r);
  o->form = (uint8_t)form;
  o->forget = forget;
  return o->most <= MOST_EXCEPTIONS && o->no_capacity <= MAX_CAPACITY && o->reserve >= 0 &&
         o->reserve <= 0.5 && form <= EXCEPTIONS_FULL && forget <= 1;
}

/* Checks the cells also of trusted files: a search in a full set would not end. */
besom_status besom__reports_load(besom_filter *f, struct sections_in *in) {
  const struct section *saved = take_section(in, TAG_REPORTS), *cells;
  if (!saved) return BESOM_OK;
  struct byte_reader r = {saved->data, (const uint8_t *)saved->data + saved->len, false};
  bool sound = load_report_options(&f->reports, &r);
  uint64_t slots = besom__read_u64(&r);
  cells = take_section(in, TAG_EXCEPTION_CELLS);
  bool elsewhere =
      KIND_HAS(f->kind, adapt, exception_slots) || (f->kind->keeps_reports && !f->kind->map);
  if (!sound || !cells || !(slots >> 63) || elsewhere) return BESOM_CORRUPT;
  struct exception_set *m = besom__reports_set(f);
  if (!m) return BESOM_NO_MEMORY;
  besom__exceptions_start(m, slots);
  besom__exceptions_read(m, &r);
  if (r.failed || r.at != r.end) m->length = UINT8_MAX;
  besom_status status = besom__exceptions_load(m, &f->allocator, cells->data, cells->len);
  if (status != BESOM_OK) return status;
  if (!exceptions_are_changed(m) && m->slots == ANY_SLOTS) besom__reports_drop(f);
  return must_be_saved(f) ? BESOM_OK : BESOM_CORRUPT;
}
