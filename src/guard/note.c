/*
 * What a guard notes in its store: which filter the keys are stored for, and how far they have moved to another.
 *
 *     u32 version, u32 layout, store id, open id, u32 epoch, u32 filters (2: keys move), u64 frontier,
 *     kind, options (u32 length, bytes), u32 value bits, u32 0, double adapt room,
 *     u64 capacity, u64 max capacity, double rate, double bits (of kinds whose geometry follows from these),
 *     for each filter: u32 hash, u32 width, seed, u64 slots; u64 checksum of all that
 */
#include "guard/guard.h"

enum { NOTE_VERSION = 1, NOTE_BYTES = 512, KIND_BYTES = 32 };

static const besom_bytes note_key = {"guard", 5};

/* ------------------------------------------------------------------ writing */

static void write_string(struct writer *w, const char *text) {
  size_t len = text ? strlen(text) : 0;
  besom__write_u32(w, (uint32_t)len);
  if (len) besom__write_bytes(w, text, len);
}

static void write_filter(struct writer *w, const besom_filter *f) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(f, &slots, &width);
  besom__write_u32(w, f->hasher.id);
  besom__write_u32(w, width);
  besom__write_bytes(w, f->hasher.seed, SEED_BYTES);
  besom__write_u64(w, slots);
}

static void write_shape(struct writer *w, const besom_config *shape) {
  write_string(w, shape->kind);
  write_string(w, shape->options);
  besom__write_u32(w, shape->value_bits);
  besom__write_u32(w, 0);
  besom__write_double(w, shape->reserve);
  besom__write_u64(w, shape->capacity);
  besom__write_u64(w, shape->max_capacity);
  besom__write_double(w, shape->fpr);
  besom__write_double(w, shape->bits);
}

besom_status besom__guard_note_write(besom_guard *g, bool moved) {
  uint8_t bytes[NOTE_BYTES];
  struct writer w = {bytes, bytes + sizeof bytes, false};
  const struct side *first = moved ? &g->next : &g->now;
  bool two = g->next.filter && !moved;
  besom__write_u32(&w, NOTE_VERSION);
  besom__write_u32(&w, g->layout);
  besom__write_bytes(&w, g->store_id, ID_BYTES);
  besom__write_bytes(&w, g->open_id, ID_BYTES);
  besom__write_u32(&w, first->epoch);
  besom__write_u32(&w, two ? 2 : 1);
  besom__write_u64(&w, two ? g->frontier : 0);
  write_shape(&w, &g->shape);
  write_filter(&w, first->filter);
  if (two) write_filter(&w, g->next.filter);
  besom__write_u64(&w, besom__checksum(bytes, (size_t)(w.at - bytes)));
  besom_record record = {note_key, {bytes, (size_t)(w.at - bytes)}};
  return w.failed ? BESOM_INVALID : g->store->ops->table_put(g->store, BESOM_TABLE_NOTES, &record);
}

/* ------------------------------------------------------------------ reading */

struct note {
  uint8_t bytes[NOTE_BYTES];
  size_t len;
};

static besom_status take_note(void *ctx, const besom_record *record) {
  struct note *note = ctx;
  if (record->value.len > sizeof note->bytes) return BESOM_CORRUPT;
  note->len = record->value.len;
  if (note->len) memcpy(note->bytes, record->value.data, note->len);
  return BESOM_OK;
}

static void read_string(struct reader *r, char *out, size_t size) {
  uint32_t len = besom__read_u32(r);
  r->failed |= len >= size;
  memset(out, 0, size);
  if (!r->failed && len) besom__read_bytes(r, out, len);
}

/* The shape that filters of this guard have had. Of what the caller says now only the kind counts. */
static besom_status read_shape(besom_guard *g, struct reader *r) {
  char kind[KIND_BYTES];
  read_string(r, kind, sizeof kind);
  read_string(r, g->options, sizeof g->options);
  if (r->failed) return BESOM_CORRUPT;
  if (strcmp(kind, g->shape.kind) != 0) return BESOM_INCOMPATIBLE;
  g->shape.slots = g->shape.width = 0; /* those are told with each filter */
  g->shape.value_bits = besom__read_u32(r);
  besom__read_u32(r);
  g->shape.reserve = besom__read_double(r);
  g->shape.capacity = besom__read_u64(r);
  g->shape.max_capacity = besom__read_u64(r);
  g->shape.fpr = besom__read_double(r);
  g->shape.bits = besom__read_double(r);
  g->shape.options = g->options[0] ? g->options : NULL;
  return r->failed ? BESOM_CORRUPT : BESOM_OK;
}

static besom_status read_filter(besom_guard *g, struct reader *r, struct side *side) {
  uint8_t seed[SEED_BYTES];
  uint32_t hash = besom__read_u32(r), width = besom__read_u32(r);
  besom__read_bytes(r, seed, sizeof seed);
  uint64_t slots = besom__read_u64(r);
  if (r->failed || (hash != HASH_XXH3 && hash != HASH_SIP)) return BESOM_CORRUPT;
  return besom__guard_filter_new(g, besom__hash_name((enum hash_id)hash), seed, slots, width,
                                 &side->filter);
}

static besom_status read_sides(besom_guard *g, struct reader *r, uint32_t filters) {
  besom_status status = read_filter(g, r, &g->now);
  if (status == BESOM_OK && filters == 2) status = read_filter(g, r, &g->next);
  return status == BESOM_OK && r->at != r->end ? BESOM_CORRUPT : status;
}

static besom_status read_note(besom_guard *g, struct reader *r) {
  uint32_t version = besom__read_u32(r), layout = besom__read_u32(r);
  if (!r->failed && version > NOTE_VERSION) return BESOM_NEWER_VERSION;
  besom__read_bytes(r, g->store_id, ID_BYTES);
  besom__read_bytes(r, g->open_id, ID_BYTES);
  g->now.epoch = besom__read_u32(r);
  g->next.epoch = g->now.epoch + 1;
  uint32_t filters = besom__read_u32(r);
  g->frontier = besom__read_u64(r);
  if (r->failed || version != NOTE_VERSION || filters < 1 || filters > 2) return BESOM_CORRUPT;
  besom_status status = read_shape(g, r);
  if (status == BESOM_OK && layout != g->layout) status = BESOM_INCOMPATIBLE;
  return status == BESOM_OK ? read_sides(g, r, filters) : status;
}

besom_status besom__guard_note_read(besom_guard *g) {
  struct note note = {.len = 0};
  besom_status status =
      g->store->ops->table_get(g->store, BESOM_TABLE_NOTES, note_key, take_note, &note);
  if (status != BESOM_OK) return status;
  if (note.len < 8) return BESOM_CORRUPT;
  struct reader r = {note.bytes, note.bytes + note.len - 8, false};
  if (load64(r.end) != besom__checksum(note.bytes, note.len - 8)) return BESOM_CORRUPT;
  return read_note(g, &r);
}
