/*
 * learned: a Bloom filter with a classifier (Kraska et al., "The case for learned index
 * structures", 2018). The baseline for filters that know their workload. The classifier answers yes
 * for keys that look like members. A backup filter holds the members that do not, so there are no
 * false negatives. form=sandwiched puts an initial filter with all members before both
 * (Mitzenmacher 2018).
 *
 * A classifier is worth its memory only if it separates members from non-members well. Classifiers
 * of several sizes are trained, and evaluated with keys that they were not trained with. If none is
 * worth its memory, the result is a plain Bloom filter.
 */
#include <math.h>

#include "core/system/memory.h"
#include "kinds.h"
#include "layers/layer.h"
#include "papers/learned/key_classifier.h"
#include "papers/learned/learned_plan.h"

#define TAG_WEIGHTS SECTION_TAG('W', 'G', 'H', 'T')
#define SIZES_TRIED 3
#define LARGEST_SHARE 0.25 /* of all memory, for the classifier */
#define MAX_WEIGHT 8       /* of a key, as a multiple of the mean weight */
#define LINE_BITS 512      /* Bloom filters have whole lines */

enum { INITIAL, BACKUP, FILTERS }; /* the Bloom filters; also their layer numbers */

struct learned {
  besom_filter head;
  struct key_classifier classifier;
  int32_t threshold; /* a key with this score or more is answered yes */
  double wrong;      /* share of the non-members with such a score, as estimated when built */
  besom_filter *filters[FILTERS]; /* if there is no initial filter, NULL */
};

static const struct learned *const_learned(const besom_filter *f) {
  return (const struct learned *)f;
}

static struct learned *learned(besom_filter *f) {
  return (struct learned *)f;
}

static void learned_destroy(besom_filter *f) {
  besom__key_classifier_free(f, &learned(f)->classifier);
  for (unsigned i = 0; i < FILTERS; i++) besom_free(learned(f)->filters[i]);
}

/* ------------------------------------------------------------------ queries */

static bool filter_has(const struct learned *l, unsigned i, besom_digest d) {
  const besom_filter *f = l->filters[i];
  return f->kind->query.contains(f, layer_digest(d, i));
}

static bool looks_like_member(const struct learned *l, const void *key, size_t len) {
  return l->classifier.weights &&
         besom__key_classifier_score(&l->classifier, key, len) >= l->threshold;
}

static bool learned_contains_key(const besom_filter *f, const void *key, size_t len,
                                 besom_digest d) {
  const struct learned *l = const_learned(f);
  if (l->filters[INITIAL] && !filter_has(l, INITIAL, d)) return false;
  return looks_like_member(l, key, len) || filter_has(l, BACKUP, d);
}

/*
 * With the digest alone the score is unknown, so a key can be a member wherever the score would
 * decide.
 */
static bool learned_contains(const besom_filter *f, besom_digest d) {
  const struct learned *l = const_learned(f);
  if (l->filters[INITIAL] && !filter_has(l, INITIAL, d)) return false;
  return l->classifier.weights || filter_has(l, BACKUP, d);
}

static void learned_prefetch(const besom_filter *f, besom_digest d) {
  const struct learned *l = const_learned(f);
  unsigned first = l->filters[INITIAL] ? INITIAL : BACKUP;
  layer_prefetch(l->filters[first], layer_digest(d, first));
}

static void learned_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) bitmap[i / 64] = 0;
    bitmap[i / 64] |= (uint64_t)learned_contains(f, d[i]) << (i % 64);
  }
}

/* ------------------------------------------------------------------ options */

struct learned_options {
  bool sandwiched;
  unsigned log; /* log2 of the number of weights; 0: choose the best */
  double bits;  /* bits per key; 0: as many as the rate needs */
  double fpr;
};

struct learned_values {
  uint64_t form, weights;
};

static const struct option_row learned_rows[] = {
    OPTION_WORDS(learned_values, form, "sandwiched, plain",
                 "sandwiched: a Bloom filter of all members before the classifier"),
    OPTION_NUMBER(learned_values, weights, POWER, UINT64_C(1) << CLASSIFIER_MIN_LOG,
                  UINT64_C(1) << CLASSIFIER_MAX_LOG,
                  "the best of three sizes, from a quarter of the memory down",
                  "size of the classifier"),
};

