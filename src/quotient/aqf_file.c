/* Validating, saving and loading aqf filters. */
#include "core/memory.h"
#include "quotient/aqf.h"

#define TAG_EXCEPTIONS SECTION_TAG('M', 'A', 'R', 'K')

/* ------------------------------------------------------------------ checking */

static const char *check_fingerprint(const struct aqf *a, const struct fingerprint *fp) {
  bool may_be_tombstone = a->keep_tombstones && fp->extension_bits && !fp->value;
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

void besom__aqf_save(const besom_filter *f, struct sections_out *out) {
  const struct aqf *a = const_aqf(f);
  besom__quotient_save(f, out);
  besom__write_double(&out->parameters, a->reserve);
  besom__write_u64(&out->parameters, a->counters.slots);
  besom__write_u64(&out->parameters, a->base.table.extended);
  besom__write_u64(&out->parameters, a->exceptions.count);
  besom__write_u64(&out->parameters, a->keep_tombstones);
  besom__write_u64(&out->parameters, a->counters.tombstones);
  if (a->no_capacity) besom__write_u64(&out->parameters, a->no_capacity);
  add_section(out, TAG_EXCEPTIONS, a->exceptions.cells,
              a->exceptions.size * sizeof *a->exceptions.cells);
}

static besom_status load_exceptions(besom_filter *f, const struct section *saved, uint64_t count) {
  struct exception_set *m = &aqf(f)->exceptions;
  uint64_t size = saved->len / sizeof *m->cells;
  if (saved->len % sizeof *m->cells || count > size) return BESOM_CORRUPT;
  if (size == 0) return BESOM_OK;
  besom_digest *cells = besom__allocate(&f->allocator, (size_t)saved->len);
  if (!cells) return BESOM_NO_MEMORY;
  memcpy(cells, saved->data, (size_t)saved->len);
  *m = (struct exception_set){cells, size, count};
  return besom__exceptions_check(m)
             /* also for trusted files: a search in a full set would not end */
             ? BESOM_CORRUPT
             : BESOM_OK;
}

/* A yesno filter is full from the start, at any load factor. */
static bool has_its_capacity(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  return f->kind == &besom__yesno ||
         f->capacity == besom__quotient_capacity(a->base.table.slots, a->reserve);
}

besom_status besom__aqf_load(besom_filter *f, struct sections_in *in) {
  struct aqf *a = aqf(f);
  besom_status status =
      besom__quotient_load(f, in, f->kind == &besom__yesno_dynamic ? TAGS : NO_CODE);
  if (status != BESOM_OK) return status;
  a->base.repeats.counted = true;
  a->reserve = besom__read_double(&in->parameters);
  a->counters.slots = besom__read_u64(&in->parameters);
  a->base.table.extended = besom__read_u64(&in->parameters);
  uint64_t exceptions = besom__read_u64(&in->parameters), keep = besom__read_u64(&in->parameters);
  a->keep_tombstones = keep;
  a->counters.tombstones = besom__read_u64(&in->parameters);
  bool has_no_capacity = f->kind != &besom__yesno_dynamic && in->parameters.at < in->parameters.end;
  a->no_capacity = has_no_capacity ? besom__read_u64(&in->parameters) : 0;
  const struct section *saved = take_section(in, TAG_EXCEPTIONS);
  bool sound = saved && a->base.table.has_heads && a->base.table.width >= AQF_MIN_WIDTH &&
               a->reserve > 0 && a->reserve <= 0.5 && a->counters.slots <= a->base.table.used &&
               a->counters.tombstones <= a->base.table.extended && keep <= 1 &&
               has_its_capacity(f) && has_no_capacity == (a->no_capacity != 0) &&
               a->no_capacity <= MAX_CAPACITY;
  status = sound ? load_exceptions(f, saved, exceptions) : BESOM_CORRUPT;
  if (status != BESOM_OK) besom__aqf_destroy(f);
  return status;
}
