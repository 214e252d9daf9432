/*
 * fuse: the 3-wise binary fuse filter (Graf and Lemire 2022), built once from a set. The exclusive
 * or of a key's three cells is the key's fingerprint. It is the smallest kind here, and a query
 * takes three memory reads.
 *
 * The three cells of a key are in consecutive segments. Building peels: a cell that belongs to one
 * key only is assigned to that key. That may leave other cells with one key, and so on, from both
 * ends of the array to its middle. If peeling gets stuck, it starts again with another hash of the
 * same digests. Two equal digests always get stuck, so after the first failure duplicates are
 * removed.
 */
#include <math.h>

#include "core/memory.h"
#include "core/options.h"
#include "filter.h"

#define MAX_WIDTH 32
#define MAX_KEYS (UINT64_C(1) << 31)    /* so that cell numbers have 32 bits */
#define MAX_SEGMENT (UINT64_C(1) << 18) /* the hash has no more bits for it */
#define MAX_SEED 1000                   /* attempts rarely fail; so many never do */
#define READ_BEYOND 7                   /* bytes after the cells: a read of a cell is 8 bytes */
#define MAX_BUCKETS 1024
#define BATCH 64
#define FETCH_AHEAD 16

struct fuse {
  besom_filter head;
  uint8_t *bits;
  uint64_t segment;  /* cells per segment, a power of two */
  uint64_t segments; /* that can contain a key's first cell; there are two more */
  uint64_t seed;     /* the number of failed attempts; chooses the hash */
  uint32_t width;    /* bits per cell */
};

static const struct fuse *const_fuse(const besom_filter *f) {
  return (const struct fuse *)f;
}

static struct fuse *fuse(besom_filter *f) {
  return (struct fuse *)f;
}

/* ------------------------------------------------------------------ sizes */

static uint64_t cells_of(const struct fuse *x) {
  return (x->segments + 2) * x->segment;
}

static uint64_t bytes_of(const struct fuse *x) {
  return (cells_of(x) * x->width + 7) / 8 + READ_BEYOND;
}

/*
 * Sizes found by the authors of the filter: 1.125 cells per key for large sets, more for small
 * ones.
 */
static void set_segments(struct fuse *x, uint64_t keys) {
  double n = keys < 2 ? 2 : (double)keys;
  double cells = n * fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n));
  uint64_t segment = UINT64_C(1) << (unsigned)(log(n) / log(3.33) + 2.25);
  x->segment = segment < MAX_SEGMENT ? segment : MAX_SEGMENT;
  double segments = ceil(cells / (double)x->segment);
  x->segments = segments < 3 ? 1 : (uint64_t)segments - 2;
}

/*
 * From the false-positive rate, or from the bits per key at capacity. 0 if there is no such width.
 */
static uint32_t width_for(const besom_config *config) {
  struct fuse full = {.width = 1};
  set_segments(&full, config->capacity);
  double width = config->bits_per_key != 0
                     ? floor((config->bits_per_key * (double)config->capacity -
                              8.0 * (sizeof full + READ_BEYOND)) /
                             (double)cells_of(&full))
                     : ceil(-log2(config->fpr != 0 ? config->fpr : DEFAULT_FPR));
  if (config->bits_per_key != 0 && width > MAX_WIDTH) return MAX_WIDTH;
  return width >= 1 && width <= MAX_WIDTH ? (uint32_t)width : 0;
}

static double bits_per_key(double keys, double *fpr) {
  struct fuse full = {.width = 1};
  double width = ceil(-log2(*fpr) - 1e-9);
  if (width < 1 || width > MAX_WIDTH || !(keys >= 1 && keys <= MAX_KEYS)) return 0;
  set_segments(&full, (uint64_t)keys);
  *fpr = exp2(-width);
  return width * (double)cells_of(&full) / keys;
}

/* ------------------------------------------------------------------ cells */

ALWAYS_INLINE uint64_t hash_of(besom_digest d, uint64_t seed) {
  uint64_t x = d.hi ^ (d.lo * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xbf58476d1ce4e5b9));
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 29;
}

struct cells {
  uint64_t cell[3];
};

/*
 * The upper bits of the hash choose the first cell, anywhere. The others are one and two segments
 * further, with the position in the segment changed by other bits.
 */
