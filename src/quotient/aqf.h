/*
 * What the adaptive quotient filter is made of: for aqf.c, for what makes it concurrent, and for the static one
 * (yesno.c), which has the same table and marks, and differs only in how they are made and filled.
 */
#ifndef BESOM_QUOTIENT_AQF_H
#define BESOM_QUOTIENT_AQF_H

#include "quotient/base.h"
#include "quotient/marks.h"

#define AQF_MIN_WIDTH 2       /* a further slot has a tag, and something to say */
#define AQF_DEFAULT_ROOM 0.05 /* of adapt_room */

#define AQF_NAME "aqf"
#define AQF_SUMMARY "adaptive quotient filter: does not repeat a false positive; counts, removes, merges, grows"
#define AQF_ABILITIES                                                                                             \
  (BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE | BESOM_CAN_GROW | \
   BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_VALUE | BESOM_CAN_MATCH | BESOM_CAN_REKEY |               \
   BESOM_CAN_BUILD_NO | BESOM_CAN_LIST_NO)

/* What there is in the table besides members. */
struct books {
  uint64_t slots;      /* that would not be there without extensions: those in reserve for it */
  uint64_t tombstones; /* count 0; all of them have an extension */
};

struct aqf {
  struct quotient base;
  struct marks marks;
  struct books books;
  double adapt_room;
  bool keep_tombstones;
  besom_reverse reverse;       /* digest_of NULL: not bound */
  struct aqf_sync *sync;       /* of a filter made concurrent (aqf_sync.h); else NULL */
  const besom_filter *view_of; /* of a view (aqf_concurrent.c): the filter that the user knows; else NULL */
};

static inline struct aqf *aqf(besom_filter *f) {
  return (struct aqf *)f;
}

static inline const struct aqf *const_aqf(const besom_filter *f) {
  return (const struct aqf *)f;
}

/* Slots that members take: their heads and counts, not their extensions, and no tombstones. */
static inline uint64_t member_slots(const struct aqf *a) {
  return a->base.table.used - a->books.slots;
}

/* How many bytes marks may take. */
uint64_t besom__aqf_mark_bytes(const struct aqf *a);

/* The kind, and the one that a filter with BESOM_CONCURRENT is of: to users both are one. */
extern const struct besom_kind besom__aqf, besom__aqf_concurrent;
extern const struct besom_kind besom__yesno;

/* build of filter.h: makes the filter, of kind aqf or yesno, a yesno filter. */
besom_status besom__yesno_build(besom_filter *f, const besom_config *config, const besom_source *yes,
                                const besom_source *no, const besom_progress *progress);

/* Operations of filter.h. */
void besom__aqf_destroy(besom_filter *f);
bool besom__aqf_contains(const besom_filter *f, besom_digest d);
void besom__aqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
besom_status besom__aqf_remove(besom_filter *f, besom_digest d);
besom_status besom__aqf_adapt(besom_filter *f, besom_digest d);
besom_status besom__aqf_no_add(besom_filter *f, besom_digest d);
besom_status besom__aqf_no_remove(besom_filter *f, besom_digest d);
void besom__aqf_stats(const besom_filter *f, besom_statistics *s);
const char *besom__aqf_validate(const besom_filter *f);
void besom__aqf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__aqf_load(besom_filter *f, struct sections_in *in);

#endif