static besom_status learned_read_config(const besom_filter *f, const besom_config *config,
                                        struct learned_options *options) {
  struct learned_values o;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  *options =
      (struct learned_options){.sandwiched = !o.form,
                               .log = o.weights == OPTION_UNSET ? 0 : trailing_zeros(o.weights),
                               .bits = config->bits_per_key,
                               .fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR};
  if (status != BESOM_OK) return status;
  return config->slots || config->value_bits ? BESOM_INVALID : BESOM_OK;
}

/* ------------------------------------------------------------------ planning */

/* A filter that is being built. */
struct learned_build {
  struct learned_options options;
  struct layer_kind bloom;
  bool sampled; /* the members have been read once */
  struct key_sample yes, no;
  struct score_histogram *scores; /* of the current classifier */
};

/*
 * Bits per key besides those of the Bloom filters: heads, the classifier, rounding up to whole
 * lines.
 */
static double overhead_bits(const struct learned_build *p, const struct key_classifier *m,
                            double members) {
  double filters = m->weights && p->options.sandwiched ? 2 : 1;
  double bytes = sizeof(struct learned) + (double)key_classifier_bytes(m) +
                 filters * (double)p->bloom.kind->size;
  return (8 * bytes + filters * LINE_BITS) / members;
}

/* The best plan with the scores of this classifier. */
static struct learned_plan plan_with(const struct learned_build *p, const struct key_classifier *m,
                                     double members) {
  const struct learned_options *options = &p->options;
  double overhead = overhead_bits(p, m, members);
  if (options->bits == 0)
    return besom__learned_plan_for_rate(p->scores, options->fpr, options->sandwiched);
  return besom__learned_plan_for_bits(p->scores, fmax(options->bits - overhead, 0),
                                      options->sandwiched);
}

/* The objective value: lower is better. */
static double objective_value(const struct learned_build *p, const struct key_classifier *m,
                              const struct learned_plan *s, double members) {
  return p->options.bits != 0 ? s->fpr : s->bits + overhead_bits(p, m, members);
}

static void clear_scores(double *bins) {
  for (unsigned i = 0; i < SCORE_BINS; i++) bins[i] = 0;
}

static double mean_weight(const struct key_sample *sample) {
  struct sampled_key k;
  double sum = 0, keys = 0;
  for (size_t at = 0; besom__key_sample_next(sample, &at, &k); keys++) sum += (double)k.weight;
  return keys > 0 ? sum / keys : 0;
}

/*
 * Adds the held-out keys of a sample to the bins, weighted by query counts. Weights are limited,
 * because the score of one very frequent key says nothing about others.
 */
static void score_sample(const struct key_classifier *m, const struct key_sample *sample,
                         double *bins, double *squares) {
  struct sampled_key k;
  double most = MAX_WEIGHT * mean_weight(sample);
  clear_scores(bins);
  *squares = 0;
  for (size_t at = 0; besom__key_sample_next(sample, &at, &k);) {
    if (!key_sample_held_out(&k)) continue;
    double weight = fmin((double)k.weight, most);
    bins[score_bin(besom__key_classifier_score(m, k.key.data, k.key.len))] += weight;
    *squares += weight * weight;
  }
}

static void score_samples(struct learned_build *p, const struct key_classifier *m) {
  double ignored;
  score_sample(m, &p->yes, p->scores->yes, &ignored);
  score_sample(m, &p->no, p->scores->no, &p->scores->no_squares);
}

/* log2 of the largest number of weights that is worth trying. */
static unsigned largest_log(const struct learned_build *p, double members) {
  double bits = p->options.bits != 0 ? p->options.bits : besom__bloom_bits_per_key(p->options.fpr);
  double log = floor(log2(fmax(LARGEST_SHARE * bits * members / 8, 1)));
  return (unsigned)fmin(fmax(log, CLASSIFIER_MIN_LOG), CLASSIFIER_MAX_LOG);
}

/* Trains a classifier and keeps it if it is better than the best one so far. */
static besom_status try_classifier(besom_filter *f, struct learned_build *p, unsigned log,
                                   const besom_progress *progress, double *least) {
  struct key_classifier *kept = &learned(f)->classifier, m;
  double members = (double)p->yes.keys;
  besom_status status = besom__key_classifier_train(f, log, &p->yes, &p->no, progress, &m);
  if (status != BESOM_OK) return status;
  score_samples(p, &m);
  struct learned_plan plan = plan_with(p, &m, members);
  double now = objective_value(p, &m, &plan, members);
  bool better = plan.bin < SCORE_BINS && now < *least;
  if (better) {
    besom__key_classifier_free(f, kept);
    *kept = m;
    *least = now;
  } else {
    besom__key_classifier_free(f, &m);
  }
  return BESOM_OK;
}