ALWAYS_INLINE struct cells cells_of_key(const struct fuse *x, uint64_t hash) {
  uint64_t first = (uint64_t)((unsigned __int128)hash * (x->segments * x->segment) >> 64);
  uint64_t within = x->segment - 1;
  return (struct cells){{first, (first + x->segment) ^ (hash >> 18 & within),
                         (first + 2 * x->segment) ^ (hash & within)}};
}

ALWAYS_INLINE uint64_t fingerprint_of(const struct fuse *x, uint64_t hash) {
  return (hash ^ hash >> 32) & bits_below(x->width);
}

ALWAYS_INLINE uint64_t cell_at(const struct fuse *x, uint64_t cell) {
  uint64_t bit = cell * x->width;
  return load64(x->bits + bit / 8) >> (bit % 8);
}

ALWAYS_INLINE bool has(const struct fuse *x, uint64_t hash) {
  struct cells p = cells_of_key(x, hash);
  uint64_t together = cell_at(x, p.cell[0]) ^ cell_at(x, p.cell[1]) ^ cell_at(x, p.cell[2]);
  return ((together ^ fingerprint_of(x, hash)) & bits_below(x->width)) == 0;
}

static bool contains(const besom_filter *f, besom_digest d) {
  return f->items && has(const_fuse(f), hash_of(d, const_fuse(f)->seed));
}

static void prefetch(const struct fuse *x, uint64_t hash) {
  struct cells p = cells_of_key(x, hash);
  for (unsigned i = 0; i < 3; i++) __builtin_prefetch(x->bits + p.cell[i] * x->width / 8);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct fuse *x = const_fuse(f);
  uint64_t hashes[BATCH];
  for (size_t i = 0; i < n; i += BATCH) {
    size_t some = n - i < BATCH ? n - i : BATCH;
    for (size_t j = 0; j < some; j++) {
      hashes[j] = hash_of(d[i + j], x->seed);
      prefetch(x, hashes[j]);
    }
    uint64_t word = 0;
    for (size_t j = 0; j < some; j++) word |= (uint64_t)has(x, hashes[j]) << j;
    bitmap[i / 64] = f->items ? word : 0;
  }
}

/* ------------------------------------------------------------------ building */

/*
 * The state of an attempt: per cell the number of its unassigned keys and the xor of their hashes.
 */
struct peeling {
  uint64_t *hashes;
  uint8_t *keys;
  uint64_t *sorted; /* all hashes, grouped by the segment of their cells */
  uint32_t *order;  /* cells in the order of assignment; shares the memory of sorted */
  size_t sorted_bytes;
};

static void peeling_free(const besom_filter *f, struct peeling *p) {
  size_t cells = (size_t)cells_of(const_fuse(f));
  besom__release(&f->allocator, p->hashes, cells * sizeof *p->hashes);
  besom__release(&f->allocator, p->keys, cells);
  besom__release(&f->allocator, p->sorted, p->sorted_bytes);
}

static besom_status peeling_new(const besom_filter *f, uint64_t n, struct peeling *p) {
  size_t cells = (size_t)cells_of(const_fuse(f));
  size_t sorted = (size_t)n * sizeof *p->sorted, order = (cells + 1) * sizeof *p->order;
  *p = (struct peeling){.sorted_bytes = sorted > order ? sorted : order};
  p->hashes = besom__allocate(&f->allocator, cells * sizeof *p->hashes);
  p->keys = p->hashes ? besom__allocate(&f->allocator, cells) : NULL;
  p->sorted = p->keys ? besom__allocate(&f->allocator, p->sorted_bytes) : NULL;
  p->order = (uint32_t *)(void *)p->sorted;
  if (p->sorted) return BESOM_OK;
  peeling_free(f, p);
  return BESOM_NO_MEMORY;
}

/*
 * Groups the hashes into buckets of about a segment, so that the next pass visits cells in order.
 */
static void sort_hashes(const struct fuse *x, const struct digests *d, struct peeling *p) {
  unsigned shift = 64;
  for (uint64_t buckets = 1; buckets < x->segments && buckets < MAX_BUCKETS; buckets *= 2) shift--;
  uint64_t start[MAX_BUCKETS + 1] = {0};
  if (shift == 64) shift = 63; /* two buckets instead of one: a shift by 64 is undefined */
  for (uint64_t i = 0; i < d->n; i++) start[(hash_of(d->at[i], x->seed) >> shift) + 1]++;
  for (unsigned b = 0; b < MAX_BUCKETS; b++) start[b + 1] += start[b];
  for (uint64_t i = 0; i < d->n; i++) {
    uint64_t hash = hash_of(d->at[i], x->seed);
    p->sorted[start[hash >> shift]++] = hash;
  }
}

