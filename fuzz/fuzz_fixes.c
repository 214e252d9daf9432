/*
 * Hostile files of fixes: whatever is accepted has the keys that it tells, and only complete lines
 * count.
 */
#include <string.h>

#include "besom_fixes.h"
#include "support/demand.h"

enum { MAX_INPUT = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  besom_fixes *x = NULL;
  size_t bad = 0;
  if (size > MAX_INPUT) return 0;
  besom_status status = besom_fixes_parse(data, size, &bad, &x);
  if (status != BESOM_OK) {
    demand(status == BESOM_CORRUPT && bad > 0 && !x);
    return 0;
  }
  besom_fixes_information info;
  besom_fixes_info(x, &info);
  demand(info.bytes <= size && strlen(info.version) < BESOM_FIXES_VERSION_BYTES);
  for (size_t i = 0; i < info.keys; i++) {
    besom_bytes key = besom_fixes_key(x, i);
    demand(key.len > 0 && besom_fixes_has(x, key.data, key.len));
  }
  besom_fixes *again = NULL;
  demand(besom_fixes_parse(data, info.bytes, &bad, &again) == BESOM_OK);
  besom_fixes_info(again, &info);
  besom_fixes_close(again);
  besom_fixes_close(x);
  return 0;
}
