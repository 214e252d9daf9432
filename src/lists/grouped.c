/* Queries and files of grouped (grouped.h). */
#include "lists/grouped.h"

#include <math.h>

#include "core/system/memory.h"

static const struct grouped *const_grouped(const besom_filter *f) {
  return (const struct grouped *)f;
}

static struct grouped *grouped(besom_filter *f) {
  return (struct grouped *)f;
}

void besom__grouped_destroy(besom_filter *f) {
  struct grouped *g = grouped(f);
  if (!f->mapping) {
    for (unsigned i = 0; i < g->classes; i++)
      besom__retrieval_free(&g->class[i].filter, &f->allocator);
    besom__retrieval_free(&g->names, &f->allocator);
    besom__retrieval_free(&g->last, &f->allocator);
  }
  besom__release(&f->allocator, g->class, g->classes * sizeof *g->class);
  besom__group_rule_free(&g->rule, &f->allocator);
}

/* ------------------------------------------------------------------ queries */

/* The answer for a key of a class. */
static bool grouped_answer(const struct grouped *g, const struct grouped_class *c, besom_digest d) {
  if (!class_has_bits(c->form)) return c->form == CLASS_ALL_YES;
  if (class_has_filter(c->form) && !c->has(&c->filter, grouped_filter_digest(d)))
    return c->form == CLASS_NO_KEYS;
  return retrieval_bit(&g->last, grouped_last_digest(d));
}

/* For an unknown group it is any number, perhaps one that no class has. */
static unsigned class_of_group(const struct grouped *g, besom_digest name) {
  unsigned class = 0;
  for (unsigned i = 0; i < g->class_bits; i++)
    class |= (unsigned)retrieval_bit(&g->names, grouped_name_digest(name, i)) << i;
  return class;
}

/* Without the group: yes if that is the answer in any class. */
static bool grouped_contains(const besom_filter *f, besom_digest d) {
  const struct grouped *g = const_grouped(f);
  for (unsigned i = 0; i < g->classes; i++)
    if (grouped_answer(g, &g->class[i], d)) return true;
  return false;
}

static bool grouped_contains_key(const besom_filter *f, const void *key, size_t len,
                                 besom_digest d) {
  const struct grouped *g = const_grouped(f);
  if (!g->class_bits || (g->by_function && !g->by.group_of)) return grouped_contains(f, d);
  unsigned class = class_of_group(g, grouped_name(g, key, len));
  return class < g->classes && grouped_answer(g, &g->class[class], d);
}

static void grouped_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
  for (size_t i = 0; i < n; i++) bitmap[i / 64] |= (uint64_t)grouped_contains(f, d[i]) << (i % 64);
}

