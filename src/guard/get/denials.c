/*
 * Denials: false positives that are remembered in memory until a writer handles them.
 *
 * Readers cannot extend fingerprints beside other readers, and a filter whose reserve is used up
 * waits for a rekey, which writers do. Meanwhile the digest of a key that the store does not have
 * is kept here, and a get of that key is answered no without a read. The table is set-associative,
 * with the newest entry of a set first: a full set forgets its oldest one.
 *
 * No entry may be one of a member:
 * - an entry is added with the view locked for reading, after the store was read under that lock;
 * - a put erases the entry of its key, and a merge all entries, with the view locked for writing;
 * - a rollback, which may bring keys back, drops all entries;
 * - readers of a read-only guard ask the table only at the commit number of its filter, and new
 *   filters begin with an empty table.
 * An entry is by the hash of one epoch, and is asked for lookups in that epoch only.
 *
 * The interface is that of a set of digests, so that another table of exceptions can replace it.
 */
#include "guard/get/denials.h"

enum { WAYS = 4, LEAST_BYTES = 16384, FILTER_SHARE = 8 };

struct denial {
  uint64_t hi, lo; /* of the digest and the epoch; zeros: free */
};

struct denials {
  size_t sets, bytes;
  uint64_t added; /* since the table was made */
  struct denial at[];
};

static struct denial denial_of(uint32_t epoch, besom_digest digest) {
  return (struct denial){digest.hi ^ (epoch + 1) * UINT64_C(0x9e3779b97f4a7c15), digest.lo};
}

/* False positives are not spread evenly over the bits that a filter uses. */
static struct denial *set_of(struct denials *d, struct denial x) {
  uint64_t mixed = (x.lo ^ x.hi >> 29) * UINT64_C(0x9e3779b97f4a7c15);
  return &d->at[WAYS * ((mixed >> 24) & (d->sets - 1))];
}

/* Other readers may write: they write whole words, and what is mixed of two entries matches
   neither. */
static bool is_denial(const struct denial *at, struct denial wanted) {
  return __atomic_load_n(&at->lo, __ATOMIC_RELAXED) == wanted.lo &&
         __atomic_load_n(&at->hi, __ATOMIC_RELAXED) == wanted.hi;
}

static void set_denial(struct denial *at, struct denial value) {
  __atomic_store_n(&at->lo, value.lo, __ATOMIC_RELAXED);
  __atomic_store_n(&at->hi, value.hi, __ATOMIC_RELAXED);
}

bool besom__denials_have(const besom_guard *g, uint32_t epoch, besom_digest digest) {
  struct denials *d = __atomic_load_n(&g->denials, __ATOMIC_ACQUIRE);
  struct denial wanted = denial_of(epoch, digest), *set = set_of(d, wanted);
  for (unsigned i = 0; i < WAYS; i++)
    if (is_denial(&set[i], wanted)) return true;
  return false;
}

/* An eighth of the filter's memory, within its limit. NULL: no memory. */
static struct denials *denials_new(const besom_guard *g) {
  besom_statistics stats, next = {0};
  if (besom_stats(g->current.filter, &stats) != BESOM_OK) return NULL;
  if (g->next.filter && besom_stats(g->next.filter, &next) != BESOM_OK) return NULL;
  uint64_t wanted = stats.bytes / FILTER_SHARE;
  if (wanted < LEAST_BYTES) wanted = LEAST_BYTES;
  size_t sets = 1;
  while (2 * sets * WAYS * sizeof(struct denial) <= wanted) sets *= 2;
  size_t bytes = sizeof(struct denials) + sets * WAYS * sizeof(struct denial);
  if (g->max_filter_bytes && stats.bytes + next.bytes + bytes > g->max_filter_bytes) return NULL;
  struct denials *d = besom__allocate(&g->allocator, bytes);
  if (!d) return NULL;
  d->sets = sets;
  d->bytes = bytes;
  return d;
}

static void push_denial(besom_guard *g, struct denials *d, struct denial new) {
  struct denial *set = set_of(d, new), none = {0, 0};
  for (unsigned i = 0; i < WAYS; i++)
    if (is_denial(&set[i], new)) return;
  if (is_denial(&set[WAYS - 1], none))
    count(g, &g->stats.exceptions, 1);
  else
    count(g, &g->stats.exceptions_forgotten, 1);
  for (unsigned i = WAYS - 1; i > 0; i--) set_denial(&set[i], set[i - 1]);
  set_denial(&set[0], new);
  __atomic_add_fetch(&d->added, 1, __ATOMIC_RELAXED);
}

void besom__denials_add(besom_guard *g, uint32_t epoch, besom_digest digest) {
  if (g->adapt == BESOM_ADAPT_NEVER) return;
  lock_queue(g);
  struct denials *d = g->denials;
  if (!d) {
    d = denials_new(g);
    __atomic_store_n(&g->denials, d, __ATOMIC_RELEASE);
  }
  if (d)
    push_denial(g, d, denial_of(epoch, digest));
  else
    count(g, &g->stats.exceptions_forgotten, 1);
  unlock_queue(g);
}

void besom__denials_erase(besom_guard *g, uint32_t epoch, besom_digest digest) {
  struct denials *d = g->denials;
  if (LIKELY(!d)) return;
  struct denial wanted = denial_of(epoch, digest), *set = set_of(d, wanted);
  for (unsigned i = 0; i < WAYS; i++) {
    if (!is_denial(&set[i], wanted)) continue;
    for (; i + 1 < WAYS; i++) set_denial(&set[i], set[i + 1]);
    set_denial(&set[WAYS - 1], (struct denial){0, 0});
    __atomic_sub_fetch(&g->stats.exceptions, 1, __ATOMIC_RELAXED);
  }
}

void besom__denials_clear(besom_guard *g) {
  struct denials *d = g->denials;
  if (LIKELY(!d)) return;
  memset(d->at, 0, d->sets * WAYS * sizeof *d->at);
  __atomic_store_n(&g->stats.exceptions, 0, __ATOMIC_RELAXED);
}

uint64_t besom__denials_bytes(const besom_guard *g) {
  const struct denials *d = __atomic_load_n(&g->denials, __ATOMIC_ACQUIRE);
  return d ? d->bytes : 0;
}

uint64_t besom__denials_capacity(const besom_guard *g) {
  const struct denials *d = __atomic_load_n(&g->denials, __ATOMIC_ACQUIRE);
  return d ? d->sets * WAYS : 0;
}

uint64_t besom__denials_added(const besom_guard *g) {
  const struct denials *d = __atomic_load_n(&g->denials, __ATOMIC_ACQUIRE);
  return d ? __atomic_load_n(&d->added, __ATOMIC_RELAXED) : 0;
}

void besom__denials_free(besom_guard *g) {
  struct denials *d = g->denials;
  __atomic_store_n(&g->denials, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&g->stats.exceptions, 0, __ATOMIC_RELAXED);
  if (d) besom__release(&g->allocator, d, d->bytes);
}
