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

/* Where it is, or would be: the first place of its own or a free one, from its hash on. room is a power of two. */
static besom_bytes *place_of(const text_set *s, besom_bytes text) {
  for (uint64_t at = hash_of(text);; at++) {
    besom_bytes *place = &s->places[at & (s->room - 1)];
    if (!place->data) return place;
    if (place->len == text.len && memcmp(place->data, text.data, text.len) == 0) return place;
  }
}

static void make_room(text_set *s) {
  if (2 * s->count < s->room) return;
  text_set larger = {.count = s->count, .room = s->room ? 2 * s->room : 64};
  larger.places = allocate(larger.room, sizeof *larger.places);
  for (size_t i = 0; i < s->room; i++)
    if (s->places[i].data) *place_of(&larger, s->places[i]) = s->places[i];
  free(s->places);
  *s = larger;
}

bool text_set_add(text_set *s, besom_bytes text) {
  make_room(s);
  besom_bytes *place = place_of(s, text);
  if (place->data) return false;
  *place = text;
  s->count++;
  return true;
}

bool text_set_has(const text_set *s, besom_bytes text) {
  return s->room && place_of(s, text)->data;
}

void text_set_free(text_set *s) {
  free(s->places);
  *s = (text_set){0};
}
