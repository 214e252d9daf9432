/* From a configuration to a layout, bins and bits of a remainder. */
#include <math.h>

#include "partition/pqf.h"

uint64_t besom__pqf_capacity(const struct bin_layout *l, uint64_t bins) {
  return bins * l->keys_of_ten / 10;
}

/*
 * Bins of the backyard are full to about 90 % when the bins of the front have their capacity. Small
 * tables have more of them, because the number of entries that spill varies by the square root of
 * the bins.
 */
uint64_t besom__pqf_yards(const struct bin_layout *l, uint64_t bins) {
  double yards = ceil((double)bins / l->fan + 0.2 * sqrt((double)bins));
  return yards < 2 ? 2 : (uint64_t)yards;
}

uint64_t besom__pqf_bytes(const struct bin_layout *l, uint64_t bins) {
  return YARD_BYTES * besom__pqf_yards(l, bins) + l->bytes * bins;
}

bool besom__pqf_is_addressable(const struct bin_layout *l, uint64_t bins, unsigned width) {
  return bins <= (UINT64_MAX >> width) / l->minis;
}

double besom__pqf_fpr(const struct bin_layout *l, uint64_t bins, unsigned width, uint64_t keys) {
  return -expm1(-ldexp((double)keys / ((double)bins * l->minis), -(int)width));
}

static uint64_t bins_for(const struct bin_layout *l, uint64_t capacity) {
  return (10 * capacity + l->keys_of_ten - 1) / l->keys_of_ten;
}

/*
 * A filter that will grow starts as its final table, halved as often as its capacity allows. Each
 * doubling takes a bit of the remainders.
 */
static unsigned pqf_doublings(const besom_config *config, uint64_t *capacity) {
  unsigned n = 0;
  if (config->max_capacity <= config->capacity) return 0;
  while (*capacity > 1 && (*capacity + 1) / 2 >= config->capacity) {
    *capacity = (*capacity + 1) / 2;
    n++;
  }
  return n;
}

/* At the last size. */
static bool pqf_rate_fits(const struct pqf_geometry *g, unsigned doublings, double fpr) {
  const struct bin_layout *l = &bin_layouts[g->layout];
  return g->width > doublings && besom__pqf_fpr(l, g->bins << doublings, g->width - doublings,
                                                g->capacity << doublings) <= fpr;
}

static bool pqf_budget_fits(const struct pqf_geometry *g, unsigned doublings,
                            const besom_config *config) {
  double bytes = (double)besom__pqf_bytes(&bin_layouts[g->layout], g->bins),
         budget = config->bits_per_key * (double)config->capacity / 8 - (double)sizeof(struct pqf);
  return g->width > doublings && bytes <= budget;
}

/* The narrowest layout with the rate; the widest one within the bits per key. */
besom_status besom__pqf_geometry(const besom_config *config, struct pqf_geometry *out) {
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity,
           capacity = most;
  unsigned doublings = pqf_doublings(config, &capacity);
  bool by_bits = config->bits_per_key != 0;
  double fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  for (unsigned i = 0; i < BIN_LAYOUTS; i++) {
    unsigned layout = by_bits ? BIN_LAYOUTS - 1 - i : i;
    const struct bin_layout *l = &bin_layouts[layout];
    *out = (struct pqf_geometry){layout, l->bits, bins_for(l, most) >> doublings, capacity};
    while (besom__pqf_capacity(l, out->bins) < capacity) out->bins++;
    if (by_bits ? !pqf_budget_fits(out, doublings, config) : !pqf_rate_fits(out, doublings, fpr))
      continue;
    if (besom__pqf_is_addressable(l, out->bins, out->width)) return BESOM_OK;
    if (besom__pqf_bytes(l, out->bins) >> 40) return BESOM_NO_MEMORY;
  }
  return BESOM_INVALID;
}

double besom__pqf_bits_per_key(double keys, double *fpr) {
  struct pqf_geometry g;
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  besom_config config = {.capacity = (uint64_t)keys, .fpr = *fpr};
  if (besom__pqf_geometry(&config, &g) != BESOM_OK) return 0;
  const struct bin_layout *l = &bin_layouts[g.layout];
  *fpr = besom__pqf_fpr(l, g.bins, g.width, g.capacity);
  return 8 * (double)besom__pqf_bytes(l, g.bins) / keys;
}
