/*
 * broom: the broom filter (Bender, Farach-Colton, Goswami, Johnson, McCauley, Singh, "Bloom
 * Filters, Adaptivity, and the Dictionary Problem", 2018). Its fingerprints are extended bit by
 * bit, as in exaf, with three differences. The bits come from one budget for the whole filter
 * (extension_pool.h). Stored keys are separated from each other when they are inserted. When the
 * budget is nearly spent a new round begins (rounds.h): the same keys get other fingerprints, and
 * all bits return to the budget.
 */
#include "core/options.h"
#include "core/system/memory.h"
#include "papers/telescoping/extension_bits.h"
#include "quotient/table/walk.h"

#define TAG_POOL SECTION_TAG('P', 'O', 'O', 'L')

static const struct meta_policy policy = {.remainder = extension_remainder,
                                          .matches = extension_matches,
                                          .distinguish = extension_distinguish,
                                          .class_of = extension_class,
                                          .extensions = true,
                                          .pool = true};
static const struct meta_forms forms = {.own = &policy};

/* ------------------------------------------------------------------ creating and freeing */

struct broom_values {
  uint64_t isa, budget, rounds, form;
};

static const struct option_row broom_rows[] = {
    OPTION_ISA(broom_values),
    OPTION_NUMBER(broom_values, budget, NUMBER, MIN_BUDGET, MAX_BUDGET, "3",
                  "bits per slot; form=published: of extensions alone, at most 7"),
    OPTION_ROW(broom_values, rounds, BESOM_OPTION_WORD, .words = "deamortized, amortized, rekey",
               .standard = "deamortized; rekey with form=published",
               .meaning = "what ends a round: steps of operations, one operation, or a rekey"),
    OPTION_WORDS(broom_values, form, "default, published", "published: as in the paper"),
};

/*
 * The paper's budget is the bits of extensions alone. Here each of them takes a second one, for the
 * length, and a slot takes one, which says whether it has an extension.
 */
static uint64_t bits_of_budget(const struct broom_values *o) {
  return o->form ? 2 * o->budget + 1 : o->budget;
}

static const char *broom_conflict(const void *values) {
  return bits_of_budget(values) > MAX_BUDGET ? "budget is at most 7 with form=published" : NULL;
}

/* In the published form every round has another hash function, as after a rekey. */
static enum round_form rounds_of(const struct broom_values *o) {
  if (o->rounds != OPTION_UNSET) return (enum round_form)o->rounds;
  return o->form ? ROUNDS_BY_REKEY : ROUNDS_IN_STEPS;
}

static struct extension_pool pool_of(uint64_t slots, uint64_t budget) {
  return besom__pool_of(slots, besom__qtable_room(slots) / 64, budget);
}

/*
 * The pool has the same size for any width. So the first call finds the number of slots, the second
 * the width that fits beside the pool.
 */
static besom_status broom_plan(const besom_config *config, uint64_t budget,
                               struct qtable_shape *shape) {
  struct qtable_shape without_pool = *shape;
  besom_status status =
      besom__quotient_geometry(config, sizeof(struct meta_filter), 0, &without_pool);
  if (status != BESOM_OK) return status;
  struct extension_pool pool = pool_of(without_pool.slots, budget);
  return besom__quotient_geometry(config, sizeof(struct meta_filter) + besom__pool_bytes(&pool), 0,
                                  shape);
}

static void broom_destroy(besom_filter *f) {
  struct extension_pool *pool = &meta_filter(f)->pool;
  if (!f->mapping)
    besom__release(&f->allocator, pool->bytes, pool->bytes ? besom__pool_bytes(pool) : 0);
  besom__quotient_destroy(f);
}

/* Makes an empty pool for the filter's table. If there is no memory, destroys the table, too. */
static besom_status broom_make_pool(besom_filter *f, uint64_t budget) {
  struct meta_filter *x = meta_filter(f);
  x->pool = pool_of(x->base.table.slots, budget);
  x->pool.bytes = besom__allocate(&f->allocator, besom__pool_bytes(&x->pool));
  if (x->pool.bytes) return BESOM_OK;
  broom_destroy(f);
  return BESOM_NO_MEMORY;
}

