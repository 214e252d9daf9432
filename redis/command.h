/*
 * command.h - what the commands AF.* share: parsing arguments, replying with an error. And the
 * command functions. What they do with filters is in operations.h.
 */
#ifndef BESOM_REDIS_COMMAND_H
#define BESOM_REDIS_COMMAND_H

#include "operations.h"

/* Return the value, or reply with an error and return NULL. A missing key is an error. */
struct af *require_for_read(RedisModuleCtx *ctx, RedisModuleString *key);
struct af *require_for_write(RedisModuleCtx *ctx, RedisModuleString *key);

#define KEY_EXISTS "ERR the key exists already: delete it, or use another key"
#define FROZEN_LAYERS                                                                             \
  "ERR a filter with layers of RedisBloom cannot be merged, copied by LIKE, or hold values: add " \
  "the items to a new filter"
int reply_lookup_error(RedisModuleCtx *ctx, enum lookup lookup);
int reply_status(RedisModuleCtx *ctx, besom_status status);
/* The reply for a status that has a remedy on the server; NULL for the others. */
const char *error_of_status(besom_status status);
/* Compares without regard to case, as Redis does with the names of options. */
bool is_word(RedisModuleString *string, const char *word);
/* Parse an argument. Return NULL, or the error to reply. */
const char *parse_error_rate(RedisModuleString *string, double *fpr);
const char *parse_capacity(RedisModuleString *string, uint64_t *capacity);
const char *parse_expansion(RedisModuleString *string, struct filter_config *config);
/* Returns the error to reply if options contradict each other or the kind, else NULL. */
const char *check_config(const struct filter_config *config);

/*
 * Replies that the chunks of a key make no filter. No further chunk can complete it: a client's key
 * is deleted, a replayed one is marked incomplete.
 */
int reply_stream_error(RedisModuleCtx *ctx, RedisModuleString *key, besom_status status);

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
int getvals_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int delval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int reportval_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
