/*
 * Operations: the first bytes choose a filter, the rest are operations on it, two bytes each. The
 * same operations are applied to a reference multiset. If filter and reference disagree, or the
 * structure is not valid, the target aborts.
 */
#include <stdlib.h>
#include <string.h>

#include "besom_reverse.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/reference.h"
#include "support/slot_store.h"

enum { UNIVERSE_SIZE = 48, MAX_OPERATIONS = 400, MAX_SLOTS = 5000, FULL_CHECK_EVERY = 8 };

typedef struct input {
  const uint8_t *at, *end;
} input;

static unsigned take(input *in) {
  return in->at < in->end ? *in->at++ : 0;
}

typedef struct state {
  besom_filter *f;
  reference truth;
  uint8_t seed[16]; /* of the filter */
  bool needs_store; /* the kind moves its fingerprints and accepts keys only with a store */
  slot_store keys;
} state;

/* ------------------------------------------------------------------ the filter */

/* Does the kind accept keys only while it is bound to a store? */
static bool kind_needs_store(const besom_kind_info *kind) {
  return (kind->abilities & BESOM_CAN_MATCH) && !(kind->abilities & BESOM_CAN_INSERT);
}

/* One of the kinds that accept keys; large choices, one of those that need a store. */
static const besom_kind_info *choose_kind(unsigned choice) {
  const besom_kind_info *kinds[64];
  size_t n = 0;
  for (size_t i = 0; besom_kinds(i) && n < 64; i++)
    if (choice >= 224 ? kind_needs_store(besom_kinds(i))
                      : (besom_kinds(i)->abilities & BESOM_CAN_INSERT) != 0)
      kinds[n++] = besom_kinds(i);
  return kinds[choice % n];
}

/*
 * By geometry if the kind accepts one, else by capacity and FPR; without options it does not know.
 */
static besom_filter *choose_filter(input *in, state *s) {
  static const char *const options[] = {NULL,
                                        "isa=portable",
                                        "isa=avx2",
                                        "heads=no",
                                        "heads=no,isa=portable",
                                        "base=aqf",
                                        "cache=topk,cache_bits=3000"};
  s->seed[0] = 7;
  const besom_kind_info *kind = choose_kind(take(in));
  besom_config config = {.kind = kind->name, .seed = s->seed};
  unsigned choice = take(in), slots = 1 + take(in), width = 1 + take(in) % 64;
  config.options = options[choice % 7];
  if (choice >= 128) slots += 4 * take(in);
  config.slots = slots;
  config.width = width;
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  static const char *const others[] = {"forget=yes,max_exceptions=4", NULL};
  for (size_t i = 0; i < 2 && status == BESOM_BAD_OPTION; i++) {
    config.options = others[i];
    status = besom_create(&config, &f);
  }
  if (status == BESOM_INVALID) {
    config.slots = config.width = 0;
    config.capacity = slots;
    config.fpr = choice % 2 ? 1.0 / (1 + width) : 1.0 / (2u << width / 4);
    status = besom_create(&config, &f);
  }
  s->needs_store = kind_needs_store(kind);
  return status == BESOM_OK ? f : NULL;
}

static uint64_t slots_of(const besom_filter *f) {
  besom_statistics stats;
  demand(besom_stats(f, &stats) == BESOM_OK);
  return stats.slots;
}

/* ------------------------------------------------------------------ operations */

static besom_status insert_one(state *s, size_t key) {
  besom_match match;
  if (!s->needs_store) return besom_insert_u64(s->f, reference_key(key));
  return slot_store_insert(&s->keys, besom_hash_u64(s->f, reference_key(key)), &match);
}

static void insert(state *s, size_t key, unsigned copies) {
  while (copies--) {
    besom_status status = insert_one(s, key);
    if (status == BESOM_FULL) return;
    demand(status == BESOM_OK);
    reference_insert(&s->truth, key);
  }
}

