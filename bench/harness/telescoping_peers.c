#include "harness/telescoping_peers.h"

#include <math.h>

#include "counters.h"
#include "fail.h"
#include "report.h"

static const double cuckoo_load = 0.95;

const telescoping_peer telescoping_peers[TELESCOPING_PEERS] = {
    [CF] = {"cf", "cf", NULL, ADAPT_NEVER, 0.95, 11, 8},
    [EXAF] = {"exaf", "exaf", "form=published", ADAPT_STORE, 0.95, 8, 0},
    [TAF] = {"taf", "taf", "form=published", ADAPT_STORE, 0.95, 8, 0},
    [ACF1] = {"acf1", "acf-cyclic", "selector_bits=1", ADAPT_STORE, 0.95, 10, 4},
    [ACF2] = {"acf2", "acf-cyclic", "selector_bits=2", ADAPT_STORE, 0.95, 9, 4},
    [ACF3] = {"acf3", "acf-cyclic", "selector_bits=3", ADAPT_STORE, 0.95, 8, 4},
    [ACF_SWAPPING] = {"acf_swapping", "acf-swapping", NULL, ADAPT_STORE, 0.95, 11, 8},
    [ACF_CUCKOOING] = {"acf_cuckooing", "acf-cuckooing", NULL, ADAPT_STORE, 0.95, 11, 4},
    [QF] = {"qf", "qf", NULL, ADAPT_NEVER, 0.95, 8, 0},
    [AQF] = {"aqf", "aqf", "form=published", ADAPT_STORE, 0.7, 8, 0, .reserve = 0.25,
             .rekeys = true},
    [UTAF] = {"utaf", "utaf", "form=published", ADAPT_STORE, 0.95, 8, 0},
    [BROOM] = {"broom", "broom", NULL, ADAPT_STORE, 0.95, 8, 0},
    [EXAF_DEFAULT] = {"exaf_default", "exaf", NULL, ADAPT_STORE, 0.95, 8, 0},
    [TAF_DEFAULT] = {"taf_default", "taf", NULL, ADAPT_STORE, 0.95, 8, 0},
    [VACUUM] = {"vacuum", "vacuum", NULL, ADAPT_NEVER, 0.95, 11, 8},
};

/*
 * Cuckoo kinds are configured by FPR: one that fingerprints of the wanted width meet and shorter
 * ones do not.
 */
static double fpr_of_width(const telescoping_peer *peer) {
  return 1.2 * cuckoo_load * peer->slots_per_query * ldexp(1, -(int)peer->width);
}

besom_config telescoping_config(const telescoping_peer *peer, uint64_t slots,
                                const uint8_t seed[16]) {
  besom_config config = {.kind = peer->kind, .options = peer->options, .seed = seed};
  if (peer->slots_per_query) {
    config.capacity = (uint64_t)(cuckoo_load * (double)slots);
    config.fpr = fpr_of_width(peer);
  } else {
    config.slots = slots;
    config.width = peer->width;
    config.reserve = peer->reserve;
  }
  return config;
}

tested_filter telescoping_filter(const telescoping_peer *peer, uint64_t slots, uint64_t members,
                                 uint64_t seed, driver *d) {
  uint8_t bytes[16];
  hash_seed(seed, bytes);
  besom_config config = telescoping_config(peer, slots, bytes);
  if (peer->rekeys) return tested_filter_create_rekeying(&config, seed, members);
  return tested_filter_create_with(peer->mode, &config, seed, members, d);
}

tested_filter telescoping_filter_full(const telescoping_peer *peer, uint64_t members, uint64_t seed,
                                      driver *d) {
  return telescoping_filter(peer, (uint64_t)((double)members / peer->load) + 2, members, seed, d);
}

peer_rates telescoping_peers_fpr(const queries *q, unsigned ratio, uint64_t seeds, driver *d) {
  peer_rates sum = {0};
  for (int c = 0; c < COMPARED_PEERS; c++) {
    progress("%s, A/S = %u: %s", q->name, ratio, telescoping_peers[c].name);
    for (uint64_t i = 0; i < seeds; i++) {
      uint64_t seed = random_at(BENCH_SEED, i);
      tested_filter tested =
          telescoping_filter_full(&telescoping_peers[c], q->distinct / ratio + 1, seed, d);
      sum.rates[c] += (double)queries_run(q, &tested, seed) / (double)q->n / (double)seeds;
      sum.rebuilds[c] += (double)counter_of(tested.filter, "rebuilds") / (double)seeds;
      tested_filter_free(&tested);
    }
  }
  return sum;
}
