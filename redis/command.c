#define _DEFAULT_SOURCE /* strncasecmp */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "type.h"

static enum find find(RedisModuleCtx *ctx, RedisModuleString *name, int mode, struct af **af) {
  RedisModuleKey *key = RedisModule_OpenKey(ctx, name, mode);
  enum find result = FOUND;
  if (!key || RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY)
    result = MISSING;
  else if (RedisModule_ModuleTypeGetType(key) != af_type)
    result = OTHER_TYPE;
  else if (!(*af = RedisModule_ModuleTypeGetValue(key))->filter)
    result = INCOMPLETE;
  RedisModule_CloseKey(key);
  return result;
}

enum find find_value(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return find(ctx, key, REDISMODULE_READ, af);
}

enum find find_value_to_change(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af) {
  return find(ctx, key, REDISMODULE_READ | REDISMODULE_WRITE, af);
}

int reply_find(RedisModuleCtx *ctx, enum find find) {
  switch (find) {
  case MISSING:
    return RedisModule_ReplyWithError(ctx, "ERR no such key");
  case OTHER_TYPE:
    return RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
  default:
    return RedisModule_ReplyWithError(ctx,
                                      "ERR the filter is incomplete: AF.LOADCHUNK has not ended");
  }
}

struct af *value_to_read(RedisModuleCtx *ctx, RedisModuleString *key) {
  struct af *af;
  enum find result = find_value(ctx, key, &af);
  if (result == FOUND) return af;
  reply_find(ctx, result);
  return NULL;
}

struct af *value_to_change(RedisModuleCtx *ctx, RedisModuleString *key) {
  struct af *af;
  enum find result = find_value_to_change(ctx, key, &af);
  if (result == FOUND) return af;
  reply_find(ctx, result);
  return NULL;
}

int reply_status(RedisModuleCtx *ctx, besom_status status) {
  char text[160];
  const char *code = status == BESOM_NO_MEMORY ? "OOM" : "ERR";
  snprintf(text, sizeof text, "%s %s", code, besom_strerror(status));
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
