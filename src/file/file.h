/* The container of a saved filter (docs/format.md): a header, and the sections of its kind. */
#ifndef BESOM_FILE_FILE_H
#define BESOM_FILE_FILE_H

#include "besom.h"

/*
 * A filter from the bytes of a container. mapped: the bytes are a mapping that the filter takes over and
 * keeps its bits in, if this succeeds. flags: those of besom_open_mmap. fault: what is wrong, if it is
 * CORRUPT; may be NULL.
 */
besom_status besom__file_load(const uint8_t *data, size_t len, const besom_allocator *allocator,
                              bool mapped, unsigned flags, besom_fault *fault, besom_filter **out);

/* Makes every checksum of a plausible container right, for fuzzing what lies behind them. */
void besom__file_repair(uint8_t *data, size_t len);

#endif
