/*
 * The hot calls of qf and aqf. Compiled once per instruction set and width (table_variant.h). Each
 * object exports its calls: besom__quotient_calls_avx2_8 and so on.
 *
 * Each call is one function for what most calls need: one block, nothing extended.
 * The rest is left to the operation of the kind, or to functions that are not inline, so that the
 * common case needs no stack frame.
 */
#define UNSHARED 1 /* core/relaxed.h */

#include "quotient/quotient_calls.h"

#include "quotient/aqf/aqf.h"
#include "quotient/table/block_insert.h"
#include "quotient/table/block_remove.h"
#include "quotient/table/table_slots.h"
#include "quotient/table/table_variant.h"

#define NOINLINE static __attribute__((noinline))
#define CALL static FLATTEN
#define MAX_SHORT_KEY 16 /* bytes: the longest key that is hashed inline */

/* ------------------------------------------------------------------ queries */

/* For runs that leave their block. */
NOINLINE bool qf_has_far(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return t->ops->contains_far(t, d) != ANSWER_NO;
}

/* For aqf: the answer of the filter, from that of its table. */
ALWAYS_INLINE bool decide(const besom_filter *f, besom_digest d, enum answer answer) {
  if (UNLIKELY(answer == ANSWER_MAYBE)) return f->kind->query.contains(f, d);
  return answer == ANSWER_YES;
}

NOINLINE bool aqf_has_far(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return decide(f, d, t->ops->contains_far(t, d));
}

/* For aqf with extensions: looks closer at the matches of a block. */
NOINLINE bool matches_exactly(const besom_filter *f, besom_digest d, const uint8_t *block,
                              uint64_t matches) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  return decide(f, d, answer_of(t, block, matches, d, WIDTH(t)));
}

/* The slots of the key's run that have its remainder, slot i is bit 0. */
struct found {
  struct target at;
  uint64_t equal;
  bool far;
};

ALWAYS_INLINE struct found quotient_call_find_equal(const struct qtable *t, besom_digest d,
                                                    unsigned width) {
  struct found found = {.at = target_of(t, d, width)};
  unsigned i = found.at.quotient % 64;
  uint64_t run = run_from_quotient(t, found.at.block, i);
  found.far = run & FAR_SLOTS;
  found.equal = slots_equal_32(t, found.at.block, i, found.at.remainder, width) & run;
  return found;
}

ALWAYS_INLINE bool qf_has(const besom_filter *f, besom_digest d) {
  unsigned width = WIDTH(&const_quotient_filter(f)->table);
  struct qtable t = with_constant_offsets(&const_quotient_filter(f)->table, width);
  struct found found = quotient_call_find_equal(&t, d, width);
  return UNLIKELY(found.far) ? qf_has_far(f, d) : found.equal != 0;
}

ALWAYS_INLINE bool aqf_has(const besom_filter *f, besom_digest d) {
  const struct qtable *own = &((const struct quotient_filter *)f)->table;
  unsigned width = WIDTH(own);
  struct qtable t = with_constant_offsets(own, width);
  struct found found = quotient_call_find_equal(&t, d, width);
  unsigned i = found.at.quotient % 64;
  if (UNLIKELY(found.far)) return aqf_has_far(f, d);
  if (!found.equal) return false;
  if (UNLIKELY(own->extended)) return matches_exactly(f, d, found.at.block, found.equal << i);
  t.further_slots = own->further_slots;
  return found.equal & heads_that_matter(&t, found.at.block, found.at.remainder, width) >> i;
}

NOINLINE bool quotient_call_contains_long_key(const besom_filter *f, const void *key, size_t len) {
  return f->kind->query.contains(f, besom_hash(f, key, len));
}

CALL bool qf_contains_key(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return quotient_call_contains_long_key(f, key, len);
  return qf_has(f, xxh3_bytes(&f->hasher, key, len));
}

CALL bool qf_contains_u64(const besom_filter *f, uint64_t key) {
  return qf_has(f, xxh3_u64(&f->hasher, key));
}

