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
#include "patch_subject.h"
#include "support/demand.h"
#include "support/memory_sink.h"

enum { OLD_CHECKSUM_AT = 16, PATCH_HEADER_BYTES = 40, MAX_INPUT = 1 << 13 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t patch[MAX_INPUT];
  if (size < 1 + PATCH_HEADER_BYTES || size > MAX_INPUT) return 0;
  besom_filter *old = patch_subject(data[0]), *fresh = NULL;
  memory_sink saved;
  memory_sink_init(&saved);
  demand(besom_save(old, &saved.api) == BESOM_OK);
  memcpy(patch, data + 1, size - 1);
  store64(patch + OLD_CHECKSUM_AT, besom__checksum(saved.data, saved.len));
  if (besom_patch(old, patch, size - 1, &fresh) == BESOM_OK)
    demand(besom_validate(fresh, NULL) == BESOM_OK);
  for (size_t i = 0; i < PATCH_KEYS; i++) demand(besom_contains_u64(old, key_u64(MEMBERS, i)));
  besom_free(fresh);
  besom_free(old);
  memory_sink_close(&saved);
  return 0;
}
