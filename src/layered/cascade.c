/*
 * cascade: a chain of Bloom filters, exact on a yes list and a no list (Larisch et al., "CRLite",
 * 2017). The first filter holds the yes list. The second holds the keys of the no list that are
 * false positives of the first. The third holds the keys of the yes list that are false positives
 * of the second, and so on, until there are no false positives. The first filter that answers no
 * decides. The baseline for yesno.
 *
 * A key on neither list is a false positive no more often than for the first filter alone. Its
 * false-positive rate is the target, or lower if that makes the whole chain smaller.
 */
#include <math.h>

#include "core/sort.h"
#include "layered/layer_chain.h"

#define MAX_LEVELS 48 /* each has half as many false positives as the one before */

struct cascade {
  besom_filter head;
  struct layer_chain levels;
  besom_filter *room[MAX_LEVELS];
};

static const struct cascade *const_cascade(const besom_filter *f) {
  return (const struct cascade *)f;
}

static struct cascade *cascade(besom_filter *f) {
  return (struct cascade *)f;
}

static void make_room(struct cascade *c) {
  c->levels = (struct layer_chain){.layers = c->room, .max = MAX_LEVELS};
}

static void destroy(besom_filter *f) {
  besom__layer_chain_free(&cascade(f)->levels);
}

/* ------------------------------------------------------------------ building */

/* Adds a level that holds all of the list. */
static besom_status add_level(struct cascade *c, const struct layer_kind *bloom, double rate,
                              const struct digests *list) {
  besom_config config = {.capacity = list->n ? list->n : 1, .fpr = rate};
  return rate > 0 ? besom__layer_chain_add(&c->levels, &c->head, bloom, &config, list)
                  : BESOM_INVALID;
}

/*
 * Approximate bits of the levels after the first: each holds half of the keys that reached the one
 * before.
 */
static double later_bits(double rate, double yes, double no, double level_head) {
  double bits = 0;
  for (double held = no * rate, denied = yes; held >= 0.5;) {
    bits += held / log(2) + level_head;
    double next = denied / 2;
    denied = held;
    held = next;
  }
  return bits;
}

/*
 * The false-positive rate of the first level. sqrt(1/2) times the ratio of the keys on both lists
 * makes the whole chain about as small as possible. With a budget of bits, the first level gets
 * what the others leave; 0 if that is nothing.
 */
static double first_rate(const besom_config *config, uint64_t yes, uint64_t no,
                         const struct layer_kind *bloom) {
  double n = yes ? (double)yes : 1, head = 8.0 * (double)bloom->kind->size;
  double wanted = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key == 0) return no ? fmin(wanted, sqrt(0.5) * n / (double)no) : wanted;
  double budget = config->bits_per_key * n - 8.0 * sizeof(struct cascade) - head;
  for (double own = budget; own > 0; own -= budget / 256) {
    double rate = fmax(exp2(-log(2) * own / n), 0x1p-60);
    if (rate < 1 && own + later_bits(rate, n, (double)no, head) <= budget) return rate;
  }
  return 0;
}

static besom_status add_levels(struct cascade *c, const struct layer_kind *bloom, double rate,
                               struct digests *yes, struct digests *no) {
  struct digests *held = yes, *denied = no;
  besom_status status = add_level(c, bloom, rate, held);
  while (status == BESOM_OK) {
    besom__layer_chain_keep_false_positives(&c->levels, denied);
    if (!denied->n) break;
    struct digests *next = denied;
    denied = held;
    held = next;
    status = add_level(c, bloom, 0.5, held);
  }
  return status;
}

/* Both lists must be sorted. */
static bool have_common_key(const struct digests *x, const struct digests *y) {
  for (uint64_t i = 0, j = 0; i < x->n && j < y->n;)
    if (digest_less(x->at[i], y->at[j]))
      i++;
    else if (digest_less(y->at[j], x->at[i]))
      j++;
    else
      return true;
  return false;
}

static besom_status read_options(const char *text, struct layer_kind *bloom) {
  struct option option;
  besom_status status;
  *bloom = (struct layer_kind){.kind = besom__kind_named("bloom")};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "base")) return BESOM_BAD_OPTION;
    if ((status = besom__layer_option(bloom, &option)) != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status build(besom_filter *f, const besom_config *config, const besom_source *yes,
                          const besom_source *no, const besom_progress *progress) {
  struct layer_kind bloom;
  struct digests held = {0}, denied = {0};
  if (config->slots || config->value_bits || config->reserve != 0) return BESOM_INVALID;
  make_room(cascade(f));
  besom_status status = read_options(config->options, &bloom);
  if (status == BESOM_OK) status = besom__collect(f, yes, config->capacity, progress, &held);
  if (status == BESOM_OK && no) status = besom__collect(f, no, MAX_CAPACITY, progress, &denied);
  if (status == BESOM_OK) {
    besom__digests_unite(&held);
    besom__digests_unite(&denied);
    f->items = held.n;
    f->capacity = config->capacity;
    status = have_common_key(&held, &denied) ? BESOM_IS_MEMBER : BESOM_OK;
  }
  if (status == BESOM_OK)
    status = add_levels(cascade(f), &bloom, first_rate(config, held.n, denied.n, &bloom), &held,
                        &denied);
  besom__digests_free(f, &held);
  besom__digests_free(f, &denied);
  if (status != BESOM_OK) destroy(f);
  return status;
}

/* ------------------------------------------------------------------ queries */

static bool contains(const besom_filter *f, besom_digest d) {
  return besom__layer_chain_answer(&const_cascade(f)->levels, 0, d);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  besom__layer_chain_answer_many(&const_cascade(f)->levels, d, n, bitmap);
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, struct stats_out *out) {
  besom__layer_chain_stats(&const_cascade(f)->levels, out);
}

static const besom_filter *layer(const besom_filter *f, size_t i) {
  return i < const_cascade(f)->levels.n ? const_cascade(f)->levels.layers[i] : NULL;
}

static const char *validate(const besom_filter *f) {
  const char *wrong = besom__layer_chain_validate(&const_cascade(f)->levels);
  if (wrong) return wrong;
  return f->items <= f->capacity ? NULL : "there are more keys than the capacity";
}

static void save(const besom_filter *f, struct sections_out *out) {
  besom__write_u64(&out->parameters, const_cascade(f)->levels.n);
  besom__layer_chain_save(&const_cascade(f)->levels, out);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct layer_chain *levels = &cascade(f)->levels;
  make_room(cascade(f));
  besom_status status = besom__layer_chain_load(levels, f, in, besom__read_u64(&in->parameters));
  if (status != BESOM_OK) return status;
  if (levels->layers[0]->kind == besom__kind_named("bloom")) return BESOM_OK;
  destroy(f);
  return BESOM_CORRUPT;
}

const struct besom_kind besom__cascade = {
    .info = {"cascade",
             "static chain of Bloom filters: yes to all of one list, no to all of another",
             BESOM_CAN_BUILD_NO},
    .size = sizeof(struct cascade),
    .build = build,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .stats = stats,
    .layer = layer,
    .validate = validate,
    .save = save,
    .load = load,
};
