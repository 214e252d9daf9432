#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "config.h"

#include <besom.h>
#include <unistd.h>

static struct {
  long long max_filter_bytes, chunk_bytes, grow_step_items, grow_step_us;
  long long capacity, error_ppm, growth_factor;
  int hash;
} values;

enum { SIP, XXH3 };
static const char *hash_names[] = {"sip", "xxh3"};
static const int hash_values[] = {SIP, XXH3};

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

static int add_number(RedisModuleCtx *ctx, const char *name, long long default_value, long long min,
                      long long max, unsigned flags, long long *number) {
  return RedisModule_RegisterNumericConfig(ctx, name, default_value, flags, min, max, get_number,
                                           set_number, NULL, number);
}

int config_register(RedisModuleCtx *ctx) {
  long long unlimited = INT64_MAX, memory = REDISMODULE_CONFIG_MEMORY;
  if (add_number(ctx, "max-filter-bytes", 0, 0, unlimited, memory, &values.max_filter_bytes) ||
      add_number(ctx, "chunk-bytes", 1 << 20, 1024, 256 << 20, memory, &values.chunk_bytes) ||
      add_number(ctx, "grow-step-items", 10000, 1, unlimited, 0, &values.grow_step_items) ||
      add_number(ctx, "grow-step-microseconds", 1000, 0, 1000000, 0, &values.grow_step_us) ||
      add_number(ctx, "default-capacity", 1024, 1, 1LL << 44, 0, &values.capacity) ||
      add_number(ctx, "default-error-ppm", 10000, 1, 999999, 0, &values.error_ppm) ||
      add_number(ctx, "default-growth-factor", 16, 1, 1 << 20, 0, &values.growth_factor) ||
      RedisModule_RegisterEnumConfig(ctx, "default-hash", SIP, REDISMODULE_CONFIG_DEFAULT,
                                     hash_names, hash_values, 2, get_choice, set_choice, NULL,
                                     &values.hash))
    return REDISMODULE_ERR;
  return RedisModule_LoadConfigs(ctx);
}

/* The default, 0, means half of the physical memory. */
uint64_t config_max_filter_bytes(void) {
  if (values.max_filter_bytes) return (uint64_t)values.max_filter_bytes;
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

uint64_t config_chunk_bytes(void) {
  return (uint64_t)values.chunk_bytes;
}

uint64_t config_grow_step_items(void) {
  return (uint64_t)values.grow_step_items;
}

uint64_t config_grow_step_ns(void) {
  return 1000 * (uint64_t)values.grow_step_us;
}

uint64_t config_default_capacity(void) {
  return (uint64_t)values.capacity;
}

double config_default_fpr(void) {
  return (double)values.error_ppm / 1e6;
}

uint64_t config_default_growth_factor(void) {
  return (uint64_t)values.growth_factor;
}

const char *config_default_hash(void) {
  return hash_names[values.hash];
}
