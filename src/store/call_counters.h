/* Counters of the calls of a store. They are atomic, because several threads may read at once. */
#ifndef BESOM_STORE_CALL_COUNTERS_H
#define BESOM_STORE_CALL_COUNTERS_H

#include <stdatomic.h>

#include "besom_store.h"

typedef _Atomic uint64_t call_counter;

struct call_counters {
  call_counter appends, reads, updates, removes, scans;
  call_counter table_puts, table_reads, table_removes;
  call_counter commits, syncs;
};

static inline void count_call(call_counter *count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Calls for the table MANIFEST (a guard's manifest) are not counted. */
static inline void count_table_call(call_counter *count, besom_table table) {
  if (table != BESOM_TABLE_MANIFEST) count_call(count);
}

static inline uint64_t calls(const call_counter *count) {
  return atomic_load_explicit(count, memory_order_relaxed);
}

static inline void read_counters(const struct call_counters *c, besom_store_statistics *out) {
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
