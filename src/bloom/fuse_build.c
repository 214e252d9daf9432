/*
 * Building a fuse filter by peeling: a cell that belongs to one key only is assigned to that key.
 * That may leave other cells with one key, and so on, from both ends of the array to its middle.
 */
#include "bloom/fuse.h"
#include "core/system/memory.h"

#define MAX_BUCKETS 1024
#define FETCH_AHEAD 16

/*
 * The state of an attempt. Per cell: the xor of the hashes of its unassigned keys, and their number
 * and roles.
 */
struct peeling {
  uint64_t *sorted; /* all hashes, grouped by the segment of their cells */
  uint64_t *hashes;
  uint32_t *order; /* cells in the order of assignment, and candidates */
  uint8_t *keys;
  void *scratch; /* hashes, order and keys, if there is no place for them among the digests */
};

/*
 * A byte of keys: the number of keys times ONE_KEY, and the xor of their roles: 0, 1 or 2 for a key
 * whose first, second or third cell it is.
 */
#define ONE_KEY 4

static uint64_t scratch_bytes(const struct fuse_cells *x) {
  struct peeling p;
  return fuse_cells_of(x) * (sizeof *p.hashes + sizeof *p.order + sizeof *p.keys) + sizeof *p.order;
}

static void peeling_free(const besom_filter *f, const struct fuse_cells *x, uint64_t n,
                         struct peeling *p) {
  besom__release(&f->allocator, p->scratch, scratch_bytes(x));
  besom__release(&f->allocator, p->sorted, (n + 1) * sizeof *p->sorted);
}

static besom_status peeling_new(const besom_filter *f, const struct fuse_cells *x, uint64_t n,
                                bool own_scratch, struct peeling *p) {
  *p = (struct peeling){.sorted = besom__allocate(&f->allocator, (n + 1) * sizeof *p->sorted)};
  if (p->sorted && own_scratch) p->scratch = besom__allocate(&f->allocator, scratch_bytes(x));
  if (p->sorted && (p->scratch || !own_scratch)) return BESOM_OK;
  peeling_free(f, x, n, p);
  return BESOM_NO_MEMORY;
}

/*
 * Groups the hashes into buckets of about a segment, so that the next pass visits cells in order.
 */
static void sort_hashes(const struct fuse_cells *x, const struct digests *d, uint64_t *sorted) {
  unsigned shift = 63; /* two buckets at least: a shift by 64 is undefined */
  for (uint64_t buckets = 2; buckets < x->first / x->segment && buckets < MAX_BUCKETS; buckets *= 2)
    shift--;
  uint64_t start[MAX_BUCKETS + 1] = {0};
  for (uint64_t i = 0; i < d->n; i++) start[(d->at[i].hi >> shift) + 1]++;
  for (unsigned b = 0; b < MAX_BUCKETS; b++) start[b + 1] += start[b];
  for (uint64_t i = 0; i < d->n; i++) sorted[start[d->at[i].hi >> shift]++] = d->at[i].hi;
}

/* Cells without keys, in the scratch memory. */
static void clear_cells(const struct fuse_cells *x, void *scratch, struct peeling *p) {
  size_t cells = (size_t)fuse_cells_of(x);
  p->hashes = scratch;
  p->order = (uint32_t *)(void *)(p->hashes + cells);
  p->keys = (uint8_t *)(p->order + cells + 1);
  memset(p->hashes, 0, cells * sizeof *p->hashes);
  memset(p->keys, 0, cells);
}

/*
 * The passes over cells visit them in random order within two segments. They prefetch cells in
 * ascending order, two segments ahead.
 */
ALWAYS_INLINE void fetch_cells(const struct fuse_cells *x, const struct peeling *p, uint64_t cell) {
  if (cell >= fuse_cells_of(x)) return;
  __builtin_prefetch(&p->hashes[cell], 1);
  __builtin_prefetch(&p->keys[cell], 1);
}

/* False if the number of keys of a cell overflows: there are many copies of one key. */
static bool fuse_build_add_keys(const struct fuse_cells *cells, uint64_t n, struct peeling *p) {
  const struct fuse_cells x = *cells; /* the compiler knows that bytes of keys do not change it */
  bool overflow = false;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t hash = p->sorted[i];
    struct fuse_key key = fuse_key_of(&x, hash);
    for (unsigned role = 0; role < 3; role++) {
      p->hashes[key.cell[role]] ^= hash;
      uint8_t keys = (uint8_t)(p->keys[key.cell[role]] + ONE_KEY);
      overflow |= keys < ONE_KEY;
      p->keys[key.cell[role]] = keys ^ (uint8_t)role;
    }
  }
  return !overflow;
}

