#include "support/checksums.h"

#include "core/bits.h"
#include "core/sections.h"

enum { HEADER = 64, LENGTH_AT = 32, CHECKSUM_AT = 56, ROW = 32 };

void fix_checksums(uint8_t *data, size_t len) {
  if (len < HEADER) return;
  unsigned n = data[12];
  if (n > MAX_SECTIONS || len < HEADER + ROW * (size_t)n) return;
  for (unsigned i = 0; i < n; i++) {
    uint8_t *row = data + HEADER + ROW * i;
    uint64_t offset = load64(row + 8), size = load64(row + 16);
    if (offset > len || size > len - offset) continue;
    store64(row + 24, besom__checksum(data + offset, (size_t)size));
  }
  store64(data + LENGTH_AT, len);
  uint8_t sums[16];
  store64(sums, besom__checksum(data, CHECKSUM_AT));
  store64(sums + 8, besom__checksum(data + HEADER, ROW * (size_t)n));
  store64(data + CHECKSUM_AT, besom__checksum(sums, sizeof sums));
}