CALL bool qf_contains_digest(const besom_filter *f, besom_digest d) {
  return qf_has(f, d);
}

CALL bool aqf_contains(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return quotient_call_contains_long_key(f, key, len);
  return aqf_has(f, xxh3_bytes(&f->hasher, key, len));
}

CALL bool aqf_contains_u64(const besom_filter *f, uint64_t key) {
  return aqf_has(f, xxh3_u64(&f->hasher, key));
}

CALL bool aqf_contains_digest(const besom_filter *f, besom_digest d) {
  return aqf_has(f, d);
}

/* ------------------------------------------------------------------ inserts */

/* If the filter is full, or if counts may have to change. */
NOINLINE besom_status insert_generally(besom_filter *f, besom_digest d) {
  return f->kind->change->insert(f, d);
}

/* For runs and shifts that leave the block. */
NOINLINE besom_status quotient_call_insert_far(besom_filter *f, besom_digest d, bool unless) {
  struct qtable *t = &quotient_filter(f)->table;
  struct address a = address_of(d, t->slots);
  bool present = false;
  besom_status status =
      t->ops->insert_far(t, a.quotient, remainder_of(a, WIDTH(t)), unless ? &present : NULL);
  if (UNLIKELY(present)) return insert_generally(f, d);
  f->items += status == BESOM_OK;
  return status;
}

/* With `unless`, a remainder that is in the run already is left to the operation of the kind. */
ALWAYS_INLINE besom_status quotient_call_insert(besom_filter *f, besom_digest d, bool has_space,
                                                bool unless) {
  struct qtable *t = &quotient_filter(f)->table;
  unsigned width = WIDTH(t);
  if (UNLIKELY(!has_space)) return insert_generally(f, d);
  struct qtable plain = with_constant_offsets(t, width);
  plain.further_slots = t->further_slots;
  enum inserted done = insert_in_block(&plain, address_of(d, t->slots), unless, width);
  if (UNLIKELY(done == INSERT_ELSEWHERE)) return quotient_call_insert_far(f, d, unless);
  if (UNLIKELY(done == INSERT_PRESENT)) return insert_generally(f, d);
  t->used++;
  f->items++;
  return BESOM_OK;
}

ALWAYS_INLINE besom_status qf_add(besom_filter *f, besom_digest d) {
  return quotient_call_insert(f, d, f->items < f->capacity, false);
}

/* An insert that finds the key's remainder may have to raise a count. */
ALWAYS_INLINE besom_status aqf_add(besom_filter *f, besom_digest d) {
  const struct aqf *a = aqf(f);
  return quotient_call_insert(f, d, member_slots(a) < f->capacity, true);
}

NOINLINE besom_status quotient_call_insert_long_key(besom_filter *f, const void *key, size_t len) {
  return f->kind->change->insert(f, besom_hash(f, key, len));
}

CALL besom_status qf_insert_key(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return quotient_call_insert_long_key(f, key, len);
  return qf_add(f, xxh3_bytes(&f->hasher, key, len));
}

CALL besom_status qf_insert_u64(besom_filter *f, uint64_t key) {
  return qf_add(f, xxh3_u64(&f->hasher, key));
}

CALL besom_status qf_insert_digest(besom_filter *f, besom_digest d) {
  return qf_add(f, d);
}

CALL besom_status aqf_insert_key(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len > MAX_SHORT_KEY)) return quotient_call_insert_long_key(f, key, len);
  return aqf_add(f, xxh3_bytes(&f->hasher, key, len));
}

CALL besom_status aqf_insert_u64(besom_filter *f, uint64_t key) {
  return aqf_add(f, xxh3_u64(&f->hasher, key));
}

CALL besom_status aqf_insert_digest(besom_filter *f, besom_digest d) {
  return aqf_add(f, d);
}

/* ------------------------------------------------------------------ removes */

