/*
 * config.h - the configuration parameters of the module. They are set by CONFIG SET besom.NAME, or
 * in redis.conf after the loadmodule line.
 */
#ifndef BESOM_REDIS_CONFIG_H
#define BESOM_REDIS_CONFIG_H

#include <redismodule.h>
#include <stdbool.h>
#include <stdint.h>

int config_register(RedisModuleCtx *ctx);

uint64_t config_max_filter_bytes(void); /* limit for one allocation of a filter */
uint64_t config_chunk_bytes(void);      /* chunk size of AF.SCANDUMP, AOF and RDB */

/* Capacity and false-positive rate of filters that AF.ADD, AF.MADD and AF.INSERT create. */
uint64_t config_default_capacity(void);
double config_default_fpr(void);
/* Capacity of filters that BF.ADD, BF.MADD and BF.INSERT create. */
uint64_t config_default_bf_capacity(void);

/* Used if AF.RESERVE does not say otherwise, too. */
uint32_t config_default_expansion(void);
const char *config_default_hash(void);
double config_default_reserve(void); /* share of the slots for reports and the no list */
bool config_forgets_reports(void);   /* when the reserve is full; else new ones are refused */

#endif
