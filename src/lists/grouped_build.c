/* Building a filter of groups: collect and number the groups, plan, then class by class. */
#include <math.h>

#include "core/sort.h"
#include "core/system/memory.h"
#include "lists/grouped.h"

#define FIRST_GROUPS 64
#define MAX_GROUPS (UINT32_C(1) << GROUP_NUMBER_BITS)

struct group {
  besom_digest name;
  uint64_t yes, no;
  uint8_t class;
};

/* The groups in the order in which they came, and a hash table of their numbers. */
struct group_table {
  const besom_allocator *allocator;
  struct group *at;
  uint32_t *numbers; /* plus 1; twice as many as room */
  uint32_t n, room;
};

struct grouped_input {
  struct grouped *g;
  bool closed;
  double fpr;
  double bits_per_key; /* if it is given, the lowest rate that fits */
  struct group_table groups;
  struct digests yes, no;
};

/* ------------------------------------------------------------------ groups */

static void table_free(struct group_table *t) {
  besom__release(t->allocator, t->at, (uint64_t)t->room * sizeof *t->at);
  besom__release(t->allocator, t->numbers, 2 * (uint64_t)t->room * sizeof *t->numbers);
}

/* The slot of a group in the table of numbers, or the empty one where it belongs. */
static uint32_t *table_find(const struct group_table *t, besom_digest name) {
  uint32_t slots = 2 * t->room;
  for (uint32_t i = (uint32_t)scaled(name.hi, slots);; i = i + 1 == slots ? 0 : i + 1) {
    uint32_t number = t->numbers[i];
    if (!number) return &t->numbers[i];
    const besom_digest *found = &t->at[number - 1].name;
    if (found->hi == name.hi && found->lo == name.lo) return &t->numbers[i];
  }
}

static besom_status table_enlarge(struct group_table *t) {
  struct group_table larger = {
      .allocator = t->allocator, .n = t->n, .room = t->room ? 2 * t->room : FIRST_GROUPS};
  if (t->n == MAX_GROUPS) return BESOM_FULL;
  larger.at = besom__allocate(t->allocator, (uint64_t)larger.room * sizeof *larger.at);
  larger.numbers =
      besom__allocate(t->allocator, 2 * (uint64_t)larger.room * sizeof *larger.numbers);
  if (!larger.at || !larger.numbers) {
    table_free(&larger);
    return BESOM_NO_MEMORY;
  }
  if (t->n) memcpy(larger.at, t->at, t->n * sizeof *t->at);
  for (uint32_t i = 0; i < t->n; i++) *table_find(&larger, t->at[i].name) = i + 1;
  table_free(t);
  *t = larger;
  return BESOM_OK;
}

/* The number of a group, which is new or known. Only a new one needs room. */
static besom_status table_number(struct group_table *t, besom_digest name, uint32_t *number) {
  uint32_t *slot = t->room ? table_find(t, name) : NULL;
  if ((!slot || !*slot) && t->n == t->room) {
    besom_status status = table_enlarge(t);
    if (status != BESOM_OK) return status;
    slot = table_find(t, name);
  }
  if (!*slot) {
    t->at[t->n].name = name;
    *slot = ++t->n;
  }
  *number = *slot - 1;
  return BESOM_OK;
}

static uint32_t grouped_number_of(besom_digest d) {
  return (uint32_t)(d.lo & bits_below(GROUP_NUMBER_BITS));
}

/* For besom__collect_digests: the number of the group is in the last bits. */
static besom_status digest_of_key(void *ctx, besom_bytes key, besom_digest *out) {
  struct grouped_input *in = ctx;
  uint32_t number = 0;
  besom_digest d = hash_bytes(&in->g->head.hasher, key.data, key.len);
  besom_status status = table_number(&in->groups, grouped_name(in->g, key.data, key.len), &number);
  *out = (besom_digest){d.hi, (d.lo & ~bits_below(GROUP_NUMBER_BITS)) | number};
  return status;
}

static besom_status grouped_collect(struct grouped_input *in, const besom_source *yes,
                                    const besom_source *no, uint64_t capacity,
                                    const besom_progress *progress) {
  const besom_filter *f = &in->g->head;
  struct digest_maker maker = {digest_of_key, in};
  besom_status status = besom__collect_digests(f, yes, capacity, progress, &maker, &in->yes);
  if (status == BESOM_OK && no)
    status = besom__collect_digests(f, no, MAX_CAPACITY, progress, &maker, &in->no);
  if (status != BESOM_OK) return status;
  besom__digests_unite(&in->yes);
  besom__digests_unite(&in->no);
  if (in->yes.n + in->no.n > MAX_RETRIEVAL_KEYS) return BESOM_FULL;
  return besom__digests_have_common(&in->yes, &in->no) ? BESOM_IS_MEMBER : BESOM_OK;
}

/* ------------------------------------------------------------------ the plan */

static struct group *grouped_group_of(const struct grouped_input *in, besom_digest d) {
  return &in->groups.at[grouped_number_of(d)];
}