/* For runs that leave the block, and for fingerprints of several slots. */
NOINLINE besom_status quotient_call_remove_far(besom_filter *f, besom_digest d) {
  struct qtable *t = &quotient_filter(f)->table;
  unsigned width = WIDTH(t);
  if (UNLIKELY(has_tags(t))) return f->kind->change->remove(f, d);
  struct qtable plain = with_constant_offsets(t, width);
  plain.further_slots = t->further_slots;
  plain.room = t->room;
  struct target at = target_of(&plain, d, width);
  struct minirun m = minirun_of_run(&plain, besom__find_run(t, at.quotient), at.remainder, width);
  if (UNLIKELY(m.found == ANSWER_MAYBE)) return f->kind->change->remove(f, d);
  if (m.found == ANSWER_NO) return BESOM_NOT_FOUND;
  take_slot(&plain, at.quotient, m.run, m.last, width);
  t->used--;
  f->items--;
  return BESOM_OK;
}

/* For shifts that leave the block. */
NOINLINE besom_status quotient_call_shift(besom_filter *f, uint64_t quotient, uint64_t run,
                                          uint64_t slot) {
  struct qtable *t = &quotient_filter(f)->table;
  unsigned width = WIDTH(t);
  struct qtable plain = with_constant_offsets(t, width);
  plain.room = t->room;
  struct planned_remove plan = {block_at(t, quotient / 64), run, slot, 0, ANSWER_YES};
  do_remove_far(&plain, quotient, plan, last_of_cluster_from(&plain, quotient / 64 + 1), width);
  t->used--;
  f->items--;
  return BESOM_OK;
}

ALWAYS_INLINE besom_status quotient_call_take(besom_filter *f, besom_digest d) {
  struct qtable *t = &quotient_filter(f)->table;
  unsigned width = WIDTH(t);
  struct qtable plain = with_constant_offsets(t, width);
  plain.further_slots = t->further_slots;
  struct address a = address_of(d, t->slots);
  struct planned_remove plan = plan_remove(&plain, a, width);
  if (UNLIKELY(plan.result == ANSWER_MAYBE)) return quotient_call_remove_far(f, d);
  if (UNLIKELY(plan.result == ANSWER_NO)) return BESOM_NOT_FOUND;
  if (!plan.moved) return quotient_call_shift(f, a.quotient, plan.run, plan.slot);
  do_remove(&plain, a.quotient, plan, width);
  t->used--;
  f->items--;
  return BESOM_OK;
}

CALL besom_status quotient_call_remove_digest(besom_filter *f, besom_digest d) {
  return quotient_call_take(f, d);
}

/* Integer keys have 8 bytes. */
CALL besom_status quotient_call_remove(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(len != 8))
    return f->kind->change->remove(f, besom__xxh3_bytes(&f->hasher, key, len));
  return quotient_call_take(f, xxh3_u64(&f->hasher, load64(key)));
}

/* ------------------------------------------------------------------ the exported symbol */

#define CALLS_NAME JOIN(JOIN(besom__quotient_calls, BESOM_ISA), BESOM_WIDTH)

extern const struct quotient_calls CALLS_NAME;

const struct quotient_calls CALLS_NAME = {
    .qf_queries = {.contains = qf_contains_key,
                   .contains_u64 = qf_contains_u64,
                   .contains_digest = qf_contains_digest},
    .aqf_queries = {.contains = aqf_contains,
                    .contains_u64 = aqf_contains_u64,
                    .contains_digest = aqf_contains_digest},
    .qf_inserts = {.insert = qf_insert_key,
                   .insert_u64 = qf_insert_u64,
                   .insert_digest = qf_insert_digest},
    .aqf_inserts = {.insert = aqf_insert_key,
                    .insert_u64 = aqf_insert_u64,
                    .insert_digest = aqf_insert_digest},
    .removes = {.remove = NOT_IN_SMALL_CODE(quotient_call_remove),
                .remove_digest = NOT_IN_SMALL_CODE(quotient_call_remove_digest)},
};
