/*
 * command.h - what the commands share (looking up a value, creating one, replying with an error),
 * and the command functions.
 */
#ifndef BESOM_REDIS_COMMAND_H
#define BESOM_REDIS_COMMAND_H

#include "value.h"

/* INCOMPLETE: AF.LOADCHUNK has not received all chunks, so the value has no filter yet. */
enum lookup { FOUND, MISSING, WRONG_TYPE, INCOMPLETE };

/* Looks up a value. *af is set if the result is FOUND or INCOMPLETE. */
enum lookup lookup_for_read(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);
/* The same, and signals clients that WATCH the key. */
enum lookup lookup_for_write(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);

/* Return the value, or reply with an error and return NULL. A missing key is an error. */
struct af *require_for_read(RedisModuleCtx *ctx, RedisModuleString *key);
struct af *require_for_write(RedisModuleCtx *ctx, RedisModuleString *key);

#define KEY_EXISTS "ERR the key exists already: delete it, or use another key"
int reply_lookup_error(RedisModuleCtx *ctx, enum lookup lookup);
int reply_status(RedisModuleCtx *ctx, besom_status status);
/* Compares without regard to case, as Redis does with the names of options. */
bool is_word(RedisModuleString *string, const char *word);
void notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *key);

/* True for commands of clients, false for commands from a master or from a file. */
bool is_client_command(RedisModuleCtx *ctx);

/* The filter to create. Zero means default. */
struct filter_config {
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
/* Parse an argument. Return NULL, or the error to reply. */
const char *parse_error_rate(RedisModuleString *string, double *fpr);
const char *parse_capacity(RedisModuleString *string, uint64_t *capacity);
/* Creates a filter, stores it at the key and replicates AF.RESERVE. Or replies with an error and
 * returns NULL. */
struct af *create_value(RedisModuleCtx *ctx, RedisModuleString *key,
                        const struct filter_config *config);
/* Sets the value of the key; a previous value is freed. */
void store_value(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af);
besom_bytes bytes_of(RedisModuleString *item);
/* The digest of an item under the filter's hash and seed. */
besom_digest digest_of(const struct af *af, RedisModuleString *item);

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
int grow_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
