/* Values on loan: copies, with their size in front for the allocator, when they come back. */
#include "guard/guard.h"

enum { LOAN_HEAD_BYTES = 8 };

besom_status besom__guard_lend(const besom_guard *g, besom_bytes from, besom_bytes *out) {
  if (from.len > SIZE_MAX - LOAN_HEAD_BYTES) return BESOM_NO_MEMORY;
  uint64_t size = (uint64_t)from.len + LOAN_HEAD_BYTES;
  uint8_t *loan = besom__allocate(&g->allocator, (size_t)size);
  if (!loan) return BESOM_NO_MEMORY;
  memcpy(loan, &size, sizeof size);
  if (from.len) memcpy(loan + LOAN_HEAD_BYTES, from.data, from.len);
  *out = (besom_bytes){loan + LOAN_HEAD_BYTES, from.len};
  return BESOM_OK;
}

void besom_guard_release(besom_guard *g, besom_bytes *value) {
  if (!g || !value || !value->data) return;
  uint8_t *loan = (uint8_t *)(uintptr_t)value->data - LOAN_HEAD_BYTES;
  uint64_t size;
  memcpy(&size, loan, sizeof size);
  besom__release(&g->allocator, loan, (size_t)size);
  *value = (besom_bytes){NULL, 0};
}