/* Keeps the best classifier, or none. */
static besom_status choose_classifier(besom_filter *f, struct learned_build *p,
                                      const besom_progress *progress) {
  const struct key_classifier none = {0};
  double members = (double)p->yes.keys;
  if (p->yes.keys == 0 || p->no.used == 0) return BESOM_OK;
  struct learned_plan alone = plan_with(p, &none, members); /* without scores */
  double least = objective_value(p, &none, &alone, members);
  unsigned log = p->options.log ? p->options.log : largest_log(p, members);
  besom_status status = try_classifier(f, p, log, progress, &least);
  for (int i = 1;
       i < SIZES_TRIED && !p->options.log && log > CLASSIFIER_MIN_LOG && status == BESOM_OK; i++)
    status = try_classifier(f, p, --log, progress, &least);
  return status;
}

/* ------------------------------------------------------------------ building */

/*
 * A source that scores its keys: it counts the scores of all keys, or returns only the keys below
 * the threshold.
 */
struct scored_source {
  const besom_source *source;
  const struct learned *l;
  double *bins;  /* NULL: return the keys below the threshold, or all if there is no classifier */
  uint64_t keys; /* read so far */
};

static besom_status next_scored(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct scored_source *s = ctx;
  for (;;) {
    *weight = 1;
    besom_status status = s->source->next(s->source->ctx, key, weight);
    if (status != BESOM_OK || (!key->data && key->len)) return status;
    s->keys++;
    if (!s->l->classifier.weights) return BESOM_OK;
    int32_t score = besom__key_classifier_score(&s->l->classifier, key->data, key->len);
    if (s->bins) s->bins[score_bin(score)]++;
    if (s->bins || score < s->l->threshold) return BESOM_OK;
  }
}

/*
 * Reads the members again: all of them and their scores if bins is not NULL, else those below the
 * threshold. Fewer members than before would cause false negatives: INVALID.
 */
static besom_status collect_scored(const besom_filter *f, const struct learned_build *p,
                                   const besom_source *yes, double *bins,
                                   const besom_progress *progress, struct digests *out) {
  struct scored_source scored = {yes, const_learned(f), bins, 0};
  besom_source through = {
      .next = next_scored, .size_hint = bins ? yes->size_hint : 0, .ctx = &scored};
  *out = (struct digests){0};
  besom_status status = p->sampled ? yes->rewind(yes->ctx) : BESOM_OK;
  if (status == BESOM_OK) status = besom__collect(f, &through, f->capacity, progress, out);
  if (status == BESOM_OK) besom__digests_unite(out);
  return status == BESOM_OK && scored.keys < p->yes.keys ? BESOM_INVALID : status;
}

#define MAX_BITS_PER_KEY \
  1024 /* bits per key that any filter accepts; reached if the classifier misses almost no member */

/*
 * Creates one of the two filters with all keys of the list. bits: its total size, or 0 to use the
 * rate.
 */
static besom_status learned_add_filter(besom_filter *f, const struct learned_build *p, unsigned i,
                                       const struct digests *list, double bits, double rate) {
  besom_config config = {.capacity = list->n ? list->n : 1};
  besom_filter *filter;
  if (p->options.bits != 0)
    config.bits_per_key = fmin(bits / (double)config.capacity, MAX_BITS_PER_KEY);
  else
    config.fpr = rate;
  if (!(config.bits_per_key > 0 || config.fpr > 0)) return BESOM_INVALID;
  besom_status status = besom__layer_create(f, &p->bloom, &config, &filter);
  if (status != BESOM_OK) return status;
  learned(f)->filters[i] = filter;
  for (uint64_t k = 0; k < list->n && status == BESOM_OK; k++)
    status = filter->kind->change->insert(filter, layer_digest(list->at[k], i));
  return status;
}

static double learned_bytes_of(const besom_filter *f) {
  besom_statistics stats;
  besom_stats(f, &stats);
  return (double)stats.bytes;
}

