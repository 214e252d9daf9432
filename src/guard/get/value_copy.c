/*
 * Copies of values. A block begins with its own size, which the allocator needs to free it. The
 * guard keeps one small block that was released, and the next copy takes it: a caller that releases
 * a value before its next get allocates only once.
 */
#include "guard/get/value_copy.h"

enum { HEAD_BYTES = 8, BLOCK_UNIT = 64, MAX_SPARE = 1024 };

static uint64_t value_copy_size_of(const void *block) {
  uint64_t size;
  memcpy(&size, block, sizeof size);
  return size;
}

static void free_block(const besom_guard *g, void *block) {
  if (block) besom__release(&g->allocator, block, value_copy_size_of(block));
}

/* Readers of several threads take the spare block and leave one. */
static void *exchange_spare(besom_guard *g, void *block) {
  if (g->locks) return __atomic_exchange_n(&g->spare_value, block, __ATOMIC_ACQ_REL);
  void *spare = g->spare_value;
  g->spare_value = block;
  return spare;
}

static uint8_t *new_block(besom_guard *g, size_t len) {
  if (len > SIZE_MAX - HEAD_BYTES - BLOCK_UNIT) return NULL;
  uint64_t size = (len + HEAD_BYTES + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
  void *block = size <= MAX_SPARE ? exchange_spare(g, NULL) : NULL;
  if (block) {
    if (value_copy_size_of(block) >= size) return block;
    free_block(g, block);
  }
  block = besom__allocate(&g->allocator, size);
  if (block) memcpy(block, &size, sizeof size);
  return block;
}

besom_status besom__value_copy(besom_guard *g, besom_bytes from, besom_bytes *out) {
  uint8_t *block = new_block(g, from.len);
  if (!block) return BESOM_NO_MEMORY;
  if (from.len) memcpy(block + HEAD_BYTES, from.data, from.len);
  *out = (besom_bytes){block + HEAD_BYTES, from.len};
  return BESOM_OK;
}

void besom_guard_release(besom_guard *g, besom_bytes *value) {
  if (!g || !value || !value->data) return;
  void *block = (uint8_t *)(uintptr_t)value->data - HEAD_BYTES;
  if (value_copy_size_of(block) <= MAX_SPARE) block = exchange_spare(g, block);
  free_block(g, block);
  *value = (besom_bytes){NULL, 0};
}

void besom__free_spare_value(besom_guard *g) {
  free_block(g, exchange_spare(g, NULL));
}
