/* Snapshot handles (snapshot.h): what happens rarely. */
#include "api/snapshot.h"

#include <string.h>

#include "core/system/memory.h"

#define HANDLE_BYTES (sizeof(struct snapshot_handle) + CACHE_LINE)
#define PROBES 4 /* slots that a thread looks at */

/* -------------------------------------------------------------- readers and writers */

/* The slot of a thread, which it gets now or got earlier; if all are taken, one of another. */
static struct reader_slot *own_slot(struct snapshot_handle *h, uintptr_t thread) {
  unsigned first = first_slot_of(thread);
  for (unsigned i = 0; h->asymmetric && i < PROBES; i++) {
    struct reader_slot *slot = &h->slots[(first + i) % READER_SLOTS];
    uintptr_t of = atomic_load_explicit(&slot->thread, memory_order_relaxed);
    if (of == thread) return slot;
    if (of == 0 && atomic_compare_exchange_strong(&slot->thread, &of, thread)) return slot;
  }
  return &h->slots[first];
}

/* Whether the reader becomes the owner of the slot. */
static bool own(const struct snapshot_handle *h, struct reader_slot *slot, uintptr_t thread,
                unsigned phase) {
  uint64_t nobody = 0;
  if (!h->asymmetric) return atomic_compare_exchange_strong(&slot->owner, &nobody, 1 + phase);
  if (atomic_load_explicit(&slot->thread, memory_order_relaxed) != thread ||
      atomic_load_explicit(&slot->owner, memory_order_relaxed))
    return false;
  atomic_store_explicit(&slot->owner, 1 + phase, memory_order_relaxed);
  light_fence();
  return true;
}

/* Announces a reader. Its filter is not set. */
static struct reader announce(struct snapshot_handle *h) {
  uintptr_t thread = thread_number();
  struct reader_slot *slot = own_slot(h, thread);
  unsigned phase = atomic_load_explicit(&h->phase, memory_order_relaxed);
  bool owns = own(h, slot, thread, phase);
  if (!owns) atomic_fetch_add(&slot->others[phase], 1);
  return (struct reader){NULL, owns ? &slot->owner : &slot->others[phase], owns};
}

/*
 * The load is sequentially consistent like the announcement before it. An acquire load could return
 * the old filter although the writer that replaced it saw no reader.
 */
struct reader besom__snapshot_enter(const besom_filter *f) {
  struct reader r = announce(f->snapshot);
  r.filter = atomic_load(&f->snapshot->current);
  return r;
}

besom_status besom__snapshot_enter_to_write(const besom_filter *f, struct reader *r) {
  struct snapshot_handle *h = f->snapshot;
  for (unsigned times = 0;; besom__wait(&times)) {
    *r = announce(h);
    unsigned state = atomic_load(&h->state);
    if (LIKELY(state == OPEN)) break;
    besom__reader_leave(*r);
    if (state == TASK) return BESOM_BUSY;
  }
  r->filter = current_filter(h);
  return BESOM_OK;
}

static bool has_readers(struct reader_slot *slot, unsigned phase) {
  return atomic_load(&slot->owner) == 1 + phase || atomic_load(&slot->others[phase]);
}

/* Returns when every reader has left that is inside now. */
static void wait_for_grace_period(struct snapshot_handle *h) {
  if (h->asymmetric) besom__heavy_fence();
  for (int i = 0; i < 2; i++) {
    unsigned other = 1 - atomic_load(&h->phase), times = 0;
    for (unsigned s = 0; s < READER_SLOTS; s++)
      while (has_readers(&h->slots[s], other)) besom__wait(&times);
    atomic_store(&h->phase, other);
  }
}

/* -------------------------------------------------------------- replacing */

/* Waits for writers that are inside: they may not have seen the state yet. */
besom_status besom__replace_begin(besom_filter *f, bool is_task, besom_filter **now) {
  struct reader r;
  struct snapshot_handle *h = f->snapshot;
  *now = f;
  if (!h) return besom__writer_enter(f, &r);
  for (unsigned times = 0;; besom__wait(&times)) {
    unsigned state = OPEN;
    if (atomic_compare_exchange_strong(&h->state, &state, is_task ? TASK : REPLACING)) break;
    if (state == TASK) return BESOM_BUSY;
  }
  wait_for_grace_period(h);
  *now = atomic_load(&h->current);
  return BESOM_OK;
}

