/*
 * Fills an empty quotient table with ascending digests: the operation append, and the same in
 * parts, for several threads (kind_parts.h).
 *
 * In parts: a part fills the blocks from that after the block of its first bound on, as if all
 * slots before them were empty, and stops before it could leave the part. join follows the runs of
 * the part before into this one, over what was written here: up to the first block that they do not
 * shift slots into. From there on, what was written is right.
 */
#include "core/hash.h"
#include "core/sort.h"
#include "kind_parts.h"
#include "quotient/fingerprint/multislot.h"
#include "quotient/quotient_filter.h"

#define APPEND_BATCH 512

static bool ascending(besom_digest last, const besom_digest *d, size_t n) {
  bool down = false;
  for (size_t i = 0; i < n; last = d[i++]) down |= digest_less(d[i], last);
  return !down;
}

/*
 * A table that is being filled. The last fingerprint is held back because its count may still rise.
 */
struct filling {
  struct qtable_appender out;
  struct fingerprint held; /* count 0: none */
  uint64_t distance; /* the upper words of digests with equal fingerprints differ by at most this */
};

static uint64_t equal_distance(const struct qtable *t) {
  return (UINT64_MAX / t->slots >> (t->width - 1) >> 1) + 2;
}

static besom_status append_held(struct filling *to) {
  if (!to->held.count) return BESOM_OK;
  besom_status status = besom__fingerprint_append(&to->out, &to->held);
  to->held.count = 0;
  return status;
}

static besom_status hold(struct filling *to, besom_digest d) {
  struct fingerprint *held = &to->held;
  unsigned width = to->out.table.width;
  struct address a = address_of(d, to->out.table.slots);
  uint64_t remainder = remainder_of(a, width);
  bool equal = held->count && held->quotient == a.quotient && held->remainder == remainder;
  if (equal && besom__fingerprint_can_count(held->count, 1, further_payload_of(&to->out.table))) {
    held->count++;
    return BESOM_OK;
  }
  besom_status status = append_held(to);
  *held = (struct fingerprint){.quotient = a.quotient, .remainder = remainder, .count = 1};
  return status;
}

/*
 * Appends digests in one batch if no neighbour is near enough to share their fingerprint, the
 * others through `held`.
 */
static besom_status append_counts(struct filling *to, const besom_digest *d, size_t n) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK;) {
    do status = hold(to, d[i++]);
    while (status == BESOM_OK && i < n && d[i].hi - d[i - 1].hi <= to->distance);
    size_t first = i;
    while (i + 1 < n && d[i + 1].hi - d[i].hi > to->distance) i++;
    if (status != BESOM_OK || i == first) continue;
    status = append_held(to);
    if (status == BESOM_OK) status = to->out.table.ops->append(&to->out, d + first, i - first);
  }
  return status;
}

static besom_status append_batch(struct filling *to, const besom_digest *d, size_t n, bool counts) {
  return counts ? append_counts(to, d, n) : to->out.table.ops->append(&to->out, d, n);
}

/* Moves the digests whose fingerprint differs from that of the one before to the front. */
static size_t quotient_drop_equal(const struct qtable *t, struct fingerprint *last, besom_digest *d,
                                  size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    struct address a = address_of(d[i], t->slots);
    uint64_t remainder = remainder_of(a, t->width);
    if (last->count && last->quotient == a.quotient && last->remainder == remainder) continue;
    *last = (struct fingerprint){.quotient = a.quotient, .remainder = remainder, .count = 1};
    d[kept++] = d[i];
  }
  return kept;
}

static besom_status append_all(besom_filter *f, const besom_digest_source *digests,
                               const besom_progress *progress, bool counts) {
  struct qtable *t = &quotient_filter(f)->table;
  struct filling to = {.out = qtable_append_start(t), .distance = equal_distance(t)};
  besom_digest batch[APPEND_BATCH], last = {0, 0};
  struct fingerprint of_set = {.count = 0}; /* the last one */
  besom_status status;
  size_t n;
  uint64_t read = 0;
  while ((status = digests->next(digests->ctx, batch, APPEND_BATCH, &n)) == BESOM_OK) {
    if (n == 0 || n > APPEND_BATCH || !ascending(last, batch, n)) return BESOM_INVALID;
    last = batch[n - 1];
    read += n;
    if (f->is_set) n = quotient_drop_equal(t, &of_set, batch, n);
    status = append_batch(&to, batch, n, counts && !f->is_set);
    if (status != BESOM_OK) return status;
    if (to.out.table.used > f->capacity) return BESOM_FULL;
    f->items += n;
    status = besom__tick(progress, read, digests->size_hint);
    if (status != BESOM_OK) return status;
  }
  if (status == BESOM_END) status = append_held(&to);
  qtable_append_finish(&to.out, t);
  return status == BESOM_OK && t->used > f->capacity ? BESOM_FULL : status;
}

