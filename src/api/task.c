/*
 * Tasks: besom_resize and besom_rekey in bounded steps. A task fills a fresh filter beside the old
 * one, which keeps answering queries; the last step publishes the fresh one. To do it at once is to
 * run the task to its end. From start to end writers are kept out (besom__replace_begin).
 */
#include "besom_map.h"

#include "core/system/memory.h"
#include "exceptions/reports.h"
#include "kinds.h"

struct besom_task {
  besom_filter *filter;
  besom_filter *old;   /* the current filter: itself, or the one its snapshot handle points at */
  besom_filter *fresh; /* NULL if nothing has to change */
  besom_status (*step)(besom_task *task, uint64_t max, bool *finished);
  besom_source yes, no;    /* rekey: still to be read; next is NULL when done */
  besom_pair_source pairs; /* the same, of a maplet */
};

/* ------------------------------------------------------------------ tasks of any kind */

/* Ends the task, or a model of one that could not be made. */
static void end(const besom_task *task) {
  besom_free(task->fresh);
  task->filter->task = NULL;
  besom__choose_calls(task->filter);
  besom__replace_end(task->filter);
}

/* status: of making fresh. Takes over fresh and the replacement, even if it fails. */
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
  besom__choose_calls(task->filter);
  *out = task;
  return BESOM_OK;
}

void besom_task_cancel(besom_task *task) {
  if (!task) return;
  besom_task ended = *task;
  besom__release(&task->filter->allocator, task, sizeof *task);
  end(&ended);
}

/* A step; the last one publishes. */
static besom_status task_step(besom_task *task, uint64_t max, bool *finished) {
  besom_status status = task->step(task, max, finished);
  if (status != BESOM_OK || !*finished || !task->fresh) return status;
  task->filter->task = NULL; /* it must not move over to fresh */
  task->fresh->domains = task->old->domains;
  task->fresh->note = task->old->note;
  task->old->note = (struct filter_note){NULL, 0};
  return besom__publish(task->filter, &task->fresh);
}

besom_status besom_task_step(besom_task *task, uint64_t max_items, bool *finished) {
  if (!task) return BESOM_INVALID;
  bool done = false;
  besom_status status = max_items && finished ? task_step(task, max_items, &done) : BESOM_INVALID;
  if (finished) *finished = done && status == BESOM_OK;
  if (status != BESOM_OK || done) besom_task_cancel(task); /* frees the old filter, too */
  return status;
}

/* Runs a task to its end. */
static besom_status task_run(besom_task *task) {
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;)
    status = besom_task_step(task, UINT64_MAX, &finished);
  return status;
}

