/*
 * config.h - the configuration parameters of the module. They are set by CONFIG SET besom.NAME, or
 * in redis.conf after the loadmodule line.
 */
#ifndef BESOM_REDIS_CONFIG_H
#define BESOM_REDIS_CONFIG_H

#include <redismodule.h>
#include <stdint.h>

int config_register(RedisModuleCtx *ctx);

uint64_t config_max_filter_bytes(void); /* limit for one allocation of a filter */
uint64_t config_chunk_bytes(void);      /* chunk size of AF.SCANDUMP, AOF and RDB */

/* Growth: fingerprints per step, and the time before other clients are served. */
uint64_t config_grow_step_items(void);
uint64_t config_grow_step_ns(void);

/* Capacity and false-positive rate of filters that AF.ADD, AF.MADD and AF.INSERT create. */
uint64_t config_default_capacity(void);
double config_default_fpr(void);

/* Used if AF.RESERVE does not say otherwise, too. */
uint64_t config_default_growth_factor(void); /* max_capacity / capacity; 1: no growth */
const char *config_default_hash(void);

#endif
