/*
 * The state of an adaptive stacked filter, and what its files do with it:
 *   adaptive_stacked.c  the kind: queries, inserts, reports, statistics
 *   asf_create.c        options, creating and building
 *   asf_learn.c         which layer learns a reported key; the layers that wait for a pass
 *   asf_pass.c          passes over the members, after which the waiting layers are used
 *   asf_monitor.c       the observed false-positive rate, and what is done about it
 *   asf_file.c          saving and loading
 *   asf_plan.c          the sizes of the layers
 */
#ifndef BESOM_LAYERED_ASF_H
#define BESOM_LAYERED_ASF_H

#include <stdatomic.h>

#include "layers/layer_chain.h"
#include "papers/adaptive_stacked/asf_plan.h"

/* The options. */
#define ASF_ROWS 7
extern const struct option_row besom__asf_rows[ASF_ROWS];
const char *besom__asf_conflict(const void *values);

/* The purpose of a pass over the members. */
enum pass { NO_PASS, EXTEND_STACK, FILL_FIRST };

/* What was done about an unexpected false-positive rate, since it was last as expected. */
enum remedy { NOTHING, RELEARNED, REPLANNED }; /* part of the file format */

struct asf {
  besom_filter head;
  struct asf_objective objective;
  struct measured_ranks *measured; /* that objective.workload points to, or NULL */
  struct asf_plan plan;            /* for this objective; learn = 0: one layer only */
  double expected_fpr;             /* with all members inserted: as planned, or as observed */
  enum remedy remedy;
  uint64_t generation; /* how often it learned again; layers after the first err differently then */

  /*
   * The layers in use are the first `n`, an odd number. Those in `next` wait for a pass: of an odd
   * number, the layer in use with the keys that were reported since; of an even number, a layer of
   * members that is being filled.
   */
  unsigned n;
  besom_filter *layers[ASF_MAX_LAYERS];
  besom_filter *next[ASF_MAX_LAYERS];
  uint64_t repeats; /* reports of keys that wait for a pass */

  besom_source members; /* if next is NULL, not bound */
  enum pass pass;
  bool pass_started;
  uint64_t due, passed;         /* members when this pass began; members read by it */
  besom_filter *first;          /* FILL_FIRST: the first layer of another plan */
  struct asf_objective another; /* the objective of that plan */

  _Atomic uint64_t denied; /* negative answers since the window began */
  uint64_t wrong;          /* reports since then that could not be learned */
  double expected_now;     /* the expected rate with the members at that time */
  uint64_t learning;       /* reports while the second layer was filled, */
  double queries;          /* and negative queries until it was full; 0: not known */
  uint64_t patience;       /* windows until an accepted rate is no longer accepted */
  uint64_t next_patience;
  uint64_t relearned; /* how often, since the filter was created or loaded */
};

static inline const struct asf *const_asf(const besom_filter *f) {
  return (const struct asf *)f;
}

static inline struct asf *asf(besom_filter *f) {
  return (struct asf *)f;
}

/* The digest by which layer i sees a key. Layers of another generation see other bits. */
static inline uint64_t asf_salt(const struct asf *a) {
  return a->generation * (ASF_MAX_LAYERS + 1);
}

/* Of layer i >= 1: the first layer sees the digest itself. */
static inline bool asf_layer_has(const struct asf *a, const besom_filter *layer, unsigned i,
                                 besom_digest d) {
  return layer->kind->query.contains(layer, layer_digest(d, i + asf_salt(a)));
}

/* Layer i as it will be after the next pass. NULL if there will be none. */
static inline besom_filter *asf_coming(const struct asf *a, unsigned i) {
  return a->next[i] ? a->next[i] : i < a->n ? a->layers[i] : NULL;
}

/* Adds a member to a first layer, once: a base that counts would keep every copy. Errors: FULL. */
static inline besom_status asf_first_add(besom_filter *first, besom_digest d) {
  const struct besom_kind *kind = first->kind;
  return kind->query.count && kind->query.contains(first, d) ? BESOM_OK
                                                             : kind->change->insert(first, d);
}

static inline bool layer_is_full(const besom_filter *layer) {
  return layer->items >= layer->capacity;
}

/* ------------------------------------------------------------------ asf_create.c */

besom_status besom__asf_create(besom_filter *f, const besom_config *config);
besom_status besom__asf_build(besom_filter *f, const besom_config *config, const besom_source *yes,
                              const besom_source *no, const besom_progress *progress);
besom_status besom__asf_create_like(besom_filter *f, const besom_filter *model);
void besom__asf_destroy(besom_filter *f);

/* Creates a first layer as planned: with its part of the bits, or with the target rate. */
besom_status besom__asf_make_first(const struct asf *a, const struct asf_plan *plan,
                                   besom_filter **out);

/* Takes an objective, and plans for it. */
void besom__asf_set_objective(struct asf *a, const struct asf_objective *objective);

/* ------------------------------------------------------------------ asf_learn.c */

/*
 * What became of a report: the key waits for the next pass since now, or since an earlier report;
 * or no layer can learn it.
 */
enum lesson { LEARNED, WAITS, CANNOT_LEARN };

/* Adds a false positive to the layer that can deny it. Errors: NO_MEMORY. Then nothing changed. */
besom_status besom__asf_learn(struct asf *a, besom_digest d, enum lesson *lesson);

/* Whether it is time for a pass. */
bool besom__asf_pass_is_due(const struct asf *a);

/* The second layer is in use and full. */
static inline bool asf_is_complete(const struct asf *a) {
  return a->n > 1 && layer_is_full(a->layers[1]);
}

/* Drops all layers but the first, also those that wait. */
void besom__asf_drop_learned(struct asf *a);

/* ------------------------------------------------------------------ asf_pass.c */

void besom__asf_begin_pass(struct asf *a, enum pass pass);
void besom__asf_end_pass(struct asf *a);

/*
 * Reads some more members. On failure nothing has changed, and the caller ends the pass. Errors:
 * what the source returns; INVALID (it has too few members); NO_MEMORY.
 */
besom_status besom__asf_step(struct asf *a);

/*
 * A new member: adds it to the layers of members that it reaches, in use or not. If one of them has
 * no room, what was learned is dropped; that is not an error.
 */
void besom__asf_add_member(struct asf *a, besom_digest d);

/* ------------------------------------------------------------------ asf_monitor.c */

/* Begins to count answers. */
void besom__asf_begin_window(struct asf *a);

/* The stack is complete: what was observed while it learned is kept, and a window begins. */
void besom__asf_completed(struct asf *a);

/* Counts a report that could not be learned. Acts if the rate is unexpected. Errors: NO_MEMORY. */
besom_status besom__asf_check_rate(struct asf *a);

/* ------------------------------------------------------------------ asf_file.c */

void besom__asf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__asf_load(besom_filter *f, struct sections_in *in);

#endif