/* A stored key is at one of its matches. */
static besom_status remove_from_store(state *s, size_t key) {
  besom_digest d = besom_hash_u64(s->f, reference_key(key));
  besom_match matches[64];
  size_t total = 0;
  demand(besom_matches(s->f, d, matches, 64, &total) == BESOM_OK && total <= 64);
  for (size_t i = 0; i < total; i++) {
    besom_digest stored = s->keys.digests[matches[i].bucket];
    if (stored.hi == d.hi && stored.lo == d.lo) return slot_store_remove(&s->keys, matches[i]);
  }
  return BESOM_NOT_FOUND;
}

static besom_status remove_one(state *s, size_t key) {
  return s->needs_store ? remove_from_store(s, key) : besom_remove_u64(s->f, reference_key(key));
}

/* Only inserted keys may be removed, and keys that the filter answers no to. */
static void remove_key(state *s, size_t key, unsigned copies) {
  if (!s->truth.removes && !s->needs_store) return;
  for (; copies && s->truth.copies[key]; copies--) {
    demand(remove_one(s, key) == BESOM_OK);
    reference_remove(&s->truth, key);
  }
  if (!besom_contains_u64(s->f, reference_key(key))) demand(remove_one(s, key) == BESOM_NOT_FOUND);
}

/* All copies of all members; or one absent key. */
typedef struct key_source {
  const state *s;
  size_t number; /* of the key */
  uint64_t given;
  besom_u64_key key;
} key_source;

static void give(key_source *from, besom_bytes *key) {
  from->given++;
  from->key = besom_u64(reference_key(from->number));
  *key = (besom_bytes){from->key.bytes, sizeof from->key.bytes};
}

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_source *from = ctx;
  const reference *truth = &from->s->truth;
  (void)weight;
  for (; from->number < truth->universe; from->number++, from->given = 0) {
    if (from->given == truth->copies[from->number]) continue;
    give(from, key);
    return BESOM_OK;
  }
  return BESOM_END;
}

static besom_status next_absent(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_source *from = ctx;
  (void)weight;
  if (from->given) return BESOM_END;
  give(from, key);
  return BESOM_OK;
}

/* The reference for a new seed or size, by which keys have other fingerprints. */
static void renew_reference(state *s) {
  reference renewed;
  demand(reference_init(&renewed, s->f, UNIVERSE_SIZE) == BESOM_OK);
  renewed.exact = renewed.exact && s->truth.exact;
  for (size_t i = 0; i < UNIVERSE_SIZE; i++)
    for (uint64_t c = 0; c < s->truth.copies[i]; c++) reference_insert(&renewed, i);
  reference_close(&s->truth);
  s->truth = renewed;
}

/* How a resize or rekey is run: the upper bits of the operation. */
typedef enum pace { IN_STEPS, AT_ONCE, CANCELLED, PACES } pace;

/* Runs a task that has begun. Changes in between are BUSY. A cancelled task changes nothing. */
static besom_status finish(state *s, besom_task *task, pace how) {
  besom_status status = BESOM_OK;
  for (bool finished = false; status == BESOM_OK && !finished;) {
    demand(besom_insert_u64(s->f, reference_key(0)) == BESOM_BUSY);
    status = besom_task_step(task, 50, &finished);
    if (how == CANCELLED && status == BESOM_OK && !finished) {
      besom_task_cancel(task);
      return BESOM_CANCELLED;
    }
  }
  return status;
}

/* Shrinking may drop bits of the fingerprints, so that more keys share one: `pqf`. */
static void resize(state *s, bool grow, pace how) {
  uint64_t slots = slots_of(s->f), wanted = grow ? 2 * slots : slots / 2;
  if (grow ? slots >= MAX_SLOTS : slots % 2) return;
  besom_task *task = NULL;
  besom_status status = besom_resize(s->f, wanted, how == AT_ONCE ? NULL : &task);
  if (status == BESOM_OK && how != AT_ONCE) status = finish(s, task, how);
  demand(status != BESOM_NO_MEMORY && status != BESOM_NOT_FOUND);
  demand(slots_of(s->f) == (status == BESOM_OK ? wanted : slots));
  if (status == BESOM_OK) renew_reference(s);
}

