#include "support/reference.h"

#include <stdlib.h>
#include <string.h>

#include "besom_reverse.h"
#include "support/heap.h"
#include "support/keys.h"

enum { UNIVERSE = 77 }; /* a separate stream of keys */

uint64_t reference_key(size_t i) {
  return key_u64(UNIVERSE, i);
}

int compare_addresses(const void *a, const void *b) {
  const address *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Of the two buckets of a fingerprint, the address is that of the first. */
static address address_of(besom_entry entry, uint32_t width) {
  if (entry.has_alternate && entry.alternate < entry.quotient) entry.quotient = entry.alternate;
  if (width >= 64) return (address){entry.quotient, entry.remainder};
  return (address){width ? entry.quotient >> (64 - width) : 0,
                   entry.quotient << width | entry.remainder};
}

/* An entry must fit the geometry, and quotients must ascend. */
static bool plausible(besom_entry entry, const besom_statistics *stats, uint64_t last_quotient) {
  if (entry.quotient >= stats->slots || entry.quotient < last_quotient) return false;
  return stats->width >= 64 || entry.remainder >> stats->width == 0;
}

address *stored_addresses(const besom_filter *f, size_t *n) {
  besom_statistics stats;
  besom_iter iter = {.filter = f};
  if (besom_stats(f, &stats) != BESOM_OK || !(besom_abilities(f) & BESOM_CAN_ITERATE)) return NULL;
  address *all = heap_array((size_t)stats.keys, sizeof *all);
  besom_entry entry;
  uint64_t last_quotient = 0;
  besom_status status;
  *n = 0;
  while ((status = besom_iter_next(&iter, &entry)) == BESOM_OK) {
    if (entry.count > stats.keys - *n || !plausible(entry, &stats, last_quotient)) break;
    last_quotient = entry.quotient;
    for (uint64_t i = 0; i < entry.count; i++) all[(*n)++] = address_of(entry, stats.width);
  }
  /* After END, next returns END again. */
  bool complete =
      status == BESOM_END && *n == stats.keys && besom_iter_next(&iter, &entry) == BESOM_END;
  if (complete) {
    qsort(all, *n, sizeof *all, compare_addresses);
    return all;
  }
  free(all);
  return NULL;
}

/* The address of key i, from a scratch filter that holds only this key. */
static besom_status find_address(besom_filter *scratch, size_t i, address *out) {
  besom_status status = besom_insert_u64(scratch, reference_key(i));
  if (status != BESOM_OK) return status;
  size_t n = 0;
  address *stored = stored_addresses(scratch, &n);
  if (stored && n == 1) *out = stored[0];
  status = stored && n == 1 ? besom_remove_u64(scratch, reference_key(i)) : BESOM_CORRUPT;
  free(stored);
  return status;
}

static size_t class_with(const reference *ref, address wanted) {
  const address *found =
      bsearch(&wanted, ref->addresses, ref->classes, sizeof wanted, compare_addresses);
  return found ? (size_t)(found - ref->addresses) : SIZE_MAX;
}

static void sort_into_classes(reference *ref, const address *of_keys) {
  memcpy(ref->addresses, of_keys, ref->universe * sizeof *of_keys);
  qsort(ref->addresses, ref->universe, sizeof *of_keys, compare_addresses);
  for (size_t i = 0; i < ref->universe; i++)
    if (i == 0 || compare_addresses(&ref->addresses[i], &ref->addresses[ref->classes - 1]))
      ref->addresses[ref->classes++] = ref->addresses[i];
  for (size_t i = 0; i < ref->universe; i++) ref->class_of[i] = class_with(ref, of_keys[i]);
}

static besom_status find_addresses(reference *ref, const besom_filter *f) {
  besom_filter *scratch = NULL;
  besom_status status = besom_create_like(f, &scratch);
  if (status != BESOM_OK) return status;
  address *of_keys = heap_array(ref->universe, sizeof *of_keys);
  for (size_t i = 0; i < ref->universe && status == BESOM_OK; i++)
    status = find_address(scratch, i, &of_keys[i]);
  if (status == BESOM_OK) sort_into_classes(ref, of_keys);
  free(of_keys);
  besom_free(scratch);
  return status;
}

besom_status reference_init(reference *ref, const besom_filter *f, size_t universe) {
  const unsigned for_exact =
      BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_ITERATE;
  unsigned abilities = besom_abilities(f);
  *ref = (reference){.universe = universe};
  ref->counts = abilities & BESOM_CAN_COUNT;
  ref->removes = abilities & BESOM_CAN_REMOVE;
  ref->exact = (abilities & for_exact) == for_exact;
  ref->copies = heap_array(universe, sizeof *ref->copies);
  ref->class_of = heap_array(universe, sizeof *ref->class_of);
  ref->addresses = heap_array(universe, sizeof *ref->addresses);
  ref->held = heap_array(universe, sizeof *ref->held);
  return ref->exact ? find_addresses(ref, f) : BESOM_OK;
}

void reference_close(reference *ref) {
  free(ref->copies);
  free(ref->class_of);
  free(ref->addresses);
  free(ref->held);
}

void reference_insert(reference *ref, size_t i) {
  ref->items++;
  ref->copies[i]++;
  if (ref->exact) ref->held[ref->class_of[i]]++;
}

void reference_remove(reference *ref, size_t i) {
  ref->items--;
  ref->copies[i]--;
  if (ref->exact) ref->held[ref->class_of[i]]--;
}

const char *reference_check_key(const reference *ref, const besom_filter *f, size_t i) {
  uint64_t held = ref->exact ? ref->held[ref->class_of[i]] : ref->copies[i];
  bool yes = besom_contains_u64(f, reference_key(i));
  if (ref->copies[i] && !yes) return "a false negative";
  if (ref->exact && !held && yes) return "a yes for a fingerprint that is not stored";
  if (!ref->counts) return NULL;
  uint64_t n = 0;
  if (besom_count_u64(f, reference_key(i), &n) != BESOM_OK) return "count fails";
  if (n < ref->copies[i]) return "a count below the number of copies";
  return ref->exact && n != held ? "a count that is not that of the copies of the fingerprint"
                                 : NULL;
}

static const char *check_stored(const reference *ref, const besom_filter *f) {
  size_t n = 0;
  address *stored = stored_addresses(f, &n);
  if (!stored) return "iterating returns too few, too many, descending or impossible entries";
  const char *wrong = NULL;
  size_t at = 0;
  for (size_t c = 0; c < ref->classes && !wrong; c++) {
    uint64_t run = 0;
    while (at < n && !compare_addresses(&stored[at], &ref->addresses[c])) at++, run++;
    if (run != ref->held[c])
      wrong = "iterating returns another number of copies than were inserted";
  }
  if (!wrong && at != n) wrong = "iterating returns a fingerprint that was not inserted";
  free(stored);
  return wrong;
}

const char *reference_check(const reference *ref, const besom_filter *f) {
  const char *wrong = NULL;
  if (besom_validate(f, &wrong) != BESOM_OK)
    return wrong ? wrong : "validate fails without a reason";
  besom_statistics stats;
  if (besom_stats(f, &stats) != BESOM_OK) return "stats fail";
  /* Kinds without copies do not count a key that they already answer yes to. */
  if (ref->counts ? stats.keys != ref->items : stats.keys > ref->items)
    return "a wrong number of keys";
  for (size_t i = 0; i < ref->universe && !wrong; i++) wrong = reference_check_key(ref, f, i);
  return !wrong && ref->exact ? check_stored(ref, f) : wrong;
}
