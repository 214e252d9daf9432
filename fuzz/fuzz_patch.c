/*
 * Hostile patches: if besom_patch accepts the bytes, the result is a valid filter; in every case
 * the old filter is unchanged. The first byte selects the filter to patch.
 */
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "core/bits.h"
#include "core/byte_io.h"
#include "hostile_checks.h"
#include "patch_subject.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/memory_sink.h"

enum { OLD_CHECKSUM_AT = 16, PATCH_HEADER_BYTES = 40, MAX_INPUT = 1 << 13 };

void check_patch(const besom_filter *old, uint64_t old_checksum, uint8_t *patch, size_t size) {
  besom_filter *fresh = NULL;
  if (size >= PATCH_HEADER_BYTES) store64(patch + OLD_CHECKSUM_AT, old_checksum);
  if (besom_patch(old, patch, size, &fresh) == BESOM_OK)
    demand(besom_validate(fresh, NULL) == BESOM_OK);
  besom_free(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 || size > MAX_INPUT) return 0;
  besom_filter *old = patch_subject(data[0]);
  memory_sink saved;
  memory_sink_init(&saved);
  demand(besom_save(old, &saved.api) == BESOM_OK);
  uint8_t *patch = heap_array(size - 1, 1);
  memcpy(patch, data + 1, size - 1);
  check_patch(old, besom__checksum(saved.data, saved.len), patch, size - 1);
  for (size_t i = 0; i < PATCH_KEYS; i++) demand(besom_contains_u64(old, key_u64(MEMBERS, i)));
  free(patch);
  besom_free(old);
  memory_sink_close(&saved);
  return 0;
}
