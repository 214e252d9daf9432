/*
 * cf with layout=windows: a windowed cuckoo filter (Zentgraf, Schmitz, Rahmann, "Smaller and More
 * Flexible Cuckoo Filters", 2025). Instead of a bucket of four slots, a key has a window of two, at
 * any slot: windows overlap. So a table gets as full, and a query looks at half as many slots.
 *
 * An entry is a fingerprint and, in its lowest bit, which slot of its window it is in: 0 or 1. With
 * that bit the window follows from the slot, and from window and fingerprint the other window. A
 * query compares the bit, too, so that it is no bit lost.
 *
 * Half of the windows are in the first half of the table, and a key has one of each half. The
 * halves have no slot in common, so the windows of a key have four slots.
 */
#ifndef BESOM_CUCKOO_WINDOWS_H
#define BESOM_CUCKOO_WINDOWS_H

#include "cuckoo/partial_key.h"

enum {
  WINDOW_SLOTS = 2,
  WINDOW_COPIES = 2 * WINDOW_SLOTS,
  MIN_WINDOW_FINGERPRINT = 6,
};

/* The form of cf. The filter has the size of a partial_key. */
extern const struct besom_kind besom__cf_windows;

/* In place of the same operations of cf. They change the filter's kind. */
besom_status besom__windows_create(besom_filter *f, const besom_config *config);
besom_status besom__windows_create_like(besom_filter *f, const besom_filter *model);
besom_status besom__windows_load(besom_filter *f, struct sections_in *in);

#endif
