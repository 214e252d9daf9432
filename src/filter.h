/*
 * What every kind of filter is made of: a common head, and the operations that the public calls (filter.c)
 * dispatch to. A kind is one .c file that defines a `const struct besom_kind`, and one line in registry.c.
 *
 * By the time an operation is called the arguments are checked, the key is hashed and a changing call is
 * allowed. An operation that a kind does not have is NULL, and UNSUPPORTED to the user.
 */
#ifndef BESOM_FILTER_H
#define BESOM_FILTER_H

#include <stdatomic.h>

#include "besom.h"
#include "core/hash.h"
#include "core/sections.h"

#define MAX_CAPACITY (UINT64_C(1) << 44)
#define DEFAULT_RATE (1.0 / 256)

struct qtable; /* quotient/table.h */

/* The head of every filter; a kind's own struct begins with it. */
struct besom_filter {
  const struct besom_kind *kind;
  struct front *
      front; /* of a concurrent filter as the user knows it: what it is by now is behind it; else NULL */
  struct hasher hasher;
  besom_allocator allocator;
  uint64_t items;
  uint64_t capacity;
  besom_task *task;    /* under way: nothing else may change the filter */
  bool bound;          /* besom_bind: it sees the keys that are stored */
  void *mapping;       /* of besom_open_mmap: the filter is read-only and its bits are in here */
  size_t mapping_size; /* 0 for a filter within a filter: the mapping is the outer one's */
};

/* What a kind keeps while it iterates; large enough for any. */
struct besom_iter {
  const struct besom_filter *filter;
  besom_allocator allocator;
  uint64_t state[8];
};

/* The digests of a set, for kinds that go over it more than once while the source is read once. */
struct digests {
  besom_digest *at;
  uint64_t n;
  uint64_t room; /* for so many */
};

/* A walk over digests: run hands each to give(to, ...), stops at the first status that is not OK, and returns it. */
struct digest_walk {
  besom_status (*run)(void *ctx, besom_status (*give)(void *to, besom_digest d), void *to);
  void *ctx;
};

struct besom_kind {
  besom_kind_info info;
  size_t size; /* of the kind's struct */
  const struct besom_kind
      *concurrent; /* the same kind for several threads: made of a plain filter, by share */

  /* Fills a zeroed struct whose head is ready; on failure leaves nothing behind. */
  besom_status (*create)(besom_filter *f, const besom_config *config);
  besom_status (*create_like)(besom_filter *f, const besom_filter *model);
  /*
   * Instead of create, for kinds that are made of a whole set: the same with all keys of yes, answering no to all
   * of no if there are any (UNSUPPORTED if it cannot promise that). config.capacity is set; more different keys are
   * FULL. Takes time, so it tells progress. A kind that has both is built by this one if there is a no.
   */
  besom_status (*build)(besom_filter *f, const besom_config *config, const besom_source *yes,
                        const besom_source *no, const besom_progress *progress);
  /* The same for a layer of another filter, from digests that are at hand; it may put them into another order. */
  besom_status (*build_digests)(besom_filter *f, const besom_config *config,
                                struct digests *digests);
  void (*destroy)(besom_filter *f);

  /*
   * What a key takes in a filter of so many, full, whose rate is at most this one, which becomes the rate it has: for
   * who plans a filter made of several. Bits; 0 if there is no such filter.
   */
  double (*price)(double keys, double *rate);

