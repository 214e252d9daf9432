/*
 * Growth and new hash keys: a guard moves from one filter to the next, with a fresh seed, by steps.
 *
 * The store keeps the lists of each filter in an epoch of their own. A step takes some lists from the old epoch, in the
 * order of their buckets, and appends their records to those of the new one, in one transaction with the frontier: the
 * bucket up to which all is moved. So the old bucket of a key tells which filter has it, and one is asked, not two.
 */
#include "guard/guard.h"

#define ALL_MOVED UINT64_MAX /* no bucket has this number */

enum {
  STEPS_AHEAD = 64,
  AHEAD_BYTES = 1 << 20
}; /* that are looked at together, if they are not more than this */

/* Who has asked for a capacity gets it, whatever the load is then. */
void besom__guard_sized(besom_guard *g) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->now.filter, &slots, &width);
  g->grow_items = slots && g->grow_at < 1 ? (uint64_t)(g->grow_at * (double)slots) : UINT64_MAX;
  if (g->grow_items < g->shape.capacity) g->grow_items = g->shape.capacity;
}

static bool can_move(const besom_guard *g) {
  return g->transactional && g->now.filter->kind->bucket_of;
}

/* ------------------------------------------------------------------ beginning */

static besom_status next_filter(besom_guard *g, bool grow, besom_filter **out) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->now.filter, &slots, &width);
  const char *hash = besom__hash_name(g->now.filter->hasher.id);
  besom_status status =
      besom__guard_filter_new(g, hash, NULL, grow ? 2 * slots : slots, width, out);
  if (status != BESOM_OK) return status;
  status = besom__guard_bind(g, *out);
  if (status != BESOM_OK) besom_free(*out);
  return status;
}

/* The same width at twice the slots is the same rate. */
static besom_status start(besom_guard *g, bool grow) {
  struct side next = {NULL, g->now.epoch + 1};
  besom_status status = next_filter(g, grow, &next.filter);
  if (status != BESOM_OK) return status;
  status = besom__change_begin(g);
  if (status != BESOM_OK) {
    besom_free(next.filter);
    return status;
  }
  g->next = next;
  g->frontier = 0;
  status = besom__guard_note_write(g, false);
  if (status == BESOM_OK) {
    count(g, grow ? &g->stats.growths : &g->stats.rekeys, 1);
    g->rekey_wanted = false;
  } else {
    g->next.filter = NULL;
    besom_free(next.filter);
  }
  return besom__change_end(g, status, durable_work(g));
}

/* ------------------------------------------------------------------ what steps carry */

struct carried {
  uint64_t bucket;
  size_t at; /* in the bytes: the key, then the value */
  size_t key_len, value_len;
};

/*
 * Whole lists, copied: a store shows records, and cannot be changed meanwhile. Those of several steps, since finding
 * the first may take a store some time; a list that changes before its step has come spoils them all, which is rare.
 */
struct load {
  besom_guard *guard;
  uint64_t max;
  struct carried *items;
  size_t n, room;
  size_t done;  /* items that have been moved */
  size_t whole; /* items of lists that are complete */
  uint8_t *bytes;
  size_t used, size;
  uint64_t upto; /* the first bucket that is not here */
};

static bool enlarge(const besom_guard *g, void **array, size_t used, size_t *size, size_t more) {
  if (*size - used >= more) return true;
  size_t now = 2 * *size > used + more ? 2 * *size : used + more;
  void *larger = besom__allocate(&g->allocator, now);
  if (!larger) return false;
  if (used) memcpy(larger, *array, used);
  besom__release(&g->allocator, *array, *size);
  *array = larger;
  *size = now;
  return true;
}

static besom_status pick_up(struct load *load, uint64_t bucket, const besom_record *record) {
  struct carried item = {bucket, load->used, record->key.len, record->value.len};
  size_t len = item.key_len + item.value_len, room = load->room * sizeof item;
  if (!enlarge(load->guard, (void **)&load->bytes, load->used, &load->size, len + 1))
    return BESOM_NO_MEMORY;
  if (!enlarge(load->guard, (void **)&load->items, load->n * sizeof item, &room, sizeof item))
    return BESOM_NO_MEMORY;
  load->room = room / sizeof item;
  if (item.key_len) memcpy(load->bytes + item.at, record->key.data, item.key_len);
  if (item.value_len)
    memcpy(load->bytes + item.at + item.key_len, record->value.data, item.value_len);
  load->used += len;
  load->items[load->n++] = item;
  return BESOM_OK;
}

