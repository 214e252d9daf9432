/*
 * besom_diff and besom_patch: a patch makes the saved bytes of a new filter from those of the old
 * one. Each piece of a patch is a range of the new file: the cells that differ from a range of the
 * old file (cell_diff.h), or the runs of a quotient table that differ (struct run_diff_ops), or raw
 * bytes if that is shorter. docs/format.md has the layout.
 *
 * A patch has the checksum of the old file, which tells whether it fits, and that of the new file,
 * which tells whether the result is right.
 */
#include <string.h>

#include "core/sections.h"
#include "core/system/memory.h"
#include "file/cell_diff.h"
#include "file/container.h"
#include "kind.h"

#define PATCH_MAGIC "BESOMDLT"
#define PATCH_HEADER_BYTES 40
#define MAX_PIECE_HEADER 32

enum piece { PIECE_RAW, PIECE_CELLS, PIECE_RUNS, PIECE_COMPACT_RUNS };

/* Bytes in a growing allocation. */
struct blob {
  const besom_allocator *allocator;
  uint8_t *at;
  size_t len, room;
};

static void blob_free(struct blob *b) {
  besom__release(b->allocator, b->at, b->room);
  *b = (struct blob){.allocator = b->allocator};
}

static besom_status blob_reserve(struct blob *b, uint64_t room) {
  if (room <= b->room) return BESOM_OK;
  uint8_t *at = besom__enlarge(b->allocator, b->at, b->len, b->room, room);
  if (!at) return BESOM_NO_MEMORY;
  b->at = at;
  b->room = (size_t)room;
  return BESOM_OK;
}

static besom_status blob_add(void *ctx, const void *data, size_t len) {
  struct blob *b = ctx;
  if (len > SIZE_MAX / 2 - b->len) return BESOM_NO_MEMORY;
  besom_status status =
      b->len + len <= b->room ? BESOM_OK : blob_reserve(b, 2 * (uint64_t)(b->len + len));
  if (status != BESOM_OK) return status;
  if (len) memcpy(b->at + b->len, data, len);
  b->len += len;
  return BESOM_OK;
}

static besom_status saved_bytes(const besom_filter *f, struct blob *out) {
  besom_sink sink = {.write = blob_add, .ctx = out};
  return besom_save(f, &sink);
}

/* ------------------------------------------------------------------ pieces */

#define FROM_ZEROS UINT64_MAX

/* A range of the new file, and how it is stored. */
struct range {
  enum piece piece;
  uint64_t from, len;
  uint64_t source; /* cells: the offset in the old file, or FROM_ZEROS */
  unsigned width;  /* cells: bits per cell */
};

/* Numbers of the head of a piece: 7 bits per byte, the lowest first; the last byte is below 128. */
static void write_number(struct byte_writer *w, uint64_t x) {
  for (; x >= 128; x >>= 7) besom__write_bytes(w, &(uint8_t){(uint8_t)(x | 128)}, 1);
  besom__write_bytes(w, &(uint8_t){(uint8_t)x}, 1);
}

static uint64_t diff_read_number(struct byte_reader *r) {
  uint64_t x = 0;
  uint8_t byte = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    besom__read_bytes(r, &byte, 1);
    x |= (uint64_t)(byte & 127) << shift;
    if (r->failed || byte < 128) return x;
  }
  r->failed = true;
  return 0;
}

static besom_status add_piece(struct blob *patch, struct range s, const uint8_t *payload,
                              uint64_t size) {
  uint8_t head[MAX_PIECE_HEADER];
  struct byte_writer w = {head, head + sizeof head, false};
  write_number(&w, s.piece);
  write_number(&w, s.len);
  write_number(&w, size);
  if (s.piece == PIECE_CELLS) write_number(&w, s.source + 1); /* FROM_ZEROS: 0 */
  if (s.piece == PIECE_CELLS) write_number(&w, s.width);
  besom_status status = blob_add(patch, head, (size_t)(w.at - head));
  return status == BESOM_OK ? blob_add(patch, payload, (size_t)size) : status;
}

static struct cell_ranges diff_cells_of(const struct blob *old, struct range s) {
  bool some = s.source < old->len; /* not FROM_ZEROS */
  return (struct cell_ranges){.old = some ? old->at + s.source : NULL,
                              .old_len = some ? old->len - s.source : 0,
                              .len = s.len,
                              .width = s.width};
}

/* The files and filters of a diff. */
struct both {
  const besom_filter *old, *fresh;
  struct blob old_bytes, new_bytes;
  enum piece runs; /* the form of runs */
};

