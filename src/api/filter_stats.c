/* What a filter tells of itself: statistics, counters, layers, abilities, validity. */
#include <string.h>

#include "core/system/huge_pages.h"
#include "exceptions/reports.h"
#include "file/container.h"
#include "kind.h"

/* Of a filter without a snapshot handle. */
static void filter_stats_collect(const besom_filter *f, bool reports, struct stats_out *out) {
  besom__pause_writers(f);
  *out = (struct stats_out){.common = {
                                .kind = f->kind->name,
                                .hash = besom__hash_name(f->hasher.id),
                                .isa = "portable",
                                .keys = f->items,
                                .capacity = f->capacity,
                                .bytes = f->kind->size + f->note.len,
                            }};
  f->kind->stats(f, out);
  if (reports) besom__reports_stats(f, out);
  besom__resume_writers(f);
}

static void stats_of(const besom_filter *f, bool reports, struct stats_out *out) {
  struct reader r = besom__reader_enter(f);
  filter_stats_collect(r.filter, reports, out);
  besom__reader_leave(r);
  besom_statistics *s = &out->common;
  s->bytes += besom__snapshot_bytes(f);
  s->bits_per_key = s->keys ? 8.0 * (double)s->bytes / (double)s->keys : 0;
}

void besom__stats(const besom_filter *f, struct stats_out *out) {
  stats_of(f, true, out);
}

void besom__stats_of_layer(const besom_filter *f, struct stats_out *out) {
  stats_of(f, false, out);
}

besom_status besom_stats_sized(const besom_filter *f, besom_statistics *stats, size_t size) {
  if (!f || !stats) return BESOM_INVALID;
  struct stats_out out;
  besom__stats(f, &out);
  besom_copy_struct(stats, size, &out.common, sizeof out.common);
  return BESOM_OK;
}

size_t besom_counters(const besom_filter *f, besom_counter *out, size_t cap) {
  if (!f || (!out && cap)) return 0;
  struct stats_out all;
  uint64_t bytes;
  besom__stats(f, &all);
  if (all.common.bytes >= HUGE_PAGE && besom__huge_page_bytes(f, &bytes))
    besom__add_counter(&all, "huge_page_bytes", bytes);
  if (cap) memcpy(out, all.counters, (all.n < cap ? all.n : cap) * sizeof *out);
  return all.n;
}

const besom_filter *besom_layer(const besom_filter *f, size_t i) {
  return f && f->kind->layer ? f->kind->layer(f, i) : NULL;
}

/* What changes a filter: not to be had of one that is mapped. */
#define CHANGES                                                                                 \
  (BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_RESIZE | BESOM_CAN_ADAPT | BESOM_CAN_REKEY | \
   BESOM_CAN_SCALE | BESOM_CAN_NO_LIST | BESOM_CAN_NO_LIST_AT | BESOM_INSERTS_LATER)

/* What every kind can, unless it keeps reports itself. */
static unsigned abilities_by_exceptions(const besom_filter *f) {
  const struct besom_kind *kind = f->kind;
  bool stores = !f->bound && !(KIND_HAS(kind, adapt, is_published) && kind->adapt->is_published(f));
  if (kind->map) return BESOM_CAN_ADAPT; /* mapped, too */
  if (!takes_reports(f) && !(kind->keeps_reports && f->exceptions)) return 0;
  return BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST | (f->reports.forget ? BESOM_FORGETS : 0) |
         (stores ? BESOM_STORES_EXCEPTIONS : 0);
}

/* What needs a fingerprint of its own for every key: not to be had of a set. */
#define NEEDS_OWN_FINGERPRINTS \
  (BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MATCH | BESOM_CAN_NO_LIST_AT)

unsigned besom__own_abilities(const besom_filter *f) {
  return f->kind->abilities ? f->kind->abilities(f) : kind_abilities(f->kind);
}

unsigned besom_abilities(const besom_filter *f) {
  if (!f) return 0;
  struct reader r = besom__reader_enter(f);
  unsigned abilities = besom__own_abilities(r.filter);
  if (r.filter->is_set) abilities = (abilities & ~(unsigned)NEEDS_OWN_FINGERPRINTS) | BESOM_IS_SET;
  if (r.filter->mapping) abilities &= ~(unsigned)CHANGES;
  if (!r.filter->kind->keeps_reports) abilities &= ~(unsigned)REPORT_ABILITIES;
  abilities |= abilities_by_exceptions(r.filter);
  besom__reader_leave(r);
  return abilities;
}

besom_status besom_validate(const besom_filter *f, const char **reason) {
  if (!f) return BESOM_INVALID;
  struct reader r = besom__reader_enter(f);
  besom__pause_writers(r.filter);
  const char *wrong = r.filter->kind->file->validate(r.filter);
  if (!wrong && r.filter->exceptions) wrong = besom__exceptions_check(r.filter->exceptions);
  besom__resume_writers(r.filter);
  besom__reader_leave(r);
  if (reason) *reason = wrong;
  return wrong ? BESOM_CORRUPT : BESOM_OK;
}
