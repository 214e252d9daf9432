#include "harness/telescoping_peers.h"

#include <math.h>

#include "fail.h"
#include "report.h"

static const double cuckoo_load = 0.95;

const contender contenders[CONTENDERS] = {
    [CF] = {"cf", "cf", NULL, NEVER, 0.95, 11, 8},
    [EXAF] = {"exaf", "exaf", NULL, STORE, 0.95, 8, 0},
    [TAF] = {"taf", "taf", NULL, STORE, 0.95, 8, 0},
    [ACF1] = {"acf1", "acf-cyclic", "selector_bits=1", STORE, 0.95, 10, 4},
    [ACF2] = {"acf2", "acf-cyclic", "selector_bits=2", STORE, 0.95, 9, 4},
    [ACF3] = {"acf3", "acf-cyclic", "selector_bits=3", STORE, 0.95, 8, 4},
    [ACF_SWAPPING] = {"acf_swapping", "acf-swapping", NULL, STORE, 0.95, 11, 8},
    [ACF_CUCKOOING] = {"acf_cuckooing", "acf-cuckooing", NULL, STORE, 0.95, 11, 4},
    [QF] = {"qf", "qf", NULL, NEVER, 0.95, 8, 0},
    [AQF] = {"aqf", "aqf", NULL, STORE, 0.9, 8, 0},
    [UTAF] = {"utaf", "utaf", NULL, STORE, 0.95, 8, 0},
    [BROOM] = {"broom", "broom", NULL, STORE, 0.95, 8, 0},
    [VACUUM] = {"vacuum", "vacuum", NULL, NEVER, 0.95, 11, 8},
};

/* Cuckoo kinds are made by a rate: one that fingerprints of the wanted width keep, and no shorter ones. */
static double rate_of_width(const contender *who) {
  return 1.2 * cuckoo_load * who->looked_at * ldexp(1, -(int)who->width);
}

besom_config contender_config(const contender *who, uint64_t slots, const uint8_t seed[16]) {
  besom_config config = {.kind = who->kind, .options = who->options, .seed = seed};
  if (who->looked_at) {
    config.capacity = (uint64_t)(cuckoo_load * (double)slots);
    config.fpr = rate_of_width(who);
  } else {
    config.slots = slots;
    config.width = who->width;
  }
  return config;
}

learner contender_join(const contender *who, uint64_t slots, uint64_t members, uint64_t seed,
                       driver *d) {
  uint8_t bytes[16];
  hash_seed(seed, bytes);
  besom_config config = contender_config(who, slots, bytes);
  return learner_create_as(who->way, &config, seed, members, d);
}

learner contender_join_full(const contender *who, uint64_t members, uint64_t seed, driver *d) {
  return contender_join(who, (uint64_t)((double)members / who->load) + 2, members, seed, d);
}

ratings contenders_rate(const queries *q, unsigned ratio, uint64_t seeds, driver *d) {
  ratings sum = {0};
  for (int c = 0; c < RATED; c++) {
    progress("%s, A/S = %u: %s", q->name, ratio, contenders[c].name);
    for (uint64_t i = 0; i < seeds; i++) {
      uint64_t seed = random_at(BENCH_SEED, i);
      learner l = contender_join_full(&contenders[c], q->different / ratio + 1, seed, d);
      sum.rates[c] += (double)queries_ask(q, &l, seed) / (double)q->n / (double)seeds;
      sum.rebuilds[c] += (double)learner_stats(&l).rebuilds / (double)seeds;
      learner_free(&l);
    }
  }
  return sum;
}
