/*
 * besom_build with BESOM_DISTINCT when neither the capacity nor the number of keys is known: the
 * source is read once. Digests are partitioned by their first bits as they come, which counts them.
 * Then the filter is created, and gets the groups one after the other: a group is sorted in the
 * cache, and what is repeated in it is dropped.
 *
 * Short entries: a group keeps the first 74 bits of a digest, 64 in the entry. That tells the place
 * of the digest in the table (quotient and remainder), except near the border of two places. If
 * this happens, or if there are too many keys or places, the source is read again and whole digests
 * are kept.
 */
#include "build/build_distinct.h"

#include "build/bulk.h"
#include "core/sort.h"
#include "core/system/memory.h"

#define GROUPS ((size_t)1 << DISTINCT_GROUP_BITS)
#define FIRST_CHUNKS (4 * GROUPS)
#define MOST_SHORT (UINT64_C(1) << 27) /* keys: two with equal bits are less likely than 10^-6 */
#define MOST_PLACE_BITS 42
#define TICK_EVERY 4096
#define FEW_BITS 14 /* a width that allows MOST_SHORT keys */

/* What a group keeps of a digest, sorted. */
union entries {
  besom_digest *whole;
  uint64_t *rests;
};

struct collected {
  const besom_filter *head; /* hash and allocator */
  bool is_short;
  unsigned bits; /* of short entries: 64, or fewer in a test */
  size_t entry_bytes;
  struct chunk_pool pool;
  struct partition list;
  uint8_t *ends[GROUPS];
  uint64_t count;
  uint64_t places; /* of the filter, if entries are short */
  bool is_ambiguous;
  union entries sorted; /* of group - 1 */
  size_t room, n, given, group;
  uint32_t starts[SORT_COUNTS];
};

/* ------------------------------------------------------------------ reading */

/* Room for a batch, whatever groups it belongs to: half as much again as there is. */
static besom_status distinct_make_chunks(struct collected *c) {
  uint64_t chunks = pool_chunks(&c->pool), per_chunk = CHUNK_ENTRIES(c->entry_bytes);
  if (c->count + BUILD_BATCH + 2 * GROUPS * per_chunk <= chunks * per_chunk) return BESOM_OK;
  return besom__pool_grow(&c->pool, chunks / 2 > FIRST_CHUNKS ? chunks / 2 : FIRST_CHUNKS)
             ? BESOM_OK
             : BESOM_NO_MEMORY;
}

ALWAYS_INLINE size_t distinct_group_of(besom_digest d) {
  return (size_t)(d.hi >> (64 - DISTINCT_GROUP_BITS));
}

ALWAYS_INLINE uint64_t rest_of(besom_digest d) {
  return d.hi << DISTINCT_GROUP_BITS | d.lo >> (64 - DISTINCT_GROUP_BITS);
}

static void add_to_groups(struct collected *c, const besom_digest *d, size_t n) {
  struct partition list = c->list;
  uint64_t kept = c->bits == 64 ? UINT64_MAX : ~(UINT64_MAX >> c->bits);
  for (size_t i = 0; c->is_short && i < n; i++)
    *(uint64_t *)partition_add(&list, distinct_group_of(d[i]), sizeof kept) = rest_of(d[i]) & kept;
  for (size_t i = 0; !c->is_short && i < n; i++)
    *(besom_digest *)partition_add(&list, distinct_group_of(d[i]), sizeof *d) = d[i];
}