static besom_status broom_create(besom_filter *f, const besom_config *config) {
  struct meta_filter *x = meta_filter(f);
  struct broom_values o;
  struct qtable_shape shape = {.heads = true};
  if (config->value_bits) return BESOM_INVALID;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status == BESOM_OK) status = broom_plan(config, bits_of_budget(&o), &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, 0);
  x->base.isa = isa_of_option(o.isa);
  x->policy = &policy;
  x->rounds = (struct rounds){.frontier = shape.slots, .form = rounds_of(&o)};
  status = besom__quotient_table_new(f, &shape, &x->base.table);
  return status == BESOM_OK ? broom_make_pool(f, bits_of_budget(&o)) : status;
}

static besom_status broom_create_like(besom_filter *f, const besom_filter *model) {
  meta_filter(f)->rounds = const_meta_filter(model)->rounds;
  besom_status status = besom__meta_filter_create_like(f, model);
  return status == BESOM_OK ? broom_make_pool(f, const_meta_filter(model)->pool.budget) : status;
}

/* ------------------------------------------------------------------ inserting */

enum { MAX_COLLISIONS = 8 }; /* copies of one key may be more: then keys are not separated */

/*
 * A key to insert and the stored keys with the same remainder: the extensions that separate them.
 */
struct new_key {
  slot_meta extension;
  unsigned n;
  uint64_t positions[MAX_COLLISIONS];
  slot_meta extensions[MAX_COLLISIONS]; /* 0: unchanged */
};

static void keep_longer(slot_meta *extension, slot_meta other) {
  if (other > *extension) *extension = other;
}

/*
 * If the stored fingerprint matches the new key, its key must be read. If not, its extension is
 * enough to separate the two.
 */
static besom_status resolve_collision(const struct meta_filter *x, const struct hashed_key *key,
                                      uint64_t position, struct new_key *n) {
  unsigned width = x->base.table.width, i = n->n++;
  slot_meta extension = besom__meta_at(x, position), mine = 0, its = 0;
  struct hashed_key other;
  n->positions[i] = position;
  n->extensions[i] = 0;
  if (!extension_matches(key, remainder_of(key->at, width), extension, width)) {
    /* analysis: -Wanalyzer-shift-count-overflow: the remainders are equal: it has an extension */
    extension_unlike(suffix_bits(key, width),
                     (uint64_t)extension << (64 - extension_length(extension)), &mine);
    keep_longer(&n->extension, mine);
    return BESOM_OK;
  }
  besom_status status = besom__stored_key(x, position, &other);
  if (status != BESOM_OK || !extension_distinguish(&other, key, width, &its)) return status;
  extension_distinguish(key, &other, width, &mine);
  n->extensions[i] = its;
  keep_longer(&n->extension, mine);
  return BESOM_OK;
}

static besom_status resolve_collisions(const struct meta_filter *x, const struct hashed_key *key,
                                       struct new_key *n) {
  const struct qtable *t = &x->base.table;
  uint64_t remainder = remainder_of(key->at, t->width);
  *n = (struct new_key){0};
  if (!separates_members(x) || t->ops->contains_at(t, key->at.quotient, remainder) == ANSWER_NO)
    return BESOM_OK;
  struct run run = run_of(t, key->at.quotient);
  besom_status status = BESOM_OK;
  uint64_t p = t->ops->next_equal(t, run.start, run.end, remainder);
  for (; p < run.end && n->n < MAX_COLLISIONS && status == BESOM_OK;
       p = t->ops->next_equal(t, p + 1, run.end, remainder))
    status = resolve_collision(x, key, p, n);
  if (p < run.end) *n = (struct new_key){0};
  return status;
}

/* Sets an extension if the pool has space for it. */
static void set_extension_at(struct meta_filter *x, uint64_t position, slot_meta extension) {
  slot_meta meta[CODE_SLOTS];
  uint64_t promised = 0;
  if (!extension) return;
  besom__meta_read(x, position / 64, meta);
  meta[position % 64] = extension;
  if (besom__meta_fits(x, position / 64, meta, &promised))
    besom__meta_write(x, position / 64, meta);
}

