/* Opening and closing a guard. */
#define _GNU_SOURCE /* getentropy */
#include <unistd.h>

#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/get/reverse_map.h"
#include "guard/get/value_copy.h"
#include "guard/migration/migration.h"
#include "guard/migration/read_ahead.h"
#include "guard/open/checkpoint.h"
#include "guard/open/manifest.h"
#include "guard/open/open.h"
#include "guard/put/no_list.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/transaction.h"

besom_status besom__guard_random(uint8_t *out, size_t n) {
  return getentropy(out, n) == 0 ? BESOM_OK : BESOM_IO;
}

/* ------------------------------------------------------------------ checking the arguments */

static bool is_store(const besom_store *store) {
  const besom_store_ops *ops = store ? store->ops : NULL;
  return ops && HAS_OP(ops, close) && ops->append && ops->get && ops->replace && ops->remove &&
         ops->scan && ops->close;
}

static bool has_transactions(const besom_store *store) {
  const besom_store_ops *o = store->ops;
  return HAS_OP(o, table_scan) && o->begin && o->commit && o->abort && o->sync &&
         o->commit_number && o->table_put && o->table_get && o->table_remove && o->table_scan;
}

static bool is_config(const besom_guard_config *c) {
  const besom_allocator *a = c->filter->allocator;
  if (a && (!a->allocate || !a->release)) return false;
  if ((unsigned)c->adapt > BESOM_ADAPT_NEVER || (unsigned)c->layout > BESOM_LAYOUT_SPLIT)
    return false;
  if ((unsigned)c->durability > BESOM_DURABLE_SYNC || !c->filter->kind) return false;
  /* a guard looks into its filter, and every record has a fingerprint of its own */
  if (c->filter->flags & (BESOM_CONCURRENT | BESOM_SET)) return false;
  if (c->filter->options && strlen(c->filter->options) >= OPTIONS_BYTES) return false;
  if (!(c->background >= 0 && c->background <= 1) || (c->background > 0 && !c->threads))
    return false;
  return c->grow_at >= 0 && c->grow_at <= 2 && c->rekey_at >= 0 && c->rekey_at <= 2;
}

static bool filter_can(const besom_filter *f, besom_adapt_policy adapt) {
  return kind_abilities(f->kind) & BESOM_CAN_MATCH &&
         (adapt == BESOM_ADAPT_NEVER || f->kind->store->adapt_at);
}

/* ------------------------------------------------------------------ filters */

void besom__guard_geometry(const besom_filter *f, uint64_t *slots, uint32_t *width) {
  besom_statistics stats = {0};
  if (KIND_HAS(f->kind, store, bucket_of)) besom_stats(f, &stats);
  *slots = stats.slots;
  *width = stats.width;
}

besom_status besom__guard_filter_new(besom_guard *g, const char *hash, const uint8_t *seed,
                                     uint64_t slots, uint32_t width, besom_filter **out) {
  besom_config config = g->filter_config;
  config.hash = hash;
  config.seed = seed;
  config.allocator = &g->allocator;
  if (slots) {
    config.capacity = config.max_capacity = 0;
    config.fpr = config.bits_per_key = 0;
    config.slots = slots;
    config.width = width;
  }
  return besom_create(&config, out);
}

static void guard_copy_filter_config(besom_guard *g, const besom_config *config) {
  g->filter_config = *config;
  g->filter_config.seed = NULL;
  g->filter_config.allocator = NULL;
  g->filter_config.hash = NULL;
  if (config->options) memcpy(g->options, config->options, strlen(config->options));
  g->filter_config.options = config->options ? g->options : NULL;
}