  bool (*contains)(const besom_filter *f, besom_digest d);
  /*
   * Optional, for kinds that look at the key itself, besides its digest: the answer for who has both. contains is for
   * who has the digest alone, and says yes where the key would have to decide.
   */
  bool (*contains_key)(const besom_filter *f, const void *key, size_t len, besom_digest d);
  void (*contains_many)(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap);
  besom_status (*insert)(besom_filter *f, besom_digest d);
  besom_status (*insert_many)(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
  besom_status (*remove)(besom_filter *f, besom_digest d);
  besom_status (*count)(const besom_filter *f, besom_digest d, uint64_t *n);
  besom_status (*adapt)(besom_filter *f, besom_digest d);
  besom_status (*no_add)(besom_filter *f, besom_digest d);
  besom_status (*no_remove)(besom_filter *f, besom_digest d);
  besom_status (*insert_count)(besom_filter *f, besom_digest d, uint64_t n); /* n >= 1 */
  besom_status (*get_value)(const besom_filter *f, besom_digest d, uint64_t *value);
  besom_status (*set_value)(besom_filter *f, besom_digest d, uint64_t value);

  /* The source has next and rewind; NULL unbinds. */
  besom_status (*bind_source)(besom_filter *f, const besom_source *members);

  /*
   * In front of a store. bucket_of: kinds whose fingerprints stay where they are put; it is the bucket of every match
   * of the digest, and does not descend as digests ascend.
   */
  uint64_t (*bucket_of)(const besom_filter *f, besom_digest d);
  besom_status (*bind)(besom_filter *f, const besom_reverse *reverse); /* NULL unbinds */
  besom_status (*matches)(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                          size_t *total);
  besom_status (*insert_at)(besom_filter *f, besom_digest d, uint64_t value, besom_match *match);
  /* Kinds whose fingerprints move: puts a key back where it was stored. INCOMPATIBLE (it cannot have been there), FULL. */
  besom_status (*readmit_at)(besom_filter *f, besom_digest d, besom_match match);
  /*
   * Optional: puts the keys of a whole store into an empty filter, each with a fingerprint of its own. walk gives their
   * digests in the order of buckets and ranks. On failure the caller drops the filter. FULL, INVALID (another order).
   */
  besom_status (*admit)(besom_filter *f, const struct digest_walk *walk);
  /*
   * Optional: sees to it that remove_at of this match will not look at the stored keys, so that the record can be taken
   * out first, and remove_at cannot fail any more.
   */
  besom_status (*ready_to_remove)(besom_filter *f, besom_match match);
  besom_status (*remove_at)(besom_filter *f, besom_match match);
  besom_status (*adapt_at)(besom_filter *f, besom_digest offender, besom_match match,
                           besom_digest stored);
  besom_status (*no_matches)(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                             size_t *total);
  besom_status (*no_add_at)(besom_filter *f, besom_digest d, besom_match *match);
  besom_status (*no_remove_at)(besom_filter *f, besom_match match);

  /* into is empty and like a and b. */
  besom_status (*merge)(const besom_filter *a, const besom_filter *b, besom_filter *into);
  /*
   * Another size: fills fresh, which is zero but for head and items, from f, which stays as it is, until both are
   * exchanged. slots = those of f, times or over a power of two (checked). If start fails it leaves nothing
   * behind; if a step fails the caller drops fresh. A step looks at no more than max fingerprints; the last one takes
   * out of f what need not be copied.
   */
  besom_status (*resize_start)(besom_filter *fresh, const besom_filter *f, uint64_t slots);
  besom_status (*resize_step)(besom_filter *fresh, besom_filter *f, uint64_t max, bool *finished);
  /* Inserts the digests into an empty filter. They must ascend; on failure the caller drops the filter. */
  besom_status (*append)(besom_filter *f, const besom_digest_source *digests,
                         const besom_progress *progress);
  void (*iter_start)(besom_iter *iter);
  besom_status (*iter_next)(besom_iter *iter, besom_entry *entry);

  void (*stats)(const besom_filter *f, besom_statistics *stats); /* what is not in the head */
  const besom_filter *(*layer)(const besom_filter *f,
                               size_t i);         /* the i-th filter within f; NULL past the last */
  const char *(*validate)(const besom_filter *f); /* NULL, or what is wrong */

  /*
   * Of concurrent kinds: makes a plain filter one of this kind; nobody else uses it yet. known: the filter as the user
   * knows it, for callbacks. On failure (NO_MEMORY) it is the plain filter that it was.
   */
  besom_status (*share)(besom_filter *f, const besom_filter *known);
  /*
   * Of concurrent kinds, for a store behind it: work gets a view of f, with which to do what concerns the bucket of
   * this key, by the operations matches, insert_at, remove_at and adapt_at of the view's kind. Nobody else changes the
   * bucket until it returns, so that its ranks and what is stored go together; queries go on. If work says FULL it may
   * be called a second time, with more room: so it must leave all as it was then.
   */
  besom_status (*with_key)(besom_filter *f, besom_digest d,
                           besom_status (*work)(void *ctx, besom_filter *view), void *ctx);
  /*
   * Of concurrent kinds: keeps every change out while more than one call looks at the whole filter, or what a call
   * gave (the sections of save) is still in use. Queries go on.
   */
  void (*hold)(const besom_filter *f);
  void (*let_go)(const besom_filter *f);

  /* Optional, for kinds with one quotient table: where besom_diff finds it. */
  const struct qtable *(*table)(const besom_filter *f);

  /* Adds sections; takes them back (checking what it needs to be safe, see validate for the rest). */
  void (*save)(const besom_filter *f, struct sections_out *out);
  besom_status (*load)(besom_filter *f, struct sections_in *in);
};

/* The kind of that name, NULL if there is none. */
const struct besom_kind *besom__kind_named(const char *name);

/* ------------------------------------------------------------------ calls on filters */

/*
 * A concurrent filter has a front, which is all that the user knows, and behind it a filter that may be exchanged
 * for another one: of another size, with another hash key. Every public call enters, works with the filter that it
 * gets, its hash and its operations, and leaves. What was exchanged is freed when all calls have left that may have
 * got it. Of any other filter the filter that a call gets is the filter itself, and there is nothing to it.
 */
struct visit {
  besom_filter *filter;
  _Atomic uint64_t *inside; /* where it shows that this call is inside; NULL if nowhere */
  bool seated;              /* and that no other call shows there meanwhile */
};

struct visit besom__front_enter(const besom_filter *f);
besom_status besom__front_enter_to_change(const besom_filter *f, struct visit *v);

static inline struct visit besom__enter(const besom_filter *f) {
  if (UNLIKELY(f->front)) return besom__front_enter(f);
  return (struct visit){(besom_filter *)(uintptr_t)f, NULL, false};
}

static inline void besom__leave(struct visit v) {
  if (LIKELY(!v.inside)) return;
  if (LIKELY(v.seated))
    atomic_store_explicit(v.inside, 0, memory_order_release);
  else
    atomic_fetch_sub_explicit(v.inside, 1, memory_order_release);
}

/*
 * Enters, if changes are allowed: OK, else READ_ONLY or BUSY, without having entered. While besom_grow and the like are
 * at work on a concurrent filter, it waits.
 */
static inline besom_status besom__enter_to_change(besom_filter *f, struct visit *v) {
  *v = (struct visit){f, NULL, false};
  if (UNLIKELY(f->mapping)) return BESOM_READ_ONLY;
  if (UNLIKELY(f->front)) return besom__front_enter_to_change(f, v);
  return UNLIKELY(f->task) ? BESOM_BUSY : BESOM_OK;
}

/*
 * For who exchanges the filter for another one: keeps every change out, queries go on. *now is the filter to look at
 * meanwhile. Others that want to change it wait, or if this is a task, are told BUSY. Errors: READ_ONLY, BUSY.
 */
besom_status besom__claim(besom_filter *f, bool is_task, besom_filter **now);
void besom__unclaim(besom_filter *f);

/*
 * Exchanges what a claimed filter is for *fresh, a plain filter, and *fresh for what it was. NO_MEMORY leaves both as
 * they were.
 */
besom_status besom__exchange(besom_filter *f, besom_filter **fresh);

/* The operation with_key; of a filter that is not concurrent the view is the filter. */
besom_status besom__with_key(besom_filter *f, besom_digest d,
                             besom_status (*work)(void *ctx, besom_filter *view), void *ctx);

/* besom_free of a filter with a front: all but the head. */
void besom__front_free(besom_filter *f);

/* The memory of the front, 0 if there is none. */
size_t besom__front_bytes(const besom_filter *f);

/* Around what needs a filter that does not change. */
static inline void besom__hold(const besom_filter *f) {
  if (f->kind->hold) f->kind->hold(f);
}

static inline void besom__let_go(const besom_filter *f) {
  if (f->kind->let_go) f->kind->let_go(f);
}

/* ------------------------------------------------------------------ making filters */

/* A filter with a ready head, zero but for that; the kind's part is still to be made. */
besom_status besom__filter_new(const struct besom_kind *kind, const struct hasher *hasher,
                               const besom_allocator *allocator, besom_filter **out);

/* besom_create without the flag BESOM_CONCURRENT, if the kind could have it: for besom__hand_over. */
besom_status besom__create_plain(const besom_config *config, besom_filter **out);

/* An empty plain filter like f, which has no front; plain: not concurrent, even if f is. */
besom_status besom__plain_like(const besom_filter *f, besom_filter **out);

/* Gives a new plain filter to the caller, made concurrent if he wants to share it; on failure frees it. */
besom_status besom__hand_over(besom_filter *f, bool shared, besom_filter **out);

/* Frees the head alone: for a filter whose kind's part could not be made. */
void besom__filter_drop(besom_filter *f);

/*
 * Reads up to cap keys of the source, cap <= BUILD_BATCH, and inserts them: *n of them. OK, END if the source has no
 * more, or an error, after which the filter is to be dropped.
 */
#define BUILD_BATCH 256
besom_status besom__insert_batch(besom_filter *f, const besom_source *source, size_t cap,
                                 size_t *n);

/* Tells the caller how far long work has come: OK to go on, or CANCELLED. progress may be NULL. */
static inline besom_status besom__tick(const besom_progress *progress, uint64_t done,
                                       uint64_t total) {
  return progress && progress->tick && !progress->tick(progress->ctx, done, total) ? BESOM_CANCELLED
                                                                                   : BESOM_OK;
}

/* Whether build makes a filter of this kind, instead of create and inserts. */
bool besom__is_built_whole(const besom_config *config, const besom_source *no);

/* What every maker of filters checks first. Errors: those of besom_create but for NO_MEMORY. */
besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind,
                                struct hasher *hasher);

/*
 * All keys of the source under f's hash, in f's memory. A key may be there twice; when they are more than `most`, each
 * is kept once. Errors: FULL (more than `most` different ones), NO_MEMORY, INVALID (a NULL key), CANCELLED, what the
 * source returned; nothing is left behind then.
 */
besom_status besom__collect(const besom_filter *f, const besom_source *source, uint64_t most,
                            const besom_progress *progress, struct digests *out);
void besom__digests_free(const besom_filter *f, struct digests *d);

/* Ascending, each once. */
void besom__digests_unite(struct digests *d);

/* For layered kinds: a filter from a config with the hasher given instead of config.hash and config.seed. */
besom_status besom__filter_create(const struct besom_kind *kind, const besom_config *config,
                                  const struct hasher *hasher, besom_filter **out);

#endif
