/*
 * What is in front of a concurrent filter (see struct visit in filter.h): the filter that it is by now, and who is
 * inside.
 *
 * A call first shows that it is inside, and then reads which filter it is; who exchanges the filter does so, and then
 * looks who is inside. So a call that he does not see has seen the new filter. There are as many places to show it, in
 * lines of cache of their own, as there may be threads at once. The first call there has a seat, which takes one
 * atomic operation and a plain store; further ones stand, and are counted.
 *
 * Everybody is on one of two sides: who waits for the others turns newcomers to the side where nobody is left, so that
 * he does not wait for them, too.
 */
#include <string.h>

#include "core/memory.h"
#include "core/wait.h"
#include "filter.h"

#define STRIPE_BITS 6
#define STRIPES (1u << STRIPE_BITS)
#define STACK_BITS 16 /* the stacks of two threads are further apart than this */

/* Whether the filter may be changed. EXCHANGED: those who want to wait. A task takes its time: they are told BUSY. */
enum state { FREE, EXCHANGED, TASK };

struct stripe {
  _Alignas(CACHE_LINE) _Atomic uint64_t seat; /* 1 + the side of who has it; 0: nobody */
  _Atomic uint64_t standing[2];               /* how many, by side */
};

struct front {
  _Atomic(besom_filter *) filter;
  atomic_uint state;
  atomic_uint side; /* for those who enter */
  void *memory;     /* the allocation that this is in */
  struct stripe stripes[STRIPES];
};

#define FRONT_BYTES (sizeof(struct front) + CACHE_LINE)

/* ------------------------------------------------------------------ calls */

/* Another one for every thread, as far as there are enough. */
static struct stripe *own_stripe(struct front *front) {
  uint64_t stack = (uint64_t)(uintptr_t)__builtin_frame_address(0) >> STACK_BITS;
  return &front->stripes[stack * UINT64_C(0x9E3779B97F4A7C15) >> (64 - STRIPE_BITS)];
}

struct visit besom__front_enter(const besom_filter *f) {
  struct front *front = f->front;
  struct stripe *stripe = own_stripe(front);
  unsigned side = atomic_load_explicit(&front->side, memory_order_relaxed);
  uint64_t nobody = 0;
  bool seated = atomic_compare_exchange_strong(&stripe->seat, &nobody, 1 + side);
  if (UNLIKELY(!seated)) atomic_fetch_add(&stripe->standing[side], 1);
  return (struct visit){atomic_load(&front->filter),
                        seated ? &stripe->seat : &stripe->standing[side], seated};
}

besom_status besom__front_enter_to_change(const besom_filter *f, struct visit *v) {
  for (unsigned times = 0;; besom__wait(&times)) {
    *v = besom__front_enter(f);
    unsigned state = atomic_load(&f->front->state);
    if (LIKELY(state == FREE)) break;
    besom__leave(*v);
    if (state == TASK) return BESOM_BUSY;
  }
  v->filter = atomic_load(&f->front->filter); /* it may have been exchanged before it was free */
  return BESOM_OK;
}

static bool has_somebody(struct stripe *stripe, unsigned side) {
  return atomic_load(&stripe->seat) == 1 + side || atomic_load(&stripe->standing[side]);
}

/* Returns when all calls have left that are inside now. */
static void wait_for_others(struct front *front) {
  for (int i = 0; i < 2; i++) {
    unsigned other = 1 - atomic_load(&front->side), times = 0;
    for (unsigned s = 0; s < STRIPES; s++)
      while (has_somebody(&front->stripes[s], other)) besom__wait(&times);
    atomic_store(&front->side, other);
  }
}

/* ------------------------------------------------------------------ exchanging */

/* Waits for changes that are under way: they may not have seen the state yet. */
besom_status besom__claim(besom_filter *f, bool is_task, besom_filter **now) {
  struct visit v;
  struct front *front = f->front;
  *now = f;
  if (!front) return besom__enter_to_change(f, &v);
  for (unsigned times = 0;; besom__wait(&times)) {
    unsigned state = FREE;
    if (atomic_compare_exchange_strong(&front->state, &state, is_task ? TASK : EXCHANGED)) break;
    if (state == TASK) return BESOM_BUSY;
  }
  wait_for_others(front);
  *now = atomic_load(&front->filter);
  return BESOM_OK;
}

void besom__unclaim(besom_filter *f) {
  if (f->front) atomic_store(&f->front->state, FREE);
}

/* Exchanges all but the addresses: each keeps its own place in memory. */
static void swap_filters(besom_filter *a, besom_filter *b) {
  unsigned char *x = (unsigned char *)a, *y = (unsigned char *)b;
  for (size_t i = 0; i < a->kind->size; i++) {
    unsigned char byte = x[i];
    x[i] = y[i];
    y[i] = byte;
  }
}

besom_status besom__exchange(besom_filter *f, besom_filter **fresh) {
  struct front *front = f->front;
  if (!front) {
    swap_filters(f, *fresh);
    return BESOM_OK;
  }
  besom_status status = f->kind->share(*fresh, f);
  if (status != BESOM_OK) return status;
  *fresh = atomic_exchange(&front->filter, *fresh);
  wait_for_others(front);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ life */

static struct front *new_front(const besom_allocator *allocator) {
  uint8_t *memory = besom__allocate(allocator, FRONT_BYTES);
  if (!memory) return NULL;
  struct front *front = (struct front *)(memory + (0 - (uintptr_t)memory) % CACHE_LINE);
  front->memory = memory;
  return front;
}

static void free_front(struct front *front, const besom_allocator *allocator) { /* NULL is fine */
  if (front) besom__release(allocator, front->memory, FRONT_BYTES);
}

/* A concurrent filter that has what the plain filter f has; of f only the head is to be used from now on. */
static besom_status move_behind(const besom_filter *f, besom_filter **out) {
  besom_filter *behind;
  besom_status status = besom__filter_new(f->kind, &f->hasher, &f->allocator, &behind);
  if (status != BESOM_OK) return status;
  memcpy(behind, f, f->kind->size);
  status = f->kind->concurrent->share(behind, f);
  if (status == BESOM_OK)
    *out = behind;
  else
    besom__filter_drop(behind);
  return status;
}

/* Nothing is left of f but what every call looks at. */
static void become_front(besom_filter *f, struct front *front) {
  const struct besom_kind *kind = f->kind->concurrent;
  besom_allocator allocator = f->allocator;
  memset(f, 0, kind->size);
  f->kind = kind;
  f->front = front;
  f->allocator = allocator;
}

besom_status besom_share(besom_filter *f) {
  if (!f) return BESOM_INVALID;
  if (f->front) return BESOM_OK;
  if (!f->kind->concurrent) return BESOM_UNSUPPORTED;
  struct visit v;
  besom_filter *behind = NULL;
  besom_status status = besom__enter_to_change(f, &v);
  if (status != BESOM_OK) return status;
  struct front *front = new_front(&f->allocator);
  status = front ? move_behind(f, &behind) : BESOM_NO_MEMORY;
  if (status == BESOM_OK) {
    atomic_store(&front->filter, behind);
    become_front(f, front);
  } else {
    free_front(front, &f->allocator);
  }
  return status;
}

void besom__front_free(besom_filter *f) {
  besom_free(atomic_load(&f->front->filter));
  free_front(f->front, &f->allocator);
}

size_t besom__front_bytes(const besom_filter *f) {
  return f->front ? FRONT_BYTES + f->kind->size : 0;
}
