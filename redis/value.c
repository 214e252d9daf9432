#include "value.h"

#include <stdatomic.h>
#include <string.h>

#include "settings.h"

/* ------------------------------------------------------------------ numbers of all filters */

/* Filters may be freed by a thread of the server's. */
static struct { atomic_uint_fast64_t filters, items, bytes, reports, fixed, refused; } all;

struct totals totals_now(void) {
  return (struct totals){.filters = atomic_load(&all.filters),
                         .items = atomic_load(&all.items),
                         .bytes = atomic_load(&all.bytes),
                         .reports = atomic_load(&all.reports),
                         .fixed = atomic_load(&all.fixed),
                         .refused = atomic_load(&all.refused)};
}

void af_count(struct af *af, int64_t more) {
  af->items += (uint64_t)more;
  atomic_fetch_add_explicit(&all.items, (uint64_t)more, memory_order_relaxed);
}

void af_reported(struct af *af, enum outcome outcome) {
  af->reports++;
  af->fixed += outcome == FIXED;
  af->refused += outcome == REFUSED;
  atomic_fetch_add(&all.reports, 1);
  atomic_fetch_add(&all.fixed, outcome == FIXED);
  atomic_fetch_add(&all.refused, outcome == REFUSED);
}

/* ------------------------------------------------------------------ memory */

#define LARGE ((size_t)1 << 20)

static bool memory_is_limited;

void limit_memory(bool limited) {
  memory_is_limited = limited;
}

static uint64_t server_number(RedisModuleServerInfoData *info, const char *field) {
  int error = 0;
  uint64_t number = RedisModule_ServerInfoGetFieldUnsigned(info, field, &error);
  return error ? 0 : number;
}

/* Would so much more be above maxmemory? Redis would find out only with the next command. */
static bool exceeds_maxmemory(size_t size) {
  RedisModuleServerInfoData *info = RedisModule_GetServerInfo(NULL, "memory");
  if (!info) return false;
  uint64_t used = server_number(info, "used_memory"), most = server_number(info, "maxmemory");
  RedisModule_FreeServerInfo(NULL, info);
  return most != 0 && (used >= most || size > most - used);
}

/* Redis aborts where calloc fails: so what is large is asked for politely first, and given back. */
static void *zeroed(size_t size) {
  void *memory = RedisModule_TryAlloc(size);
  if (!memory) return NULL;
  if (size < LARGE) return memset(memory, 0, size);
  RedisModule_Free(memory);
  return RedisModule_Calloc(1, size); /* fresh pages: not touched before they are used */
}

static void *allocate(void *ctx, size_t size) {
  (void)ctx;
  if (memory_is_limited && size >= LARGE &&
      (size > settings_max_filter_bytes() || exceeds_maxmemory(size)))
    return NULL;
  void *memory = zeroed(size);
  if (memory) atomic_fetch_add(&all.bytes, size);
  return memory;
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx;
  atomic_fetch_sub(&all.bytes, size);
  RedisModule_Free(memory);
}

const besom_allocator redis_memory = {allocate, release, NULL};

/* ------------------------------------------------------------------ bytes */

static bool bytes_enlarge(struct bytes *b, size_t len) {
  if (len > SIZE_MAX / 2 - b->len) return false;
  size_t room = 2 * b->len + len;
  char *data = RedisModule_TryAlloc(room);
  if (!data) return false;
  if (b->len) memcpy(data, b->data, b->len);
  RedisModule_Free(b->data);
  b->data = data;
  b->room = room;
  return true;
}

bool bytes_append(struct bytes *b, const void *data, size_t len) {
  if (len > b->room - b->len && !bytes_enlarge(b, len)) return false;
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

/* ------------------------------------------------------------------ life of a value */

struct af *af_new(void) {
  atomic_fetch_add(&all.filters, 1);
  return RedisModule_Calloc(1, sizeof(struct af));
}

struct af *af_of(besom_filter *filter, uint64_t max_capacity) {
  struct af *af = af_new();
  af->filter = filter;
  af->max_capacity = max_capacity;
  af_refresh(af);
  return af;
}

void af_free(struct af *af) {
  af_count(af, -(int64_t)af->items);
  atomic_fetch_sub(&all.filters, 1);
  besom_free(af->filter);
  bytes_free(&af->incoming);
  RedisModule_Free(af);
}

static unsigned abilities_of(const char *kind) {
  const besom_kind_info *info;
  for (size_t i = 0; (info = besom_kinds(i)); i++)
    if (strcmp(info->name, kind) == 0) return info->abilities;
  return 0;
}

void af_refresh(struct af *af) {
  besom_statistics stats;
  if (besom_stats(af->filter, &stats) != BESOM_OK) return;
  af->abilities = abilities_of(stats.kind);
  af->capacity = stats.capacity;
  af_count(af, (int64_t)(stats.items - af->items));
}

bool af_keeps_copies(const struct af *af) {
  return af->abilities & BESOM_CAN_REMOVE;
}

size_t af_bytes(const struct af *af) {
  besom_statistics stats = {0};
  if (af->filter) besom_stats(af->filter, &stats);
  return sizeof *af + af->incoming.room + (size_t)stats.bytes;
}

besom_status filter_copy(const besom_filter *filter, besom_filter **out) {
  struct bytes saved = {0};
  besom_status status = besom_save(filter, &(besom_sink){bytes_write, &saved});
  if (status == BESOM_OK) status = besom_load(saved.data, saved.len, &redis_memory, out);
  bytes_free(&saved);
  return status;
}
