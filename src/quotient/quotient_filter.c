#include "quotient/quotient_filter.h"

#include "core/hash.h"
#include "core/system/memory.h"
#include "quotient/fingerprint/multislot.h"
#include "quotient/quotient_calls.h"
#include "quotient/quotient_diff.h"
#include "quotient/table/block_search.h"

struct qtable_shape besom__quotient_shape(const struct qtable *t) {
  return (struct qtable_shape){.slots = t->slots,
                               .width = t->width,
                               .heads = t->has_heads,
                               .code = t->code,
                               .value_bits = t->value_bits};
}

besom_status besom__quotient_table_new(const besom_filter *f, const struct qtable_shape *shape,
                                       struct qtable *out) {
  uint64_t bytes = besom__qtable_bytes(shape);
  if (!bytes) return BESOM_INVALID;
  void *blocks = besom__allocate(&f->allocator, bytes);
  if (!blocks) return BESOM_NO_MEMORY;
  besom__qtable_init(out, shape, const_quotient_filter(f)->isa, blocks);
  return BESOM_OK;
}

void besom__quotient_table_free(const besom_filter *f, struct qtable *t) {
  besom__release(&f->allocator, t->blocks, besom__qtable_size(t));
}

besom_status besom__quotient_create_like(besom_filter *f, const besom_filter *model) {
  struct qtable_shape shape = besom__quotient_shape(&const_quotient_filter(model)->table);
  quotient_filter(f)->isa = const_quotient_filter(model)->isa;
  quotient_filter(f)->repeats = const_quotient_filter(model)->repeats;
  return besom__quotient_table_new(f, &shape, &quotient_filter(f)->table);
}

uint64_t besom__quotient_keys(const besom_filter *f) {
  const struct quotient_filter *q = const_quotient_filter(f);
  return besom__keys_within(&q->repeats, f->capacity, q->table.width);
}

/* ------------------------------------------------------------------ hot calls */

/* A filter that is still being made has no operations yet. */
const struct quotient_calls *besom__calls_to_query(const besom_filter *f) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return t->ops && has_constant_offsets(t) && f->hasher.id == HASH_XXH3 ? t->ops->calls : NULL;
}

const struct quotient_calls *besom__calls_to_insert(const besom_filter *f) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return t->has_heads && !t->value_bits ? besom__calls_to_query(f) : NULL;
}

const struct remove_calls *besom__quotient_remove_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_insert(f);
  return calls ? &calls->removes : NULL;
}

void besom__quotient_prefetch(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  (void)target_prefetched(t, d, false, t->width);
}

/* ------------------------------------------------------------------ files */

/* The saved flags. */
enum { HAS_HEADS = 1, HAS_REPEATS = 2 };

void besom__quotient_save(const besom_filter *f, struct sections_out *out) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  const struct repetition *r = &const_quotient_filter(f)->repeats;
  besom__write_u64(&out->parameters, t->slots);
  besom__write_u32(&out->parameters, t->width);
  besom__write_u32(&out->parameters,
                   (t->has_heads ? HAS_HEADS : 0) | (r->share > 0 ? HAS_REPEATS : 0));
  besom__write_u32(&out->parameters, t->value_bits);
  besom__write_u32(&out->parameters, t->code);
  besom__write_u64(&out->parameters, t->used);
  besom__write_u64(&out->parameters, t->further_slots);
  if (r->share > 0) {
    besom__write_double(&out->parameters, r->share);
    besom__write_u64(&out->parameters, r->copies);
  }
  add_section(out, TAG_BITS, t->blocks, besom__qtable_size(t));
}

static bool load_repeats(const besom_filter *f, struct byte_reader *in, struct repetition *r) {
  r->share = besom__read_double(in);
  r->copies = besom__read_u64(in);
  return f->kind->takes_repeats && r->share > 0 && r->share <= 1 && r->copies >= 2 &&
         r->copies <= MAX_EXPECTED_COPIES;
}

uint32_t besom__saved_code(const struct sections_in *in) {
  struct byte_reader ahead = in->parameters;
  (void)besom__read_u64(&ahead);                             /* slots */
  for (int i = 0; i < 3; i++) (void)besom__read_u32(&ahead); /* width, flags, value bits */
  return besom__read_u32(&ahead);
}

