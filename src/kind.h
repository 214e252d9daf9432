/*
 * What every kind of filter is made of: a common head, and the operations that the public calls
 * (api/) dispatch to. A kind is one .c file that defines a `const struct besom_kind`, and one line
 * in kinds.c.
 *
 * When an operation is called, the arguments are checked, the key is hashed and changes are
 * allowed. An operation that a kind does not have is NULL, and UNSUPPORTED to the caller.
 */
#ifndef BESOM_FILTER_H
#define BESOM_FILTER_H

#include <stdatomic.h>

#include "besom_reverse.h"
#include "core/bitstream.h"
#include "core/blocks.h"
#include "core/cpu.h"
#include "core/explain.h"
#include "core/hash.h"
#include "core/options.h"
#include "core/sections.h"

#define MAX_CAPACITY (UINT64_C(1) << 44)
#define DEFAULT_FPR (1.0 / 256)
#define MAX_EXPECTED_COPIES (UINT64_C(1) << 32) /* config.copies */

/*
 * The hot public calls on one key. Each filter points at the tables of the form that fits it
 * (filter_hot.c): a public call is one check and one jump. A kind may have forms of its own, which
 * hash and search in one function, specialised by hash, instruction set and width.
 */
struct query_calls {
  bool (*contains)(const besom_filter *f, const void *key, size_t len);
  bool (*contains_u64)(const besom_filter *f, uint64_t key);
  bool (*contains_digest)(const besom_filter *f, besom_digest d);
};

struct insert_calls {
  besom_status (*insert)(besom_filter *f, const void *key, size_t len);
  besom_status (*insert_u64)(besom_filter *f, uint64_t key);
  besom_status (*insert_digest)(besom_filter *f, besom_digest d);
};

struct remove_calls {
  besom_status (*remove)(besom_filter *f, const void *key, size_t len);
  besom_status (*remove_digest)(besom_filter *f, besom_digest d);
};

enum exception_form { EXCEPTIONS_DEFAULT, EXCEPTIONS_SHORT, EXCEPTIONS_FULL };

/* What the caller says about exceptions (exceptions/reports.h). */
struct report_options {
  uint64_t most; /* max_exceptions, besides no_capacity; 0: by the reserve and the capacity */
  uint64_t no_capacity; /* config.no_capacity */
  double reserve;       /* config.reserve; 0: the default */
  bool forget;          /* at the limit: forget old exceptions, instead of refusing new ones */
  uint8_t form;         /* enum exception_form */
};

/* Of a list of domains (besom_set_domains); all zero: the filter is none. */
struct domain_mode {
  uint8_t labels; /* the most labels of a listed name */
  bool excepts;   /* BESOM_DOMAINS_EXCEPT */
};

/* Of a maplet: bytes of the caller that are saved with it (besom_set_note). */
struct filter_note {
  void *data; /* of a mapped filter: in the file */
  size_t len;
};

/* The head of every filter; a kind's own struct begins with it. */
struct besom_filter {
  const struct query_calls *queries;
  const struct insert_calls *inserts;
  const struct remove_calls *removes;
  const struct besom_kind *kind;
  struct snapshot_handle *snapshot; /* concurrent filters: points at the current table; else NULL */
  struct hasher hasher;
  besom_allocator allocator;
  uint64_t items;    /* keys inserted and not removed */
  uint64_t capacity; /* one item more is FULL; aqf: one slot more for members */
  besom_task *task;  /* runs on this filter: every other change is BUSY */
  bool bound;        /* besom_bind: the filter has a reverse map */
  bool is_set;       /* BESOM_SET (set.c); layers have it of their outer filter */
  struct domain_mode domains;
  uint32_t generation; /* changes with what besom_inline_facts_of copies, and with the hot calls */
  struct filter_note note;
  void *mapping;       /* BESOM_OPEN_MMAP: the file; the filter is read-only */
  size_t mapping_size; /* 0 for a layer: the mapping is the outer filter's */
  /*
   * Reported keys, which the public calls answer no; NULL if there were none. Operations of a kind
   * do not know them, so the layers of a filter have none. While there are exceptions, queries and
   * inserts point at calls that look them up after they called these.
   */
  struct exception_set *exceptions;
  struct query_calls base_queries;
  struct report_options reports;
};

