#include "lists/key_index.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* An open-addressing hash table of key numbers + 1. Keys are compared byte by byte: it is exact. */
struct key_index {
  besom_filter *hash; /* used only for its hash: the random seed prevents chosen collisions */
  char *bytes;
  size_t len, allocated;
  size_t *ends; /* key i is bytes[ends[i]] to bytes[ends[i + 1]] */
  uint32_t count, ends_allocated;
  uint32_t *slots;
  size_t mask;
};

enum { INITIAL_SLOTS = 1024 };

key_index *key_index_create(void) {
  key_index *x = allocate(1, sizeof *x);
  besom_config small = {.kind = "qf", .capacity = 1};
  check(besom_create(&small, &x->hash), "creating the key index");
  x->mask = INITIAL_SLOTS - 1;
  x->slots = allocate(INITIAL_SLOTS, sizeof *x->slots);
  x->ends_allocated = INITIAL_SLOTS;
  x->ends = allocate(x->ends_allocated, sizeof *x->ends);
  return x;
}

void key_index_free(key_index *x) {
  besom_free(x->hash);
  free(x->bytes);
  free(x->ends);
  free(x->slots);
  free(x);
}

uint32_t key_index_count(const key_index *x) {
  return x->count;
}

besom_bytes key_index_key(const key_index *x, uint32_t number) {
  return (besom_bytes){x->bytes + x->ends[number], x->ends[number + 1] - x->ends[number]};
}

/* The slot of a key, or the empty slot where to insert it. */
static uint32_t *slot_of(const key_index *x, besom_bytes key) {
  for (size_t i = (size_t)besom_hash(x->hash, key.data, key.len).hi;; i++) {
    uint32_t *slot = &x->slots[i & x->mask];
    if (!*slot) return slot;
    besom_bytes known = key_index_key(x, *slot - 1);
    if (known.len == key.len && memcmp(known.data, key.data, key.len) == 0) return slot;
  }
}

static void grow_slots(key_index *x) {
  free(x->slots);
  x->mask = 2 * x->mask + 1;
  x->slots = allocate(x->mask + 1, sizeof *x->slots);
  for (uint32_t i = 0; i < x->count; i++) *slot_of(x, key_index_key(x, i)) = i + 1;
}

static void append(key_index *x, besom_bytes key) {
  if (x->count == UINT32_MAX - 1) fail("more than %u distinct keys", UINT32_MAX - 1);
  if (x->len + key.len > x->allocated || !x->bytes) {
    x->allocated = 2 * (x->len + key.len) + INITIAL_SLOTS;
    x->bytes = reallocate(x->bytes, x->allocated, 1);
  }
  memcpy(x->bytes + x->len, key.data, key.len);
  x->len += key.len;
  if (x->count + 2 > x->ends_allocated) {
    x->ends_allocated = x->ends_allocated > UINT32_MAX / 2 ? UINT32_MAX : 2 * x->ends_allocated;
    x->ends = reallocate(x->ends, x->ends_allocated, sizeof *x->ends);
  }
  x->ends[++x->count] = x->len;
}

bool key_index_contains(const key_index *x, besom_bytes key) {
  return *slot_of(x, key) != 0;
}

uint64_t key_index_bytes(const key_index *x) {
  return x->len + (x->count + 1) * sizeof *x->ends + (x->mask + 1) * sizeof *x->slots;
}

uint32_t key_index_add(key_index *x, besom_bytes key) {
  uint32_t *slot = slot_of(x, key);
  if (*slot) return *slot - 1;
  append(x, key);
  *slot = x->count;
  if (x->count > x->mask / 2) grow_slots(x);
  return x->count - 1;
}
