/* From a store to a guard, and back. */
#define _GNU_SOURCE /* getentropy */
#include <unistd.h>

#include "guard/guard.h"

besom_status besom__guard_random(uint8_t *out, size_t n) {
  return getentropy(out, n) == 0 ? BESOM_OK : BESOM_IO;
}

/* ------------------------------------------------------------------ what is asked for */

static bool is_store(const besom_store *store) {
  const besom_store_ops *ops = store ? store->ops : NULL;
  return ops && ops->append && ops->get && ops->replace && ops->remove && ops->scan && ops->close;
}

static bool has_transactions(const besom_store *store) {
  const besom_store_ops *o = store->ops;
  return o->begin && o->commit && o->abort && o->sync && o->commit_number && o->table_put &&
         o->table_get && o->table_remove && o->table_scan;
}

static bool is_config(const besom_guard_config *c) {
  const besom_allocator *a = c->filter.allocator;
  if (a && (!a->allocate || !a->release)) return false;
  if ((unsigned)c->adapt > BESOM_ADAPT_NEVER || (unsigned)c->layout > BESOM_LAYOUT_SPLIT)
    return false;
  if ((unsigned)c->durability > BESOM_DURABLE_SYNC || !c->filter.kind) return false;
  if (c->filter.options && strlen(c->filter.options) >= OPTIONS_BYTES) return false;
  return c->grow_at >= 0 && c->grow_at <= 2 && c->rekey_at >= 0 && c->rekey_at <= 2;
}

static bool filter_can(const besom_filter *f, besom_adapt_policy adapt) {
  unsigned needed = BESOM_CAN_MATCH | (adapt == BESOM_ADAPT_NEVER ? 0 : BESOM_CAN_ADAPT);
  return (f->kind->info.abilities & needed) == needed;
}

/* ------------------------------------------------------------------ its filters */

void besom__guard_geometry(const besom_filter *f, uint64_t *slots, uint32_t *width) {
  besom_statistics stats = {0};
  if (f->kind->bucket_of) besom_stats(f, &stats);
  *slots = stats.slots;
  *width = stats.width;
}

besom_status besom__guard_filter_new(besom_guard *g, const char *hash, const uint8_t *seed,
                                     uint64_t slots, uint32_t width, besom_filter **out) {
  besom_config config = g->shape;
  config.hash = hash;
  config.seed = seed;
  config.allocator = &g->allocator;
  if (slots) {
    config.capacity = config.max_capacity = 0;
    config.fpr = config.bits = 0;
    config.slots = slots;
    config.width = width;
  }
  return besom_create(&config, out);
}

static void take_shape(besom_guard *g, const besom_config *config) {
  g->shape = *config;
  g->shape.seed = NULL;
  g->shape.allocator = NULL;
  g->shape.hash = NULL;
  if (config->options) memcpy(g->options, config->options, strlen(config->options));
  g->shape.options = config->options ? g->options : NULL;
}

/* Empty filters, as the store's notes say or, if there are none, as the caller does. */
static besom_status make_filters(besom_guard *g, const besom_config *config, bool *noted) {
  besom_status status = g->transactional ? besom__guard_note_read(g) : BESOM_NOT_FOUND;
  *noted = status == BESOM_OK;
  if (status != BESOM_NOT_FOUND) return status;
  status = besom__guard_random(g->store_id, ID_BYTES);
  if (status != BESOM_OK) return status;
  return besom__guard_filter_new(g, config->hash, config->seed, 0, 0, &g->now.filter);
}

static besom_status bind_filters(besom_guard *g) {
  if (!filter_can(g->now.filter, g->adapt)) return BESOM_UNSUPPORTED;
  besom_status status = besom__guard_bind(g, g->now.filter);
  return status == BESOM_OK && g->next.filter ? besom__guard_bind(g, g->next.filter) : status;
}

static besom_status fill_filters(besom_guard *g, bool noted, const besom_progress *progress) {
  if (noted && besom__checkpoint_load(g)) return BESOM_OK;
  besom_status status = besom__guard_refill(g, &g->now, progress);
  if (status == BESOM_OK && g->next.filter) status = besom__guard_refill(g, &g->next, progress);
  g->stats.rebuilt = 1;
  return status;
}

/* ------------------------------------------------------------------ life */

static double or_default(double given, const besom_guard_config *config, double fallback,
                         double never) {
  if (given != 0) return given;
  return config->filter.slots ? never : fallback;
}

static void take_config(besom_guard *g, const besom_guard_config *config, besom_store *store) {
  g->store = store;
  g->adapt = config->adapt;
  g->layout = config->layout;
  g->durability = config->durability;
  g->transactional = has_transactions(store);
  g->step_items = config->step_items ? config->step_items : DEFAULT_STEP;
  g->grow_at = or_default(config->grow_at, config, 0.9, 1);
  g->rekey_at = or_default(config->rekey_at, config, 0.9, 2);
  take_shape(g, &config->filter);
}

static void guard_free(besom_guard *g) {
  besom_allocator allocator = g->allocator;
  besom__guard_forget_ahead(g);
  besom_free(g->now.filter);
  besom_free(g->next.filter);
  besom__release(&allocator, g->log, g->log_room * sizeof *g->log);
  besom__locks_free(g->locks, &allocator);
  besom__release(&allocator, g, sizeof *g);
}

static besom_status prepare(besom_guard *g, const besom_guard_config *config) {
  bool noted;
  besom_status status = make_filters(g, &config->filter, &noted);
  if (status != BESOM_OK) return status;
  g->shape.kind = g->now.filter->kind->info.name; /* the caller's may not live as long */
  status = bind_filters(g);
  if (status == BESOM_OK) status = fill_filters(g, noted, config->progress);
  if (status == BESOM_OK) besom__guard_sized(g);
  return status;
}

besom_status besom_guard_open(const besom_guard_config *config, besom_store *store,
                              besom_guard **out) {
  if (!config || !out || !is_store(store) || !is_config(config)) return BESOM_INVALID;
  if (config->layout == BESOM_LAYOUT_SPLIT && !has_transactions(store)) return BESOM_UNSUPPORTED;
  const besom_allocator *allocator =
      config->filter.allocator ? config->filter.allocator : &besom__default_allocator;
  besom_guard *g = besom__allocate(allocator, sizeof *g);
  if (!g) return BESOM_NO_MEMORY;
  g->allocator = *allocator;
  take_config(g, config, store);
  if (config->threads) g->locks = besom__locks_new(allocator);
  besom_status status = config->threads && !g->locks ? BESOM_NO_MEMORY : prepare(g, config);
  if (status == BESOM_OK)
    *out = g;
  else
    guard_free(g);
  return status;
}

/* Whether all that was put is where it will stay. */
static bool settle_down(besom_guard *g) {
  if (!g->transactional) return false;
  if (in_batch(g)) besom_guard_abort(g);
  return besom_guard_sync(g) == BESOM_OK;
}

void besom_guard_close(besom_guard *g) {
  if (!g) return;
  besom_store *store = g->store;
  if (settle_down(g)) besom__checkpoint_save(g);
  guard_free(g);
  store->ops->close(store);
}

const besom_filter *besom_guard_filter(const besom_guard *g) {
  return g ? g->now.filter : NULL;
}