besom_status besom__quotient_append_copies(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress) {
  return append_all(f, digests, progress, false);
}

besom_status besom__quotient_append_counts(besom_filter *f, const besom_digest_source *digests,
                                           const besom_progress *progress) {
  return append_all(f, digests, progress, true);
}

/* ------------------------------------------------------------------ in parts */

#define PART_BATCH 256
#define LEAST_PART_BATCH 16 /* fewer at the end of a part do not pay */
#define JOIN_BATCH 16

struct quotient_part {
  struct filling to;
  uint64_t first_block, end_block; /* that it may write to before it is joined */
  uint64_t first, next;            /* digests that it began with; that are left to the next join */
  besom_status status;
};
_Static_assert(sizeof(struct quotient_part) <= APPEND_PART_BYTES, "APPEND_PART_BYTES");

static struct quotient_part *quotient_part_of(const struct append_part *part) {
  return (struct quotient_part *)part->own;
}

/* The first block that only this part writes to. */
static uint64_t first_block_from(const struct qtable *t, besom_digest bound) {
  return address_of(bound, t->slots).quotient / 64 + 1;
}

/* Whether n more digests, up to this quotient, surely take slots before the block. */
static bool surely_before(const struct filling *to, uint64_t quotient, size_t n, uint64_t block) {
  uint64_t position = to->out.position > quotient ? to->out.position : quotient;
  if (to->held.count)
    n += besom__fingerprint_slots(to->held.count, 0, further_payload_of(&to->out.table));
  return position + n <= 64 * block;
}

static struct filling filling_from(const struct qtable *t, uint64_t block) {
  struct filling to = {.out = qtable_append_start(t), .distance = equal_distance(t)};
  to.out.quotient = to.out.position = 64 * block;
  return to;
}

/* The number of digests before the part's first block. */
static size_t digests_before(const struct qtable *t, const struct append_part *part,
                             uint64_t block) {
  besom_digest d[JOIN_BATCH];
  for (size_t done = 0; done < part->n;) {
    size_t n = part->n - done < JOIN_BATCH ? part->n - done : JOIN_BATCH;
    part->read(part, done, n, d);
    for (size_t i = 0; i < n; i++, done++)
      if (address_of(d[i], t->slots).quotient >= 64 * block) return done;
  }
  return part->n;
}

static void quotient_prepare(besom_filter *f, struct append_part *part, bool counts) {
  const struct qtable *t = &quotient_filter(f)->table;
  struct quotient_part *own = quotient_part_of(part);
  besom_digest batch[PART_BATCH];
  uint64_t first = part->number ? first_block_from(t, part->first) : 0;
  *own = (struct quotient_part){.to = filling_from(t, first), .first_block = first};
  own->end_block = part->is_last ? t->room / 64 : first_block_from(t, part->end);
  own->first = own->next = digests_before(t, part, first);
  for (size_t n = PART_BATCH; own->status == BESOM_OK;) {
    if (n > part->n - own->next) n = (size_t)(part->n - own->next);
    if (!n) break;
    part->read(part, (size_t)own->next, n, batch);
    if (surely_before(&own->to, address_of(batch[n - 1], t->slots).quotient, n, own->end_block)) {
      own->status = append_batch(&own->to, batch, n, counts);
      own->next += n;
    } else if (n > LEAST_PART_BATCH) {
      n = n / 4 > LEAST_PART_BATCH ? n / 4 : LEAST_PART_BATCH;
    } else {
      break;
    }
  }
}

/* Whether the last quotient, that of the fingerprint held back too, is in an earlier block. */
static bool leaves_block(const struct filling *to, uint64_t quotient) {
  return quotient / 64 != (to->held.count ? to->held.quotient : to->out.quotient) / 64;
}

/* Writes the words of the blocks before this one. */
static void complete_blocks(struct qtable_appender *out, uint64_t block) {
  if (out->started) out->ends |= UINT64_C(1) << ((out->position - 1) % 64);
  qtable_append_leave_slots(out);
  qtable_append_leave_quotients(out, block);
}

static void add_counters(struct qtable *to, const struct qtable *from) {
  to->used += from->used;
  to->further_slots += from->further_slots;
  to->extended += from->extended;
}

/*
 * Goes on with the digests of a part, one by one, before the block. BUSY: that is not far enough.
 */
