/* Saved sets of exceptions, and checks of cells of unknown origin. */
#include "exceptions/cells.h"

void besom__exceptions_write(const struct exception_set *m, struct byte_writer *w) {
  besom__write_u64(w, m->cells);
  besom__write_u64(w, m->count);
  besom__write_u64(w, m->listed);
  besom__write_u64(w, m->hand);
  besom__write_u64(w, m->forgotten);
  besom__write_u32(w, m->length);
  besom__write_u32(w, m->mixed);
}

/* What is out of range becomes what load refuses. */
void besom__exceptions_read(struct exception_set *m, struct byte_reader *r) {
  m->cells = besom__read_u64(r);
  m->count = besom__read_u64(r);
  m->listed = besom__read_u64(r);
  m->hand = besom__read_u64(r);
  m->forgotten = besom__read_u64(r);
  uint32_t length = besom__read_u32(r), mixed = besom__read_u32(r);
  m->length = length <= NUMBER_BITS ? (uint8_t)length : UINT8_MAX;
  m->mixed = mixed;
  if (mixed > 1) m->length = UINT8_MAX;
}

static bool has_sound_size(const struct exception_set *m, uint64_t len) {
  if (!m->cells) return !m->count && !m->listed && !m->hand && !len && m->length <= NUMBER_BITS;
  return m->cells >= FIRST_CELLS && m->cells <= len && m->count <= m->cells &&
         m->listed <= m->count && m->hand < m->cells && m->length > HOME_KEY_BITS &&
         m->length + m->mixed <= NUMBER_BITS;
}

besom_status besom__exceptions_load(struct exception_set *m, const besom_allocator *allocator,
                                    const void *data, uint64_t len) {
  bool sound = has_sound_size(m, len);
  if (sound && m->cells) {
    set_geometry(m);
    sound = besom__exceptions_saved_bytes(m) == len;
  }
  besom_status status = sound ? BESOM_OK : BESOM_CORRUPT;
  if (sound && m->cells) {
    if (allocate_cells(m, allocator))
      memcpy(m->tags, data, (size_t)len);
    else
      status = BESOM_NO_MEMORY;
  }
  if (status == BESOM_OK && !besom__exceptions_check(m)) {
    struct exception e;
    for (uint64_t cell = 0; besom__exceptions_next(m, &cell, &e);) set_hints(m, &e);
    return BESOM_OK;
  }
  if (!m->tags) m->cells = 0;
  besom__exceptions_free(m, allocator);
  return status == BESOM_OK ? BESOM_CORRUPT : status;
}

/*
 * At home, or the cell before is used and the exceptions are in the order of their homes. So there
 * is no free cell between an exception and its home.
 */
static bool is_in_place(const struct exception_set *m, uint64_t i) {
  unsigned distance = distance_of(tag_at(m, i)),
           before = distance_of(tag_at(m, i ? i - 1 : m->cells - 1));
  if (distance > 1 && before + 1 < distance) return false;
  struct exception e = exception_at(m, i);
  struct probe p = probe_of(m, e.number.hi);
  return e.length > HOME_KEY_BITS && e.length <= m->length && e.number.hi < m->slots &&
         (p.home + distance - 1) % m->cells == i;
}

const char *besom__exceptions_check(const struct exception_set *m) {
  uint64_t count = 0, listed = 0;
  for (uint64_t i = 0; i < m->cells; i++) {
    unsigned tag = tag_at(m, i);
    count += tag != 0;
    listed += (tag & LISTED) != 0;
    if (tag ? !distance_of(tag) : rest_at(m, i) != 0) return "a free cell is not empty";
  }
  if (count != m->count || listed != m->listed || (m->cells && too_full(count, m->cells)))
    return "the number of exceptions is wrong";
  for (uint64_t i = 0; i < m->cells; i++)
    if (tag_at(m, i) && !is_in_place(m, i)) return "an exception is not in its place";
  return NULL;
}
