#include "cuckoo/table.h"

/* ------------------------------------------------------------------ geometry */

size_t besom__ctable_bytes(uint64_t buckets, unsigned per_bucket, unsigned width) {
  if (buckets == 0 || buckets > UINT64_C(1) << 46) return 0;
  if ((per_bucket != 1 && per_bucket != MAX_BUCKET_SLOTS) || width < 2 || width > MAX_ENTRY_BITS)
    return 0;
  uint64_t bytes = (buckets * per_bucket * width + 7) / 8 + SLACK_BYTES;
  return bytes <= SIZE_MAX / 2 ? (size_t)bytes : 0;
}

void besom__ctable_init(struct ctable *t, uint64_t buckets, unsigned per_bucket, unsigned width,
                        void *bits) {
  *t = (struct ctable){.bits = bits,
                       .buckets = buckets,
                       .width = width,
                       .bucket_bits = width * per_bucket,
                       .per_bucket = per_bucket};
  for (unsigned i = 0; width <= LANES_IN_A_WORD && i < MAX_BUCKET_SLOTS; i++)
    t->fours |= UINT64_C(1) << i * width;
  t->tops = t->fours << (width - 1);
}

bool besom__ctable_ends_clean(const struct ctable *t) {
  uint64_t bits = ctable_slots(t) * t->width;
  uint8_t rest = bits % 8 ? t->bits[bits / 8] >> bits % 8 : 0;
  for (size_t i = (size_t)((bits + 7) / 8); i < ctable_size(t); i++) rest |= t->bits[i];
  return rest == 0;
}

/* ------------------------------------------------------------------ buckets */

static bool is_lanes(const struct ctable *t) {
  return t->per_bucket == MAX_BUCKET_SLOTS && t->width <= LANES_IN_A_WORD;
}

bool besom__buckets_have_wide(const struct ctable *t, uint64_t a, uint64_t b, uint64_t entry) {
  bool found = false;
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++) {
    found |= slot_get(t, a * MAX_BUCKET_SLOTS + i) == entry;
    found |= slot_get(t, b * MAX_BUCKET_SLOTS + i) == entry;
  }
  return found;
}

uint64_t besom__bucket_find(const struct ctable *t, uint64_t bucket, uint64_t entry) {
  uint64_t first = bucket * t->per_bucket;
  if (LIKELY(is_lanes(t))) {
    uint64_t found = some_zero_lane(t, bucket_lanes(t, bucket) ^ entry * t->fours);
    return found ? first + trailing_zeros(found) / t->width : NO_SLOT;
  }
  for (unsigned i = 0; i < t->per_bucket; i++)
    if (slot_get(t, first + i) == entry) return first + i;
  return NO_SLOT;
}

unsigned besom__bucket_count(const struct ctable *t, uint64_t bucket, uint64_t entry) {
  if (is_lanes(t)) return popcount(zero_lanes(t, bucket_lanes(t, bucket) ^ entry * t->fours));
  unsigned n = 0;
  for (unsigned i = 0; i < t->per_bucket; i++)
    n += slot_get(t, bucket * t->per_bucket + i) == entry;
  return n;
}

uint64_t besom__ctable_used(const struct ctable *t) {
  uint64_t empty = 0;
  for (uint64_t b = 0; b < t->buckets; b++) empty += besom__bucket_count(t, b, 0);
  return ctable_slots(t) - empty;
}

/* ------------------------------------------------------------------ kicks */

enum { MAX_NODES = 2048, NO_PARENT = 0xffff, SEEN_BITS = 12, SEEN_SIZE = 1 << SEEN_BITS };

/* A bucket of the search, and the slot of the bucket before it whose entry would come to it. */
struct node {
  uint64_t bucket;
  uint16_t parent;
  uint8_t slot, depth;
};

struct search {
  const struct ctable *table;
  const struct ctable_moves *moves;
  unsigned n, most;
  unsigned seen_mask; /* no more of the hash table is used than it takes: it must be cleared */
  struct node nodes[MAX_NODES];
  uint16_t seen[SEEN_SIZE]; /* a hash table of the nodes by their buckets: number + 1, or 0 */
};

/* Whether the bucket is new to the search; if so the next node is taken to be its. */
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
  if (s->n == s->most || !is_new(s, bucket)) return;
  s->nodes[s->n++] = (struct node){bucket, (uint16_t)parent, (uint8_t)slot, (uint8_t)depth};
  __builtin_prefetch(s->table->bits + bucket * s->table->bucket_bits / 8);
}

/* The nodes that the entries of this full bucket lead to. */
static besom_status expand(struct search *s, unsigned parent) {
  const struct node *node = &s->nodes[parent];
  for (unsigned i = 0; i < s->table->per_bucket && s->n < s->most; i++) {
    uint64_t buckets[MAX_PLACES];
    unsigned n = 0;
    besom_status status =
        s->moves->from(s->moves->ctx, node->bucket * s->table->per_bucket + i, buckets, &n);
    if (status != BESOM_OK) return status;
    for (unsigned k = 0; k < n; k++) add_node(s, buckets[k], parent, i, node->depth + 1u);
  }
  return BESOM_OK;
}

static void write_path(const struct search *s, unsigned last, uint64_t empty,
                       struct ctable_path *path) {
  path->moves = s->nodes[last].depth;
  path->slots[path->moves] = empty;
  for (const struct node *at = &s->nodes[last]; at->parent != NO_PARENT; at = &s->nodes[at->parent])
    path->slots[at->depth - 1] = s->nodes[at->parent].bucket * s->table->per_bucket + at->slot;
}

besom_status besom__ctable_path(const struct ctable *t, const uint64_t *starts, unsigned n,
                                const struct ctable_moves *moves, struct ctable_path *path) {
  struct search s; /* the nodes are not cleared: they are read only as far as they were written */
  s.table = t;
  s.moves = moves;
  s.n = 0;
  s.most = moves->most < MAX_NODES ? moves->most : MAX_NODES;
  s.seen_mask = s.most <= SEEN_SIZE / 4 ? SEEN_SIZE / 2 - 1 : SEEN_SIZE - 1;
  memset(s.seen, 0, (s.seen_mask + 1) * sizeof *s.seen);
  for (unsigned i = 0; i < n; i++) add_node(&s, starts[i], NO_PARENT, 0, 0);
  unsigned looked_at = 0;
  for (unsigned next = 0;; next++) {
    for (; looked_at < s.n;
         looked_at++) { /* before the next one leads further: that may cost a read of the store */
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
