/*
 * A workload: keys and their query counts, in a hash table with an arena for the bytes of the keys.
 * Both double as they fill, up to the memory limit. Beyond it, all counts are lowered by the median
 * count and keys with count 0 are dropped.
 */
#include "stacked/workload.h"

#include "core/system/memory.h"

#define DEFAULT_MEMORY (UINT64_C(64) << 20)
#define MIN_MEMORY 4096
#define FIRST_SLOTS 32
#define FIRST_BYTES 512
#define MAX_QUERIES (UINT64_C(1) << 62)
#define RANKED_SLOTS (UINT64_C(1) << 16)

struct entry {
  uint64_t hash;
  uint64_t count; /* 0: an empty slot */
  uint64_t start; /* offset in the arena */
  uint64_t len;
};

struct store {
  struct entry *entries;
  uint64_t slots; /* a power of two */
  uint64_t keys;
  uint8_t *arena;
  uint64_t arena_bytes, used; /* bytes */
  /* of all keys, so that planning need not read the table; NULL if there are few slots */
  struct rank_frequency *ranks;
};

struct besom_workload {
  besom_allocator allocator;
  struct hasher hasher;
  struct store store;
  uint64_t memory;         /* limit of the store's memory */
  uint64_t queries, known; /* all queries; those that the counts still include */
  uint64_t error;
  uint64_t at; /* the next slot that the source reads */
};

/* ------------------------------------------------------------------ create and free */

static uint64_t ranks_bytes_of(uint64_t slots) {
  return slots < RANKED_SLOTS ? 0 : sizeof(struct rank_frequency);
}

static uint64_t workload_bytes_of(uint64_t slots, uint64_t arena_bytes) {
  return slots * sizeof(struct entry) + ranks_bytes_of(slots) + arena_bytes;
}

static void store_free(const besom_workload *w, struct store *s) {
  besom__release(&w->allocator, s->entries, s->slots * sizeof *s->entries);
  besom__release(&w->allocator, s->arena, s->arena_bytes);
  besom__release(&w->allocator, s->ranks, sizeof *s->ranks);
  *s = (struct store){0};
}

static besom_status store_make(const besom_workload *w, uint64_t slots, uint64_t arena_bytes,
                               struct store *s) {
  if (workload_bytes_of(slots, arena_bytes) > SIZE_MAX / 2) return BESOM_NO_MEMORY;
  *s = (struct store){.slots = slots, .arena_bytes = arena_bytes};
  s->entries = besom__allocate(&w->allocator, slots * sizeof *s->entries);
  s->arena = s->entries ? besom__allocate(&w->allocator, arena_bytes) : NULL;
  bool ranked = slots >= RANKED_SLOTS;
  if (s->arena && ranked) s->ranks = besom__allocate(&w->allocator, sizeof *s->ranks);
  if (s->arena && (s->ranks || !ranked)) return BESOM_OK;
  store_free(w, s);
  return BESOM_NO_MEMORY;
}

besom_status besom_workload_create(uint64_t memory, const besom_allocator *allocator,
                                   besom_workload **out) {
  if (!memory) memory = DEFAULT_MEMORY;
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || memory < MIN_MEMORY || !allocator->allocate || !allocator->release)
    return BESOM_INVALID;
  struct hasher hasher;
  besom_status status = besom__hasher_init(&hasher, NULL, NULL);
  if (status != BESOM_OK) return status;
  besom_workload *w = besom__allocate(allocator, sizeof *w);
  if (!w) return BESOM_NO_MEMORY;
  *w = (besom_workload){.allocator = *allocator, .hasher = hasher, .memory = memory};
  status = store_make(w, FIRST_SLOTS, FIRST_BYTES, &w->store);
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

static bool workload_is_key(const struct store *s, const struct entry *e, uint64_t hash,
                            const void *key, size_t len) {
  return e->hash == hash && e->len == len &&
         (len == 0 || memcmp(s->arena + e->start, key, len) == 0);
}

/* The slot of a key, or the empty slot where it would be inserted. */
static struct entry *workload_slot_of(const struct store *s, uint64_t hash, const void *key,
                                      size_t len) {
  uint64_t i = hash & (s->slots - 1);
  while (s->entries[i].count && !workload_is_key(s, &s->entries[i], hash, key, len))
    i = (i + 1) & (s->slots - 1);
  return &s->entries[i];
}

static void workload_put(struct store *s, uint64_t hash, const void *key, size_t len,
                         uint64_t count) {
  *workload_slot_of(s, hash, key, len) = (struct entry){hash, count, s->used, len};
  if (len) memcpy(s->arena + s->used, key, len);
  s->used += len;
  s->keys++;
  if (s->ranks) besom__rank_frequency_add(s->ranks, count);
}

/*
 * Rebuilds the store with another size. Keeps the keys with a count above `floor`, and lowers their
 * counts by it.
 */
static besom_status workload_rebuild(besom_workload *w, uint64_t slots, uint64_t arena_bytes,
                                     uint64_t floor) {
  struct store fresh;
  besom_status status = store_make(w, slots, arena_bytes, &fresh);
  if (status != BESOM_OK) return status;
  w->known = 0;
  for (uint64_t i = 0; i < w->store.slots; i++) {
    const struct entry *e = &w->store.entries[i];
    if (e->count <= floor) continue;
    workload_put(&fresh, e->hash, w->store.arena + e->start, (size_t)e->len, e->count - floor);
    w->known += e->count - floor;
  }
  store_free(w, &w->store);
  w->store = fresh;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ dropping keys */

/* The number of keys with at most this count. */
static uint64_t keys_up_to(const struct store *s, uint64_t count) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < s->slots; i++) n += s->entries[i].count && s->entries[i].count <= count;
  return n;
}

