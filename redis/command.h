/*
 * command.h - what commands share: finding a value, saying what went wrong; and the commands themselves.
 */
#ifndef BESOM_REDIS_COMMAND_H
#define BESOM_REDIS_COMMAND_H

#include "value.h"

enum find { FOUND, MISSING, OTHER_TYPE, INCOMPLETE };

/* INCOMPLETE: there is a value without a filter. */
enum find find_value(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);
/* The same, but other commands that watch the key will see that it was touched. */
enum find find_value_to_change(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);

/* The value, or NULL: the error is replied then, of a missing key, too. */
struct af *value_to_read(RedisModuleCtx *ctx, RedisModuleString *key);
struct af *value_to_change(RedisModuleCtx *ctx, RedisModuleString *key);

int reply_find(RedisModuleCtx *ctx, enum find find);
int reply_status(RedisModuleCtx *ctx, besom_status status);
bool is_word(RedisModuleString *string, const char *word);
void notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *key);

/* What a filter is to be like; zero means default. */
struct wanted {
  double fpr;
  double reserve;
  uint64_t capacity, max_capacity;
  const char *kind;
  const char *hash;
  bool nonscaling;
  uint32_t value_bits;
  bool has_seed;
  uint8_t seed[16];
};
/* NULL, or what is wrong with an argument. */
const char *read_rate(RedisModuleString *string, double *rate);
const char *read_capacity(RedisModuleString *string, uint64_t *capacity);
/* Makes the filter, puts it under the key and tells replicas. */
besom_status create_value(RedisModuleCtx *ctx, RedisModuleString *key, const struct wanted *wanted,
                          struct af **out);
/* Puts a value under a key, in the place of what is there. */
void store_value(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af);

int reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int report_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int noadd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int nodel_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int getval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int setval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