static besom_status grouped_bind_groups(besom_filter *f, const besom_grouping *by) {
  struct grouped *g = grouped(f);
  if (!g->by_function) return BESOM_INVALID;
  g->by = by ? *by : (besom_grouping){NULL, NULL};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

/* The rate for a key on neither list in this class. */
static double rate_of_class(const struct grouped_class *c) {
  const struct retrieval *x = &c->filter;
  if (!class_has_filter(c->form)) return c->form == CLASS_BITS ? 0.5 : c->form == CLASS_ALL_YES;
  double rate = besom__retrieval_rate(x) / 2;
  return c->form == CLASS_YES_KEYS ? rate : 1 - rate;
}

static void add_retrieval(const struct retrieval *x, besom_statistics *s) {
  if (!x->layers) return;
  s->bytes += besom__retrieval_bytes(x);
  s->slots += besom__retrieval_slots(x);
  if (s->width < x->columns) s->width = x->columns;
}

static void grouped_stats(const besom_filter *f, struct stats_out *out) {
  const struct grouped *g = const_grouped(f);
  besom_statistics *s = &out->common;
  uint64_t groups = 0;
  s->bytes += besom__group_rule_bytes(&g->rule) + g->classes * sizeof *g->class;
  add_retrieval(&g->names, s);
  add_retrieval(&g->last, s);
  for (unsigned i = 0; i < g->classes; i++) {
    const struct grouped_class *c = &g->class[i];
    add_retrieval(&c->filter, s);
    s->expected_fpr += rate_of_class(c) * (double)c->groups;
    groups += c->groups;
  }
  if (groups) s->expected_fpr /= (double)groups;
  /* Of a class without bits no key has a slot, so that there may be more keys than slots. */
  if (s->slots) s->load_factor = fmin(1, (double)f->items / (double)s->slots);
  s->fpr_at_capacity = s->expected_fpr;
  besom__add_counter(out, "groups", groups);
  besom__add_counter(out, "classes", g->classes);
  besom__add_counter(out, "least_bits", g->least_bits);
}

static const char *grouped_validate(const besom_filter *f) {
  const struct grouped *g = const_grouped(f);
  const char *wrong = g->names.layers ? besom__retrieval_validate(&g->names) : NULL;
  if (!wrong && g->last.layers) wrong = besom__retrieval_validate(&g->last);
  for (unsigned i = 0; i < g->classes && !wrong; i++)
    if (g->class[i].filter.layers) wrong = besom__retrieval_validate(&g->class[i].filter);
  if (wrong) return wrong;
  return f->items <= f->capacity ? NULL : "there are more keys than the capacity";
}

/* ------------------------------------------------------------------ files */

enum { BY_NOTHING, BY_RULE, BY_FUNCTION };

static void grouped_save(const besom_filter *f, struct sections_out *out) {
  const struct grouped *g = const_grouped(f);
  struct byte_writer *w = &out->parameters;
  besom__write_u64(w, g->rule.items ? BY_RULE : g->by_function ? BY_FUNCTION : BY_NOTHING);
  besom__write_u64(w, g->least_bits);
  besom__write_u64(w, g->classes);
  if (g->rule.items) {
    besom__write_u64(w, g->rule.len);
    besom__write_bytes(w, group_rule_text(&g->rule), g->rule.len);
  }
  for (unsigned i = 0; i < g->classes; i++) {
    besom__write_u64(w, g->class[i].form);
    besom__write_u64(w, g->class[i].groups);
    if (class_has_filter(g->class[i].form)) besom__retrieval_save(&g->class[i].filter, out);
  }
  if (g->names.layers) besom__retrieval_save(&g->names, out);
  if (g->last.layers) besom__retrieval_save(&g->last, out);
}

static besom_status load_rule(struct grouped *g, uint64_t by, struct sections_in *in) {
  char text[MAX_RULE_BYTES];
  g->by_function = by == BY_FUNCTION;
  if (by != BY_RULE) return by <= BY_FUNCTION ? BESOM_OK : BESOM_CORRUPT;
  uint64_t len = besom__read_u64(&in->parameters);
  if (len > MAX_RULE_BYTES) return BESOM_CORRUPT;
  besom__read_bytes(&in->parameters, text, (size_t)len);
  besom_status status = besom__group_rule_new(&g->rule, &g->head.allocator, text, (size_t)len);
  return status == BESOM_BAD_OPTION ? BESOM_CORRUPT : status;
}

static besom_status load_retrieval(struct grouped *g, struct sections_in *in,
                                   struct retrieval *out) {
  besom_status status = besom__retrieval_load(out, &g->head.allocator, in, g->head.mapping != NULL);
  if (status != BESOM_OK) out->layers = 0; /* there is nothing to free */
  return status;
}

static besom_status load_bits(struct grouped *g, struct sections_in *in, struct retrieval *out) {
  besom_status status = load_retrieval(g, in, out);
  return status == BESOM_OK && out->columns != 1 ? BESOM_CORRUPT : status;
}

static besom_status load_class(struct grouped *g, struct sections_in *in, struct grouped_class *c) {
  uint64_t form = besom__read_u64(&in->parameters);
  c->groups = besom__read_u64(&in->parameters);
  if (form >= CLASS_FORMS) return BESOM_CORRUPT;
  c->form = (enum class_form)form;
  if (!class_has_filter(c->form)) return BESOM_OK;
  besom_status status = load_retrieval(g, in, &c->filter);
  if (status == BESOM_OK) c->has = besom__retrieval_query(&c->filter);
  return status;
}

static besom_status load_parts(struct grouped *g, struct sections_in *in) {
  uint64_t by = besom__read_u64(&in->parameters);
  g->least_bits = besom__read_u64(&in->parameters);
  uint64_t classes = besom__read_u64(&in->parameters);
  if (classes == 0 || classes > MAX_CLASSES) return BESOM_CORRUPT;
  besom_status status = load_rule(g, by, in);
  if (status != BESOM_OK) return status;
  g->class = besom__allocate(&g->head.allocator, classes * sizeof *g->class);
  if (!g->class) return BESOM_NO_MEMORY;
  g->classes = (uint16_t)classes;
  g->class_bits = (uint16_t)besom__class_bits(g->classes);
  bool bits = false;
  for (unsigned i = 0; i < g->classes && status == BESOM_OK; i++) {
    status = load_class(g, in, &g->class[i]);
    bits |= class_has_bits(g->class[i].form);
  }
  if (status == BESOM_OK && g->class_bits) status = load_bits(g, in, &g->names);
  return status == BESOM_OK && bits ? load_bits(g, in, &g->last) : status;
}

static besom_status grouped_load(besom_filter *f, struct sections_in *in) {
  besom_status status = load_parts(grouped(f), in);
  if (status != BESOM_OK) besom__grouped_destroy(f);
  return status;
}

const struct besom_kind besom__grouped = {
    .name = "grouped",
    .summary = "static: exact on two lists; each group of keys is planned at its own proportion",
    .size = sizeof(struct grouped),
    .options = {OPTION_ROWS(besom__grouped_rows)},
    .destroy = besom__grouped_destroy,
    .stats = grouped_stats,
    .query = {.contains = grouped_contains,
              .contains_key = grouped_contains_key,
              .contains_many = grouped_contains_many,
              .bind_groups = grouped_bind_groups},
    .build =
        &(const struct build_ops){.takes_no = BESOM_CAN_BUILD_NO, .build = besom__grouped_build},
    .file = &(const struct file_ops){.validate = grouped_validate,
                                     .save = grouped_save,
                                     .load = grouped_load},
};
