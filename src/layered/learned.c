/*
 * learned: a Bloom filter helped by a classifier (Kraska et al., "The case for learned index structures", 2018). The
 * baseline that filters which know their workload are measured against. Keys that look like members are answered
 * yes by the model; a backup filter holds the members that do not, so that none is ever denied. form=sandwiched puts an
 * initial filter with all members before both (Mitzenmacher 2018).
 *
 * Memory spent on a model is worth it only if it tells members from others well. Models of several sizes are trained
 * and judged by keys that they have not seen; if none is worth its bytes, what is left is a Bloom filter.
 */
#include <math.h>

#include "core/memory.h"
#include "layered/inner.h"
#include "layered/model.h"
#include "layered/split.h"

#define TAG_WEIGHTS SECTION_TAG('W', 'G', 'H', 'T')
#define SIZES_TRIED 3
#define LARGEST_SHARE 0.25 /* of all memory, that a model may take */
#define MOST_WEIGHT 8      /* of a key, in means */
#define LINE_BITS 512      /* a Bloom filter has whole lines of them */

enum { INITIAL, BACKUP, FILTERS }; /* the Bloom filters, by their layer_digest */

struct learned {
  besom_filter head;
  struct model model;
  int32_t threshold; /* who scores as much is a member */
  double wrong;      /* share of the non-members that do, by what was seen when it was built */
  besom_filter *filters[FILTERS]; /* no initial one: NULL */
};

static const struct learned *const_learned(const besom_filter *f) {
  return (const struct learned *)f;
}

static struct learned *learned(besom_filter *f) {
  return (struct learned *)f;
}

static void destroy(besom_filter *f) {
  besom__model_free(f, &learned(f)->model);
  for (unsigned i = 0; i < FILTERS; i++) besom_free(learned(f)->filters[i]);
}

/* ------------------------------------------------------------------ queries */

static bool filter_has(const struct learned *l, unsigned i, besom_digest d) {
  const besom_filter *f = l->filters[i];
  return f->kind->contains(f, layer_digest(d, i));
}

static bool looks_like_member(const struct learned *l, const void *key, size_t len) {
  return l->model.weights && besom__model_score(&l->model, key, len) >= l->threshold;
}

static bool contains_key(const besom_filter *f, const void *key, size_t len, besom_digest d) {
  const struct learned *l = const_learned(f);
  if (l->filters[INITIAL] && !filter_has(l, INITIAL, d)) return false;
  return looks_like_member(l, key, len) || filter_has(l, BACKUP, d);
}

/* Whoever might score high enough may be a member. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct learned *l = const_learned(f);
  if (l->filters[INITIAL] && !filter_has(l, INITIAL, d)) return false;
  return l->model.weights || filter_has(l, BACKUP, d);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) bitmap[i / 64] = 0;
    bitmap[i / 64] |= (uint64_t)contains(f, d[i]) << (i % 64);
  }
}

/* ------------------------------------------------------------------ what is wished for */

struct wishes {
  bool sandwiched;
  unsigned log; /* of the number of weights; 0: as is best */
  double bits;  /* a member, or 0: as many as the rate takes */
  double fpr;
};

static besom_status read_option(struct wishes *w, const struct option *option) {
  uint64_t weights;
  if (besom__option_is(option, "form")) {
    w->sandwiched = besom__option_says(option, "sandwiched");
    return w->sandwiched || besom__option_says(option, "plain") ? BESOM_OK : BESOM_BAD_OPTION;
  }
  if (!besom__option_is(option, "weights")) return BESOM_BAD_OPTION;
  besom_status status = besom__option_number(option, &weights);
  if (status != BESOM_OK) return status;
  w->log = trailing_zeros(weights);
  bool known =
      w->log >= MODEL_LEAST_LOG && w->log <= MODEL_MOST_LOG && weights == UINT64_C(1) << w->log;
  return known ? BESOM_OK : BESOM_BAD_OPTION;
}