/* The digests of a set, for kinds that pass over it several times. */
struct digests {
  besom_digest *at;
  uint64_t n;
  uint64_t room; /* allocated for this many */
};

/* A walk over digests: run calls give(to, ...) for each, stops at the first status that is not OK,
 * and returns it. */
struct digest_walk {
  besom_status (*run)(void *ctx, besom_status (*give)(void *to, besom_digest d), void *to);
  void *ctx;
};

/* What a kind's stats operation fills in. */
#define MAX_COUNTERS 24
struct stats_out {
  besom_statistics common;
  besom_counter counters[MAX_COUNTERS];
  size_t n;
};

static inline void besom__add_counter(struct stats_out *out, const char *name, uint64_t value) {
  if (out->n < MAX_COUNTERS) out->counters[out->n++] = (besom_counter){name, value};
}

/* Statistics and counters of any filter; of a layer those of its kind. */
void besom__stats(const besom_filter *f, struct stats_out *out);
void besom__stats_of_layer(const besom_filter *f, struct stats_out *out);

/*
 * For kinds with one quotient table: besom_diff writes the runs that differ. table_bytes: where the
 * table is, as it is saved. comparable: both tables have one shape. diff: writes what `to` has and
 * `from` has not. patch: fills `out`, zeroed bytes for a table like that of `from`. Errors of
 * patch: CORRUPT.
 */
struct run_diff_ops {
  const uint8_t *(*table_bytes)(const besom_filter *f, size_t *len);
  bool (*comparable)(const besom_filter *a, const besom_filter *b);
  void (*diff)(const besom_filter *from, const besom_filter *to, struct bit_writer *w);
  besom_status (*patch)(const besom_filter *from, struct bit_reader *r, uint8_t *out);
  /* Optional: the same in a form that takes fewer bits, for patches of version 2. */
  void (*diff_compact)(const besom_filter *from, const besom_filter *to, struct bit_writer *w);
  besom_status (*patch_compact)(const besom_filter *from, struct bit_reader *r, uint8_t *out);
};

/*
 * The operations of maplets (besom_map.h). Values are in range. Members of kind.h that take keys
 * look up reported pairs themselves, as these do.
 */
struct map_ops {
  unsigned (*value_bits)(const besom_filter *f);
  besom_status (*insert)(besom_filter *f, besom_digest d, uint64_t n, uint64_t value);
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, const uint64_t *values,
                              size_t n, size_t *done);
  besom_status (*remove)(besom_filter *f, besom_digest d, uint64_t value);
  besom_status (*replace)(besom_filter *f, besom_digest d, uint64_t old, uint64_t value);
  /* Distinct and ascending; the smallest ones up to room. Returns their number, or at least that if
   * it is above room. */
  size_t (*get)(const besom_filter *f, besom_digest d, uint64_t *out, size_t room);
  /* Of a batch: starts has n + 1 elements. Returns how many keys were answered. */
  size_t (*get_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *out,
                     size_t room, size_t *starts);
  besom_status (*adapt)(besom_filter *f, besom_digest d, uint64_t value);
  /* For layers, whose outer filter knows the reports. Tells of each match; found may stop it. */
  void (*visit)(const besom_filter *f, besom_digest d,
                bool (*found)(void *ctx, uint64_t value, uint64_t count), void *ctx);
  /* The length of the longest match with this value, in bits after the quotient; 0 if there is
   * none. remove and replace take this one. */
  unsigned (*longest)(const besom_filter *f, besom_digest d, uint64_t value);
  /* Whether a pair of this value and a key with a digest from first to last may be there; reports
   * do not count. */
  bool (*may_hold)(const besom_filter *f, besom_digest first, besom_digest last, uint64_t value);
};

