/*
 * Building a retrieval: banding (Gaussian elimination as keys come), layer by layer, then back
 * substitution.
 *
 * The equations of a layer are kept as rows. The row of a slot begins there, with a coefficient of
 * 1. A key's equation is reduced by the rows that it meets until its first coefficient is in a slot
 * without a row. If nothing is left of it, it depends on earlier keys: it is met if its bits are
 * zero, too, else it cannot be.
 *
 * Buckets are filled from the first to the last. The last keys of a bucket come first, because the
 * first ones overlap with the bucket before, which is full already. If a key of a group cannot be
 * met, its group and the groups after it are bumped.
 */
#include "core/sort.h"
#include "core/system/memory.h"
#include "ribbon/retrieval.h"

#define LAST_LAYER_KEYS 512   /* so many or fewer are not bumped */
#define TWO_PARTS_SLOTS 16384 /* below, the slots that the gap leaves empty matter */
#define ATTEMPTS_PER_SIZE 16  /* in the last layer */
#define GROUPS 3              /* of the keys of a bucket */

/* In all layers but the last. Fewer slots are filled better, but more keys are bumped. */
static const double slots_per_key = 0.945;

/*
 * The rows of a layer. Two parts of it are filled at the same time. An equation of the lower part
 * must not be reduced by rows of the upper one, which may be taken back later. So there is a gap
 * between them, in which there are no rows.
 */
struct rows {
  uint64_t *coefficients; /* 0: no row */
  uint32_t *bits;
  uint64_t n;
  uint64_t upper; /* the first slot of the upper part */
};

enum { GAP = RIBBON_WIDTH }; /* an equation never skips more */

ALWAYS_INLINE uint64_t row_of(const struct rows *rows, uint64_t slot) {
  return slot < rows->upper ? slot : slot + GAP;
}

/* The state of a build. Layers and their words are appended. */
struct build {
  struct retrieval *x;
  const besom_allocator *allocator;
  struct retrieval_width width;
  bool bits;
  struct rows rows;
  uint64_t byte_room, bucket_room;
  uint8_t *thresholds; /* one byte per bucket */
};

/* ------------------------------------------------------------------ sizes */

static uint64_t blocks_for(double slots) {
  uint64_t blocks = (uint64_t)(slots / RIBBON_WIDTH);
  return blocks * RIBBON_WIDTH < slots ? blocks + 1 : blocks;
}

static bool is_last(uint64_t n, unsigned layers) {
  return n <= LAST_LAYER_KEYS || layers == MAX_LAYERS - 1;
}

/* All keys of the last layer must be met, by one of several hashes, or with more slots. */
static uint64_t last_blocks(uint64_t n, unsigned attempts) {
  return blocks_for((double)n + 4) + attempts / ATTEMPTS_PER_SIZE;
}

double besom__retrieval_slots_per_key(double n) {
  double slots = 0, left = n;
  for (unsigned layers = 0; !is_last((uint64_t)left, layers); layers++) {
    slots += RIBBON_WIDTH * (double)blocks_for(slots_per_key * left);
    left *= 1.002 - slots_per_key;
  }
  return (slots + RIBBON_WIDTH * (double)last_blocks((uint64_t)left, 0)) / n;
}

/* ------------------------------------------------------------------ memory */

static bool retrieval_enlarge(const besom_allocator *a, uint8_t **bytes, uint64_t used,
                              uint64_t *room, uint64_t more, uint64_t later) {
  if (*room - used >= more) return true;
  uint8_t *larger = besom__enlarge(a, *bytes, used, *room, used + more + later);
  if (!larger) return false;
  *bytes = larger;
  *room = used + more + later;
  return true;
}

static void rows_free(const struct build *b) {
  besom__release(b->allocator, b->rows.coefficients, b->rows.n * sizeof *b->rows.coefficients);
  besom__release(b->allocator, b->rows.bits, b->rows.n * sizeof *b->rows.bits);
}

static bool rows_new(struct build *b, uint64_t slots) {
  uint64_t n = slots + GAP;
  rows_free(b);
  b->rows = (struct rows){.n = n, .upper = slots};
  b->rows.coefficients = besom__allocate(b->allocator, n * sizeof *b->rows.coefficients);
  b->rows.bits = besom__allocate(b->allocator, n * sizeof *b->rows.bits);
  return b->rows.coefficients && b->rows.bits;
}