/* False if the counter of a cell overflows: there are many copies of one key. */
static bool add_keys(const struct fuse *x, uint64_t n, struct peeling *p) {
  bool overflow = false;
  for (uint64_t i = 0; i < n; i++) {
    struct cells at = cells_of_key(x, p->sorted[i]);
    for (unsigned k = 0; k < 3; k++) {
      p->hashes[at.cell[k]] ^= p->sorted[i];
      overflow |= ++p->keys[at.cell[k]] == 0;
    }
  }
  return !overflow;
}

/*
 * Assigns as many keys to cells as it can. Returns their number. A cell enters the order once, when
 * one key is left in it. Its hash stays valid, because no other key uses that cell any more.
 */
static uint64_t peel(const struct fuse *x, struct peeling *p) {
  uint64_t found = 0, assigned = 0, cells = cells_of(x);
  for (uint64_t cell = 0; cell < cells; cell++)
    if (p->keys[cell] == 1) p->order[found++] = (uint32_t)cell;
  for (uint64_t i = 0; i < found; i++) {
    uint32_t cell = p->order[i];
    if (i + FETCH_AHEAD < found) __builtin_prefetch(&p->hashes[p->order[i + FETCH_AHEAD]]);
    if (p->keys[cell] == 0) continue; /* its last key was assigned to another cell */
    uint64_t hash = p->hashes[cell];
    struct cells at = cells_of_key(x, hash);
    p->order[assigned++] = cell;
    for (unsigned k = 0; k < 3; k++) {
      uint64_t other = at.cell[k];
      p->keys[other]--;
      p->hashes[other] ^= other == cell ? 0 : hash;
      /* Without a branch: it would be mispredicted half the time. */
      p->order[found] = (uint32_t)other;
      found += p->keys[other] == 1;
    }
  }
  return assigned;
}

/* In reverse order: when a key's cell is set, its other two cells have their final value. */
static void fill_cells(struct fuse *x, const struct peeling *p, uint64_t n) {
  while (n--) {
    if (n >= FETCH_AHEAD) __builtin_prefetch(&p->hashes[p->order[n - FETCH_AHEAD]]);
    uint64_t hash = p->hashes[p->order[n]], bit = p->order[n] * (uint64_t)x->width;
    struct cells at = cells_of_key(x, hash);
    uint64_t others = cell_at(x, at.cell[0]) ^ cell_at(x, at.cell[1]) ^ cell_at(x, at.cell[2]);
    uint64_t value = (others ^ fingerprint_of(x, hash)) & bits_below(x->width);
    store64(x->bits + bit / 8, load64(x->bits + bit / 8) ^ value << (bit % 8));
  }
}

/* One attempt with the hash of x->seed. END if peeling got stuck. */
static besom_status attempt(besom_filter *f, const struct digests *d) {
  struct peeling p;
  besom_status status = peeling_new(f, d->n, &p);
  if (status != BESOM_OK) return status;
  sort_hashes(fuse(f), d, &p);
  bool peeled = add_keys(fuse(f), d->n, &p) && peel(fuse(f), &p) == d->n;
  if (peeled) fill_cells(fuse(f), &p, d->n);
  peeling_free(f, &p);
  return peeled ? BESOM_OK : BESOM_END;
}

static besom_status make_bits(besom_filter *f) {
  struct fuse *x = fuse(f);
  if (bytes_of(x) > SIZE_MAX / 2) return BESOM_NO_MEMORY;
  x->bits = besom__allocate(&f->allocator, (size_t)bytes_of(x));
  return x->bits ? BESOM_OK : BESOM_NO_MEMORY;
}

static void destroy(besom_filter *f) {
  if (!f->mapping) besom__release(&f->allocator, fuse(f)->bits, (size_t)bytes_of(fuse(f)));
}

static besom_status build_of(besom_filter *f, struct digests *d) {
  struct fuse *x = fuse(f);
  set_segments(x, d->n);
  besom_status status = make_bits(f);
  if (status != BESOM_OK) return status;
  status = attempt(f, d);
  if (status == BESOM_END) {
    uint64_t n = d->n;
    besom__digests_unite(d);
    if (d->n < n) { /* so the size depends on the set, not on the number of duplicates */
      destroy(f);
      return build_of(f, d);
    }
  }
  while (status == BESOM_END && ++x->seed < MAX_SEED) status = attempt(f, d);
  if (status != BESOM_OK) destroy(f);
  return status == BESOM_END ? BESOM_FULL : status;
}