/* The abilities of every kind that does not keep reports itself. */
#define REPORT_ABILITIES (BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST | BESOM_STORES_EXCEPTIONS)

/*
 * The operations of a kind, in one table per capability. A table that a kind does not have is NULL,
 * and so is an optional operation of a table: KIND_HAS asks for both.
 */
#define KIND_HAS(kind, table, operation) ((kind)->table && (kind)->table->operation)

#define FEW_KEYS 8

struct query_ops {
  /* Optional: specialised forms of the hot calls for this filter; NULL for the general ones. */
  const struct query_calls *(*calls)(const besom_filter *f);
  bool (*contains)(const besom_filter *f, besom_digest d);
  /*
   * Optional, for kinds that look at the key itself. contains, which has the digest only, must
   * answer yes where the key would decide.
   */
  bool (*contains_key)(const besom_filter *f, const void *key, size_t len, besom_digest d);
  void (*contains_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
  /* Arrays of up to so many keys go through the calls on one key, which is faster; 0: FEW_KEYS. */
  unsigned few_keys;
  /* Optional: prefetches the cache lines that contains reads of most keys, and reads none. */
  void (*prefetch)(const besom_filter *f, besom_digest d);
  /* Optional: bits and numbers of this layout (besom_abi.h). False: the filter is not of it. */
  bool (*inline_facts)(const besom_filter *f, uint32_t layout, besom_inline_facts *out);
  besom_status (*count)(const besom_filter *f, besom_digest d, uint64_t *n);         /* optional */
  besom_status (*get_value)(const besom_filter *f, besom_digest d, uint64_t *value); /* optional */
  /*
   * Optional, for kinds whose fingerprints are prefixes of the digest (hash.h): the length of
   * the longest one that matches, in bits after the quotient; 0 if none does. remove takes this
   * one.
   */
  unsigned (*longest_match)(const besom_filter *f, besom_digest d);
  /*
   * Optional, for the same kinds: the bits of the digest that a match fixes at most, the quotient
   * included; 0 if that is not known. A range of digests that has no more than these bits in common
   * is answered as its two ends are.
   */
  unsigned (*prefix_bits)(const besom_filter *f);
  /* Kinds that take config.grouping; NULL unbinds. INVALID (the filter was built without it). */
  besom_status (*bind_groups)(besom_filter *f, const besom_grouping *grouping);
};

/* Keys come and go. A kind may remove without inserting (yesno). */
struct change_ops {
  const struct insert_calls *(*calls)(const besom_filter *f); /* optional, as in query_ops */
  const struct remove_calls *(*remove_calls)(const besom_filter *f);
  besom_status (*insert)(besom_filter *f, besom_digest d);
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
  /* Optional, for BESOM_SET: inserts a key, or those keys, that are answered no. */
  besom_status (*insert_absent)(besom_filter *f, besom_digest d);
  besom_status (*insert_absent_many)(besom_filter *f, const besom_digest *d, size_t n,
                                     size_t *done);
  /* n >= 1; all copies or none. Every kind that has count has this. */
  besom_status (*insert_count)(besom_filter *f, besom_digest d, uint64_t n);
  besom_status (*remove)(besom_filter *f, besom_digest d);
  besom_status (*set_value)(besom_filter *f, besom_digest d, uint64_t value);
};

/* What a kind does about reports beyond exceptions, and where these are saved. */
struct adapt_ops {
  /*
   * Optional. The filter answers yes to d. NEEDS_STORE: without its stored keys it cannot adapt, so
   * that the digest becomes an exception, unless it is_published (optional: form=published).
   */
  besom_status (*adapt)(besom_filter *f, besom_digest d);
  bool (*is_published)(const besom_filter *f);
  besom_status (*no_add)(besom_filter *f, besom_digest d); /* only if keeps_reports */
  besom_status (*no_remove)(besom_filter *f, besom_digest d);
  /* Optional: save and load have a place for exceptions, which are numbered by these slots. */
  uint64_t (*exception_slots)(const besom_filter *f);
  /* Optional: the source has next and rewind; NULL unbinds. */
  besom_status (*bind_source)(besom_filter *f, const besom_source *members);
};

/* In front of a store. */
struct store_ops {
  /*
   * For kinds whose fingerprints do not move: the bucket of every match of the digest; it does not
   * decrease as digests increase.
   */
  uint64_t (*bucket_of)(const besom_filter *f, besom_digest d);
  besom_status (*bind)(besom_filter *f, const besom_reverse *reverse); /* NULL unbinds */
  besom_status (*matches)(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                          size_t *total);
  besom_status (*insert_at)(besom_filter *f, besom_digest d, uint64_t value, besom_match *match);
  /*
   * Kinds whose fingerprints move: inserts a key at the match where it was stored. INCOMPATIBLE (it
   * cannot have been there), FULL.
   */
  besom_status (*restore_at)(besom_filter *f, besom_digest d, besom_match match);
  /*
   * Optional: inserts the keys of a whole store into an empty filter, each with a fingerprint of
   * its own. walk gives their digests by bucket and rank. On failure the caller drops the filter.
   * FULL, INVALID (another order).
   */
  besom_status (*bulk_load)(besom_filter *f, const struct digest_walk *walk);
  /*
   * Optional: makes sure that remove_at of this match will not read stored keys, so that the record
   * can be removed first and remove_at cannot fail any more.
   */
  besom_status (*prepare_remove)(besom_filter *f, besom_match match);
  besom_status (*remove_at)(besom_filter *f, besom_match match);
  besom_status (*adapt_at)(besom_filter *f, besom_digest offender, besom_match match,
                           besom_digest stored);
  /* Optional: reserve_used of besom_statistics, of a filter without exceptions. */
  double (*reserve_used)(const besom_filter *f);
  besom_status (*no_matches)(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                             size_t *total);
  besom_status (*no_add_at)(besom_filter *f, besom_digest d, besom_match *match);
  besom_status (*no_remove_at)(besom_filter *f, besom_match match);
};

/* The whole table at once. */
struct whole_ops {
  /* into is empty and like a and b. */
  besom_status (*merge)(const besom_filter *a, const besom_filter *b, besom_filter *into);
  /*
   * Resizing: fills fresh, which is zero except head and items, from f, which stays as it is until
   * fresh is published. slots is a power-of-two multiple or divisor of f's. If start fails it
   * leaves nothing allocated; if a step fails the caller drops fresh. A step looks at no more than
   * max fingerprints; the last step may move out of f what need not be copied. The caller hands on
   * the exceptions.
   */
  besom_status (*resize_start)(besom_filter *fresh, const besom_filter *f, uint64_t slots);
  besom_status (*resize_step)(besom_filter *fresh, besom_filter *f, uint64_t max, bool *finished);
  /* Inserts ascending digests into an empty filter; on failure the caller drops the filter. */
  besom_status (*append)(besom_filter *f, const besom_digest_source *digests,
                         const besom_progress *progress);
  const struct part_ops *parts; /* optional: append by several threads (kind_parts.h) */
  /* Iteration: state of besom_iter belongs to the kind; start gets it zeroed. */
  void (*iter_start)(const besom_filter *f, besom_iter *iter);
  besom_status (*iter_next)(const besom_filter *f, besom_iter *iter, besom_entry *entry);
};

/* A filter made of a whole set. */
struct build_ops {
  /*
   * Instead of create: holds all keys of yes and denies all of no, if there is one (UNSUPPORTED if
   * it cannot). config.capacity is set; more distinct keys are FULL. Reports progress. A kind that
   * has create, too, is built by this one if there is a no list.
   */
  besom_status (*build)(besom_filter *f, const besom_config *config, const besom_source *yes,
                        const besom_source *no, const besom_progress *progress);
  unsigned takes_no; /* no is a list: BESOM_CAN_BUILD_NO; a sample: BESOM_TAKES_SAMPLE; else 0 */
  /* Optional: the same in the geometry of a model. */
  besom_status (*build_like)(besom_filter *f, const besom_filter *model, const besom_source *yes,
                             const besom_source *no, const besom_progress *progress);
  /* Optional, for a layer of another filter: from digests in memory, which it may change. */
  besom_status (*build_digests)(besom_filter *f, const besom_config *config,
                                struct digests *digests);
};

struct file_ops {
  /* Adds sections; reads them back, with the checks it needs to be safe (validate has the rest). */
  void (*save)(const besom_filter *f, struct sections_out *out);
  besom_status (*load)(besom_filter *f, struct sections_in *in);
  const char *(*validate)(const besom_filter *f); /* NULL, or what is wrong */
  const struct run_diff_ops *run_diff;            /* optional */
};

/* The concurrent form of a kind. */
struct thread_ops {
  const struct besom_kind *plain; /* this is its concurrent form, and can the same */
  /*
   * Makes a plain filter one of this kind; no other thread uses it yet. known: the filter that the
   * caller knows, for callbacks. On failure (NO_MEMORY) it stays a plain filter.
   */
  besom_status (*share)(besom_filter *f, const besom_filter *known);
  /*
   * Keep writers out while a call looks at the whole filter, or while the sections of save are in
   * use. Queries go on.
   */
  void (*pause_writers)(const besom_filter *f);
  void (*resume_writers)(const besom_filter *f);
};

struct besom_kind {
  const char *name;
  const char *summary;
  unsigned max_copies; /* as in besom_kind_info */
  /* Abilities that the operations do not tell, and those that they tell wrongly (kind_abilities) */
  unsigned also, except;
  size_t size;         /* of the kind's struct */
  const void *policy;  /* for operations that several kinds share: how they differ */
  bool takes_repeats;  /* config.repeated, for this kind or for its base */
  bool refuses_set;    /* BESOM_SET: a report, or the no list, changes fingerprints of members */
  bool full_by_chance; /* inserts can be FULL below the capacity, with other keys for each seed */
  /*
   * The operations that find, add and remove keys look up reported keys themselves, and adapt, also
   * of a key that is answered no, no_add and no_remove are only called then.
   */
  bool keeps_reports;
  bool full_exceptions; /* by default: its seed is often public */
  struct option_table options;

