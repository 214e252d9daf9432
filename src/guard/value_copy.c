/* Copies of values. The allocation begins with its own size, which the allocator needs to free
   it. */
#include "guard/guard.h"

enum { COPY_HEAD_BYTES = 8 };

besom_status besom__value_copy(const besom_guard *g, besom_bytes from, besom_bytes *out) {
  if (from.len > SIZE_MAX - COPY_HEAD_BYTES) return BESOM_NO_MEMORY;
  uint64_t size = (uint64_t)from.len + COPY_HEAD_BYTES;
  uint8_t *copy = besom__allocate(&g->allocator, (size_t)size);
  if (!copy) return BESOM_NO_MEMORY;
  memcpy(copy, &size, sizeof size);
  if (from.len) memcpy(copy + COPY_HEAD_BYTES, from.data, from.len);
  *out = (besom_bytes){copy + COPY_HEAD_BYTES, from.len};
  return BESOM_OK;
}

void besom_guard_release(besom_guard *g, besom_bytes *value) {
  if (!g || !value || !value->data) return;
  uint8_t *copy = (uint8_t *)(uintptr_t)value->data - COPY_HEAD_BYTES;
  uint64_t size;
  memcpy(&size, copy, sizeof size);
  besom__release(&g->allocator, copy, (size_t)size);
  *value = (besom_bytes){NULL, 0};
}
