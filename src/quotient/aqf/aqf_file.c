/* Validating, saving and loading aqf filters. */
#include "exceptions/pairs.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"

#define TAG_EXCEPTIONS SECTION_TAG('M', 'A', 'R', 'K')

/* ------------------------------------------------------------------ checking */

static const char *check_fingerprint(const struct aqf *a, const struct fingerprint *fp) {
  bool may_be_tombstone = a->options.keep_tombstones && fp->extension_bits && !fp->value;
  if (!fp->count && !may_be_tombstone) return "a fingerprint has a count of 0";
  if (fp->count > AQF_MAX_COUNT) return "a count exceeds the maximum";
  return besom__fingerprint_check(&a->base.table, fp);
}

/* Checks one fingerprint and adds it to what is counted. */
static const char *validate_one(const struct aqf *a, uint64_t position, struct aqf *counted) {
  struct fingerprint fp = besom__fingerprint_read(&a->base.table, 0, position);
  const char *wrong = check_fingerprint(a, &fp);
  if (wrong) return wrong;
  besom__aqf_add_to_counters(counted, &fp);
  if (fp.count > AQF_MAX_COUNT - counted->base.head.items)
    return "the number of items exceeds the maximum";
  counted->base.head.items += is_member(&fp) ? fp.count : 0;
  return NULL;
}

/*
 * Checks the fingerprints of a block of a table that besom__qtable_check found sound. `below`: the
 * first slot of the next block is a further slot. A single untagged slot holds nothing that could
 * be wrong.
 */
static const char *validate_block(const struct aqf *a, uint64_t b, bool below,
                                  struct aqf *counted) {
  const struct qtable *t = &a->base.table;
  uint64_t heads = block_heads(t, block_at(t, b)), to_read = heads;
  const char *wrong = NULL;
  if (!has_tags(t)) {
    to_read &= besom__further_slots(t, b) >> 1 | (uint64_t)below << 63;
    counted->base.head.items += popcount(heads & ~to_read);
  }
  for (; to_read && !wrong; to_read &= to_read - 1)
    wrong = validate_one(a, 64 * b + trailing_zeros(to_read), counted);
  return wrong;
}

const char *besom__aqf_validate(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  const char *wrong = besom__qtable_check(t);
  struct aqf counted = {.base.table = {.width = t->width, .code = t->code}};
  for (uint64_t b = 0; b < t->room / 64 && !wrong; b++) {
    bool below = b + 1 < t->room / 64 && besom__further_slots(t, b + 1) & 1;
    wrong = validate_block(a, b, below, &counted);
  }
  if (wrong) return wrong;
  if (counted.base.head.items != f->items) return "the number of items is wrong";
  if (counted.counters.slots != a->counters.slots) return "the number of extension slots is wrong";
  if (counted.base.table.extended != t->extended) return "the number of extensions is wrong";
  if (t->code == WHOLE_SLOTS && counted.counters.extensions && !a->counters.extensions)
    return "there are extensions";
  if (counted.counters.tombstones != a->counters.tombstones)
    return "the number of tombstones is wrong";
  if (counted.counters.no_entries != a->counters.no_entries)
    return "the number of no entries is wrong";
  return member_slots(a) > f->capacity ? "the number of items exceeds the capacity" : NULL;
}

/* ------------------------------------------------------------------ files */

/* Since before other kinds had exceptions, these are among the parameters. */
static void save_exceptions(const besom_filter *f, struct sections_out *out) {
  const struct exception_set none = {0}, *m = f->exceptions ? f->exceptions : &none;
  besom__write_u64(&out->parameters, f->reports.most);
  besom__write_u32(&out->parameters, besom__reports_are_full(f));
  besom__write_u32(&out->parameters, f->reports.forget);
  besom__exceptions_write(m, &out->parameters);
  add_section(out, TAG_EXCEPTIONS, m->tags, besom__exceptions_saved_bytes(m));
}

/* Checks the cells also of trusted files: a search in a full set would not end. */
static besom_status load_exceptions(besom_filter *f, struct sections_in *in) {
  struct byte_reader *parameters = &in->parameters;
  struct exception_set m;
  besom__exceptions_start(&m, const_aqf(f)->base.table.slots);
  f->reports.most = besom__read_u64(parameters);
  uint32_t full = besom__read_u32(parameters), forget = besom__read_u32(parameters);
  f->reports.form = (full != 0) == f->kind->full_exceptions ? EXCEPTIONS_DEFAULT
                    : full                                  ? EXCEPTIONS_FULL
                                                            : EXCEPTIONS_SHORT;
  f->reports.forget = forget;
  besom__exceptions_read(&m, parameters);
  const struct section *saved = take_section(in, TAG_EXCEPTIONS);
  if (!saved || f->reports.most > MOST_EXCEPTIONS || full > 1 || forget > 1) return BESOM_CORRUPT;
  besom_status status = besom__exceptions_load(&m, &f->allocator, saved->data, saved->len);
  if (status != BESOM_OK || !exceptions_are_changed(&m)) return status;
  struct exception_set *own = besom__reports_set(f);
  if (own)
    *own = m;
  else
    besom__exceptions_free(&m, &f->allocator);
  return own ? BESOM_OK : BESOM_NO_MEMORY;
}

