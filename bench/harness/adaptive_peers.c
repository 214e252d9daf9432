#include "harness/adaptive_peers.h"

#include <math.h>
#include <string.h>

#include "kinds.h"

static const double load = 0.9, highest_cuckoo_load = 0.95;

const char *const adaptive_peer_kinds[ADAPTIVE_PEERS] = {"aqf", "taf", "acf-cyclic", "qf", "cf"};

uint64_t peer_members(uint64_t slots) {
  return (uint64_t)(load * (double)slots);
}

uint64_t peer_slots(uint64_t members) {
  return (uint64_t)ceil((double)members / load);
}

bool kind_adapts_with_store(const char *kind) {
  return kind_named(kind)->abilities & BESOM_CAN_MATCH;
}

static bool has_slots(const besom_config *config) {
  besom_filter *f;
  if (besom_create(config, &f) != BESOM_OK) return false;
  besom_free(f);
  return true;
}

besom_config peer_config(const char *kind, uint64_t slots, uint32_t width, const uint8_t seed[16]) {
  besom_config config = {.kind = kind, .slots = slots, .width = width, .seed = seed};
  if (has_slots(&config)) return config;
  config.slots = config.width = 0;
  /* As many slots as the others have. */
  config.capacity = (uint64_t)(highest_cuckoo_load * (double)slots);
  config.fpr = ldexp(1, -(int)width);
  if (strcmp(kind, adaptive_peer_kinds[ACF]) == 0) config.options = "bucket_slots=4";
  return config;
}

tested_filter peer_filter(const char *kind, uint64_t slots, const key_stream *members, uint64_t n,
                          uint64_t filter_seed, driver *d) {
  uint8_t seed[16];
  hash_seed(filter_seed, seed);
  besom_config config = peer_config(kind, slots, PEER_REMAINDER_BITS, seed);
  return tested_filter_create_from(kind_adapts_with_store(kind) ? ADAPT_STORE : ADAPT_NEVER,
                                   &config, members, n, d);
}
