/*
 * broom: the broom filter (Bender, Farach-Colton, Goswami, Johnson, McCauley, Singh, "Bloom Filters, Adaptivity, and
 * the Dictionary Problem", 2018). Its fingerprints grow bit by bit, as those of exaf, but the bits come from one budget
 * for the whole filter (pool.h), stored keys are told from each other as they come in, and when the budget is nearly
 * spent a new round begins (rounds.h): other fingerprints of the same keys, and all bits back.
 */
#include "core/memory.h"
#include "core/options.h"
#include "quotient/strings.h"
#include "quotient/walk.h"

#define TAG_POOL SECTION_TAG('P', 'O', 'O', 'L')
#define DEFAULT_BUDGET 3 /* bits a slot */

static const struct note_policy policy = {.remainder = string_remainder,
                                          .matches = string_matches,
                                          .beyond = string_beyond,
                                          .class_of = string_class,
                                          .strings = true,
                                          .pool = true};

/* ------------------------------------------------------------------ life */

struct options {
  enum isa isa;
  bool at_once;
  uint64_t budget;
};

static besom_status read_rounds(const struct option *option, bool *at_once) {
  *at_once = besom__option_says(option, "amortized");
  return *at_once || besom__option_says(option, "deamortized") ? BESOM_OK : BESOM_BAD_OPTION;
}

static besom_status read_option(const struct option *option, struct options *out) {
  if (besom__option_is(option, "isa"))
    return besom__isa_parse(option->value.data, option->value.len, &out->isa);
  if (besom__option_is(option, "rounds")) return read_rounds(option, &out->at_once);
  if (!besom__option_is(option, "budget")) return BESOM_BAD_OPTION;
  besom_status status = besom__option_number(option, &out->budget);
  bool in_range = out->budget >= MIN_BUDGET && out->budget <= MAX_BUDGET;
  return status == BESOM_OK && !in_range ? BESOM_BAD_OPTION : status;
}

static besom_status read_options(const char *text, struct options *out) {
  struct option option;
  besom_status status;
  *out = (struct options){.isa = besom__isa_best(), .budget = DEFAULT_BUDGET};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if ((status = read_option(&option, out)) != BESOM_OK) return status;
  return status == BESOM_END ? BESOM_OK : status;
}

static struct pool pool_of(uint64_t slots, uint64_t budget) {
  return besom__pool_of(slots, besom__qtable_room(slots) / 64, budget);
}

/* The pool takes as much for any width, so the slots come first, and then the width that fits beside it. */
static besom_status plan(const besom_config *config, uint64_t budget, struct qtable_shape *shape) {
  struct qtable_shape without_pool = *shape;
  besom_status status = besom__quotient_plan(config, sizeof(struct noted), 0, &without_pool);
  if (status != BESOM_OK) return status;
  struct pool pool = pool_of(without_pool.slots, budget);
  return besom__quotient_plan(config, sizeof(struct noted) + besom__pool_bytes(&pool), 0, shape);
}

static void destroy(besom_filter *f) {
  struct pool *pool = &noted(f)->pool;
  if (!f->mapping)
    besom__release(&f->allocator, pool->bytes, pool->bytes ? besom__pool_bytes(pool) : 0);
  besom__quotient_destroy(f);
}

/* An empty pool for the table that is there; if there is no memory for it, the table goes, too. */
static besom_status make_pool(besom_filter *f, uint64_t budget) {
  struct noted *x = noted(f);
  x->pool = pool_of(x->base.table.slots, budget);
  x->pool.bytes = besom__allocate(&f->allocator, besom__pool_bytes(&x->pool));
  if (x->pool.bytes) return BESOM_OK;
  destroy(f);
  return BESOM_NO_MEMORY;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct noted *x = noted(f);
  struct options options;
  struct qtable_shape shape = {.heads = true};
  if (config->value_bits) return BESOM_INVALID;
  besom_status status = read_options(config->options, &options);
  if (status == BESOM_OK) status = plan(config, options.budget, &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, 0);
  x->base.isa = options.isa;
  x->policy = &policy;
  x->rounds = (struct rounds){.frontier = shape.slots, .at_once = options.at_once};
  status = besom__quotient_table(f, &shape, &x->base.table);
  return status == BESOM_OK ? make_pool(f, options.budget) : status;
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  noted(f)->rounds = const_noted(model)->rounds;
  besom_status status = besom__noted_create_like(f, model);
  return status == BESOM_OK ? make_pool(f, const_noted(model)->pool.budget) : status;
}

/* ------------------------------------------------------------------ inserting */

enum { MOST_RIVALS = 8 }; /* copies of one key may be more; beyond that nobody is told apart */

