#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "growth.h"

#include <time.h>

#include "command.h"
#include "settings.h"

#define LARGE_ITEMS 20000 /* from here on growing may take more than a millisecond */

/* A command that is to be run again. */
struct waiter {
  RedisModuleBlockedClient *client;
  RedisModuleCmdFunc again;
  bool failed; /* the filter could not grow */
  struct waiter *next;
};

/*
 * Knows its filter by name and number alone: the key may be renamed, overwritten or freed at any time. A filter that
 * lost its job so still has its task; the next one that wants to change it finds that, and makes a new job.
 */
struct job {
  uint64_t number;
  RedisModuleString *key;
  int db;
  struct waiter *first, *last;
  struct job *next;
};

static struct job *jobs;
static uint64_t last_number;

/* How a command runs: for the first time, or after it has waited. */
static enum { AT_FIRST, AGAIN, AGAIN_IN_VAIN } turn;

bool decides(RedisModuleCtx *ctx) {
  return !(RedisModule_GetContextFlags(ctx) &
           (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING));
}

static bool can_wait(RedisModuleCtx *ctx) {
  int no =
      REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
  return turn == AT_FIRST && !(RedisModule_GetContextFlags(ctx) & no);
}

bool growth_has_waited(void) {
  return turn != AT_FIRST;
}

/* ------------------------------------------------------------------ jobs */

static uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct job *job_of(const struct af *af) {
  struct job *job = jobs;
  while (job && job->number != af->job) job = job->next;
  return job;
}

static void free_waiter(RedisModuleCtx *ctx, void *waiter) {
  (void)ctx;
  RedisModule_Free(waiter);
}

static int run_again(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct waiter *waiter = RedisModule_GetBlockedClientPrivateData(ctx);
  turn = waiter->failed ? AGAIN_IN_VAIN : AGAIN;
  int result = waiter->again(ctx, argv, argc);
  turn = AT_FIRST;
  return result;
}

static void add_waiter(RedisModuleCtx *ctx, struct job *job, RedisModuleCmdFunc again) {
  struct waiter *waiter = RedisModule_Calloc(1, sizeof *waiter);
  waiter->again = again;
  waiter->client = RedisModule_BlockClient(ctx, run_again, NULL, free_waiter, 0);
  *(job->last ? &job->last->next : &job->first) = waiter;
  job->last = waiter;
}

/* Lets all go on, in the order in which they came. */
static void end_job(RedisModuleCtx *ctx, struct job *job, bool failed) {
  struct job **place = &jobs;
  while (*place != job) place = &(*place)->next;
  *place = job->next;
  for (struct waiter *waiter = job->first, *next; waiter; waiter = next) {
    next = waiter->next;
    waiter->failed = failed;
    RedisModule_UnblockClient(waiter->client, waiter);
  }
  RedisModule_FreeString(ctx, job->key);
  RedisModule_Free(job);
}

static uint64_t slots_of(const struct af *af) {
  besom_statistics stats = {0};
  besom_stats(af->filter, &stats);
  return stats.slots;
}

static void finish(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af) {
  af->task = NULL;
  af_refresh(af);
  RedisModule_Replicate(ctx, "AF.GROW", "sl", key, (long long)slots_of(af));
  notify(ctx, "af.grow", key);
}

/* Steps for a millisecond, at least one. */
static besom_status take_steps(struct af *af, bool *finished) {
  uint64_t begin = nanoseconds();
  besom_status status;
  do {
    status = besom_task_step(af->task, settings_step_items(), finished);
  } while (status == BESOM_OK && !*finished && nanoseconds() - begin < settings_step_ns());
  return status;
}

/* The filter of a job, if it is still there and its to grow. */
static struct af *af_of_job(RedisModuleCtx *ctx, const struct job *job) {
  struct af *af;
  if (RedisModule_SelectDb(ctx, job->db) != REDISMODULE_OK) return NULL;
  if (find_value(ctx, job->key, &af) != FOUND || af->job != job->number || !af->task) return NULL;
  return af;
}

static void tick(RedisModuleCtx *ctx, void *data) {
  struct job *job = data;
  struct af *af = af_of_job(ctx, job);
  if (af && RedisModule_GetContextFlags(ctx) &
                REDISMODULE_CTX_FLAGS_SLAVE) { /* not its decision any more */
    besom_task_cancel(af->task);
    af->task = NULL;
  }
  if (!af || !af->task) {
    end_job(ctx, job, false);
    return;
  }
  bool finished = false;
  limit_memory(true);
  besom_status status = take_steps(af, &finished);
  limit_memory(false);
  if (status == BESOM_OK && !finished) {
    RedisModule_CreateTimer(ctx, 1, tick, job);
    return;
  }
  if (status == BESOM_OK)
    finish(ctx, job->key, af);
  else
    af->task = NULL;
  end_job(ctx, job, status != BESOM_OK);
}

