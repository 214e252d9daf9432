/*
 * Migration: growing and rekeying while serving. A guard moves its records from the current epoch
 * to the next one, whose filter has a new seed, in steps.
 *
 * The store keeps the bucket lists of each epoch apart. A step removes some lists from the current
 * epoch, in the order of their buckets, and appends their records to lists of the next one. The
 * frontier is the bucket below which all lists have migrated; it is written in the same
 * transaction. So a key's bucket in the current filter tells which of the two filters has the key,
 * and a query asks only one.
 *
 * A step is part of the transaction of the change that it follows. A step that fails is undone
 * alone: the change stays.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <time.h>

#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/digest_list.h"
#include "guard/get/front.h"
#include "guard/get/reverse_map.h"
#include "guard/migration/migration.h"
#include "guard/migration/read_ahead.h"
#include "guard/open/manifest.h"
#include "guard/open/open.h"
#include "guard/put/no_list.h"
#include "guard/transaction/transaction.h"
#include "guard/transaction/undo_log.h"

/* Records that are moved while readers wait, about 0.2 ms. With fewer, a reader sleeps more often,
   and on a busy machine it takes milliseconds to wake up. */
enum { LOCKED_ITEMS = 64 };

uint64_t besom__monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------ start */

static besom_status next_filter(besom_guard *g, bool grow, besom_filter **out) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->current.filter, &slots, &width);
  const char *hash = besom__hash_name(g->current.filter->hasher.id);
  besom_status status =
      besom__guard_filter_new(g, hash, NULL, grow ? 2 * slots : slots, width, out);
  if (status != BESOM_OK) return status;
  status = besom__guard_bind(g, *out);
  if (status != BESOM_OK) besom_free(*out);
  return status;
}

/* The same width with twice the slots gives the same false-positive rate. */
besom_status besom__migration_start(besom_guard *g, bool grow) {
  struct epoch next = {NULL, g->current.number + 1};
  besom_status status = next_filter(g, grow, &next.filter);
  if (status != BESOM_OK) return status;
  status = besom__change_begin(g);
  if (status != BESOM_OK) {
    besom_free(next.filter);
    return status;
  }
  g->next = next;
  g->frontier = 0;
  if (g->max_filter_bytes) { /* the limit is for all of them */
    besom__front_drop(g);
    besom__denials_free(g);
  }
  besom__front_migration_begins(g);
  status = besom__manifest_write(g, false);
  if (status == BESOM_OK) {
    count(g, grow ? &g->stats.growths : &g->stats.rekeys, 1);
    g->rekey_wanted = false;
  } else {
    g->next.filter = NULL;
    besom_free(next.filter);
  }
  return besom__change_end(g, status, OF_GUARD);
}

/* ------------------------------------------------------------------ a step */

/* The member must not match the keys of the no list that have migrated to its bucket. */
static besom_status migration_separate(besom_guard *g, besom_digest digest, besom_match at) {
  struct digest_list no;
  besom_status status = besom__no_list_read(g, &g->next, digest, &no, &g->stats.filter_reads);
  if (status != BESOM_OK) return status;
  status = besom__no_list_separate(g, g->next.filter, &no, digest, at);
  besom__digest_list_free(&no);
  return status;
}

static besom_status append_to_next(besom_guard *g, const besom_record *record) {
  besom_digest digest = key_digest(g->next.filter, &record->key);
  besom_match at;
  besom_status status = besom_insert_at(g->next.filter, digest, 0, &at);
  if (status != BESOM_OK) return status;
  besom__undo_add(g, g->next.filter, at, false);
  status = migration_separate(g, digest, at);
  return status == BESOM_OK
             ? g->store->ops->append(g->store, position_of(g->next.number, at), record)
             : status;
}

/* Changes the filter first: it may have to read keys that are still stored. */
static besom_status remove_from_current(besom_guard *g, uint64_t bucket) {
  besom_match at = {bucket, 0};
  besom__undo_add(g, g->current.filter, at, true);
  besom_status status = besom_remove_at(g->current.filter, &at);
  return status == BESOM_OK ? g->store->ops->remove(g->store, position_of(g->current.number, at))
                            : status;
}

static besom_status migrate_item(besom_guard *g, const struct copied_record *item,
                                 const uint8_t *bytes) {
  const uint8_t *value = bytes + item->key_len;
  besom_record record = {{bytes, item->key_len}, {value, item->value_len}};
  besom_status status = item->no ? besom__no_list_migrate(g, &record) : append_to_next(g, &record);
  if (status != BESOM_OK) return status;
  return item->no ? besom__no_list_leave(g, item->bucket) : remove_from_current(g, item->bucket);
}

static besom_status migrate_list(besom_guard *g, struct slice list) {
  struct read_ahead *ahead = g->ahead;
  besom_status status = besom__undo_make_room(g, 2 * (list.to - list.from));
  for (size_t i = list.from; i < list.to && status == BESOM_OK; i++)
    status = migrate_item(g, &ahead->items[i], ahead->bytes + ahead->items[i].at);
  if (status != BESOM_OK) return status;
  g->frontier = list.upto;
  ahead->done = list.to;
  if (list.to == ahead->n) besom__read_ahead_drop(g);
  return BESOM_OK;
}

