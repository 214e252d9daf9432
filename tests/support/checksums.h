/* checksums.h - saved filters with correct checksums, for tests of code behind the checksums. */
#ifndef BESOM_TESTS_CHECKSUMS_H
#define BESOM_TESTS_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

/* Corrects the length and every checksum of a plausible container (docs/format.md). */
void fix_checksums(uint8_t *data, size_t len);

#endif
