/* The types of RedisBloom in RDB files, DUMP payloads and full synchronizations. */
#include <string.h>

#include "little_endian.h"
#include "redisbloom.h"
#include "stream.h"
#include "type.h"

#define LATEST_VERSION 4 /* of RedisBloom 2.2 to 8 */
/* What this module saves has the layout of its own type, and a version that RedisBloom refuses. */
#define OWN_VERSION 512

static RedisModuleType *bloom_type, *cuckoo_type;

/* ------------------------------------------------------------------ reading */

/* Reads fields into the header of a raw form. */
static void load_number(RedisModuleIO *io, char *to, size_t bytes) {
  put_le(to, RedisModule_LoadUnsigned(io), bytes);
}

static void load_double(RedisModuleIO *io, char *to) {
  put_le_double(to, RedisModule_LoadDouble(io));
}

/* Appends a string to the data of the layers. *len is its length. */
static bool load_layer(RedisModuleIO *io, struct bytes *data, uint64_t *len) {
  size_t n = 0;
  char *string = RedisModule_LoadStringBuffer(io, &n);
  bool ok = string && bytes_append(data, string, n);
  RedisModule_Free(string);
  *len = n;
  return ok && !RedisModule_IsIOError(io);
}

/* Versions 1 to 3 lack the growth, version 1 the options, too. */
static bool load_bloom(RedisModuleIO *io, int version, struct bytes *header, struct bytes *data) {
  char head[20] = {0};
  load_number(io, head, 8);
  uint64_t layers = RedisModule_LoadUnsigned(io);
  put_le(head + 8, layers, 4);
  if (version >= 2) load_number(io, head + 12, 4);
  put_le(head + 16, version >= 4 ? RedisModule_LoadUnsigned(io) : 2, 4);
  if (version < 1 || layers > UINT32_MAX || !bytes_append(header, head, sizeof head)) return false;
  for (uint64_t i = 0; i < layers; i++) {
    char layer[53] = {0};
    uint64_t len;
    load_number(io, layer + 44, 8); /* capacity */
    load_double(io, layer + 24);    /* error */
    load_number(io, layer + 40, 4); /* hashes */
    load_double(io, layer + 32);    /* bits per item */
    load_number(io, layer + 8, 8);  /* bits */
    load_number(io, layer + 52, 1); /* log2 of the bits */
    if (!load_layer(io, data, &len)) return false;
    put_le(layer, len, 8);
    load_number(io, layer + 16, 8); /* items */
    if (!bytes_append(header, layer, sizeof layer)) return false;
  }
  return true;
}

/* Before version 4 all layers have the same number of buckets, of 2 slots. */
static bool load_cuckoo(RedisModuleIO *io, int version, struct bytes *header, struct bytes *data) {
  char head[38] = {0};
  uint64_t layers = RedisModule_LoadUnsigned(io), bytes, sum = 0;
  put_le(head + 24, layers, 8);
  load_number(io, head + 8, 8);
  load_number(io, head, 8);
  if (version >= 4) load_number(io, head + 16, 8);
  put_le(head + 32, version >= 4 ? RedisModule_LoadUnsigned(io) : 2, 2);
  put_le(head + 34, version >= 4 ? RedisModule_LoadUnsigned(io) : 20, 2);
  put_le(head + 36, version >= 4 ? RedisModule_LoadUnsigned(io) : 1, 2);
  for (uint64_t i = 0; i < layers; i++, sum += bytes) {
    if (version >= 4) RedisModule_LoadUnsigned(io); /* the header tells it, too */
    if (!load_layer(io, data, &bytes)) return false;
  }
  return bytes_append(header, head, sizeof head);
}

static struct af *value_of_raw(enum frozen_family family, const struct bytes *raw) {
  struct af *af = af_new();
  if (frozen_load(family, raw->data, raw->len, &redis_allocator, &af->frozen) != BESOM_OK) {
    af_free(af);
    return NULL;
  }
  af_limit_fixed(af);
  af_refresh(af);
  return af;
}

static struct af *load_foreign(RedisModuleIO *io, int version, enum frozen_family family) {
  struct bytes header = {0}, data = {0};
  bool ok = family == FROZEN_BLOOM ? load_bloom(io, version, &header, &data)
                                   : load_cuckoo(io, version, &header, &data);
  ok = ok && !RedisModule_IsIOError(io) && bytes_append(&header, data.data, data.len);
  struct af *af = ok ? value_of_raw(family, &header) : NULL;
  bytes_free(&header);
  bytes_free(&data);
  return af;
}

static void *load(RedisModuleIO *io, int version, enum frozen_family family) {
  if (version == OWN_VERSION) return type_load(io);
  struct af *af = version <= LATEST_VERSION ? load_foreign(io, version, family) : NULL;
  if (!af)
    RedisModule_LogIOError(io, "warning",
                           "besom: a filter of RedisBloom (format %d) is damaged, or of a version "
                           "that this module does not know: the formats 1 to %d can be read",
                           version, LATEST_VERSION);
  return af;
}

static void *load_bloom_type(RedisModuleIO *io, int version) {
  return load(io, version, FROZEN_BLOOM);
}

static void *load_cuckoo_type(RedisModuleIO *io, int version) {
  return load(io, version, FROZEN_CUCKOO);
}

/* ------------------------------------------------------------------ registering */

int redisbloom_register(RedisModuleCtx *ctx) {
  RedisModuleTypeMethods methods = type_methods();
  methods.rdb_load = load_bloom_type;
  bloom_type = RedisModule_CreateDataType(ctx, "MBbloom--", OWN_VERSION, &methods);
  methods.rdb_load = load_cuckoo_type;
  cuckoo_type = RedisModule_CreateDataType(ctx, "MBbloomCF", OWN_VERSION, &methods);
  return bloom_type && cuckoo_type ? REDISMODULE_OK : REDISMODULE_ERR;
}

bool redisbloom_is_type(const RedisModuleType *type) {
  return type && (type == bloom_type || type == cuckoo_type);
}