  /* Of kinds that start empty: fills a zeroed struct whose head is ready. On failure it leaves
   * nothing allocated. */
  besom_status (*create)(besom_filter *f, const besom_config *config);
  besom_status (*create_like)(besom_filter *f, const besom_filter *model);
  void (*destroy)(besom_filter *f);
  /* Optional: visits what destroy releases. */
  void (*visit_blocks)(besom_filter *f, const struct block_visitor *v);
  void (*stats)(const besom_filter *f, struct stats_out *out); /* what is not in the head */
  unsigned (*abilities)(const besom_filter *f); /* optional, if they depend on the filter */
  const besom_filter *(*layer)(const besom_filter *f, size_t i); /* NULL past the last */
  /*
   * For planners of layered filters: the bits per key of a full filter of `keys` keys whose
   * false-positive rate is at most *fpr, which becomes the rate it has; 0 if there is no such
   * filter.
   */
  double (*bits_per_key)(double keys, double *fpr);

  struct query_ops query; /* every kind answers queries */
  const struct change_ops *change;
  const struct adapt_ops *adapt;
  const struct store_ops *store;
  const struct whole_ops *whole;
  const struct build_ops *build;
  const struct file_ops *file; /* never NULL */
  const struct thread_ops *threads;
  const struct map_ops *map;           /* of the form with maplet=yes */
  const struct besom_kind *concurrent; /* the concurrent form of this kind, made by share */
  const struct besom_kind *maplet;     /* the form with maplet=yes; create and load choose it */
  const struct besom_kind *windows;    /* the form of cf with layout=windows; likewise */
};

/* What the kind can do in its default form, as its operations tell. */
ALWAYS_INLINE unsigned kind_abilities(const struct besom_kind *kind) {
  if (kind->threads) kind = kind->threads->plain;
  bool keeps_no_list = KIND_HAS(kind, store, no_add_at);
  unsigned told =
      (kind->create_like && KIND_HAS(kind, change, insert) ? BESOM_CAN_INSERT : 0u) |
      (KIND_HAS(kind, change, remove) ? BESOM_CAN_REMOVE : 0u) |
      (kind->query.count ? BESOM_CAN_COUNT : 0u) | (kind->query.get_value ? BESOM_CAN_VALUE : 0u) |
      (KIND_HAS(kind, whole, merge) ? BESOM_CAN_MERGE : 0u) |
      (KIND_HAS(kind, whole, iter_next) ? BESOM_CAN_ITERATE : 0u) |
      (KIND_HAS(kind, whole, resize_start) ? BESOM_CAN_RESIZE : 0u) |
      (KIND_HAS(kind, whole, append) ? BESOM_CAN_BUILD_SORTED : 0u) |
      (kind->store ? BESOM_CAN_MATCH : 0u) | (keeps_no_list ? BESOM_CAN_NO_LIST_AT : 0u) |
      (KIND_HAS(kind, adapt, adapt) ? BESOM_CAN_ADAPT : 0u) |
      (kind->keeps_reports ? 0u : REPORT_ABILITIES) | (kind->build ? kind->build->takes_no : 0u);
  return (told | kind->also) & ~kind->except;
}

/* -------------------------------------------------------------- sets (set.c) */

extern const struct insert_calls besom__set_inserts;
besom_status besom__set_insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done);

