/* Validating, saving and loading aqf filters. */
#include "core/memory.h"
#include "quotient/aqf.h"

#define TAG_EXCEPTIONS SECTION_TAG('M', 'A', 'R', 'K')

/* ------------------------------------------------------------------ checking */

static const char *check_fingerprint(const struct aqf *a, const struct fingerprint *fp) {
  bool may_be_tombstone = a->options.keep_tombstones && fp->extension_bits && !fp->value;
  if (!fp->count && !may_be_tombstone) return "a fingerprint has a count of 0";
  if (fp->count > AQF_MAX_COUNT) return "a count exceeds the maximum";
  return besom__fingerprint_check(&a->base.table, fp);
}

const char *besom__aqf_validate(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  const char *wrong = besom__qtable_check(t);
  if (wrong) return wrong;
  struct aqf counted = {.base.table.width = t->width};
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  while (besom__qtable_next(&c)) {
    struct fingerprint fp = {.count = 1};
    /* a single untagged slot holds nothing that could be wrong */
    if (UNLIKELY(c.slots > 1 || has_tags(t))) {
      fp = besom__fingerprint_read(t, c.quotient, c.position);
      wrong = check_fingerprint(a, &fp);
      if (wrong) return wrong;
      besom__aqf_add_to_counters(&counted, &fp);
    }
    if (fp.count > AQF_MAX_COUNT - counted.base.head.items)
      return "the number of items exceeds the maximum";
    counted.base.head.items += is_member(&fp) ? fp.count : 0;
  }
  if (counted.base.head.items != f->items) return "the number of items is wrong";
  if (counted.counters.slots != a->counters.slots) return "the number of extension slots is wrong";
  if (counted.base.table.extended != t->extended) return "the number of extensions is wrong";
  if (counted.counters.tombstones != a->counters.tombstones)
    return "the number of tombstones is wrong";
  if (counted.counters.no_entries != a->counters.no_entries)
    return "the number of no entries is wrong";
  if (member_slots(a) > f->capacity) return "the number of items exceeds the capacity";
  return besom__exceptions_check(&a->exceptions);
}

/* ------------------------------------------------------------------ files */

static void save_exceptions(const struct aqf *a, struct sections_out *out) {
  const struct exception_set *m = &a->exceptions;
  const struct aqf_options *options = &a->options;
  besom__write_u64(&out->parameters, options->max_exceptions);
  besom__write_u32(&out->parameters, options->full_exceptions);
  besom__write_u32(&out->parameters, options->forget);
  besom__write_u64(&out->parameters, m->cells);
  besom__write_u64(&out->parameters, m->count);
  besom__write_u64(&out->parameters, m->listed);
  besom__write_u64(&out->parameters, m->hand);
  besom__write_u64(&out->parameters, m->forgotten);
  besom__write_u32(&out->parameters, m->length);
  besom__write_u32(&out->parameters, m->mixed);
  add_section(out, TAG_EXCEPTIONS, m->tags, besom__exceptions_saved_bytes(m));
}

/* Checks the cells also of trusted files: a search in a full set would not end. */
static besom_status load_exceptions(besom_filter *f, struct sections_in *in) {
  struct aqf *a = aqf(f);
  struct exception_set *m = &a->exceptions;
  struct byte_reader *parameters = &in->parameters;
  besom__exceptions_start(m, a->base.table.slots);
  a->options.max_exceptions = besom__read_u64(parameters);
  uint32_t full = besom__read_u32(parameters), forget = besom__read_u32(parameters);
  a->options.full_exceptions = full;
  a->options.forget = forget;
  m->cells = besom__read_u64(parameters);
  m->count = besom__read_u64(parameters);
  m->listed = besom__read_u64(parameters);
  m->hand = besom__read_u64(parameters);
  m->forgotten = besom__read_u64(parameters);
  uint32_t length = besom__read_u32(parameters), mixed = besom__read_u32(parameters);
  m->length = (uint8_t)length;
  m->mixed = mixed;
  const struct section *saved = take_section(in, TAG_EXCEPTIONS);
  bool sound = saved && a->options.max_exceptions <= MOST_EXCEPTIONS && full <= 1 && forget <= 1 &&
               mixed <= 1 && length <= NUMBER_BITS;
  if (sound) return besom__exceptions_load(m, &f->allocator, saved->data, saved->len);
  m->cells = 0;
  return BESOM_CORRUPT;
}

void besom__aqf_save(const besom_filter *f, struct sections_out *out) {
  const struct aqf *a = const_aqf(f);
  besom__quotient_save(f, out);
  besom__write_double(&out->parameters, a->reserve);
  besom__write_u64(&out->parameters, a->counters.slots);
  besom__write_u64(&out->parameters, a->base.table.extended);
  besom__write_u64(&out->parameters,
                   a->options.keep_tombstones | (uint64_t)a->options.published << 1);
  besom__write_u64(&out->parameters, a->counters.tombstones);
  besom__write_u64(&out->parameters, a->no_capacity);
  save_exceptions(a, out);
}

/* A yesno filter is full from the start, at any load factor. */
static bool has_its_capacity(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  return is_kind(f->kind, &besom__yesno) ||
         f->capacity == besom__quotient_capacity(a->base.table.slots, a->reserve);
}

besom_status besom__aqf_load(besom_filter *f, struct sections_in *in) {
  struct aqf *a = aqf(f);
  besom_status status =
      besom__quotient_load(f, in, is_kind(f->kind, &besom__yesno_dynamic) ? TAGS : NO_CODE);
  if (status != BESOM_OK) return status;
  a->base.repeats.counted = true;
  a->reserve = besom__read_double(&in->parameters);
  a->counters.slots = besom__read_u64(&in->parameters);
  a->base.table.extended = besom__read_u64(&in->parameters);
  uint64_t form = besom__read_u64(&in->parameters);
  a->options.keep_tombstones = form & 1;
  a->options.published = form & 2;
  a->counters.tombstones = besom__read_u64(&in->parameters);
  a->no_capacity = besom__read_u64(&in->parameters);
  bool sound = a->base.table.has_heads && a->base.table.width >= AQF_MIN_WIDTH && a->reserve > 0 &&
               a->reserve <= 0.5 && a->counters.slots <= a->base.table.used &&
               a->counters.tombstones <= a->base.table.extended && form <= 3 &&
               has_its_capacity(f) && a->no_capacity <= MAX_CAPACITY;
  status = sound ? load_exceptions(f, in) : BESOM_CORRUPT;
  if (status != BESOM_OK) besom__aqf_destroy(f);
  return status;
}
