/*
 * Hostile patches: if besom_patch accepts the bytes, the result is a valid filter; in every case
 * the old filter is unchanged. The first byte selects the filter to patch. The test writes the
 * right checksum of the old filter into the patch: a mutation that this check rejects would not
 * reach the code after it.
 */
#include <string.h>

#include "besom.h"
#include "core/bits.h"
#include "core/byte_io.h"
#include "support/demand.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { KEYS = 200, OLD_CHECKSUM_AT = 16, PATCH_HEADER_BYTES = 40, MAX_INPUT = 1 << 13 };

static const char *const kinds[] = {"aqf", "qf", "bloom", "exaf", "cf", "updated"};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct list {
  uint64_t n, at, key;
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  l->key = key_u64(MEMBERS, l->at++);
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

/* With one update, which adds half of the keys. */
static besom_filter *make_updated(besom_config config) {
  list some = {.n = KEYS / 2}, all = {.n = KEYS};
  besom_source from_some = {.next = next, .ctx = &some}, from_all = {.next = next, .ctx = &all};
  besom_filter *base = NULL, *f = NULL;
  demand(besom_build(&config, &(besom_input){.yes = &from_some}, &base) == BESOM_OK);
  demand(besom_build(NULL, &(besom_input){.yes = &from_all, .update = base}, &f) == BESOM_OK);
  besom_free(base);
  return f;
}

static besom_filter *make_old(uint8_t choice) {
  static const uint8_t seed[16] = {1, 2, 3};
  besom_config config = {
      .kind = kinds[choice % KINDS], .capacity = 2 * KEYS, .fpr = 1.0 / 64, .seed = seed};
  besom_filter *f = NULL;
  if (strcmp(config.kind, "updated") == 0) return make_updated(config);
  demand(besom_create(&config, &f) == BESOM_OK);
  for (size_t i = 0; i < KEYS; i++) demand(besom_insert_u64(f, key_u64(MEMBERS, i)) == BESOM_OK);
  return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t patch[MAX_INPUT];
  if (size < 1 + PATCH_HEADER_BYTES || size > MAX_INPUT) return 0;
  besom_filter *old = make_old(data[0]), *fresh = NULL;
  memory_sink saved;
  memory_sink_init(&saved);
  demand(besom_save(old, &saved.api) == BESOM_OK);
  memcpy(patch, data + 1, size - 1);
  store64(patch + OLD_CHECKSUM_AT, besom__checksum(saved.data, saved.len));
  if (besom_patch(old, patch, size - 1, &fresh) == BESOM_OK)
    demand(besom_validate(fresh, NULL) == BESOM_OK);
  for (size_t i = 0; i < KEYS; i++) demand(besom_contains_u64(old, key_u64(MEMBERS, i)));
  besom_free(fresh);
  besom_free(old);
  memory_sink_close(&saved);
  return 0;
}
