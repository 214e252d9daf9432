#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "settings.h"

#include <besom.h>
#include <unistd.h>

static struct {
  long long max_filter_bytes, chunk_bytes, step_items, step_us, capacity, rate_ppm, growth;
  int hash;
} now;

enum { SIP, XXH3 };
static const char *hashes[] = {"sip", "xxh3"};
static const int hash_numbers[] = {SIP, XXH3};

static long long get_number(const char *name, void *number) {
  (void)name;
  return *(long long *)number;
}

static int set_number(const char *name, long long value, void *number, RedisModuleString **error) {
  (void)name;
  (void)error;
  *(long long *)number = value;
  return REDISMODULE_OK;
}

static int get_choice(const char *name, void *choice) {
  (void)name;
  return *(int *)choice;
}

static int set_choice(const char *name, int value, void *choice, RedisModuleString **error) {
  (void)name;
  (void)error;
  *(int *)choice = value;
  return REDISMODULE_OK;
}

static int add_number(RedisModuleCtx *ctx, const char *name, long long by_default, long long least,
                      long long most, unsigned flags, long long *number) {
  return RedisModule_RegisterNumericConfig(ctx, name, by_default, flags, least, most, get_number,
                                           set_number, NULL, number);
}

int settings_register(RedisModuleCtx *ctx) {
  long long most = INT64_MAX, memory = REDISMODULE_CONFIG_MEMORY;
  if (add_number(ctx, "max-filter-bytes", 0, 0, most, memory, &now.max_filter_bytes) ||
      add_number(ctx, "chunk-bytes", 1 << 20, 1024, 256 << 20, memory, &now.chunk_bytes) ||
      add_number(ctx, "step-items", 10000, 1, most, 0, &now.step_items) ||
      add_number(ctx, "step-microseconds", 1000, 0, 1000000, 0, &now.step_us) ||
      add_number(ctx, "capacity", 1024, 1, 1LL << 44, 0, &now.capacity) ||
      add_number(ctx, "error-ppm", 10000, 1, 999999, 0, &now.rate_ppm) ||
      add_number(ctx, "growth", 16, 1, 1 << 20, 0, &now.growth) ||
      RedisModule_RegisterEnumConfig(ctx, "hash", SIP, REDISMODULE_CONFIG_DEFAULT, hashes,
                                     hash_numbers, 2, get_choice, set_choice, NULL, &now.hash))
    return REDISMODULE_ERR;
  return RedisModule_LoadConfigs(ctx);
}

/* 0: half of the machine. */
uint64_t settings_max_filter_bytes(void) {
  if (now.max_filter_bytes) return (uint64_t)now.max_filter_bytes;
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

uint64_t settings_chunk_bytes(void) {
  return (uint64_t)now.chunk_bytes;
}

uint64_t settings_step_items(void) {
  return (uint64_t)now.step_items;
}

uint64_t settings_step_ns(void) {
  return 1000 * (uint64_t)now.step_us;
}

uint64_t settings_capacity(void) {
  return (uint64_t)now.capacity;
}

double settings_rate(void) {
  return (double)now.rate_ppm / 1e6;
}

uint64_t settings_growth(void) {
  return (uint64_t)now.growth;
}

const char *settings_hash(void) {
  return hashes[now.hash];
}
