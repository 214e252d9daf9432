/* Filters of more than 2^32 slots, most of which are never touched. */
#include <stdlib.h>
#include <sys/resource.h>

#include "filters.h"
#include "support/failing_allocator.h"

enum { N = 300 };

static long pages_touched(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/* More than 2^32 slots (bits, for Bloom kinds), in a gigabyte or two of address space. */
static besom_config huge_config(const subject *s) {
  besom_config config = config_of(s, (UINT64_C(1) << 32) + 12345, 0.5);
  config.allocator = &sparse_allocator;
  return config;
}

static void slots_beyond_32_bits_work(void **state) {
  const subject *s = subject_of(state);
  besom_config config = huge_config(s);
  besom_filter *f = make_empty(&config);
  uint64_t *keys = keys_u64(MEMBERS, N);
  size_t yes = 0;
  for (size_t i = 0; i < N; i++) assert_status(BESOM_OK, besom_insert_u64(f, keys[i]));
  assert_status(BESOM_OK, besom_insert_digest(f, (besom_digest){UINT64_MAX, UINT64_MAX}));
  assert_holds_u64(f, keys, N);
  assert_true(besom_contains_digest(f, (besom_digest){UINT64_MAX, UINT64_MAX}));
  for (size_t i = 0; i < N; i++) yes += besom_contains_u64(f, key_u64(NEGATIVES, i));
  assert_int_equal(yes, 0); /* few keys in billions of slots */
  for (size_t i = 0; can(s, BESOM_CAN_REMOVE) && i < N; i++)
    assert_status(BESOM_OK, besom_remove_u64(f, keys[i]));
  for (size_t i = 0; can(s, BESOM_CAN_REMOVE) && i < N; i++)
    assert_false(besom_contains_u64(f, keys[i]));
  free(keys);
  besom_free(f);
}

/* Creating a filter only allocates, whatever its size. */
static void creating_touches_no_memory(void **state) {
  besom_config config = huge_config(subject_of(state));
  long before = pages_touched();
  besom_filter *f = make_empty(&config);
  assert_true(pages_touched() - before < 1000);
  besom_free(f);
}

const law size_laws[] = {
    LAW(slots_beyond_32_bits_work, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(creating_touches_no_memory, EVERY_KIND, BESOM_CAN_INSERT),
    {0},
};