/* Adapts for the key if it is absent. Not with an exact reference, which does not model that. */
static void rekey(state *s, size_t key, pace how) {
  uint8_t seed[16] = {(uint8_t)(s->seed[0] + 1)};
  key_source members = {.s = s}, absent = {.number = key};
  besom_source yes = {.next = next_member, .size_hint = s->truth.items, .ctx = &members},
               no = {.next = next_absent, .size_hint = 1, .ctx = &absent};
  bool adapts = !s->truth.exact && !s->truth.copies[key] && besom_abilities(s->f) & BESOM_CAN_ADAPT;
  besom_task *task = NULL;
  besom_status status =
      besom_rekey(s->f, &yes, adapts ? &no : NULL, seed, how == AT_ONCE ? NULL : &task);
  if (status == BESOM_OK && how != AT_ONCE) status = finish(s, task, how);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_RESERVE_FULL ||
         status == BESOM_UNSUPPORTED || status == BESOM_NEEDS_STORE ||
         (status == BESOM_CANCELLED && how == CANCELLED));
  if (status != BESOM_OK) return;
  if (adapts) demand(!besom_contains_u64(s->f, reference_key(key)));
  memcpy(s->seed, seed, sizeof seed);
  renew_reference(s);
}

/* Replaces the filter by its copy. */
static void save_and_load(state *s) {
  memory_sink sink;
  besom_filter *copy = NULL;
  memory_sink_init(&sink);
  demand(besom_save(s->f, &sink.api) == BESOM_OK);
  demand(besom_load(sink.data, sink.len, NULL, &copy) == BESOM_OK);
  memory_sink_close(&sink);
  besom_free(s->f);
  s->f = copy;
  if (s->needs_store) demand(slot_store_rebind(&s->keys, copy) == BESOM_OK);
}

/* Merges with a filter of some copies of one key, and replaces the filter by the union. */
static void merge(state *s, size_t key, unsigned copies) {
  besom_filter *other = NULL, *merged = NULL;
  demand(besom_create_like(s->f, &other) == BESOM_OK);
  unsigned held = 0;
  while (held < copies && besom_insert_u64(other, reference_key(key)) == BESOM_OK) held++;
  besom_status status = besom_merge(s->f, other, &merged);
  besom_free(other);
  if (status == BESOM_FULL || status == BESOM_RESERVE_FULL || status == BESOM_UNSUPPORTED) return;
  demand(status == BESOM_OK);
  besom_free(s->f);
  s->f = merged;
  while (held--) reference_insert(&s->truth, key);
}

typedef struct digest_array {
  besom_digest *digests;
  size_t n;
} digest_array;

static besom_status next_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_array *left = ctx;
  *n = left->n < cap ? left->n : cap;
  memcpy(out, left->digests, *n * sizeof *out);
  left->digests += *n;
  left->n -= *n;
  return *n ? BESOM_OK : BESOM_END;
}

/*
 * Sorted digests build an equal filter. It is only checked, not kept: its options are the defaults.
 */
static void build_sorted(state *s) {
  besom_statistics stats;
  besom_stats(s->f, &stats);
  besom_config config = {
      .kind = stats.kind, .seed = s->seed, .slots = stats.slots, .width = stats.width};
  besom_digest *digests = heap_array((size_t)s->truth.items, sizeof *digests);
  digest_array all = {digests, 0};
  for (size_t i = 0; i < s->truth.universe; i++)
    for (uint64_t c = 0; c < s->truth.copies[i]; c++)
      digests[all.n++] = besom_hash_u64(s->f, reference_key(i));
  sort_digests(digests, all.n);
  besom_digest_source source = {.next = next_digests, .size_hint = all.n, .ctx = &all};
  besom_filter *built = NULL;
  besom_status status = besom_build(&config, &(besom_input){.digests = &source}, &built);
  /*
   * Counted copies take fewer slots than copies that are fingerprints of their own: these may not
   * fit.
   */
  if (status == BESOM_FULL) {
    demand(stats.load_factor * (double)stats.slots < (double)s->truth.items - 0.5);
  } else if (status != BESOM_UNSUPPORTED && status != BESOM_INVALID) {
    demand(status == BESOM_OK);
    demand_no_error(reference_check(&s->truth, built));
  }
  besom_free(built);
  free(digests);
}

