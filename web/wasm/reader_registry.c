/*
 * The kinds of the reader module: those of src/registry.c, but only with the operations that
 * reading needs. The structs of the kinds are constants, so link-time optimization replaces each
 * `from->operation` below by the function, and then drops the structs and every function that only
 * they name. That makes the module a quarter as large. scaling and adaptive-stacked are missing:
 * they grow and learn where they are used, and to load them takes rates and the planner.
 */
#include "core/bits.h"
#include "filter.h"

#define KINDS(X)   \
  X(aqf)           \
  X(yesno)         \
  X(yesno_dynamic) \
  X(exaf)          \
  X(broom)         \
  X(taf)           \
  X(utaf)          \
  X(qf)            \
  X(cf)            \
  X(vacuum)        \
  X(acf_cyclic)    \
  X(acf_swapping)  \
  X(acf_cuckooing) \
  X(bloom)         \
  X(blocked_bloom) \
  X(fuse)          \
  X(ribbon)        \
  X(cached)        \
  X(cascade)       \
  X(grouped)       \
  X(updated)       \
  X(learned)       \
  X(stacked)

#define DECLARE(kind) extern const struct besom_kind besom__##kind;
KINDS(DECLARE)

/* Loading asks whether a kind has these; reading does not call them. */
static double no_bits_per_key(double keys, double *fpr) {
  (void)keys, (void)fpr;
  return 0;
}

static unsigned no_match(const besom_filter *f, besom_digest d) {
  (void)f, (void)d;
  return 0;
}

static besom_status no_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  (void)f, (void)d, (void)value;
  return BESOM_UNSUPPORTED;
}

static besom_status no_build(besom_filter *f, const besom_config *config, struct digests *digests) {
  (void)f, (void)config, (void)digests;
  return BESOM_UNSUPPORTED;
}

/* Batches gain little here: WebAssembly has no prefetch. */
static void contains_each(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    uint64_t answers = 0;
    for (size_t k = i; k < n && k < i + 64; k++)
      answers |= (uint64_t)f->kind->contains(f, d[k]) << (k - i);
    bitmap[i / 64] = answers;
  }
}

/* Rates need tables of logarithms, which are larger than a kind. */
static void no_stats(const besom_filter *f, struct stats_out *out) {
  (void)f, (void)out;
}

ALWAYS_INLINE struct besom_kind reduced(const struct besom_kind *from) {
  return (struct besom_kind){
      .info.name = from->info.name,
      .info.summary = "",
      .info.abilities = from->info.abilities,
      .info.max_copies = from->info.max_copies,
      .size = from->size,
      .takes_repeats = from->takes_repeats,
      .destroy = from->destroy,
      .contains = from->contains,
      .contains_key = from->contains_key,
      .contains_many = contains_each,
      .stats = no_stats,
      .abilities = from->abilities,
      .layer = from->layer,
      .validate = from->validate,
      .run_diff = from->run_diff,
      .save = from->save,
      .load = from->load,
      .bits_per_key = from->bits_per_key ? no_bits_per_key : NULL,
      .longest_match = from->longest_match ? no_match : NULL,
      .get_value = from->get_value ? no_value : NULL,
      .build_digests = from->build_digests ? no_build : NULL,
  };
}

#define COUNT(kind) +1
enum { N_KINDS = 0 KINDS(COUNT) };
static struct besom_kind kinds[N_KINDS];

#define REDUCE(kind) *next++ = reduced(&besom__##kind);
__attribute__((constructor)) static void reduce_all(void) {
  struct besom_kind *next = kinds;
  KINDS(REDUCE)
}

const struct besom_kind *besom__kind_named(const char *name) {
  for (size_t i = 0; i < N_KINDS; i++)
    if (strcmp(kinds[i].info.name, name) == 0) return &kinds[i];
  return NULL;
}

const besom_kind_info *besom_kinds(size_t i) {
  return i < N_KINDS ? &kinds[i].info : NULL;
}