/* Asks for at most SET_BATCH keys at once, and inserts those that are answered no. */
#define SET_BATCH 256
besom_status besom__set_insert_batch(besom_filter *f, const besom_digest *d, size_t n,
                                     size_t *done);

/* The operation insert_many, or that of a set. */
static inline besom_status besom__insert_digests(besom_filter *f, const besom_digest *d, size_t n,
                                                 size_t *done) {
  bool as_set = f->is_set && !f->kind->map;
  return as_set ? besom__set_insert_many(f, d, n, done)
                : f->kind->change->insert_many(f, d, n, done);
}

/* Whether the kind can be a set: OK or UNSUPPORTED. */
static inline besom_status besom__check_set(const struct besom_kind *kind, uint32_t flags) {
  return flags & BESOM_SET && kind->refuses_set ? BESOM_UNSUPPORTED : BESOM_OK;
}

/* After a filter was made with BESOM_SET: one that keeps no copies is a set without it. */
void besom__set_settle(besom_filter *f);

/* besom_abilities of a plain filter that is neither a set nor mapped. */
unsigned besom__own_abilities(const besom_filter *f);

/* -------------------------------------------------------------- readers and writers */

/*
 * Concurrent filters use read-copy-update. The filter that the caller knows is a snapshot handle;
 * the table behind it may be replaced by another one, with another size or seed. Every public call
 * enters as a reader, works with the filter that it gets, its hash and its operations, and leaves.
 * A replaced filter is freed after a grace period: when every reader has left that may have got it.
 * A plain filter is its own snapshot, and entering costs one branch.
 */