/* A key that is to be inserted, and the stored ones with its remainder: what tells each from the other. */
struct newcomer {
  note string;
  unsigned rivals;
  uint64_t positions[MOST_RIVALS];
  note strings[MOST_RIVALS]; /* 0: as it is */
};

static void lengthen(note *string, note other) {
  if (other > *string) *string = other;
}

/* Who matches the newcomer has to be looked up; of the others the string is enough. */
static besom_status meet_rival(const struct noted *x, const struct seeker *key, uint64_t position,
                               struct newcomer *n) {
  unsigned width = x->base.table.width, i = n->rivals++;
  note string = besom__note_at(x, position), mine = 0, its = 0;
  struct seeker rival;
  n->positions[i] = position;
  n->strings[i] = 0;
  if (!string_matches(key, remainder_of(key->at, width), string, width)) {
    string_unlike(bits_behind(key, width), (uint64_t)string << (64 - string_length(string)), &mine);
    lengthen(&n->string, mine);
    return BESOM_OK;
  }
  besom_status status = besom__stored_key(x, position, &rival);
  if (status != BESOM_OK || !string_beyond(&rival, key, width, &its)) return status;
  string_beyond(key, &rival, width, &mine);
  n->strings[i] = its;
  lengthen(&n->string, mine);
  return BESOM_OK;
}

static besom_status meet_rivals(const struct noted *x, const struct seeker *key,
                                struct newcomer *n) {
  const struct qtable *t = &x->base.table;
  uint64_t remainder = remainder_of(key->at, t->width);
  *n = (struct newcomer){0};
  if (!tells_members_apart(x) || t->ops->contains_at(t, key->at.quotient, remainder) == ANSWER_NO)
    return BESOM_OK;
  struct run run = run_of(t, key->at.quotient);
  besom_status status = BESOM_OK;
  uint64_t p = t->ops->next_equal(t, run.start, run.end, remainder);
  for (; p < run.end && n->rivals < MOST_RIVALS && status == BESOM_OK;
       p = t->ops->next_equal(t, p + 1, run.end, remainder))
    status = meet_rival(x, key, p, n);
  if (p < run.end) *n = (struct newcomer){0};
  return status;
}

/* A string more, if there is room for it. */
static void set_string(struct noted *x, uint64_t position, note string) {
  note notes[CODE_SLOTS];
  uint64_t promised = 0;
  if (!string) return;
  besom__notes_read(x, position / 64, notes);
  notes[position % 64] = string;
  if (besom__notes_fit(x, position / 64, notes, &promised))
    besom__notes_write(x, position / 64, notes);
}

static void settle(struct noted *x, uint64_t quotient, const struct newcomer *n) {
  for (unsigned i = 0; i < n->rivals; i++) set_string(x, n->positions[i], n->strings[i]);
  if (n->rivals) set_string(x, run_of(&x->base.table, quotient).end - 1, n->string);
}

static besom_status insert_bound(struct noted *x, besom_digest d) {
  besom_filter *f = &x->base.head;
  struct seeker key = seeker_of(x, d);
  struct newcomer n;
  struct step step;
  if (f->items >= f->capacity) return BESOM_FULL;
  besom_status status = meet_rivals(x, &key, &n);
  if (status == BESOM_OK) status = besom__step_plan(x, key.at.quotient, &step);
  if (status != BESOM_OK) return status;
  status = besom__noted_insert(f, d);
  if (status != BESOM_OK) {
    besom__step_drop(x, &step);
    return status;
  }
  settle(x, key.at.quotient, &n);
  besom__step_take(x, &step, NULL);
  return BESOM_OK;
}

static besom_status insert(besom_filter *f, besom_digest d) {
  return noted(f)->reverse.digest_of ? insert_bound(noted(f), d) : besom__noted_insert(f, d);
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  besom_status status = BESOM_OK;
  if (!noted(f)->reverse.digest_of) return besom__noted_insert_many(f, d, n, done);
  for (*done = 0; *done < n && (status = insert(f, d[*done])) == BESOM_OK;) ++*done;
  return status;
}

/* A store that is being scanned cannot be asked, so nobody is told apart here. */
static besom_status readmit_at(besom_filter *f, besom_digest d, besom_match match) {
  besom_match next = besom__noted_next_match(f, d);
  if (next.bucket != match.bucket || next.rank != match.rank) return BESOM_INCOMPATIBLE;
  return besom__noted_insert(f, d);
}

/* ------------------------------------------------------------------ removing */