static besom_status hand_over_or_run(besom_task *task, besom_task **out) {
  if (!out) return task_run(task);
  *out = task;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ another size */

static bool power_of_two_apart(uint64_t small, uint64_t large) {
  while (small && small < large) small *= 2; /* slots are far below 2^63 */
  return small && small == large;
}

static besom_status resized_filter(const besom_filter *f, uint64_t slots, besom_filter **fresh) {
  const struct besom_kind *plain = besom__kind_named(f->kind->name);
  besom_filter *made;
  besom_status status = besom__filter_new(plain, &f->hasher, &f->allocator, &made);
  if (status != BESOM_OK) return status;
  made->items = f->items;
  made->bound = f->bound;
  made->reports = f->reports;
  made->is_set = f->is_set;
  status = plain->whole->resize_start(made, f, slots);
  if (status == BESOM_OK)
    *fresh = made;
  else
    besom__filter_drop(made);
  return status;
}

static bool can_resize(const besom_filter *f, uint64_t slots) {
  besom_statistics now;
  besom_stats(f, &now);
  return slots <= MAX_CAPACITY &&
         (power_of_two_apart(now.slots, slots) || power_of_two_apart(slots, now.slots));
}

besom_status besom__resized_by_keys(const besom_filter *f, uint64_t slots, besom_filter **out) {
  besom_filter *fresh = NULL;
  if (!can_resize(f, slots)) return BESOM_INVALID;
  besom_status status = resized_filter(f, slots, &fresh);
  if (status != BESOM_OK) return status;
  for (bool finished = false; status == BESOM_OK && !finished;) /* reads f only */
    status =
        fresh->kind->whole->resize_step(fresh, (besom_filter *)(uintptr_t)f, UINT64_MAX, &finished);
  if (status == BESOM_OK) status = fresh->kind->store->bind(fresh, NULL);
  fresh->bound = false;
  if (status == BESOM_OK)
    *out = fresh;
  else
    besom_free(fresh);
  return status;
}

static besom_status task_resize_step(besom_task *task, uint64_t max, bool *finished) {
  *finished = !task->fresh;
  if (*finished) return BESOM_OK;
  besom_status status = task->old->kind->whole->resize_step(task->fresh, task->old, max, finished);
  if (status != BESOM_OK || !*finished) return status;
  return besom__reports_hand_on(task->fresh, task->old);
}

static besom_status task_resize_start(besom_task *task, uint64_t slots) {
  besom_statistics now;
  besom_stats(task->old, &now);
  if (!can_resize(task->old, slots)) return BESOM_INVALID;
  return slots == now.slots ? BESOM_OK : resized_filter(task->old, slots, &task->fresh);
}

besom_status besom_resize(besom_filter *f, uint64_t slots, besom_task **task) {
  if (!f) return BESOM_INVALID;
  if (!KIND_HAS(f->kind, whole, resize_step)) return BESOM_UNSUPPORTED;
  besom_task *begun, model = {.filter = f, .step = task_resize_step};
  besom_status status = besom__replace_begin(f, task, &model.old);
  if (status == BESOM_OK) status = begin(task_resize_start(&model, slots), &model, &begun);
  return status == BESOM_OK ? hand_over_or_run(begun, task) : status;
}

/* ------------------------------------------------------------------ another seed */

/* Inserts no more than *left keys of yes. */
static besom_status task_insert_some(besom_task *task, uint64_t *left) {
  besom_status status = BESOM_OK;
  while (task->yes.next && *left && status == BESOM_OK) {
    size_t n;
    status = besom__insert_batch(task->fresh, &task->yes,
                                 *left < BUILD_BATCH ? (size_t)*left : BUILD_BATCH, &n);
    *left -= n;
    if (status != BESOM_END) continue;
    task->yes.next = NULL;
    --*left; /* the call that returned END counts, too */
    status = BESOM_OK;
  }
  return status;
}

/* Reads no more than *left keys of no, and adapts for false positives among them. */
static besom_status adapt_some(besom_task *task, uint64_t *left) {
  besom_status status = BESOM_OK;
  for (; task->no.next && *left && status == BESOM_OK; --*left) {
    besom_bytes key;
    uint64_t weight = 1;
    status = task->no.next(task->no.ctx, &key, &weight);
    if (status == BESOM_OK) {
      status = besom_adapt_digest(task->fresh, besom_hash(task->fresh, key.data, key.len));
      if (status == BESOM_EVICTED) status = BESOM_OK;
    } else if (status == BESOM_END) {
      task->no.next = NULL;
      status = BESOM_OK;
    }
  }
  return status;
}

static besom_status rekey_step(besom_task *task, uint64_t max, bool *finished) {
  besom_status status = task_insert_some(task, &max);
  if (status == BESOM_OK) status = adapt_some(task, &max);
  *finished = !task->yes.next && !task->no.next;
  return status;
}

/* Inserts no more than max pairs. */
static besom_status rekey_pairs_step(besom_task *task, uint64_t max, bool *finished) {
  besom_status status = BESOM_OK;
  for (size_t n; max && status == BESOM_OK; max -= n)
    status = besom__insert_pairs(task->fresh, &task->pairs,
                                 max < BUILD_BATCH ? (size_t)max : BUILD_BATCH, &n);
  *finished = status == BESOM_END;
  return *finished ? BESOM_OK : status;
}

static besom_status rekey_start(besom_task *task, const uint8_t *seed) {
  if (task->old->bound)
    return BESOM_NEEDS_STORE; /* its records would have to move to other buckets */
  struct hasher hasher;
  besom_status status = besom__hasher_init(&hasher, besom__hash_name(task->old->hasher.id), seed);
  if (status == BESOM_OK) status = besom__plain_like(task->old, &task->fresh);
  if (status == BESOM_OK) task->fresh->hasher = hasher;
  return status;
}

besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no,
                         const uint8_t *seed, besom_task **task) {
  if (!f || f->kind->map || !yes || !yes->next || (no && !no->next)) return BESOM_INVALID;
  if (!(kind_abilities(f->kind) & BESOM_CAN_REKEY)) return BESOM_UNSUPPORTED;
  besom_task *begun, model = {.filter = f, .step = rekey_step, .yes = *yes};
  if (no) model.no = *no;
  besom_status status = besom__replace_begin(f, task, &model.old);
  if (status == BESOM_OK) status = begin(rekey_start(&model, seed), &model, &begun);
  return status == BESOM_OK ? hand_over_or_run(begun, task) : status;
}

besom_status besom_rekey_pairs(besom_filter *f, const besom_pair_source *pairs, const uint8_t *seed,
                               besom_task **task) {
  if (!f || !pairs || !pairs->next) return BESOM_INVALID;
  if (!f->kind->map) return BESOM_UNSUPPORTED;
  besom_task *begun, model = {.filter = f, .step = rekey_pairs_step, .pairs = *pairs};
  besom_status status = besom__replace_begin(f, task, &model.old);
  if (status == BESOM_OK) status = begin(rekey_start(&model, seed), &model, &begun);
  return status == BESOM_OK ? hand_over_or_run(begun, task) : status;
}
