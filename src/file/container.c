#include "file/container.h"

#include "core/bits.h"
#include "core/sections.h"
#include "core/system/huge_pages.h"
#include "exceptions/reports.h"
#include "kinds.h"

/* Sizes and offsets in the file: see docs/format.md. */
#define MAGIC \
  "\x89"      \
  "BESOM\r\n"
#define FORMAT_VERSION 1
/*
 * Of sets, maplets and lists of domains: readers of version 1 would remove, would return one of
 * several values, or would not ask parents.
 */
#define SECOND_VERSION 2

#define TAG_NOTE SECTION_TAG('N', 'O', 'T', 'E')

/* The flags of the filter. */
enum { SAVED_SET = 1, SAVED_MAPLET = 2 };
#define HEADER_BYTES 64
#define KIND_BYTES 16
#define HEADER_CHECKSUM_AT 56
#define SECTION_BYTES 32
#define ALIGNMENT 64
#define PARAMETER_BYTES 8192 /* more than any kind needs */

static uint64_t aligned(uint64_t offset) {
  return (offset + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* ------------------------------------------------------------------ save */

static uint64_t header_checksum(const uint8_t *header, unsigned sections) {
  uint8_t sums[16];
  store64(sums, besom__checksum(header, HEADER_CHECKSUM_AT));
  store64(sums + 8, besom__checksum(header + HEADER_BYTES, SECTION_BYTES * (size_t)sections));
  return besom__checksum(sums, sizeof sums);
}

/* Writes the header and the section table. Returns their size. */
static size_t write_header(const besom_filter *f, const struct sections_out *out, uint8_t *header) {
  size_t size = HEADER_BYTES + SECTION_BYTES * (size_t)out->n;
  struct byte_writer table = {header + HEADER_BYTES, header + size, false};
  uint64_t at = size;
  for (unsigned i = 0; i < out->n; i++) {
    at = aligned(at);
    besom__write_u32(&table, out->list[i].tag);
    besom__write_u32(&table, out->list[i].owner);
    besom__write_u64(&table, at);
    besom__write_u64(&table, out->list[i].len);
    besom__write_u64(&table, besom__checksum(out->list[i].data, (size_t)out->list[i].len));
    at += out->list[i].len;
  }
  struct byte_writer w = {header, header + HEADER_BYTES, false};
  char kind[KIND_BYTES] = {0};
  memcpy(kind, f->kind->name, strlen(f->kind->name));
  besom__write_bytes(&w, MAGIC, 8);
  bool second = f->domains.labels || f->is_set || f->kind->map;
  besom__write_u32(&w, second ? SECOND_VERSION : FORMAT_VERSION);
  besom__write_u32(&w, out->n);
  besom__write_bytes(&w, kind, KIND_BYTES);
  besom__write_u64(&w, at);
  besom__write_u32(&w, f->domains.labels);
  besom__write_u32(&w, f->domains.excepts);
  besom__write_u64(&w, 0);
  besom__write_u64(&w, header_checksum(header, out->n));
  return size;
}

static besom_status write_all(const struct sections_out *out, const uint8_t *header, size_t size,
                              const besom_sink *sink) {
  static const uint8_t zeros[ALIGNMENT];
  besom_status status = sink->write(sink->ctx, header, size);
  uint64_t at = size;
  for (unsigned i = 0; i < out->n && status == BESOM_OK; i++) {
    size_t padding = (size_t)(aligned(at) - at);
    if (padding) status = sink->write(sink->ctx, zeros, padding);
    if (status != BESOM_OK) break;
    if (out->list[i].len)
      status = sink->write(sink->ctx, out->list[i].data, (size_t)out->list[i].len);
    at = aligned(at) + out->list[i].len;
  }
  return status;
}

/* The memory that sections point to, besides that of the filter. */
struct parameter_memory {
  uint8_t own[PARAMETER_BYTES], reports[REPORT_PARAMETER_BYTES];
  uint8_t layers[MAX_SAVED_LAYERS][LAYER_PARAMETER_BYTES];
};

/* All sections of a filter. False if there are too many: no kind has so many parts. */
static bool collect_sections(const besom_filter *f, struct parameter_memory *memory,
                             struct sections_out *out) {
  *out = (struct sections_out){.n = 1, .layer_parameters = memory->layers};
  out->parameters = (struct byte_writer){memory->own, memory->own + PARAMETER_BYTES, false};
  besom__write_u32(&out->parameters, f->hasher.id);
  besom__write_u32(&out->parameters,
                   (f->is_set ? SAVED_SET : 0) | (f->kind->map ? SAVED_MAPLET : 0));
  besom__write_bytes(&out->parameters, f->hasher.seed, SEED_BYTES);
  besom__write_u64(&out->parameters, f->items);
  besom__write_u64(&out->parameters, f->capacity);
  f->kind->file->save(f, out);
  besom__reports_save(f, memory->reports, out);
  if (f->note.len) add_section(out, TAG_NOTE, f->note.data, f->note.len);
  out->list[0] = (struct section){TAG_PARAMETERS, 0, memory->own,
                                  (uint64_t)(out->parameters.at - memory->own)};
  return !out->failed && !out->parameters.failed;
}

static besom_status container_save(const besom_filter *f, const besom_sink *sink) {
  uint8_t header[HEADER_BYTES + SECTION_BYTES * MAX_SECTIONS];
  struct parameter_memory memory;
  struct sections_out out;
  if (!collect_sections(f, &memory, &out)) return BESOM_UNSUPPORTED;
  size_t size = write_header(f, &out, header);
  return write_all(&out, header, size, sink);
}

besom_status besom_save(const besom_filter *f, const besom_sink *sink) {
  if (!f || !sink || !sink->write) return BESOM_INVALID;
  struct reader v = besom__reader_enter(f);
  besom__pause_writers(v.filter);
  besom_status status = container_save(v.filter, sink);
  besom__resume_writers(v.filter);
  besom__reader_leave(v);
  return status;
}

unsigned besom__saved_sections(const uint8_t *data, struct saved_section *out) {
  struct byte_reader r = {data + 12, data + HEADER_BYTES, false};
  unsigned n = besom__read_u32(&r);
  struct byte_reader table = {data + HEADER_BYTES, data + HEADER_BYTES + SECTION_BYTES * (size_t)n,
                              false};
  for (unsigned i = 0; i < n; i++) {
    out[i].tag = besom__read_u32(&table);
    out[i].owner = besom__read_u32(&table);
    out[i].offset = besom__read_u64(&table);
    out[i].len = besom__read_u64(&table);
    out[i].checksum = besom__read_u64(&table);
  }
  return n;
}

/* ------------------------------------------------------------------ huge pages */

static bool add_huge_pages(const besom_filter *f, uint64_t *bytes) {
  struct parameter_memory memory;
  struct sections_out out;
  bool known = false;
  *bytes = 0;
  if (!collect_sections(f, &memory, &out)) return false;
  for (unsigned i = 0; i < out.n; i++)
    if (out.list[i].len >= HUGE_PAGE)
      known = besom__add_huge_pages(out.list[i].data, (size_t)out.list[i].len, bytes);
  return known;
}

bool besom__huge_page_bytes(const besom_filter *f, uint64_t *bytes) {
  struct reader v = besom__reader_enter(f);
  besom__pause_writers(v.filter);
  bool known = add_huge_pages(v.filter, bytes);
  besom__resume_writers(v.filter);
  besom__reader_leave(v);
  return known;
}

/* ------------------------------------------------------------------ load */

/* Records what is wrong and at which offset; fault may be NULL. Returns CORRUPT. */
static besom_status corrupt(besom_fault *fault, const char *what, uint64_t offset) {
  if (fault) *fault = (besom_fault){what, offset};
  return BESOM_CORRUPT;
}

static bool all_zero(const uint8_t *data, uint64_t len) {
  for (uint64_t i = 0; i < len; i++)
    if (data[i]) return false;
  return true;
}

/*
 * Reads the section table. Sections must be in order, aligned, without gaps but for zero padding,
 * and must end at the end of the file.
 */
static besom_status read_sections(const uint8_t *data, size_t len, unsigned n,
                                  struct sections_in *in, bool trusted, besom_fault *fault) {
  uint64_t at = HEADER_BYTES + SECTION_BYTES * (uint64_t)n;
  struct byte_reader table = {data + HEADER_BYTES, data + at, false};
  for (unsigned i = 0; i < n; i++) {
    uint32_t tag = besom__read_u32(&table), owner = besom__read_u32(&table);
    uint64_t offset = besom__read_u64(&table), size = besom__read_u64(&table),
             checksum = besom__read_u64(&table);
    if (offset != aligned(at) || offset > len || size > len - offset)
      return corrupt(fault, "a section has the wrong offset or length",
                     HEADER_BYTES + SECTION_BYTES * (uint64_t)i);
    bool check = !trusted || tag == TAG_PARAMETERS;
    if (check && !all_zero(data + at, offset - at))
      return corrupt(fault, "bytes between sections are not zero", at);
    if (check && besom__checksum(data + offset, (size_t)size) != checksum)
      return corrupt(fault, "the checksum of a section is wrong", offset);
    in->list[i] = (struct section){tag, owner, data + offset, size};
    at = offset + size;
  }
  in->n = n;
  in->parameters = take_parameters(in);
  if (at != len) return corrupt(fault, "there are bytes after the last section", at);
  return in->parameters.failed ? corrupt(fault, "the parameter section is missing", HEADER_BYTES)
                               : BESOM_OK;
}

/* The bytes after the name must be zero, so that each name has one encoding. */
static bool padded_with_zeros(const char *kind) {
  size_t len = strlen(kind);
  return all_zero((const uint8_t *)kind + len, KIND_BYTES - len);
}

/* What version 1 has as zeros. */
static bool read_domains(struct byte_reader *r, uint32_t version, struct domain_mode *mode) {
  uint32_t labels = besom__read_u32(r), excepts = besom__read_u32(r);
  uint64_t reserved = besom__read_u64(r);
  *mode = (struct domain_mode){(uint8_t)labels, excepts};
  return !reserved && labels <= 127 && excepts <= (labels ? 1 : 0) &&
         (version == SECOND_VERSION || !labels);
}

static besom_status read_header(const uint8_t *data, size_t len, char *kind, unsigned *sections,
                                uint32_t *version_out, struct domain_mode *domains,
                                besom_fault *fault) {
  if (len < HEADER_BYTES || memcmp(data, MAGIC, 8) != 0)
    return corrupt(fault, "not a saved filter", 0);
  struct byte_reader r = {data + 8, data + HEADER_BYTES, false};
  uint32_t version = besom__read_u32(&r);
  *sections = besom__read_u32(&r);
  besom__read_bytes(&r, kind, KIND_BYTES);
  uint64_t length = besom__read_u64(&r);
  *version_out = version;
  if (version > SECOND_VERSION) return BESOM_NEWER_VERSION;
  bool is_header = version && read_domains(&r, version, domains) && padded_with_zeros(kind) &&
                   *sections && *sections <= MAX_SECTIONS;
  if (!is_header) return corrupt(fault, "the header is damaged", 0);
  if (length > len) return corrupt(fault, "the file is cut short", len);
  if (length < len) return corrupt(fault, "there are bytes after the filter", length);
  if (len < HEADER_BYTES + SECTION_BYTES * (size_t)*sections)
    return corrupt(fault, "the header is damaged", 0);
  bool is_right = besom__read_u64(&r) == header_checksum(data, *sections);
  return is_right ? BESOM_OK
                  : corrupt(fault, "the checksum of the header is wrong", HEADER_CHECKSUM_AT);
}

/* A note is not empty. */
static besom_status container_read_note(besom_filter *f, struct sections_in *in) {
  const struct section *saved = take_section(in, TAG_NOTE);
  if (!saved) return BESOM_OK;
  if (!saved->len) return BESOM_CORRUPT;
  if (!f->mapping) return besom__note_copy(f, saved->data, (size_t)saved->len);
  f->note = (struct filter_note){(void *)(uintptr_t)saved->data, (size_t)saved->len};
  return BESOM_OK;
}

/* Fills the head from the parameters, then calls the kind's load and validate. */
static besom_status container_read_filter(besom_filter *f, struct sections_in *in, bool trusted,
                                          bool is_maplet, besom_fault *fault) {
  f->items = besom__read_u64(&in->parameters);
  f->capacity = besom__read_u64(&in->parameters);
  besom_status status = f->kind->file->load(f, in);
  if (status == BESOM_CORRUPT)
    return corrupt(fault, "the parameters contradict each other", HEADER_BYTES);
  if (status != BESOM_OK) return status;
  status = besom__reports_load(f, in);
  if (status != BESOM_OK) {
    f->kind->destroy(f);
    return status == BESOM_CORRUPT ? corrupt(fault, "the exceptions are damaged", HEADER_BYTES)
                                   : status;
  }
  if (is_maplet) status = container_read_note(f, in);
  if (status != BESOM_OK) {
    f->kind->destroy(f);
    return status;
  }
  bool all_read =
      !in->parameters.failed && in->parameters.at == in->parameters.end && in->taken == in->n;
  const char *reason = !all_read                     ? "there are extra parameters or sections"
                       : is_maplet != !!f->kind->map ? "the header is damaged"
                       : trusted                     ? NULL
                                                     : f->kind->file->validate(f);
  if (!reason) return BESOM_OK;
  f->kind->destroy(f);
  return corrupt(fault, reason, HEADER_BYTES);
}

/* The hash and its seed are the first parameters, because the filter is created with them. */
static besom_status read_hasher(struct sections_in *in, uint32_t *flags, struct hasher *hasher) {
  uint8_t seed[SEED_BYTES];
  uint32_t hash = besom__read_u32(&in->parameters);
  *flags = besom__read_u32(&in->parameters);
  besom__read_bytes(&in->parameters, seed, SEED_BYTES);
  return *flags > (SAVED_SET | SAVED_MAPLET) ? BESOM_CORRUPT
                                             : besom__hasher_restore(hasher, hash, seed);
}

besom_status besom__container_load(const uint8_t *data, size_t len,
                                   const besom_allocator *allocator, bool mapped, unsigned flags,
                                   besom_fault *fault, besom_filter **out) {
  char name[KIND_BYTES + 1] = {0}; /* one kind's name has KIND_BYTES letters */
  unsigned sections;
  uint32_t version = 0;
  struct sections_in in = {0};
  struct hasher hasher;
  struct domain_mode domains;
  besom_filter *f;
  besom_status status = read_header(data, len, name, &sections, &version, &domains, fault);
  if (status == BESOM_OK)
    status = read_sections(data, len, sections, &in, flags & BESOM_OPEN_TRUSTED, fault);
  if (status != BESOM_OK) return status;
  const struct besom_kind *kind = besom__kind_named(name);
  if (!kind) return besom__kind_is_left_out(name) ? BESOM_UNKNOWN_KIND : BESOM_NEWER_VERSION;
  if (domains.labels && kind->query.contains_key) return corrupt(fault, "the header is damaged", 0);
  uint32_t saved;
  status = read_hasher(&in, &saved, &hasher);
  if (status == BESOM_OK && (version == SECOND_VERSION) != (saved || domains.labels))
    return corrupt(fault, "the header is damaged", 0);
  if (status == BESOM_OK && saved & SAVED_SET && kind->refuses_set)
    return corrupt(fault, "this kind cannot be a set", 8);
  bool is_maplet = saved & SAVED_MAPLET;
  if (status == BESOM_OK && is_maplet && (!kind->maplet || domains.labels))
    return corrupt(fault, "this kind cannot be a maplet", 8);
  if (status == BESOM_CORRUPT) return corrupt(fault, "the hash is damaged", HEADER_BYTES);
  if (status == BESOM_OK) status = besom__filter_new(kind, &hasher, allocator, &f);
  if (status != BESOM_OK) return status;
  f->is_set = saved & SAVED_SET;
  if (mapped) {
    f->mapping = (void *)(uintptr_t)data;
    f->mapping_size = len;
  }
  bool trusted = flags & (BESOM_OPEN_TRUSTED | BESOM_OPEN_CHECKSUMS);
  status = container_read_filter(f, &in, trusted, is_maplet, fault);
  f->domains = domains;                        /* before its calls are chosen */
  if (status != BESOM_OK) f->mapping_size = 0; /* the caller still owns the mapping */
  return besom__filter_made(status, f, out);
}

besom_status besom_load(const void *data, size_t len, const besom_allocator *allocator,
                        besom_filter **out) {
  if (!data || !out) return BESOM_INVALID;
  return besom__container_load(data, len, allocator, false, 0, NULL, out);
}