/* ------------------------------------------------------------------ banding */

static uint32_t bits_of_key(const struct build *b, besom_digest d) {
  return b->bits ? (uint32_t)(d.lo & 1) : retrieval_fingerprint(d);
}

/* What is left of a key's equation. */
struct equation {
  uint64_t row, coefficients;
  uint32_t bits;
};

static struct equation equation_of(const struct build *b, const struct retrieval_layer *l,
                                   besom_digest d) {
  return (struct equation){row_of(&b->rows, retrieval_start(l, d)), d.lo | 1, bits_of_key(b, d)};
}

/* Reduces it by the row that begins where it does. False: there is none, or nothing is left. */
ALWAYS_INLINE bool reduce(const struct rows *rows, struct equation *e) {
  uint64_t row = rows->coefficients[e->row];
  if (!row) return false;
  e->bits ^= rows->bits[e->row];
  e->coefficients ^= row;
  if (!e->coefficients) return false;
  unsigned skipped = trailing_zeros(e->coefficients);
  e->coefficients >>= skipped;
  e->row += skipped;
  return true;
}

/* Rows that were added: to take them back. */
struct added {
  uint64_t rows[2 * BUCKET];
  size_t n;
};

/* Adds a reduced equation as a row. Returns false if it cannot be met. */
static bool add_row(struct build *b, const struct retrieval_layer *l, besom_digest d,
                    const struct equation *e, struct added *added) {
  uint64_t first_block = retrieval_start(l, d) / RIBBON_WIDTH;
  if (!e->coefficients) return (e->bits & bits_below(columns_of_block(b->x, l, first_block))) == 0;
  if (added->n == sizeof added->rows / sizeof *added->rows) return false;
  if (e->row >= b->rows.upper && e->row < b->rows.upper + GAP) return false;
  b->rows.coefficients[e->row] = e->coefficients;
  b->rows.bits[e->row] = e->bits;
  added->rows[added->n++] = e->row;
  return true;
}

/*
 * A part of a layer, which is filled bucket by bucket, and each bucket group by group. The parts of
 * a layer are filled at the same time, a step of each in turn: the steps of one reduction depend on
 * each other, and so a processor does several reductions in the time of one.
 */
struct part {
  struct build *build;
  const struct retrieval_layer *layer;
  besom_digest *at;               /* its keys, in order */
  uint64_t n, bumped;             /* keys that are bumped move to the front */
  uint64_t first, end;            /* keys of the bucket */
  uint64_t key, group, group_end; /* the key to add; keys of the group */
  unsigned threshold;             /* what it would be if the group fails */
  struct added added;             /* by the group */
  struct equation equation;       /* of the key */
};

static uint64_t bucket_of_key(const struct part *p, uint64_t i) {
  return retrieval_start(p->layer, p->at[i]) / BUCKET;
}

/* The keys of the bucket before the last group, with starts from this threshold on. */
static void begin_group(struct part *p, unsigned threshold) {
  p->group_end = p->group;
  p->threshold = threshold + 1;
  p->added.n = 0;
  while (p->group > p->first &&
         retrieval_start(p->layer, p->at[p->group - 1]) % BUCKET >= bumped_below(threshold))
    p->group--;
  p->key = p->group;
}

static void begin_bucket(struct part *p) {
  p->first = p->end;
  while (p->end < p->n && bucket_of_key(p, p->end) == bucket_of_key(p, p->first)) p->end++;
  p->group = p->end;
  begin_group(p, GROUPS - 1);
}

/* Notes the threshold. The keys before `left` are bumped. */
static void end_bucket(struct part *p, unsigned threshold, uint64_t left) {
  uint64_t bucket = p->layer->thresholds + bucket_of_key(p, p->first);
  p->build->thresholds[bucket] = (uint8_t)threshold;
  for (uint64_t i = p->first; i < left; i++) p->at[p->bumped++] = p->at[i];
}

/* Sets the next equation. Returns false if all keys are added or bumped. */
static bool next_equation(struct part *p) {
  while (p->key == p->group_end) {
    if (p->first < p->end && p->threshold > 1) {
      begin_group(p, p->threshold - 2);
      continue;
    }
    if (p->first < p->end) end_bucket(p, 0, p->first);
    if (p->end == p->n) return false;
    begin_bucket(p);
  }
  p->equation = equation_of(p->build, p->layer, p->at[p->key]);
  return true;
}

