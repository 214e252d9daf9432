#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "value.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "file/container.h"

/* ------------------------------------------------------------------ totals */

/* Atomic, because Redis may free filters in a background thread. */
static struct {
  atomic_uint_fast64_t filters, items, bytes, incomplete, reports, fixed, refused, forgotten;
} sums;

struct totals totals_get(void) {
  return (struct totals){.filters = atomic_load(&sums.filters),
                         .items = atomic_load(&sums.items),
                         .bytes = atomic_load(&sums.bytes),
                         .incomplete = atomic_load(&sums.incomplete),
                         .reports = atomic_load(&sums.reports),
                         .fixed = atomic_load(&sums.fixed),
                         .refused = atomic_load(&sums.refused),
                         .forgotten = atomic_load(&sums.forgotten)};
}

void af_add_items(struct af *af, int64_t n) {
  af->items += (uint64_t)n;
  atomic_fetch_add_explicit(&sums.items, (uint64_t)n, memory_order_relaxed);
}

void af_count_report(struct af *af, enum report_outcome outcome) {
  af->reports++;
  af->fixed += outcome == FIXED;
  af->refused += outcome == REFUSED;
  atomic_fetch_add(&sums.reports, 1);
  atomic_fetch_add(&sums.fixed, outcome == FIXED);
  atomic_fetch_add(&sums.refused, outcome == REFUSED);
}

void af_count_refusal(struct af *af) {
  af->refused++;
  atomic_fetch_add(&sums.refused, 1);
}

void count_forgotten(void) {
  atomic_fetch_add(&sums.forgotten, 1);
}

/* ------------------------------------------------------------------ memory */

/* Only allocations of at least this size are checked against the limits. */
#define LARGE_BYTES ((size_t)1 << 20)

static RedisModuleCtx *limited;

void limit_memory_of(RedisModuleCtx *command) {
  limited = command;
}

bool is_client_command(RedisModuleCtx *ctx) {
  return !(RedisModule_GetContextFlags(ctx) &
           (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING));
}

bool server_evicts(RedisModuleCtx *ctx) {
  return RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_EVICT;
}

static uint64_t server_info_field(RedisModuleServerInfoData *info, const char *field) {
  int error = 0;
  uint64_t number = RedisModule_ServerInfoGetFieldUnsigned(info, field, &error);
  return error ? 0 : number;
}

/*
 * The server itself would notice only before the next command. With an eviction policy it makes
 * room then, as for its own types, so nothing is refused.
 */
static bool exceeds_maxmemory(RedisModuleCtx *ctx, size_t size) {
  if (server_evicts(ctx)) return false;
  RedisModuleServerInfoData *info = RedisModule_GetServerInfo(NULL, "memory");
  if (!info) return false;
  uint64_t used = server_info_field(info, "used_memory"),
           max = server_info_field(info, "maxmemory");
  RedisModule_FreeServerInfo(NULL, info);
  return max != 0 && (used >= max || size > max - used);
}

static bool exceeds_limits(size_t size) {
  return limited && size >= LARGE_BYTES && is_client_command(limited) &&
         (size > config_max_filter_bytes() || exceeds_maxmemory(limited, size));
}

/* Whether the system has so much memory. Pages are not touched, so it takes constant time. */
static bool is_available(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, size) == 0;
}

/*
 * RedisModule_Calloc aborts the server if it fails. RedisModule_TryAlloc does not, but zeroing a
 * large table takes milliseconds, while fresh pages are zero.
 */
static void *allocate_zeroed(size_t size) {
  if (size >= LARGE_BYTES) return is_available(size) ? RedisModule_Calloc(1, size) : NULL;
  void *memory = RedisModule_TryAlloc(size);
  return memory ? memset(memory, 0, size) : NULL;
}

static void *allocate(void *ctx, size_t size) {
  (void)ctx;
  void *memory = exceeds_limits(size) ? NULL : allocate_zeroed(size);
  if (memory) atomic_fetch_add(&sums.bytes, size);
  return memory;
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx;
  atomic_fetch_sub(&sums.bytes, size);
  RedisModule_Free(memory);
}

const besom_allocator redis_allocator = {allocate, release, NULL};

/* ------------------------------------------------------------------ buffers */

static bool bytes_enlarge(struct bytes *b, size_t len) {
  if (len > SIZE_MAX / 2 - b->len) return false;
  size_t allocated = 2 * b->len + len;
  char *data = RedisModule_TryAlloc(allocated);
  if (!data) return false;
  if (b->len) memcpy(data, b->data, b->len);
  RedisModule_Free(b->data);
  b->data = data;
  b->allocated = allocated;
  return true;
}

bool bytes_append(struct bytes *b, const void *data, size_t len) {
  if (len > b->allocated - b->len && !bytes_enlarge(b, len)) return false;
  if (len) memcpy(b->data + b->len, data, len);
  b->len += len;
  return true;
}

void bytes_free(struct bytes *b) {
  RedisModule_Free(b->data);
  *b = (struct bytes){0};
}

besom_status bytes_write(void *bytes, const void *data, size_t len) {
  return bytes_append(bytes, data, len) ? BESOM_OK : BESOM_NO_MEMORY;
}

/* ------------------------------------------------------------------ values */

