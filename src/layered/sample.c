#include "layered/sample.h"

#include "core/memory.h"
#include "core/sort.h"

#define FIRST_ROOM 1024
#define MOST_BELIEVED (UINT64_C(1) << 22) /* places at once, whatever a source promises */
#define TICK_EVERY 4096

void besom__sample_free(const besom_filter *f, struct sample *s) {
  besom__release(&f->allocator, s->at, (size_t)(s->room * sizeof *s->at));
  *s = (struct sample){0};
}

/* ------------------------------------------------------------------ the table */

/* The place of a digest, or the empty one where it would be. Any bits of it are as good as random. */
static struct sampled *place_of(const struct sample *s, besom_digest d) {
  uint64_t i = d.lo & (s->room - 1);
  while (s->at[i].count && (s->at[i].digest.hi != d.hi || s->at[i].digest.lo != d.lo))
    i = (i + 1) & (s->room - 1);
  return &s->at[i];
}

static besom_status enlarge(const besom_filter *f, struct sample *s, uint64_t expected) {
  struct sample larger = {
      .n = s->n, .room = s->room ? 2 * s->room : FIRST_ROOM, .weighed = s->weighed};
  while (larger.room / 4 * 3 <= expected && larger.room < MOST_BELIEVED) larger.room *= 2;
  if (larger.room > SIZE_MAX / 2 / sizeof *s->at) return BESOM_NO_MEMORY;
  larger.at = besom__allocate(&f->allocator, (size_t)(larger.room * sizeof *s->at));
  if (!larger.at) return BESOM_NO_MEMORY;
  for (uint64_t i = 0; i < s->room; i++)
    if (s->at[i].count) *place_of(&larger, s->at[i].digest) = s->at[i];
  besom__sample_free(f, s);
  *s = larger;
  return BESOM_OK;
}

static besom_status add(const besom_filter *f, struct sample *s, besom_digest d, uint64_t weight) {
  if (s->n >= s->room / 4 * 3) {
    besom_status status = enlarge(f, s, 0);
    if (status != BESOM_OK) return status;
  }
  struct sampled *place = place_of(s, d);
  s->n += place->count == 0;
  s->weighed |= place->count != 0 || weight != 1;
  place->digest = d;
  place->count += weight;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ collecting */

static besom_status read_all(const besom_filter *f, const besom_source *source,
                             const besom_progress *progress, struct sample *s) {
  for (uint64_t done = 0;; done++) {
    besom_bytes key;
    uint64_t weight = 1;
    besom_status status = source->next(source->ctx, &key, &weight);
    if (status != BESOM_OK) return status == BESOM_END ? BESOM_OK : status;
    if (!key.data && key.len) return BESOM_INVALID;
    if (weight > UINT32_MAX) weight = UINT32_MAX; /* so that sums of them stay numbers */
    if (weight) status = add(f, s, hash_bytes(&f->hasher, key.data, key.len), weight);
    if (status == BESOM_OK && done % TICK_EVERY == 0)
      status = besom__tick(progress, done, source->size_hint);
    if (status != BESOM_OK) return status;
  }
}

besom_status besom__sample_collect(const besom_filter *f, const besom_source *source,
                                   const besom_progress *progress, struct sample *out) {
  *out = (struct sample){0};
  besom_status status = enlarge(f, out, source->size_hint);
  if (status == BESOM_OK) status = read_all(f, source, progress, out);
  if (status != BESOM_OK) besom__sample_free(f, out);
  return status;
}

/* A place that loses its count would end the search for others; so all stay, and members are marked by a count of 0
 * only at the end, when nothing is searched any more. */
void besom__sample_forget(struct sample *s, const struct digests *members) {
  const uint64_t member = UINT64_MAX;
  for (uint64_t i = 0; s->n && i < members->n; i++) {
    struct sampled *place = place_of(s, members->at[i]);
    if (place->count) place->count = member;
  }
  for (uint64_t i = 0; i < s->room; i++)
    if (s->at[i].count == member) s->at[i].count = 0, s->n--;
}

/* ------------------------------------------------------------------ popularity */

void besom__sample_popularity(const struct sample *s, struct popularity *out) {
  for (uint64_t i = 0; i < s->room; i++) besom__popularity_add(out, s->at[i].count);
}

/* The keys of a class of counts, or of all above it, behind those that are there. */
static void gather(const struct sample *s, unsigned class, bool above, struct digests *out) {
  for (uint64_t i = 0; i < s->room; i++) {
    unsigned own = besom__count_class(s->at[i].count);
    if (s->at[i].count && (above ? own > class : own == class)) out->at[out->n++] = s->at[i].digest;
  }
}

besom_status besom__sample_top(const besom_filter *f, const struct sample *s,
                               const struct popularity *popularity, uint64_t n,
                               struct digests *out) {
  unsigned class = COUNT_CLASSES;
  uint64_t above = 0;
  *out = (struct digests){0};
  if (n > popularity->n_keys) n = popularity->n_keys;
  while (class > 0 && above + popularity->keys[class - 1] < n) above += popularity->keys[--class];
  if (class > 0) class --;
  out->room = above + popularity->keys[class] + 1;
  out->at = besom__allocate(&f->allocator, (size_t)out->room * sizeof *out->at);
  if (!out->at) return BESOM_NO_MEMORY;
  gather(s, class, true, out);
  gather(s, class, false, out);
  besom__sort_digests(out->at + above, (size_t)(out->n - above), 0);
  out->n = n;
  return BESOM_OK;
}
