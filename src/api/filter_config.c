/* Configurations: which are accepted, and what is wrong with the others. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/system/memory.h"
#include "kind_options.h"
#include "kinds.h"

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

static besom_status check_repeats(const besom_config *c, struct explanation *why) {
  if (!(c->repeated >= 0 && c->repeated <= 1))
    return besom__explain(why, BESOM_INVALID, "repeated is %g: from 0 (default) to 1", c->repeated);
  if (c->copies && !(c->repeated > 0))
    return besom__explain(why, BESOM_INVALID, "copies needs repeated: the share of such keys");
  if (c->copies && (c->copies < 2 || c->copies > MAX_EXPECTED_COPIES))
    return besom__explain(why, BESOM_INVALID, "copies is %" PRIu64 ": 2 to 2^32", c->copies);
  return BESOM_OK;
}

besom_status besom__config_in_range(const besom_config *c, struct explanation *why) {
  besom_status status = check_counts(c, why);
  if (status == BESOM_OK) status = check_repeats(c, why);
  if (status == BESOM_OK) status = check_rates(c, why);
  if (status == BESOM_OK) status = check_size(c, why);
  if (status != BESOM_OK) return status;
  if (c->value_bits > 32)
    return besom__explain(why, BESOM_INVALID, "value_bits is %u: 0 to 32", c->value_bits);
  if (c->flags & ~(BESOM_CONCURRENT | BESOM_DISTINCT | BESOM_SET))
    return besom__explain(why, BESOM_INVALID, "flags has an unknown bit: 0x%x", c->flags);
  if (c->flags & BESOM_SET && c->flags & BESOM_CONCURRENT)
    return besom__explain(why, BESOM_INVALID, "a concurrent filter cannot be a set");
  if (c->flags & BESOM_SET && c->repeated > 0)
    return besom__explain(why, BESOM_INVALID, "repeated is %g: a set keeps no copies", c->repeated);
  if (c->allocator && (!c->allocator->allocate || !c->allocator->release))
    return besom__explain(why, BESOM_INVALID, "allocator has no allocate or no release");
  return BESOM_OK;
}

/* -------------------------------------------------------------- kinds */

bool besom__is_built_whole(const besom_config *config, const besom_source *no) {
  const struct besom_kind *kind = config->kind ? besom__kind_named(config->kind) : NULL;
  return kind && KIND_HAS(kind, build, build) && (no || !kind->create);
}

static besom_status find_kind(const besom_config *c, const struct besom_kind **kind,
                              struct explanation *why) {
  if (!c->kind) return besom__explain(why, BESOM_INVALID, "kind is NULL: a name of besom_kinds");
  *kind = besom__kind_named(c->kind);
  if (*kind) return BESOM_OK;
  if (besom__kind_is_left_out(c->kind))
    return besom__explain(why, BESOM_UNKNOWN_KIND,
                          "kind \"%s\" is not in this build, which has no published systems "
                          "(BESOM_PAPERS=OFF)",
                          c->kind);
  return besom__explain(why, BESOM_UNKNOWN_KIND, "kind \"%.40s\" is unknown: see besom_kinds",
                        c->kind);
}

besom_status besom__config_read(const besom_config *config, const struct besom_kind **kind,
                                struct hasher *hasher) {
  besom_status status = find_kind(config, kind, NULL);
  if (status == BESOM_OK) status = besom__config_in_range(config, NULL);
  if (status != BESOM_OK) return status;
  if (config->repeated != 0 && !(*kind)->takes_repeats) return BESOM_INVALID;
  if (config->grouping && !(*kind)->query.bind_groups) return BESOM_INVALID;
  if (config->flags & BESOM_CONCURRENT && !(*kind)->concurrent) return BESOM_UNSUPPORTED;
  return besom__hasher_init(hasher, config->hash, config->seed);
}

/* -------------------------------------------------------------- what the kind says */

/*
 * Kinds check their geometry and options when they are made. So a configuration is tried: with a
 * few bytes of memory, which is enough to get past the checks of a filter of any size.
 */
#define TRIAL_BYTES 65536

