/*
 * Work on a whole filter in bounded steps: another size, another hash key. A task fills a fresh filter beside the
 * one it is for, which goes on answering; the last step exchanges the two. The calls that do it all at once are
 * tasks that are driven to their end. From begin to end the filter is claimed (filter.h).
 */
#include "core/memory.h"
#include "filter.h"

struct besom_task {
  besom_filter *filter;
  besom_filter *old;   /* what the filter is: itself, or what is behind its front */
  besom_filter *fresh; /* NULL if all is as wished already */
  besom_status (*step)(besom_task *task, uint64_t max, bool *finished);
  besom_source yes, no; /* rekey: what is still to be read; without next: nothing */
};

/* ------------------------------------------------------------------ tasks of any kind */

/* Ends the task, or what was to become one. */
static void end(const besom_task *task) {
  besom_free(task->fresh);
  task->filter->task = NULL;
  besom__unclaim(task->filter);
}

/* With the status of making fresh. Takes that and the claim over, also if it fails. */
static besom_status begin(besom_status status, const besom_task *model, besom_task **out) {
  besom_task *task = NULL;
  if (status == BESOM_OK) {
    task = besom__allocate(&model->filter->allocator, sizeof *task);
    if (!task) status = BESOM_NO_MEMORY;
  }
  if (status != BESOM_OK) {
    end(model);
    return status;
  }
  *task = *model;
  task->filter->task = task;
  *out = task;
  return BESOM_OK;
}

void besom_task_cancel(besom_task *task) {
  if (!task) return;
  besom_task ended = *task;
  besom__release(&task->filter->allocator, task, sizeof *task);
  end(&ended);
}

/* A step, and if it was the last one the exchange. */
static besom_status step(besom_task *task, uint64_t max, bool *finished) {
  besom_status status = task->step(task, max, finished);
  if (status != BESOM_OK || !*finished || !task->fresh) return status;
  task->filter->task = NULL; /* lest it goes over to fresh */
  return besom__exchange(task->filter, &task->fresh);
}

besom_status besom_task_step(besom_task *task, uint64_t max_items, bool *finished) {
  if (!task) return BESOM_INVALID;
  bool done = false;
  besom_status status = max_items && finished ? step(task, max_items, &done) : BESOM_INVALID;
  if (finished) *finished = done && status == BESOM_OK;
  if (status != BESOM_OK || done) besom_task_cancel(task); /* what the filter was goes with it */
  return status;
}

/* All at once. */
static besom_status drive(besom_task *task) {
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;)
    status = besom_task_step(task, UINT64_MAX, &finished);
  return status;
}

/* ------------------------------------------------------------------ another size */

static bool power_of_two_apart(uint64_t small, uint64_t large) {
  while (small && small < large) small *= 2; /* slots are far below 2^63 */
  return small && small == large;
}

static besom_status resized_filter(const besom_filter *f, uint64_t slots, besom_filter **fresh) {
  const struct besom_kind *plain = besom__kind_named(f->kind->info.name);
  besom_filter *made;
  besom_status status = besom__filter_new(plain, &f->hasher, &f->allocator, &made);
  if (status != BESOM_OK) return status;
  made->items = f->items;
  made->bound = f->bound;
  status = plain->resize_start(made, f, slots);
  if (status == BESOM_OK)
    *fresh = made;
  else
    besom__filter_drop(made);
  return status;
}

static besom_status resize_step(besom_task *task, uint64_t max, bool *finished) {
  *finished = !task->fresh;
  return *finished ? BESOM_OK : task->old->kind->resize_step(task->fresh, task->old, max, finished);
}

/* Makes fresh for a filter that is claimed. */
static besom_status resize_start(besom_task *task, uint64_t slots, bool grow) {
  besom_statistics now;
  besom_stats(task->old, &now);
  if (slots > MAX_CAPACITY) return BESOM_INVALID;
  if (!(grow ? power_of_two_apart(now.slots, slots) : power_of_two_apart(slots, now.slots)))
    return BESOM_INVALID;
  return slots == now.slots ? BESOM_OK : resized_filter(task->old, slots, &task->fresh);
}

static besom_status resize_begin(besom_filter *f, uint64_t slots, bool grow, bool in_steps,
                                 besom_task **out) {
  if (!f || !out) return BESOM_INVALID;
  if (!f->kind->resize_step) return BESOM_UNSUPPORTED;
  besom_task task = {.filter = f, .step = resize_step};
  besom_status status = besom__claim(f, in_steps, &task.old);
  return status == BESOM_OK ? begin(resize_start(&task, slots, grow), &task, out) : status;
}

static besom_status resize(besom_filter *f, uint64_t slots, bool grow) {
  besom_task *task;
  besom_status status = resize_begin(f, slots, grow, false, &task);
  return status == BESOM_OK ? drive(task) : status;
}

besom_status besom_grow_begin(besom_filter *f, uint64_t slots, besom_task **out) {
  return resize_begin(f, slots, true, true, out);
}

besom_status besom_shrink_begin(besom_filter *f, uint64_t slots, besom_task **out) {
  return resize_begin(f, slots, false, true, out);
}

besom_status besom_grow(besom_filter *f, uint64_t slots) {
  return resize(f, slots, true);
}

besom_status besom_shrink(besom_filter *f, uint64_t slots) {
  return resize(f, slots, false);
}

/* ------------------------------------------------------------------ another hash key */

/* Reads no more than *left keys of yes, which become members. */
static besom_status insert_some(besom_task *task, uint64_t *left) {
  besom_status status = BESOM_OK;
  while (task->yes.next && *left && status == BESOM_OK) {
    size_t n;
    status = besom__insert_batch(task->fresh, &task->yes,
                                 *left < BUILD_BATCH ? (size_t)*left : BUILD_BATCH, &n);
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

/* Makes fresh for a filter that is claimed. */
static besom_status rekey_start(besom_task *task, const uint8_t *seed) {
  if (task->old->bound) return BESOM_NEEDS_STORE; /* its keys would have to move to other buckets */
  struct hasher hasher;
  besom_status status = besom__hasher_init(&hasher, besom__hash_name(task->old->hasher.id), seed);
  if (status == BESOM_OK) status = besom__plain_like(task->old, &task->fresh);
  if (status == BESOM_OK) task->fresh->hasher = hasher;
  return status;
}

static besom_status rekey_begin(besom_filter *f, const besom_source *yes, const besom_source *no,
                                const uint8_t *seed, bool in_steps, besom_task **out) {
  if (!f || !yes || !yes->next || (no && !no->next) || !out) return BESOM_INVALID;
  if (!(f->kind->info.abilities & BESOM_CAN_REKEY) || (no && !f->kind->adapt))
    return BESOM_UNSUPPORTED;
  besom_task task = {.filter = f, .step = rekey_step, .yes = *yes};
  if (no) task.no = *no;
  besom_status status = besom__claim(f, in_steps, &task.old);
  return status == BESOM_OK ? begin(rekey_start(&task, seed), &task, out) : status;
}

besom_status besom_rekey_begin(besom_filter *f, const besom_source *yes, const besom_source *no,
                               const uint8_t *seed, besom_task **out) {
  return rekey_begin(f, yes, no, seed, true, out);
}

besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no,
                         const uint8_t *seed) {
  besom_task *task;
  besom_status status = rekey_begin(f, yes, no, seed, false, &task);
  return status == BESOM_OK ? drive(task) : status;
}