struct step {
  uint64_t max, moved;
  uint64_t ns, begun;
  uint64_t locked; /* records moved since readers had a chance */
};

static bool is_over(const struct step *s) {
  return s->moved >= s->max ||
         (s->ns != NO_TIME_LIMIT && besom__monotonic_ns() - s->begun >= s->ns);
}

static void let_readers_in(besom_guard *g, struct step *s) {
  if (!g->locks || s->locked < LOCKED_ITEMS) return;
  unlock(g);
  lock_write(g);
  s->locked = 0;
}

/* Half of the time is for reading. */
static besom_status read_ahead(besom_guard *g, const struct step *s) {
  if (g->ahead) return BESOM_OK;
  return besom__read_ahead_fill(g, s->ns == NO_TIME_LIMIT ? NO_TIME_LIMIT : s->ns / 2);
}

/* Readers need not wait for a scan. */
static besom_status read_ahead_unlocked(besom_guard *g, const struct step *s) {
  unlock(g);
  besom_status status = read_ahead(g, s);
  lock_write(g);
  return status;
}

/* List by list. The write lock is held, but not all the time. */
static besom_status migrate_lists(besom_guard *g, struct step *s) {
  do {
    besom_status status = g->ahead ? BESOM_OK : read_ahead_unlocked(g, s);
    if (status != BESOM_OK) return status;
    struct slice list = besom__read_ahead_next(g->ahead);
    uint64_t n = list.to - list.from;
    if (s->moved && n > s->max - s->moved) return BESOM_OK;
    status = migrate_list(g, list);
    if (status != BESOM_OK) return status;
    s->moved += n;
    s->locked += n;
    let_readers_in(g, s);
  } while (!all_migrated(g) && !is_over(s));
  return BESOM_OK;
}

static void count_step(besom_guard *g, uint64_t items) {
  count(g, &g->stats.steps, 1);
  count(g, &g->stats.step_items, items);
  if (items > g->stats.largest_step)
    count(g, &g->stats.largest_step, items - g->stats.largest_step);
}

besom_status besom__migration_step(besom_guard *g, uint64_t max, uint64_t ns, uint64_t *moved) {
  if (all_migrated(g)) return BESOM_OK;
  struct step s = {.max = max, .ns = ns, .begun = besom__monotonic_ns()};
  besom_status status = read_ahead(g, &s);
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  status = migrate_lists(g, &s);
  if (status == BESOM_OK) status = besom__manifest_write(g, false);
  if (status == BESOM_OK) {
    count(g, &g->tx_changes, s.moved);
    g->tx_moved += s.moved;
    g->step_joined = g->nested && g->savepoints;
  } else if (g->nested) {
    g->tx_error = status; /* without savepoints half a step cannot be undone alone */
  }
  status = besom__change_end(g, status, OF_GUARD);
  if (status != BESOM_OK) return status;
  count_step(g, s.moved);
  *moved += s.moved;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ the end */

/* The next epoch becomes the current one. Returns the old filter. */
static besom_filter *switch_to_next(besom_guard *g) {
  besom_filter *old = g->current.filter;
  g->current = g->next;
  g->next.filter = NULL;
  g->frontier = 0;
  g->rekey_wanted = false; /* it was about the old filter */
  besom__front_drop(g);
  besom__guard_check_reserve(g, g->current.filter);
  besom__guard_set_grow_threshold(g);
  return old;
}

/* If the batch is aborted, both filters are rebuilt from the store. That is rare. */
static besom_status finish_in_batch(besom_guard *g) {
  besom_status status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  status = besom__manifest_write(g, true);
  if (status == BESOM_OK) {
    if (!g->filter_replaced) {
      g->old_current = besom__guard_filter_params(&g->current);
      g->old_next = besom__guard_filter_params(&g->next);
    }
    g->filter_replaced = true;
    besom_free(switch_to_next(g));
  }
  return besom__change_end(g, status, OF_GUARD);
}

/* Commits the manifest before the old filter is freed, so that there is nothing to roll back. */
besom_status besom__migration_finish(besom_guard *g) {
  if (g->tx == TX_BATCH) return finish_in_batch(g);
  besom_status status = besom__guard_flush(g);
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status == BESOM_OK) status = besom__change_end(g, besom__manifest_write(g, true), AT_ONCE);
  if (status != BESOM_OK) return status;
  lock_write(g);
  besom_filter *old = switch_to_next(g);
  set_first_epoch(g);
  unlock(g);
  besom_free(old); /* without the lock: it can be large */
  return BESOM_OK;
}

void besom__migration_finish_if_done(besom_guard *g) {
  if (LIKELY(!all_migrated(g)) || g->tx != TX_NONE || g->filter_stale) return;
  if (besom__migration_finish(g) != BESOM_OK) count(g, &g->stats.failed_steps, 1);
}