/* all: every member; missed: the members below the threshold. */
static besom_status add_filters(besom_filter *f, const struct learned_build *p,
                                const struct learned_plan *s, const struct digests *all,
                                const struct digests *missed) {
  const struct learned *l = const_learned(f);
  double members = all->n ? (double)all->n : 1, head = 8 * (double)p->bloom.kind->size;
  double left = p->options.bits * members -
                8 * ((double)sizeof *l + (double)key_classifier_bytes(&l->classifier));
  besom_status status = BESOM_OK;
  if (s->initial_rate < 1) {
    double bits = besom__bloom_bits_per_key(s->initial_rate) * members + head;
    status = learned_add_filter(f, p, INITIAL, all, bits, s->initial_rate);
    if (status == BESOM_OK) left -= 8 * learned_bytes_of(l->filters[INITIAL]);
    if (status == BESOM_INVALID) status = BESOM_OK; /* too small to be created: leave it out */
  }
  return status == BESOM_OK ? learned_add_filter(f, p, BACKUP, missed, left, s->backup_rate)
                            : status;
}

/*
 * Sets the threshold and collects the members below it. If the classifier is not worth its memory
 * after all, it is dropped.
 */
static besom_status build_with_classifier(besom_filter *f, struct learned_build *p,
                                          const besom_source *yes, const besom_progress *progress) {
  struct learned *l = learned(f);
  struct digests all = {0}, missed = {0};
  score_samples(p, &l->classifier);
  clear_scores(p->scores->yes);
  besom_status status = collect_scored(f, p, yes, p->scores->yes, progress, &all);
  if (status != BESOM_OK) {
    besom__digests_free(f, &all);
    return status;
  }
  f->items = all.n;
  struct learned_plan plan = plan_with(p, &l->classifier, all.n ? (double)all.n : 1);
  l->threshold = (int32_t)(plan.bin * SCORE_STEP) - SCORE_END;
  l->wrong = plan.wrong;
  if (plan.bin == SCORE_BINS) besom__key_classifier_free(f, &l->classifier);
  if (l->classifier.weights) status = collect_scored(f, p, yes, NULL, progress, &missed);
  if (status == BESOM_OK)
    status = add_filters(f, p, &plan, &all, l->classifier.weights ? &missed : &all);
  besom__digests_free(f, &all);
  besom__digests_free(f, &missed);
  return status;
}

/* Builds a plain Bloom filter. */
static besom_status build_alone(besom_filter *f, const struct learned_build *p,
                                const besom_source *yes, const besom_progress *progress) {
  const struct learned_plan alone = {
      .bin = SCORE_BINS, .initial_rate = 1, .backup_rate = p->options.fpr};
  struct digests all;
  besom_status status = collect_scored(f, p, yes, NULL, progress, &all);
  f->items = all.n;
  if (status == BESOM_OK) status = add_filters(f, p, &alone, &all, &all);
  besom__digests_free(f, &all);
  return status;
}

/* Searches for a classifier that is worth its memory. */
static besom_status learned_learn(besom_filter *f, struct learned_build *p, const besom_source *yes,
                                  const besom_source *no, const besom_progress *progress) {
  if (!yes->rewind) return BESOM_INVALID;
  p->scores = besom__allocate(&f->allocator, sizeof *p->scores);
  if (!p->scores) return BESOM_NO_MEMORY;
  besom_status status = besom__key_sample_read(f, yes, progress, &p->yes);
  if (status == BESOM_OK) status = besom__key_sample_read(f, no, progress, &p->no);
  p->sampled = true;
  return status == BESOM_OK ? choose_classifier(f, p, progress) : status;
}