/* Writes a range as its piece says. Returns its size in bytes; more than `most` if it failed. */
static uint64_t diff_encode(const struct both *b, struct range s, uint8_t *payload, uint64_t most) {
  struct bit_writer w = {payload, 0, 8 * most, false};
  struct cell_ranges cells = diff_cells_of(&b->old_bytes, s);
  memset(payload, 0, (size_t)most);
  if (s.piece == PIECE_COMPACT_RUNS)
    b->fresh->kind->file->run_diff->diff_compact(b->old, b->fresh, &w);
  else if (s.piece == PIECE_RUNS)
    b->fresh->kind->file->run_diff->diff(b->old, b->fresh, &w);
  else
    besom__cells_write(&cells, b->new_bytes.at + s.from, &w);
  return w.failed ? most + 1 : (w.at + 7) / 8;
}

/* The length of bytes without the zeros at their end. */
static uint64_t without_zeros(const uint8_t *bytes, uint64_t len) {
  while (len && !bytes[len - 1]) len--;
  return len;
}

/* Stores a range: as cells of one bit or of a fingerprint, or as runs; raw if that is shorter. */
static besom_status store_range(const struct both *b, struct range s, unsigned fingerprint,
                                struct blob *patch) {
  struct blob payload = {.allocator = patch->allocator};
  besom_status status = blob_reserve(&payload, s.len + 1);
  if (status != BESOM_OK) return status;
  s.width = 1;
  uint64_t size = diff_encode(b, s, payload.at, s.len);
  if (s.piece == PIECE_CELLS && fingerprint > 1 && fingerprint <= MAX_CELL_BITS) {
    struct range by_fingerprint = s;
    by_fingerprint.width = fingerprint;
    if (diff_encode(b, by_fingerprint, payload.at, s.len) < size) s = by_fingerprint;
    size = diff_encode(b, s, payload.at, s.len);
  }
  const uint8_t *raw = b->new_bytes.at + s.from;
  uint64_t raw_size = without_zeros(raw, s.len);
  if (size > raw_size) s.piece = PIECE_RAW;
  status = s.piece == PIECE_RAW ? add_piece(patch, s, raw, raw_size)
                                : add_piece(patch, s, payload.at, size);
  blob_free(&payload);
  return status;
}

/* ------------------------------------------------------------------ sections */

#define MAX_RANGES (MAX_SECTIONS + 2) /* what is before the sections, and behind a table */

/* The diff of runs; NULL of kinds that have none, and of filters that other threads may change. */
static const struct run_diff_ops *run_diff_of(const besom_filter *f) {
  return f->snapshot ? NULL : f->kind->file->run_diff;
}

static bool diff_comparable(const besom_filter *a, const besom_filter *b) {
  const struct run_diff_ops *ops = run_diff_of(a);
  return ops && ops == run_diff_of(b) && ops->comparable(a, b);
}

/* Whether a section of the new file is its quotient table. */
static bool diff_is_table(const struct both *b, struct saved_section s) {
  size_t size;
  const uint8_t *table = b->fresh->kind->file->run_diff->table_bytes(b->fresh, &size);
  return s.len == size && memcmp(b->new_bytes.at + s.offset, table, size) == 0;
}

/* The old section that has the same bytes, or else the same tag and owner; NULL if there is
 * none. */
static const struct saved_section *find_source(const struct saved_section *old, unsigned n,
                                               struct saved_section s) {
  const struct saved_section *like = NULL;
  for (unsigned i = 0; i < n; i++) {
    if (old[i].checksum == s.checksum && old[i].len == s.len) return &old[i];
    if (old[i].tag == s.tag && old[i].owner == s.owner && !like) like = &old[i];
  }
  return like;
}

/* Adds a range, or makes the last one longer, if both continue in the old file as in the new. Cells
 * begin with the range, so the bits of a filter begin a range. */
static void add_range(struct range *list, unsigned *n, struct range s, bool begins) {
  struct range *last = *n ? &list[*n - 1] : NULL;
  bool joins = last && !begins && last->piece == PIECE_CELLS && s.source != FROM_ZEROS &&
               last->source != FROM_ZEROS && s.source - s.from == last->source - last->from;
  if (joins)
    last->len += s.len;
  else
    list[(*n)++] = s;
}