static besom_status read_wishes(const besom_config *config, struct wishes *w) {
  const char *text = config->options;
  struct option option;
  besom_status status;
  *w = (struct wishes){.bits = config->bits, .fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if ((status = read_option(w, &option)) != BESOM_OK) return status;
  if (status != BESOM_END) return status;
  return config->slots || config->value_bits || config->reserve != 0 ? BESOM_INVALID : BESOM_OK;
}

/* ------------------------------------------------------------------ planning */

/* A filter in the making. */
struct plan {
  struct wishes wishes;
  struct inner_kind bloom;
  bool sampled; /* so the members have been read once */
  struct key_sample yes, no;
  struct scores *scores; /* of the model in hand */
};

/* Bits a member beside those of the Bloom filters: heads, the model, what rounding up to whole lines costs. */
static double beside_bits(const struct plan *p, const struct model *m, double members) {
  double filters = m->weights && p->wishes.sandwiched ? 2 : 1;
  double bytes =
      sizeof(struct learned) + (double)model_bytes(m) + filters * (double)p->bloom.kind->size;
  return (8 * bytes + filters * LINE_BITS) / members;
}

/* The best way to use the scores of this model. */
static struct split split_with(const struct plan *p, const struct model *m, double members) {
  const struct wishes *w = &p->wishes;
  double beside = beside_bits(p, m, members);
  if (w->bits == 0) return besom__split_for_rate(p->scores, w->fpr, w->sandwiched);
  return besom__split_for_bits(p->scores, fmax(w->bits - beside, 0), w->sandwiched);
}

/* The less the better. */
static double cost(const struct plan *p, const struct model *m, const struct split *s,
                   double members) {
  return p->wishes.bits != 0 ? s->fpr : s->bits + beside_bits(p, m, members);
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
 * Counts the keys of a sample that no model was trained with, each as often as it is asked. Within limits: what one
 * very popular key scores says nothing about others.
 */
static void score_sample(const struct model *m, const struct key_sample *sample, double *bins,
                         double *squares) {
  struct sampled_key k;
  double most = MOST_WEIGHT * mean_weight(sample);
  clear_scores(bins);
  *squares = 0;
  for (size_t at = 0; besom__key_sample_next(sample, &at, &k);) {
    if (!sample_held_out(&k)) continue;
    double weight = fmin((double)k.weight, most);
    bins[score_bin(besom__model_score(m, k.key.data, k.key.len))] += weight;
    *squares += weight * weight;
  }
}

static void score_samples(struct plan *p, const struct model *m) {
  double ignored;
  score_sample(m, &p->yes, p->scores->yes, &ignored);
  score_sample(m, &p->no, p->scores->no, &p->scores->no_squares);
}

/* The largest number of weights that is worth trying, as its logarithm. */
static unsigned largest_log(const struct plan *p, double members) {
  double bits = p->wishes.bits != 0 ? p->wishes.bits : besom__split_bits_at(p->wishes.fpr);
  double log = floor(log2(fmax(LARGEST_SHARE * bits * members / 8, 1)));
  return (unsigned)fmin(fmax(log, MODEL_LEAST_LOG), MODEL_MOST_LOG);
}

/* Trains a model and keeps it if it is better than the best one so far. */
static besom_status try_model(besom_filter *f, struct plan *p, unsigned log,
                              const besom_progress *progress, double *least) {
  struct model *kept = &learned(f)->model, m;
  double members = (double)p->yes.keys;
  besom_status status = besom__model_train(f, log, &p->yes, &p->no, progress, &m);
  if (status != BESOM_OK) return status;
  score_samples(p, &m);
  struct split split = split_with(p, &m, members);
  double now = cost(p, &m, &split, members);
  bool better = split.bin < SCORE_BINS && now < *least;
  if (better) {
    besom__model_free(f, kept);
    *kept = m;
    *least = now;
  } else {
    besom__model_free(f, &m);
  }
  return BESOM_OK;
}

/* The best model, or none. */
static besom_status choose_model(besom_filter *f, struct plan *p, const besom_progress *progress) {
  const struct model none = {0};
  double members = (double)p->yes.keys;
  if (p->yes.keys == 0 || p->no.used == 0) return BESOM_OK;
  struct split alone = split_with(p, &none, members); /* there are no scores yet */
  double least = cost(p, &none, &alone, members);
  unsigned log = p->wishes.log ? p->wishes.log : largest_log(p, members);
  besom_status status = try_model(f, p, log, progress, &least);
  for (int i = 1; i < SIZES_TRIED && !p->wishes.log && log > MODEL_LEAST_LOG && status == BESOM_OK;
       i++)
    status = try_model(f, p, --log, progress, &least);
  return status;
}

/* ------------------------------------------------------------------ building */

/* A source as seen through the model: counts the scores of its keys, or gives only those below the threshold. */
struct scored_source {
  const besom_source *source;
  const struct learned *l;
  double *bins;  /* NULL: to give those below the threshold, all if there is no model */
  uint64_t keys; /* that it had */
};

static besom_status next_scored(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct scored_source *s = ctx;
  for (;;) {
    *weight = 1;
    besom_status status = s->source->next(s->source->ctx, key, weight);
    if (status != BESOM_OK || (!key->data && key->len)) return status;
    s->keys++;
    if (!s->l->model.weights) return BESOM_OK;
    int32_t score = besom__model_score(&s->l->model, key->data, key->len);
    if (s->bins) s->bins[score_bin(score)]++;
    if (s->bins || score < s->l->threshold) return BESOM_OK;
  }
}

/*
 * The members once more, all of them (bins: and their scores) or those below the threshold. A source that has fewer of
 * them than before would cost members: INVALID.
 */
static besom_status collect_scored(const besom_filter *f, const struct plan *p,
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

#define MOST_BITS 1024 /* a key, that any filter takes; when the model misses next to nobody */

/* One of the two filters, with all keys of the list; bits is what it may take in all, or 0 to go by the rate. */
static besom_status add_filter(besom_filter *f, const struct plan *p, unsigned i,
                               const struct digests *list, double bits, double rate) {
  besom_config config = {.capacity = list->n ? list->n : 1};
  besom_filter *filter;
  if (p->wishes.bits != 0)
    config.bits = fmin(bits / (double)config.capacity, MOST_BITS);
  else
    config.fpr = rate;
  if (!(config.bits > 0 || config.fpr > 0)) return BESOM_INVALID;
  besom_status status = besom__inner_create(f, &p->bloom, &config, &filter);
  if (status != BESOM_OK) return status;
  learned(f)->filters[i] = filter;
  for (uint64_t k = 0; k < list->n && status == BESOM_OK; k++)
    status = filter->kind->insert(filter, layer_digest(list->at[k], i));
  return status;
}

static double bytes_of(const besom_filter *f) {
  besom_statistics stats;
  besom_stats(f, &stats);
  return (double)stats.bytes;
}

/* all: every member; missed: those that the model does not know. */
static besom_status add_filters(besom_filter *f, const struct plan *p, const struct split *s,
                                const struct digests *all, const struct digests *missed) {
  const struct learned *l = const_learned(f);
  double members = all->n ? (double)all->n : 1, head = 8 * (double)p->bloom.kind->size;
  double left = p->wishes.bits * members - 8 * ((double)sizeof *l + (double)model_bytes(&l->model));
  besom_status status = BESOM_OK;
  if (s->initial_rate < 1) {
    double bits = besom__split_bits_at(s->initial_rate) * members + head;
    status = add_filter(f, p, INITIAL, all, bits, s->initial_rate);
    if (status == BESOM_OK) left -= 8 * bytes_of(l->filters[INITIAL]);
    if (status == BESOM_INVALID)
      status = BESOM_OK; /* smaller than any that can be made: so there is none */
  }
  return status == BESOM_OK ? add_filter(f, p, BACKUP, missed, left, s->backup_rate) : status;
}

/* With a model in hand: where its threshold is, and who is below it. If it is no good after all it goes. */
static besom_status build_with_model(besom_filter *f, struct plan *p, const besom_source *yes,
                                     const besom_progress *progress) {
  struct learned *l = learned(f);
  struct digests all = {0}, missed = {0};
  score_samples(p, &l->model);
  clear_scores(p->scores->yes);
  besom_status status = collect_scored(f, p, yes, p->scores->yes, progress, &all);
  if (status != BESOM_OK) {
    besom__digests_free(f, &all);
    return status;
  }
  f->items = all.n;
  struct split split = split_with(p, &l->model, all.n ? (double)all.n : 1);
  l->threshold = (int32_t)(split.bin * SCORE_STEP) - SCORE_END;
  l->wrong = split.wrong;
  if (split.bin == SCORE_BINS) besom__model_free(f, &l->model);
  if (l->model.weights) status = collect_scored(f, p, yes, NULL, progress, &missed);
  if (status == BESOM_OK)
    status = add_filters(f, p, &split, &all, l->model.weights ? &missed : &all);
  besom__digests_free(f, &all);
  besom__digests_free(f, &missed);
  return status;
}

/* A Bloom filter, and no more. */
static besom_status build_alone(besom_filter *f, const struct plan *p, const besom_source *yes,
                                const besom_progress *progress) {
  const struct split alone = {.bin = SCORE_BINS, .initial_rate = 1, .backup_rate = p->wishes.fpr};
  struct digests all;
  besom_status status = collect_scored(f, p, yes, NULL, progress, &all);
  f->items = all.n;
  if (status == BESOM_OK) status = add_filters(f, p, &alone, &all, &all);
  besom__digests_free(f, &all);
  return status;
}

/* Looks for a model that is worth its memory. */
static besom_status learn(besom_filter *f, struct plan *p, const besom_source *yes,
                          const besom_source *no, const besom_progress *progress) {
  if (!yes->rewind) return BESOM_INVALID;
  p->scores = besom__allocate(&f->allocator, sizeof *p->scores);
  if (!p->scores) return BESOM_NO_MEMORY;
  besom_status status = besom__key_sample_read(f, yes, progress, &p->yes);
  if (status == BESOM_OK) status = besom__key_sample_read(f, no, progress, &p->no);
  p->sampled = true;
  return status == BESOM_OK ? choose_model(f, p, progress) : status;
}

static besom_status build(besom_filter *f, const besom_config *config, const besom_source *yes,
                          const besom_source *no, const besom_progress *progress) {
  struct plan p = {.bloom.kind = besom__kind_named("bloom")};
  besom_status status = read_wishes(config, &p.wishes);
  f->capacity = config->capacity;
  if (status == BESOM_OK && no) status = learn(f, &p, yes, no, progress);
  if (status == BESOM_OK)
    status = learned(f)->model.weights ? build_with_model(f, &p, yes, progress)
                                       : build_alone(f, &p, yes, progress);
  besom__key_sample_free(f, &p.yes);
  besom__key_sample_free(f, &p.no);
  besom__release(&f->allocator, p.scores, sizeof *p.scores);
  if (status != BESOM_OK) destroy(f);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, besom_statistics *out) {
  const struct learned *l = const_learned(f);
  double wrong = l->model.weights ? l->wrong : 0;
  for (unsigned i = FILTERS; i--;) {
    if (!l->filters[i]) continue;
    besom_statistics s = besom__inner_stats(l->filters[i], out);
    out->expected_fpr =
        i == BACKUP ? wrong + (1 - wrong) * s.expected_fpr : s.expected_fpr * out->expected_fpr;
    out->fpr_at_capacity = i == BACKUP ? wrong + (1 - wrong) * s.fpr_at_capacity
                                       : s.fpr_at_capacity * out->fpr_at_capacity;
  }
  out->bytes += model_bytes(&l->model);
}

static const besom_filter *layer(const besom_filter *f, size_t i) {
  const struct learned *l = const_learned(f);
  if (!l->filters[INITIAL]) i = i < SIZE_MAX ? i + 1 : i;
  return i < FILTERS ? l->filters[i] : NULL;
}

static const char *validate(const besom_filter *f) {
  const struct learned *l = const_learned(f);
  for (unsigned i = 0; i < FILTERS; i++) {
    const besom_filter *filter = l->filters[i];
    const char *wrong = filter ? filter->kind->validate(filter) : NULL;
    if (wrong) return wrong;
    if (filter && filter->items > f->items) return "a filter holds more keys than there are";
  }
  return f->items <= f->capacity ? NULL : "there are more items than the capacity";
}

/* ------------------------------------------------------------------ files */

static void save(const besom_filter *f, struct sections_out *out) {
  const struct learned *l = const_learned(f);
  besom__write_u64(&out->parameters, l->model.weights ? l->model.log : 0);
  besom__write_u64(&out->parameters, l->filters[INITIAL] != NULL);
  besom__write_u64(&out->parameters, (uint64_t)(l->threshold + SCORE_END));
  besom__write_double(&out->parameters, l->wrong);
  if (l->model.weights) add_section(out, TAG_WEIGHTS, l->model.weights, model_bytes(&l->model));
  for (unsigned i = 0; i < FILTERS; i++)
    if (l->filters[i]) besom__inner_save(l->filters[i], out);
}

static besom_status load_model(besom_filter *f, struct sections_in *in, uint64_t log) {
  struct model *m = &learned(f)->model;
  const struct section *saved = take_section(in, TAG_WEIGHTS);
  if (log < MODEL_LEAST_LOG || log > MODEL_MOST_LOG || !saved || saved->len != UINT64_C(1) << log)
    return BESOM_CORRUPT;
  m->log = (unsigned)log;
  m->borrowed = f->mapping != NULL;
  m->weights = m->borrowed ? (int8_t *)(uintptr_t)saved->data
                           : besom__allocate(&f->allocator, (size_t)saved->len);
  if (!m->weights) return BESOM_NO_MEMORY;
  if (!m->borrowed) memcpy(m->weights, saved->data, (size_t)saved->len);
  return BESOM_OK;
}

static besom_status load_filter(besom_filter *f, struct sections_in *in, unsigned i) {
  besom_filter **filter = &learned(f)->filters[i];
  besom_status status = besom__inner_load(f, in, filter);
  if (status != BESOM_OK) return status;
  return (*filter)->kind == besom__kind_named("bloom") ? BESOM_OK : BESOM_CORRUPT;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct learned *l = learned(f);
  uint64_t log = besom__read_u64(&in->parameters), has_initial = besom__read_u64(&in->parameters);
  uint64_t threshold = besom__read_u64(&in->parameters);
  l->wrong = besom__read_double(&in->parameters);
  if (has_initial > 1 || threshold > 2 * SCORE_END || !(l->wrong >= 0 && l->wrong <= 1))
    return BESOM_CORRUPT;
  l->threshold = (int32_t)threshold - SCORE_END;
  besom_status status = log ? load_model(f, in, log) : BESOM_OK;
  if (status == BESOM_OK && has_initial) status = load_filter(f, in, INITIAL);
  if (status == BESOM_OK) status = load_filter(f, in, BACKUP);
  if (status != BESOM_OK) destroy(f);
  return status;
}

const struct besom_kind besom__learned = {
    .info = {"learned",
             "static Bloom filter helped by a classifier that is trained with keys of both sides",
             BESOM_TAKES_SAMPLE},
    .size = sizeof(struct learned),
    .build = build,
    .destroy = destroy,
    .contains = contains,
    .contains_key = contains_key,
    .contains_many = contains_many,
    .stats = stats,
    .layer = layer,
    .validate = validate,
    .save = save,
    .load = load,
};
