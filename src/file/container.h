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

/* The section table of a container that besom_save has written. Returns how many there are. */
struct saved_section {
  uint32_t tag, owner;
  uint64_t offset, len, checksum;
};
unsigned besom__saved_sections(const uint8_t *data, struct saved_section *out); /* MAX_SECTIONS */

/*
 * The bytes of the filter that are in huge pages now, of all blocks of 2 MB or more that it would
 * save. False if it has none, or if the system does not tell (core/system/huge_pages.h).
 */
bool besom__huge_page_bytes(const besom_filter *f, uint64_t *bytes);

#endif