static besom_status learned_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress) {
  struct learned_build p = {.bloom.kind = besom__in_this_build(&besom__bloom)};
  besom_status status = learned_read_config(f, config, &p.options);
  f->capacity = config->capacity;
  if (status == BESOM_OK && no) status = learned_learn(f, &p, yes, no, progress);
  if (status == BESOM_OK)
    status = learned(f)->classifier.weights ? build_with_classifier(f, &p, yes, progress)
                                            : build_alone(f, &p, yes, progress);
  besom__key_sample_free(f, &p.yes);
  besom__key_sample_free(f, &p.no);
  besom__release(&f->allocator, p.scores, sizeof *p.scores);
  if (status != BESOM_OK) learned_destroy(f);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

static void learned_stats(const besom_filter *f, struct stats_out *out) {
  const struct learned *l = const_learned(f);
  besom_statistics *all = &out->common;
  double wrong = l->classifier.weights ? l->wrong : 0;
  for (unsigned i = FILTERS; i--;) {
    if (!l->filters[i]) continue;
    besom_statistics s = besom__layer_stats(l->filters[i], out);
    all->expected_fpr =
        i == BACKUP ? wrong + (1 - wrong) * s.expected_fpr : s.expected_fpr * all->expected_fpr;
    all->fpr_at_capacity = i == BACKUP ? wrong + (1 - wrong) * s.fpr_at_capacity
                                       : s.fpr_at_capacity * all->fpr_at_capacity;
  }
  all->bytes += key_classifier_bytes(&l->classifier);
}

static const besom_filter *learned_layer(const besom_filter *f, size_t i) {
  const struct learned *l = const_learned(f);
  if (!l->filters[INITIAL]) i = i < SIZE_MAX ? i + 1 : i;
  return i < FILTERS ? l->filters[i] : NULL;
}

static const char *learned_validate(const besom_filter *f) {
  const struct learned *l = const_learned(f);
  for (unsigned i = 0; i < FILTERS; i++) {
    const besom_filter *filter = l->filters[i];
    const char *wrong = filter ? filter->kind->file->validate(filter) : NULL;
    if (wrong) return wrong;
    if (filter && filter->items > f->items) return "a filter holds more keys than there are";
  }
  return f->items <= f->capacity ? NULL : "there are more keys than the capacity";
}

/* ------------------------------------------------------------------ files */

static void learned_save(const besom_filter *f, struct sections_out *out) {
  const struct learned *l = const_learned(f);
  besom__write_u64(&out->parameters, l->classifier.weights ? l->classifier.log : 0);
  besom__write_u64(&out->parameters, l->filters[INITIAL] != NULL);
  besom__write_u64(&out->parameters, (uint64_t)((int64_t)l->threshold + SCORE_END));
  besom__write_double(&out->parameters, l->wrong);
  if (l->classifier.weights)
    add_section(out, TAG_WEIGHTS, l->classifier.weights, key_classifier_bytes(&l->classifier));
  for (unsigned i = 0; i < FILTERS; i++)
    if (l->filters[i]) besom__layer_save(l->filters[i], out);
}

static besom_status load_classifier(besom_filter *f, struct sections_in *in, uint64_t log) {
  struct key_classifier *m = &learned(f)->classifier;
  const struct section *saved = take_section(in, TAG_WEIGHTS);
  if (log < CLASSIFIER_MIN_LOG || log > CLASSIFIER_MAX_LOG || !saved ||
      saved->len != UINT64_C(1) << log)
    return BESOM_CORRUPT;
  m->log = (unsigned)log;
  m->borrowed = f->mapping != NULL;
  m->weights =
      m->borrowed ? (int8_t *)(uintptr_t)saved->data : besom__allocate(&f->allocator, saved->len);
  if (!m->weights) return BESOM_NO_MEMORY;
  if (!m->borrowed) memcpy(m->weights, saved->data, (size_t)saved->len);
  return BESOM_OK;
}

static besom_status load_filter(besom_filter *f, struct sections_in *in, unsigned i) {
  besom_filter **filter = &learned(f)->filters[i];
  besom_status status = besom__layer_load(f, in, filter);
  if (status != BESOM_OK) return status;
  return is_kind((*filter)->kind, &besom__bloom) ? BESOM_OK : BESOM_CORRUPT;
}

static besom_status learned_load(besom_filter *f, struct sections_in *in) {
  struct learned *l = learned(f);
  uint64_t log = besom__read_u64(&in->parameters), has_initial = besom__read_u64(&in->parameters);
  uint64_t threshold = besom__read_u64(&in->parameters);
  l->wrong = besom__read_double(&in->parameters);
  if (has_initial > 1 || threshold > 2 * SCORE_END || !(l->wrong >= 0 && l->wrong <= 1))
    return BESOM_CORRUPT;
  l->threshold = (int32_t)threshold - SCORE_END;
  besom_status status = log ? load_classifier(f, in, log) : BESOM_OK;
  if (status == BESOM_OK && has_initial) status = load_filter(f, in, INITIAL);
  if (status == BESOM_OK) status = load_filter(f, in, BACKUP);
  if (status != BESOM_OK) learned_destroy(f);
  return status;
}

const struct besom_kind besom__learned = {
    .name = "learned",
    .summary = "static Bloom filter with a classifier that is trained on members and non-members",
    .size = sizeof(struct learned),
    .options = {OPTION_ROWS(learned_rows)},
    .destroy = learned_destroy,
    .stats = learned_stats,
    .layer = learned_layer,
    .query = {.contains = learned_contains,
              .contains_key = learned_contains_key,
              .contains_many = learned_contains_many,
              .prefetch = learned_prefetch},
    .build = &(const struct build_ops){.takes_no = BESOM_TAKES_SAMPLE, .build = learned_build},
    .file = &(const struct file_ops){.validate = learned_validate,
                                     .save = learned_save,
                                     .load = learned_load},
};
