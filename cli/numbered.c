#include "numbered.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* An open table of numbers + 1, by the hash of their keys; keys are compared themselves, so that it is exact. */
struct numbered {
  besom_filter *
      hash; /* only hashes: a key of its own keeps those who choose the keys from making them collide */
  char *bytes;
  size_t len, room;
  size_t *ends; /* key i is bytes[ends[i]] to bytes[ends[i + 1]] */
  uint32_t count, end_room;
  uint32_t *slots;
  size_t mask;
};

enum { FIRST_SLOTS = 1024 };

static void *resize(void *memory, size_t count, size_t size) {
  void *larger = realloc(memory, count * size);
  if (!larger) fail("no memory for %zu times %zu bytes", count, size);
  return larger;
}

numbered *numbered_create(void) {
  numbered *n = allocate(1, sizeof *n);
  besom_config small = {.kind = "qf", .capacity = 1};
  check(besom_create(&small, &n->hash), "a table of keys");
  n->mask = FIRST_SLOTS - 1;
  n->slots = allocate(FIRST_SLOTS, sizeof *n->slots);
  n->end_room = FIRST_SLOTS;
  n->ends = allocate(n->end_room, sizeof *n->ends);
  return n;
}

void numbered_free(numbered *n) {
  besom_free(n->hash);
  free(n->bytes);
  free(n->ends);
  free(n->slots);
  free(n);
}

uint32_t numbered_count(const numbered *n) {
  return n->count;
}

besom_bytes numbered_key(const numbered *n, uint32_t number) {
  return (besom_bytes){n->bytes + n->ends[number], n->ends[number + 1] - n->ends[number]};
}

/* The slot of a key, or the empty one where it belongs. */
static uint32_t *slot_of(numbered *n, besom_bytes key) {
  for (size_t i = (size_t)besom_hash(n->hash, key.data, key.len).hi;; i++) {
    uint32_t *slot = &n->slots[i & n->mask];
    if (!*slot) return slot;
    besom_bytes known = numbered_key(n, *slot - 1);
    if (known.len == key.len && memcmp(known.data, key.data, key.len) == 0) return slot;
  }
}

static void grow_slots(numbered *n) {
  free(n->slots);
  n->mask = 2 * n->mask + 1;
  n->slots = allocate(n->mask + 1, sizeof *n->slots);
  for (uint32_t i = 0; i < n->count; i++) *slot_of(n, numbered_key(n, i)) = i + 1;
}

static void append(numbered *n, besom_bytes key) {
  if (n->count == UINT32_MAX - 1) fail("more than %u different keys", UINT32_MAX - 1);
  if (n->len + key.len > n->room || !n->bytes) {
    n->room = 2 * (n->len + key.len) + FIRST_SLOTS;
    n->bytes = resize(n->bytes, n->room, 1);
  }
  memcpy(n->bytes + n->len, key.data, key.len);
  n->len += key.len;
  if (n->count + 2 > n->end_room) {
    n->end_room = n->end_room > UINT32_MAX / 2 ? UINT32_MAX : 2 * n->end_room;
    n->ends = resize(n->ends, n->end_room, sizeof *n->ends);
  }
  n->ends[++n->count] = n->len;
}

uint32_t numbered_add(numbered *n, besom_bytes key) {
  uint32_t *slot = slot_of(n, key);
  if (*slot) return *slot - 1;
  append(n, key);
  *slot = n->count;
  if (n->count > n->mask / 2) grow_slots(n);
  return n->count - 1;
}