static void grouped_count_keys(struct grouped_input *in) {
  for (uint64_t i = 0; i < in->yes.n; i++) grouped_group_of(in, in->yes.at[i])->yes++;
  for (uint64_t i = 0; i < in->no.n; i++) grouped_group_of(in, in->no.at[i])->no++;
}

#define MIN_FPR 0x1p-31 /* a filter of twice this rate has 30 columns */
#define FPR_STEPS 64    /* per power of two, when searching a rate that fits */

/* Sets the rate to the lowest one that the bits allow. INVALID if none does. */
static besom_status plan_to_fit(struct grouped_input *in, const struct group_bins *bins,
                                struct group_plan *plan) {
  const besom_allocator *allocator = &in->g->head.allocator;
  double most = in->bits_per_key * fmax((double)in->yes.n, 1) - 8.0 * sizeof *in->g;
  int fits = FPR_STEPS * 31, low = -1; /* steps from 2^-31 on; the largest is a rate of 1 */
  while (fits - low > 1) {
    int middle = (fits + low) / 2;
    in->fpr = MIN_FPR * exp2((double)middle / FPR_STEPS);
    besom_status status = besom__group_plan(bins, in->fpr, false, allocator, plan);
    if (status != BESOM_OK) return status;
    if (plan->bits <= most)
      fits = middle;
    else
      low = middle;
  }
  in->fpr = MIN_FPR * exp2((double)fits / FPR_STEPS);
  return in->fpr < 1 ? BESOM_OK : BESOM_INVALID;
}

static besom_status plan_classes(struct grouped_input *in, struct group_plan *plan) {
  struct group_bins bins = {0};
  double least = 0;
  for (uint32_t i = 0; i < in->groups.n; i++)
    group_bins_add(&bins, in->groups.at[i].yes, in->groups.at[i].no);
  besom_status status = in->bits_per_key != 0 ? plan_to_fit(in, &bins, plan) : BESOM_OK;
  for (uint32_t i = 0; i < in->groups.n; i++) {
    const struct group *x = &in->groups.at[i];
    least += besom__least_group_bits((double)x->yes, (double)x->no, in->fpr, in->closed);
  }
  in->g->least_bits = (uint64_t)least;
  if (status != BESOM_OK) return status;
  return besom__group_plan(&bins, in->fpr, in->closed, &in->g->head.allocator, plan);
}

static besom_status make_classes(struct grouped_input *in, const struct group_plan *plan) {
  struct grouped *g = in->g;
  g->class = besom__allocate(&g->head.allocator, plan->n * sizeof *g->class);
  if (!g->class) return BESOM_NO_MEMORY;
  g->classes = (uint16_t)plan->n;
  g->class_bits = (uint16_t)besom__class_bits(plan->n);
  for (unsigned i = 0; i < plan->n; i++) g->class[i].form = plan->class[i].form;
  for (uint32_t i = 0; i < in->groups.n; i++) {
    struct group *x = &in->groups.at[i];
    x->class = plan->class_of[besom__proportion_bin(x->yes, x->no)];
    g->class[x->class].groups++;
  }
  return BESOM_OK;
}

/* ------------------------------------------------------------------ retrievals */

static besom_status digests_new(const struct grouped *g, uint64_t room, struct digests *d) {
  *d = (struct digests){.room = room + 1};
  d->at = besom__allocate(&g->head.allocator, d->room * sizeof *d->at);
  return d->at ? BESOM_OK : BESOM_NO_MEMORY;
}

/* One bit per digest, in any order. */
static besom_status build_bits(struct grouped *g, struct digests *d, struct retrieval *out) {
  besom__sort_digests(d->at, (size_t)d->n, 0);
  return besom__retrieval_build(out, &g->head.allocator, d, (struct retrieval_width){.columns = 1},
                                true);
}

static besom_status build_names(struct grouped_input *in) {
  struct grouped *g = in->g;
  struct digests d;
  if (!g->class_bits) return BESOM_OK;
  besom_status status = digests_new(g, (uint64_t)in->groups.n * g->class_bits, &d);
  if (status != BESOM_OK) return status;
  for (uint32_t i = 0; i < in->groups.n; i++)
    for (unsigned bit = 0; bit < g->class_bits; bit++)
      d.at[d.n++] = digest_with_bit(grouped_name_digest(in->groups.at[i].name, bit),
                                    in->groups.at[i].class >> bit & 1);
  status = build_bits(g, &d, &g->names);
  besom__digests_free(&g->head, &d);
  return status;
}

