/*
 * ribbon: the bumped ribbon filter (retrieval.h), built once from a set. It takes about 1.005 times
 * log2(1/e) bits per key, the least of all kinds, for any rate e: part of its slots have one bit
 * less than the others. A query reads one or two adjacent places in memory.
 */
#include "ribbon/ribbon.h"

#include <math.h>

#include "core/options.h"
#include "core/system/memory.h"

static const struct ribbon *const_ribbon(const besom_filter *f) {
  return (const struct ribbon *)f;
}

static struct ribbon *ribbon(besom_filter *f) {
  return (struct ribbon *)f;
}

/* ------------------------------------------------------------------ sizes */

/* By the bits per key at capacity; without columns if they are too few. */
static struct retrieval_width width_of_bits(const besom_config *config) {
  double n = (double)config->capacity, slots = besom__retrieval_slots_per_key(n);
  double bits =
      (config->bits_per_key - 8.0 * sizeof(struct ribbon) / n) / slots - BITS_PER_THRESHOLD;
  if (!(bits > 0)) return (struct retrieval_width){0, 0};
  if (bits >= MAX_COLUMNS) return (struct retrieval_width){MAX_COLUMNS, 0};
  double columns = ceil(bits);
  return (struct retrieval_width){(uint32_t)columns, columns - bits};
}

static struct retrieval_width ribbon_width_for(const besom_config *config) {
  if (config->bits_per_key != 0) return width_of_bits(config);
  return besom__retrieval_width_of_rate(config->fpr != 0 ? config->fpr : DEFAULT_FPR);
}

static double ribbon_bits_per_key(double keys, double *fpr) {
  if (!(*fpr > 0 && *fpr < 1) || !(keys >= 1 && keys <= MAX_RETRIEVAL_KEYS)) return 0;
  struct retrieval_width width = besom__retrieval_width_of_rate(*fpr);
  if (width.columns > MAX_COLUMNS) return 0;
  *fpr = besom__retrieval_rate_of_width(width);
  return besom__retrieval_bits_per_slot(width) * besom__retrieval_slots_per_key(keys);
}

/* ------------------------------------------------------------------ queries */

static const struct ribbon_ops *ribbon_ops_of(const struct retrieval *x, enum isa isa) {
#ifdef BESOM_X86_VARIANTS
  return isa == ISA_AVX512 ? besom__ribbon_ops_avx512(x)
         : isa == ISA_AVX2 ? besom__ribbon_ops_avx2(x)
                           : besom__ribbon_ops_portable(x);
#else
  (void)isa;
  return besom__ribbon_ops_portable(x);
#endif
}

retrieval_query besom__retrieval_query(const struct retrieval *x) {
  return ribbon_ops_of(x, besom__isa_best())->has;
}

/* To be called when the retrieval is built. */
static void ribbon_choose_ops(besom_filter *f, enum isa isa) {
  ribbon(f)->set.ops = &ribbon_ops_of(&ribbon(f)->retrieval, isa)->set;
}

/* ------------------------------------------------------------------ building */

static void ribbon_destroy(besom_filter *f) {
  if (!f->mapping) besom__retrieval_free(&ribbon(f)->retrieval, &f->allocator);
}

static besom_status ribbon_read_config(const besom_filter *f, const besom_config *config,
                                       enum isa *isa, struct retrieval_width *width) {
  besom_status status = besom__option_isa(&f->kind->options, config->options, isa);
  if (status != BESOM_OK) return status;
  *width = ribbon_width_for(config);
  bool valid =
      !config->slots && !config->value_bits && width->columns && width->columns <= MAX_COLUMNS;
  return valid ? BESOM_OK : BESOM_INVALID;
}

static besom_status ribbon_build_digests(besom_filter *f, const besom_config *config,
                                         struct digests *d) {
  enum isa isa;
  struct retrieval_width width;
  besom_status status =
      d->n > MAX_RETRIEVAL_KEYS ? BESOM_FULL : ribbon_read_config(f, config, &isa, &width);
  if (status != BESOM_OK) return status;
  besom__digests_unite(d);
  f->items = d->n;
  f->capacity = d->n ? d->n : 1;
  status = besom__retrieval_build(&ribbon(f)->retrieval, &f->allocator, d, width, false);
  if (status == BESOM_OK) ribbon_choose_ops(f, isa);
  return status;
}

static besom_status ribbon_build(besom_filter *f, const besom_config *config,
                                 const besom_source *yes, const besom_source *no,
                                 const besom_progress *progress) {
  enum isa isa;
  struct retrieval_width width;
  besom_status status = no ? BESOM_UNSUPPORTED : ribbon_read_config(f, config, &isa, &width);
  return status == BESOM_OK ? besom__static_build(f, config, yes, progress, MAX_RETRIEVAL_KEYS)
                            : status;
}

/* ------------------------------------------------------------------ whole filters */

static void ribbon_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct retrieval *x = &const_ribbon(f)->retrieval;
  s->isa = besom__isa_name(const_ribbon(f)->set.ops->isa);
  s->width = x->columns;
  s->slots = besom__retrieval_slots(x);
  s->bytes += besom__retrieval_bytes(x);
  s->load_factor = (double)f->items / (double)s->slots;
  s->fpr_at_capacity = besom__retrieval_rate(x);
  s->expected_fpr = f->items ? s->fpr_at_capacity : 0;
}

static const char *ribbon_validate(const besom_filter *f) {
  if (f->capacity != (f->items ? f->items : 1)) return "the capacity is not the number of keys";
  return besom__retrieval_validate(&const_ribbon(f)->retrieval);
}

static void ribbon_save(const besom_filter *f, struct sections_out *out) {
  besom__retrieval_save(&const_ribbon(f)->retrieval, out);
}

static besom_status ribbon_load(besom_filter *f, struct sections_in *in) {
  besom_status status = besom__retrieval_load(&ribbon(f)->retrieval, &f->allocator, in, f->mapping);
  if (status == BESOM_OK) ribbon_choose_ops(f, besom__isa_best());
  return status;
}

static void ribbon_prefetch(const besom_filter *f, besom_digest d) {
  if (f->items) retrieval_fetch(&const_ribbon(f)->retrieval, d);
}

const struct besom_kind besom__ribbon = {
    .name = "ribbon",
    .summary = "bumped ribbon filter: built once from a set; the smallest",
    .size = sizeof(struct ribbon),
    .options = ISA_ONLY,
    .destroy = ribbon_destroy,
    .bits_per_key = ribbon_bits_per_key,
    .stats = ribbon_stats,
    .query = {.calls = besom__static_query_calls,
              .contains = besom__static_contains,
              .contains_many = besom__static_contains_many,
              .prefetch = ribbon_prefetch},
    .build =
        &(const struct build_ops){.build = ribbon_build, .build_digests = ribbon_build_digests},
    .file = &(const struct file_ops){.validate = ribbon_validate,
                                     .save = ribbon_save,
                                     .load = ribbon_load},
};
