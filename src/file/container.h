/* The container of a saved filter (docs/format.md): a header, and the sections of its kind. */
#ifndef BESOM_FILE_CONTAINER_H
#define BESOM_FILE_CONTAINER_H

#include "besom.h"

/*
 * Loads a filter from the bytes of a container. If mapped is set, the bytes are a mapping; on
 * success the filter owns the mapping and uses its bits in place. flags: as for besom_open. If
 * the result is CORRUPT, *fault says why; fault may be NULL. Errors: those of besom_load.
 */
besom_status besom__container_load(const uint8_t *data, size_t len,
                                   const besom_allocator *allocator, bool mapped, unsigned flags,
                                   besom_fault *fault, besom_filter **out);

/*
 * Corrects the length and every checksum of a plausible container. For tests and fuzzers that check
 * the code behind the checksums.
 */
void besom__container_fix_checksums(uint8_t *data, size_t len);

#endif
