/*
 * Fills an empty pqf with ascending digests: each bin once, in the order of its entries, and what
 * it has no slot for goes to the backyard.
 *
 * In parts, for several threads (kind_parts.h): a part fills the bins from that after the bin of
 * its first bound on. Entries of that bin, and those for the backyard, wait until it is joined,
 * because what the backyard becomes depends on their order.
 */
#include "core/sort.h"
#include "kind_parts.h"
#include "partition/backyard.h"
#include "partition/bin.h"

enum { FILL_BATCH = 512 };

/* ------------------------------------------------------------------ one bin after the other */

/* The bin in use: its header without a mark, its last entry, and how often it has that. */
struct pqf_filling {
  uint64_t bin, entries, last;
  unsigned used, copies;
  bool written; /* the header */
};

static void write_bin_header(const struct pqf *p, struct pqf_filling *to) {
  if (!to->written && to->used)
    bin_set_header(bin_at(p, p->layout, to->bin), p->layout, to->entries);
  to->written = true;
}

enum filled { FILLED, FILL_SPILLS, FILL_TOO_OFTEN };

/* Adds an entry that is not below the last one, if its bin has a slot. */
static enum filled fill_slot(const struct pqf *p, const struct bin_layout *l,
                             struct pqf_filling *to, struct pqf_place at) {
  if (at.bin != to->bin) {
    write_bin_header(p, to);
    *to = (struct pqf_filling){.bin = at.bin};
  }
  if (to->used == l->slots) return FILL_SPILLS;
  uint64_t value = value_of_place(l, at);
  to->copies = to->used && value == to->last ? to->copies + 1 : 1;
  if (to->copies > PQF_MAX_COPIES) return FILL_TOO_OFTEN;
  bin_set_remainder(bin_at(p, l, at.bin), l, to->used, at.remainder);
  to->entries |= UINT64_C(1) << (to->used++ + at.mini);
  to->last = value;
  return FILLED;
}

/* The same; what a full bin has no slot for goes to the backyard. A set keeps an entry once. */
static besom_status fill_or_spill(besom_filter *f, struct pqf_filling *to, besom_digest d) {
  const struct pqf *p = pqf_of(f);
  const struct bin_layout *l = p->layout;
  struct pqf_place at = pqf_place_of(p, l, d);
  bool repeated = to->used && at.bin == to->bin && value_of_place(l, at) == to->last;
  if (f->is_set && repeated) return BESOM_OK;
  switch (fill_slot(p, l, to, at)) {
  case FILLED:
    f->items++;
    return f->items > f->capacity ? BESOM_FULL : BESOM_OK;
  case FILL_SPILLS:
    write_bin_header(p, to);
    return f->is_set && p->calls->has(f, at) ? BESOM_OK : p->calls->put(f, at);
  default:
    return BESOM_FULL;
  }
}

static besom_status fill_batch(besom_filter *f, struct pqf_filling *to, const besom_digest *d,
                               size_t n) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i++) status = fill_or_spill(f, to, d[i]);
  return status;
}

besom_status besom__pqf_append(besom_filter *f, const besom_digest_source *digests,
                               const besom_progress *progress) {
  besom_digest batch[FILL_BATCH], last = {0, 0};
  struct pqf_filling to = {.bin = 0};
  besom_status status;
  uint64_t read = 0;
  size_t n;
  while ((status = digests->next(digests->ctx, batch, FILL_BATCH, &n)) == BESOM_OK) {
    if (n == 0 || n > FILL_BATCH) return BESOM_INVALID;
    for (size_t i = 0; i < n; last = batch[i++])
      if (digest_less(batch[i], last)) return BESOM_INVALID;
    status = fill_batch(f, &to, batch, n);
    read += n;
    if (status == BESOM_OK) status = besom__tick(progress, read, digests->size_hint);
    if (status != BESOM_OK) return status;
  }
  write_bin_header(pqf_of(f), &to);
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ in parts */

/* spare[0 .. spilled - 1]: digests for the backyard. */
struct pqf_part {
  size_t early, filled, spilled; /* early: the first digests, of a bin that is not this part's */
  besom_status status;
};
_Static_assert(sizeof(struct pqf_part) <= APPEND_PART_BYTES, "APPEND_PART_BYTES");

static void fill_part_batch(const struct pqf *p, struct append_part *part, struct pqf_filling *to,
                            size_t from, const besom_digest *d, size_t n) {
  struct pqf_part *own = (struct pqf_part *)part->own;
  struct pqf_filling now = *to;
  size_t filled = 0;
  for (size_t i = 0; i < n; i++) {
    struct pqf_place at = pqf_place_of(p, p->layout, d[i]);
    enum filled done = fill_slot(p, p->layout, &now, at);
    filled += done == FILLED;
    if (UNLIKELY(done == FILL_SPILLS)) part->spare[own->spilled++] = (uint32_t)(from + i);
    if (UNLIKELY(done == FILL_TOO_OFTEN)) own->status = BESOM_FULL;
  }
  own->filled += filled;
  *to = now;
}

/* How many of these digests are of bins up to this one. */
static size_t digests_up_to(const struct pqf *p, uint64_t bin, const besom_digest *d, size_t n) {
  size_t i = 0;
  while (i < n && pqf_place_of(p, p->layout, d[i]).bin <= bin) i++;
  return i;
}

static void pqf_prepare(besom_filter *f, struct append_part *part) {
  const struct pqf *p = pqf_of(f);
  struct pqf_part *own = (struct pqf_part *)part->own;
  struct pqf_filling to = {.bin = 0};
  besom_digest batch[FILL_BATCH];
  uint64_t shared = pqf_place_of(p, p->layout, part->first).bin;
  *own = (struct pqf_part){.status = BESOM_OK};
  for (size_t done = 0, n; done < part->n; done += n) {
    size_t early = 0;
    n = part->n - done < FILL_BATCH ? part->n - done : FILL_BATCH;
    part->read(part, done, n, batch);
    if (part->number && own->early == done) early = digests_up_to(p, shared, batch, n);
    own->early += early;
    fill_part_batch(p, part, &to, done + early, batch + early, n - early);
  }
  write_bin_header(p, &to);
}

static besom_status put_digest_of_part(besom_filter *f, const struct append_part *part, size_t i) {
  const struct pqf *p = pqf_of(f);
  besom_digest d;
  part->read(part, i, 1, &d);
  return p->calls->put(f, pqf_place_of(p, p->layout, d));
}

static besom_status pqf_join(besom_filter *f, const struct append_part *before,
                             struct append_part *part) {
  const struct pqf_part *own = (const struct pqf_part *)part->own;
  besom_status status = own->status;
  (void)before;
  f->items += own->filled;
  for (size_t i = 0; i < own->early && status == BESOM_OK; i++)
    status = put_digest_of_part(f, part, i);
  for (size_t i = 0; i < own->spilled && status == BESOM_OK; i++)
    status = put_digest_of_part(f, part, part->spare[i]);
  return status == BESOM_OK && f->items > f->capacity ? BESOM_FULL : status;
}

static besom_status pqf_finish(besom_filter *f, struct append_part *last) {
  (void)f, (void)last;
  return BESOM_OK;
}

const struct part_ops besom__pqf_in_parts = {
    .prepare = pqf_prepare, .join = pqf_join, .finish = pqf_finish};
