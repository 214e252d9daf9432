/*
 * qf: the plain quotient filter (Bender et al. 2012; rank-and-select layout of Pandey et al. 2017). One
 * remainder a key, nothing more: the measure for every adaptive kind built on the same table.
 */
#include "core/address.h"
#include "core/memory.h"
#include "core/options.h"
#include "filter.h"
#include "quotient/order.h"
#include "quotient/plan.h"

struct qf {
  besom_filter head;
  struct qtable table;
  enum isa isa;
};

static const struct qf *const_qf(const besom_filter *f) {
  return (const struct qf *)f;
}

static struct qf *qf(besom_filter *f) {
  return (struct qf *)f;
}

/* ------------------------------------------------------------------ life */

static struct qtable_shape shape_of(const struct qf *q) {
  return (struct qtable_shape){.slots = q->table.slots, .width = q->table.width, .heads = q->table.has_heads};
}

static besom_status make_table(const besom_filter *f, const struct qtable_shape *shape, enum isa isa,
                               struct qtable *out) {
  size_t bytes = besom__qtable_bytes(shape);
  if (!bytes) return BESOM_INVALID;
  void *blocks = besom__allocate(&f->allocator, bytes);
  if (!blocks) return BESOM_NO_MEMORY;
  besom__qtable_init(out, shape, isa, blocks);
  return BESOM_OK;
}

static void free_table(const besom_filter *f, struct qtable *t) {
  besom__release(&f->allocator, t->blocks, besom__qtable_size(t));
}

static besom_status read_options(const char *text, enum isa *isa, bool *heads) {
  struct option option;
  besom_status status;
  *isa = besom__isa_best();
  *heads = true;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "isa"))
      status = besom__isa_parse(option.value.data, option.value.len, isa);
    else if (besom__option_is(&option, "heads"))
      status = besom__option_bool(&option, heads);
    else
      status = BESOM_BAD_OPTION;
    if (status != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct qtable_shape shape = {0};
  besom_status status = read_options(config->options, &qf(f)->isa, &shape.heads);
  if (status == BESOM_OK) status = besom__quotient_plan(config, sizeof(struct qf), &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots);
  return make_table(f, &shape, qf(f)->isa, &qf(f)->table);
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  struct qtable_shape shape = shape_of(const_qf(model));
  qf(f)->isa = const_qf(model)->isa;
  return make_table(f, &shape, qf(f)->isa, &qf(f)->table);
}

static void destroy(besom_filter *f) {
  if (!f->mapping) free_table(f, &qf(f)->table);
}

/* ------------------------------------------------------------------ keys */

static bool contains(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_qf(f)->table;
  return t->ops->contains(t, d);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *bitmap) {
  const struct qtable *t = &const_qf(f)->table;
  t->ops->contains_many(t, d, n, bitmap);
}

static besom_status insert(besom_filter *f, besom_digest d) {
  struct qtable *t = &qf(f)->table;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  besom_status status = t->ops->insert(t, d);
  f->items += status == BESOM_OK;
  return status;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  struct qtable *t = &qf(f)->table;
  uint64_t left = f->capacity > f->items ? f->capacity - f->items : 0;
  size_t fitting = n < left ? n : (size_t)left;
  besom_status status = t->ops->insert_many(t, d, fitting, done);
  f->items += *done;
  return status == BESOM_OK && fitting < n ? BESOM_FULL : status;
}

static uint64_t find(const struct qtable *t, besom_digest d, uint64_t *quotient, uint64_t *last) {
  struct address a = address_of(d, t->slots);
  *quotient = a.quotient;
  return t->ops->find(t, a.quotient, remainder_of(a, t->width), last);
}

/* Equal fingerprints cannot be told apart; the last one moves the least. */
static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct qtable *t = &qf(f)->table;
  uint64_t quotient, last;
  if (!find(t, d, &quotient, &last)) return BESOM_NOT_FOUND;
  t->ops->remove(t, quotient, last);
  f->items--;
  return BESOM_OK;
}

static besom_status count(const besom_filter *f, besom_digest d, uint64_t *n) {
  uint64_t quotient, last;
  *n = find(&const_qf(f)->table, d, &quotient, &last);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

static besom_status merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  struct qtable_shape x = shape_of(const_qf(a)), y = shape_of(const_qf(b));
  if (x.slots != y.slots || x.width != y.width || x.heads != y.heads) return BESOM_UNLIKE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  return besom__qtable_merge(&const_qf(a)->table, &const_qf(b)->table, &qf(into)->table);
}

/* One doubling or halving of `from` into a new table. */
static besom_status resize_once(const besom_filter *f, const struct qtable *from, bool grow, struct qtable *to) {
  struct qtable_shape shape = shape_of(const_qf(f));
  shape.slots = grow ? from->slots * 2 : from->slots / 2;
  shape.width = grow ? from->width - 1u : from->width + 1u;
  besom_status status = make_table(f, &shape, const_qf(f)->isa, to);
  if (status != BESOM_OK) return status;
  status = grow ? besom__qtable_double(from, to) : besom__qtable_halve(from, to);
  if (status != BESOM_OK) free_table(f, to);
  return status;
}

