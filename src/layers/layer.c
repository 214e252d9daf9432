#include "layers/layer.h"
#include "kinds.h"

#include "exceptions/reports.h"

#define KIND_BYTES 16

/* Whether the layers of this kind can be maplets. */
static bool may_have_maplets(const besom_filter *outer) {
  return outer->kind->maplet || outer->kind->map;
}

static besom_config own_config(const besom_filter *outer, const struct layer_kind *base,
                               const besom_config *config) {
  besom_config own = *config;
  own.options = base->options;
  own.allocator = &outer->allocator;
  own.flags = outer->is_set ? BESOM_SET : 0;
  return own;
}

besom_status besom__layer_create(const besom_filter *outer, const struct layer_kind *base,
                                 const besom_config *config, besom_filter **out) {
  besom_config own = own_config(outer, base, config);
  besom_status status = besom__filter_create(base->kind, &own, &outer->hasher, out);
  if (status != BESOM_OK || !(*out)->kind->map || may_have_maplets(outer)) return status;
  besom_free(*out);
  return BESOM_UNSUPPORTED;
}

besom_status besom__layer_build(const besom_filter *outer, const struct layer_kind *base,
                                const besom_config *config, struct digests *digests,
                                besom_filter **out) {
  besom_config own = own_config(outer, base, config);
  besom_filter *f;
  besom_status status = besom__filter_new(base->kind, &outer->hasher, &outer->allocator, &f);
  if (status != BESOM_OK) return status;
  status = base->kind->build->build_digests(f, &own, digests);
  if (status == BESOM_OK)
    *out = f;
  else
    besom__filter_drop(f);
  return status;
}

void besom__add_to_counter(struct stats_out *outer, besom_counter c) {
  for (size_t i = 0; i < outer->n; i++) {
    besom_counter *sum = &outer->counters[i];
    if (strcmp(sum->name, c.name) != 0) continue;
    bool maximum = strcmp(c.name, "longest_chain") == 0;
    sum->value = maximum && sum->value > c.value ? sum->value
                 : maximum                       ? c.value
                                                 : sum->value + c.value;
    return;
  }
  besom__add_counter(outer, c.name, c.value);
}

besom_statistics besom__layer_stats(const besom_filter *layer, struct stats_out *outer) {
  struct stats_out of_layer;
  besom__stats_of_layer(layer, &of_layer);
  const besom_statistics *s = &of_layer.common;
  besom_statistics *all = &outer->common;
  double used = all->load_factor * (double)all->slots + s->load_factor * (double)s->slots;
  all->isa = s->isa;
  all->slots += s->slots;
  if (all->slots) all->load_factor = used / (double)all->slots;
  all->width = s->width;
  all->bytes += s->bytes;
  for (size_t i = 0; i < of_layer.n; i++) besom__add_to_counter(outer, of_layer.counters[i]);
  return *s;
}

/* ------------------------------------------------------------------ files */

void besom__layer_save(const besom_filter *layer, struct sections_out *out) {
  if (out->owners == MAX_SAVED_LAYERS) {
    out->failed = true;
    return;
  }
  struct byte_writer outer_parameters = out->parameters;
  uint32_t outer = out->owner;
  uint8_t *parameters = out->layer_parameters[out->owners];
  char name[KIND_BYTES] = {0};
  out->owner = ++out->owners;
  out->parameters = (struct byte_writer){parameters, parameters + LAYER_PARAMETER_BYTES, false};
  memcpy(name, layer->kind->name, strlen(layer->kind->name));
  besom__write_bytes(&out->parameters, name, KIND_BYTES);
  besom__write_u64(&out->parameters, layer->items);
  besom__write_u64(&out->parameters, layer->capacity);
  struct section *saved = &out->list[out->n];
  add_section(out, TAG_PARAMETERS, parameters, 0);
  if (out->failed) return;
  layer->kind->file->save(layer, out);
  saved->len = (uint64_t)(out->parameters.at - parameters);
  out->failed |= out->parameters.failed;
  out->owner = outer;
  out->parameters = outer_parameters;
}

static const struct besom_kind *read_kind(struct byte_reader *parameters) {
  char name[KIND_BYTES + 1] = {0};
  besom__read_bytes(parameters, name, KIND_BYTES);
  for (size_t i = strlen(name); i < KIND_BYTES; i++)
    if (name[i]) return NULL;
  return besom__kind_named(name);
}

/* If the outer filter is mapped, the bits of the layer stay in that mapping. */
static besom_status load_kind(const besom_filter *outer, const struct besom_kind *kind,
                              struct sections_in *in, besom_filter **layer) {
  besom_filter *f;
  besom_status status = besom__filter_new(kind, &outer->hasher, &outer->allocator, &f);
  if (status != BESOM_OK) return status;
  f->mapping = outer->mapping;
  f->is_set = outer->is_set;
  f->items = besom__read_u64(&in->parameters);
  f->capacity = besom__read_u64(&in->parameters);
  status = kind->file->load(f, in);
  if (status != BESOM_OK) {
    besom__filter_drop(f);
    return status;
  }
  bool fits = !f->kind->map || may_have_maplets(outer);
  if (fits && !in->parameters.failed && in->parameters.at == in->parameters.end) {
    *layer = f;
    return BESOM_OK;
  }
  besom_free(f);
  return BESOM_CORRUPT;
}

besom_status besom__layer_load_if(const besom_filter *outer, struct sections_in *in,
                                  bool (*allowed)(const struct besom_kind *kind),
                                  besom_filter **layer) {
  struct byte_reader outer_parameters = in->parameters;
  uint32_t owner = in->owner;
  if (in->owners == MAX_SAVED_LAYERS) return BESOM_CORRUPT;
  in->owner = ++in->owners;
  in->parameters = take_parameters(in);
  const struct besom_kind *kind = in->parameters.failed ? NULL : read_kind(&in->parameters);
  besom_status status = BESOM_CORRUPT;
  if (kind && allowed(kind)) status = load_kind(outer, kind, in, layer);
  in->owner = owner;
  in->parameters = outer_parameters;
  return status;
}

besom_status besom__layer_load(const besom_filter *outer, struct sections_in *in,
                               besom_filter **layer) {
  return besom__layer_load_if(outer, in, besom__can_insert, layer);
}

besom_status besom__layer_load_built(const besom_filter *outer, struct sections_in *in,
                                     besom_filter **layer) {
  return besom__layer_load_if(outer, in, besom__can_insert_or_be_built, layer);
}

besom_status besom__layer_clone(const besom_filter *outer, const besom_filter *layer,
                                besom_filter **copy) {
  return besom__layer_clone_if(outer, layer, besom__can_insert, copy);
}

/* By saving and loading it, in memory. */
besom_status besom__layer_clone_if(const besom_filter *outer, const besom_filter *layer,
                                   bool (*allowed)(const struct besom_kind *kind),
                                   besom_filter **copy) {
  uint8_t parameters[MAX_SAVED_LAYERS][LAYER_PARAMETER_BYTES];
  struct sections_out saved = {.layer_parameters = parameters};
  struct sections_in in = {.n = 0};
  besom__layer_save(layer, &saved);
  if (saved.failed) return BESOM_UNSUPPORTED;
  memcpy(in.list, saved.list, saved.n * sizeof *saved.list);
  in.n = saved.n;
  besom_status status = besom__layer_load_if(outer, &in, allowed, copy);
  if (status == BESOM_OK) besom__reports_drop(*copy); /* only the outermost filter has any */
  return status;
}
