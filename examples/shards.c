/*
 * Routes keys to shards: a map says which shards may have a key. Only these are asked, and a shard
 * that does not have the key is reported, so that the same query does not ask it again.
 *
 * The shards are arrays here. In a program they are servers, tables or files.
 *
 *     cc shards.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom_map.h>
#include <stdio.h>

#define SHARDS 100
#define KEYS 50000
#define SPARE 100 /* pairs that the map has room for beyond its keys: a move may need one */
#define MOST 16   /* candidates of a key that are looked at: there are rarely two */

/* Which shard has a key; SHARDS: none. A key moves when it is changed. */
static uint8_t shard_of[2 * KEYS];
static unsigned long asked;

/* The slow call that the map saves. */
static bool ask_shard(uint64_t shard, uint64_t key) {
  asked++;
  return shard_of[key] == shard;
}

/* The shard that has the key; SHARDS: none has. */
static uint64_t find(besom_filter *map, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  uint64_t shards[MOST];
  size_t n;
  if (besom_get_values(map, k.bytes, 8, shards, MOST, &n) != BESOM_OK || n > MOST) return SHARDS;
  for (size_t i = 0; i < n; i++) {
    if (ask_shard(shards[i], key)) return shards[i];
    besom_adapt_value(map, k.bytes, 8, shards[i]); /* not again */
  }
  return SHARDS;
}

/* Moves a key to another shard: the map follows. */
static besom_status move(besom_filter *map, uint64_t key, uint8_t to) {
  besom_u64_key k = besom_u64(key);
  besom_status status = besom_replace_value(map, k.bytes, 8, shard_of[key], to);
  if (status == BESOM_OK) shard_of[key] = to;
  return status;
}

/* How many questions it takes to look all these keys up; 0: a key was not found, or wrongly. */
static unsigned long look_up(besom_filter *map, uint64_t from, uint64_t to) {
  asked = 0;
  for (uint64_t key = from; key < to; key++)
    if (find(map, key) != shard_of[key]) return 0;
  return asked;
}

int main(void) {
  besom_config config = {.kind = "aqf",
                         .options = "maplet=yes",
                         .value_bits = 7,
                         .capacity = KEYS + SPARE,
                         .fpr = 0.01};
  besom_filter *map;
  besom_statistics stats;
  if (besom_create(&config, &map) != BESOM_OK) return 1;
  for (uint64_t key = 0; key < 2 * KEYS; key++) {
    besom_u64_key k = besom_u64(key);
    shard_of[key] = key < KEYS ? (uint8_t)(key * 7919 % SHARDS) : SHARDS;
    if (key < KEYS && besom_insert_value(map, k.bytes, 8, shard_of[key]) != BESOM_OK) return 1;
  }
  unsigned long present = look_up(map, 0, KEYS), absent = look_up(map, KEYS, 2 * KEYS),
                again = look_up(map, KEYS, 2 * KEYS);
  for (uint64_t key = 0; key < KEYS; key += 10)
    if (move(map, key, (uint8_t)((shard_of[key] + 1) % SHARDS)) != BESOM_OK) return 1;
  unsigned long moved = look_up(map, 0, KEYS);
  besom_stats(map, &stats);
  printf("%d keys in %d shards, %.1f bits per key\n", KEYS, SHARDS, stats.bits_per_key);
  printf("questions for %d keys: present %lu, absent %lu, the same again %lu, after moves %lu\n",
         KEYS, present, absent, again, moved);
  besom_free(map);
  bool fine = present >= KEYS && present < KEYS + KEYS / 50 && absent < KEYS / 50 &&
              again < absent / 4 && moved >= KEYS && moved < KEYS + KEYS / 50;
  return fine ? 0 : 1;
}