static besom_status resize(besom_filter *f, uint64_t slots) {
  struct qtable *old = &qf(f)->table, now = *old, next;
  if (besom__quotient_capacity(slots) < f->items) return BESOM_FULL;
  while (now.slots != slots) {
    besom_status status = resize_once(f, &now, slots > old->slots, &next);
    if (now.blocks != old->blocks) free_table(f, &now);
    if (status != BESOM_OK) return status;
    now = next;
  }
  free_table(f, old);
  *old = now;
  f->capacity = besom__quotient_capacity(slots);
  return BESOM_OK;
}

#define APPEND_BATCH 512

static bool ascending(besom_digest last, const besom_digest *d, size_t n) {
  bool down = false;
  for (size_t i = 0; i < n; last = d[i++]) down |= d[i].hi < last.hi || (d[i].hi == last.hi && d[i].lo < last.lo);
  return !down;
}

static besom_status append(besom_filter *f, const besom_digest_source *digests, const besom_progress *progress) {
  struct qtable_appender out = qtable_append_start(&qf(f)->table);
  besom_digest batch[APPEND_BATCH], last = {0, 0};
  besom_status status;
  size_t n;
  while ((status = digests->next(digests->ctx, batch, APPEND_BATCH, &n)) == BESOM_OK) {
    if (n == 0 || n > APPEND_BATCH || !ascending(last, batch, n)) return BESOM_INVALID;
    if (n > f->capacity - f->items) return BESOM_FULL;
    last = batch[n - 1];
    status = out.table.ops->append(&out, batch, n);
    if (status != BESOM_OK) return status;
    f->items += n;
    status = besom__tick(progress, f->items, digests->size_hint);
    if (status != BESOM_OK) return status;
  }
  qtable_append_finish(&out, &qf(f)->table);
  return status == BESOM_END ? BESOM_OK : status;
}

static struct qtable_cursor *cursor_of(besom_iter *iter) {
  _Static_assert(sizeof(struct qtable_cursor) <= sizeof iter->state, "an iterator holds a cursor");
  return (struct qtable_cursor *)iter->state;
}

static void iter_start(besom_iter *iter) {
  besom__qtable_first(&const_qf(iter->filter)->table, cursor_of(iter));
}

static besom_status iter_next(besom_iter *iter, besom_entry *entry) {
  struct qtable_cursor *c = cursor_of(iter);
  if (!besom__qtable_next(c)) return BESOM_END;
  *entry = (besom_entry){c->quotient, c->remainder};
  return BESOM_OK;
}

static void stats(const besom_filter *f, besom_statistics *s) {
  const struct qtable *t = &const_qf(f)->table;
  s->isa = besom__isa_name(const_qf(f)->isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t);
  s->load = (double)f->items / (double)t->slots;
  s->expected_rate = besom__quotient_rate(f->items, t->slots, t->width);
  s->rate_at_capacity = besom__quotient_rate(f->capacity, t->slots, t->width);
}

static const char *validate(const besom_filter *f) {
  const struct qtable *t = &const_qf(f)->table;
  if (f->items != t->used) return "the number of items is not that of the used slots";
  if (f->items > f->capacity) return "there are more items than the capacity";
  return besom__qtable_check(t);
}

/* ------------------------------------------------------------------ files */

static void save(const besom_filter *f, struct sections_out *out) {
  const struct qtable *t = &const_qf(f)->table;
  besom__write_u64(&out->parameters, t->slots);
  besom__write_u32(&out->parameters, t->width);
  besom__write_u32(&out->parameters, t->has_heads);
  add_section(out, TAG_BITS, t->blocks, besom__qtable_size(t));
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct qtable_shape shape = {.slots = besom__read_u64(&in->parameters), .width = besom__read_u32(&in->parameters)};
  uint32_t heads = besom__read_u32(&in->parameters);
  const struct section *bits = take_section(in, TAG_BITS);
  shape.heads = heads;
  size_t bytes = besom__qtable_bytes(&shape);
  if (!bits || heads > 1 || !bytes || bits->len != bytes) return BESOM_CORRUPT;
  if (f->capacity != besom__quotient_capacity(shape.slots)) return BESOM_CORRUPT;
  qf(f)->isa = besom__isa_best();
  if (f->mapping) {
    besom__qtable_init(&qf(f)->table, &shape, qf(f)->isa, (void *)(uintptr_t)bits->data);
  } else {
    besom_status status = make_table(f, &shape, qf(f)->isa, &qf(f)->table);
    if (status != BESOM_OK) return status;
    memcpy(qf(f)->table.blocks, bits->data, bytes);
  }
  qf(f)->table.used = f->items;
  return BESOM_OK;
}

const struct besom_kind besom__qf = {
    .info = {"qf", "quotient filter: counts, removes, merges, grows; not adaptive",
             BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE |
                 BESOM_CAN_GROW | BESOM_CAN_BUILD_SORTED},
    .size = sizeof(struct qf),
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .remove = remove_key,
    .count = count,
    .merge = merge,
    .resize = resize,
    .append = append,
    .iter_start = iter_start,
    .iter_next = iter_next,
    .stats = stats,
    .validate = validate,
    .save = save,
    .load = load,
};