struct reader {
  besom_filter *filter;
  _Atomic uint64_t *slot; /* where this reader announced itself; NULL: nowhere */
  bool owns_slot;         /* no other reader uses the slot meanwhile */
};

struct reader besom__snapshot_enter(const besom_filter *f);
besom_status besom__snapshot_enter_to_write(const besom_filter *f, struct reader *r);

static inline struct reader besom__reader_enter(const besom_filter *f) {
  if (UNLIKELY(f->snapshot)) return besom__snapshot_enter(f);
  return (struct reader){(besom_filter *)(uintptr_t)f, NULL, false};
}

static inline void besom__reader_leave(struct reader r) {
  if (LIKELY(!r.slot)) return;
  if (LIKELY(r.owns_slot))
    atomic_store_explicit(r.slot, 0, memory_order_release);
  else
    atomic_fetch_sub_explicit(r.slot, 1, memory_order_release);
}

/*
 * Enters if changes are allowed: OK; else READ_ONLY or BUSY, without having entered. Waits while a
 * besom_resize or besom_rekey at once runs on a concurrent filter.
 */
static inline besom_status besom__writer_enter(besom_filter *f, struct reader *r) {
  *r = (struct reader){f, NULL, false};
  if (UNLIKELY(f->mapping)) return BESOM_READ_ONLY;
  if (UNLIKELY(f->snapshot)) return besom__snapshot_enter_to_write(f, r);
  return UNLIKELY(f->task) ? BESOM_BUSY : BESOM_OK;
}

