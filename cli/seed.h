/* The key of a filter's hash, as people write it. */
#ifndef CLI_SEED_H
#define CLI_SEED_H

#include <stdint.h>

enum { SEED_BYTES = 16 };

/* From 32 hex digits; NULL, which lets the library choose, for NULL. */
const uint8_t *seed_read(const char *hex, uint8_t seed[SEED_BYTES]);

#endif
