#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "config.h"

#include <besom.h>
#include <unistd.h>

static struct {
  long long max_filter_bytes, chunk_bytes;
  long long capacity, bf_capacity, error_ppm, expansion, reserve_ppm;
  int hash, policy;
} values;

enum { SIP, XXH3 };
static const char *hash_names[] = {"sip", "xxh3"};
static const int hash_values[] = {SIP, XXH3};
enum { FORGET, REFUSE };
static const char *policy_names[] = {"forget", "refuse"};
static const int policy_values[] = {FORGET, REFUSE};

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

static int add_choice(RedisModuleCtx *ctx, const char *name, int default_value, const char **names,
                      const int *numbers, int *choice) {
  return RedisModule_RegisterEnumConfig(ctx, name, default_value, REDISMODULE_CONFIG_DEFAULT, names,
                                        numbers, 2, get_choice, set_choice, NULL, choice);
}

int config_register(RedisModuleCtx *ctx) {
  long long unlimited = INT64_MAX, memory = REDISMODULE_CONFIG_MEMORY;
  if (add_number(ctx, "max-filter-bytes", 0, 0, unlimited, memory, &values.max_filter_bytes) ||
      add_number(ctx, "chunk-bytes", 1 << 20, 1024, 256 << 20, memory, &values.chunk_bytes) ||
      add_number(ctx, "default-capacity", 1024, 1, 1LL << 44, 0, &values.capacity) ||
      add_number(ctx, "default-bf-capacity", 100, 1, 1LL << 44, 0, &values.bf_capacity) ||
      add_number(ctx, "default-error-ppm", 10000, 1, 999999, 0, &values.error_ppm) ||
      add_number(ctx, "default-expansion", 2, 1, 32768, 0, &values.expansion) ||
      add_number(ctx, "default-adapt-reserve-ppm", 50000, 1, 500000, 0, &values.reserve_ppm) ||
      add_choice(ctx, "default-report-policy", FORGET, policy_names, policy_values,
                 &values.policy) ||
      add_choice(ctx, "default-hash", SIP, hash_names, hash_values, &values.hash))
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

uint64_t config_default_capacity(void) {
  return (uint64_t)values.capacity;
}

uint64_t config_default_bf_capacity(void) {
  return (uint64_t)values.bf_capacity;
}

double config_default_fpr(void) {
  return (double)values.error_ppm / 1e6;
}

uint32_t config_default_expansion(void) {
  return (uint32_t)values.expansion;
}

double config_default_reserve(void) {
  return (double)values.reserve_ppm / 1e6;
}

bool config_forgets_reports(void) {
  return values.policy == FORGET;
}

const char *config_default_hash(void) {
  return hash_names[values.hash];
}