/* Cells that have one key, or had one when they entered: a part of the order. */
struct queue {
  uint64_t assigned; /* cells of the order that are assigned */
  uint64_t next;     /* candidates are those from here .. */
  uint64_t end;      /* .. to here */
  uint64_t scanned;  /* cells from here on are not candidates yet */
};

/* A cell enters the order once, when one key is left in it. */
ALWAYS_INLINE void enqueue_if_one(struct peeling *p, struct queue *q, uint64_t cell) {
  p->order[q->end] = (uint32_t)cell; /* without a branch: it would be mispredicted half the time */
  q->end += (p->keys[cell] / ONE_KEY == 1) & (cell < q->scanned);
}

/* Takes a key that is assigned to another cell out of this one. */
ALWAYS_INLINE void fuse_build_remove_key(struct peeling *p, struct queue *q, uint64_t cell,
                                         uint64_t hash, unsigned role) {
  p->hashes[cell] ^= hash;
  p->keys[cell] = (uint8_t)(p->keys[cell] - ONE_KEY) ^ (uint8_t)role;
  enqueue_if_one(p, q, cell);
}

/*
 * Assigns the keys of the candidates, and of cells that become candidates. The hash of an assigned
 * cell stays valid, because no other key uses that cell any more.
 */
ALWAYS_INLINE void assign(const struct fuse_cells *x, struct peeling *p, struct queue *q) {
  for (; q->next < q->end; q->next++) {
    uint32_t cell = p->order[q->next];
    if (p->keys[cell] / ONE_KEY == 0) continue; /* its last key was assigned to another cell */
    uint64_t hash = p->hashes[cell];
    unsigned role = p->keys[cell] % ONE_KEY;
    struct fuse_key key = fuse_key_of(x, hash);
    p->order[q->assigned++] = cell;
    p->keys[cell] = 0;
    fuse_build_remove_key(p, q, role == 0 ? key.cell[1] : key.cell[0], hash, role == 0);
    fuse_build_remove_key(p, q, role == 2 ? key.cell[1] : key.cell[2], hash, role == 2 ? 1 : 2);
  }
}

/*
 * Assigns as many keys to cells as it can. Returns their number. Candidates come from the segments
 * scanned so far: the cells of a key are near each other, so the memory that is worked on stays in
 * the cache.
 */
static uint64_t peel(const struct fuse_cells *cells, const struct peeling *peeling) {
  const struct fuse_cells x = *cells;
  struct peeling p = *peeling;
  struct queue q = {0};
  while (q.scanned < fuse_cells_of(&x)) {
    uint64_t cell = q.scanned;
    q.scanned += x.segment;
    for (; cell < q.scanned; cell++) {
      if (cell % 8 == 0) fetch_cells(&x, &p, cell + 2 * x.segment);
      enqueue_if_one(&p, &q, cell);
    }
    assign(&x, &p, &q);
  }
  return q.assigned;
}

/* In reverse order: when a key's cell is set, its other two cells have their final value. */
static void fill_cells(const struct fuse_cells *cells, const struct peeling *p, uint64_t n) {
  const struct fuse_cells x = *cells;
  while (n--) {
    if (n >= FETCH_AHEAD) __builtin_prefetch(&p->hashes[p->order[n - FETCH_AHEAD]]);
    uint64_t hash = p->hashes[p->order[n]], bit = p->order[n] * (uint64_t)x.width;
    struct fuse_key key = fuse_key_of(&x, hash);
    uint64_t others =
        fuse_cell(&x, key.cell[0]) ^ fuse_cell(&x, key.cell[1]) ^ fuse_cell(&x, key.cell[2]);
    uint64_t value = (others ^ fuse_fingerprint(hash)) & x.mask;
    store64(x.bits + bit / 8, load64(x.bits + bit / 8) ^ value << (bit % 8));
  }
}

/* Once the hashes are sorted, the memory of the digests is free for other uses. */
besom_status besom__fuse_fill(const besom_filter *f, const struct fuse_cells *x,
                              const struct digests *d) {
  struct peeling p;
  bool own_scratch = scratch_bytes(x) > d->room * sizeof *d->at;
  besom_status status = peeling_new(f, x, d->n, own_scratch, &p);
  if (status != BESOM_OK) return status;
  sort_hashes(x, d, p.sorted);
  clear_cells(x, own_scratch ? p.scratch : d->at, &p);
  bool peeled = fuse_build_add_keys(x, d->n, &p) && peel(x, &p) == d->n;
  if (peeled) fill_cells(x, &p, d->n);
  for (uint64_t i = 0; !peeled && i < d->n; i++) d->at[i] = (besom_digest){p.sorted[i], 0};
  peeling_free(f, x, d->n, &p);
  return peeled ? BESOM_OK : BESOM_END;
}
