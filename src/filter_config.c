/* Configurations: which are accepted, and what is wrong with the others. */
#include "filter.h"

#include <inttypes.h>

/* -------------------------------------------------------------- members that all kinds share */

#define MOST MAX_CAPACITY

static besom_status check_count(struct explanation *why, const char *name, uint64_t n) {
  if (n <= MOST) return BESOM_OK;
  return besom__explain(why, BESOM_INVALID, "%s is %" PRIu64 ": at most 2^44", name, n);
}

static besom_status check_counts(const besom_config *c, struct explanation *why) {
  const struct {
    const char *name;
    uint64_t n;
  } counts[] = {{"capacity", c->capacity},
                {"max_capacity", c->max_capacity},
                {"slots", c->slots},
                {"no_capacity", c->no_capacity}};
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < sizeof counts / sizeof *counts && status == BESOM_OK; i++)
    status = check_count(why, counts[i].name, counts[i].n);
  return status;
}

static besom_status check_rates(const besom_config *c, struct explanation *why) {
  if (c->fpr != 0 && !(c->fpr > 0 && c->fpr < 1))
    return besom__explain(why, BESOM_INVALID, "fpr is %g: above 0 and below 1", c->fpr);
  if (c->bits_per_key != 0 && !(c->bits_per_key > 0 && c->bits_per_key <= 1024))
    return besom__explain(why, BESOM_INVALID, "bits_per_key is %g: above 0, at most 1024",
                          c->bits_per_key);
  if (c->fpr != 0 && c->bits_per_key != 0)
    return besom__explain(why, BESOM_INVALID, "fpr and bits_per_key exclude each other");
  if (!(c->reserve >= 0 && c->reserve <= 0.5))
    return besom__explain(why, BESOM_INVALID, "reserve is %g: from 0 (default) to 0.5", c->reserve);
  return BESOM_OK;
}

static besom_status check_size(const besom_config *c, struct explanation *why) {
  if (c->max_capacity && c->max_capacity < c->capacity)
    return besom__explain(why, BESOM_INVALID, "max_capacity is below capacity");
  if (c->width > 64) return besom__explain(why, BESOM_INVALID, "width is %u: 1 to 64", c->width);
  if (c->width && !c->slots)
    return besom__explain(why, BESOM_INVALID, "width needs slots: it replaces fpr");
  if (c->slots && (c->capacity || c->max_capacity || c->bits_per_key != 0))
    return besom__explain(why, BESOM_INVALID,
                          "slots excludes capacity, max_capacity and bits_per_key");
  if (!c->capacity && !c->slots)
    return besom__explain(why, BESOM_INVALID, "capacity is 0: 1 to 2^44, or give slots");
  return BESOM_OK;
}

besom_status besom__config_in_range(const besom_config *c, struct explanation *why) {
  besom_status status = check_counts(c, why);
  if (status == BESOM_OK) status = check_rates(c, why);
  if (status == BESOM_OK) status = check_size(c, why);
  if (status != BESOM_OK) return status;
  if (c->value_bits > 32)
    return besom__explain(why, BESOM_INVALID, "value_bits is %u: 0 to 32", c->value_bits);
  if (c->flags & ~(BESOM_CONCURRENT | BESOM_DISTINCT))
    return besom__explain(why, BESOM_INVALID, "flags has an unknown bit: 0x%x", c->flags);
  if (c->allocator && (!c->allocator->allocate || !c->allocator->release))
    return besom__explain(why, BESOM_INVALID, "allocator has no allocate or no release");
  return BESOM_OK;
}

/* -------------------------------------------------------------- kinds */

bool besom__is_built_whole(const besom_config *config, const besom_source *no) {
  const struct besom_kind *kind = config->kind ? besom__kind_named(config->kind) : NULL;
  return kind && kind->build && (no || !kind->create);
}

static besom_status find_kind(const besom_config *c, const struct besom_kind **kind,
                              struct explanation *why) {
  if (!c->kind) return besom__explain(why, BESOM_INVALID, "kind is NULL: a name of besom_kinds");
  *kind = besom__kind_named(c->kind);
  if (*kind) return BESOM_OK;
  return besom__explain(why, BESOM_UNKNOWN_KIND, "kind \"%.40s\" is unknown: see besom_kinds",
                        c->kind);
}

besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind,
                                struct hasher *hasher) {
  besom_status status = find_kind(config, kind, NULL);
  if (status == BESOM_OK) status = besom__config_in_range(config, NULL);
  if (status != BESOM_OK) return status;
  if (config->flags & BESOM_CONCURRENT && !(*kind)->concurrent) return BESOM_UNSUPPORTED;
  return besom__hasher_init(hasher, config->hash, config->seed);
}

static besom_status check_kind(const besom_config *c, const struct besom_kind *kind,
                               struct explanation *why) {
  static const uint8_t seed[16];
  struct hasher hasher;
  if (c->flags & BESOM_CONCURRENT && !kind->concurrent)
    return besom__explain(why, BESOM_UNSUPPORTED, "kind \"%s\" has no concurrent form",
                          kind->info.name);
  if (besom__hasher_init(&hasher, c->hash, seed) != BESOM_OK)
    return besom__explain(why, BESOM_BAD_OPTION, "hash \"%.40s\" is unknown: xxh3 or sip", c->hash);
  return kind->check ? kind->check(c, why) : BESOM_OK;
}

besom_status besom_config_check_sized(const besom_config *config, size_t config_size, char *text,
                                      size_t size) {
  if (!config || (!text && size)) return BESOM_INVALID;
  struct explanation why = {text, size};
  besom_config c;
  const struct besom_kind *kind;
  besom_copy_struct(&c, sizeof c, config, config_size);
  if (size) *text = 0;
  besom_status status = find_kind(&c, &kind, &why);
  if (status == BESOM_OK) status = besom__config_in_range(&c, &why);
  return status == BESOM_OK ? check_kind(&c, kind, &why) : status;
}
