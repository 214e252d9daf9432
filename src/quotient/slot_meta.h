/*
 * What exaf, broom, taf and utaf share: a quotient filter in which every slot can have a note (code.h), kept by block.
 * A kind says what a note means (struct note_policy); all else is here.
 *
 * Buckets are quotients, a rank is a place in the run: inserts append to their run, and what is behind a removed entry
 * moves up by one, so filter and store agree whatever the remainders become.
 *
 * Notes move with their slots, so a block may get one more than its code can take. Then its notes go: exaf and broom
 * just forget them, taf has to derive the remainders anew, from the stored keys. All that is read is read before the
 * first bit is changed.
 */
#ifndef BESOM_QUOTIENT_NOTED_H
#define BESOM_QUOTIENT_NOTED_H

#include "core/address.h"
#include "quotient/quotient_filter.h"
#include "quotient/slot_meta_code.h"
#include "quotient/extension_pool.h"
#include "quotient/rounds.h"

#define META_CLASSES 8

/* A key on its way through the filter. */
struct hashed_key {
  besom_digest digest;
  struct address at;
};

/* What a note means. */
struct meta_policy {
  /* The remainder of a key in a slot with this note. */
  uint64_t (*remainder)(const struct hashed_key *key, slot_meta n, unsigned width);
  /* Whether a slot with the note, and the remainder of a key in it, matches this key. */
  bool (*matches)(const struct hashed_key *key, uint64_t remainder, slot_meta n, unsigned width);
  /* The first note from n on with which a slot of `stored` does not match the offender; false: there is none. */
  bool (*distinguish)(const struct hashed_key *stored, const struct hashed_key *offender, unsigned width,
                 slot_meta *n);
  unsigned (*class_of)(slot_meta n); /* for the statistics: 1 to NOTE_CLASSES - 1 */
  bool extensions;                 /* the alphabet of the code */
  bool bytes;                   /* no code, but a byte a slot */
  bool pool;                    /* no code, but a pool for all blocks; and rounds */
  bool remainder_varies; /* remainders depend on notes; without one they are the first, as in qf */
};

struct meta_filter {
  struct quotient_filter base;
  const struct meta_policy *policy;
  struct code_model model;
  besom_reverse reverse; /* digest_of NULL: not bound */
  uint64_t meta_slots;        /* slots that have one */
  uint64_t classes[META_CLASSES];
  uint64_t
      rebuilds; /* of blocks, and of runs for another round, since the filter was made or loaded */
  uint64_t corrections; /* for reported keys, since the same time */
  struct pool pool;     /* of kinds that have one */
  struct rounds rounds;
};

ALWAYS_INLINE struct hashed_key hashed_key_of(const struct meta_filter *x, besom_digest d) {
  return (struct hashed_key){d, address_by_frontier(&x->rounds, d, x->base.table.slots)};
}

/* Where notes are bytes: those of a block. */
static inline uint8_t *meta_bytes(const struct meta_filter *x, uint64_t block) {
  return qtable_slot_bytes(&x->base.table) + 64 * block;
}

static inline struct meta_filter *meta_filter(besom_filter *f) {
  return (struct meta_filter *)f;
}

static inline const struct meta_filter *const_meta_filter(const besom_filter *f) {
  return (const struct meta_filter *)f;
}

/* ------------------------------------------------------------------ notes.c: notes of slots */

void besom__meta_read(const struct meta_filter *x, uint64_t block, slot_meta *meta);

/* False, and nothing is changed, if they do not fit. */
bool besom__meta_write(struct meta_filter *x, uint64_t block, const slot_meta *meta);

/*
 * Whether any of the slots first .. last of one block has a note; a yes may be wrong. Kinds with a byte a slot mark
 * those that have one.
 */
ALWAYS_INLINE bool may_have_meta(const struct meta_filter *x, uint64_t first, uint64_t last) {
  if (x->policy->pool)
    return besom__pool_presence(&x->pool, first / 64) & bits_between(first % 64, last % 64);
  uint64_t code = block_code(block_at(&x->base.table, first / 64));
  if (x->policy->bytes) return code & marks_of_slots(bits_between(first % 64, last % 64));
  return code_has_meta(&x->model, code, first % 64, last % 64);
}