/* The median count, by bisection. */
static uint64_t median_count(const struct store *s) {
  uint64_t low = 0, high = MAX_QUERIES; /* fewer than half of the keys have a count <= low */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    *(keys_up_to(s, middle) >= (s->keys + 1) / 2 ? &high : &low) = middle;
  }
  return high;
}

/* ------------------------------------------------------------------ adding */

static bool workload_fits(const struct store *s, size_t len) {
  return s->keys < s->slots / 4 * 3 && s->arena_bytes - s->used >= len;
}

/*
 * Drops at least half of the keys. If the arena is what is full, it gets some memory of the table.
 */
static besom_status drop_keys(besom_workload *w, bool bytes_short) {
  const struct store *s = &w->store;
  uint64_t floor = median_count(s);
  uint64_t slots = bytes_short && s->slots > FIRST_SLOTS ? s->slots / 2 : s->slots;
  uint64_t arena_bytes = bytes_short && workload_bytes_of(slots, 2 * s->arena_bytes) <= w->memory
                             ? 2 * s->arena_bytes
                             : s->arena_bytes;
  besom_status status = workload_rebuild(w, slots, arena_bytes, floor);
  if (status == BESOM_OK) w->error += floor;
  return status;
}

/*
 * The wanted size of the arena. Ranks must not halve the number of keys: if they alone exceed the
 * limit, the arena is as much smaller, if it has the needed bytes still.
 */
static uint64_t arena_beside_ranks(const besom_workload *w, uint64_t slots, uint64_t wanted,
                                   uint64_t needed) {
  uint64_t ranks = ranks_bytes_of(slots), all = workload_bytes_of(slots, wanted);
  bool smaller = all > w->memory && all - ranks <= w->memory && wanted >= ranks + needed;
  return smaller ? wanted - ranks : wanted;
}

/*
 * Makes room for one more key: doubles what is full if the limit allows it, else drops other
 * keys.
 */
static besom_status workload_make_room(besom_workload *w, size_t len) {
  besom_status status = BESOM_OK;
  while (!workload_fits(&w->store, len) && status == BESOM_OK) {
    const struct store *s = &w->store;
    bool bytes_short = s->arena_bytes - s->used < len;
    uint64_t slots = s->keys < s->slots / 4 * 3 ? s->slots : 2 * s->slots;
    uint64_t arena_bytes = arena_beside_ranks(
        w, slots, bytes_short ? 2 * s->arena_bytes : s->arena_bytes, s->used + len);
    status = workload_bytes_of(slots, arena_bytes) <= w->memory
                 ? workload_rebuild(w, slots, arena_bytes, 0)
                 : drop_keys(w, bytes_short);
  }
  return status;
}

besom_status besom_workload_add(besom_workload *w, const void *key, size_t len, uint64_t times) {
  if (!w || (!key && len) || !times || times >= MAX_QUERIES - w->queries) return BESOM_INVALID;
  if (len > w->memory / 16) return BESOM_FULL;
  uint64_t hash = hash_bytes(&w->hasher, key, len).hi;
  struct entry *e = workload_slot_of(&w->store, hash, key, len);
  if (e->count) {
    if (w->store.ranks) besom__rank_frequency_raise(w->store.ranks, e->count, times);
    e->count += times;
  } else {
    besom_status status = workload_make_room(w, len);
    if (status != BESOM_OK) return status;
    workload_put(&w->store, hash, key, len, times);
  }
  w->queries += times;
  w->known += times;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ reading */

static besom_status workload_next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  besom_workload *w = ctx;
  while (w->at < w->store.slots && !w->store.entries[w->at].count) w->at++;
  if (w->at == w->store.slots) return BESOM_END;
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
  return (besom_source){w ? workload_next_key : NULL, start_again, w ? w->store.keys : 0, w};
}

const besom_allocator *besom__workload_allocator(const besom_workload *w) {
  return &w->allocator;
}

void besom__workload_rank_frequency(const besom_workload *w, struct rank_frequency *out) {
  if (w->store.ranks) *out = *w->store.ranks;
  for (uint64_t i = 0; i < w->store.slots && !w->store.ranks; i++)
    besom__rank_frequency_add(out, w->store.entries[i].count);
  out->lost = w->queries - w->known;
}

/* As besom__rank_frequency_unseen, without the classes. */
static double unseen(const besom_workload *w) {
  uint64_t once = w->store.ranks ? w->store.ranks->keys[1] : 0;
  for (uint64_t i = 0; i < w->store.slots && !w->store.ranks; i++)
    once += w->store.entries[i].count == 1;
  return w->queries ? (double)(once + w->queries - w->known) / (double)w->queries : 1;
}

besom_status besom_workload_stats_sized(const besom_workload *w, besom_workload_statistics *stats,
                                        size_t size) {
  if (!w || !stats) return BESOM_INVALID;
  besom_workload_statistics all = {.queries = w->queries,
                                   .keys = w->store.keys,
                                   .known = w->known,
                                   .error = w->error,
                                   .bytes = sizeof *w +
                                            workload_bytes_of(w->store.slots, w->store.arena_bytes),
                                   .unseen = unseen(w)};
  besom_copy_struct(stats, size, &all, sizeof all);
  return BESOM_OK;
}
