/*
 * besom_diff and besom_patch: a patch makes the saved bytes of a new filter from those of the old
 * one. A piece of the file is stored as the positions of changed bits, as the runs of a quotient
 * table that differ (struct run_diff_ops), or raw if that is shorter. docs/format.md has the
 * layout.
 *
 * A patch has the checksum of the old file, which tells whether it fits, and that of the new file,
 * which tells whether the result is right.
 */
#include <string.h>

#include "core/memory.h"
#include "core/sections.h"
#include "filter.h"

#define PATCH_MAGIC "BESOMDLT"
#define PATCH_HEADER_BYTES 40
#define PIECE_HEADER_BYTES 24

enum piece { PIECE_RAW, PIECE_BITS, PIECE_RUNS };

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
  uint8_t *at = besom__allocate(b->allocator, room);
  if (!at) return BESOM_NO_MEMORY;
  if (b->len) memcpy(at, b->at, b->len);
  besom__release(b->allocator, b->at, b->room);
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

/* A range of the new file, and how it is stored. */
struct range {
  enum piece piece;
  uint64_t from, len;
};

static besom_status add_piece(struct blob *patch, struct range s, const uint8_t *payload,
                              uint64_t size) {
  uint8_t head[PIECE_HEADER_BYTES];
  struct byte_writer w = {head, head + sizeof head, false};
  besom__write_u64(&w, s.piece);
  besom__write_u64(&w, s.len);
  besom__write_u64(&w, size);
  besom_status status = blob_add(patch, head, sizeof head);
  return status == BESOM_OK ? blob_add(patch, payload, (size_t)size) : status;
}

static uint8_t byte_at(const struct blob *b, uint64_t i) {
  return i < b->len ? b->at[i] : 0;
}

/* The gaps between bits that changed. */
static void write_changed_bits(const struct blob *old, const struct blob *fresh, struct range s,
                               struct bit_writer *w) {
  uint64_t last = 0;
  for (uint64_t i = 0; i < s.len && !w->failed; i++)
    for (unsigned x = byte_at(old, s.from + i) ^ fresh->at[s.from + i]; x; x &= x - 1) {
      uint64_t bit = 8 * i + (unsigned)__builtin_ctz(x);
      write_gamma(w, bit - last);
      last = bit;
    }
  write_gamma(w, 8 * s.len); /* past the end: no more */
}

/*
 * Stores a range: by its runs if `from` and `to` are given, else by its bits; raw if that is
 * shorter.
 */
static besom_status store_range(const struct blob *old, const struct blob *fresh, struct range s,
                                const besom_filter *from, const besom_filter *to,
                                struct blob *patch) {
  struct blob payload = {.allocator = patch->allocator};
  besom_status status = blob_reserve(&payload, s.len + 1);
  if (status != BESOM_OK) return status;
  struct bit_writer w = {payload.at, 0, 8 * s.len, false};
  if (s.piece == PIECE_RUNS)
    to->kind->run_diff->diff(from, to, &w);
  else
    write_changed_bits(old, fresh, s, &w);
  if (w.failed) {
    s.piece = PIECE_RAW;
    status = add_piece(patch, s, fresh->at + s.from, s.len);
  } else {
    status = add_piece(patch, s, payload.at, (w.at + 7) / 8);
  }
  blob_free(&payload);
  return status;
}

/* Where in the saved bytes the table is: the only position that has just these bytes. */
static bool find_table(const struct blob *saved, const besom_filter *f, struct range *s) {
  size_t size;
  const uint8_t *table = f->kind->run_diff->table_bytes(f, &size);
  for (uint64_t at = 0; at + size <= saved->len; at += 64)
    if (memcmp(saved->at + at, table, size) == 0) {
      *s = (struct range){PIECE_RUNS, at, size};
      return true;
    }
  return false;
}

/* The diff of runs; NULL of kinds that have none, and of filters that other threads may change. */
static const struct run_diff_ops *run_diff_of(const besom_filter *f) {
  return f->snapshot ? NULL : f->kind->run_diff;
}

static bool comparable(const besom_filter *a, const besom_filter *b) {
  const struct run_diff_ops *ops = run_diff_of(a);
  return ops && ops == run_diff_of(b) && ops->comparable(a, b);
}

static besom_status write_patch(const besom_filter *old, const besom_filter *fresh,
                                const struct blob *old_bytes, const struct blob *new_bytes,
                                struct blob *patch) {
  uint8_t head[PATCH_HEADER_BYTES];
  struct byte_writer w = {head, head + sizeof head, false};
  besom__write_bytes(&w, PATCH_MAGIC, 8);
  besom__write_u64(&w, 1);
  besom__write_u64(&w, besom__checksum(old_bytes->at, old_bytes->len));
  besom__write_u64(&w, new_bytes->len);
  besom__write_u64(&w, besom__checksum(new_bytes->at, new_bytes->len));
  besom_status status = blob_add(patch, head, sizeof head);
  struct range table = {PIECE_RUNS, new_bytes->len, 0};
  bool by_runs = comparable(old, fresh) && find_table(new_bytes, fresh, &table);
  uint64_t rest = table.from + table.len;
  if (status == BESOM_OK)
    status = store_range(old_bytes, new_bytes, (struct range){PIECE_BITS, 0, table.from}, NULL,
                         NULL, patch);
  if (status == BESOM_OK && by_runs)
    status = store_range(old_bytes, new_bytes, table, old, fresh, patch);
  if (status == BESOM_OK && rest < new_bytes->len)
    status =
        store_range(old_bytes, new_bytes, (struct range){PIECE_BITS, rest, new_bytes->len - rest},
                    NULL, NULL, patch);
  return status;
}