besom_status besom__quotient_load(besom_filter *f, struct sections_in *in, enum table_code code) {
  struct qtable *t = &quotient_filter(f)->table;
  struct qtable_shape shape = {.slots = besom__read_u64(&in->parameters),
                               .width = besom__read_u32(&in->parameters)};
  uint32_t flags = besom__read_u32(&in->parameters);
  shape.heads = flags & HAS_HEADS;
  shape.value_bits = besom__read_u32(&in->parameters);
  uint32_t saved_code = besom__read_u32(&in->parameters);
  shape.code = code;
  uint64_t used = besom__read_u64(&in->parameters), further = besom__read_u64(&in->parameters);
  bool sound = flags <= (HAS_HEADS | HAS_REPEATS) && (shape.heads || !further);
  if (sound && flags & HAS_REPEATS)
    sound = load_repeats(f, &in->parameters, &quotient_filter(f)->repeats);
  const struct section *bits = take_section(in, TAG_BITS);
  uint64_t bytes = besom__qtable_bytes(&shape);
  if (!sound || !bits || saved_code != code || !bytes || bits->len != bytes) return BESOM_CORRUPT;
  quotient_filter(f)->isa = besom__isa_best();
  if (f->mapping) {
    besom__qtable_init(t, &shape, quotient_filter(f)->isa, (void *)(uintptr_t)bits->data);
  } else {
    besom_status status = besom__quotient_table_new(f, &shape, t);
    if (status != BESOM_OK) return status;
    memcpy(t->blocks, bits->data, (size_t)bytes);
  }
  t->used = used;
  t->further_slots = further;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ bulk loading */

#define LOAD_BATCH 512

/* Digests come bucket by bucket. They need not ascend; only their quotients must. */
struct bulk_loading {
  struct qtable_appender out;
  uint64_t capacity;
  besom_digest batch[LOAD_BATCH];
  size_t n;
};

static besom_status bulk_load_batch(struct bulk_loading *a) {
  besom_status status = a->out.table.ops->append(&a->out, a->batch, a->n);
  a->n = 0;
  return status == BESOM_OK && a->out.table.used > a->capacity ? BESOM_FULL : status;
}

static besom_status bulk_load_one(void *to, besom_digest d) {
  struct bulk_loading *a = to;
  a->batch[a->n++] = d;
  return a->n == LOAD_BATCH ? bulk_load_batch(a) : BESOM_OK;
}

besom_status besom__quotient_bulk_load(besom_filter *f, const struct digest_walk *walk) {
  struct qtable *t = &quotient_filter(f)->table;
  struct bulk_loading a = {.out = qtable_append_start(t), .capacity = f->capacity};
  besom_status status = walk->run(walk->ctx, bulk_load_one, &a);
  if (status == BESOM_OK && a.n) status = bulk_load_batch(&a);
  qtable_append_finish(&a.out, t);
  f->items = t->used;
  return status;
}

/* ------------------------------------------------------------------ iteration */

static struct qtable_cursor *cursor_of(besom_iter *iter) {
  _Static_assert(sizeof(struct qtable_cursor) <= sizeof iter->state, "an iterator holds a cursor");
  return (struct qtable_cursor *)iter->state;
}

void besom__quotient_iter_start(const besom_filter *f, besom_iter *iter) {
  besom__qtable_first(&const_quotient_filter(f)->table, cursor_of(iter));
}

besom_status besom__quotient_iter_next(const besom_filter *f, besom_iter *iter,
                                       besom_entry *entry) {
  (void)f;
  struct qtable_cursor *c = cursor_of(iter);
  struct fingerprint fp;
  do { /* skip fingerprints that are no members' */
    if (!besom__qtable_next(c)) return BESOM_END;
    fp = besom__fingerprint_read(c->table, c->quotient, c->position);
  } while (!is_member(&fp));
  *entry =
      (besom_entry){fp.quotient, fp.remainder, fp.extension, fp.extension_bits, fp.count, fp.value};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ resizing */

/* A resize in progress: a sequence of doublings or halvings. */
struct quotient_resizing {
  uint64_t slots; /* of the final table */
  /* the intermediate table that is being read; no blocks while it is the filter's own */
  struct qtable between;
  struct qtable_resizing one; /* the current doubling or halving, into the fresh filter's table */
  struct qtable_resize_hooks hooks;
};

static struct qtable_shape shape_towards(struct qtable_shape shape, uint64_t slots) {
  bool grow = slots > shape.slots;
  shape.slots = grow ? shape.slots * 2 : shape.slots / 2;
  shape.width = grow ? shape.width - 1 : shape.width + 1;
  return shape;
}

static besom_status start_one(besom_filter *fresh, const struct qtable *from) {
  struct quotient_filter *q = quotient_filter(fresh);
  struct qtable_shape shape = shape_towards(besom__quotient_shape(from), q->resizing->slots);
  besom_status status = besom__quotient_table_new(fresh, &shape, &q->table);
  if (status != BESOM_OK) return status;
  besom__qtable_resize_start(&q->resizing->one, from, &q->table);
  q->resizing->one.hooks = q->resizing->hooks;
  return BESOM_OK;
}

static void end_resizing(besom_filter *fresh) {
  struct quotient_filter *q = quotient_filter(fresh);
  if (!q->resizing) return;
  besom__quotient_table_free(fresh, &q->resizing->between);
  besom__release(&fresh->allocator, q->resizing, sizeof *q->resizing);
  q->resizing = NULL;
}

besom_status besom__quotient_resize_start(besom_filter *fresh, const besom_filter *f,
                                          uint64_t slots, const struct qtable_resize_hooks *hooks) {
  struct quotient_filter *q = quotient_filter(fresh);
  struct qtable_shape last = besom__quotient_shape(&const_quotient_filter(f)->table);
  /* analysis: -Wanalyzer-use-of-uninitialized-value: besom__quotient_shape sets all of it */
  while (last.slots != slots) last = shape_towards(last, slots);
  if (!besom__qtable_bytes(&last)) return BESOM_INVALID; /* no remainder bit would be left */
  q->isa = const_quotient_filter(f)->isa;
  q->repeats = const_quotient_filter(f)->repeats;
  q->resizing = besom__allocate(&fresh->allocator, sizeof *q->resizing);
  if (!q->resizing) return BESOM_NO_MEMORY;
  q->resizing->slots = slots;
  if (hooks) q->resizing->hooks = *hooks;
  besom_status status = start_one(fresh, &const_quotient_filter(f)->table);
  if (status != BESOM_OK) end_resizing(fresh);
  return status;
}

/* A table that has been filled is read next, unless it is the last one. */
besom_status besom__quotient_resize_step(besom_filter *fresh, uint64_t max, bool *finished,
                                         uint64_t *extension_slots) {
  struct quotient_filter *q = quotient_filter(fresh);
  struct quotient_resizing *r = q->resizing;
  bool filled;
  besom_status status = besom__qtable_resize_step(&r->one, max, &filled);
  *finished = status == BESOM_OK && filled && q->table.slots == r->slots;
  if (*finished) {
    *extension_slots = r->one.extension_slots;
    end_resizing(fresh);
  } else if (filled) {
    besom__quotient_table_free(fresh, &r->between);
    r->between = q->table;
    q->table.blocks = NULL;
    status = start_one(fresh, &r->between);
  }
  return status;
}

/* ------------------------------------------------------------------ diff and patch */

static const uint8_t *quotient_filter_table_bytes(const besom_filter *f, size_t *len) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *len = besom__qtable_size(t);
  return t->blocks;
}

static bool quotient_filter_comparable(const besom_filter *a, const besom_filter *b) {
  return besom__qtable_comparable(&const_quotient_filter(a)->table,
                                  &const_quotient_filter(b)->table);
}

static void diff_runs(const besom_filter *from, const besom_filter *to, struct bit_writer *w) {
  besom__qtable_diff(&const_quotient_filter(from)->table, &const_quotient_filter(to)->table, w);
}

static void diff_runs_compact(const besom_filter *from, const besom_filter *to,
                              struct bit_writer *w) {
  besom__qtable_diff_compact(&const_quotient_filter(from)->table, &const_quotient_filter(to)->table,
                             w);
}

typedef besom_status patch_table(const struct qtable *from, struct bit_reader *r,
                                 struct qtable *to);

static besom_status quotient_filter_patch(const besom_filter *from, struct bit_reader *r,
                                          patch_table *patch, uint8_t *out) {
  const struct qtable *t = &const_quotient_filter(from)->table;
  struct qtable to = *t;
  if (!has_slots_alone(t)) return BESOM_CORRUPT;
  to.blocks = out;
  to.used = to.further_slots = to.extended = 0;
  besom_status status = patch(t, r, &to);
  return status == BESOM_FULL ? BESOM_CORRUPT : status;
}

static besom_status quotient_filter_patch_runs(const besom_filter *from, struct bit_reader *r,
                                               uint8_t *out) {
  return quotient_filter_patch(from, r, besom__qtable_patch, out);
}

static besom_status quotient_filter_patch_runs_compact(const besom_filter *from,
                                                       struct bit_reader *r, uint8_t *out) {
  return quotient_filter_patch(from, r, besom__qtable_patch_compact, out);
}

const struct run_diff_ops besom__quotient_run_diff = {
    .table_bytes = quotient_filter_table_bytes,
    .comparable = quotient_filter_comparable,
    .diff = diff_runs,
    .patch = quotient_filter_patch_runs,
    .diff_compact = diff_runs_compact,
    .patch_compact = quotient_filter_patch_runs_compact,
};

/* ------------------------------------------------------------------ freeing */

void besom__quotient_visit(besom_filter *f, const struct block_visitor *v) {
  struct qtable *t = &quotient_filter(f)->table;
  t->blocks = v->visit(v->ctx, t->blocks);
}

void besom__quotient_destroy(besom_filter *f) {
  end_resizing(f);
  if (!f->mapping) besom__quotient_table_free(f, &quotient_filter(f)->table);
}

unsigned besom__quotient_prefix_bits(const besom_filter *f) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return 64 - leading_zeros(t->slots) + t->width;
}
