/*
 * What the adaptive quotient filter is made of: for aqf.c, for what makes it concurrent, for the static one (yesno.c),
 * which has the same table and marks, and differs only in how they are made and filled, and for the dynamic one
 * (dynamic.c), which has no marks but no entries in the table.
 */
#ifndef BESOM_QUOTIENT_AQF_H
#define BESOM_QUOTIENT_AQF_H

#include "quotient/quotient_filter.h"
#include "quotient/multislot.h"
#include "quotient/exceptions.h"

#define AQF_MIN_WIDTH 2       /* a further slot has a tag, and something to say */
#define AQF_DEFAULT_RESERVE 0.05 /* of reserve */

#define AQF_NAME "aqf"
#define AQF_SUMMARY \
  "adaptive quotient filter: does not repeat a false positive; counts, removes, merges, grows"
#define AQF_ABILITIES                                                                              \
  (BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE |   \
   BESOM_CAN_GROW | BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_VALUE | BESOM_CAN_MATCH | \
   BESOM_CAN_REKEY | BESOM_CAN_BUILD_NO | BESOM_CAN_LIST_NO)

#define AQF_MAX_COUNT (UINT64_C(1) << 62)

/* What there is in the table besides members. */
struct books {
  uint64_t slots;      /* that would not be there without extensions: those in reserve for it */
  uint64_t tombstones; /* count 0; all of them have an extension */
  uint64_t no_entries; /* tagged */
};

struct aqf {
  struct quotient_filter base;
  struct marks marks;
  struct books books;
  double reserve;
  uint64_t no_capacity;
  bool keep_tombstones;
  besom_reverse reverse; /* digest_of NULL: not bound */
  struct aqf_sync *sync; /* of a filter made concurrent (aqf_sync.h); else NULL */
  const besom_filter
      *view_of; /* of a concurrent filter, and its views: what the user knows it as; else NULL */
};

static inline struct aqf *aqf(besom_filter *f) {
  return (struct aqf *)f;
}

static inline const struct aqf *const_aqf(const besom_filter *f) {
  return (const struct aqf *)f;
}

/* Slots that members and no entries take: their heads and counts, not their extensions, and no tombstones. */
static inline uint64_t member_slots(const struct aqf *a) {
  return a->base.table.used - a->books.slots;
}

/* Makes the table of a filter whose options are read: create of filter.h, but for these. */
besom_status besom__aqf_make(besom_filter *f, const besom_config *config, enum table_code code);

/* How many bytes marks may take. */
uint64_t besom__aqf_mark_bytes(const struct aqf *a);

/* How many slots there are in reserve for extensions. */
uint64_t besom__aqf_reserve(const struct aqf *a);

/* The fingerprint of one slot that ends the run of this digest: the one that was appended last. */
struct fingerprint besom__aqf_last_of_run(const struct aqf *a, besom_digest d);

/* Writes a changed fingerprint and keeps the books. Shrinking never fails. */
besom_status besom__aqf_rewrite(struct aqf *a, const struct fingerprint *old,
                                const struct fingerprint *now);
/* X */
besom_status besom__aqf_rewrite_in_reserve(struct aqf *a, const struct fingerprint *old,
                                           const struct fingerprint *now);

/* X */
void besom__aqf_add_to_counters(struct aqf *a, const struct fingerprint *fp);

/* X */
void besom__aqf_delete(struct aqf *a, const struct fingerprint *fp);

/* A fingerprint that is to be lengthened: what it was, and the digest of its key. */
struct extension_change {
  besom_match match;
  besom_digest stored;
  struct fingerprint old;
};

#define MAX_EXTENSION_CHANGES 64 /* keys that share one fingerprint; far more than ever do */

/* Asks for the key of a fingerprint, whose match is known. */
besom_status besom__aqf_stored_digest(const struct aqf *a, struct extension_change *l);

/* Makes the first n what they were. */
void besom__aqf_undo_changes(struct aqf *a, const struct extension_change *l, unsigned n);

/* The kind, and the one that a filter with BESOM_CONCURRENT is of: to users both are one. */
extern const struct besom_kind besom__aqf, besom__aqf_concurrent;
extern const struct besom_kind besom__yesno, besom__yesno_dynamic;

/* build of filter.h: makes the filter, of kind aqf or yesno, a yesno filter. */
besom_status besom__yesno_build(besom_filter *f, const besom_config *config,
                                const besom_source *yes, const besom_source *no,
                                const besom_progress *progress);

/* Operations of filter.h. */
besom_status besom__aqf_create_like(besom_filter *f, const besom_filter *model);
void besom__aqf_destroy(besom_filter *f);
bool besom__aqf_contains(const besom_filter *f, besom_digest d);
void besom__aqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap);
besom_status besom__aqf_remove(besom_filter *f, besom_digest d);
besom_status besom__aqf_adapt(besom_filter *f, besom_digest d);
besom_status besom__aqf_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                 besom_digest stored);
besom_status besom__aqf_no_add(besom_filter *f, besom_digest d);
besom_status besom__aqf_no_remove(besom_filter *f, besom_digest d);
besom_status besom__aqf_count(const besom_filter *f, besom_digest d, uint64_t *n);
besom_status besom__aqf_get_value(const besom_filter *f, besom_digest d, uint64_t *value);
besom_status besom__aqf_set_value(besom_filter *f, besom_digest d, uint64_t value);
besom_status besom__aqf_bind(besom_filter *f, const besom_reverse *reverse);
besom_status besom__aqf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total);
besom_status besom__aqf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);
besom_status besom__aqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots);
besom_status besom__aqf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                    bool *finished);
void besom__aqf_stats(const besom_filter *f, besom_statistics *s);
const char *besom__aqf_validate(const besom_filter *f);
void besom__aqf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__aqf_load(besom_filter *f, struct sections_in *in);

#endif
