/* The record in which a guard keeps kind, geometry, hash and migration state. */
#ifndef BESOM_GUARD_MANIFEST_H
#define BESOM_GUARD_MANIFEST_H

#include "guard/guard.h"

/* read: sets ids, filter_config and both epochs, with empty filters that are not bound. NOT_FOUND:
   the store has no manifest. write: as part of the open transaction. migrated: all records are in
   the next epoch, which is the only one from now on. */
besom_status besom__manifest_read(besom_guard *g);
besom_status besom__manifest_write(besom_guard *g, bool migrated);

/* The checksum of the store's manifest now; 0: it has none. */
besom_status besom__manifest_checksum(besom_guard *g, uint64_t *checksum);

#endif
