/* Opening: filters by manifest, checkpoint or scan; read-only guards. */
#ifndef BESOM_GUARD_OPEN_H
#define BESOM_GUARD_OPEN_H

#include "guard/guard.h"

/* A filter for this guard, empty and not bound. slots and width 0: from filter_config. seed NULL:
   a random one. */
besom_status besom__guard_filter_new(besom_guard *g, const char *hash, const uint8_t *seed,
                                     uint64_t slots, uint32_t width, besom_filter **out);

/* Creates the filters of a guard that has none: by the store's manifest or, if there is none, by
   the config. fill fills them from the checkpoint or by a scan. progress may be NULL. */
besom_status besom__guard_create_filters(besom_guard *g, const besom_config *config,
                                         bool *has_manifest);
besom_status besom__guard_fill(besom_guard *g, bool has_manifest, const besom_progress *progress);

/* Notes why open fails. Returns the status. */
static inline besom_status refuse_open(besom_guard *g, besom_status status, const char *sentence) {
  g->why = sentence;
  return status;
}

/* n random bytes from the system. Errors: IO. */
besom_status besom__guard_random(uint8_t *out, size_t n);

/* The filter's geometry; 0 for kinds whose geometry follows from filter_config. */
void besom__guard_geometry(const besom_filter *f, uint64_t *slots, uint32_t *width);

/* Fills the filter of an epoch, which is empty and bound, by one scan of the epoch's lists.
   progress may be NULL. After a failure free the filter. Errors: INCOMPATIBLE, FULL, CANCELLED. */
besom_status besom__guard_refill(besom_guard *g, const struct epoch *epoch,
                                 const besom_progress *progress);

/* Rebuilds the filters from the store: rebuild those of now, restore those of before the
   transaction. After a failure the guard has the filters that it had. */
besom_status besom__guard_rebuild(besom_guard *g);
besom_status besom__guard_restore(besom_guard *g);
struct filter_params besom__guard_filter_params(const struct epoch *epoch);

/* get of a read-only guard. */
besom_status besom__reader_get(besom_guard *g, const besom_bytes *key, besom_bytes *value);

/* Opening a read-only guard: creates and fills the filters. Errors: as besom__guard_fill. */
besom_status besom__reader_open(besom_guard *g, const besom_config *config,
                                const besom_progress *progress);

#endif
