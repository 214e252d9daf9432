/* The default allocator, on both sides of the size from which it maps pages. */
#define _DEFAULT_SOURCE /* sysconf */
#include "core/system/memory.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/system/huge_pages.h"

#define MIB ((size_t)1 << 20)

static const besom_allocator *const allocator = &besom__default_allocator;

static const uint32_t sizes[] = {1,
                                 8,
                                 100,
                                 4096,
                                 MIB,
                                 2 * MIB - 1,
                                 2 * MIB,
                                 2 * MIB + 1,
                                 2 * MIB + 4095,
                                 2 * MIB + 4096,
                                 4 * MIB - 1,
                                 4 * MIB + 1,
                                 7 * MIB + 13,
                                 8 * MIB + 65537,
                                 10 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool all_bytes_are(const uint8_t *memory, size_t size, uint8_t byte) {
  return memory[0] == byte && memcmp(memory, memory + 1, size - 1) == 0;
}

static void memory_is_zero_and_writable_to_its_last_byte(void **state) {
  (void)state;
  for (unsigned round = 0; round < 2; round++) /* the second one gets what the first one has used */
    for (unsigned i = 0; i < SIZES; i++) {
      uint8_t *memory = besom__allocate(allocator, sizes[i]);
      assert_non_null(memory);
      assert_true(all_bytes_are(memory, sizes[i], 0));
      memset(memory, 0xa5, sizes[i]);
      assert_true(all_bytes_are(memory, sizes[i], 0xa5));
      besom__release(allocator, memory, sizes[i]);
    }
}

static void blocks_do_not_overlap(void **state) {
  (void)state;
  uint8_t *blocks[SIZES];
  for (unsigned i = 0; i < SIZES; i++) {
    blocks[i] = besom__allocate(allocator, sizes[i]);
    assert_non_null(blocks[i]);
    memset(blocks[i], (int)i + 1, sizes[i]);
  }
  for (unsigned i = 0; i < SIZES; i += 2)
    besom__release(allocator, blocks[i], sizes[i]); /* nor does releasing */
  for (unsigned i = 1; i < SIZES; i += 2) {
    assert_true(all_bytes_are(blocks[i], sizes[i], (uint8_t)(i + 1)));
    besom__release(allocator, blocks[i], sizes[i]);
  }
}

static void memory_is_aligned_for_any_type_and_huge_pages(void **state) {
  (void)state;
  for (unsigned i = 0; i < SIZES; i++) {
    void *memory = besom__allocate(allocator, sizes[i]);
    size_t alignment = sizes[i] >= 2 * MIB                ? 2 * MIB
                       : sizes[i] >= alignof(max_align_t) ? alignof(max_align_t)
                                                          : 1;
    assert_int_equal((uintptr_t)memory % alignment, 0);
    besom__release(allocator, memory, sizes[i]);
  }
}

static void what_cannot_be_had_is_null(void **state) {
  (void)state;
  static const size_t huge[] = {SIZE_MAX,           SIZE_MAX - 1,       SIZE_MAX - 4095,
                                SIZE_MAX - 2 * MIB, SIZE_MAX - 4 * MIB, SIZE_MAX - 4 * MIB - 1,
                                SIZE_MAX / 2,       SIZE_MAX / 2 + 1,   (size_t)1 << 60};
  for (unsigned i = 0; i < sizeof huge / sizeof *huge; i++)
    assert_null(besom__allocate(allocator, huge[i]));
}

static void releasing_nothing_is_fine(void **state) {
  (void)state;
  besom__release(allocator, NULL, 0);
  besom__release(allocator, NULL, 100 * MIB);
}

/* Address space in use; 0 where the system does not tell. */
static size_t address_space(void) {
  static char buffer[256];
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  setvbuf(file, buffer, _IOFBF, sizeof buffer); /* a buffer of its own would be in the result */
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What is mapped for the sake of alignment goes back at once, the rest with the block. */
static void mapped_blocks_take_no_more_than_their_pages(void **state) {
  (void)state;
#ifdef BESOM_EMULATED
  skip(); /* the emulator maps memory of its own */
#endif
  if (!address_space()) skip();
  for (unsigned i = 0; i < SIZES; i++) {
    if (sizes[i] < 2 * MIB) continue;
    size_t before = address_space();
    void *memory = besom__allocate(allocator, sizes[i]);
    assert_in_range(address_space() - before, sizes[i],
                    sizes[i] + (size_t)sysconf(_SC_PAGESIZE) - 1);
    besom__release(allocator, memory, sizes[i]);
    assert_int_equal(address_space(), before);
  }
}

/* Whether there are huge pages depends on the system; what it tells must be possible. */
static void huge_pages_are_whole_and_in_use(void **state) {
  (void)state;
  size_t size = 8 * MIB + 12345;
  uint64_t bytes = 0;
  uint8_t *memory = besom__allocate(allocator, size);
  assert_non_null(memory);
  if (!besom__add_huge_pages(memory, size, &bytes)) skip();
  assert_int_equal(bytes, 0); /* nothing was touched */
  memset(memory, 1, size);
  assert_true(besom__add_huge_pages(memory, size, &bytes));
  assert_int_equal(bytes % HUGE_PAGE, 0);
  assert_in_range(bytes, 0, size);
  uint64_t half = 0;
  assert_true(besom__add_huge_pages(memory, 4 * MIB, &half));
  assert_in_range(half, 0, bytes);
  assert_in_range(half, 0, 4 * MIB);
  besom__release(allocator, memory, size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zero_and_writable_to_its_last_byte),
      cmocka_unit_test(blocks_do_not_overlap),
      cmocka_unit_test(memory_is_aligned_for_any_type_and_huge_pages),
      cmocka_unit_test(what_cannot_be_had_is_null),
      cmocka_unit_test(releasing_nothing_is_fine),
      cmocka_unit_test(huge_pages_are_whole_and_in_use),
      cmocka_unit_test(mapped_blocks_take_no_more_than_their_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
