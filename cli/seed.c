#include "seed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

const uint8_t *seed_read(const char *hex, uint8_t seed[SEED_BYTES]) {
  if (!hex) return NULL;
  if (strlen(hex) != 2 * SEED_BYTES)
    usage_error("--seed: expected %d hex digits, got %zu characters", 2 * SEED_BYTES, strlen(hex));
  for (int i = 0; i < SEED_BYTES; i++) {
    char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
    if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
      usage_error("--seed: '%s' is not hexadecimal", pair);
    seed[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return seed;
}
