#include "cuckoo/cuckoo_table.h"

/* ------------------------------------------------------------------ geometry */

uint64_t besom__cuckoo_table_bytes(uint64_t buckets, unsigned slots_per_bucket, unsigned width) {
  if (buckets == 0 || buckets > UINT64_C(1) << 46) return 0;
  if ((slots_per_bucket != 1 && slots_per_bucket != MAX_BUCKET_SLOTS) || width < 2 ||
      width > MAX_ENTRY_BITS)
    return 0;
  return (buckets * slots_per_bucket * width + 7) / 8 + SLACK_BYTES;
}

void besom__cuckoo_table_init(struct cuckoo_table *t, uint64_t buckets, unsigned slots_per_bucket,
                              unsigned width, void *bits) {
  *t = (struct cuckoo_table){.bits = bits,
                             .buckets = buckets,
                             .width = width,
                             .bucket_bits = width * slots_per_bucket,
                             .bucket_bytes = width * slots_per_bucket / 8,
                             .slots_per_bucket = slots_per_bucket};
  for (unsigned i = 0; width <= MAX_LANE_BITS && i < MAX_BUCKET_SLOTS; i++)
    t->lane_ones |= UINT64_C(1) << i * width;
  t->minus_ones = -t->lane_ones;
  t->lane_tops = t->lane_ones << (width - 1);
}

bool besom__cuckoo_table_ends_clean(const struct cuckoo_table *t) {
  uint64_t bits = cuckoo_table_slots(t) * t->width;
  uint8_t rest = bits % 8 ? t->bits[bits / 8] >> bits % 8 : 0;
  for (size_t i = (size_t)((bits + 7) / 8); i < cuckoo_table_size(t); i++) rest |= t->bits[i];
  return rest == 0;
}

/* ------------------------------------------------------------------ buckets */

static bool is_lanes(const struct cuckoo_table *t) {
  return t->slots_per_bucket == MAX_BUCKET_SLOTS && t->width <= MAX_LANE_BITS;
}

bool besom__buckets_have(const struct cuckoo_table *t, uint64_t a, uint64_t b, uint64_t entry) {
  bool found = false;
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++) {
    found |= slot_get(t, a * MAX_BUCKET_SLOTS + i) == entry;
    found |= slot_get(t, b * MAX_BUCKET_SLOTS + i) == entry;
  }
  return found;
}

uint64_t besom__bucket_find(const struct cuckoo_table *t, uint64_t bucket, uint64_t entry) {
  uint64_t first = bucket * t->slots_per_bucket;
  if (LIKELY(is_lanes(t))) {
    uint64_t found = some_zero_lane(t, bucket_lanes(t, bucket) ^ entry * t->lane_ones);
    return found ? first + trailing_zeros(found) / t->width : NO_SLOT;
  }
  for (unsigned i = 0; i < t->slots_per_bucket; i++)
    if (slot_get(t, first + i) == entry) return first + i;
  return NO_SLOT;
}

unsigned besom__bucket_count(const struct cuckoo_table *t, uint64_t bucket, uint64_t entry) {
  if (is_lanes(t)) return popcount(zero_lanes(t, bucket_lanes(t, bucket) ^ entry * t->lane_ones));
  unsigned n = 0;
  for (unsigned i = 0; i < t->slots_per_bucket; i++)
    n += slot_get(t, bucket * t->slots_per_bucket + i) == entry;
  return n;
}

uint64_t besom__cuckoo_table_used(const struct cuckoo_table *t) {
  uint64_t empty = 0;
  for (uint64_t b = 0; b < t->buckets; b++) empty += besom__bucket_count(t, b, 0);
  return cuckoo_table_slots(t) - empty;
}

/* ------------------------------------------------------------------ kicks */

enum { MAX_NODES = 2048, NO_PARENT = 0xffff, SEEN_BITS = 12, SEEN_SIZE = 1 << SEEN_BITS };

