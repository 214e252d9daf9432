/*
 * Filters with slot metadata: what exaf, broom, taf and utaf share. In these quotient filters every
 * slot can have an extension or a selector (slot_meta_code.h), stored by block. A kind defines what
 * the metadata of a slot mean (struct meta_policy).
 *
 * A bucket is a quotient, a rank a position in the run. An insert appends to its run, and a removal
 * moves the later entries of the run up by one. So filter and store agree, whatever the remainders
 * become.
 *
 * Metadata move with their slots. So a block may get more than its code can hold. Then it drops its
 * metadata: exaf and broom just forget them; taf must derive the remainders again from the stored
 * keys. Every operation reads all that it needs before it changes the first bit.
 */
#ifndef BESOM_QUOTIENT_SLOT_META_H
#define BESOM_QUOTIENT_SLOT_META_H

#include "core/hash.h"
#include "papers/broom/rounds.h"
#include "papers/telescoping/extension_pool.h"
#include "papers/telescoping/slot_meta_code.h"
#include "quotient/quotient_filter.h"

#define META_CLASSES 8

/* A key as the filter sees it. */
struct hashed_key {
  besom_digest digest;
  struct address at;
};

/*
 * In a file, too. In published forms a full block drops all metadata except those that fix the
 * report.
 */
enum meta_form { FORM_OWN, FORM_EARLIER, FORM_PUBLISHED };

/* What the metadata of a slot mean. */
struct meta_policy {
  /* The remainder of a key in a slot with this metadata. */
  uint64_t (*remainder)(const struct hashed_key *key, slot_meta meta, unsigned width);
  /* Whether a slot with this remainder and metadata matches the key. */
  bool (*matches)(const struct hashed_key *key, uint64_t remainder, slot_meta meta, unsigned width);
  /*
   * Sets *meta to the first metadata, from *meta on, with which a slot of `stored` does not match
   * the offender. Returns false if there are none.
   */
  bool (*distinguish)(const struct hashed_key *stored, const struct hashed_key *offender,
                      unsigned width, slot_meta *meta);
  unsigned (*class_of)(slot_meta meta); /* for the statistics: 1 to META_CLASSES - 1 */
  bool extensions;                      /* metadata are extensions, else selectors */
  bool bytes;                           /* no code, but one byte per slot */
  bool pool;                            /* no code, but a pool for all blocks; and rounds */
  /* remainders depend on metadata; without metadata they are the first ones, as in qf */
  bool remainder_varies;
  enum meta_form form;
};

/*
 * The forms of a kind: besom's own and, unless NULL, the published one (form=published) and that of
 * files of version 0.2 with form=published, whose code is another one.
 */
struct meta_forms {
  const struct meta_policy *own, *published, *earlier;
};

struct meta_filter {
  struct quotient_filter base;
  const struct meta_policy *policy;
  struct code_model model;
  besom_reverse reverse; /* the reverse map; digest_of is NULL if none is bound */
  uint64_t meta_slots;   /* slots that have metadata */
  uint64_t classes[META_CLASSES];
  /* of blocks, and of runs for a new round, since the filter was made or loaded */
  uint64_t rebuilds;
  uint64_t corrections;       /* of reported keys, since the same time */
  struct extension_pool pool; /* of kinds that have one */
  struct rounds rounds;
};

ALWAYS_INLINE struct hashed_key hashed_key_of(const struct meta_filter *x, besom_digest d) {
  return (struct hashed_key){d, address_by_frontier(&x->rounds, d, x->base.table.slots)};
}

/* The bytes of a block, for kinds with one byte per slot. */
static inline uint8_t *meta_bytes(const struct meta_filter *x, uint64_t block) {
  return qtable_slot_bytes(&x->base.table) + 64 * block;
}

static inline struct meta_filter *meta_filter(besom_filter *f) {
  return (struct meta_filter *)f;
}

static inline const struct meta_filter *const_meta_filter(const besom_filter *f) {
  return (const struct meta_filter *)f;
}

/* ------------------------------------------------------------------ slot_meta.c */

void besom__meta_read(const struct meta_filter *x, uint64_t block, slot_meta *meta);

/* Replaces the metadata of a block. Returns false, with nothing changed, if they do not fit. */
bool besom__meta_write(struct meta_filter *x, uint64_t block, const slot_meta *meta);

/*
 * Whether one of the slots first .. last of one block may have metadata; never a wrong no. In kinds
 * with one byte per slot, the code is a set of flags: slots with metadata.
 */
