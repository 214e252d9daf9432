/*
 * A map from byte strings to byte strings, in the order of the keys: a skip list. It holds the tables of the store in
 * memory, and what an ordered store has changed and not written yet, so an entry may also say that its key is gone.
 *
 * An entry is made first, which may fail, and linked in later, which cannot: so who changes several makes them all
 * before the first one counts. What is displaced or taken out is handed back, to be freed or, to undo it, put in again.
 * Lookups allocate nothing and change nothing: any number of threads may read while none changes the map.
 */
#ifndef BESOM_STORE_SORTED_H
#define BESOM_STORE_SORTED_H

#include <string.h>

#include "besom_store.h"

enum { SORTED_LEVELS = 16 }; /* of a factor of four each: enough for 2^32 entries */

struct sorted_entry {
  uint32_t key_len, value_len;
  uint8_t levels;
  bool gone;
  struct sorted_entry *next[]; /* on each of its levels; behind them the key, then the value */
};

struct sorted_map {
  besom_allocator allocator;
  uint64_t count, bytes; /* linked entries; all that was allocated, of unlinked ones, too */
  uint64_t random;       /* where the levels come from */
  struct sorted_entry *first[SORTED_LEVELS];
};

static inline besom_bytes besom__sorted_key(const struct sorted_entry *e) {
  return (besom_bytes){&e->next[e->levels], e->key_len};
}

static inline besom_bytes besom__sorted_value(const struct sorted_entry *e) {
  return (besom_bytes){(const uint8_t *)&e->next[e->levels] + e->key_len, e->value_len};
}

static inline const struct sorted_entry *besom__sorted_next(const struct sorted_entry *e) {
  return e->next[0];
}

/* Less than, equal to or greater than 0, as memcmp. */
static inline int besom__compare(besom_bytes a, besom_bytes b) {
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

void besom__sorted_init(struct sorted_map *map, const besom_allocator *allocator);

/* Frees all linked entries. */
void besom__sorted_clear(struct sorted_map *map);

/* An entry that is not linked yet, with room for the value, which is left to the caller if data is NULL. NULL: none. */
struct sorted_entry *besom__sorted_new(struct sorted_map *map, besom_bytes key, besom_bytes value);
static inline void *besom__sorted_room(struct sorted_entry *e) {
  return (uint8_t *)&e->next[e->levels] + e->key_len;
}
void besom__sorted_free(struct sorted_map *map, struct sorted_entry *e); /* NULL is fine */

/* Links an entry in. Returns the one with the same key that it displaced, or NULL. */
struct sorted_entry *besom__sorted_put(struct sorted_map *map, struct sorted_entry *e);

/* Takes an entry out, which is the caller's then. NULL: there is none. */
struct sorted_entry *besom__sorted_take(struct sorted_map *map, besom_bytes key);

/* The entry of a key, or NULL; the first one whose key is not less. */
const struct sorted_entry *besom__sorted_find(const struct sorted_map *map, besom_bytes key);
const struct sorted_entry *besom__sorted_from(const struct sorted_map *map, besom_bytes key);

#endif