/* The equation is reduced: adds it, or bumps its group and the groups that would follow. */
static bool add_and_go_on(struct part *p) {
  if (add_row(p->build, p->layer, p->at[p->key], &p->equation, &p->added)) {
    p->key++;
    return next_equation(p);
  }
  for (size_t i = 0; i < p->added.n; i++) p->build->rows.coefficients[p->added.rows[i]] = 0;
  end_bucket(p, p->threshold, p->group_end);
  p->first = p->key = p->group = p->group_end = p->end;
  return next_equation(p);
}

static void fill_parts(const struct rows *rows, struct part *a, struct part *b) {
  bool more_a = next_equation(a), more_b = next_equation(b);
  struct equation x = a->equation, y = b->equation;
  while (more_a && more_b) {
    if (!reduce(rows, &x)) {
      a->equation = x;
      more_a = add_and_go_on(a);
      x = a->equation;
    }
    if (!reduce(rows, &y)) {
      b->equation = y;
      more_b = add_and_go_on(b);
      y = b->equation;
    }
  }
  for (a->equation = x; more_a;) more_a = reduce(rows, &a->equation) || add_and_go_on(a);
  for (b->equation = y; more_b;) more_b = reduce(rows, &b->equation) || add_and_go_on(b);
}

/* Fills a layer with sorted digests. The bumped ones remain in d. */
static void fill_layer(struct build *b, const struct retrieval_layer *l, struct digests *d) {
  struct part lower = {.build = b, .layer = l, .at = d->at}, upper = lower;
  uint64_t slots = (uint64_t)l->blocks * RIBBON_WIDTH;
  b->rows.upper = slots < TWO_PARTS_SLOTS ? slots : slots / BUCKET / 2 * BUCKET;
  while (lower.n < d->n && retrieval_start(l, d->at[lower.n]) < b->rows.upper) lower.n++;
  upper.at += lower.n;
  upper.n = d->n - lower.n;
  fill_parts(&b->rows, &lower, &upper);
  memmove(d->at + lower.bumped, upper.at, (size_t)upper.bumped * sizeof *d->at);
  d->n = lower.bumped + upper.bumped;
}

/* ------------------------------------------------------------------ back substitution */

/*
 * The words of the columns, from the last slot to the first. Slots without a row are random, so
 * that keys outside of the set get random bits. Bit i of
 * solved[j] is the slot of column j that is i slots further.
 */
static void solve(const struct build *b, const struct retrieval_layer *l) {
  const struct retrieval *x = b->x;
  uint64_t solved[MAX_COLUMNS] = {0};
  for (uint64_t block = l->blocks; block-- > 0;) {
    uint32_t columns = columns_of_block(x, l, block);
    uint64_t first = row_of(&b->rows, RIBBON_WIDTH * block);
    for (unsigned i = RIBBON_WIDTH; i-- > 0;) {
      uint64_t coefficients = b->rows.coefficients[first + i];
      uint32_t bits = coefficients ? b->rows.bits[first + i] : (uint32_t)mixed(first + i);
      for (uint32_t j = 0; j < columns; j++) {
        uint64_t shifted_up = solved[j] << 1;
        solved[j] = shifted_up | (parity(shifted_up & coefficients) ^ (bits >> j & 1));
      }
    }
    uint8_t *words = x->bytes + words_of_block(x, l, block);
    for (uint32_t j = 0; j < columns; j++) store64(words + 8 * j, solved[j]);
  }
}

/* ------------------------------------------------------------------ layers */