static besom_status read_config(besom_filter *f, const besom_config *config) {
  const char *text = config->options;
  struct option option;
  if (besom__option_next(&text, &option) != BESOM_END) return BESOM_BAD_OPTION;
  fuse(f)->width = width_for(config);
  return config->slots || config->value_bits || config->reserve != 0 || !fuse(f)->width
             ? BESOM_INVALID
             : BESOM_OK;
}

static besom_status build_digests(besom_filter *f, const besom_config *config, struct digests *d) {
  besom_status status = d->n > MAX_KEYS ? BESOM_FULL : read_config(f, config);
  if (status == BESOM_OK) status = build_of(f, d);
  f->items = d->n;
  f->capacity = d->n ? d->n : 1;
  return status;
}

static besom_status build(besom_filter *f, const besom_config *config, const besom_source *yes,
                          const besom_source *no, const besom_progress *progress) {
  struct digests d;
  besom_status status = no ? BESOM_UNSUPPORTED : read_config(f, config);
  if (status != BESOM_OK) return status;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  status = besom__collect(f, yes, most < MAX_KEYS ? most : MAX_KEYS, progress, &d);
  if (status != BESOM_OK) return status;
  status = build_digests(f, config, &d);
  besom__digests_free(f, &d);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct fuse *x = const_fuse(f);
  s->slots = cells_of(x);
  s->width = x->width;
  s->bytes += bytes_of(x);
  s->load_factor = (double)f->items / (double)s->slots;
  s->fpr_at_capacity = ldexp(1, -(int)x->width);
  s->expected_fpr = f->items ? s->fpr_at_capacity : 0;
}

/* Any cell contents are possible; only the sizes and the unused bits can be wrong. */
static const char *validate(const besom_filter *f) {
  const struct fuse *x = const_fuse(f);
  uint64_t used = cells_of(x) * x->width, unused = 0;
  if (f->capacity != (f->items ? f->items : 1)) return "the capacity is not the number of keys";
  if (f->items > cells_of(x)) return "there are more keys than cells";
  for (uint64_t i = used / 8; i < bytes_of(x); i++)
    unused |= i == used / 8 ? x->bits[i] >> (used % 8) : x->bits[i];
  return unused ? "there are bits after the last cell" : NULL;
}

static void save(const besom_filter *f, struct sections_out *out) {
  const struct fuse *x = const_fuse(f);
  besom__write_u64(&out->parameters, x->segment);
  besom__write_u64(&out->parameters, x->segments);
  besom__write_u64(&out->parameters, x->seed);
  besom__write_u64(&out->parameters, x->width);
  add_section(out, TAG_BITS, x->bits, bytes_of(x));
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct fuse *x = fuse(f);
  x->segment = besom__read_u64(&in->parameters);
  x->segments = besom__read_u64(&in->parameters);
  x->seed = besom__read_u64(&in->parameters);
  uint64_t width = besom__read_u64(&in->parameters);
  const struct section *saved = take_section(in, TAG_BITS);
  if (!saved || x->seed >= MAX_SEED || width == 0 || width > MAX_WIDTH) return BESOM_CORRUPT;
  x->width = (uint32_t)width;
  if (x->segment == 0 || x->segment > MAX_SEGMENT || (x->segment & (x->segment - 1)))
    return BESOM_CORRUPT;
  if (x->segments == 0 || x->segments > MAX_KEYS || saved->len != bytes_of(x)) return BESOM_CORRUPT;
  if (f->mapping) {
    x->bits = (uint8_t *)(uintptr_t)saved->data;
    return BESOM_OK;
  }
  besom_status status = make_bits(f);
  if (status == BESOM_OK) memcpy(x->bits, saved->data, (size_t)saved->len);
  return status;
}

const struct besom_kind besom__fuse = {
    .info = {"fuse", "binary fuse filter: built once from a set; the smallest, and fast", 0},
    .size = sizeof(struct fuse),
    .build = build,
    .build_digests = build_digests,
    .destroy = destroy,
    .bits_per_key = bits_per_key,
    .contains = contains,
    .contains_many = contains_many,
    .stats = stats,
    .validate = validate,
    .save = save,
    .load = load,
};
