/*
 * A sorted map from byte strings to byte strings: a skip list. It holds the tables of the store in
 * memory and the overlay of an ordered store, so an entry may also say that its key is removed.
 *
 * An entry is allocated first, which may fail, and linked later, which cannot. A caller that makes
 * several changes allocates all entries before it links the first. put and take return the entry
 * that they unlink, for the caller to free or, to undo the change, to link again. Lookups allocate
 * nothing and change nothing: any number of threads may read while none changes the map.
 */
#ifndef BESOM_STORE_SORTED_MAP_H
#define BESOM_STORE_SORTED_MAP_H

#include <string.h>

#include "besom_store.h"

enum { SORTED_LEVELS = 16 }; /* by a factor of four each: enough for 2^32 entries */

struct sorted_entry {
  uint32_t key_len, value_len;
  uint8_t levels;
  bool removed;
  uint32_t savepoint;          /* of the overlay: the number of the savepoint before the change */
  struct sorted_entry *next[]; /* per level; the key and the value follow */
};

struct sorted_map {
  besom_allocator allocator;
  uint64_t count, bytes; /* linked entries; bytes of all entries, unlinked ones included */
  uint64_t random;       /* state of the generator of levels */
  struct sorted_entry *first[SORTED_LEVELS];
};

static inline besom_bytes besom__sorted_key(const struct sorted_entry *e) {
  return (besom_bytes){&e->next[e->levels], e->key_len};
}

static inline besom_bytes besom__sorted_value(const struct sorted_entry *e) {
  return (besom_bytes){(const uint8_t *)&e->next[e->levels] + e->key_len, e->value_len};
}

/* Less than, equal to or greater than 0, like memcmp. A prefix is less. */
static inline int besom__compare(besom_bytes a, besom_bytes b) {
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

void besom__sorted_init(struct sorted_map *map, const besom_allocator *allocator);

/* Frees all linked entries. */
void besom__sorted_clear(struct sorted_map *map);

/* Allocates an entry that is not linked yet. If value.data is NULL, the caller writes the value.len
   bytes at besom__sorted_value_bytes. NULL if there is no memory. */
struct sorted_entry *besom__sorted_new(struct sorted_map *map, besom_bytes key, besom_bytes value);
static inline void *besom__sorted_value_bytes(struct sorted_entry *e) {
  return (uint8_t *)&e->next[e->levels] + e->key_len;
}
void besom__sorted_free(struct sorted_map *map, struct sorted_entry *e); /* NULL is fine */

/* Links an entry. Returns the entry with the same key that it displaced, or NULL. */
struct sorted_entry *besom__sorted_put(struct sorted_map *map, struct sorted_entry *e);

/* Unlinks the entry of a key and returns it; the caller owns it then. NULL if there is none. */
struct sorted_entry *besom__sorted_take(struct sorted_map *map, besom_bytes key);

/* The entry of a key, or NULL; the first entry whose key is not less, or NULL. */
const struct sorted_entry *besom__sorted_find(const struct sorted_map *map, besom_bytes key);
const struct sorted_entry *besom__sorted_from(const struct sorted_map *map, besom_bytes key);

#endif