/* Appends a layer without keys, with room for its rows, words and thresholds. */
static struct retrieval_layer *new_layer(struct build *b, uint64_t blocks, uint32_t rehashes) {
  struct retrieval *x = b->x;
  struct retrieval_layer *l = &x->layer[x->layers];
  *l = (struct retrieval_layer){.words = (uint32_t)(x->word_bytes / 8),
                                .blocks = (uint32_t)blocks,
                                .narrow = (uint32_t)(b->width.narrow * (double)blocks),
                                .thresholds = x->buckets,
                                .rehashes = rehashes};
  uint64_t words = retrieval_layer_bytes(x, l), buckets = retrieval_layer_buckets(l);
  if (!rows_new(b, RIBBON_WIDTH * blocks)) return NULL;
  uint64_t for_later = x->layers ? 0 : words / 16; /* the other layers fit in as a rule */
  if (!retrieval_enlarge(b->allocator, &x->bytes, x->word_bytes, &b->byte_room, words, for_later))
    return NULL;
  if (!retrieval_enlarge(b->allocator, &b->thresholds, x->buckets, &b->bucket_room, buckets,
                         buckets / 16))
    return NULL;
  memset(b->thresholds + x->buckets, 0, (size_t)buckets);
  return l;
}

static void keep_layer(struct build *b, const struct retrieval_layer *l) {
  solve(b, l);
  b->x->word_bytes += retrieval_layer_bytes(b->x, l);
  b->x->buckets += (uint32_t)retrieval_layer_buckets(l);
  b->x->layers++;
}

static void rehash_all(struct digests *d) {
  for (uint64_t i = 0; i < d->n; i++) d->at[i] = retrieval_rehash(d->at[i]);
}

static bool add_all(struct build *b, const struct retrieval_layer *l, const struct digests *d) {
  for (uint64_t i = 0; i < d->n; i++) {
    struct added added = {.n = 0};
    struct equation e = equation_of(b, l, d->at[i]);
    while (reduce(&b->rows, &e)) {
    }
    if (!add_row(b, l, d->at[i], &e, &added)) return false;
  }
  return true;
}

/* Starts with other hashes, and after some attempts with more slots, until all keys are met. */
static besom_status add_last_layer(struct build *b, struct digests *d) {
  uint32_t rehashes = b->x->layers != 0;
  for (unsigned attempts = 0; attempts < MAX_REHASHES; attempts++) {
    const struct retrieval_layer *l = new_layer(b, last_blocks(d->n, attempts), rehashes);
    if (!l) return BESOM_NO_MEMORY;
    if (add_all(b, l, d)) {
      keep_layer(b, l);
      return BESOM_OK;
    }
    rehash_all(d);
    rehashes++;
  }
  return BESOM_FULL;
}

static besom_status retrieval_add_layers(struct build *b, struct digests *d) {
  while (!is_last(d->n, b->x->layers)) {
    uint64_t blocks = blocks_for(slots_per_key * (double)d->n);
    const struct retrieval_layer *l = new_layer(b, blocks, b->x->layers != 0);
    if (!l) return BESOM_NO_MEMORY;
    if (b->x->layers) besom__sort_digests(d->at, (size_t)d->n, 0);
    fill_layer(b, l, d);
    keep_layer(b, l);
    rehash_all(d);
  }
  return add_last_layer(b, d);
}

/* Words and thresholds in one allocation of their exact size. */
static besom_status retrieval_finish(struct build *b) {
  struct retrieval *x = b->x;
  uint64_t size = besom__retrieval_bytes(x);
  uint8_t *bytes = besom__allocate(b->allocator, size);
  if (!bytes) return BESOM_NO_MEMORY;
  memcpy(bytes, x->bytes, (size_t)x->word_bytes);
  for (uint64_t i = 0; i < x->buckets; i++)
    bytes[x->word_bytes + i / 4] |= (uint8_t)(b->thresholds[i] << (i % 4 * 2));
  besom__release(b->allocator, x->bytes, b->byte_room);
  x->bytes = bytes;
  b->byte_room = size;
  return BESOM_OK;
}

besom_status besom__retrieval_build(struct retrieval *x, const besom_allocator *allocator,
                                    struct digests *d, struct retrieval_width width, bool bits) {
  struct build b = {.x = x, .allocator = allocator, .width = width, .bits = bits};
  *x = (struct retrieval){.columns = (uint16_t)width.columns};
  besom_status status = retrieval_add_layers(&b, d);
  if (status == BESOM_OK) status = retrieval_finish(&b);
  rows_free(&b);
  besom__release(allocator, b.thresholds, b.bucket_room);
  if (status == BESOM_OK) return BESOM_OK;
  besom__release(allocator, x->bytes, b.byte_room);
  x->layers = 0;
  return status;
}
