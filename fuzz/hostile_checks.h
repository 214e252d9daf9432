/*
 * hostile_checks.h - what must hold of filters from hostile bytes. The fuzz targets define and use
 * these checks; the soak (tests/quality/soak/hostile.c) uses them, too.
 */
#ifndef BESOM_FUZZ_HOSTILE_CHECKS_H
#define BESOM_FUZZ_HOSTILE_CHECKS_H

#include "besom.h"
#include "support/keys.h"

/* Keys that may be members: those of the corpus, and those of the filters of the soak. */
static inline uint64_t possible_member(uint64_t i) {
  return key_u64(i % 2 ? MEMBERS : OTHER_MEMBERS, i / 2);
}

/*
 * fuzz_load.c: f was loaded from these bytes, with all checks. It is valid, saves as the same
 * bytes, and works. f changes; it is validated after every change, or after every kind of change
 * only.
 */
void check_loaded(besom_filter *f, const uint8_t *data, size_t size, bool every_change);

/* fuzz_open.c: f was opened with all checks, and answers as `loaded` does. */
void check_checked(besom_filter *f, const besom_filter *loaded, bool mapped);

/* fuzz_open.c: f was opened as TRUSTED or with CHECKSUMS only. Every call ends without a crash. */
void check_unchecked(besom_filter *f, bool mapped);

/*
 * fuzz_open.c: besom_open for bytes in memory, in a block of exactly this size: the sanitizer sees
 * a read past its end also with BESOM_OPEN_MMAP, which uses the block in place. The block must be
 * aligned as sections are, and outlive the filter.
 */
besom_status open_block(const uint8_t *block, size_t size, unsigned flags, besom_filter **out);

/*
 * fuzz_patch.c: a patch for the filter whose saved bytes have this checksum, which is written into
 * the patch: a mutation that this check rejects would not reach the code after it. What besom_patch
 * makes of it is valid.
 */
void check_patch(const besom_filter *old, uint64_t old_checksum, uint8_t *patch, size_t size);

#endif
