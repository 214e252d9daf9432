#define _DEFAULT_SOURCE /* strncasecmp */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "type.h"

static enum lookup lookup(RedisModuleCtx *ctx, RedisModuleString *name, int mode, struct af **af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, mode);
  enum lookup result = FOUND;
  if (!key || RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
    result = MISSING;
  else if (RedisModule_ModuleTypeGetType(key) != af_type)
    result = WRONG_TYPE;
  else if (!(*af = RedisModule_ModuleTypeGetValue(key))->filter)
    result = INCOMPLETE;
  RedisModule_CloseKey(key);
  return result;
}

enum lookup lookup_for_read(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return lookup(ctx, key, REDISMODULE_READ, af);
}

enum lookup lookup_for_write(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return lookup(ctx, key, REDISMODULE_READ | REDISMODULE_WRITE, af);
}

int reply_lookup_error(RedisModuleCtx *ctx, enum lookup lookup) {
  switch (lookup) {
  case MISSING:
    return RedisModule_ReplyWithError(ctx, "ERR no such key");
  case WRONG_TYPE:
    return RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
  default:
    return RedisModule_ReplyWithError(ctx,
                                      "ERR the filter is incomplete: send its remaining chunks "
                                      "with AF.LOADCHUNK, or delete the key");
  }
}

struct af *require_for_read(RedisModuleCtx *ctx, RedisModuleString *key) {
  struct af *af;
  enum lookup result = lookup_for_read(ctx, key, &af);
  if (result == FOUND) return af;
  reply_lookup_error(ctx, result);
  return NULL;
}

struct af *require_for_write(RedisModuleCtx *ctx, RedisModuleString *key) {
  struct af *af;
  enum lookup result = lookup_for_write(ctx, key, &af);
  if (result == FOUND) return af;
  reply_lookup_error(ctx, result);
  return NULL;
}

/* The statuses that have a remedy on the server; NULL for the others. */
static const char *error_of_status(besom_status status) {
  switch (status) {
  case BESOM_NO_MEMORY:
    return "OOM not enough memory for the filter: raise maxmemory or besom.max-filter-bytes, or "
           "free memory";
  case BESOM_FULL:
    return "ERR the filter is full: reserve a new one with a larger capacity or MAXCAPACITY";
  case BESOM_RESERVE_FULL:
    return "ERR the reserve for adaptation is full: grow the filter with AF.GROW, or reserve one "
           "with a larger ADAPTRESERVE";
  case BESOM_UNSUPPORTED:
    return "ERR this kind of filter does not support the command or one of its options: reserve a "
           "filter with another KIND";
  case BESOM_NEEDS_STORE:
    return "ERR this kind of filter needs the stored keys, which Redis does not have: reserve a "
           "filter with another KIND";
  case BESOM_NEWER_VERSION:
    return "ERR the filter was saved by a later version of besom: upgrade the module";
  default:
    return NULL;
  }
}

int reply_status(RedisModuleCtx *ctx, besom_status status) {
  char text[160];
  const char *error = error_of_status(status);
  if (error) return RedisModule_ReplyWithError(ctx, error);
  snprintf(text, sizeof text, "ERR %s", besom_strerror(status));
  return RedisModule_ReplyWithError(ctx, text);
}

bool is_word(RedisModuleString *string, const char *word) {
  size_t len;
  const char *text = RedisModule_StringPtrLen(string, &len);
  return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

void notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *key) {
  RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, event, key);
}

bool is_client_command(RedisModuleCtx *ctx) {
  return !(RedisModule_GetContextFlags(ctx) &
           (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING));
}

besom_bytes bytes_of(RedisModuleString *item) {
  besom_bytes bytes;
  bytes.data = RedisModule_StringPtrLen(item, &bytes.len);
  return bytes;
}

besom_digest digest_of(const struct af *af, RedisModuleString *item) {
  besom_bytes key = bytes_of(item);
  return besom_hash(af->filter, key.data, key.len);
}
