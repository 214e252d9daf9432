/*
 * The kinds of the reader module: those of src/kinds.c, but only with the operations that
 * reading needs. The structs of the kinds are constants, so link-time optimization replaces each
 * `from->operation` below by the function, and then drops the structs and every function that only
 * they name. That makes the module a quarter as large. scaling and adaptive-stacked are missing:
 * they grow and learn where they are used, and to load them takes rates and the planner.
 */
#include "core/bits.h"
#include "cuckoo/windows.h"
#include "exceptions/pairs.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"

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
      answers |= (uint64_t)f->kind->query.contains(f, d[k]) << (k - i);
    bitmap[i / 64] = answers;
  }
}

/* Rates need tables of logarithms, which are larger than a kind. */
static void no_stats(const besom_filter *f, struct stats_out *out) {
  (void)f, (void)out;
}

static const struct build_ops can_be_built = {.build_digests = no_build};

/* Reports ask for these two: merged filters need whole digests, some change at a match only. */
static besom_status no_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  (void)a, (void)b, (void)into;
  return BESOM_UNSUPPORTED;
}

static besom_status no_change_at(besom_filter *f, besom_digest d, besom_match *match) {
  (void)f, (void)d, (void)match;
  return BESOM_UNSUPPORTED;
}

static const struct whole_ops can_be_merged = {.merge = no_merge};
static const struct store_ops changes_at_matches = {.no_add_at = no_change_at};

ALWAYS_INLINE void reduce(const struct besom_kind *from, struct adapt_ops *adapt,
                          struct besom_kind *to, besom_kind_info *info) {
  const unsigned abilities = kind_abilities(from);
  if (from->adapt)
    *adapt = (struct adapt_ops){
        .adapt = from->keeps_reports ? from->adapt->adapt : NULL,
        .is_published = from->adapt->is_published,
        .exception_slots = from->adapt->exception_slots,
    };
  to->name = from->name;
  to->summary = "";
  to->max_copies = from->max_copies;
  to->also = abilities;
  to->except = ~abilities;
  to->size = from->size;
  to->policy = from->policy;
  to->takes_repeats = from->takes_repeats;
  to->keeps_reports = from->keeps_reports;
  to->full_exceptions = from->full_exceptions;
  to->destroy = from->destroy;
  to->stats = no_stats;
  to->abilities = from->abilities;
  to->layer = from->layer;
  to->bits_per_key = from->bits_per_key ? no_bits_per_key : NULL;
  to->query.contains = from->query.contains;
  to->query.contains_key = from->query.contains_key;
  to->query.contains_many = contains_each;
  to->query.get_value = from->query.get_value ? no_value : NULL;
  to->query.longest_match = from->query.longest_match ? no_match : NULL;
  to->query.prefix_bits = from->query.prefix_bits;
  to->adapt = from->adapt ? adapt : NULL;
  to->store = KIND_HAS(from, store, no_add_at) ? &changes_at_matches : NULL;
  to->whole = KIND_HAS(from, whole, merge) ? &can_be_merged : NULL;
  to->build = KIND_HAS(from, build, build_digests) ? &can_be_built : NULL;
  to->file = from->file;
  *info = (besom_kind_info){from->name, "", abilities, from->max_copies};
}

/* Maplets: the candidates of a key, and its reports. */
static struct map_ops candidates;
static struct adapt_ops maplet_adapt;
static struct besom_kind maplet;

static void reduce_maplet(struct besom_kind *aqf) {
  besom_kind_info info;
  reduce(&besom__aqf_maplet, &maplet_adapt, &maplet, &info);
  maplet_adapt.adapt = besom__pair_report_all;
  candidates.value_bits = besom__aqf_maplet.map->value_bits;
  candidates.get = besom__aqf_maplet.map->get;
  maplet.map = &candidates;
  aqf->maplet = &maplet;
}

/* The form of cf with layout=windows. */
static struct besom_kind windows;

static void reduce_windows(struct besom_kind *cf) {
  besom_kind_info info;
  reduce(&besom__cf_windows, NULL, &windows, &info);
  cf->windows = &windows;
}

#define COUNT(kind) +1
enum { N_KINDS = 0 KINDS(COUNT) };
enum { CF = 8 }; /* the row of cf in KINDS */
static struct besom_kind kinds[N_KINDS];
static struct adapt_ops adapts[N_KINDS];
static besom_kind_info infos[N_KINDS];

#define REDUCE(kind) reduce(&besom__##kind, &adapts[i], &kinds[i], &infos[i]), i++;
__attribute__((constructor)) static void reduce_all(void) {
  size_t i = 0;
  KINDS(REDUCE)
  reduce_maplet(&kinds[0]); /* aqf */
  reduce_windows(&kinds[CF]);
}

const struct besom_kind *besom__kind_named(const char *name) {
  for (size_t i = 0; i < N_KINDS; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

bool besom__kind_is_left_out(const char *name) {
  (void)name;
  return false;
}

const besom_kind_info *besom_kinds(size_t i) {
  return i < N_KINDS ? &infos[i] : NULL;
}
