/* Bulk builds: from groups of entries to the filter. */
#include "build/bulk.h"
#include "core/sort.h"
#include "core/system/memory.h"

#define SLOTS_PER_THREAD 2

/* Memory for one group: its entries, sorted. Short entries need as much again to be sorted in. */
struct sorted_group {
  void *memory;
  const void *entries;
  size_t n;
  bool ready;
};

/*
 * The entries in ascending order. Slot g % slots is for group g. Groups are claimed in order, by
 * any thread; the caller's thread uses them in order.
 */
struct sorting {
  struct bulk *bulk;
  struct sorted_group *groups;
  size_t slots, claimed; /* groups below claimed are being sorted, or are sorted */
  size_t current, given; /* the group in use; its entries given so far */
  uint64_t total_given;
  bool stopped;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct workers workers;
};

/* ------------------------------------------------------------------ sorting a group */

static uint64_t group_count(const struct bulk *b, size_t group) {
  uint64_t n = 0;
  for (unsigned i = 0; i < b->threads; i++)
    n += besom__partition_count(&b->lists[i], group, entry_bytes(&b->form));
  return n;
}

/* Equal digests have equal first bits: those that tell the group. */
static unsigned known_bits(const struct bulk *b) {
  return 63 - b->form.shift;
}

static void sort_group(const struct bulk *b, size_t group, struct sorted_group *out) {
  size_t entry = entry_bytes(&b->form);
  uint8_t *end = out->memory;
  for (unsigned i = 0; i < b->threads; i++) end = besom__partition_copy(&b->lists[i], group, end);
  out->n = (size_t)(end - (uint8_t *)out->memory) / entry;
  out->entries = out->memory;
  if (b->form.whole)
    besom__sort_digests(out->memory, out->n, known_bits(b));
  else
    out->entries =
        besom__sort_u32(out->memory, (uint32_t *)out->memory + out->n, out->n, b->form.shift);
}

/*
 * Sorts the next group if there is one and a slot for it. The caller has the mutex; false if there
 * is nothing to do.
 */
static bool sort_next(struct sorting *s) {
  if (s->claimed == s->bulk->groups || s->claimed - s->current >= s->slots) return false;
  size_t group = s->claimed++;
  struct sorted_group *slot = &s->groups[group % s->slots];
  pthread_mutex_unlock(&s->mutex);
  sort_group(s->bulk, group, slot);
  pthread_mutex_lock(&s->mutex);
  slot->ready = true;
  pthread_cond_broadcast(&s->changed);
  return true;
}

static void help_sorting(void *ctx, unsigned thread) {
  struct sorting *s = ctx;
  (void)thread;
  pthread_mutex_lock(&s->mutex);
  while (!s->stopped && s->claimed < s->bulk->groups)
    if (!sort_next(s)) pthread_cond_wait(&s->changed, &s->mutex);
  pthread_mutex_unlock(&s->mutex);
}

/* The group in use, sorted by another thread or by this one. */
static struct sorted_group *current_group(struct sorting *s) {
  struct sorted_group *slot = &s->groups[s->current % s->slots];
  if (s->given) return slot; /* it is ready */
  pthread_mutex_lock(&s->mutex);
  while (!slot->ready)
    if (!sort_next(s)) pthread_cond_wait(&s->changed, &s->mutex);
  pthread_mutex_unlock(&s->mutex);
  return slot;
}

