/*
 * Work on a whole filter in bounded steps: another size, another hash key. A task fills a fresh filter beside the
 * one it is for, which goes on answering; the last step exchanges the two. The calls that do it all at once are
 * tasks that are driven to their end.
 */
#include "core/memory.h"
#include "filter.h"

struct besom_task {
  besom_filter *filter;
  besom_filter *fresh; /* NULL if all is as wished already */
  besom_status (*step)(besom_task *task, uint64_t max, bool *finished);
  besom_source yes, no; /* rekey: what is still to be read; without next: nothing */
};

/* ------------------------------------------------------------------ tasks of any kind */

/* Takes fresh over, also if it fails. */
static besom_status begin(const besom_task *model, besom_task **out) {
  besom_task *task = besom__allocate(&model->filter->allocator, sizeof *task);
  if (!task) {
    besom_free(model->fresh);
    return BESOM_NO_MEMORY;
  }
  *task = *model;
  task->filter->task = task;
  *out = task;
  return BESOM_OK;
}

void besom_task_cancel(besom_task *task) {
  if (!task) return;
  besom_filter *f = task->filter;
  f->task = NULL;
  besom_free(task->fresh);
  besom__release(&f->allocator, task, sizeof *task);
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

/* Ends the task; what the filter was goes with it. */
static void finish(besom_task *task) {
  task->filter->task = NULL;
  if (task->fresh) swap_filters(task->filter, task->fresh);
  besom_task_cancel(task);
}

besom_status besom_task_step(besom_task *task, uint64_t max_items, bool *finished) {
  if (!task) return BESOM_INVALID;
  bool done = false;
  besom_status status = max_items && finished ? task->step(task, max_items, &done) : BESOM_INVALID;
  if (finished) *finished = done && status == BESOM_OK;
  if (status != BESOM_OK)
    besom_task_cancel(task);
  else if (done)
    finish(task);
  return status;
}

/* All at once. */
static besom_status drive(besom_task *task) {
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;) status = besom_task_step(task, UINT64_MAX, &finished);
  return status;
}

/* ------------------------------------------------------------------ another size */

static bool power_of_two_apart(uint64_t small, uint64_t large) {
  while (small && small < large) small *= 2; /* slots are far below 2^63 */
  return small && small == large;
}

static besom_status resized_filter(const besom_filter *f, uint64_t slots, besom_filter **fresh) {
  besom_status status = besom__filter_new(f->kind, &f->hasher, &f->allocator, fresh);
  if (status != BESOM_OK) return status;
  (*fresh)->items = f->items;
  (*fresh)->bound = f->bound;
  status = f->kind->resize_start(*fresh, f, slots);
  if (status != BESOM_OK) besom__filter_drop(*fresh);
  return status;
}

static besom_status resize_step(besom_task *task, uint64_t max, bool *finished) {
  *finished = !task->fresh;
  return *finished ? BESOM_OK : task->filter->kind->resize_step(task->fresh, task->filter, max, finished);
}

static besom_status resize_begin(besom_filter *f, uint64_t slots, bool grow, besom_task **out) {
  if (!f || !out) return BESOM_INVALID;
  if (!f->kind->resize_start) return BESOM_UNSUPPORTED;
  besom_status status = besom__may_change(f);
  if (status != BESOM_OK) return status;
  besom_statistics now;
  besom_stats(f, &now);
  if (slots > MAX_CAPACITY) return BESOM_INVALID;
  if (!(grow ? power_of_two_apart(now.slots, slots) : power_of_two_apart(slots, now.slots))) return BESOM_INVALID;
  besom_task task = {.filter = f, .step = resize_step};
  besom__hold(f);
  if (slots != now.slots) status = resized_filter(f, slots, &task.fresh);
  besom__let_go(f);
  return status == BESOM_OK ? begin(&task, out) : status;
}

besom_status besom_grow_begin(besom_filter *f, uint64_t slots, besom_task **out) {
  return resize_begin(f, slots, true, out);
}

besom_status besom_shrink_begin(besom_filter *f, uint64_t slots, besom_task **out) {
  return resize_begin(f, slots, false, out);
}

besom_status besom_grow(besom_filter *f, uint64_t slots) {
  besom_task *task;
  besom_status status = resize_begin(f, slots, true, &task);
  return status == BESOM_OK ? drive(task) : status;
}

besom_status besom_shrink(besom_filter *f, uint64_t slots) {
  besom_task *task;
  besom_status status = resize_begin(f, slots, false, &task);
  return status == BESOM_OK ? drive(task) : status;
}

/* ------------------------------------------------------------------ another hash key */

/* Reads no more than *left keys of yes, which become members. */
static besom_status insert_some(besom_task *task, uint64_t *left) {
  besom_status status = BESOM_OK;
  while (task->yes.next && *left && status == BESOM_OK) {
    size_t n;
    status = besom__insert_batch(task->fresh, &task->yes, *left < BUILD_BATCH ? (size_t)*left : BUILD_BATCH, &n);
    *left -= n;
    if (status != BESOM_END) continue;
    task->yes.next = NULL;
    --*left; /* the question that was answered END counts, too */
    status = BESOM_OK;
  }
  return status;
}

/* Reads no more than *left keys of no; those that are wrongly answered yes are adapted for. */
static besom_status adapt_some(besom_task *task, uint64_t *left) {
  besom_status status = BESOM_OK;
  for (; task->no.next && *left && status == BESOM_OK; --*left) {
    besom_bytes key;
    uint64_t weight = 1;
    status = task->no.next(task->no.ctx, &key, &weight);
    if (status == BESOM_OK) {
      status = besom_adapt(task->fresh, key.data, key.len);
    } else if (status == BESOM_END) {
      task->no.next = NULL;
      status = BESOM_OK;
    }
  }
  return status;
}

static besom_status rekey_step(besom_task *task, uint64_t max, bool *finished) {
  besom_status status = insert_some(task, &max);
  if (status == BESOM_OK) status = adapt_some(task, &max);
  *finished = !task->yes.next && !task->no.next;
  return status;
}

besom_status besom_rekey_begin(besom_filter *f, const besom_source *yes, const besom_source *no, const uint8_t *seed,
                               besom_task **out) {
  if (!f || !yes || !yes->next || (no && !no->next) || !out) return BESOM_INVALID;
  if (!(f->kind->info.abilities & BESOM_CAN_REKEY) || (no && !f->kind->adapt)) return BESOM_UNSUPPORTED;
  besom_status status = besom__may_change(f);
  if (status != BESOM_OK) return status;
  if (f->bound) return BESOM_NEEDS_STORE; /* its keys would have to move to other buckets */
  struct hasher hasher;
  besom_task task = {.filter = f, .step = rekey_step, .yes = *yes};
  if (no) task.no = *no;
  status = besom__hasher_init(&hasher, besom__hash_name(f->hasher.id), seed);
  if (status == BESOM_OK) status = besom_create_like(f, &task.fresh);
  if (status != BESOM_OK) return status;
  task.fresh->hasher = hasher;
  return begin(&task, out);
}

besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no, const uint8_t *seed) {
  besom_task *task;
  besom_status status = besom_rekey_begin(f, yes, no, seed, &task);
  return status == BESOM_OK ? drive(task) : status;
}
