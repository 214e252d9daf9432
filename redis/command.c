#define _DEFAULT_SOURCE /* strncasecmp */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

int reply_lookup_error(RedisModuleCtx *ctx, enum lookup lookup) {
  switch (lookup) {
  case MISSING:
    return RedisModule_ReplyWithError(ctx, "ERR no such key");
  case WRONG_TYPE:
    return RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
  case MARKED:
    return RedisModule_ReplyWithError(
        ctx, "ERR the filter is incomplete, because a part of it was refused in the AOF file or "
             "from the master: restore the key from a dump, or delete it and add all items again");
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

const char *error_of_status(besom_status status) {
  switch (status) {
  case BESOM_NO_MEMORY:
    return "OOM not enough memory for the filter: raise maxmemory or besom.max-filter-bytes, or "
           "free memory";
  case BESOM_FULL:
    return "ERR the filter is full, because NONSCALING, MAXCAPACITY or its kind limits it: reserve "
           "a filter that grows";
  case BESOM_RESERVE_FULL:
    return "ERR the reserve for reports and the no list is full: take items off the no list, or "
           "reserve a filter with FORGET or with a larger ADAPTRESERVE";
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