/* The ranges of the new file: one per section, and one for what is before the first. */
static unsigned find_ranges(const struct both *b, struct range list[MAX_RANGES]) {
  struct saved_section old[MAX_SECTIONS], fresh[MAX_SECTIONS];
  unsigned old_n = besom__saved_sections(b->old_bytes.at, old),
           new_n = besom__saved_sections(b->new_bytes.at, fresh), n = 0;
  bool by_runs = diff_comparable(b->old, b->fresh);
  add_range(list, &n, (struct range){.piece = PIECE_CELLS, .len = fresh[0].offset}, true);
  for (unsigned i = 0; i < new_n; i++) {
    const struct saved_section *source = find_source(old, old_n, fresh[i]);
    uint64_t end = i + 1 < new_n ? fresh[i + 1].offset : b->new_bytes.len;
    struct range s = {.piece = PIECE_CELLS,
                      .from = fresh[i].offset,
                      .len = end - fresh[i].offset,
                      .source = source ? source->offset : FROM_ZEROS};
    if (by_runs && diff_is_table(b, fresh[i])) {
      struct range padding = s;
      s.piece = b->runs;
      s.len = fresh[i].len;
      add_range(list, &n, s, true);
      by_runs = false;
      s = padding;
      s.from += fresh[i].len;
      s.len -= fresh[i].len;
      s.source = FROM_ZEROS;
    }
    if (s.len) add_range(list, &n, s, fresh[i].tag == TAG_BITS);
  }
  return n;
}

static unsigned fingerprint_width(const besom_filter *f) {
  struct stats_out stats;
  besom__stats(f, &stats);
  return stats.common.width;
}

static besom_status write_patch(const struct both *b, struct blob *patch) {
  uint8_t head[PATCH_HEADER_BYTES];
  struct byte_writer w = {head, head + sizeof head, false};
  besom__write_bytes(&w, PATCH_MAGIC, 8);
  besom__write_u64(&w, b->runs == PIECE_COMPACT_RUNS ? 2 : 1);
  besom__write_u64(&w, besom__checksum(b->old_bytes.at, b->old_bytes.len));
  besom__write_u64(&w, b->new_bytes.len);
  besom__write_u64(&w, besom__checksum(b->new_bytes.at, b->new_bytes.len));
  besom_status status = blob_add(patch, head, sizeof head);
  struct range ranges[MAX_RANGES];
  unsigned n = find_ranges(b, ranges), fingerprint = fingerprint_width(b->fresh);
  for (unsigned i = 0; i < n && status == BESOM_OK; i++)
    status = store_range(b, ranges[i], fingerprint, patch);
  return status;
}

static besom_status diff_in_form(const besom_filter *old, const besom_filter *fresh,
                                 enum piece runs, const besom_sink *sink) {
  if (!old || !fresh || !sink || !sink->write) return BESOM_INVALID;
  struct blob patch = {.allocator = &fresh->allocator};
  struct both b = {
      .old = old, .fresh = fresh, .old_bytes = patch, .new_bytes = patch, .runs = runs};
  besom_status status = saved_bytes(old, &b.old_bytes);
  if (status == BESOM_OK) status = saved_bytes(fresh, &b.new_bytes);
  if (status == BESOM_OK) status = write_patch(&b, &patch);
  if (status == BESOM_OK) status = sink->write(sink->ctx, patch.at, patch.len);
  blob_free(&b.old_bytes);
  blob_free(&b.new_bytes);
  blob_free(&patch);
  return status;
}

besom_status besom_diff(const besom_filter *old, const besom_filter *fresh,
                        const besom_sink *sink) {
  return diff_in_form(old, fresh, PIECE_RUNS, sink);
}

besom_status besom_diff_compact(const besom_filter *old, const besom_filter *fresh,
                                const besom_sink *sink) {
  bool compact =
      old && fresh && diff_comparable(old, fresh) && fresh->kind->file->run_diff->diff_compact;
  return diff_in_form(old, fresh, compact ? PIECE_COMPACT_RUNS : PIECE_RUNS, sink);
}

/* ------------------------------------------------------------------ patching */

/* A table like that of the old filter, where the new file has its own. */
static besom_status diff_patch_runs(const besom_filter *old, struct range s, struct bit_reader *r,
                                    uint8_t *out) {
  const struct run_diff_ops *ops = run_diff_of(old);
  size_t size = 0;
  if (ops) ops->table_bytes(old, &size);
  if (!ops || s.len != size) return BESOM_CORRUPT;
  if (s.piece == PIECE_RUNS) return ops->patch(old, r, out);
  return ops->patch_compact ? ops->patch_compact(old, r, out) : BESOM_CORRUPT;
}

/* The head of a piece, and the bytes of the patch that follow it. */
struct piece_head {
  uint64_t piece, len, size, source, width;
};