static void leave_group(struct sorting *s, struct sorted_group *slot) {
  pthread_mutex_lock(&s->mutex);
  slot->ready = false;
  s->current++;
  s->given = 0;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

/* ------------------------------------------------------------------ giving digests */

/* A digest in the middle of those that have this place. */
ALWAYS_INLINE besom_digest digest_at(uint64_t place, unsigned __int128 step) {
  unsigned __int128 d = place * step + step / 2;
  return (besom_digest){(uint64_t)(d >> 64), (uint64_t)d};
}

static void bulk_sort_write_digests(const struct entry_form *form, size_t group,
                                    const void *entries, size_t from, size_t n, besom_digest *out) {
  const uint32_t *rests = (const uint32_t *)entries + from;
  if (form->whole) {
    memcpy(out, (const besom_digest *)entries + from, n * sizeof *out);
    return;
  }
  uint64_t first = (uint64_t)group << form->shift;
  for (size_t i = 0; i < n; i++) out[i] = digest_at(first | rests[i], form->step);
}

static besom_status next_sorted(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  struct sorting *s = ctx;
  const struct bulk *b = s->bulk;
  for (*n = 0; s->current < b->groups && *n < cap;) {
    struct sorted_group *slot = current_group(s);
    size_t left = slot->n - s->given, some = left < cap - *n ? left : cap - *n;
    bulk_sort_write_digests(&b->form, s->current, slot->entries, s->given, some, out + *n);
    s->given += some;
    *n += some;
    if (s->given == slot->n) leave_group(s, slot);
  }
  s->total_given += *n;
  return *n ? BESOM_OK : BESOM_END;
}

/* ------------------------------------------------------------------ inserting */

static besom_status bulk_sort_insert_batch(const struct bulk *b, const besom_digest *d, size_t n,
                                           uint64_t done) {
  size_t inserted;
  besom_status status = besom__insert_digests(b->f, d, n, &inserted);
  return status == BESOM_OK ? besom__bulk_tick(b, done) : status;
}

/* Inserts in ascending order: consecutive inserts touch the same part of the table. */
static besom_status insert_sorted(struct sorting *s) {
  besom_digest batch[BUILD_BATCH];
  size_t n;
  besom_status status;
  while ((status = next_sorted(s, batch, BUILD_BATCH, &n)) == BESOM_OK) {
    status = bulk_sort_insert_batch(s->bulk, batch, n, s->total_given);
    if (status != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

/* Without memory to sort: inserts chunk by chunk, which is at least in the order of groups. */
static besom_status insert_group(const struct bulk *b, const struct partition *list, size_t group,
                                 uint64_t *done) {
  besom_digest batch[CHUNK_ENTRIES(SHORT_ENTRY)];
  struct chunk_walk w = besom__partition_walk(list, group);
  besom_status status = BESOM_OK;
  const void *entries;
  size_t bytes;
  while (status == BESOM_OK && (entries = partition_next(&w, &bytes))) {
    size_t n = bytes / entry_bytes(&b->form);
    bulk_sort_write_digests(&b->form, group, entries, 0, n, batch);
    status = bulk_sort_insert_batch(b, batch, n, *done += n);
  }
  return status;
}

static besom_status insert_groups(const struct bulk *b) {
  uint64_t done = 0;
  besom_status status = BESOM_OK;
  for (size_t g = 0; g < b->groups; g++)
    for (unsigned i = 0; i < b->threads && status == BESOM_OK; i++)
      status = insert_group(b, &b->lists[i], g, &done);
  return status;
}

/* ------------------------------------------------------------------ all groups */

static size_t bulk_sort_slots_of(const struct bulk *b) {
  return b->threads > 1 ? SLOTS_PER_THREAD * b->threads : 1;
}

static uint64_t slot_bytes(const struct bulk *b, uint64_t largest) {
  return sizeof(struct sorted_group) +
         largest * (b->form.whole ? sizeof(besom_digest) : 2 * SHORT_ENTRY);
}

uint64_t besom__bulk_sort_bytes(const struct bulk *b, uint64_t largest_group) {
  return bulk_sort_slots_of(b) * slot_bytes(b, largest_group);
}

static bool bulk_sort_tick(void *ctx, uint64_t done, uint64_t total) {
  (void)total; /* of this part */
  return besom__bulk_tick(ctx, done) == BESOM_OK;
}

static besom_status add_sorted(struct bulk *b, struct sorting *s) {
  besom_digest_source sorted = {.next = next_sorted, .size_hint = b->count, .ctx = s};
  besom_progress progress = {.tick = bulk_sort_tick, .ctx = b};
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  besom__workers_start(&s->workers, b->threads - 1, 1, help_sorting, s);
  besom_status status =
      b->done ? insert_sorted(s) : b->f->kind->whole->append(b->f, &sorted, &progress);
  pthread_mutex_lock(&s->mutex);
  s->stopped = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  besom__workers_join(&s->workers);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
  return status;
}

besom_status besom__bulk_add(struct bulk *b) {
  uint64_t largest = 0;
  for (size_t g = 0; g < b->groups; g++) {
    uint64_t n = group_count(b, g);
    if (n > largest) largest = n;
  }
  uint64_t bytes = besom__bulk_sort_bytes(b, largest);
  bool fits = largest <= UINT32_MAX && bytes <= SIZE_MAX / 2 &&
              (!b->limit || (b->bytes <= b->limit && bytes <= b->limit - b->bytes));
  uint8_t *memory = fits ? besom__allocate(&b->f->allocator, bytes) : NULL;
  if (!memory) return insert_groups(b);
  struct sorting s = {
      .bulk = b, .slots = bulk_sort_slots_of(b), .groups = (struct sorted_group *)memory};
  memory += s.slots * sizeof *s.groups;
  size_t each = (size_t)slot_bytes(b, largest) - sizeof *s.groups;
  for (size_t i = 0; i < s.slots; i++) s.groups[i].memory = memory + i * each;
  besom_status status = add_sorted(b, &s);
  besom__release(&b->f->allocator, s.groups, bytes);
  return status;
}
