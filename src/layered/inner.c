#include "layered/inner.h"

#define KIND_BYTES 16

static bool can_be_inner(const struct besom_kind *kind, bool may_be_built) {
  return kind && (kind->info.abilities & BESOM_CAN_INSERT || (may_be_built && kind->build_digests));
}

besom_status besom__inner_option(struct inner_kind *inner, const struct option *option) {
  char name[KIND_BYTES] = {0};
  if (besom__option_is(option, "base")) {
    if (option->value.len >= sizeof name) return BESOM_BAD_OPTION;
    memcpy(name, option->value.data, option->value.len);
    inner->kind = besom__kind_named(name);
    return can_be_inner(inner->kind, inner->may_be_built) ? BESOM_OK : BESOM_BAD_OPTION;
  }
  size_t len = strlen(inner->options), more = option->name.len + 1 + option->value.len + (len > 0);
  if (len + more >= sizeof inner->options) return BESOM_BAD_OPTION;
  struct writer w = {(uint8_t *)inner->options + len,
                     (uint8_t *)inner->options + sizeof inner->options, false};
  if (len) besom__write_bytes(&w, ",", 1);
  besom__write_bytes(&w, option->name.data, option->name.len);
  besom__write_bytes(&w, "=", 1);
  besom__write_bytes(&w, option->value.data, option->value.len);
  return BESOM_OK;
}

static besom_config own_config(const besom_filter *outer, const struct inner_kind *inner,
                               const besom_config *config) {
  besom_config own = *config;
  own.options = inner->options;
  own.allocator = &outer->allocator;
  return own;
}

besom_status besom__inner_create(const besom_filter *outer, const struct inner_kind *inner,
                                 const besom_config *config, besom_filter **out) {
  besom_config own = own_config(outer, inner, config);
  return besom__filter_create(inner->kind, &own, &outer->hasher, out);
}

besom_status besom__inner_build(const besom_filter *outer, const struct inner_kind *inner,
                                const besom_config *config, struct digests *digests,
                                besom_filter **out) {
  besom_config own = own_config(outer, inner, config);
  besom_filter *f;
  besom_status status = besom__filter_new(inner->kind, &outer->hasher, &outer->allocator, &f);
  if (status != BESOM_OK) return status;
  status = inner->kind->build_digests(f, &own, digests);
  if (status == BESOM_OK)
    *out = f;
  else
    besom__filter_drop(f);
  return status;
}

besom_statistics besom__inner_stats(const besom_filter *inner, besom_statistics *outer) {
  besom_statistics s;
  besom_stats(inner, &s);
  double used = outer->load * (double)outer->slots + s.load * (double)s.slots;
  outer->isa = s.isa;
  outer->slots += s.slots;
  outer->load = used / (double)outer->slots;
  outer->width = s.width;
  outer->bytes += s.bytes;
  outer->extended += s.extended;
  outer->marks += s.marks;
  outer->kicks += s.kicks;
  if (s.longest_chain > outer->longest_chain) outer->longest_chain = s.longest_chain;
  return s;
}

/* ------------------------------------------------------------------ files */

void besom__inner_save(const besom_filter *inner, struct sections_out *out) {
  if (out->owners == MAX_INNER) {
    out->failed = true;
    return;
  }
  struct writer outer_parameters = out->parameters;
  uint32_t outer = out->owner;
  uint8_t *parameters = out->inner_parameters[out->owners];
  char name[KIND_BYTES] = {0};
  out->owner = ++out->owners;
  out->parameters = (struct writer){parameters, parameters + INNER_PARAMETER_BYTES, false};
  memcpy(name, inner->kind->info.name, strlen(inner->kind->info.name));
  besom__write_bytes(&out->parameters, name, KIND_BYTES);
  besom__write_u64(&out->parameters, inner->items);
  besom__write_u64(&out->parameters, inner->capacity);
  struct section *saved = &out->list[out->n];
  add_section(out, TAG_PARAMETERS, parameters, 0);
  if (out->failed) return;
  inner->kind->save(inner, out);
  saved->len = (uint64_t)(out->parameters.at - parameters);
  out->failed |= out->parameters.failed;
  out->owner = outer;
  out->parameters = outer_parameters;
}

static const struct besom_kind *read_kind(struct reader *parameters) {
  char name[KIND_BYTES + 1] = {0};
  besom__read_bytes(parameters, name, KIND_BYTES);
  for (size_t i = strlen(name); i < KIND_BYTES; i++)
    if (name[i]) return NULL;
  return besom__kind_named(name);
}

/* A filter whose bits stay in the outer one's mapping, if that has one. */
static besom_status load_kind(const besom_filter *outer, const struct besom_kind *kind,
                              struct sections_in *in, besom_filter **inner) {
  besom_filter *f;
  besom_status status = besom__filter_new(kind, &outer->hasher, &outer->allocator, &f);
  if (status != BESOM_OK) return status;
  f->mapping = outer->mapping;
  f->items = besom__read_u64(&in->parameters);
  f->capacity = besom__read_u64(&in->parameters);
  status = kind->load(f, in);
  if (status != BESOM_OK) {
    besom__filter_drop(f);
    return status;
  }
  if (!in->parameters.failed && in->parameters.at == in->parameters.end) {
    *inner = f;
    return BESOM_OK;
  }
  besom_free(f);
  return BESOM_CORRUPT;
}

static besom_status load_inner(const besom_filter *outer, struct sections_in *in, bool may_be_built,
                               besom_filter **inner) {
  struct reader outer_parameters = in->parameters;
  uint32_t owner = in->owner;
  if (in->owners == MAX_INNER) return BESOM_CORRUPT;
  in->owner = ++in->owners;
  in->parameters = take_parameters(in);
  const struct besom_kind *kind = in->parameters.failed ? NULL : read_kind(&in->parameters);
  besom_status status = BESOM_CORRUPT;
  if (can_be_inner(kind, may_be_built)) status = load_kind(outer, kind, in, inner);
  in->owner = owner;
  in->parameters = outer_parameters;
  return status;
}

besom_status besom__inner_load(const besom_filter *outer, struct sections_in *in,
                               besom_filter **inner) {
  return load_inner(outer, in, false, inner);
}

besom_status besom__inner_load_built(const besom_filter *outer, struct sections_in *in,
                                     besom_filter **inner) {
  return load_inner(outer, in, true, inner);
}
