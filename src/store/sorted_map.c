#include "store/sorted_map.h"

#include "core/system/memory.h"

/* Per level, the link to the first entry whose key is not less. */
struct path {
  struct sorted_entry **links[SORTED_LEVELS];
};

static struct path find_path(struct sorted_map *map, besom_bytes key) {
  struct path path;
  struct sorted_entry **links = map->first; /* of the last entry whose key is less */
  for (unsigned level = SORTED_LEVELS; level--;) {
    while (links[level] && besom__compare(besom__sorted_key(links[level]), key) < 0)
      links = links[level]->next;
    path.links[level] = &links[level];
  }
  return path;
}

const struct sorted_entry *besom__sorted_from(const struct sorted_map *map, besom_bytes key) {
  struct sorted_entry *const *links = map->first;
  for (unsigned level = SORTED_LEVELS; level--;)
    while (links[level] && besom__compare(besom__sorted_key(links[level]), key) < 0)
      links = links[level]->next;
  return links[0];
}

const struct sorted_entry *besom__sorted_find(const struct sorted_map *map, besom_bytes key) {
  const struct sorted_entry *e = besom__sorted_from(map, key);
  return e && besom__compare(besom__sorted_key(e), key) == 0 ? e : NULL;
}

void besom__sorted_init(struct sorted_map *map, const besom_allocator *allocator) {
  *map = (struct sorted_map){.allocator = *allocator, .random = 1};
}

void besom__sorted_clear(struct sorted_map *map) {
  for (struct sorted_entry *e = map->first[0], *next; e; e = next) {
    next = e->next[0];
    besom__sorted_free(map, e);
  }
  memset(map->first, 0, sizeof map->first);
  map->count = 0;
}

/* One entry in four is on the second level, one in sixteen on the third. Keys do not influence
   it. */
static uint8_t choose_levels(struct sorted_map *map) {
  map->random = map->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t bits = map->random >> 32;
  uint8_t levels = 1;
  for (; levels < SORTED_LEVELS && (bits & 3) == 0; bits >>= 2) levels++;
  return levels;
}

static size_t entry_size(unsigned levels, size_t key_len, size_t value_len) {
  return sizeof(struct sorted_entry) + levels * sizeof(struct sorted_entry *) + key_len + value_len;
}

struct sorted_entry *besom__sorted_new(struct sorted_map *map, besom_bytes key, besom_bytes value) {
  uint8_t levels = choose_levels(map);
  size_t size = entry_size(levels, key.len, value.len);
  struct sorted_entry *e = besom__allocate(&map->allocator, size);
  if (!e) return NULL;
  map->bytes += size;
  e->key_len = (uint32_t)key.len;
  e->value_len = (uint32_t)value.len;
  e->levels = levels;
  if (key.len) memcpy(&e->next[levels], key.data, key.len);
  if (value.len && value.data) memcpy(besom__sorted_value_bytes(e), value.data, value.len);
  return e;
}

void besom__sorted_free(struct sorted_map *map, struct sorted_entry *e) {
  if (!e) return;
  size_t size = entry_size(e->levels, e->key_len, e->value_len);
  map->bytes -= size;
  besom__release(&map->allocator, e, size);
}

static struct sorted_entry *take_at(struct sorted_map *map, struct path *path, besom_bytes key) {
  struct sorted_entry *e = *path->links[0];
  if (!e || besom__compare(besom__sorted_key(e), key) != 0) return NULL;
  for (unsigned level = 0; level < e->levels; level++) *path->links[level] = e->next[level];
  map->count--;
  return e;
}

struct sorted_entry *besom__sorted_take(struct sorted_map *map, besom_bytes key) {
  struct path path = find_path(map, key);
  return take_at(map, &path, key);
}

/* The overlay of a single put has one entry. */
struct sorted_entry *besom__sorted_put(struct sorted_map *map, struct sorted_entry *e) {
  if (!map->count) {
    for (unsigned level = 0; level < e->levels; level++) {
      e->next[level] = NULL;
      map->first[level] = e;
    }
    map->count = 1;
    return NULL;
  }
  struct path path = find_path(map, besom__sorted_key(e));
  struct sorted_entry *displaced = take_at(map, &path, besom__sorted_key(e));
  for (unsigned level = 0; level < e->levels; level++) {
    e->next[level] = *path.links[level];
    *path.links[level] = e;
  }
  map->count++;
  return displaced;
}
