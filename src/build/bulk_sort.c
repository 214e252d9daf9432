/* Bulk builds: from groups of entries to the filter. */
#include "build/bulk.h"
#include "core/sort.h"
#include "core/system/memory.h"
#include "kind_parts.h"

#define SLOTS_PER_THREAD 2

/*
 * Memory for one group: its entries, sorted. Short entries need as much again to be sorted in;
 * `spare` is what is left of that, or other memory.
 */
struct sorted_group {
  void *memory;
  const void *entries;
  uint32_t *spare;
  size_t n;
  bool ready;
  struct append_part part;
  const struct bulk *bulk;
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
  size_t joined; /* in parts: groups below this are in the filter, or almost */
  bool joining;
  besom_status status; /* of the parts */
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
  uint32_t *second = (uint32_t *)end;
  out->spare = second;
  if (b->form.whole) {
    besom__sort_digests(out->memory, out->n, known_bits(b));
    return;
  }
  out->entries = besom__sort_u32(out->memory, second, out->n, b->form.shift);
  if (out->entries == second) out->spare = out->memory;
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

static besom_status bulk_sort_insert_batch(struct bulk *b, const besom_digest *d, size_t n,
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
static besom_status insert_group(struct bulk *b, const struct partition *list, size_t group,
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

static besom_status insert_groups(struct bulk *b) {
  uint64_t done = 0;
  besom_status status = BESOM_OK;
  for (size_t g = 0; g < b->groups; g++)
    for (unsigned i = 0; i < b->threads && status == BESOM_OK; i++)
      status = insert_group(b, &b->lists[i], g, &done);
  return status;
}

/* ------------------------------------------------------------------ memory */

static size_t bulk_sort_slots_of(const struct bulk *b) {
  return b->threads > 1 ? SLOTS_PER_THREAD * b->threads : 1;
}

static uint64_t slot_bytes(const struct bulk *b, uint64_t largest) {
  uint64_t bytes = largest * (entry_bytes(&b->form) + sizeof(uint32_t));
  return sizeof(struct sorted_group) +
         (bytes + sizeof(besom_digest) - 1) / sizeof(besom_digest) * sizeof(besom_digest);
}

uint64_t besom__bulk_sort_bytes(const struct bulk *b, uint64_t largest_group) {
  return bulk_sort_slots_of(b) * slot_bytes(b, largest_group);
}

static bool bulk_sort_tick(void *ctx, uint64_t done, uint64_t total) {
  (void)total; /* of this part */
  return besom__bulk_tick(ctx, done) == BESOM_OK;
}

/* ------------------------------------------------------------------ in parts */

static void read_part(const struct append_part *part, size_t from, size_t n, besom_digest *out) {
  const struct sorted_group *group = (const struct sorted_group *)part->owner;
  bulk_sort_write_digests(&group->bulk->form, part->number, group->entries, from, n, out);
}

/* The lowest digest that a group may have. */
static besom_digest bound_of(const struct entry_form *form, size_t group) {
  return form->whole ? (besom_digest){(uint64_t)group << form->shift << 1, 0}
                     : digest_at((uint64_t)group << form->shift, form->step);
}

static void prepare_group(const struct bulk *b, size_t number, struct sorted_group *group) {
  sort_group(b, number, group);
  bool is_last = number + 1 == b->groups;
  group->bulk = b;
  group->part = (struct append_part){.number = number,
                                     .n = group->n,
                                     .first = bound_of(&b->form, number),
                                     .is_last = is_last,
                                     .read = read_part,
                                     .owner = group,
                                     .spare = group->spare};
  if (!is_last) group->part.end = bound_of(&b->form, number + 1);
  b->f->kind->whole->parts->prepare(b->f, &group->part);
}

/* The group before `joined` stays in its slot: joining the next one reads it. */
static bool may_claim(const struct sorting *s) {
  size_t oldest = s->joined ? s->joined - 1 : 0;
  return s->claimed < s->bulk->groups && s->claimed - oldest < s->slots;
}

static void join_next(struct sorting *s) {
  size_t number = s->joined;
  struct sorted_group *group = &s->groups[number % s->slots],
                      *before = number ? &s->groups[(number - 1) % s->slots] : NULL;
  s->joining = true;
  pthread_mutex_unlock(&s->mutex);
  besom_status status =
      s->bulk->f->kind->whole->parts->join(s->bulk->f, before ? &before->part : NULL, &group->part);
  pthread_mutex_lock(&s->mutex);
  if (before) before->ready = false;
  s->total_given += group->n;
  s->joining = false;
  s->joined++;
  if (status == BESOM_OK || s->status != BESOM_OK) return;
  s->status = status;
  s->stopped = true;
}

static void prepare_next(struct sorting *s) {
  size_t number = s->claimed++;
  struct sorted_group *group = &s->groups[number % s->slots];
  pthread_mutex_unlock(&s->mutex);
  prepare_group(s->bulk, number, group);
  pthread_mutex_lock(&s->mutex);
  group->ready = true;
}

/* Joins or prepares a group, or waits until there is one. The caller has the mutex. */
static void do_part(struct sorting *s) {
  if (!s->joining && s->joined < s->claimed && s->groups[s->joined % s->slots].ready)
    join_next(s);
  else if (may_claim(s))
    prepare_next(s);
  else
    return (void)pthread_cond_wait(&s->changed, &s->mutex);
  pthread_cond_broadcast(&s->changed);
}

static void help_in_parts(void *ctx, unsigned thread) {
  struct sorting *s = ctx;
  (void)thread;
  pthread_mutex_lock(&s->mutex);
  while (!s->stopped && s->joined < s->bulk->groups) do_part(s);
  pthread_mutex_unlock(&s->mutex);
}

/* The caller's thread reports progress. */
static void lead_in_parts(struct sorting *s) {
  pthread_mutex_lock(&s->mutex);
  for (uint64_t told = 0; !s->stopped && s->joined < s->bulk->groups;) {
    do_part(s);
    uint64_t given = s->total_given;
    if (given == told || s->stopped) continue;
    pthread_mutex_unlock(&s->mutex);
    besom_status status = besom__bulk_tick(s->bulk, told = given);
    pthread_mutex_lock(&s->mutex);
    if (status == BESOM_OK || (s->stopped && s->status != BESOM_BUSY)) continue;
    s->status = status;
    s->stopped = true;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->mutex);
}

/* ------------------------------------------------------------------ with threads */

static void start_helpers(struct sorting *s, void (*help)(void *ctx, unsigned thread)) {
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  besom__workers_start(&s->workers, s->bulk->threads - 1, 1, help, s);
}

static void end_helpers(struct sorting *s) {
  pthread_mutex_lock(&s->mutex);
  s->stopped = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  besom__workers_join(&s->workers);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
}

static besom_status append_or_insert(struct bulk *b, struct sorting *s) {
  besom_digest_source sorted = {.next = next_sorted, .size_hint = b->count, .ctx = s};
  besom_progress progress = {.tick = bulk_sort_tick, .ctx = b};
  start_helpers(s, help_sorting);
  besom_status status =
      b->done ? insert_sorted(s) : b->f->kind->whole->append(b->f, &sorted, &progress);
  end_helpers(s);
  return status;
}

static bool can_append_in_parts(const struct bulk *b) {
  return b->threads > 1 && !b->done && !b->f->is_set && KIND_HAS(b->f->kind, whole, parts);
}

/* BUSY, and nothing is in the filter, if it must be appended by one thread. */
static besom_status append_in_parts(struct bulk *b, struct sorting *s) {
  const struct part_ops *ops = b->f->kind->whole->parts;
  start_helpers(s, help_in_parts);
  lead_in_parts(s);
  end_helpers(s);
  if (s->status == BESOM_BUSY) ops->abandon(b->f);
  if (s->status == BESOM_OK) s->status = besom__bulk_tick(b, s->total_given);
  if (s->status != BESOM_OK) return s->status;
  return ops->finish(b->f, &s->groups[(b->groups - 1) % s->slots].part);
}

static besom_status add_sorted(struct bulk *b, struct sorting *s) {
  struct sorting fresh = *s;
  if (can_append_in_parts(b)) {
    besom_status status = append_in_parts(b, s);
    if (status != BESOM_BUSY) return status;
    for (size_t i = 0; i < s->slots; i++) s->groups[i].ready = false;
  }
  return append_or_insert(b, &fresh);
}

/* ------------------------------------------------------------------ all groups */

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
  for (size_t i = 0; i < s.slots; i++)
    s.groups[i] = (struct sorted_group){.memory = memory + i * each};
  besom_status status = add_sorted(b, &s);
  besom__release(&b->f->allocator, s.groups, bytes);
  return status;
}