void besom__replace_end(besom_filter *f) {
  if (f->snapshot) atomic_store(&f->snapshot->state, OPEN);
}

/* Swaps the contents: each filter keeps its address. */
static void swap_filters(besom_filter *a, besom_filter *b) {
  unsigned char *x = (unsigned char *)a, *y = (unsigned char *)b;
  for (size_t i = 0; i < a->kind->size; i++) {
    unsigned char byte = x[i];
    x[i] = y[i];
    y[i] = byte;
  }
}

besom_status besom__publish(besom_filter *f, besom_filter **fresh) {
  struct snapshot_handle *h = f->snapshot;
  if (!h) {
    uint32_t generation = f->generation + 1;
    swap_filters(f, *fresh);
    f->generation = generation;
    return BESOM_OK;
  }
  besom_status status = f->kind->threads->share(*fresh, f);
  if (status != BESOM_OK) return status;
  besom__choose_calls(*fresh);
  *fresh = atomic_exchange(&h->current, *fresh);
  wait_for_grace_period(h);
  return BESOM_OK;
}

/* -------------------------------------------------------------- life */

static struct snapshot_handle *new_handle(const besom_allocator *allocator) {
  uint8_t *memory = besom__allocate(allocator, HANDLE_BYTES);
  if (!memory) return NULL;
  struct snapshot_handle *h =
      (struct snapshot_handle *)(memory + (0 - (uintptr_t)memory) % CACHE_LINE);
  h->memory = memory;
  h->asymmetric = besom__prepare_heavy_fence();
  return h;
}

static void free_handle(struct snapshot_handle *h, const besom_allocator *allocator) {
  if (h) besom__release(allocator, h->memory, HANDLE_BYTES);
}

/*
 * A concurrent filter with the contents of the plain filter f, of which only the head is valid
 * then.
 */
static besom_status move_out(const besom_filter *f, besom_filter **out) {
  besom_filter *moved;
  besom_status status = besom__filter_new(f->kind, &f->hasher, &f->allocator, &moved);
  if (status != BESOM_OK) return status;
  memcpy(moved, f, f->kind->size);
  status = f->kind->concurrent->threads->share(moved, f);
  if (status != BESOM_OK) moved->exceptions = NULL; /* they stay with f */
  return besom__filter_made(status, moved, out);
}

/* Leaves of f only what every call reads. */
static void become_handle(besom_filter *f, struct snapshot_handle *h) {
  const struct besom_kind *kind = f->kind->concurrent;
  besom_allocator allocator = f->allocator;
  memset(f, 0, kind->size);
  f->kind = kind;
  f->snapshot = h;
  f->allocator = allocator;
  besom__snapshot_calls(f);
}

besom_status besom_share(besom_filter *f) {
  if (!f) return BESOM_INVALID;
  if (f->snapshot) return BESOM_OK;
  if (!f->kind->concurrent || f->is_set) return BESOM_UNSUPPORTED;
  struct reader r;
  besom_filter *moved = NULL;
  besom_status status = besom__writer_enter(f, &r);
  if (status != BESOM_OK) return status;
  struct snapshot_handle *h = new_handle(&f->allocator);
  status = h ? move_out(f, &moved) : BESOM_NO_MEMORY;
  if (status == BESOM_OK) {
    atomic_store(&h->current, moved);
    become_handle(f, h);
  } else {
    free_handle(h, &f->allocator);
  }
  return status;
}

void besom__snapshot_free(besom_filter *f) {
  besom_free(atomic_load(&f->snapshot->current));
  free_handle(f->snapshot, &f->allocator);
}

size_t besom__snapshot_bytes(const besom_filter *f) {
  return f->snapshot ? HANDLE_BYTES + f->kind->size : 0;
}
