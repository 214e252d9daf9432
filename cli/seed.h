/* The --seed option: the seed of the hash in hexadecimal. */
#ifndef CLI_SEED_H
#define CLI_SEED_H

#include <stdint.h>

enum { SEED_BYTES = 16 };

/* Parses 32 hex digits. Returns seed, or NULL (the library draws a random seed) if hex is NULL. */
const uint8_t *seed_read(const char *hex, uint8_t seed[SEED_BYTES]);

#endif