static void *trial_allocate(void *ctx, size_t size) {
  size_t *left = ctx;
  if (size > *left) return NULL;
  void *memory = besom__allocate(&besom__default_allocator, size);
  if (memory) *left -= size;
  return memory;
}

static void trial_release(void *ctx, void *memory, size_t size) {
  *(size_t *)ctx += size;
  besom__release(&besom__default_allocator, memory, size);
}

static besom_status no_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)ctx, (void)key, (void)weight;
  return BESOM_END;
}

static besom_status rewind_nothing(void *ctx) {
  (void)ctx;
  return BESOM_OK;
}

/* OK if a filter can be made, as far as it can be told without keys and without memory. */
static besom_status try_config(const besom_config *config, const struct besom_kind *kind) {
  static const uint8_t seed[16];
  const besom_source nothing = {.next = no_key, .rewind = rewind_nothing};
  size_t left = TRIAL_BYTES;
  const besom_allocator bounded = {trial_allocate, trial_release, &left};
  besom_config c = *config;
  besom_filter *f = NULL;
  c.allocator = &bounded;
  c.seed = seed;
  c.flags &= BESOM_SET;
  besom_status status = besom__config_in_range(&c, NULL);
  if (status != BESOM_OK) return status;
  status =
      kind->create ? besom_create(&c, &f) : besom_build(&c, &(besom_input){.yes = &nothing}, &f);
  besom_free(f);
  return status == BESOM_NO_MEMORY || status == BESOM_FULL ? BESOM_OK : status;
}

/* The tables of options say what is wrong with them, but for a text. */
static besom_status explain_options(const besom_config *c, const struct besom_kind *kind,
                                    struct explanation *why) {
  besom_status status = besom__kind_options_check(kind, c->options, why);
  if (status != BESOM_OK) return status;
  return besom__explain(why, BESOM_BAD_OPTION,
                        "options \"%.60s\": kind \"%s\" cannot read its text", c->options,
                        kind->name);
}

/* The accepted value that is nearest to a refused one, between that and an accepted one. */
static double nearest(const besom_config *c, const struct besom_kind *kind, bool fpr,
                      double refused, double accepted) {
  besom_config trial = *c;
  for (int i = 0; i < 40; i++) {
    double middle = fpr ? sqrt(refused * accepted) : (refused + accepted) / 2;
    *(fpr ? &trial.fpr : &trial.bits_per_key) = middle;
    *(try_config(&trial, kind) == BESOM_OK ? &accepted : &refused) = middle;
  }
  return accepted;
}

static besom_status explain_fpr(const besom_config *c, const struct besom_kind *kind,
                                struct explanation *why) {
  besom_config trial = *c;
  trial.fpr = DEFAULT_FPR;
  if (c->fpr == 0 || try_config(&trial, kind) != BESOM_OK) return BESOM_OK;
  return besom__explain(why, BESOM_INVALID, "fpr is %g: kind \"%s\" of this size reaches %.2g",
                        c->fpr, kind->name, nearest(c, kind, true, c->fpr, DEFAULT_FPR));
}

static besom_status explain_bits(const besom_config *c, const struct besom_kind *kind,
                                 struct explanation *why) {
  besom_config trial = *c;
  for (trial.bits_per_key = 1; c->bits_per_key != 0 && trial.bits_per_key <= 1024;
       trial.bits_per_key *= 2)
    if (try_config(&trial, kind) == BESOM_OK)
      return besom__explain(why, BESOM_INVALID,
                            "bits_per_key is %g: kind \"%s\" of this size takes %.3g",
                            c->bits_per_key, kind->name,
                            nearest(c, kind, false, c->bits_per_key, trial.bits_per_key));
  return BESOM_OK;
}

static void drop_value_bits(besom_config *c) {
  c->value_bits = 0;
}

static void drop_reserve(besom_config *c) {
  c->reserve = 0;
}

static void drop_max_capacity(besom_config *c) {
  c->max_capacity = 0;
}

static void drop_repeated(besom_config *c) {
  c->repeated = 0;
  c->copies = 0;
}

static void drop_width(besom_config *c) {
  c->width = 0;
}

