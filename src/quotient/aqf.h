/*
 * The adaptive quotient filter's struct, and those of its operations that the static one (yesno.c) shares: the same
 * table and marks, of which only the way to make and fill them differs.
 */
#ifndef BESOM_QUOTIENT_AQF_H
#define BESOM_QUOTIENT_AQF_H

#include "quotient/base.h"
#include "quotient/marks.h"

#define AQF_MIN_WIDTH 2       /* a further slot has a tag, and something to say */
#define AQF_DEFAULT_ROOM 0.05 /* of adapt_room */

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
  besom_reverse reverse; /* digest_of NULL: not bound */
};

static inline struct aqf *aqf(besom_filter *f) {
  return (struct aqf *)f;
}

static inline const struct aqf *const_aqf(const besom_filter *f) {
  return (const struct aqf *)f;
}

extern const struct besom_kind besom__aqf, besom__yesno;

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
