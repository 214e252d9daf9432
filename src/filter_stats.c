/* What a filter tells of itself: statistics, counters, layers, abilities, validity. */
#include <string.h>

#include "core/huge_pages.h"
#include "file/container.h"
#include "filter.h"

/* Of a filter without a snapshot handle. */
static void collect(const besom_filter *f, struct stats_out *out) {
  besom__pause_writers(f);
  *out = (struct stats_out){.common = {
                                .kind = f->kind->info.name,
                                .hash = besom__hash_name(f->hasher.id),
                                .isa = "portable",
                                .keys = f->items,
                                .capacity = f->capacity,
                                .bytes = f->kind->size,
                            }};
  f->kind->stats(f, out);
  besom__resume_writers(f);
}

void besom__stats(const besom_filter *f, struct stats_out *out) {
  struct reader r = besom__reader_enter(f);
  collect(r.filter, out);
  besom__reader_leave(r);
  besom_statistics *s = &out->common;
  s->bytes += besom__snapshot_bytes(f);
  s->bits_per_key = s->keys ? 8.0 * (double)s->bytes / (double)s->keys : 0;
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

unsigned besom_abilities(const besom_filter *f) {
  if (!f) return 0;
  struct reader r = besom__reader_enter(f);
  const struct besom_kind *kind = r.filter->kind;
  unsigned abilities = kind->abilities ? kind->abilities(r.filter) : kind->info.abilities;
  if (r.filter->mapping) abilities &= ~(unsigned)CHANGES;
  besom__reader_leave(r);
  return abilities;
}

besom_status besom_validate(const besom_filter *f, const char **reason) {
  if (!f) return BESOM_INVALID;
  struct reader r = besom__reader_enter(f);
  besom__pause_writers(r.filter);
  const char *wrong = r.filter->kind->validate(r.filter);
  besom__resume_writers(r.filter);
  besom__reader_leave(r);
  if (reason) *reason = wrong;
  return wrong ? BESOM_CORRUPT : BESOM_OK;
}