static besom_status make_filters(besom_guard *g, const besom_config *config, bool *has_manifest) {
  besom_status status = g->transactional ? besom__manifest_read(g) : BESOM_NOT_FOUND;
  *has_manifest = status == BESOM_OK;
  if (status != BESOM_NOT_FOUND) return status;
  /* A checkpoint is saved after the manifest is durable: the store has lost its records. */
  if (g->transactional && besom__checkpoint_exists(g))
    return refuse_open(g, BESOM_CORRUPT,
                       "the store is empty beside the checkpoint of a guard that "
                       "has written to it: its records are lost. Restore a backup");
  status = besom__guard_random(g->ids.store, ID_BYTES);
  if (status != BESOM_OK) return status;
  return besom__guard_filter_new(g, config->hash, config->seed, 0, 0, &g->current.filter);
}

static besom_status bind_filters(besom_guard *g) {
  if (!filter_can(g->current.filter, g->adapt))
    return refuse_open(g, BESOM_UNSUPPORTED, "this kind of filter does not work with a store");
  besom_status status = besom__guard_bind(g, g->current.filter);
  return status == BESOM_OK && g->next.filter ? besom__guard_bind(g, g->next.filter) : status;
}

besom_status besom__guard_create_filters(besom_guard *g, const besom_config *config,
                                         bool *has_manifest) {
  besom_status status = make_filters(g, config, has_manifest);
  if (status != BESOM_OK) return status;
  /* The caller's string may not live as long as the guard. */
  g->filter_config.kind = g->current.filter->kind->name;
  status = bind_filters(g);
  return status == BESOM_OK ? besom__no_list_open(g) : status;
}

besom_status besom__guard_fill(besom_guard *g, bool has_manifest, const besom_progress *progress) {
  if (has_manifest && besom__checkpoint_load(g)) return BESOM_OK;
  besom_status status = besom__guard_refill(g, &g->current, progress);
  if (status == BESOM_OK && g->next.filter) status = besom__guard_refill(g, &g->next, progress);
  if (status == BESOM_OK) status = besom__no_list_restore(g, &g->current);
  if (status == BESOM_OK && g->next.filter) status = besom__no_list_restore(g, &g->next);
  if (status == BESOM_INCOMPATIBLE)
    g->why =
        "records are not where this filter would have put them: another one wrote them, or the "
        "store is damaged";
  if (status == BESOM_FULL) g->why = "the store has more records than the filter has room for";
  g->stats.rebuilt = has_manifest || g->current.filter->items; /* not for a new store */
  return status;
}

/* ------------------------------------------------------------------ open and close */

static double or_default(double given, const besom_guard_config *config, double fallback,
                         double never) {
  if (given != 0) return given;
  return config->filter->slots ? never : fallback;
}

static void guard_copy_config(besom_guard *g, const besom_guard_config *config,
                              besom_store *store) {
  g->store = store;
  g->adapt = config->adapt;
  g->layout = config->layout;
  g->durability = config->durability;
  g->transactional = has_transactions(store);
  g->savepoints =
      g->transactional && HAS_OP(store->ops, undo_to_savepoint) && store->ops->set_savepoint;
  g->read_only = HAS_OP(store->ops, read_only) && store->ops->read_only(store);
  g->lock_may_end =
      HAS_OP(store->ops, check_lock) && store->ops->check_lock(store) != BESOM_UNSUPPORTED;
  g->step_items = config->step_items ? config->step_items : DEFAULT_STEP;
  g->step_ns = config->step_ns ? config->step_ns : DEFAULT_STEP_NS;
  g->max_filter_bytes = config->max_filter_bytes;
  g->grow_at = or_default(config->grow_at, config, 0.9, 1);
  g->rekey_at = or_default(config->rekey_at, config, 0.9, 2);
  uint32_t timeout = config->busy_timeout_ms ? config->busy_timeout_ms : DEFAULT_BUSY_TIMEOUT;
  g->busy_timeout = timeout * UINT64_C(1000000);
  g->hides_uncommitted = config->threads && !config->read_uncommitted && g->transactional;
  guard_copy_filter_config(g, config->filter);
}