/* A list that would be too much is left, unless it is the first. */
static besom_status pick(void *ctx, besom_place at, const besom_record *record) {
  struct load *load = ctx;
  if (load->n && at.bucket != load->items[load->n - 1].bucket) load->whole = load->n;
  if ((load->n >= load->max || load->used >= AHEAD_BYTES) && load->whole) {
    load->n = load->whole;
    load->upto = at.bucket;
    return BESOM_END;
  }
  return pick_up(load, at.bucket, record);
}

void besom__guard_forget_ahead(besom_guard *g) {
  struct load *load = g->ahead;
  if (!load) return;
  besom__release(&g->allocator, load->items, load->room * sizeof *load->items);
  besom__release(&g->allocator, load->bytes, load->size);
  besom__release(&g->allocator, load, sizeof *load);
  g->ahead = NULL;
}

void besom__guard_list_changed(besom_guard *g, const struct side *side, uint64_t bucket) {
  if (g->ahead && side == &g->now && bucket < g->ahead->upto) besom__guard_forget_ahead(g);
}

static besom_status look_ahead(besom_guard *g, uint64_t max) {
  besom_place from = {.epoch = g->now.epoch, .bucket = g->frontier};
  g->ahead = besom__allocate(&g->allocator, sizeof *g->ahead);
  if (!g->ahead) return BESOM_NO_MEMORY;
  *g->ahead = (struct load){.guard = g,
                            .max = max < UINT64_MAX / STEPS_AHEAD ? max * STEPS_AHEAD : max,
                            .upto = ALL_MOVED};
  besom_status status = g->store->ops->scan(g->store, from, pick, g->ahead);
  if (status != BESOM_OK) besom__guard_forget_ahead(g);
  return status;
}

/* The next lists: as many as have max items, but one at least. */
struct slice {
  size_t from, to;
  uint64_t upto;
};

static struct slice next_slice(const struct load *load, uint64_t max) {
  struct slice s = {load->done, load->done, 0};
  for (size_t end = s.from; end < load->n && (s.to == s.from || end - s.from < max);) {
    uint64_t bucket = load->items[end].bucket;
    while (end < load->n && load->items[end].bucket == bucket) end++;
    if (s.to > s.from && end - s.from > max) break;
    s.to = end;
  }
  s.upto = s.to < load->n ? load->items[s.to].bucket : load->upto;
  return s;
}

/* ------------------------------------------------------------------ a step */

static besom_status put_down(besom_guard *g, const struct load *load, const struct carried *item) {
  const uint8_t *key = load->bytes + item->at;
  besom_record record = {{key, item->key_len}, {key + item->key_len, item->value_len}};
  besom_match at;
  besom_status status =
      besom_insert_at(g->next.filter, besom_hash(g->next.filter, key, item->key_len), 0, &at);
  if (status != BESOM_OK) return status;
  besom__log_add(g, g->next.filter, at, false);
  return g->store->ops->append(g->store, place_of(g->next.epoch, at), &record);
}

/* The filter first: it may have to look at keys that are still there. */
static besom_status take_away(besom_guard *g, uint64_t bucket) {
  besom_match at = {bucket, 0};
  besom__log_add(g, g->now.filter, at, true);
  besom_status status = besom_remove_at(g->now.filter, at);
  return status == BESOM_OK ? g->store->ops->remove(g->store, place_of(g->now.epoch, at)) : status;
}

static besom_status carry(besom_guard *g, const struct load *load, struct slice some) {
  besom_status status = BESOM_OK;
  for (size_t i = some.from; i < some.to && status == BESOM_OK; i++) {
    status = put_down(g, load, &load->items[i]);
    if (status == BESOM_OK) status = take_away(g, load->items[i].bucket);
  }
  if (status != BESOM_OK) return status;
  g->frontier = some.upto;
  return besom__guard_note_write(g, false);
}

static void count_step(besom_guard *g, uint64_t items) {
  count(g, &g->stats.steps, 1);
  count(g, &g->stats.step_items, items);
  if (items > g->stats.largest_step)
    count(g, &g->stats.largest_step, items - g->stats.largest_step);
}