struct af *af_new(void) {
  atomic_fetch_add(&sums.filters, 1);
  return RedisModule_Calloc(1, sizeof(struct af));
}

bool af_is_marked(const struct af *af) {
  return af->incoming_len == INCOMPLETE_MARK;
}

bool af_has_value(const struct af *af) {
  return af_has_filter(af) || af->frozen;
}

void af_pack(struct af *af) {
  if (!af->filter || af->frozen) return;
  if (besom__pack(af->filter, &redis_allocator, &af->packed) != BESOM_OK) return;
  besom_free(af->filter);
  af->filter = NULL;
}

besom_status af_unpack(struct af *af) {
  if (!af->packed) return BESOM_OK;
  besom_status status = besom__unpack(af->packed, &redis_allocator, &af->filter);
  if (status != BESOM_OK) return status;
  besom__packed_free(af->packed, &redis_allocator);
  af->packed = NULL;
  return BESOM_OK;
}

/* Without memory for a small filter the server would abort, too. */
besom_filter *af_view(const struct af *af) {
  if (!af->packed) return af->filter;
  besom_filter *view = NULL;
  RedisModule_Assert(besom__unpack(af->packed, &redis_allocator, &view) == BESOM_OK);
  return view;
}

void af_end_view(const struct af *af, besom_filter *view) {
  if (view != af->filter) besom_free(view);
}

besom_statistics af_stats(const struct af *af) {
  besom_statistics stats = {0};
  besom_filter *view = af_view(af);
  if (view) besom_stats(view, &stats);
  af_end_view(af, view);
  return stats;
}

void af_mark(struct af *af) {
  bytes_free(&af->incoming);
  af->incoming_len = INCOMPLETE_MARK;
  atomic_fetch_add(&sums.incomplete, 1);
}

struct af *af_new_marked(void) {
  struct af *af = af_new();
  af_mark(af);
  return af;
}

struct af *af_wrap(besom_filter *filter, uint64_t max_capacity) {
  struct af *af = af_new();
  af->filter = filter;
  af->max_capacity = max_capacity;
  af_refresh(af);
  af_pack(af);
  return af;
}

void af_replace_filter(struct af *af, besom_filter *filter) {
  besom_free(af->filter);
  besom__packed_free(af->packed, &redis_allocator);
  af->packed = NULL;
  af->filter = filter;
  af_refresh(af);
  af_pack(af);
}

void af_free(struct af *af) {
  af_add_items(af, -(int64_t)af->items);
  atomic_fetch_sub(&sums.filters, 1);
  if (af_is_marked(af)) atomic_fetch_sub(&sums.incomplete, 1);
  besom_free(af->filter);
  besom__packed_free(af->packed, &redis_allocator);
  frozen_free(af->frozen);
  bytes_free(&af->incoming);
  RedisModule_Free(af);
}

void af_refresh(struct af *af) {
  uint64_t items = af_stats(af).keys + (af->frozen ? af->frozen->items : 0);
  if (!af->packed) af->abilities = af->filter ? besom_abilities(af->filter) : 0;
  af_add_items(af, (int64_t)(items - af->items));
}

void af_limit_fixed(struct af *af) {
  if (!af->max_capacity && frozen_is_fixed(af->frozen))
    af->max_capacity = frozen_capacity(af->frozen);
}

bool af_is_multiset(const struct af *af) {
  return af->abilities & BESOM_CAN_REMOVE || !af_has_filter(af);
}

struct af *af_visit_blocks(struct af *af, const struct block_visitor *v) {
  af = v->visit(v->ctx, af);
  if (af->incoming.data) af->incoming.data = v->visit(v->ctx, af->incoming.data);
  if (af->packed) af->packed = besom__packed_visit(af->packed, v);
  if (af->frozen) af->frozen = frozen_visit_blocks(af->frozen, v);
  besom_filter *filter = af->filter ? besom__visit_blocks(af->filter, v) : NULL;
  if (filter) af->filter = filter;
  return af;
}

/* Adds the size of the block as the allocator counts it. */
static void *measure_block(void *bytes, void *block) {
  *(size_t *)bytes += RedisModule_MallocSize(block);
  return block;
}

/* Kinds whose blocks cannot be visited say how much they have asked for. */
size_t af_bytes(const struct af *af) {
  size_t bytes = 0;
  const struct block_visitor measuring = {measure_block, &bytes};
  af_visit_blocks((struct af *)(uintptr_t)af, &measuring);
  size_t asked = af->filter ? (size_t)af_stats(af).bytes : 0;
  return bytes > asked ? bytes : bytes + asked;
}

besom_status check_kind(const besom_filter *filter) {
  return besom_abilities(filter) & BESOM_CAN_INSERT ? BESOM_OK : BESOM_UNSUPPORTED;
}

besom_status filter_copy(const besom_filter *filter, besom_filter **out) {
  struct bytes saved = {0};
  besom_status status = besom_save(filter, &(besom_sink){bytes_write, &saved});
  if (status == BESOM_OK)
    status = besom__container_load((const uint8_t *)saved.data, saved.len, &redis_allocator, false,
                                   BESOM_OPEN_TRUSTED, NULL, out);
  bytes_free(&saved);
  return status;
}
