/* Bulk builds: how much memory, how many groups, how many threads. */
#include "build/bulk.h"

#include "build/parts.h"
#include "core/system/memory.h"

#define MAX_GROUP_BITS 12
#define GROUP_ENTRIES 8192  /* wanted per group: they are sorted in the cache */
#define MANY_GROUP_BITS 10  /* more groups than this: their ends leave the first-level cache, */
#define LARGE_GROUP 32768   /* so groups may become this large */
#define FIRST_ENTRIES 16384 /* memory for these at first, if the number is unknown */
#define ENTRIES_PER_THREAD 65536 /* a thread more must be worth starting */
#define MIN_ENTRIES 64           /* fewer per part are not worth sorting */

besom_status besom__bulk_tick(struct bulk *b, uint64_t inserted) {
  uint64_t done = b->done + (b->count + inserted) / 2;
  if (done > b->told) b->told = done; /* what is begun again does not tell less */
  return besom__tick(b->progress, b->told, b->total);
}

/* ------------------------------------------------------------------ planning */

static unsigned bulk_bits_of(uint64_t x) {
  return x ? 64 - leading_zeros(x) : 0;
}

static unsigned group_bits(uint64_t entries) {
  unsigned bits = 0;
  while (bits < MAX_GROUP_BITS &&
         entries >> bits > (bits < MANY_GROUP_BITS ? GROUP_ENTRIES : LARGE_GROUP))
    bits++;
  return bits;
}

/* Short entries if places have at most 32 bits besides those of the group. */
static void choose_form(struct bulk *b, unsigned bits) {
  unsigned place_bits = bulk_bits_of(b->slots) + b->width;
  b->form = (struct entry_form){.whole = true, .shift = 63 - bits};
  b->groups = (size_t)1 << bits;
  if (!place_bits || place_bits > 32 + bits) return;
  uint64_t places = b->slots << b->width;
  place_bits = bulk_bits_of(places - 1);
  unsigned shift = place_bits > bits ? place_bits - bits : 0;
  b->form =
      (struct entry_form){.shift = shift, .places = places, .step = ~(unsigned __int128)0 / places};
  b->groups = (size_t)(((places - 1) >> shift) + 1);
}

static uint64_t chunks_for(const struct bulk *b, uint64_t entries) {
  return entries / CHUNK_ENTRIES(entry_bytes(&b->form)) + 1 + open_chunks(b);
}

static size_t lists_bytes(const struct bulk *b) {
  return b->threads * (sizeof *b->lists + b->groups * sizeof *b->lists->ends);
}

/* The memory for so many entries per part; the largest group may exceed the average. */
static uint64_t bytes_for(const struct bulk *b, uint64_t entries) {
  uint64_t largest = 2 * (entries / b->groups) + 64;
  return pool_bytes(chunks_for(b, entries)) + lists_bytes(b) + besom__bulk_batch_bytes(b->threads) +
         besom__bulk_sort_bytes(b, largest < entries ? largest : entries);
}

/* Chooses threads, groups and form for so many entries per part; their memory. */
static uint64_t bulk_plan_for(struct bulk *b, uint64_t entries, unsigned threads) {
  uint64_t worth = 1 + entries / ENTRIES_PER_THREAD;
  b->threads = threads < worth ? threads : (unsigned)worth;
  choose_form(b, group_bits(entries));
  return bytes_for(b, entries);
}

/*
 * Statistics tell slots and width of the table of every kind that appends; a layered one tells its
 * base's. False if there is too little memory.
 */
static bool bulk_plan(struct bulk *b, unsigned threads) {
  struct stats_out stats;
  besom__stats(b->f, &stats);
  b->slots = stats.common.slots;
  b->width = stats.common.width;
  if (threads < 1) threads = 1;
  if (threads > MAX_WORKERS + 1) threads = MAX_WORKERS + 1;
  /* More keys than the capacity do not fit, unless they are copies; one more: none follows. */
  b->most = b->f->capacity + 1;
  if (b->limit && b->limit / SHORT_ENTRY < b->most) b->most = b->limit / SHORT_ENTRY;
  uint64_t entries = b->total && b->total < b->most ? b->total + 1 : b->most;
  while (bulk_plan_for(b, entries, threads) > b->limit && b->limit) {
    entries -= entries / 16 + 1;
    if (entries < MIN_ENTRIES) return false;
  }
  if (b->limit) b->most = entries;
  return true;
}

/* ------------------------------------------------------------------ memory */

static void *bulk_allocate(struct bulk *b, size_t bytes) {
  void *memory = besom__allocate(&b->f->allocator, bytes);
  if (memory) b->bytes += bytes;
  return memory;
}

static bool make_lists(struct bulk *b) {
  b->lists = bulk_allocate(b, lists_bytes(b));
  if (!b->lists) return false;
  uint8_t **ends = (uint8_t **)(b->lists + b->threads);
  for (unsigned i = 0; i < b->threads; i++)
    b->lists[i] = (struct partition){.pool = &b->pool, .ends = ends + i * b->groups};
  return true;
}

static bool bulk_make_pool(struct bulk *b) {
  uint64_t entries = b->total && b->total < b->most                    ? b->total + 1
                     : b->total || b->limit || b->most < FIRST_ENTRIES ? b->most
                                                                       : FIRST_ENTRIES;
  uint64_t chunks = chunks_for(b, entries);
  b->pool.allocator = &b->f->allocator;
  if (!besom__pool_grow(&b->pool, chunks)) return false;
  b->bytes += pool_bytes(chunks);
  return true;
}

static void release_all(struct bulk *b) {
  const besom_allocator *allocator = &b->f->allocator;
  besom__pool_free(&b->pool);
  besom__release(allocator, b->lists, lists_bytes(b));
  besom__release(allocator, b->batches, besom__bulk_batch_bytes(b->threads));
}

/* Without memory for batches, one thread does it. */
static bool make_all(struct bulk *b) {
  size_t batches = besom__bulk_batch_bytes(b->threads);
  if (batches && !(b->batches = bulk_allocate(b, batches))) b->threads = 1;
  if (make_lists(b) && bulk_make_pool(b)) return true;
  release_all(b);
  return false;
}

/* All chunks are free again. */
static void start_part(struct bulk *b) {
  b->done += b->count;
  b->count = 0;
  atomic_store_explicit(&b->pool.taken, 0, memory_order_relaxed);
  for (unsigned i = 0; i < b->threads; i++)
    memset(b->lists[i].ends, 0, b->groups * sizeof *b->lists[i].ends);
}

besom_status besom__bulk_build(besom_filter *f, const besom_input *in, uint64_t total,
                               const besom_config *config, bool *begun) {
  struct bulk b = {.f = f,
                   .source = in->yes,
                   .parts = has_parts(in) ? in->yes->ctx : NULL,
                   .total = total,
                   .limit = config->build_memory,
                   .progress = in->progress};
  *begun = bulk_plan(&b, config->threads) && make_all(&b);
  if (!*begun) return BESOM_OK;
  besom_status status = BESOM_OK;
  for (bool all = false; status == BESOM_OK && !all;) {
    start_part(&b);
    status = besom__bulk_collect(&b, &all);
    if (status == BESOM_OK) status = besom__bulk_add(&b);
  }
  release_all(&b);
  return status;
}