/*
 * Starts and ends the replacement of a filter by another one. Keeps writers out; queries go on.
 * *now is the filter to read meanwhile. Other writers wait, or get BUSY if this is a task. Errors:
 * READ_ONLY, BUSY.
 */
besom_status besom__replace_begin(besom_filter *f, bool is_task, besom_filter **now);
void besom__replace_end(besom_filter *f);

/*
 * Publishes *fresh, a plain filter, as what f is, and sets *fresh to what it was, after a grace
 * period. NO_MEMORY leaves both as they were.
 */
besom_status besom__publish(besom_filter *f, besom_filter **fresh);

/* besom_free of a concurrent filter: everything but the head. */
void besom__snapshot_free(besom_filter *f);

/* The memory of the snapshot handle; 0 for a plain filter. */
size_t besom__snapshot_bytes(const besom_filter *f);

/* Around calls that need a filter that does not change. */
static inline void besom__pause_writers(const besom_filter *f) {
  if (f->kind->threads) f->kind->threads->pause_writers(f);
}

static inline void besom__resume_writers(const besom_filter *f) {
  if (f->kind->threads) f->kind->threads->resume_writers(f);
}

/* -------------------------------------------------------------- making filters */

/*
 * Chooses the forms of the hot calls. Code that changes what they depend on (kind, hash, width,
 * mapping, task, whether there are exceptions) calls it afterwards. It does nothing for a snapshot
 * handle, whose calls besom__snapshot_calls sets once.
 */
void besom__choose_calls(besom_filter *f);

/* -------------------------------------------------------------- lists of domains */

/* Whether the name or one of its parents is listed; *entry, if not NULL, is the part of the name
 * that is. f has no snapshot handle. */
bool besom__domain_contains(const besom_filter *f, const void *name, size_t len,
                            besom_bytes *entry);

/* Adapts for every part of the name that is answered yes. */
besom_status besom__domain_adapt(besom_filter *f, const void *name, size_t len);

/* Makes a finished filter a list of domains as another one is. Never before it is finished: its
 * builders ask for single keys. */
static inline void besom__copy_domains(besom_filter *to, const besom_filter *from) {
  to->domains = from->domains;
  besom__choose_calls(to);
}
void besom__snapshot_calls(besom_filter *f);

/* A filter with a ready head, the kind's part still zero. */
besom_status besom__filter_new(const struct besom_kind *kind, const struct hasher *hasher,
                               const besom_allocator *allocator, besom_filter **out);

/* Frees the head and its exceptions, if the kind's part could not be made. */
void besom__filter_drop(besom_filter *f);

/* Hands over f if status is OK, else drops it. */
besom_status besom__filter_made(besom_status status, besom_filter *f, besom_filter **out);

/*
 * A filter of another size, made from a bound filter and its stored keys, which stays as it is. It
 * is not bound. Errors: those of besom_resize.
 */
besom_status besom__resized_by_keys(const besom_filter *f, uint64_t slots, besom_filter **out);

/* besom_create without BESOM_CONCURRENT; besom__hand_over adds that. */
besom_status besom__create_plain(const besom_config *config, besom_filter **out);

/* An empty plain filter like f, which has no snapshot handle; plain even if f is concurrent. */
besom_status besom__plain_like(const besom_filter *f, besom_filter **out);

/* Gives a new plain filter to the caller, made concurrent if `shared`; frees it on failure. */
besom_status besom__hand_over(besom_filter *f, bool shared, besom_filter **out);

