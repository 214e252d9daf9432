#include "stacked/query_sample.h"

#include "core/sort.h"
#include "core/system/memory.h"

#define FIRST_SLOTS 1024
#define MAX_INITIAL_SLOTS (UINT64_C(1) << 24) /* slots allocated at once, whatever size_hint says */
#define BATCH 64                              /* keys whose slots are prefetched */
#define TICK_EVERY 64                         /* batches */

void besom__query_sample_free(const besom_filter *f, struct query_sample *s) {
  besom__release(&f->allocator, s->at, s->slots * sizeof *s->at);
  *s = (struct query_sample){0};
}

/* ------------------------------------------------------------------ the table */

/* Digest bits are uniformly random, so no further hash is needed. */
static uint64_t first_slot(const struct query_sample *s, besom_digest d) {
  return (uint64_t)((unsigned __int128)d.hi * s->slots >> 64);
}

/* The slot of a digest, or the empty slot where it would be inserted. */
static struct query_count *query_sample_slot_of(const struct query_sample *s, besom_digest d) {
  uint64_t i = first_slot(s, d);
  while (s->at[i].count && (s->at[i].digest.hi != d.hi || s->at[i].digest.lo != d.lo))
    i = i + 1 < s->slots ? i + 1 : 0;
  return &s->at[i];
}

static besom_status query_sample_enlarge(const besom_filter *f, struct query_sample *s,
                                         uint64_t expected) {
  struct query_sample larger = {
      .n = s->n, .slots = s->slots ? 2 * s->slots : FIRST_SLOTS, .weighted = s->weighted};
  if (expected > MAX_INITIAL_SLOTS / 4 * 3) expected = MAX_INITIAL_SLOTS / 4 * 3;
  if (larger.slots < expected / 3 * 4 + 8) larger.slots = expected / 3 * 4 + 8;
  if (larger.slots > SIZE_MAX / 2 / sizeof *s->at) return BESOM_NO_MEMORY;
  larger.at = besom__allocate(&f->allocator, larger.slots * sizeof *s->at);
  if (!larger.at) return BESOM_NO_MEMORY;
  for (uint64_t i = 0; i < s->slots; i++)
    if (s->at[i].count) *query_sample_slot_of(&larger, s->at[i].digest) = s->at[i];
  besom__query_sample_free(f, s);
  *s = larger;
  return BESOM_OK;
}

static besom_status query_sample_add(const besom_filter *f, struct query_sample *s, besom_digest d,
                                     uint64_t weight) {
  if (s->n >= s->slots / 4 * 3) {
    besom_status status = query_sample_enlarge(f, s, 0);
    if (status != BESOM_OK) return status;
  }
  struct query_count *slot = query_sample_slot_of(s, d);
  s->n += slot->count == 0;
  s->weighted |= slot->count != 0 || weight != 1;
  slot->digest = d;
  slot->count += weight;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ collecting */

/* The next queries of the source: their digests and weights. */
struct query_batch {
  besom_digest digests[BATCH];
  uint64_t weights[BATCH];
  size_t n;
};

/* Fills the batch. Returns END with the last one, which may be empty. */
static besom_status read_batch(const besom_filter *f, const besom_source *source,
                               struct query_batch *b) {
  for (b->n = 0; b->n < BATCH; b->n++) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = source->next(source->ctx, &key, &weight);
    if (status != BESOM_OK) return status;
    if (!key.data && key.len) return BESOM_INVALID;
    b->digests[b->n] = hash_bytes(&f->hasher, key.data, key.len);
    /* limited, so that sums do not overflow */
    b->weights[b->n] = weight < UINT32_MAX ? weight : UINT32_MAX;
  }
  return BESOM_OK;
}

/* Two lines: most keys are in one of the next slots. */
static void prefetch_batch(const struct query_sample *s, const struct query_batch *b) {
  for (size_t i = 0; i < b->n; i++) {
    const struct query_count *slot = &s->at[first_slot(s, b->digests[i])];
    __builtin_prefetch(&slot->count, 1);
    __builtin_prefetch(&slot[2].count, 1);
  }
}

static besom_status query_sample_add_batch(const besom_filter *f, struct query_sample *s,
                                           const struct query_batch *b) {
  besom_status status = BESOM_OK;
  prefetch_batch(s, b);
  for (size_t i = 0; i < b->n && status == BESOM_OK; i++)
    if (b->weights[i]) status = query_sample_add(f, s, b->digests[i], b->weights[i]);
  return status;
}

static besom_status query_sample_read_all(const besom_filter *f, const besom_source *source,
                                          const besom_progress *progress, struct query_sample *s) {
  struct query_batch batch;
  for (uint64_t done = 0;; done++) {
    besom_status read = read_batch(f, source, &batch), status = BESOM_OK;
    if (read != BESOM_OK && read != BESOM_END) return read;
    status = query_sample_add_batch(f, s, &batch);
    if (status == BESOM_OK && done % TICK_EVERY == 0)
      status = besom__tick(progress, done * BATCH, source->size_hint);
    if (status != BESOM_OK || read == BESOM_END) return status;
  }
}

besom_status besom__query_sample_collect(const besom_filter *f, const besom_source *source,
                                         const besom_progress *progress, struct query_sample *out) {
  *out = (struct query_sample){0};
  besom_status status = query_sample_enlarge(f, out, source->size_hint);
  if (status == BESOM_OK) status = query_sample_read_all(f, source, progress, out);
  if (status != BESOM_OK) besom__query_sample_free(f, out);
  return status;
}

/*
 * Setting a count to 0 at once would break the probe sequences of other digests. So members are
 * marked first, and their counts are set to 0 at the end.
 */
void besom__query_sample_remove_members(struct query_sample *s, const struct digests *members) {
  const uint64_t member = UINT64_MAX;
  bool any = false;
  for (uint64_t i = 0; s->n && i < members->n; i++) {
    struct query_count *slot = query_sample_slot_of(s, members->at[i]);
    if (slot->count) slot->count = member, any = true;
  }
  for (uint64_t i = 0; any && i < s->slots; i++)
    if (s->at[i].count == member) s->at[i].count = 0, s->n--;
}

/* ------------------------------------------------------------------ rank-frequency distribution */

void besom__query_sample_rank_frequency(const struct query_sample *s, struct rank_frequency *out) {
  for (uint64_t i = 0; i < s->slots; i++) besom__rank_frequency_add(out, s->at[i].count);
}

besom_status besom__query_sample_top(const besom_filter *f, const struct query_sample *s,
                                     const struct rank_frequency *frequencies, uint64_t n,
                                     struct digests *out) {
  unsigned class = COUNT_CLASSES;
  uint64_t above = 0;
  *out = (struct digests){0};
  if (n > frequencies->n_keys) n = frequencies->n_keys;
  while (class > 0 && above + frequencies->keys[class - 1] < n) above += frequencies->keys[--class];
  if (class > 0) class --;
  out->room = above + frequencies->keys[class] + 1;
  out->at = besom__allocate(&f->allocator, out->room * sizeof *out->at);
  if (!out->at) return BESOM_NO_MEMORY;
  for (uint64_t i = 0, equal = above; i < s->slots; i++) { /* those of the class come last */
    unsigned own = besom__count_class(s->at[i].count);
    if (s->at[i].count && own > class) out->at[out->n++] = s->at[i].digest;
    if (s->at[i].count && own == class) out->at[equal++] = s->at[i].digest;
  }
  besom__sort_digests(out->at + above, (size_t)frequencies->keys[class], 0);
  out->n = n;
  return BESOM_OK;
}
