/*
 * A workload: keys and how often they were asked for, in a table beside an arena of their bytes. Both double as they
 * fill, within the bound; beyond it all counts are lowered by the median and what falls to 0 is dropped.
 */
#include "layered/workload.h"

#include "core/memory.h"

#define DEFAULT_MEMORY (UINT64_C(64) << 20)
#define LEAST_MEMORY 4096
#define FIRST_PLACES 32
#define FIRST_BYTES 512
#define MOST_QUERIES (UINT64_C(1) << 62)

struct entry {
  uint64_t hash;
  uint64_t count; /* 0: an empty place */
  uint64_t start; /* in the arena */
  uint64_t len;
};

struct store {
  struct entry *entries;
  uint64_t places; /* a power of two */
  uint64_t keys;
  uint8_t *arena;
  uint64_t room, used; /* bytes */
};

struct besom_workload {
  besom_allocator allocator;
  struct hasher hasher;
  struct store store;
  uint64_t memory;         /* that the store may take */
  uint64_t queries, known; /* all, and those that the counts still tell */
  uint64_t error;
  uint64_t at; /* of the source: the next place */
};

/* ------------------------------------------------------------------ life */

static uint64_t bytes_of(uint64_t places, uint64_t room) {
  return places * sizeof(struct entry) + room;
}

static void store_free(const besom_workload *w, struct store *s) {
  besom__release(&w->allocator, s->entries, (size_t)s->places * sizeof *s->entries);
  besom__release(&w->allocator, s->arena, (size_t)s->room);
  *s = (struct store){0};
}

static besom_status store_make(const besom_workload *w, uint64_t places, uint64_t room,
                               struct store *s) {
  if (bytes_of(places, room) > SIZE_MAX / 2) return BESOM_NO_MEMORY;
  *s = (struct store){.places = places, .room = room};
  s->entries = besom__allocate(&w->allocator, (size_t)places * sizeof *s->entries);
  s->arena = s->entries ? besom__allocate(&w->allocator, (size_t)room) : NULL;
  if (s->arena) return BESOM_OK;
  store_free(w, s);
  return BESOM_NO_MEMORY;
}

besom_status besom_workload_create(uint64_t memory, const besom_allocator *allocator,
                                   besom_workload **out) {
  if (!memory) memory = DEFAULT_MEMORY;
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || memory < LEAST_MEMORY || !allocator->allocate || !allocator->release)
    return BESOM_INVALID;
  struct hasher hasher;
  besom_status status = besom__hasher_init(&hasher, NULL, NULL);
  if (status != BESOM_OK) return status;
  besom_workload *w = besom__allocate(allocator, sizeof *w);
  if (!w) return BESOM_NO_MEMORY;
  *w = (besom_workload){.allocator = *allocator, .hasher = hasher, .memory = memory};
  status = store_make(w, FIRST_PLACES, FIRST_BYTES, &w->store);
  if (status == BESOM_OK)
    *out = w;
  else
    besom__release(allocator, w, sizeof *w);
  return status;
}

void besom_workload_free(besom_workload *w) {
  if (!w) return;
  besom_allocator allocator = w->allocator;
  store_free(w, &w->store);
  besom__release(&allocator, w, sizeof *w);
}

/* ------------------------------------------------------------------ the table */

static bool is_key(const struct store *s, const struct entry *e, uint64_t hash, const void *key,
                   size_t len) {
  return e->hash == hash && e->len == len &&
         (len == 0 || memcmp(s->arena + e->start, key, len) == 0);
}

/* The place of a key, or the empty one where it would be. */
static struct entry *place_of(const struct store *s, uint64_t hash, const void *key, size_t len) {
  uint64_t i = hash & (s->places - 1);
  while (s->entries[i].count && !is_key(s, &s->entries[i], hash, key, len))
    i = (i + 1) & (s->places - 1);
  return &s->entries[i];
}

static void put(struct store *s, uint64_t hash, const void *key, size_t len, uint64_t count) {
  *place_of(s, hash, key, len) = (struct entry){hash, count, s->used, len};
  if (len) memcpy(s->arena + s->used, key, len);
  s->used += len;
  s->keys++;
}

/* All keys that are asked for more often than `floor`, in a store of another size, with counts lower by that. */
static besom_status move(besom_workload *w, uint64_t places, uint64_t room, uint64_t floor) {
  struct store fresh;
  besom_status status = store_make(w, places, room, &fresh);
  if (status != BESOM_OK) return status;
  w->known = 0;
  for (uint64_t i = 0; i < w->store.places; i++) {
    const struct entry *e = &w->store.entries[i];
    if (e->count <= floor) continue;
    put(&fresh, e->hash, w->store.arena + e->start, (size_t)e->len, e->count - floor);
    w->known += e->count - floor;
  }
  store_free(w, &w->store);
  w->store = fresh;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ forgetting */

/* How many keys are asked for no more often than that. */
static uint64_t keys_up_to(const struct store *s, uint64_t count) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < s->places; i++) n += s->entries[i].count && s->entries[i].count <= count;
  return n;
}

