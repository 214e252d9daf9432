/*
 * settings.h - the module's configuration: CONFIG SET besom.NAME, or arguments of loadmodule in Redis's own file.
 */
#ifndef BESOM_REDIS_SETTINGS_H
#define BESOM_REDIS_SETTINGS_H

#include <redismodule.h>
#include <stdint.h>

int settings_register(RedisModuleCtx *ctx);

uint64_t settings_max_filter_bytes(void); /* most for one allocation of a filter */
uint64_t settings_chunk_bytes(void);      /* of AF.SCANDUMP, AOF and RDB */
uint64_t settings_step_items(void);       /* growth: fingerprints between two looks at the clock, */
uint64_t settings_step_ns(void);          /* and for how long before others get their turn */

/* What filters are like that are made by adding to a key that is not there; growth and hash are for all. */
uint64_t settings_capacity(void);
double settings_rate(void);
uint64_t settings_growth(void); /* max_capacity / capacity, if nobody says; 1: none */
const char *settings_hash(void);

#endif
