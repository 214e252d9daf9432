/*
 * cascade: a chain of Bloom filters, exact on a yes list and a no list (Larisch et al., "CRLite", 2017). The first
 * holds the yes list; the second those keys of the no list that the first is wrong about; the third those of the yes
 * list that the second is wrong about; and so on, until one is wrong about none. A key's answer is told by the first
 * filter that does not hold it. What yesno is measured against.
 *
 * A key on neither list is answered yes no more often than the first filter says so: at the wanted rate, or less,
 * where a smaller one makes the whole chain shorter.
 */
#include <math.h>

#include "core/sort.h"
#include "layered/inner.h"

#define MAX_LEVELS 48 /* each is wrong about half as many keys as the one before */

struct cascade {
  besom_filter head;
  besom_filter *levels[MAX_LEVELS];
  uint64_t n_levels;
};

static const struct cascade *const_cascade(const besom_filter *f) {
  return (const struct cascade *)f;
}

static struct cascade *cascade(besom_filter *f) {
  return (struct cascade *)f;
}

static void destroy(besom_filter *f) {
  for (uint64_t i = 0; i < cascade(f)->n_levels; i++) besom_free(cascade(f)->levels[i]);
}

static bool level_has(const struct cascade *c, uint64_t level, besom_digest d) {
  const besom_filter *f = c->levels[level];
  return f->kind->contains(f, layer_digest(d, level));
}

/* ------------------------------------------------------------------ building */

/* Holds all of the list. */
static besom_status add_level(struct cascade *c, const struct inner_kind *bloom, double rate,
                              const struct digests *list) {
  if (c->n_levels == MAX_LEVELS) return BESOM_FULL; /* no lists come to this */
  besom_config config = {.capacity = list->n ? list->n : 1, .rate = rate};
  besom_filter *level;
  if (!(rate > 0)) return BESOM_INVALID;
  besom_status status = besom__inner_create(&c->head, bloom, &config, &level);
  if (status != BESOM_OK) return status;
  c->levels[c->n_levels] = level;
  for (uint64_t i = 0; i < list->n && status == BESOM_OK; i++)
    status = level->kind->insert(level, layer_digest(list->at[i], c->n_levels));
  c->n_levels++;
  return status;
}

/* Leaves those of the list that the newest level is wrong about. */
static void keep_wrong_ones(const struct cascade *c, struct digests *list) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < list->n; i++)
    if (level_has(c, c->n_levels - 1, list->at[i])) list->at[kept++] = list->at[i];
  list->n = kept;
}

/* About how many bits the levels behind the first take: each holds half of those that the one before it met. */
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
 * The first level's rate. With a list of so many on the other side, half the root of their proportion makes the whole
 * chain about as small as can be. Of a budget of bits it gets what the others leave; 0 if that is nothing.
 */
static double first_rate(const besom_config *config, uint64_t yes, uint64_t no, const struct inner_kind *bloom) {
  double n = yes ? (double)yes : 1, head = 8.0 * (double)bloom->kind->size;
  double wanted = config->rate != 0 ? config->rate : DEFAULT_RATE;
  if (config->bits == 0) return no ? fmin(wanted, sqrt(0.5) * n / (double)no) : wanted;
  double budget = config->bits * n - 8.0 * sizeof(struct cascade) - head;
  for (double own = budget; own > 0; own -= budget / 256) {
    double rate = fmax(exp2(-log(2) * own / n), 0x1p-60);
    if (rate < 1 && own + later_bits(rate, n, (double)no, head) <= budget) return rate;
  }
  return 0;
}

static besom_status add_levels(struct cascade *c, const struct inner_kind *bloom, double rate, struct digests *yes,
                               struct digests *no) {
  struct digests *held = yes, *denied = no;
  besom_status status = add_level(c, bloom, rate, held);
  while (status == BESOM_OK) {
    keep_wrong_ones(c, denied);
    if (!denied->n) break;
    struct digests *next = denied;
    denied = held;
    held = next;
    status = add_level(c, bloom, 0.5, held);
  }
  return status;
}

/* Both ascending. */
static bool have_common_key(const struct digests *x, const struct digests *y) {
  for (uint64_t i = 0, j = 0; i < x->n && j < y->n;)
    if (digest_below(x->at[i], y->at[j]))
      i++;
    else if (digest_below(y->at[j], x->at[i]))
      j++;
    else
      return true;
  return false;
}

