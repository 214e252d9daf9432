/* What the calls of every store do: check their arguments, and count themselves. */
#ifndef BESOM_STORE_STORE_CALLS_H
#define BESOM_STORE_STORE_CALLS_H

#include <pthread.h>
#include <stdatomic.h>

#include "besom_store.h"

enum { MAX_TABLE_KEY = 1 << 16 };

static inline bool is_bytes(besom_bytes bytes) {
  return (bytes.data || !bytes.len) && bytes.len <= UINT32_MAX;
}

static inline bool is_record(const besom_record *record) {
  return record && is_bytes(record->key) && is_bytes(record->value);
}

static inline bool is_table(besom_table table) {
  return table == BESOM_TABLE_MANIFEST || table == BESOM_TABLE_KEYS;
}

static inline bool is_table_key(besom_bytes key) {
  return is_bytes(key) && key.len <= MAX_TABLE_KEY;
}

/* A visitor ends a walk with END; the walk then returns OK. */
static inline besom_status end_as_ok(besom_status status) {
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ counters */

/* They are atomic, because several threads may read at once. */
typedef _Atomic uint64_t call_counter;

/* Counts reads. The thread that opened the store has a counter of its own, which it increments
   without a locked instruction: that would keep the processor from starting a read early. */
struct read_counter {
  call_counter own, others;
};

struct call_counters {
  pthread_t owner;
  struct read_counter reads, table_reads;
  call_counter appends, updates, removes, scans;
  call_counter table_puts, table_removes;
  call_counter commits, syncs;
};

/* The caller's thread becomes the owner. */
static inline void init_counters(struct call_counters *c) {
  c->owner = pthread_self();
}

static inline void count_call(call_counter *count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static inline void count_read(const struct call_counters *c, struct read_counter *count) {
  if (!pthread_equal(c->owner, pthread_self())) {
    count_call(&count->others);
    return;
  }
  uint64_t n = atomic_load_explicit(&count->own, memory_order_relaxed);
  atomic_store_explicit(&count->own, n + 1, memory_order_relaxed);
}

/* Calls for the table MANIFEST (a guard's manifest) are not counted. */
static inline void count_table_call(call_counter *count, besom_table table) {
  if (table != BESOM_TABLE_MANIFEST) count_call(count);
}

static inline uint64_t calls(const call_counter *count) {
  return atomic_load_explicit(count, memory_order_relaxed);
}

static inline uint64_t reads(const struct read_counter *count) {
  return calls(&count->own) + calls(&count->others);
}

static inline void read_counters(const struct call_counters *c, besom_store_statistics *out) {
  *out = (besom_store_statistics){
      .appends = calls(&c->appends),
      .reads = reads(&c->reads),
      .updates = calls(&c->updates),
      .removes = calls(&c->removes),
      .scans = calls(&c->scans),
      .table_puts = calls(&c->table_puts),
      .table_reads = reads(&c->table_reads),
      .table_removes = calls(&c->table_removes),
      .commits = calls(&c->commits),
      .syncs = calls(&c->syncs),
  };
}

#endif