slot_meta besom__meta_at(const struct meta_filter *x, uint64_t position);

/* One slot is put in (up) or taken out: from .. to move by one. */
struct shift {
  uint64_t from, to;
  bool up;
};

/*
 * Whether the block can have these notes instead of its own. Where blocks share their room: besides `promised` bits,
 * and how many more it takes is added to them.
 */
bool besom__meta_fits(const struct meta_filter *x, uint64_t block, const slot_meta *meta, uint64_t *promised);

/* Whether all blocks on the way can keep their notes. */
bool besom__meta_shift_fits(const struct meta_filter *x, struct shift s);

/* Moves the notes as the table has moved the slots; what does not fit is forgotten. */
void besom__meta_shift(struct meta_filter *x, struct shift s);

/* The digest of the key at a position. NEEDS_STORE, INVALID (it is not the key of this slot), what the store says. */
besom_status besom__stored_key(const struct meta_filter *x, uint64_t position, struct hashed_key *key);
besom_status besom__stored_key_of(const struct meta_filter *x, besom_match match, uint64_t position,
                                  struct hashed_key *key);

/* Takes all notes of the blocks first .. last away; remainders are derived anew. */
besom_status besom__meta_rebuild(struct meta_filter *x, uint64_t first, uint64_t last);

/*
 * Notes of the slots of the empty filter x, whose table has been merged from those of a and b; and their remainders,
 * where these are of another round.
 */
besom_status besom__meta_merge(struct meta_filter *x, const struct meta_filter *a, const struct meta_filter *b);

const char *besom__meta_check(const struct meta_filter *x);

/* ------------------------------------------------------------------ matches, in the order of ranks */

struct scan {
  const struct meta_filter *filter;
  struct hashed_key key;
  struct run run;
  uint64_t block; /* whose notes are at hand */
  uint64_t left;  /* slots of it that may match */
  slot_meta meta[CODE_SLOTS];
  uint64_t position; /* the match */
  slot_meta meta_of_match;
};

void besom__scan_start(struct scan *s, const struct meta_filter *x, besom_digest d);
bool besom__scan_next(struct scan *s);

/* ------------------------------------------------------------------ rounds.c */

/*
 * Whether members are to be told apart. In a full table there is a pair with one fingerprint for 2 * 2^width slots, and
 * takes some 8 bits; all of them must not take more than half of the budget, or they alone would begin round after
 * round.
 */
static inline bool separates_members(const struct meta_filter *x) {
  return x->base.table.width > 2 || (x->pool.budget - 1) << x->base.table.width >= 8;
}

/* The keys of the newest round and the one before. */
void besom__rounds_set_keys(struct meta_filter *x);

bool besom__rounds_equal(const struct meta_filter *a, const struct meta_filter *b);

/*
 * A few runs that go over to the newest round along with an operation that touches the store anyway. First their keys
 * are read, which may fail, and nothing has changed; then the operation does what it does; then they go over. A
 * round is begun when three quarters of the budget are spent.
 */
#define STEP_ENTRIES 8 /* a step ends with the run that has the eighth entry */
#define STEP_ROOM 64   /* entries, but for a single run that is longer */

struct step {
  bool begins;         /* a round */
  uint64_t first, end; /* of quotients first to before end; none if they are equal */
  uint64_t n;          /* their entries */
  besom_digest *keys;  /* in order */
  besom_digest few[STEP_ROOM];
};

#define NO_QUOTIENT UINT64_MAX

/* The step ends before the quotient `before`. Of kinds without rounds, and without a store, there is none to take. */
besom_status besom__step_plan(const struct meta_filter *x, uint64_t before, struct step *s);

/*
 * Whether the step takes the offender's run over and the run will not match the offender then. If so, it is to be
 * taken with it, and there is nothing else to do to adapt.
 */
bool besom__step_rejects(const struct meta_filter *x, const struct step *s, const struct hashed_key *offender);

/* Ends a planned step that is not taken after all. */
void besom__step_drop(const struct meta_filter *x, struct step *s);