ALWAYS_INLINE bool may_have_meta(const struct meta_filter *x, uint64_t first, uint64_t last) {
  if (x->policy->pool)
    return besom__pool_presence(&x->pool, first / 64) & bits_between(first % 64, last % 64);
  uint64_t code = block_code(block_at(&x->base.table, first / 64));
  if (x->policy->bytes) return code & flags_of_slots(bits_between(first % 64, last % 64));
  return code_has_meta(&x->model, code, first % 64, last % 64);
}

slot_meta besom__meta_at(const struct meta_filter *x, uint64_t position);

/* Inserting (up) or deleting one slot moves the slots from .. to by one. */
struct shift {
  uint64_t from, to;
  bool up;
};

/*
 * Whether the block can have these metadata instead of its own. If blocks share a pool, *promised
 * is the number of bits that earlier calls have claimed; the bits that this block needs are added
 * to it.
 */
bool besom__meta_fits(const struct meta_filter *x, uint64_t block, const slot_meta *meta,
                      uint64_t *promised);

/* Whether all blocks can keep their metadata after the shift. */
bool besom__meta_shift_fits(const struct meta_filter *x, struct shift s);

/* Moves the metadata as the table has moved the slots. Drops what does not fit. */
void besom__meta_shift(struct meta_filter *x, struct shift s);

/*
 * Reads the stored key at a position through the reverse map. Returns NEEDS_STORE, INVALID if it is
 * not the key of this slot, or what the reverse map returns.
 */
besom_status besom__stored_key(const struct meta_filter *x, uint64_t position,
                               struct hashed_key *key);
besom_status besom__stored_key_of(const struct meta_filter *x, besom_match match, uint64_t position,
                                  struct hashed_key *key);

/*
 * Drops all metadata of the blocks first .. last. Remainders that depend on them are derived again
 * from the stored keys.
 */
besom_status besom__meta_rebuild(struct meta_filter *x, uint64_t first, uint64_t last);

/*
 * Fills in the metadata of x, whose table has just been merged from those of a and b, and the
 * remainders of slots that come from another round.
 */
besom_status besom__meta_merge(struct meta_filter *x, const struct meta_filter *a,
                               const struct meta_filter *b);

const char *besom__meta_check(const struct meta_filter *x);

/* ------------------------------------------------------------------ matches by rank */

struct scan {
  const struct meta_filter *filter;
  struct hashed_key key;
  struct run run;
  uint64_t block; /* whose metadata are in meta */
  uint64_t left;  /* slots of the block that may match */
  slot_meta meta[CODE_SLOTS];
  uint64_t position; /* of the match */
  slot_meta meta_of_match;
};

void besom__scan_start(struct scan *s, const struct meta_filter *x, besom_digest d);
bool besom__scan_next(struct scan *s);

/* ------------------------------------------------------------------ rounds.c */

/*
 * Whether members are separated from each other. A full table has one pair of equal fingerprints
 * per 2 * 2^width slots, and each pair takes about 8 bits. All of them must not take more than half
 * of the budget; else they alone would start round after round.
 */
static inline bool separates_members(const struct meta_filter *x) {
  return x->base.table.width > 2 || (x->pool.budget - 1) << x->base.table.width >= 8;
}

/* Computes the keys of the newest round and the one before. */
void besom__rounds_set_keys(struct meta_filter *x);

bool besom__rounds_equal(const struct meta_filter *a, const struct meta_filter *b);

/*
 * A step moves a few runs to the newest round, during an operation that uses the store anyway.
 * First besom__step_plan reads their keys; it may fail, and nothing has changed. Then the operation
 * does its work. Then besom__step_take moves the runs. A round begins when three quarters of the
 * budget are spent.
 */
#define STEP_ENTRIES 8      /* a step ends with the run that contains the eighth entry */
#define STEP_MAX_ENTRIES 64 /* entries per step, except for a single longer run */

struct step {
  bool begins;         /* the step begins a round */
  uint64_t first, end; /* quotients first .. end - 1; none if equal */
  uint64_t n;          /* entries of these runs */
  besom_digest *keys;  /* of the entries, in order */
  besom_digest few[STEP_MAX_ENTRIES];
};

#define NO_QUOTIENT UINT64_MAX

/*
 * Plans a step that ends before the quotient `before`. The step is empty for kinds without rounds,
 * and for filters without a reverse map.
 */
besom_status besom__step_plan(const struct meta_filter *x, uint64_t before, struct step *s);

/*
 * Whether the step moves the offender's run, and the run then rejects the offender. If so, taking
 * the step is all that adapting needs.
 */
bool besom__step_rejects(const struct meta_filter *x, const struct step *s,
                         const struct hashed_key *offender);

/* Drops a planned step. */
void besom__step_drop(const struct meta_filter *x, struct step *s);