/* If it fails, what was looked at ahead is forgotten with the transaction. */
static besom_status step(besom_guard *g, uint64_t max) {
  besom_status status = g->ahead ? BESOM_OK : look_ahead(g, max);
  if (status != BESOM_OK) return status;
  struct slice some = next_slice(g->ahead, max);
  status = besom__log_reserve(g, 2 * (some.to - some.from));
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  bool alone = g->tx == TX_SINGLE;
  status = carry(g, g->ahead, some);
  if (status != BESOM_OK && !alone) g->doomed = status; /* half a step is done */
  status = besom__change_end(g, status, durable_work(g));
  if (status != BESOM_OK) return status;
  count_step(g, some.to - some.from);
  g->ahead->done = some.to;
  if (some.to == g->ahead->n) besom__guard_forget_ahead(g);
  return BESOM_OK;
}

/* The next filter is the only one. */
static void let_go(besom_guard *g) {
  besom_free(g->now.filter);
  g->now = g->next;
  g->next.filter = NULL;
  g->frontier = 0;
  besom__guard_sized(g);
}

/* Should the batch be aborted, both filters are made anew from the store, which is rare enough. */
static besom_status finish_in_batch(besom_guard *g) {
  besom_status status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  status = besom__guard_note_write(g, true);
  if (status == BESOM_OK) {
    if (!g->replaced) {
      g->now_before = besom__guard_origin(&g->now);
      g->next_before = besom__guard_origin(&g->next);
    }
    g->replaced = true;
    let_go(g);
  }
  return besom__change_end(g, status, durable_work(g));
}

/* The note comes first; there is nothing to be taken back then. */
static besom_status finish(besom_guard *g) {
  if (g->tx == TX_BATCH) return finish_in_batch(g);
  besom_status status = besom__guard_flush(g, false);
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status == BESOM_OK)
    status = besom__change_end(g, besom__guard_note_write(g, true), durable_work(g));
  if (status == BESOM_OK) status = besom__guard_flush(g, false);
  if (status != BESOM_OK) return status;
  lock_write(g);
  let_go(g);
  unlock(g);
  return BESOM_OK;
}

besom_status besom__guard_move(besom_guard *g, uint64_t max) {
  besom_status status = g->frontier == ALL_MOVED ? BESOM_OK : step(g, max);
  return status == BESOM_OK && g->frontier == ALL_MOVED ? finish(g) : status;
}

/* ------------------------------------------------------------------ when */

/* A filter that is nearly full had better grow at once when it gets a new hash key. */
static bool should_grow(const besom_guard *g) {
  const besom_filter *f = g->now.filter;
  return f->items > g->grow_items || (g->grow_at < 1 && f->items >= f->capacity / 4 * 3);
}

void besom__guard_work(besom_guard *g) {
  if (!can_move(g) || g->unsettled || g->tx == TX_DEAD) return;
  besom_status status = BESOM_OK;
  if (!g->next.filter) {
    if (LIKELY(g->now.filter->items <= g->grow_items && !g->rekey_wanted)) return;
    status = start(g, should_grow(g));
  }
  if (status == BESOM_OK) status = besom__guard_move(g, g->step_items);
  if (status != BESOM_OK) count(g, &g->stats.failed_steps, 1);
}

besom_status besom__guard_make_room(besom_guard *g) {
  if (!can_move(g)) return BESOM_FULL;
  if (!g->next.filter) {
    besom_status status = g->grow_at < 1 ? start(g, true) : BESOM_FULL;
    if (status != BESOM_OK) return status;
  }
  return besom__guard_move(g, g->step_items);
}

besom_status besom_guard_rekey(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!can_move(g)) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_settle(g); /* which may bring a move back */
  if (status != BESOM_OK) return status;
  return g->next.filter ? BESOM_BUSY : start(g, should_grow(g));
}

besom_status besom_guard_step(besom_guard *g, uint64_t max_items, bool *finished) {
  if (!g || !max_items) return BESOM_INVALID;
  besom_status status = besom__guard_settle(g);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  if (status == BESOM_OK && !g->next.filter && g->rekey_wanted && can_move(g))
    status = start(g, should_grow(g));
  if (status == BESOM_OK && g->next.filter) status = besom__guard_move(g, max_items);
  if (finished) *finished = !g->next.filter;
  return status;
}
