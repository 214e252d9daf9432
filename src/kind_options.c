#include "kind_options.h"

#include "kinds.h"

bool besom__can_insert(const struct besom_kind *kind) {
  return kind_abilities(kind) & BESOM_CAN_INSERT;
}

bool besom__can_insert_or_be_built(const struct besom_kind *kind) {
  return besom__can_insert(kind) || KIND_HAS(kind, build, build_digests);
}

static const struct besom_kind *find_kind_of(besom_bytes name) {
  char text[32] = {0};
  if (name.len >= sizeof text) return NULL;
  memcpy(text, name.data, name.len);
  return besom__kind_named(text);
}

/* Layers of a list are of a kind that is on it; others of any other kind that can insert. */
static besom_status find_base(const struct besom_kind *kind, const struct option_row *row,
                              const void *values, struct layer_kind *base,
                              struct explanation *why) {
  besom_bytes name;
  memcpy(&name, (const char *)values + row->at, sizeof name);
  if (!name.len) name = (besom_bytes){row->info.words, strcspn(row->info.words, ",")};
  base->kind = find_kind_of(name);
  bool can = base->kind &&
             (row->info.words || (!is_kind(base->kind, kind) && besom__can_insert(base->kind)));
  if (can) return BESOM_OK;
  return besom__explain(why, BESOM_BAD_OPTION,
                        "option \"%s=%.*s\" of kind \"%s\": %s is another kind that can insert",
                        row->info.name, name.len < 40 ? (int)name.len : 40, (const char *)name.data,
                        kind->name, row->info.name);
}

static besom_status read_options(const struct besom_kind *kind, const char *text, void *values,
                                 struct layer_kind *base, struct explanation *why) {
  const struct option_table *table = &kind->options;
  const struct option_row *row = NULL;
  struct option_reader reader = {.table = table,
                                 .values = values,
                                 .others = base->options,
                                 .others_size = sizeof base->options,
                                 .kind = kind->name,
                                 .why = why};
  besom_status status = besom__options_read_all(&reader, text);
  for (size_t i = 0; i < table->n && !row; i++)
    if (table->rows[i].info.type == BESOM_OPTION_KIND) row = &table->rows[i];
  if (status != BESOM_OK || !row) return status;
  status = find_base(kind, row, values, base, why);
  return status == BESOM_OK ? besom__kind_options_check(base->kind, base->options, why) : status;
}

besom_status besom__layered_options_read(const struct besom_kind *kind, const char *text,
                                         void *values, struct layer_kind *base) {
  return read_options(kind, text, values, base, NULL);
}

besom_status besom__kind_options_check(const struct besom_kind *kind, const char *text,
                                       struct explanation *why) {
  _Alignas(max_align_t) char values[OPTION_VALUES_BYTES];
  struct layer_kind base = {0};
  return read_options(kind, text, values, &base, why);
}
