/* The calls of a store, counted. Reads run at the same time as each other, so the counters are atomic. */
#ifndef BESOM_STORE_COUNTS_H
#define BESOM_STORE_COUNTS_H

#include <stdatomic.h>

#include "besom_store.h"

typedef _Atomic uint64_t store_count;

struct store_counts {
  store_count appends, reads, updates, removes, scans;
  store_count table_puts, table_reads, table_removes;
  store_count commits, syncs;
};

static inline void count_call(store_count *count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Calls on the notes are not counted: they are the guard's own business. */
static inline void count_table_call(store_count *count, besom_table table) {
  if (table != BESOM_TABLE_NOTES) count_call(count);
}

static inline uint64_t calls(const store_count *count) {
  return atomic_load_explicit(count, memory_order_relaxed);
}

static inline void show_counts(const struct store_counts *c, besom_store_statistics *out) {
  *out = (besom_store_statistics){
      .appends = calls(&c->appends),
      .reads = calls(&c->reads),
      .updates = calls(&c->updates),
      .removes = calls(&c->removes),
      .scans = calls(&c->scans),
      .table_puts = calls(&c->table_puts),
      .table_reads = calls(&c->table_reads),
      .table_removes = calls(&c->table_removes),
      .commits = calls(&c->commits),
      .syncs = calls(&c->syncs),
  };
}

#endif