static bool has_whole_extensions(const struct aqf *a) {
  return a->base.table.code == WHOLE_SLOTS && a->counters.extensions;
}

void besom__aqf_save(const besom_filter *f, struct sections_out *out) {
  const struct aqf *a = const_aqf(f);
  besom__quotient_save(f, out);
  besom__write_double(&out->parameters, a->reserve);
  besom__write_u64(&out->parameters, a->counters.slots);
  besom__write_u64(&out->parameters, a->base.table.extended);
  besom__write_u64(&out->parameters, (a->options.keep_tombstones ? AQF_TOMBSTONES : 0) |
                                         (a->options.published ? AQF_PUBLISHED : 0) |
                                         (f->kind->map ? AQF_MAPLET : 0) |
                                         (has_whole_extensions(a) ? AQF_EXTENSIONS : 0));
  besom__write_u64(&out->parameters, a->counters.tombstones);
  besom__write_u64(&out->parameters, f->reports.no_capacity);
  save_exceptions(f, out);
}

/* A yesno filter is full from the start, at any load factor. */
static bool has_its_capacity(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  return is_kind(f->kind, &besom__yesno) ||
         f->capacity == besom__quotient_capacity(a->base.table.slots, a->reserve);
}

/*
 * Whether this kind can have the saved form. Sets options and, of a maplet, the kind. Version 0.2
 * wrote the published form with tags in further slots.
 */
static bool aqf_load_form(besom_filter *f, uint64_t form) {
  struct aqf *a = aqf(f);
  if (a->base.table.code == WHOLE_SLOTS) {
    if (!(form & AQF_PUBLISHED)) return false;
    a->counters.extensions = form & AQF_EXTENSIONS;
    form &= ~(uint64_t)AQF_EXTENSIONS;
  }
  a->options.keep_tombstones = form & AQF_TOMBSTONES;
  a->options.published = form & AQF_PUBLISHED;
  bool maplet = a->base.table.code == VALUES_BEHIND;
  if (form < AQF_MAPLET) return !maplet;
  if (form != AQF_MAPLET || !maplet || !f->kind->maplet || !a->base.table.value_bits) return false;
  f->kind = f->kind->maplet;
  return true;
}

besom_status besom__aqf_load(besom_filter *f, struct sections_in *in) {
  uint32_t saved = besom__saved_code(in);
  bool is_form = is_kind(f->kind, &besom__aqf) && (saved == WHOLE_SLOTS || saved == VALUES_BEHIND);
  return besom__aqf_load_coded(f, in, is_form ? (enum table_code)saved : NO_CODE);
}

besom_status besom__aqf_load_coded(besom_filter *f, struct sections_in *in, enum table_code code) {
  struct aqf *a = aqf(f);
  besom_status status = besom__quotient_load(f, in, code);
  if (status != BESOM_OK) return status;
  a->base.repeats.counted = true;
  a->reserve = besom__read_double(&in->parameters);
  a->counters.slots = besom__read_u64(&in->parameters);
  a->base.table.extended = besom__read_u64(&in->parameters);
  uint64_t form = besom__read_u64(&in->parameters);
  a->counters.tombstones = besom__read_u64(&in->parameters);
  f->reports.no_capacity = besom__read_u64(&in->parameters);
  f->reports.reserve = a->reserve;
  bool sound = a->base.table.has_heads && a->base.table.width >= AQF_MIN_WIDTH && a->reserve > 0 &&
               a->reserve <= 0.5 && a->counters.slots <= a->base.table.used &&
               a->counters.tombstones <= a->base.table.extended && has_its_capacity(f) &&
               f->reports.no_capacity <= MAX_CAPACITY && aqf_load_form(f, form);
  status = sound ? load_exceptions(f, in) : BESOM_CORRUPT;
  if (status == BESOM_OK && f->kind->map && !besom__pairs_are_sound(f)) status = BESOM_CORRUPT;
  if (status != BESOM_OK) besom__quotient_destroy(f);
  return status;
}
