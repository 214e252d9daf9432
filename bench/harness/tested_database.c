#include "harness/tested_database.h"

#include "fail.h"
#include "harness/adaptive_peers.h"

enum { CHUNK = 4096, FILL_BATCH = 1 << 21 };

/* ------------------------------------------------------------------ opening */

const char *database_is_missing(database_kind database) {
#ifndef BENCH_LMDB
  if (database == LMDB) return "this besom-bench was built without LMDB";
#endif
#ifndef BENCH_ROCKSDB
  if (database == ROCKSDB) return "this besom-bench was built without RocksDB";
#endif
  (void)database;
  return NULL;
}

static besom_status open_database(tested_database *f, const char **reason) {
  *reason = database_is_missing(f->config.database);
  switch (f->config.database) {
#ifdef BENCH_LMDB
  case LMDB:
    return besom_store_lmdb(f->directory, NULL, reason, &f->store);
#endif
#ifdef BENCH_ROCKSDB
  case ROCKSDB:
    return besom_store_rocksdb(f->directory, &f->config.rocksdb, reason, &f->store);
#endif
  case MEMORY:
    return besom_store_memory(NULL, &f->store);
  default:
    return BESOM_UNSUPPORTED;
  }
}

static void open_store(tested_database *f) {
  const char *reason = NULL;
  besom_status status = open_database(f, &reason);
  if (status == BESOM_OK) return;
  disk_directory_remove(f->directory);
  check(status, "opening a store (%s)", reason ? reason : "unknown reason");
}

static void open_guard(tested_database *f, const besom_config *config) {
  besom_guard_config wanted = {.filter = config,
                               .layout = f->config.layout,
                               .durability = f->config.durability,
                               .threads = f->config.live || f->config.threads,
                               .grow_at = f->config.live ? 0.9 : 1,
                               .rekey_at = f->config.live ? 0.9 : 2};
  check(besom_guard_open(&wanted, f->store, &f->guard), "opening a guard with %s", config->kind);
}

/* Opens the database, and creates the filter if there is none yet. */
static void open_all(tested_database *f) {
  open_store(f);
  if (!f->config.kind || f->filter) return;
  uint8_t seed[16];
  hash_seed(f->config.seed ? f->config.seed : BENCH_SEED, seed);
  besom_config config = peer_config(f->config.kind, f->config.slots,
                                    (uint32_t)(PEER_REMAINDER_BITS + f->config.more_bits), seed);
  if (f->config.options) config.options = f->config.options;
  if (kind_adapts_with_store(f->config.kind))
    open_guard(f, &config);
  else
    check(besom_create(&config, &f->filter), "creating %s", f->config.kind);
  f->queried_filter = f->guard ? besom_guard_filter(f->guard) : f->filter;
}

static void close_all(tested_database *f) {
  if (f->guard)
    check(besom_guard_close(f->guard), "closing a guard");
  else
    besom_store_close(f->store);
}

void tested_database_open(tested_database *f, const database_config *config) {
  *f = (tested_database){.config = *config};
  disk_directory_create(f->directory);
  open_all(f);
}

void tested_database_reopen(tested_database *f) {
  close_all(f);
  open_all(f);
}

void tested_database_close(tested_database *f) {
  close_all(f);
  besom_free(f->filter);
  disk_directory_remove(f->directory);
}

uint64_t tested_database_capacity(const tested_database *f) {
  return peer_members(f->config.slots);
}

/* ------------------------------------------------------------------ puts */

void tested_database_begin(tested_database *f) {
  check(f->guard ? besom_guard_begin(f->guard) : f->store->ops->begin(f->store),
        "beginning a batch");
}

void tested_database_commit(tested_database *f) {
  check(f->guard ? besom_guard_commit(f->guard) : f->store->ops->commit(f->store, true),
        "committing a batch");
}

static void put_without_guard(tested_database *f, uint64_t key, besom_bytes value) {
  besom_u64_key k = besom_u64(key);
  if (f->filter) check(besom_insert_u64(f->filter, key), "inserting a key");
  besom_record record = {{k.bytes, sizeof k.bytes}, value};
  check(f->store->ops->table_put(f->store, BESOM_TABLE_KEYS, &record), "storing a key");
}

void tested_database_put(tested_database *f, uint64_t key) {
  uint64_t value[DATABASE_VALUE_BYTES / 8];
  database_value(key, value);
  if (f->guard)
    check(besom_guard_put_u64(f->guard, key, value, sizeof value, BESOM_PUT_NEW), "putting a key");
  else
    put_without_guard(f, key, (besom_bytes){value, sizeof value});
}

void tested_database_fill(tested_database *f, uint64_t first, uint64_t n) {
  key_stream members = stream_members(BENCH_SEED);
  tested_database_fill_from(f, &members, first, n);
}

void tested_database_fill_from(tested_database *f, const key_stream *stream, uint64_t first,
                               uint64_t n) {
  uint64_t keys[CHUNK];
  tested_database_begin(f);
  for (uint64_t done = 0; done < n;) {
    size_t chunk = n - done < CHUNK ? (size_t)(n - done) : CHUNK;
    stream->generate(stream, first + done, chunk, keys);
    for (size_t i = 0; i < chunk; i++) tested_database_put(f, keys[i]);
    done += chunk;
    if (done % FILL_BATCH) continue;
    tested_database_commit(f);
    tested_database_begin(f);
  }
  tested_database_commit(f);
}

/* ------------------------------------------------------------------ gets */

static besom_status take_nothing(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

static besom_status get_without_guard(tested_database *f, uint64_t key) {
  if (!f->config.filter_first && !tested_database_filter_says_yes(f, key)) return BESOM_NOT_FOUND;
  besom_u64_key k = besom_u64(key);
  return f->store->ops->table_get(f->store, BESOM_TABLE_KEYS,
                                  (besom_bytes){k.bytes, sizeof k.bytes}, take_nothing, NULL);
}

bool tested_database_get(tested_database *f, uint64_t key) {
  if (f->config.filter_first && !tested_database_filter_says_yes(f, key)) return false;
  besom_status status =
      f->guard ? besom_guard_get_u64(f->guard, key, NULL) : get_without_guard(f, key);
  if (status != BESOM_NOT_FOUND) check(status, "getting a key");
  return status == BESOM_OK;
}

besom_store_statistics tested_database_stats(const tested_database *f) {
  besom_store_statistics stats;
  check(besom_store_stats(f->store, &stats), "statistics of a store");
  return stats;
}