static void write_new_extensions(struct meta_filter *x, uint64_t quotient,
                                 const struct new_key *n) {
  for (unsigned i = 0; i < n->n; i++) set_extension_at(x, n->positions[i], n->extensions[i]);
  if (n->n) set_extension_at(x, run_of(&x->base.table, quotient).end - 1, n->extension);
}

static besom_status insert_bound(struct meta_filter *x, besom_digest d) {
  besom_filter *f = &x->base.head;
  struct hashed_key key = hashed_key_of(x, d);
  struct new_key n;
  struct step step;
  if (f->items >= f->capacity) return BESOM_FULL;
  besom_status status = resolve_collisions(x, &key, &n);
  if (status == BESOM_OK) status = besom__step_plan(x, key.at.quotient, &step);
  if (status != BESOM_OK) return status;
  status = besom__meta_filter_insert(f, d);
  if (status != BESOM_OK) {
    besom__step_drop(x, &step);
    return status;
  }
  write_new_extensions(x, key.at.quotient, &n);
  besom__step_take(x, &step, NULL);
  return BESOM_OK;
}

static besom_status broom_insert(besom_filter *f, besom_digest d) {
  return meta_filter(f)->reverse.digest_of ? insert_bound(meta_filter(f), d)
                                           : besom__meta_filter_insert(f, d);
}

static besom_status broom_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                      size_t *done) {
  besom_status status = BESOM_OK;
  if (!meta_filter(f)->reverse.digest_of) return besom__meta_filter_insert_many(f, d, n, done);
  for (*done = 0; *done < n && (status = broom_insert(f, d[*done])) == BESOM_OK;) ++*done;
  return status;
}

/* A store that is being scanned cannot be read, so that keys are not separated here. */
static besom_status broom_restore_at(besom_filter *f, besom_digest d, besom_match match) {
  besom_match next = besom__meta_filter_next_match(f, d);
  if (next.bucket != match.bucket || next.rank != match.rank) return BESOM_INCOMPATIBLE;
  return besom__meta_filter_insert(f, d);
}

/* ------------------------------------------------------------------ removing */

/* The step leaves out the run of the key, because the key may no longer be in the store. */
static besom_status broom_remove(besom_filter *f, besom_digest d) {
  struct meta_filter *x = meta_filter(f);
  struct step step;
  if (!besom__meta_filter_contains_by_round(f, d)) return BESOM_NOT_FOUND;
  besom_status status = besom__step_plan(x, address_of(d, x->base.table.slots).quotient, &step);
  if (status != BESOM_OK) return status;
  status = besom__meta_filter_remove(f, d);
  if (status == BESOM_OK)
    besom__step_take(x, &step, NULL);
  else
    besom__step_drop(x, &step);
  return status;
}

/*
 * The guard removes the record before it calls remove_at, so that remove_at must not read the
 * store. Steps are taken here instead.
 */
static besom_status ready_to_remove(besom_filter *f, besom_match match) {
  struct meta_filter *x = meta_filter(f);
  struct step step;
  besom_status status = besom__meta_filter_ready_to_remove(f, match);
  if (status == BESOM_OK) status = besom__step_plan(x, NO_QUOTIENT, &step);
  if (status == BESOM_OK) besom__step_take(x, &step, NULL);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

static void broom_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct extension_pool *pool = &const_meta_filter(f)->pool;
  besom__meta_filter_stats(f, out);
  s->bytes += besom__pool_bytes(pool);
  s->reserve_used = pool->used < pool->limit ? (double)pool->used / (double)pool->limit : 1;
  besom__add_counter(out, "rounds", const_meta_filter(f)->rounds.number);
}

static void broom_save(const besom_filter *f, struct sections_out *out) {
  const struct meta_filter *x = const_meta_filter(f);
  besom__meta_filter_save(f, out);
  besom__write_u64(&out->parameters, x->pool.budget);
  besom__write_u64(&out->parameters, x->pool.used);
  besom__write_u64(&out->parameters, x->rounds.form);
  besom__write_u64(&out->parameters, x->rounds.number);
  besom__write_u64(&out->parameters, x->rounds.frontier);
  add_section(out, TAG_POOL, x->pool.bytes, besom__pool_bytes(&x->pool));
}