static void drop_slots(besom_config *c) {
  c->capacity = c->slots;
  c->slots = c->width = 0;
}

/* A member that the kind does not take, or not with this value: without it the trial succeeds. */
static besom_status explain_member(const besom_config *c, const struct besom_kind *kind,
                                   struct explanation *why) {
  static const struct {
    const char *name;
    void (*drop)(besom_config *c);
  } members[] = {{"value_bits", drop_value_bits},
                 {"reserve", drop_reserve},
                 {"max_capacity", drop_max_capacity},
                 {"repeated", drop_repeated},
                 {"width", drop_width},
                 {"slots", drop_slots}};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    besom_config without = *c;
    members[i].drop(&without);
    if (try_config(&without, kind) == BESOM_OK)
      return besom__explain(why, BESOM_INVALID,
                            "%s: kind \"%s\" does not take it, or not with this value",
                            members[i].name, kind->name);
  }
  return BESOM_OK;
}

/* A maplet needs values. */
static besom_status explain_values(const besom_config *c, const struct besom_kind *kind,
                                   struct explanation *why) {
  besom_config with = *c;
  with.value_bits = 8;
  if (c->value_bits || !kind->maplet || try_config(&with, kind) != BESOM_OK) return BESOM_OK;
  return besom__explain(why, BESOM_INVALID, "value_bits is 0: a maplet needs 1 to 32");
}

static besom_status explain_invalid(const besom_config *c, const struct besom_kind *kind,
                                    struct explanation *why) {
  besom_status status = explain_values(c, kind, why);
  if (status == BESOM_OK) status = explain_member(c, kind, why);
  if (status == BESOM_OK) status = explain_fpr(c, kind, why);
  if (status == BESOM_OK) status = explain_bits(c, kind, why);
  if (status != BESOM_OK) return status;
  besom_config trial = *c;
  trial.bits_per_key = 0;
  if (c->bits_per_key != 0 && try_config(&trial, kind) == BESOM_OK) {
    if (!kind->create) return BESOM_OK; /* it has a use for bits when it has keys: not checked */
    return besom__explain(why, BESOM_INVALID,
                          "bits_per_key is %g: kind \"%s\" takes more than 1024 for so few keys",
                          c->bits_per_key, kind->name);
  }
  return besom__explain(why, BESOM_INVALID, "kind \"%s\" has no filter of this size and fpr",
                        kind->name);
}

static besom_status check_kind(const besom_config *c, const struct besom_kind *kind,
                               struct explanation *why) {
  static const uint8_t seed[16];
  struct hasher hasher;
  if (c->flags & BESOM_CONCURRENT && !kind->concurrent)
    return besom__explain(why, BESOM_UNSUPPORTED, "kind \"%s\" has no concurrent form", kind->name);
  if (c->flags & BESOM_SET && kind->refuses_set)
    return besom__explain(why, BESOM_UNSUPPORTED,
                          "kind \"%s\" cannot be a set: its reports change fingerprints",
                          kind->name);
  if (besom__hasher_init(&hasher, c->hash, seed) != BESOM_OK)
    return besom__explain(why, BESOM_BAD_OPTION, "hash \"%.40s\" is unknown: xxh3 or sip", c->hash);
  besom_status status = try_config(c, kind);
  if (status == BESOM_BAD_OPTION) return explain_options(c, kind, why);
  if (status == BESOM_INVALID) return explain_invalid(c, kind, why);
  return status == BESOM_OK ? status : besom__explain(why, status, "%s", besom_strerror(status));
}

besom_status besom_config_check_sized(const besom_config *config, size_t config_size, char *text,
                                      size_t size) {
  if (!text && size) return BESOM_INVALID;
  struct explanation why = {text, size};
  if (!config) return besom__explain(&why, BESOM_INVALID, "config is NULL");
  besom_config c;
  const struct besom_kind *kind;
  besom_copy_struct(&c, sizeof c, config, config_size);
  if (size) *text = 0;
  besom_status status = find_kind(&c, &kind, &why);
  if (status == BESOM_OK) status = besom__config_in_range(&c, &why);
  return status == BESOM_OK ? check_kind(&c, kind, &why) : status;
}