/* A bucket of the search, and the slot of its parent bucket whose entry would move here. */
struct node {
  uint64_t bucket;
  uint16_t parent;
  uint8_t slot, depth;
};

struct search {
  const struct cuckoo_table *table;
  const struct cuckoo_moves *moves;
  unsigned n, max;
  unsigned seen_mask; /* uses only a part of the hash table if possible: it must be cleared */
  struct node nodes[MAX_NODES];
  uint16_t seen[SEEN_SIZE]; /* hash table of the nodes by bucket: number + 1, or 0 */
};

/* Whether the bucket is new to the search. If so, enters it as the next node. */
static bool is_new(struct search *s, uint64_t bucket) {
  unsigned at =
      (unsigned)(bucket * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SEEN_BITS)) & s->seen_mask;
  for (; s->seen[at]; at = (at + 1) & s->seen_mask)
    if (s->nodes[s->seen[at] - 1].bucket == bucket) return false;
  s->seen[at] = (uint16_t)(s->n + 1);
  return true;
}

static void add_node(struct search *s, uint64_t bucket, unsigned parent, unsigned slot,
                     unsigned depth) {
  if (s->n == s->max || !is_new(s, bucket)) return;
  s->nodes[s->n++] = (struct node){bucket, (uint16_t)parent, (uint8_t)slot, (uint8_t)depth};
  __builtin_prefetch(s->table->bits + bucket * s->table->bucket_bits / 8);
}

/* Adds the buckets that the entries of this full bucket can move to. */
static besom_status expand(struct search *s, unsigned parent) {
  const struct node *node = &s->nodes[parent];
  for (unsigned i = 0; i < s->table->slots_per_bucket && s->n < s->max; i++) {
    uint64_t buckets[MAX_BUCKETS_PER_KEY];
    unsigned n = 0;
    besom_status status =
        s->moves->from(s->moves->ctx, node->bucket * s->table->slots_per_bucket + i, buckets, &n);
    if (status != BESOM_OK) return status;
    for (unsigned k = 0; k < n; k++) add_node(s, buckets[k], parent, i, node->depth + 1u);
  }
  return BESOM_OK;
}

static void write_path(const struct search *s, unsigned last, uint64_t empty,
                       struct cuckoo_path *path) {
  path->moves = s->nodes[last].depth;
  path->slots[path->moves] = empty;
  for (const struct node *at = &s->nodes[last]; at->parent != NO_PARENT; at = &s->nodes[at->parent])
    path->slots[at->depth - 1] =
        s->nodes[at->parent].bucket * s->table->slots_per_bucket + at->slot;
}

besom_status besom__cuckoo_find_path(const struct cuckoo_table *t, const uint64_t *starts,
                                     unsigned n, const struct cuckoo_moves *moves,
                                     struct cuckoo_path *path) {
  struct search s; /* the nodes are not cleared: only written ones are read */
  s.table = t;
  s.moves = moves;
  s.n = 0;
  s.max = moves->max < MAX_NODES ? moves->max : MAX_NODES;
  s.seen_mask = s.max <= SEEN_SIZE / 4 ? SEEN_SIZE / 2 - 1 : SEEN_SIZE - 1;
  memset(s.seen, 0, (s.seen_mask + 1) * sizeof *s.seen);
  for (unsigned i = 0; i < n; i++) add_node(&s, starts[i], NO_PARENT, 0, 0);
  unsigned looked_at = 0;
  for (unsigned next = 0;; next++) {
    /* Checks all known buckets before it expands the next one, which may read the store. */
    for (; looked_at < s.n; looked_at++) {
      uint64_t empty = besom__bucket_find(t, s.nodes[looked_at].bucket, 0);
      if (empty == NO_SLOT) continue;
      write_path(&s, looked_at, empty, path);
      return BESOM_OK;
    }
    if (next == s.n) return BESOM_FULL;
    besom_status status = s.nodes[next].depth + 1 < MAX_PATH ? expand(&s, next) : BESOM_OK;
    if (status != BESOM_OK) return status;
  }
}