/* The median of the counts, by halving. */
static uint64_t median_count(const struct store *s) {
  uint64_t low = 0, high = MOST_QUERIES; /* no more than low are less than half of the keys */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    *(keys_up_to(s, middle) >= (s->keys + 1) / 2 ? &high : &low) = middle;
  }
  return high;
}

/* ------------------------------------------------------------------ adding */

static bool fits(const struct store *s, size_t len) {
  return s->keys < s->places / 4 * 3 && s->room - s->used >= len;
}

/* Forgets half of the keys or more. If it is their bytes that are too many, these get some of the room of the table. */
static besom_status forget(besom_workload *w, bool bytes_short) {
  const struct store *s = &w->store;
  uint64_t floor = median_count(s);
  uint64_t places = bytes_short && s->places > FIRST_PLACES ? s->places / 2 : s->places;
  uint64_t room = bytes_short && bytes_of(places, 2 * s->room) <= w->memory ? 2 * s->room : s->room;
  besom_status status = move(w, places, room, floor);
  if (status == BESOM_OK) w->error += floor;
  return status;
}

/* Room for one more key: twice as much of what is short, as long as that is allowed; else others are forgotten. */
static besom_status make_room(besom_workload *w, size_t len) {
  besom_status status = BESOM_OK;
  while (!fits(&w->store, len) && status == BESOM_OK) {
    const struct store *s = &w->store;
    bool bytes_short = s->room - s->used < len;
    uint64_t places = s->keys < s->places / 4 * 3 ? s->places : 2 * s->places;
    uint64_t room = bytes_short ? 2 * s->room : s->room;
    status =
        bytes_of(places, room) <= w->memory ? move(w, places, room, 0) : forget(w, bytes_short);
  }
  return status;
}

besom_status besom_workload_add(besom_workload *w, const void *key, size_t len, uint64_t times) {
  if (!w || (!key && len) || !times || times >= MOST_QUERIES - w->queries) return BESOM_INVALID;
  if (len > w->memory / 16) return BESOM_FULL;
  uint64_t hash = hash_bytes(&w->hasher, key, len).hi;
  struct entry *e = place_of(&w->store, hash, key, len);
  if (e->count) {
    e->count += times;
  } else {
    besom_status status = make_room(w, len);
    if (status != BESOM_OK) return status;
    put(&w->store, hash, key, len, times);
  }
  w->queries += times;
  w->known += times;
  return BESOM_OK;
}

besom_status besom_workload_add_u64(besom_workload *w, uint64_t key, uint64_t times) {
  uint8_t bytes[8];
  store64(bytes, key);
  return besom_workload_add(w, bytes, sizeof bytes, times);
}

/* ------------------------------------------------------------------ reading */

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  besom_workload *w = ctx;
  while (w->at < w->store.places && !w->store.entries[w->at].count) w->at++;
  if (w->at == w->store.places) return BESOM_END;
  const struct entry *e = &w->store.entries[w->at++];
  *key = (besom_bytes){w->store.arena + e->start, (size_t)e->len};
  *weight = e->count;
  return BESOM_OK;
}

static besom_status start_again(void *ctx) {
  ((besom_workload *)ctx)->at = 0;
  return BESOM_OK;
}

besom_source besom_workload_source(besom_workload *w) {
  if (w) w->at = 0;
  return (besom_source){w ? next_key : NULL, start_again, w ? w->store.keys : 0, w};
}

const besom_allocator *besom__workload_allocator(const besom_workload *w) {
  return &w->allocator;
}

void besom__workload_popularity(const besom_workload *w, struct popularity *out) {
  for (uint64_t i = 0; i < w->store.places; i++)
    besom__popularity_add(out, w->store.entries[i].count);
  out->lost = w->queries - w->known;
}

/* As besom__popularity_unseen, without the classes. */
static double unseen(const besom_workload *w) {
  uint64_t once = 0;
  for (uint64_t i = 0; i < w->store.places; i++) once += w->store.entries[i].count == 1;
  return w->queries ? (double)(once + w->queries - w->known) / (double)w->queries : 1;
}

besom_status besom_workload_stats(const besom_workload *w, besom_workload_statistics *stats) {
  if (!w || !stats) return BESOM_INVALID;
  *stats =
      (besom_workload_statistics){.queries = w->queries,
                                  .keys = w->store.keys,
                                  .known = w->known,
                                  .error = w->error,
                                  .bytes = sizeof *w + bytes_of(w->store.places, w->store.room),
                                  .unseen = unseen(w)};
  return BESOM_OK;
}
