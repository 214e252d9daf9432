#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "grow.h"

#include <time.h>

#include "command.h"
#include "config.h"

/* Filters with at least this many items grow in steps: it may take more than a millisecond. */
#define LARGE_ITEMS 20000

/* A blocked client and its command. */
struct waiter {
  RedisModuleBlockedClient *client;
  RedisModuleCmdFunc retry;
  bool failed; /* the filter could not grow */
  struct waiter *next;
};

/*
 * Runs the task of one filter by a timer. It refers to the filter by key and job number only,
 * because the key may be renamed, overwritten or freed at any time. A filter that lost its job this
 * way still has its task; the next command that changes the filter starts a new job for it.
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

/* How the present command runs; a retry runs after its client was blocked. */
static enum { FIRST_RUN, RETRY, RETRY_AFTER_FAILURE } run;

static bool can_block(RedisModuleCtx *ctx) {
  int forbidden =
      REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
  return run == FIRST_RUN && !(RedisModule_GetContextFlags(ctx) & forbidden);
}

bool is_retry(void) {
  return run != FIRST_RUN;
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

static int run_retry(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct waiter *waiter = RedisModule_GetBlockedClientPrivateData(ctx);
  run = waiter->failed ? RETRY_AFTER_FAILURE : RETRY;
  int result = waiter->retry(ctx, argv, argc);
  run = FIRST_RUN;
  return result;
}

static void add_waiter(RedisModuleCtx *ctx, struct job *job, RedisModuleCmdFunc retry) {
  struct waiter *waiter = RedisModule_Calloc(1, sizeof *waiter);
  waiter->retry = retry;
  waiter->client = RedisModule_BlockClient(ctx, run_retry, NULL, free_waiter, 0);
  *(job->last ? &job->last->next : &job->first) = waiter;
  job->last = waiter;
}

/* Unblocks the clients in the order in which they were blocked. */
static void end_job(RedisModuleCtx *ctx, struct job *job, bool failed) {
  struct job **link = &jobs;
  while (*link != job) link = &(*link)->next;
  *link = job->next;
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

static void finish_growth(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af) {
  af->task = NULL;
  af_refresh(af);
  RedisModule_Replicate(ctx, "AF.GROW", "sl", key, (long long)slots_of(af));
  notify(ctx, "af.grow", key);
}

/* Runs at least one step, until the time per turn is used up. */
static besom_status run_steps(struct af *af, bool *finished) {
  uint64_t begin = nanoseconds();
  besom_status status;
  do {
    status = besom_task_step(af->task, config_grow_step_items(), finished);
  } while (status == BESOM_OK && !*finished && nanoseconds() - begin < config_grow_step_ns());
  return status;
}

/* The filter of a job, or NULL if the key no longer holds it or its growth has ended. */
static struct af *af_of_job(RedisModuleCtx *ctx, const struct job *job) {
  struct af *af;
  if (RedisModule_SelectDb(ctx, job->db) != REDISMODULE_OK) return NULL;
  if (lookup_for_read(ctx, job->key, &af) != FOUND || af->job != job->number || !af->task)
    return NULL;
  return af;
}

static void cancel_task(struct af *af) {
  besom_task_cancel(af->task);
  af->task = NULL;
}

static void run_job(RedisModuleCtx *ctx, void *data) {
  struct job *job = data;
  struct af *af = af_of_job(ctx, job);
  /* This server became a replica: its master decides when to grow. */
  if (af && RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE) cancel_task(af);
  if (!af || !af->task) {
    end_job(ctx, job, false);
    return;
  }
  bool finished = false;
  enforce_memory_limits(true);
  besom_status status = run_steps(af, &finished);
  enforce_memory_limits(false);
  if (status == BESOM_OK && !finished) {
    RedisModule_CreateTimer(ctx, 1, run_job, job);
    return;
  }
  if (status == BESOM_OK)
    finish_growth(ctx, job->key, af);
  else
    af->task = NULL;
  end_job(ctx, job, status != BESOM_OK);
}

static struct job *start_job(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af) {
  struct job *job = RedisModule_Calloc(1, sizeof *job);
  *job = (struct job){.number = ++last_number,
                      .key = RedisModule_CreateStringFromString(NULL, key),
                      .db = RedisModule_GetSelectedDb(ctx),
                      .next = jobs};
  jobs = job;
  af->job = job->number;
  RedisModule_CreateTimer(ctx, 1, run_job, job);
  return job;
}

/* ------------------------------------------------------------------ growing */

/* Doubles the slots until they hold `items`, but stops at max_capacity. */
static uint64_t slots_for(const struct af *af, uint64_t items) {
  uint64_t slots = slots_of(af), capacity = af->capacity;
  for (; capacity < items && capacity < af->max_capacity; capacity *= 2) slots *= 2;
  return slots;
}

static besom_status grow_now(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                             uint64_t slots) {
  cancel_task(af); /* rare, so the steps already done are not reused */
  enforce_memory_limits(is_client_command(ctx));
  besom_status status = besom_resize(af->filter, slots, NULL);
  enforce_memory_limits(false);
  if (status == BESOM_OK) finish_growth(ctx, key, af);
  return status;
}

/* OK with *blocked: the filter grows in steps and the client is blocked. OK without: done. */
static besom_status grow(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t slots,
                         RedisModuleCmdFunc retry, bool *blocked) {
  *blocked = false;
  if (af->items < LARGE_ITEMS || !is_client_command(ctx) || !can_block(ctx))
    return grow_now(ctx, key, af, slots);
  struct job *job = af->task ? job_of(af) : NULL;
  if (!af->task) {
    enforce_memory_limits(true);
    besom_status status = besom_resize(af->filter, slots, &af->task);
    enforce_memory_limits(false);
    if (status != BESOM_OK) return status;
  }
  if (!job) job = start_job(ctx, key, af);
  add_waiter(ctx, job, retry);
  *blocked = true;
  return BESOM_OK;
}

bool grow_if_needed(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t items,
                    RedisModuleCmdFunc retry) {
  uint64_t required = af->items + items;
  bool too_small = required > af->capacity && af->capacity < af->max_capacity;
  if (!af->task && !too_small) return true;
  if (run == RETRY_AFTER_FAILURE || !(af->abilities & BESOM_CAN_RESIZE)) return true;
  if (!af->task && !is_client_command(ctx)) return true;
  bool blocked;
  uint64_t slots = slots_for(af, too_small ? required : af->capacity + 1);
  grow(ctx, key, af, slots, retry, &blocked);
  return !blocked;
}

/* ------------------------------------------------------------------ AF.GROW */

static int reply_after_growth(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argv;
  (void)argc;
  if (run == RETRY_AFTER_FAILURE) return reply_status(ctx, BESOM_NO_MEMORY);
  return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* AF.GROW key [slots] */
int grow_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af = require_for_write(ctx, argv[1]);
  long long slots = 0;
  if (!af) return REDISMODULE_OK;
  if (argc > 3) return RedisModule_WrongArity(ctx);
  if (argc == 3 && (RedisModule_StringToLongLong(argv[2], &slots) != REDISMODULE_OK || slots < 1))
    return RedisModule_ReplyWithError(ctx, "ERR slots must be a positive integer");
  if (!(af->abilities & BESOM_CAN_RESIZE)) return reply_status(ctx, BESOM_UNSUPPORTED);
  uint64_t present = slots_of(af);
  if (slots == 0) slots = (long long)(2 * present);
  if ((uint64_t)slots <= present) return RedisModule_ReplyWithSimpleString(ctx, "OK");
  if (is_client_command(ctx) && af->capacity >= af->max_capacity)
    return RedisModule_ReplyWithError(
        ctx, "ERR the filter is at its MAXCAPACITY and would exceed its error rate: reserve a new "
             "filter with a larger MAXCAPACITY");
  bool blocked;
  besom_status status = grow(ctx, argv[1], af, (uint64_t)slots, reply_after_growth, &blocked);
  if (status == BESOM_INVALID)
    return RedisModule_ReplyWithError(
        ctx, "ERR slots must be the present number of slots (AF.INFO) times a power of two");
  if (status != BESOM_OK) return reply_status(ctx, status);
  return blocked ? REDISMODULE_OK : RedisModule_ReplyWithSimpleString(ctx, "OK");
}