static struct job *begin_job(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af) {
  struct job *job = RedisModule_Calloc(1, sizeof *job);
  *job = (struct job){.number = ++last_number,
                      .key = RedisModule_CreateStringFromString(NULL, key),
                      .db = RedisModule_GetSelectedDb(ctx),
                      .next = jobs};
  jobs = job;
  af->job = job->number;
  RedisModule_CreateTimer(ctx, 1, tick, job);
  return job;
}

/* ------------------------------------------------------------------ growing */

/* As many doublings as it takes to hold `items`, but none beyond max_capacity. */
static uint64_t slots_for(const struct af *af, uint64_t items) {
  uint64_t slots = slots_of(af), capacity = af->capacity;
  for (; capacity < items && capacity < af->max_capacity; capacity *= 2) slots *= 2;
  return slots;
}

static besom_status grow_now(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                             uint64_t slots) {
  besom_task_cancel(af->task); /* simpler than to go on with it: this is rare */
  af->task = NULL;
  limit_memory(decides(ctx));
  besom_status status = besom_grow(af->filter, slots);
  limit_memory(false);
  if (status == BESOM_OK) finish(ctx, key, af);
  return status;
}

/* OK and *waits: in steps from now on; OK without: done. */
static besom_status grow(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t slots,
                         RedisModuleCmdFunc again, bool *waits) {
  *waits = false;
  if (af->items < LARGE_ITEMS || !decides(ctx) || !can_wait(ctx))
    return grow_now(ctx, key, af, slots);
  struct job *job = af->task ? job_of(af) : NULL;
  if (!af->task) {
    limit_memory(true);
    besom_status status = besom_grow_begin(af->filter, slots, &af->task);
    limit_memory(false);
    if (status != BESOM_OK) return status;
  }
  if (!job) job = begin_job(ctx, key, af);
  add_waiter(ctx, job, again);
  *waits = true;
  return BESOM_OK;
}

bool growth_make_room(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t items,
                      RedisModuleCmdFunc again) {
  uint64_t wanted = af->items + items;
  bool short_of_room = wanted > af->capacity && af->capacity < af->max_capacity;
  if (!af->task && !short_of_room) return true;
  if (turn == AGAIN_IN_VAIN || !(af->abilities & BESOM_CAN_GROW)) return true;
  if (!af->task && !decides(ctx)) return true;
  bool waits;
  uint64_t slots = slots_for(af, short_of_room ? wanted : af->capacity + 1);
  grow(ctx, key, af, slots, again, &waits); /* if it failed, what does not fit will be FULL */
  return !waits;
}

/* ------------------------------------------------------------------ AF.GROW */

static int reply_grown(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argv;
  (void)argc;
  if (turn == AGAIN_IN_VAIN) return reply_status(ctx, BESOM_NO_MEMORY);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

int growth_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af = value_to_change(ctx, argv[1]);
  long long slots = 0;
  if (!af) return REDISMODULE_OK;
  if (argc > 3) return RedisModule_WrongArity(ctx);
  if (argc == 3 && (RedisModule_StringToLongLong(argv[2], &slots) != REDISMODULE_OK || slots < 1))
    return RedisModule_ReplyWithError(ctx, "ERR slots must be a positive number");
  if (!(af->abilities & BESOM_CAN_GROW)) return reply_status(ctx, BESOM_UNSUPPORTED);
  uint64_t there = slots_of(af);
  if (slots == 0) slots = (long long)(2 * there);
  if ((uint64_t)slots <= there) return RedisModule_ReplyWithSimpleString(ctx, "OK");
  if (decides(ctx) && af->capacity >= af->max_capacity)
    return RedisModule_ReplyWithError(
        ctx, "ERR the filter has its MAXCAPACITY: a larger one would break its error rate");
  bool waits;
  besom_status status = grow(ctx, argv[1], af, (uint64_t)slots, reply_grown, &waits);
  if (status != BESOM_OK) return reply_status(ctx, status);
  return waits ? REDISMODULE_OK : RedisModule_ReplyWithSimpleString(ctx, "OK");
}