/*
 * Reads up to cap keys of the source, cap <= BUILD_BATCH, and inserts them: *n of them. OK, END if
 * the source has no more, or an error, after which the caller drops the filter.
 */
#define BUILD_BATCH 256
besom_status besom__insert_batch(besom_filter *f, const besom_source *source, size_t cap,
                                 size_t *n);

/* The same with pairs, into a maplet. */
besom_status besom__insert_pairs(besom_filter *f, const besom_pair_source *source, size_t cap,
                                 size_t *n);

/* Reports progress: OK to go on, or CANCELLED. progress may be NULL. */
static inline besom_status besom__tick(const besom_progress *progress, uint64_t done,
                                       uint64_t total) {
  return progress && progress->tick && !progress->tick(progress->ctx, done, total) ? BESOM_CANCELLED
                                                                                   : BESOM_OK;
}

/* Gives a filter a copy of the bytes instead of its note. NO_MEMORY. */
besom_status besom__note_copy(besom_filter *f, const void *data, size_t len);

/* Whether the operation build makes a filter of this kind, instead of create and inserts. */
bool besom__is_built_whole(const besom_config *config, const besom_source *no);

/* What every maker of filters checks first. Errors: those of besom_create except NO_MEMORY. */
besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind,
                                struct hasher *hasher);

/* Whether the members of config that all kinds share are in range. INVALID, and why. */
besom_status besom__config_in_range(const besom_config *config, struct explanation *why);

/*
 * All keys of the source under f's hash, in f's memory. Repeated keys are kept, unless there are
 * more than `most` keys. Errors: FULL (more than `most` distinct keys), NO_MEMORY, INVALID (a NULL
 * key), CANCELLED, what the source returned; nothing stays allocated then.
 */
besom_status besom__collect(const besom_filter *f, const besom_source *source, uint64_t most,
                            const besom_progress *progress, struct digests *out);
void besom__digests_free(const besom_filter *f, struct digests *d);

/* The same from digests under f's hash. Errors: INVALID (they do not ascend), as above. */
besom_status besom__collect_sorted(const besom_filter *f, const besom_digest_source *source,
                                   uint64_t most, const besom_progress *progress,
                                   struct digests *out);

/* The same with digests of another making. Equal keys must have equal ones. */
struct digest_maker {
  besom_status (*make)(void *ctx, besom_bytes key, besom_digest *out);
  void *ctx;
};
besom_status besom__collect_digests(const besom_filter *f, const besom_source *source,
                                    uint64_t most, const besom_progress *progress,
                                    const struct digest_maker *maker, struct digests *out);

/* Whether a digest is in both lists, which are sorted. */
bool besom__digests_have_common(const struct digests *x, const struct digests *y);

/* Sorts the digests and removes repeats. */
void besom__digests_unite(struct digests *d);

/* -------------------------------------------------------------- sets that are built once */

/* The queries of such a set, by the instruction set and the form of its table. */
struct static_set_ops {
  enum isa isa;
  struct query_calls queries; /* contains and contains_u64 only for xxh3 */
  /* Of a filter that has keys. */
  void (*contains_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
};

/* The struct of a kind without insert, fuse or ribbon, begins with this one. */
struct static_set {
  besom_filter head;
  const struct static_set_ops *ops; /* NULL until it is built */
};

/* The operations of these names. */
const struct query_calls *besom__static_query_calls(const besom_filter *f);
bool besom__static_contains(const besom_filter *f, besom_digest d);
void besom__static_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                 uint64_t *bitmap);

/* Collects the keys, at most `most` distinct ones, and calls build_digests. Errors: both have. */
besom_status besom__static_build(besom_filter *f, const besom_config *config,
                                 const besom_source *yes, const besom_progress *progress,
                                 uint64_t most);

/* For layers: a filter from a config, with this hasher instead of config.hash and config.seed. */
besom_status besom__filter_create(const struct besom_kind *kind, const besom_config *config,
                                  const struct hasher *hasher, besom_filter **out);

#endif