static besom_status read_options(const char *text, struct inner_kind *bloom) {
  struct option option;
  besom_status status;
  *bloom = (struct inner_kind){.kind = besom__kind_named("bloom")};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "base")) return BESOM_BAD_OPTION;
    if ((status = besom__inner_option(bloom, &option)) != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status build(besom_filter *f, const besom_config *config, const besom_source *yes, const besom_source *no,
                          const besom_progress *progress) {
  struct inner_kind bloom;
  struct digests held = {0}, denied = {0};
  if (config->slots || config->value_bits || config->adapt_room != 0) return BESOM_INVALID;
  besom_status status = read_options(config->options, &bloom);
  if (status == BESOM_OK) status = besom__collect(f, yes, config->capacity, progress, &held);
  if (status == BESOM_OK && no) status = besom__collect(f, no, MAX_CAPACITY, progress, &denied);
  if (status == BESOM_OK) {
    besom__digests_unite(&held);
    besom__digests_unite(&denied);
    f->items = held.n;
    f->capacity = config->capacity;
    status = have_common_key(&held, &denied) ? BESOM_MEMBER : BESOM_OK;
  }
  if (status == BESOM_OK)
    status = add_levels(cascade(f), &bloom, first_rate(config, held.n, denied.n, &bloom), &held, &denied);
  besom__digests_free(f, &held);
  besom__digests_free(f, &denied);
  if (status != BESOM_OK) destroy(f);
  return status;
}

/* ------------------------------------------------------------------ queries */

/* The answer of a key that all levels before this one hold. */
static bool answer_from(const struct cascade *c, uint64_t level, besom_digest d) {
  while (level < c->n_levels && level_has(c, level, d)) level++;
  return level % 2;
}

static bool contains(const besom_filter *f, besom_digest d) {
  return answer_from(const_cascade(f), 0, d);
}

#define BATCH 256

/* The first level answers most keys, so that one is asked for many at once. */
static void contains_many(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap) {
  const struct cascade *c = const_cascade(f);
  besom_digest asked[BATCH];
  for (size_t at = 0; at < n; at += BATCH) {
    size_t some = n - at < BATCH ? n - at : BATCH;
    uint64_t *answers = bitmap + at / 64;
    for (size_t i = 0; i < some; i++) asked[i] = layer_digest(d[at + i], 0);
    c->levels[0]->kind->contains_many(c->levels[0], asked, some, answers);
    for (size_t i = 0; i < some; i++)
      if (answers[i / 64] >> (i % 64) & 1 && !answer_from(c, 1, d[at + i]))
        answers[i / 64] &= ~(UINT64_C(1) << (i % 64));
  }
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, besom_statistics *out) {
  const struct cascade *c = const_cascade(f);
  double now = c->n_levels % 2, planned = now; /* the answer to a key that has come this far is yes */
  for (uint64_t i = c->n_levels; i--;) {
    besom_statistics level;
    besom_stats(c->levels[i], &level);
    out->isa = level.isa;
    out->slots += level.slots;
    out->width = level.width;
    out->bytes += level.bytes;
    out->load += level.load * (double)level.slots;
    now = level.expected_rate * now + (1 - level.expected_rate) * (double)(i % 2);
    planned = level.rate_at_capacity * planned + (1 - level.rate_at_capacity) * (double)(i % 2);
  }
  out->load /= (double)out->slots;
  out->expected_rate = now;
  out->rate_at_capacity = planned;
}

static const char *validate(const besom_filter *f) {
  const struct cascade *c = const_cascade(f);
  for (uint64_t i = 0; i < c->n_levels; i++) {
    const char *wrong = c->levels[i]->kind->validate(c->levels[i]);
    if (wrong) return wrong;
  }
  return f->items <= f->capacity ? NULL : "there are more items than the capacity";
}

static void save(const besom_filter *f, struct sections_out *out) {
  const struct cascade *c = const_cascade(f);
  besom__write_u64(&out->parameters, c->n_levels);
  for (uint64_t i = 0; i < c->n_levels; i++) besom__inner_save(c->levels[i], out);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct cascade *c = cascade(f);
  uint64_t n = besom__read_u64(&in->parameters);
  if (n == 0 || n > MAX_LEVELS) return BESOM_CORRUPT;
  besom_status status = BESOM_OK;
  while (c->n_levels < n && status == BESOM_OK) {
    status = besom__inner_load(f, in, &c->levels[c->n_levels]);
    if (status != BESOM_OK) break;
    if (c->levels[c->n_levels++]->kind != besom__kind_named("bloom")) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) destroy(f);
  return status;
}

const struct besom_kind besom__cascade = {
    .info = {"cascade", "static chain of Bloom filters: yes to all of one list, no to all of another",
             BESOM_CAN_BUILD_NO},
    .size = sizeof(struct cascade),
    .build = build,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .stats = stats,
    .validate = validate,
    .save = save,
    .load = load,
};
