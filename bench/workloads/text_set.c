#include "workloads/text_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "random.h"

static uint64_t hash_of(besom_bytes text) {
  uint64_t hash = text.len;
  for (size_t i = 0; i < text.len; i++) hash = random_at(hash, ((const uint8_t *)text.data)[i]);
  return hash;
}

/*
 * The slot of the text, or the empty slot for it: linear probing from its hash. The capacity is a
 * power of two.
 */
static besom_bytes *slot_of(const text_set *s, besom_bytes text) {
  for (uint64_t at = hash_of(text);; at++) {
    besom_bytes *slot = &s->slots[at & (s->capacity - 1)];
    if (!slot->data) return slot;
    if (slot->len == text.len && memcmp(slot->data, text.data, text.len) == 0) return slot;
  }
}

static void grow(text_set *s) {
  if (2 * s->count < s->capacity) return;
  text_set larger = {.count = s->count, .capacity = s->capacity ? 2 * s->capacity : 64};
  larger.slots = allocate(larger.capacity, sizeof *larger.slots);
  for (size_t i = 0; i < s->capacity; i++)
    if (s->slots[i].data) *slot_of(&larger, s->slots[i]) = s->slots[i];
  free(s->slots);
  *s = larger;
}

bool text_set_add(text_set *s, besom_bytes text) {
  grow(s);
  besom_bytes *slot = slot_of(s, text);
  if (slot->data) return false;
  *slot = text;
  s->count++;
  return true;
}

bool text_set_has(const text_set *s, besom_bytes text) {
  return s->capacity && slot_of(s, text)->data;
}

void text_set_free(text_set *s) {
  free(s->slots);
  *s = (text_set){0};
}