static besom_status load_pool(besom_filter *f, uint64_t budget, uint64_t used,
                              const struct section *s) {
  struct meta_filter *x = meta_filter(f);
  struct extension_pool pool = pool_of(x->base.table.slots, budget);
  if (!s || s->len != besom__pool_bytes(&pool)) return BESOM_CORRUPT;
  if (f->mapping) {
    x->pool = pool;
    x->pool.bytes = (uint8_t *)(uintptr_t)s->data;
  } else {
    besom_status status = broom_make_pool(f, budget);
    if (status != BESOM_OK) return status;
    memcpy(x->pool.bytes, s->data, (size_t)s->len);
  }
  x->pool.used = used;
  return BESOM_OK;
}

static besom_status broom_load(besom_filter *f, struct sections_in *in) {
  struct meta_filter *x = meta_filter(f);
  besom_status status = besom__meta_filter_load(f, in);
  if (status != BESOM_OK) return status;
  uint64_t slots = x->base.table.slots, budget = besom__read_u64(&in->parameters),
           used = besom__read_u64(&in->parameters), form = besom__read_u64(&in->parameters);
  x->rounds.form = (enum round_form)form;
  x->rounds.number = besom__read_u64(&in->parameters);
  x->rounds.frontier = besom__read_u64(&in->parameters);
  bool right = budget >= MIN_BUDGET && budget <= MAX_BUDGET && form <= ROUNDS_BY_REKEY &&
               x->rounds.frontier <= slots;
  right &= x->rounds.number || x->rounds.frontier == slots;
  status = right ? load_pool(f, budget, used, take_section(in, TAG_POOL)) : BESOM_CORRUPT;
  if (status == BESOM_OK) besom__rounds_set_keys(x);
  if (status == BESOM_CORRUPT)
    /* no pool was made; after NO_MEMORY everything is destroyed already */
    besom__quotient_destroy(f);
  return status;
}

/* Its rounds are those of form=published. */
static bool is_published(const besom_filter *f) {
  return const_meta_filter(f)->rounds.form == ROUNDS_BY_REKEY;
}

const struct besom_kind besom__broom = {
    .name = "broom",
    .summary =
        "broom filter: extends fingerprints within a budget, begins a new round when it is spent",
    .policy = &forms,
    .size = sizeof(struct meta_filter),
    .options = {OPTION_ROWS(broom_rows), .conflict = broom_conflict},
    .refuses_set = true,
    .create = broom_create,
    .create_like = broom_create_like,
    .destroy = broom_destroy,
    .stats = broom_stats,
    .query = {.contains = besom__meta_filter_contains_by_round,
              .contains_many = besom__meta_filter_contains_many,
              .prefetch = besom__quotient_prefetch,
              .count = besom__meta_filter_count},
    .change = &(const struct change_ops){.insert = broom_insert,
                                         .insert_many = broom_insert_many,
                                         .insert_count = besom__meta_filter_insert_count,
                                         .remove = broom_remove},
    .adapt =
        &(const struct adapt_ops){.adapt = besom__meta_filter_adapt, .is_published = is_published},
    .store = &(const struct store_ops){.bind = besom__meta_filter_bind,
                                       .matches = besom__meta_filter_matches,
                                       .insert_at = besom__meta_filter_insert_at,
                                       .bucket_of = besom__meta_filter_bucket_of,
                                       .restore_at = broom_restore_at,
                                       .bulk_load = besom__quotient_bulk_load,
                                       .prepare_remove = ready_to_remove,
                                       .remove_at = besom__meta_filter_remove_at,
                                       .adapt_at = besom__meta_filter_adapt_at},
    .whole = &(const struct whole_ops){.merge = besom__meta_filter_merge,
                                       .append = besom__quotient_append_copies,
                                       .parts = &besom__quotient_copies_in_parts,
                                       .iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__meta_filter_iter_next},
    .file = &(const struct file_ops){.validate = besom__meta_filter_validate,
                                     .save = broom_save,
                                     .load = broom_load},
};
