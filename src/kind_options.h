/* The options of a kind, and the kind of its layers, by the option base. */
#ifndef BESOM_KIND_OPTIONS_H
#define BESOM_KIND_OPTIONS_H

#include "kind.h"

#define LAYER_OPTIONS_BYTES 64

/* The kind of the layers, and the options for it. */
struct layer_kind {
  const struct besom_kind *kind;
  char options[LAYER_OPTIONS_BYTES];
};

/* Whether layers of this kind can be made: empty, or also from digests. */
bool besom__can_insert(const struct besom_kind *kind);
bool besom__can_insert_or_be_built(const struct besom_kind *kind);

/*
 * The values of a kind with layers, and the options for the layers, which are checked, too. Errors:
 * BAD_OPTION.
 */
besom_status besom__layered_options_read(const struct besom_kind *kind, const char *text,
                                         void *values, struct layer_kind *base);

/* Whether a kind takes these options: all but what a text says. Errors: BAD_OPTION. */
besom_status besom__kind_options_check(const struct besom_kind *kind, const char *text,
                                       struct explanation *why);

#endif
