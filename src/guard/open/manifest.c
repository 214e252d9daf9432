/*
 * The manifest: the record of the store's own table in which a guard keeps which filter its records
 * are stored for, and how far a migration to another filter has come.
 *
 *     u32 version, u32 layout, store id, open id,
 *     u32 epoch, u32 filters (2: a migration is running), u64 frontier,
 *     kind, options (each u32 length, bytes), u32 value bits, u32 0, double reserve,
 *     u64 capacity, u64 max capacity, double false-positive rate, double bits per key
 *         (used by kinds whose geometry follows from these),
 *     per filter: u32 hash, u32 width, seed, u64 slots;
 *     u64 checksum of all of the above
 */
#include "guard/open/manifest.h"
#include "guard/open/open.h"

enum { MANIFEST_VERSION = 1, MANIFEST_BYTES = 512, KIND_BYTES = 32 };

static const besom_bytes manifest_key = {"guard", 5};

/* ------------------------------------------------------------------ writing */

static void write_string(struct byte_writer *w, const char *text) {
  size_t len = text ? strlen(text) : 0;
  besom__write_u32(w, (uint32_t)len);
  if (len) besom__write_bytes(w, text, len);
}

static void write_filter(struct byte_writer *w, const besom_filter *f) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(f, &slots, &width);
  besom__write_u32(w, f->hasher.id);
  besom__write_u32(w, width);
  besom__write_bytes(w, f->hasher.seed, SEED_BYTES);
  besom__write_u64(w, slots);
}

static void write_filter_config(struct byte_writer *w, const besom_config *config) {
  write_string(w, config->kind);
  write_string(w, config->options);
  besom__write_u32(w, config->value_bits);
  besom__write_u32(w, 0);
  besom__write_double(w, config->reserve);
  besom__write_u64(w, config->capacity);
  besom__write_u64(w, config->max_capacity);
  besom__write_double(w, config->fpr);
  besom__write_double(w, config->bits_per_key);
}

besom_status besom__manifest_write(besom_guard *g, bool migrated) {
  uint8_t bytes[MANIFEST_BYTES];
  struct byte_writer w = {bytes, bytes + sizeof bytes, false};
  const struct epoch *first = migrated ? &g->next : &g->current;
  bool two = g->next.filter && !migrated;
  besom__write_u32(&w, MANIFEST_VERSION);
  besom__write_u32(&w, g->layout);
  besom__write_bytes(&w, g->ids.store, ID_BYTES);
  besom__write_bytes(&w, g->ids.open_is_own ? g->ids.open : g->ids.own, ID_BYTES);
  besom__write_u32(&w, first->number);
  besom__write_u32(&w, two ? 2 : 1);
  besom__write_u64(&w, two ? g->frontier : 0);
  write_filter_config(&w, &g->filter_config);
  write_filter(&w, first->filter);
  if (two) write_filter(&w, g->next.filter);
  besom__write_u64(&w, besom__checksum(bytes, (size_t)(w.at - bytes)));
  besom_record record = {manifest_key, {bytes, (size_t)(w.at - bytes)}};
  return w.failed ? BESOM_INVALID
                  : g->store->ops->table_put(g->store, BESOM_TABLE_MANIFEST, &record);
}

/* ------------------------------------------------------------------ reading */

struct manifest {
  uint8_t bytes[MANIFEST_BYTES];
  size_t len;
};

static besom_status copy_manifest(void *ctx, const besom_record *record) {
  struct manifest *manifest = ctx;
  if (record->value.len > sizeof manifest->bytes) return BESOM_CORRUPT;
  manifest->len = record->value.len;
  if (manifest->len) memcpy(manifest->bytes, record->value.data, manifest->len);
  return BESOM_OK;
}

static void read_string(struct byte_reader *r, char *out, size_t size) {
  uint32_t len = besom__read_u32(r);
  r->failed |= len >= size;
  memset(out, 0, size);
  if (!r->failed && len) besom__read_bytes(r, out, len);
}