static void guard_free(besom_guard *g) {
  besom_allocator allocator = g->allocator;
  besom__process_free(&g->process);
  besom__images_free(g, &g->images);
  besom__read_ahead_drop(g);
  besom__free_spare_value(g);
  besom__front_drop(g);
  besom__denials_free(g);
  besom_free(g->current.filter);
  besom_free(g->next.filter);
  besom__release(&allocator, g->undo.entries, g->undo.room * sizeof *g->undo.entries);
  besom__locks_free(g->locks, &allocator);
  besom__release(&allocator, g, sizeof *g);
}

static besom_status guard_prepare(besom_guard *g, const besom_guard_config *config) {
  bool has_manifest;
  if (g->read_only) return besom__reader_open(g, config->filter, config->progress);
  besom_status status = besom__guard_create_filters(g, config->filter, &has_manifest);
  if (status == BESOM_OK) status = besom__guard_fill(g, has_manifest, config->progress);
  if (status == BESOM_OK) besom__guard_set_grow_threshold(g);
  return status;
}

static besom_status open_guard(const besom_guard_config *config, besom_store *store,
                               besom_guard **out) {
  const char *unused = NULL, **reason = config->reason ? config->reason : &unused;
  *reason = "a member of the configuration is missing or out of range";
  if (!is_config(config)) return BESOM_INVALID;
  *reason = "the split layout needs a store with transactions";
  if (config->layout == BESOM_LAYOUT_SPLIT && !has_transactions(store)) return BESOM_UNSUPPORTED;
  *reason = besom_strerror(BESOM_NO_MEMORY);
  const besom_allocator *allocator =
      config->filter->allocator ? config->filter->allocator : &besom__default_allocator;
  besom_guard *g = besom__allocate(allocator, sizeof *g);
  if (!g) return BESOM_NO_MEMORY;
  g->allocator = *allocator;
  besom__process_init(&g->process);
  guard_copy_config(g, config, store);
  if (config->threads) g->locks = besom__locks_new(allocator);
  besom_status status = config->threads && !g->locks ? BESOM_NO_MEMORY : guard_prepare(g, config);
  if (status == BESOM_OK && config->background > 0 && !g->read_only)
    status = besom__background_start(g, allocator, config->background, &g->background);
  *reason = status == BESOM_OK ? NULL : g->why ? g->why : besom_strerror(status);
  set_first_epoch(g);
  if (status != BESOM_OK) {
    guard_free(g);
    return status;
  }
  besom__guard_observe(g); /* for statistics that find the view locked */
  *out = g;
  return BESOM_OK;
}

besom_status besom_guard_open_sized(const besom_guard_config *config, size_t config_size,
                                    size_t filter_size, besom_store *store, besom_guard **out) {
  if (!config || !out || !is_store(store)) return BESOM_INVALID;
  besom_guard_config c;
  besom_config filter;
  besom_copy_struct(&c, sizeof c, config, config_size);
  if (!c.filter) return BESOM_INVALID;
  besom_copy_struct(&filter, sizeof filter, c.filter, filter_size);
  c.filter = &filter;
  return open_guard(&c, store, out);
}

/* Everything that was put is durable then, and the filter is saved beside it. */
static besom_status sync_and_checkpoint(besom_guard *g) {
  if (!g->transactional || g->read_only) return BESOM_OK;
  if (in_batch(g)) besom__batch_abort(g);
  besom_status status = besom__guard_sync(g);
  if (status != BESOM_OK) return status;
  return besom__checkpoint_save(g) == BESOM_OK ? BESOM_OK : BESOM_NO_CHECKPOINT;
}

besom_status besom_guard_close(besom_guard *g) {
  if (!g) return BESOM_OK;
  /* What is left in memory may be half changed. */
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  if (__atomic_load_n(&g->iterators, __ATOMIC_ACQUIRE)) return BESOM_BUSY;
  besom_store *store = g->store;
  besom__background_stop(g->background);
  besom_status status = sync_and_checkpoint(g);
  guard_free(g);
  store->ops->close(store);
  return status;
}

const besom_filter *besom_guard_filter(const besom_guard *g) {
  return g && is_own_process(&g->process) ? g->current.filter : NULL;
}