static besom_status append_rest(struct filling *to, const struct append_part *part, uint64_t *next,
                                uint64_t block, bool counts) {
  besom_digest d[JOIN_BATCH];
  besom_status status = BESOM_OK;
  while (*next < part->n && status == BESOM_OK) {
    size_t n = part->n - *next < JOIN_BATCH ? (size_t)(part->n - *next) : JOIN_BATCH;
    part->read(part, (size_t)*next, n, d);
    for (size_t i = 0; i < n && status == BESOM_OK; i++, ++*next) {
      uint64_t quotient = address_of(d[i], to->out.table.slots).quotient;
      if (block && !surely_before(to, quotient, 1, block)) return BESOM_BUSY;
      status = append_batch(to, d + i, 1, counts);
    }
  }
  return status;
}

/*
 * Goes on with digests that the part began with, and has also appended from own->first on. If its
 * own slots turn out to be right, they are kept; else the part becomes what `left` has done.
 */
static besom_status join_slots(struct filling *left, const struct append_part *part, bool counts) {
  struct quotient_part *own = quotient_part_of(part);
  struct qtable counted = left->out.table;
  besom_digest d[JOIN_BATCH];
  besom_status status = BESOM_OK;
  uint64_t next = 0;
  for (size_t i = 0, n = 0; next < own->next && status == BESOM_OK; next++, i++) {
    if (i == n) {
      n = own->next - next < JOIN_BATCH ? (size_t)(own->next - next) : JOIN_BATCH;
      part->read(part, (size_t)next, n, d);
      i = 0;
    }
    uint64_t quotient = address_of(d[i], left->out.table.slots).quotient;
    if (!surely_before(left, quotient, 1, own->end_block)) break;
    bool leaves = next >= own->first && leaves_block(left, quotient);
    if (leaves) status = append_held(left);
    if (next == own->first) counted = left->out.table;
    if (leaves && left->out.position <= quotient / 64 * 64) {
      complete_blocks(&left->out, quotient / 64);
      add_counters(&own->to.out.table, &counted);
      return status;
    }
    if (status == BESOM_OK) status = append_batch(left, d + i, 1, counts);
  }
  own->to = *left;
  own->next = next;
  return status;
}

static besom_status quotient_join(besom_filter *f, const struct append_part *before,
                                  struct append_part *part, bool counts) {
  struct quotient_part *own = quotient_part_of(part);
  f->items += part->n;
  if (own->status != BESOM_OK || !before) return own->status;
  struct quotient_part *left = quotient_part_of(before);
  besom_status status = append_rest(&left->to, before, &left->next, own->end_block, counts);
  return status == BESOM_OK ? join_slots(&left->to, part, counts) : status;
}

static besom_status quotient_finish(besom_filter *f, struct append_part *last, bool counts) {
  struct quotient_part *own = quotient_part_of(last);
  struct qtable *t = &quotient_filter(f)->table;
  besom_status status = append_rest(&own->to, last, &own->next, 0, counts);
  if (status == BESOM_OK) status = append_held(&own->to);
  if (status != BESOM_OK) return status;
  qtable_append_finish(&own->to.out, t);
  return t->used > f->capacity ? BESOM_FULL : BESOM_OK;
}

static void quotient_abandon(besom_filter *f) {
  struct qtable *t = &quotient_filter(f)->table;
  memset(t->blocks, 0, besom__qtable_size(t));
  f->items = 0;
}

static void prepare_copies(besom_filter *f, struct append_part *part) {
  quotient_prepare(f, part, false);
}

static void prepare_counts(besom_filter *f, struct append_part *part) {
  quotient_prepare(f, part, true);
}

static besom_status join_copies(besom_filter *f, const struct append_part *before,
                                struct append_part *part) {
  return quotient_join(f, before, part, false);
}

static besom_status join_counts(besom_filter *f, const struct append_part *before,
                                struct append_part *part) {
  return quotient_join(f, before, part, true);
}

static besom_status finish_copies(besom_filter *f, struct append_part *last) {
  return quotient_finish(f, last, false);
}

static besom_status finish_counts(besom_filter *f, struct append_part *last) {
  return quotient_finish(f, last, true);
}

const struct part_ops besom__quotient_copies_in_parts = {.prepare = prepare_copies,
                                                         .join = join_copies,
                                                         .finish = finish_copies,
                                                         .abandon = quotient_abandon},
                      besom__quotient_counts_in_parts = {.prepare = prepare_counts,
                                                         .join = join_counts,
                                                         .finish = finish_counts,
                                                         .abandon = quotient_abandon};