/*
 * An absent key is answered no from then on, or the reserve is full. Not with an exact reference,
 * which does not model adapting. Kinds that move fingerprints guarantee less.
 */
static void adapt(state *s, size_t key) {
  if (s->truth.exact || s->truth.copies[key]) return;
  besom_status status = besom_adapt_u64(s->f, reference_key(key));
  bool adapted = status == BESOM_OK || status == BESOM_EVICTED;
  demand(adapted || status == BESOM_RESERVE_FULL || status == BESOM_UNSUPPORTED ||
         status == BESOM_NEEDS_STORE);
  if (adapted && !s->needs_store) demand(!besom_contains_u64(s->f, reference_key(key)));
}

/* The same for the no list. An entry stays until it is removed, or its key is inserted. */
static void add_to_no_list(state *s, size_t key) {
  if (s->truth.exact || s->truth.copies[key]) return;
  besom_u64_key k = besom_u64(reference_key(key));
  besom_status status = besom_no_add(s->f, k.bytes, sizeof k.bytes);
  demand(status == BESOM_OK || status == BESOM_RESERVE_FULL || status == BESOM_UNSUPPORTED);
  if (status == BESOM_OK) demand(!besom_contains_u64(s->f, reference_key(key)));
}

static void remove_from_no_list(state *s, size_t key) {
  besom_u64_key k = besom_u64(reference_key(key));
  besom_status status = besom_no_remove(s->f, k.bytes, sizeof k.bytes);
  demand(status == BESOM_OK || status == BESOM_NOT_FOUND || status == BESOM_UNSUPPORTED);
  demand(status != BESOM_OK || !s->truth.copies[key]);
}

/* From detail 8 on the reference is no longer exact, so that all adaptive kinds may adapt. */
static void change_negatives(state *s, size_t key, unsigned detail) {
  if (detail >= 8) s->truth.exact = false;
  if (detail < 12)
    adapt(s, key);
  else if (detail < 14)
    add_to_no_list(s, key);
  else
    remove_from_no_list(s, key);
}

/* The lower 4 bits choose the operation, with weights; the upper 4 bits its details. */
static void one_operation(state *s, input *in) {
  unsigned operation = take(in), choice = operation % 16, detail = operation / 16,
           copies = 1 + detail * detail;
  size_t key = take(in) % UNIVERSE_SIZE;
  if (choice < 6)
    insert(s, key, choice ? copies : 1);
  else if (choice < 11)
    remove_key(s, key, copies);
  else if (choice == 11)
    resize(s, detail % 2, (pace)(detail / 2 % PACES));
  else if (choice == 12)
    save_and_load(s);
  else if (choice == 13)
    merge(s, key, copies);
  else if (choice == 14 && detail < 8)
    build_sorted(s);
  else if (choice == 14)
    rekey(s, key, (pace)(detail % PACES));
  else
    change_negatives(s, key, detail);
  demand_no_error(reference_check_key(&s->truth, s->f, key));
  const char *reason = NULL;
  if (besom_validate(s->f, &reason) != BESOM_OK)
    abort_with(reason ? reason : "not valid", __FILE__, __LINE__);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {data, data + size};
  state s = {0};
  s.f = choose_filter(&in, &s);
  if (!s.f) return 0;
  if (s.needs_store) demand(slot_store_open(&s.keys, s.f) == BESOM_OK);
  demand(reference_init(&s.truth, s.f, UNIVERSE_SIZE) == BESOM_OK);
  for (int i = 1; in.at < in.end && i < MAX_OPERATIONS; i++) {
    one_operation(&s, &in);
    if (i % FULL_CHECK_EVERY) continue;
    demand_no_error(reference_check(&s.truth, s.f));
    demand_counters(s.f);
  }
  demand_no_error(reference_check(&s.truth, s.f));
  demand(!s.needs_store || !s.keys.wrong);
  reference_close(&s.truth);
  if (s.needs_store) slot_store_close(&s.keys);
  besom_free(s.f);
  return 0;
}