besom_status besom_diff(const besom_filter *old, const besom_filter *fresh,
                        const besom_sink *sink) {
  if (!old || !fresh || !sink || !sink->write) return BESOM_INVALID;
  struct blob old_bytes = {.allocator = &fresh->allocator}, new_bytes = old_bytes,
              patch = old_bytes;
  besom_status status = saved_bytes(old, &old_bytes);
  if (status == BESOM_OK) status = saved_bytes(fresh, &new_bytes);
  if (status == BESOM_OK) status = write_patch(old, fresh, &old_bytes, &new_bytes, &patch);
  if (status == BESOM_OK) status = sink->write(sink->ctx, patch.at, patch.len);
  blob_free(&old_bytes);
  blob_free(&new_bytes);
  blob_free(&patch);
  return status;
}

/* ------------------------------------------------------------------ patching */

static besom_status patch_bits(const struct blob *old, struct range s, struct bit_reader *r,
                               uint8_t *out) {
  for (uint64_t i = 0; i < s.len; i++) out[i] = byte_at(old, s.from + i);
  for (uint64_t bit = 0;;) {
    uint64_t gap = read_gamma(r);
    if (r->failed) return BESOM_CORRUPT;
    if (gap >= 8 * s.len - bit) return BESOM_OK;
    bit += gap;
    out[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

/* A table like that of the old filter, where the new file has its own. */
static besom_status patch_runs(const besom_filter *old, struct range s, struct bit_reader *r,
                               uint8_t *out) {
  const struct run_diff_ops *ops = run_diff_of(old);
  size_t size = 0;
  if (ops) ops->table_bytes(old, &size);
  return ops && s.len == size ? ops->patch(old, r, out) : BESOM_CORRUPT;
}

/* One piece of the patch: one range of the new file. */
static besom_status patch_piece(const besom_filter *old, const struct blob *old_bytes,
                                struct byte_reader *r, struct blob *fresh) {
  uint64_t piece = besom__read_u64(r), len = besom__read_u64(r), size = besom__read_u64(r);
  if (r->failed || len > fresh->room - fresh->len || size > (uint64_t)(r->end - r->at))
    return BESOM_CORRUPT;
  struct range s = {(enum piece)piece, fresh->len, len};
  struct bit_reader bits = {r->at, 0, 8 * size, false};
  uint8_t *out = fresh->at + fresh->len;
  besom_status status = BESOM_CORRUPT;
  if (piece == PIECE_RAW && size == len) {
    if (len) memcpy(out, r->at, (size_t)len);
    status = BESOM_OK;
  } else if (piece == PIECE_BITS) {
    status = patch_bits(old_bytes, s, &bits, out);
  } else if (piece == PIECE_RUNS) {
    status = patch_runs(old, s, &bits, out);
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
  if (version != 1) return BESOM_NEWER_VERSION;
  if (of_old != besom__checksum(old_bytes->at, old_bytes->len)) return BESOM_INCOMPATIBLE;
  /* A patch of this size cannot describe more: each piece is at most as long as the table. */
  if (len > 2 * (uint64_t)old_bytes->len + 64 * (uint64_t)(r->end - r->at) + 4096)
    return BESOM_CORRUPT;
  besom_status status = blob_reserve(fresh, len);
  while (status == BESOM_OK && fresh->len < len) status = patch_piece(old, old_bytes, r, fresh);
  if (status != BESOM_OK) return status;
  return r->at == r->end && besom__checksum(fresh->at, fresh->len) == sum ? BESOM_OK
                                                                          : BESOM_CORRUPT;
}

besom_status besom_patch(const besom_filter *old, const void *patch, size_t len,
                         besom_filter **out) {
  if (!old || !patch || !out) return BESOM_INVALID;
  struct blob old_bytes = {.allocator = &old->allocator}, fresh = old_bytes;
  struct byte_reader r = {patch, (const uint8_t *)patch + len, false};
  besom_status status = saved_bytes(old, &old_bytes);
  if (status == BESOM_OK) status = patch_all(old, &old_bytes, &r, &fresh);
  if (status == BESOM_OK) status = besom_load(fresh.at, fresh.len, &old->allocator, out);
  blob_free(&old_bytes);
  blob_free(&fresh);
  return status;
}