/* Takes the planned step, and ends it; offender may be NULL. */
void besom__step_take(struct meta_filter *x, struct step *s, const struct hashed_key *offender);

/* The same but for the runs of this quotient and behind it. */
void besom__step_take_before(struct meta_filter *x, struct step *s, uint64_t quotient);

/* All of a new round at once, so that the offender is denied. FULL if it cannot be. */
besom_status besom__new_round_at_once(struct meta_filter *x, const struct hashed_key *offender);

/* ------------------------------------------------------------------ adapting.c */

besom_status besom__meta_filter_adapt(besom_filter *f, besom_digest d);
besom_status besom__meta_filter_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                   besom_digest stored);

/* ------------------------------------------------------------------ noted.c: operations of filter.h */

besom_status besom__meta_filter_create(besom_filter *f, const besom_config *config,
                                 const struct meta_policy *policy);
besom_status besom__meta_filter_create_like(besom_filter *f, const besom_filter *model);
bool besom__meta_filter_contains_by_remainder(const besom_filter *f,
                                        besom_digest d); /* for kinds without moves, */
bool besom__meta_filter_contains_by_code(const besom_filter *f, besom_digest d);  /* with, */
bool besom__meta_filter_contains_by_flags(const besom_filter *f, besom_digest d); /* with bytes, */
bool besom__meta_filter_contains_by_round(const besom_filter *f, besom_digest d); /* and with rounds */
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
/* Where the next key with the quotient of this digest will be. */
besom_match besom__meta_filter_next_match(const besom_filter *f, besom_digest d);
besom_status besom__meta_filter_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                    besom_match *match);
besom_status besom__meta_filter_ready_to_remove(besom_filter *f, besom_match match);
besom_status besom__meta_filter_remove_at(besom_filter *f, besom_match match);
besom_status besom__meta_filter_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);
besom_status besom__meta_filter_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots);
besom_status besom__meta_filter_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                      bool *finished);
besom_status besom__meta_filter_iter_next(besom_iter *iter, besom_entry *entry);
void besom__meta_filter_stats(const besom_filter *f, besom_statistics *s);
const char *besom__meta_filter_validate(const besom_filter *f);
void besom__meta_filter_save(const besom_filter *f, struct sections_out *out);
besom_status besom__meta_filter_load(besom_filter *f, struct sections_in *in,
                               const struct meta_policy *policy);

/* ------------------------------------------------------------------ kinds */

/* What exaf, taf and utaf have in common: all but name, create, contains and load. */
#define META_FILTER_ABILITIES                                                                          \
  (BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE | \
   BESOM_CAN_GROW | BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_MATCH | BESOM_CAN_REKEY)
#define META_FILTER_OPERATIONS                                                                           \
  .size = sizeof(struct meta_filter), .create_like = besom__meta_filter_create_like,                           \
  .destroy = besom__quotient_destroy, .contains_many = besom__meta_filter_contains_many,                 \
  .insert = besom__meta_filter_insert, .insert_many = besom__meta_filter_insert_many,                          \
  .insert_count = besom__meta_filter_insert_count, .remove = besom__meta_filter_remove,                        \
  .count = besom__meta_filter_count, .adapt = besom__meta_filter_adapt, .bucket_of = besom__meta_filter_bucket_of,   \
  .bind = besom__meta_filter_bind, .matches = besom__meta_filter_matches, .insert_at = besom__meta_filter_insert_at, \
  .admit = besom__quotient_bulk_load, .ready_to_remove = besom__meta_filter_ready_to_remove,                 \
  .remove_at = besom__meta_filter_remove_at, .adapt_at = besom__meta_filter_adapt_at,                          \
  .merge = besom__meta_filter_merge, .resize_start = besom__meta_filter_resize_start,                          \
  .resize_step = besom__meta_filter_resize_step, .append = besom__quotient_append_copies,                \
  .iter_start = besom__quotient_iter_start, .iter_next = besom__meta_filter_iter_next,                   \
  .stats = besom__meta_filter_stats, .validate = besom__meta_filter_validate, .save = besom__meta_filter_save

#endif