/* The run of the key takes no part in the step: whether the key is still in the store is not known here. */
static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct noted *x = noted(f);
  struct step step;
  if (!besom__noted_contains_by_round(f, d)) return BESOM_NOT_FOUND;
  besom_status status = besom__step_plan(x, address_of(d, x->base.table.slots).quotient, &step);
  if (status != BESOM_OK) return status;
  status = besom__noted_remove(f, d);
  if (status == BESOM_OK)
    besom__step_take(x, &step, NULL);
  else
    besom__step_drop(x, &step);
  return status;
}

/* The guard's way to remove: remove_at itself must not look at the store, from which the record is gone by then. */
static besom_status ready_to_remove(besom_filter *f, besom_match match) {
  struct noted *x = noted(f);
  struct step step;
  besom_status status = besom__noted_ready_to_remove(f, match);
  if (status == BESOM_OK) status = besom__step_plan(x, NO_QUOTIENT, &step);
  if (status == BESOM_OK) besom__step_take(x, &step, NULL);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, besom_statistics *s) {
  const struct pool *pool = &const_noted(f)->pool;
  besom__noted_stats(f, s);
  s->bytes += besom__pool_bytes(pool);
  s->reserve_used = pool->used < pool->limit ? (double)pool->used / (double)pool->limit : 1;
  s->rounds = const_noted(f)->rounds.number;
}

static void save(const besom_filter *f, struct sections_out *out) {
  const struct noted *x = const_noted(f);
  besom__noted_save(f, out);
  besom__write_u64(&out->parameters, x->pool.budget);
  besom__write_u64(&out->parameters, x->pool.used);
  besom__write_u64(&out->parameters, x->rounds.at_once);
  besom__write_u64(&out->parameters, x->rounds.number);
  besom__write_u64(&out->parameters, x->rounds.frontier);
  add_section(out, TAG_POOL, x->pool.bytes, besom__pool_bytes(&x->pool));
}

static besom_status load_pool(besom_filter *f, uint64_t budget, uint64_t used,
                              const struct section *s) {
  struct noted *x = noted(f);
  struct pool pool = pool_of(x->base.table.slots, budget);
  if (!s || s->len != besom__pool_bytes(&pool)) return BESOM_CORRUPT;
  if (f->mapping) {
    x->pool = pool;
    x->pool.bytes = (uint8_t *)(uintptr_t)s->data;
  } else {
    besom_status status = make_pool(f, budget);
    if (status != BESOM_OK) return status;
    memcpy(x->pool.bytes, s->data, s->len);
  }
  x->pool.used = used;
  return BESOM_OK;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct noted *x = noted(f);
  besom_status status = besom__noted_load(f, in, &policy);
  if (status != BESOM_OK) return status;
  uint64_t slots = x->base.table.slots, budget = besom__read_u64(&in->parameters),
           used = besom__read_u64(&in->parameters), at_once = besom__read_u64(&in->parameters);
  x->rounds.at_once = at_once;
  x->rounds.number = besom__read_u64(&in->parameters);
  x->rounds.frontier = besom__read_u64(&in->parameters);
  bool right =
      budget >= MIN_BUDGET && budget <= MAX_BUDGET && at_once <= 1 && x->rounds.frontier <= slots;
  right &= x->rounds.number || x->rounds.frontier == slots;
  status = right ? load_pool(f, budget, used, take_section(in, TAG_POOL)) : BESOM_CORRUPT;
  if (status == BESOM_OK) besom__rounds_set_keys(x);
  if (status == BESOM_CORRUPT)
    besom__quotient_destroy(f); /* there is no pool; without memory for it all is gone already */
  return status;
}

const struct besom_kind besom__broom = {
    .info = {"broom",
             "broom filter: lengthens fingerprints within a budget, and begins a new round when it "
             "is spent",
             BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                 BESOM_CAN_ITERATE | BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_MATCH},
    .size = sizeof(struct noted),
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .contains = besom__noted_contains_by_round,
    .contains_many = besom__noted_contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .insert_count = besom__noted_insert_count,
    .remove = remove_key,
    .count = besom__noted_count,
    .adapt = besom__noted_adapt,
    .bind = besom__noted_bind,
    .matches = besom__noted_matches,
    .insert_at = besom__noted_insert_at,
    .bucket_of = besom__noted_bucket_of,
    .readmit_at = readmit_at,
    .admit = besom__quotient_admit,
    .ready_to_remove = ready_to_remove,
    .remove_at = besom__noted_remove_at,
    .adapt_at = besom__noted_adapt_at,
    .merge = besom__noted_merge,
    .append = besom__quotient_append_copies,
    .iter_start = besom__quotient_iter_start,
    .iter_next = besom__noted_iter_next,
    .stats = stats,
    .validate = besom__noted_validate,
    .save = save,
    .load = load,
};