/* Takes a planned step and frees it. offender may be NULL. */
void besom__step_take(struct meta_filter *x, struct step *s, const struct hashed_key *offender);

/* The same, without the runs from this quotient on. */
void besom__step_take_before(struct meta_filter *x, struct step *s, uint64_t quotient);

/*
 * Moves all runs to a new round at once, so that the offender is rejected. Returns FULL if it
 * cannot be.
 */
besom_status besom__new_round_at_once(struct meta_filter *x, const struct hashed_key *offender);

/* ------------------------------------------------------------------ slot_meta_adapt.c */

besom_status besom__meta_filter_adapt(besom_filter *f, besom_digest d);
bool besom__meta_filter_is_published(const besom_filter *f);
besom_status besom__meta_filter_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                         besom_digest stored);

/* ------------------------------------------------------------------ slot_meta_ops.c */

#define META_ROWS 3
extern const struct option_row besom__meta_rows[META_ROWS];
besom_status besom__meta_filter_create(besom_filter *f, const besom_config *config);
besom_status besom__meta_filter_create_like(besom_filter *f, const besom_filter *model);
/* remainders do not vary */
bool besom__meta_filter_contains_by_remainder(const besom_filter *f, besom_digest d);
/* remainders vary */
bool besom__meta_filter_contains_by_code(const besom_filter *f, besom_digest d);
/* remainders vary, one byte per slot */
bool besom__meta_filter_contains_by_flags(const besom_filter *f, besom_digest d);
bool besom__meta_filter_contains_by_round(const besom_filter *f, besom_digest d); /* with rounds */
void besom__meta_filter_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap);
besom_status besom__meta_filter_insert(besom_filter *f, besom_digest d);
besom_status besom__meta_filter_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done);
besom_status besom__meta_filter_insert_count(besom_filter *f, besom_digest d, uint64_t n);
besom_status besom__meta_filter_remove(besom_filter *f, besom_digest d);
besom_status besom__meta_filter_count(const besom_filter *f, besom_digest d, uint64_t *n);
uint64_t besom__meta_filter_bucket_of(const besom_filter *f, besom_digest d);
besom_status besom__meta_filter_bind(besom_filter *f, const besom_reverse *reverse);
besom_status besom__meta_filter_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                        size_t cap, size_t *total);
/* The match that the next inserted key with this digest's quotient will get. */
besom_match besom__meta_filter_next_match(const besom_filter *f, besom_digest d);
besom_status besom__meta_filter_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                          besom_match *match);
besom_status besom__meta_filter_ready_to_remove(besom_filter *f, besom_match match);
besom_status besom__meta_filter_remove_at(besom_filter *f, besom_match match);
besom_status besom__meta_filter_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into);
besom_status besom__meta_filter_resize_start(besom_filter *fresh, const besom_filter *f,
                                             uint64_t slots);
besom_status besom__meta_filter_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                            bool *finished);
besom_status besom__meta_filter_iter_next(const besom_filter *f, besom_iter *iter,
                                          besom_entry *entry);
void besom__meta_filter_stats(const besom_filter *f, struct stats_out *out);
const char *besom__meta_filter_validate(const besom_filter *f);
void besom__meta_filter_save(const besom_filter *f, struct sections_out *out);
besom_status besom__meta_filter_load(besom_filter *f, struct sections_in *in);

/* ------------------------------------------------------------------ kinds */

/* The tables of exaf, taf and utaf, whose policies are struct meta_forms. */
extern const struct change_ops besom__meta_filter_change;
extern const struct adapt_ops besom__meta_filter_reports;
extern const struct store_ops besom__meta_filter_store;
extern const struct whole_ops besom__meta_filter_whole;
extern const struct file_ops besom__meta_filter_file;

/* All members of these kinds but name, summary, policy and query.contains. */
#define META_FILTER_KIND                                                                      \
  .also = BESOM_CAN_REKEY, .size = sizeof(struct meta_filter), .refuses_set = true,           \
  .options = {.rows = besom__meta_rows, .n = META_ROWS}, .create = besom__meta_filter_create, \
  .create_like = besom__meta_filter_create_like, .destroy = besom__quotient_destroy,          \
  .stats = besom__meta_filter_stats, .query.contains_many = besom__meta_filter_contains_many, \
  .query.prefetch = besom__quotient_prefetch, .query.count = besom__meta_filter_count,        \
  .change = &besom__meta_filter_change, .adapt = &besom__meta_filter_reports,                 \
  .store = &besom__meta_filter_store, .whole = &besom__meta_filter_whole,                     \
  .file = &besom__meta_filter_file

#endif