/* False if it cannot be one. */
static bool piece_read_head(struct byte_reader *r, struct piece_head *h) {
  *h = (struct piece_head){.width = 1};
  h->piece = diff_read_number(r);
  h->len = diff_read_number(r);
  h->size = diff_read_number(r);
  if (h->piece == PIECE_CELLS) h->source = diff_read_number(r) - 1;
  if (h->piece == PIECE_CELLS) h->width = diff_read_number(r);
  return !r->failed && h->len && h->size <= (uint64_t)(r->end - r->at) && h->width >= 1 &&
         h->width <= MAX_CELL_BITS;
}

/* Whether the pieces are as long as the new file: before memory of its size is allocated. */
static bool pieces_have_length(struct byte_reader r, uint64_t len) {
  struct piece_head h;
  for (; len && piece_read_head(&r, &h) && h.len <= len; len -= h.len) r.at += h.size;
  return !len && r.at == r.end;
}

/* One piece of the patch: one range of the new file. */
static besom_status patch_piece(const besom_filter *old, const struct blob *old_bytes,
                                uint64_t version, struct byte_reader *r, struct blob *fresh) {
  struct piece_head h;
  if (!piece_read_head(r, &h) || h.len > fresh->room - fresh->len) return BESOM_CORRUPT;
  uint64_t piece = h.piece, len = h.len, size = h.size, source = h.source, width = h.width;
  struct range s = {(enum piece)piece, fresh->len, len, source, (unsigned)width};
  struct bit_reader bits = {r->at, 0, 8 * size, false};
  uint8_t *out = fresh->at + fresh->len;
  besom_status status = BESOM_CORRUPT;
  if (piece == PIECE_RAW && size <= len) {
    memset(out, 0, (size_t)len);
    if (size) memcpy(out, r->at, (size_t)size);
    status = BESOM_OK;
  } else if (piece == PIECE_CELLS) {
    struct cell_ranges cells = diff_cells_of(old_bytes, s);
    status = besom__cells_read(&cells, &bits, out);
  } else if (piece == PIECE_RUNS || (piece == PIECE_COMPACT_RUNS && version == 2)) {
    status = diff_patch_runs(old, s, &bits, out);
  }
  r->at += size;
  fresh->len += (size_t)len;
  return status;
}

static besom_status patch_all(const besom_filter *old, const struct blob *old_bytes,
                              struct byte_reader *r, struct blob *fresh) {
  uint8_t magic[8];
  besom__read_bytes(r, magic, sizeof magic);
  uint64_t version = besom__read_u64(r), of_old = besom__read_u64(r), len = besom__read_u64(r),
           sum = besom__read_u64(r);
  if (r->failed || memcmp(magic, PATCH_MAGIC, sizeof magic) != 0) return BESOM_CORRUPT;
  if (version != 1 && version != 2) return BESOM_NEWER_VERSION;
  if (of_old != besom__checksum(old_bytes->at, old_bytes->len)) return BESOM_INCOMPATIBLE;
  /* No file is empty. */
  if (!len || !pieces_have_length(*r, len)) return BESOM_CORRUPT;
  besom_status status = blob_reserve(fresh, len);
  while (status == BESOM_OK && fresh->len < len)
    status = patch_piece(old, old_bytes, version, r, fresh);
  if (status != BESOM_OK) return status;
  return r->at == r->end && besom__checksum(fresh->at, fresh->len) == sum ? BESOM_OK
                                                                          : BESOM_CORRUPT;
}

/* Runs are read from a plain filter. Other threads may change a concurrent one: a copy is made of
 * its saved bytes. Of a plain filter there is none: NULL. */
static besom_status copy_if_concurrent(const besom_filter *old, const struct blob *old_bytes,
                                       besom_filter **copy) {
  *copy = NULL;
  if (!old->snapshot) return BESOM_OK;
  return besom_load(old_bytes->at, old_bytes->len, &old->allocator, copy);
}

besom_status besom_patch(const besom_filter *old, const void *patch, size_t len,
                         besom_filter **out) {
  if (!old || !patch || !out) return BESOM_INVALID;
  struct blob old_bytes = {.allocator = &old->allocator}, fresh = old_bytes;
  struct byte_reader r = {patch, (const uint8_t *)patch + len, false};
  besom_filter *copy = NULL;
  besom_status status = saved_bytes(old, &old_bytes);
  if (status == BESOM_OK) status = copy_if_concurrent(old, &old_bytes, &copy);
  if (status == BESOM_OK) status = patch_all(copy ? copy : old, &old_bytes, &r, &fresh);
  if (status == BESOM_OK) status = besom_load(fresh.at, fresh.len, &old->allocator, out);
  besom_free(copy);
  blob_free(&old_bytes);
  blob_free(&fresh);
  return status;
}