static besom_status distinct_read_all(struct collected *c, const besom_source *source,
                                      const besom_progress *progress) {
  besom_digest batch[BUILD_BATCH];
  besom_status status = BESOM_OK;
  while (status == BESOM_OK) {
    size_t n = 0;
    status = distinct_make_chunks(c);
    if (status == BESOM_OK) status = besom__read_digests(c->head, source, batch, BUILD_BATCH, &n);
    add_to_groups(c, batch, n);
    c->count += n;
    besom_status ticked =
        c->count % TICK_EVERY < BUILD_BATCH ? besom__tick(progress, c->count, 0) : BESOM_OK;
    if (ticked != BESOM_OK) return ticked;
    if (c->is_short && c->count > MOST_SHORT) return BESOM_OK;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ sorting */

static size_t group_size(const struct collected *c, size_t group) {
  return (size_t)besom__partition_count(&c->list, group, c->entry_bytes);
}

static besom_status start_sorting(struct collected *c) {
  for (size_t g = 0; g < GROUPS; g++)
    if (group_size(c, g) > c->room) c->room = group_size(c, g);
  c->sorted.whole = besom__allocate(&c->head->allocator, (c->room + 1) * c->entry_bytes);
  return c->sorted.whole ? BESOM_OK : BESOM_NO_MEMORY;
}

static void sort_whole(struct collected *c) {
  size_t kept = 0, n = c->n;
  besom_digest *d = c->sorted.whole;
  besom__partition_copy(&c->list, c->group, d);
  besom__sort_digests(d, n, DISTINCT_GROUP_BITS);
  for (size_t i = 0; i < n; i++)
    if (!kept || digest_less(d[kept - 1], d[i])) d[kept++] = d[i];
  c->n = kept;
}

/* Distributes the entries by their first bits, so that about one has each value; then sorts. */
static void sort_short(struct collected *c) {
  struct chunk_walk walk = besom__partition_walk(&c->list, c->group), again = walk;
  unsigned bits = besom__sort_bits(c->n);
  const uint64_t *entries;
  uint64_t *to = c->sorted.rests;
  size_t bytes, kept = 0;
  memset(c->starts, 0, sizeof *c->starts << bits);
  while ((entries = partition_next(&walk, &bytes)))
    for (size_t i = 0; i < bytes / sizeof *to; i++) c->starts[entries[i] >> (64 - bits)]++;
  besom__sort_sum(c->starts, (size_t)1 << bits);
  while ((entries = partition_next(&again, &bytes)))
    for (size_t i = 0; i < bytes / sizeof *to; i++)
      to[c->starts[entries[i] >> (64 - bits)]++] = entries[i];
  besom__sort_parts(to, c->starts, (size_t)1 << bits);
  for (size_t i = 0; i < c->n; i++)
    if (!kept || to[kept - 1] < to[i]) to[kept++] = to[i];
  c->n = kept;
}

static void sort_next_group(struct collected *c) {
  c->n = group_size(c, c->group);
  c->given = 0;
  if (c->is_short && c->n)
    sort_short(c);
  else
    sort_whole(c);
  c->group++;
}

/* ------------------------------------------------------------------ giving digests */

/* Group and rest are the first 74 bits; `bits` of the rest are known. */
bool besom__place_is_ambiguous(uint64_t group, uint64_t rest, unsigned bits, uint64_t places) {
  unsigned __int128 first = (unsigned __int128)group << 64 | rest,
                    whole = (unsigned __int128)1 << (64 + DISTINCT_GROUP_BITS),
                    part = first * places & (whole - 1);
  return part + ((unsigned __int128)places << (64 - bits)) > whole;
}

static void write_short(struct collected *c, besom_digest *out, size_t n) {
  const uint64_t *rests = c->sorted.rests + c->given;
  uint64_t group = c->group - 1;
  for (size_t i = 0; i < n; i++) {
    c->is_ambiguous |= besom__place_is_ambiguous(group, rests[i], c->bits, c->places);
    out[i] = (besom_digest){group << (64 - DISTINCT_GROUP_BITS) | rests[i] >> DISTINCT_GROUP_BITS,
                            rests[i] << (64 - DISTINCT_GROUP_BITS)};
  }
}

static besom_status next_distinct(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  struct collected *c = ctx;
  while (c->given == c->n && c->group < GROUPS) sort_next_group(c);
  *n = c->n - c->given < cap ? c->n - c->given : cap;
  if (!*n) return BESOM_END;
  if (c->is_short)
    write_short(c, out, *n);
  else
    memcpy(out, c->sorted.whole + c->given, *n * sizeof *out);
  c->given += *n;
  return BESOM_OK;
}

static besom_status distinct_insert_all(besom_filter *f, struct collected *c) {
  besom_digest batch[BUILD_BATCH];
  size_t n, inserted;
  besom_status status;
  while ((status = next_distinct(c, batch, BUILD_BATCH, &n)) == BESOM_OK) {
    status = besom__insert_digests(f, batch, n, &inserted);
    if (status != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ building */

/* Whether the places of the filter follow from short entries. */
static bool set_places(struct collected *c, const besom_filter *f) {
  struct stats_out stats;
  besom__stats(f, &stats);
  uint64_t slots = stats.common.slots, width = stats.common.width;
  bool known = slots && width && 64 - leading_zeros(slots) + width <= MOST_PLACE_BITS;
  c->places = known ? slots << width : 0;
  return known && c->count <= MOST_SHORT;
}

/* The filter for as many keys as were read, with the hash that they were hashed with. */
static besom_status create_and_fill(struct collected *c, besom_config config, besom_filter **out) {
  besom_filter *f;
  config.capacity = c->count ? c->count : 1;
  config.seed = c->head->hasher.seed;
  besom_status status = start_sorting(c);
  if (status == BESOM_OK) status = besom__create_plain(&config, &f);
  if (status != BESOM_OK) return status;
  besom_digest_source sorted = {.next = next_distinct, .size_hint = c->count, .ctx = c};
  c->is_ambiguous = c->is_short && !set_places(c, f);
  if (!c->is_ambiguous)
    status =
        besom__can_append(f) ? f->kind->whole->append(f, &sorted, NULL) : distinct_insert_all(f, c);
  if (status == BESOM_OK && !c->is_ambiguous)
    *out = f;
  else
    besom_free(f);
  return status;
}

/* *again: the entries were too short; the source must be read again. */
static besom_status build_once(const besom_filter *head, const besom_config *config,
                               const besom_source *source, const besom_progress *progress,
                               unsigned bits, bool *again, besom_filter **out) {
  struct collected *c = besom__allocate(&head->allocator, sizeof *c);
  if (!c) return BESOM_NO_MEMORY;
  c->head = head;
  c->is_short = *again;
  c->bits = bits;
  c->entry_bytes = c->is_short ? sizeof(uint64_t) : sizeof(besom_digest);
  c->pool.allocator = &head->allocator;
  c->list = (struct partition){.pool = &c->pool, .ends = c->ends};
  besom_status status = distinct_read_all(c, source, progress);
  if (status == BESOM_OK) status = create_and_fill(c, *config, out);
  *again = status == BESOM_OK && c->is_ambiguous;
  besom__pool_free(&c->pool);
  if (c->sorted.whole)
    besom__release(&head->allocator, c->sorted.whole, (c->room + 1) * c->entry_bytes);
  besom__release(&head->allocator, c, sizeof *c);
  return status;
}

/* Whether short entries are worth a try: kinds that append need the place only. */
static bool may_be_short(const besom_config *config, const besom_source *source) {
  besom_filter *probe;
  struct stats_out stats;
  if (!source->rewind || besom__create_plain(config, &probe) != BESOM_OK) return false;
  besom__stats(probe, &stats);
  bool is_narrow = besom__can_append(probe) && stats.common.width <= FEW_BITS;
  besom_free(probe);
  return is_narrow;
}

besom_status besom__build_distinct(const besom_config *config, const besom_source *source,
                                   const besom_progress *progress, unsigned bits,
                                   besom_filter **out) {
  const struct besom_kind *kind;
  struct hasher hasher;
  besom_filter *head;
  besom_config checked = *config;
  checked.capacity = 1; /* not known yet */
  besom_status status = besom__config_read(&checked, &kind, &hasher);
  if (status == BESOM_OK) status = besom__filter_new(kind, &hasher, config->allocator, &head);
  if (status != BESOM_OK) return status;
  bool again = may_be_short(&checked, source);
  status = build_once(head, config, source, progress, bits, &again, out);
  if (status == BESOM_OK && again) {
    again = false;
    status = source->rewind(source->ctx);
    if (status == BESOM_OK) status = build_once(head, config, source, progress, bits, &again, out);
  }
  besom__filter_drop(head);
  return status;
}