/* The stored configuration replaces the caller's, of which only the kind must match. */
static besom_status read_filter_config(besom_guard *g, struct byte_reader *r) {
  char kind[KIND_BYTES];
  read_string(r, kind, sizeof kind);
  read_string(r, g->options, sizeof g->options);
  if (r->failed) return BESOM_CORRUPT;
  if (strcmp(kind, g->filter_config.kind) != 0)
    return refuse_open(g, BESOM_INCOMPATIBLE, "the store was made with another kind of filter");
  g->filter_config.slots = g->filter_config.width = 0; /* stored with each filter */
  g->filter_config.value_bits = besom__read_u32(r);
  besom__read_u32(r);
  g->filter_config.reserve = besom__read_double(r);
  g->filter_config.capacity = besom__read_u64(r);
  g->filter_config.max_capacity = besom__read_u64(r);
  g->filter_config.fpr = besom__read_double(r);
  g->filter_config.bits_per_key = besom__read_double(r);
  g->filter_config.options = g->options[0] ? g->options : NULL;
  return r->failed ? BESOM_CORRUPT : BESOM_OK;
}

static besom_status manifest_read_filter(besom_guard *g, struct byte_reader *r,
                                         struct epoch *epoch) {
  uint8_t seed[SEED_BYTES];
  uint32_t hash = besom__read_u32(r), width = besom__read_u32(r);
  besom__read_bytes(r, seed, sizeof seed);
  uint64_t slots = besom__read_u64(r);
  if (r->failed || (hash != HASH_XXH3 && hash != HASH_SIP)) return BESOM_CORRUPT;
  return besom__guard_filter_new(g, besom__hash_name((enum hash_id)hash), seed, slots, width,
                                 &epoch->filter);
}

static besom_status read_epochs(besom_guard *g, struct byte_reader *r, uint32_t filters) {
  besom_status status = manifest_read_filter(g, r, &g->current);
  if (status == BESOM_OK && filters == 2) status = manifest_read_filter(g, r, &g->next);
  return status == BESOM_OK && r->at != r->end ? BESOM_CORRUPT : status;
}

static besom_status read_manifest(besom_guard *g, struct byte_reader *r) {
  uint32_t version = besom__read_u32(r), layout = besom__read_u32(r);
  if (!r->failed && version > MANIFEST_VERSION)
    return refuse_open(g, BESOM_NEWER_VERSION, "a later version of besom has written the store");
  besom__read_bytes(r, g->ids.store, ID_BYTES);
  besom__read_bytes(r, g->ids.open, ID_BYTES);
  g->current.number = besom__read_u32(r);
  g->next.number = g->current.number + 1;
  uint32_t filters = besom__read_u32(r);
  g->frontier = besom__read_u64(r);
  if (r->failed || version != MANIFEST_VERSION || filters < 1 || filters > 2) return BESOM_CORRUPT;
  besom_status status = read_filter_config(g, r);
  if (status == BESOM_OK && layout != g->layout)
    status = refuse_open(g, BESOM_INCOMPATIBLE,
                         "the store has the other layout: one is merged, the other split");
  return status == BESOM_OK ? read_epochs(g, r, filters) : status;
}

/* Errors: NOT_FOUND. */
static besom_status get_manifest(besom_guard *g, struct manifest *out) {
  out->len = 0;
  besom_status status =
      g->store->ops->table_get(g->store, BESOM_TABLE_MANIFEST, manifest_key, copy_manifest, out);
  return status == BESOM_OK && out->len < 8 ? BESOM_CORRUPT : status;
}

besom_status besom__manifest_checksum(besom_guard *g, uint64_t *checksum) {
  struct manifest manifest;
  besom_status status = get_manifest(g, &manifest);
  *checksum = status == BESOM_OK ? load64(manifest.bytes + manifest.len - 8) : 0;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

besom_status besom__manifest_read(besom_guard *g) {
  struct manifest manifest;
  besom_status status = get_manifest(g, &manifest);
  if (status != BESOM_OK) return status;
  struct byte_reader r = {manifest.bytes, manifest.bytes + manifest.len - 8, false};
  if (load64(r.end) != besom__checksum(manifest.bytes, manifest.len - 8))
    return refuse_open(g, BESOM_CORRUPT, "the manifest in the store is damaged");
  g->seen.manifest = load64(r.end);
  status = read_manifest(g, &r);
  if (status == BESOM_CORRUPT) g->why = "the manifest in the store is damaged";
  return status;
}