static besom_status build_filter(struct grouped_input *in, unsigned class, double rate) {
  struct grouped_class *c = &in->g->class[class];
  const struct digests *all = c->form == CLASS_YES_KEYS ? &in->yes : &in->no;
  struct digests held;
  uint64_t n = 0;
  for (uint64_t i = 0; i < all->n; i++) n += grouped_group_of(in, all->at[i])->class == class;
  besom_status status = digests_new(in->g, n, &held);
  if (status != BESOM_OK) return status;
  for (uint64_t i = 0; i < all->n; i++)
    if (grouped_group_of(in, all->at[i])->class == class)
      held.at[held.n++] = grouped_filter_digest(all->at[i]);
  status = besom__retrieval_build(&c->filter, &in->g->head.allocator, &held,
                                  besom__retrieval_width_of_rate(rate), false);
  besom__digests_free(&in->g->head, &held);
  if (status == BESOM_OK) c->has = besom__retrieval_query(&c->filter);
  return status;
}

static besom_status build_filters(struct grouped_input *in, const struct group_plan *plan) {
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < plan->n && status == BESOM_OK; i++)
    if (class_has_filter(plan->class[i].form)) status = build_filter(in, i, plan->class[i].rate);
  return status;
}

/* Whether the bit decides for this key of one of the lists. */
static bool needs_bit(const struct grouped_input *in, besom_digest d) {
  const struct grouped_class *c = &in->g->class[grouped_group_of(in, d)->class];
  if (!class_has_filter(c->form)) return class_has_bits(c->form);
  return c->has(&c->filter, grouped_filter_digest(d));
}

static void keep_those_with_bit(const struct grouped_input *in, struct digests *list) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < list->n; i++)
    if (needs_bit(in, list->at[i])) list->at[kept++] = list->at[i];
  list->n = kept;
}

static besom_status build_last(struct grouped_input *in) {
  struct digests d;
  bool needed = false;
  for (unsigned i = 0; i < in->g->classes; i++) needed |= class_has_bits(in->g->class[i].form);
  if (!needed) return BESOM_OK;
  keep_those_with_bit(in, &in->yes);
  keep_those_with_bit(in, &in->no);
  besom_status status = digests_new(in->g, in->yes.n + in->no.n, &d);
  if (status != BESOM_OK) return status;
  for (uint64_t i = 0; i < in->yes.n; i++)
    d.at[d.n++] = digest_with_bit(grouped_last_digest(in->yes.at[i]), 1);
  for (uint64_t i = 0; i < in->no.n; i++)
    d.at[d.n++] = digest_with_bit(grouped_last_digest(in->no.at[i]), 0);
  status = build_bits(in->g, &d, &in->g->last);
  besom__digests_free(&in->g->head, &d);
  return status;
}

/* ------------------------------------------------------------------ options */

struct grouped_values {
  uint64_t universe;
  besom_bytes group;
};

const struct option_row besom__grouped_rows[GROUPED_ROWS] = {
    OPTION_WORDS(grouped_values, universe, "open, closed",
                 "closed: only keys of the lists are asked"),
    OPTION_ROW(grouped_values, group, BESOM_OPTION_TEXT, .standard = "all keys are one group",
               .meaning = "an expression with the group in parentheses; the last option"),
};

static besom_status grouped_read_options(struct grouped_input *in, const besom_config *config) {
  struct grouped *g = in->g;
  struct grouped_values o;
  besom_status status = besom__options_read(&g->head.kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  in->closed = o.universe;
  if (o.group.data && config->grouping) return BESOM_INVALID;
  if (config->grouping) g->by = *config->grouping;
  g->by_function = config->grouping != NULL;
  return o.group.data
             ? besom__group_rule_new(&g->rule, &g->head.allocator, o.group.data, o.group.len)
             : BESOM_OK;
}

static besom_status grouped_read_config(struct grouped_input *in, const besom_config *config) {
  in->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  in->bits_per_key = config->bits_per_key;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  if (in->fpr < MIN_FPR || (config->grouping && !config->grouping->group_of)) return BESOM_INVALID;
  besom_status status = grouped_read_options(in, config);
  return status == BESOM_OK && in->closed && in->bits_per_key != 0 ? BESOM_INVALID : status;
}

/* ------------------------------------------------------------------ all of it */

static besom_status grouped_build_of(struct grouped_input *in) {
  struct group_plan plan;
  grouped_count_keys(in);
  in->g->head.items = in->yes.n;
  besom_status status = plan_classes(in, &plan);
  if (status == BESOM_OK) status = make_classes(in, &plan);
  if (status == BESOM_OK) status = build_names(in);
  if (status == BESOM_OK) status = build_filters(in, &plan);
  return status == BESOM_OK ? build_last(in) : status;
}

besom_status besom__grouped_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress) {
  struct grouped_input in = {.g = (struct grouped *)f, .groups = {.allocator = &f->allocator}};
  f->capacity = config->capacity;
  besom_status status = grouped_read_config(&in, config);
  if (status == BESOM_OK) status = grouped_collect(&in, yes, no, config->capacity, progress);
  if (status == BESOM_OK) status = grouped_build_of(&in);
  table_free(&in.groups);
  besom__digests_free(f, &in.yes);
  besom__digests_free(f, &in.no);
  if (status != BESOM_OK) besom__grouped_destroy(f);
  return status;
}
