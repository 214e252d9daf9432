/*
 * The parts of the adaptive quotient filter, shared by aqf*.c and by two kinds made of the same
 * struct: the static filter of a yes and a no list (yesno.c), which differs only in how its table
 * is built, and the dynamic one (yesno_dynamic.c), which has the no list in its table.
 */
#ifndef BESOM_QUOTIENT_AQF_H
#define BESOM_QUOTIENT_AQF_H

#include "kinds.h"
#include "quotient/fingerprint/multislot.h"
#include "quotient/quotient_filter.h"

#define AQF_MIN_WIDTH 2          /* a further slot has a tag bit and at least one bit of payload */
#define AQF_DEFAULT_RESERVE 0.05 /* part of the slots */

#define AQF_NAME "aqf"
#define AQF_SUMMARY \
  "adaptive quotient filter: does not repeat a false positive; counts, removes, merges, grows"

#define AQF_MAX_COUNT (UINT64_C(1) << 62)

/* Counters of what the table holds besides members. */
struct aqf_counters {
  uint64_t slots; /* slots taken from the reserve: those that exist only because of extensions */
  uint64_t tombstones; /* fingerprints with a count of 0; each has an extension */
  uint64_t no_entries; /* tagged fingerprints */
  bool extensions;     /* a fingerprint has an extension, or had one; only whole slots need it */
};

/* What options say. */
struct aqf_options {
  bool keep_tombstones;
  bool published; /* the form of the paper: no exceptions for reports, which need the store */
};

/* The saved form: bits. AQF_EXTENSIONS only with whole slots. */
enum { AQF_TOMBSTONES = 1, AQF_PUBLISHED = 2, AQF_MAPLET = 4, AQF_EXTENSIONS = 8 };

struct aqf {
  struct quotient_filter base;
  struct aqf_options options;
  struct aqf_counters counters;
  double reserve;
  besom_reverse reverse; /* the reverse map; digest_of is NULL if none is bound */
  struct aqf_sync *sync; /* if the filter is concurrent (aqf_sync.h), else NULL */
  /* of a concurrent filter and its views: the filter that the user holds; else NULL */
  const besom_filter *view_of;
};

static inline struct aqf *aqf(besom_filter *f) {
  return (struct aqf *)f;
}

static inline const struct aqf *const_aqf(const besom_filter *f) {
  return (const struct aqf *)f;
}

/*
 * The slots of members and no entries: their heads and counts, without extensions and tombstones.
 */
static inline uint64_t member_slots(const struct aqf *a) {
  return a->base.table.used - a->counters.slots;
}

/* Makes the table of a filter whose options have been read: the rest of the operation create. */
besom_status besom__aqf_make(besom_filter *f, const besom_config *config, enum table_code code);

/* The reserve: the number of slots that extensions and tombstones may take. */
uint64_t besom__aqf_reserve(const struct aqf *a);

/* The one-slot fingerprint at the end of the digest's run: the one that was appended last. */
struct fingerprint besom__aqf_last_of_run(const struct aqf *a, besom_digest d);

/*
 * Writes a changed fingerprint and updates the counters. Returns FULL, with nothing changed, if the
 * table has no free slots. Never fails if the fingerprint shrinks.
 */
besom_status besom__aqf_rewrite(struct aqf *a, const struct fingerprint *old,
                                const struct fingerprint *now);
/* The same, but also FULL if the reserve has no space for the longer extension. */
besom_status besom__aqf_rewrite_in_reserve(struct aqf *a, const struct fingerprint *old,
                                           const struct fingerprint *now);

/*
 * The longest match, and the last among equally long ones: most likely the fingerprint of the key
 * itself, and its newest copy. value may be NULL: any.
 */
bool besom__aqf_longest_match(const struct aqf *a, besom_digest d, const uint64_t *value,
                              struct fingerprint *longest);

/*
 * Adds n copies of a key: to the count of a fingerprint, or as a fingerprint of its own with this
 * value. The caller counts items. FULL.
 */
besom_status besom__aqf_raise_count(struct aqf *a, const struct fingerprint *fp, uint64_t n);
besom_status besom__aqf_append_new(struct aqf *a, besom_digest d, uint64_t n, uint64_t value);

/* Takes one copy from the count of a fingerprint. */
void besom__aqf_remove_copy(struct aqf *a, const struct fingerprint *fp);

/* Sets the value of the fingerprint whose head is at the position. */
static inline void besom__aqf_put_value(struct qtable *t, uint64_t position, uint64_t value) {
  set_slot_value(t, position, value);
}

/* Adds a fingerprint to the counters. */
void besom__aqf_add_to_counters(struct aqf *a, const struct fingerprint *fp);

/* Removes a fingerprint from the table and from the counters. */
void besom__aqf_delete(struct aqf *a, const struct fingerprint *fp);

/* An extension to make: the match, its fingerprint before, and the digest of its key. */
struct extension_change {
  besom_match match;
  besom_digest stored;
  struct fingerprint old;
};

#define MAX_EXTENSION_CHANGES 64 /* keys that share one fingerprint: far more than occur */

/* Asks the reverse map for the digest of c->match. Returns what the reverse map returns. */
besom_status besom__aqf_stored_digest(const struct aqf *a, struct extension_change *c);

/* Restores the first n fingerprints. */
void besom__aqf_undo_changes(struct aqf *a, const struct extension_change *l, unsigned n);

/*
 * Extends the fingerprints that match the digest, those with this value (NULL: all), by bits of
 * their stored keys: each of them, or none. The filter is bound. Errors: FULL, IS_MEMBER, what the
 * reverse map returned.
 */
besom_status besom__aqf_adapt_by_keys(struct aqf *a, besom_digest d, const uint64_t *value);

/*
 * The kinds of filters made with BESOM_CONCURRENT and with maplet=yes. Users see one kind.
 */
extern const struct besom_kind besom__aqf_concurrent, besom__aqf_maplet;
extern const struct file_ops besom__aqf_files; /* of aqf and yesno */

/* The operation build: makes a yesno filter of f, whose kind is aqf or yesno. */
besom_status besom__yesno_build(besom_filter *f, const besom_config *config,
                                const besom_source *yes, const besom_source *no,
                                const besom_progress *progress);

/* Operations of kind.h. */
besom_status besom__aqf_create_like(besom_filter *f, const besom_filter *model);
uint64_t besom__aqf_bucket_of(const besom_filter *f, besom_digest d);
const struct query_calls *besom__aqf_query_calls(const besom_filter *f);
bool besom__aqf_contains(const besom_filter *f, besom_digest d);
void besom__aqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap);
besom_status besom__aqf_remove(besom_filter *f, besom_digest d);
besom_status besom__aqf_adapt(besom_filter *f, besom_digest d);
besom_status besom__aqf_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                 besom_digest stored);
bool besom__aqf_is_published(const besom_filter *f);
unsigned besom__aqf_prefix_bits(const besom_filter *f);
uint64_t besom__aqf_exception_slots(const besom_filter *f);
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
void besom__aqf_stats(const besom_filter *f, struct stats_out *out);
const char *besom__aqf_validate(const besom_filter *f);
void besom__aqf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__aqf_load(besom_filter *f, struct sections_in *in);
besom_status besom__aqf_load_coded(besom_filter *f, struct sections_in *in, enum table_code code);

#endif
