/* The container: its layout byte by byte for every kind, what is refused, and with which status. */
#include "file/container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/sections.h"
#include "support/checksums.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum {
  HEADER = 64,
  ROW = 32,
  KIND_AT = 16,
  LENGTH_AT = 32,
  RESERVED_AT = 40,
  CHECKSUM_AT = 56,
  ITEMS = 20
};

static const uint8_t seed[16] = "sixteen letters";

static uint64_t number_at(const uint8_t *bytes, unsigned size) {
  uint64_t x = 0;
  for (unsigned i = 0; i < size; i++) x |= (uint64_t)bytes[i] << 8 * i;
  return x;
}

static void put_number(uint8_t *bytes, unsigned size, uint64_t x) {
  for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t)(x >> 8 * i);
}

static bool all_zero(const uint8_t *bytes, size_t n) {
  while (n && !bytes[n - 1]) n--;
  return n == 0;
}

/* ------------------------------------------------------------------ saved filters */

/* The i-th kind that can be filled key by key, filled and saved; false past the last. */
static bool save_kind(size_t i, memory_sink *saved, const char **name) {
  const besom_kind_info *info = NULL;
  for (size_t k = 0, found = 0; found <= i; k++) {
    info = besom_kinds(k);
    if (!info) return false;
    found += (info->abilities & BESOM_CAN_INSERT) != 0;
  }
  besom_config config = {.kind = info->name, .capacity = 2 * ITEMS, .hash = "sip", .seed = seed};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t key = 0; key < ITEMS; key++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, key)), BESOM_OK);
  memory_sink_init(saved);
  assert_int_equal(besom_save(f, &saved->api), BESOM_OK);
  besom_free(f);
  *name = info->name;
  return true;
}

/* Runs a law on the saved bytes of every kind. The law may change them. */
static void for_every_kind(void (*law)(uint8_t *data, size_t len, const char *kind)) {
  memory_sink saved;
  const char *kind;
  size_t i = 0;
  for (; save_kind(i, &saved, &kind); i++) {
    law(saved.data, saved.len, kind);
    memory_sink_close(&saved);
  }
  assert_true(i > 0);
}

static unsigned sections_in(const uint8_t *data) {
  return (unsigned)number_at(data + 12, 4);
}

static uint8_t *row_of(const uint8_t *data, unsigned section) {
  return (uint8_t *)(uintptr_t)data + HEADER + ROW * section;
}

static uint64_t owner_of(const uint8_t *data, unsigned section) {
  return number_at(row_of(data, section) + 4, 4);
}

static uint64_t offset_of(const uint8_t *data, unsigned section) {
  return number_at(row_of(data, section) + 8, 8);
}

static uint64_t length_of(const uint8_t *data, unsigned section) {
  return number_at(row_of(data, section) + 16, 8);
}

/* From a block of exactly this length, so that the address sanitizer sees a read beyond it. */
static besom_status load(const uint8_t *data, size_t len) {
  uint8_t *exact = heap_array(len, 1);
  besom_filter *f = NULL;
  memcpy(exact, data, len);
  besom_status status = besom_load(exact, len, NULL, &f);
  assert_int_equal(f != NULL, status == BESOM_OK);
  besom_free(f);
  free(exact);
  return status;
}

/* The status of loading the bytes with one number changed and all checksums valid. */
static besom_status load_changed(const uint8_t *data, size_t len, size_t at, unsigned size,
                                 uint64_t number) {
  uint8_t *changed = heap_array(len, 1);
  memcpy(changed, data, len);
  put_number(changed + at, size, number);
  fix_checksums(changed, len);
  besom_status status = load(changed, len);
  free(changed);
  return status;
}

/* ------------------------------------------------------------------ layout */

static void check_header(uint8_t *data, size_t len, const char *kind) {
  assert_memory_equal(data,
                      "\x89"
                      "BESOM\r\n",
                      8);
  assert_int_equal(number_at(data + 8, 4), 1);
  assert_in_range(sections_in(data), 1, MAX_SECTIONS);
  assert_memory_equal(data + KIND_AT, kind, strlen(kind));
  assert_true(strlen(kind) <= 16 && all_zero(data + KIND_AT + strlen(kind), 16 - strlen(kind)));
  assert_int_equal(number_at(data + LENGTH_AT, 8), len);
  assert_true(all_zero(data + RESERVED_AT, 16));
}

static void the_header_is_as_the_layout_says(void **state) {
  (void)state;
  for_every_kind(check_header);
}

static void check_sections(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  uint64_t end = HEADER + ROW * sections_in(data);
  for (unsigned i = 0; i < sections_in(data); i++) {
    uint64_t offset = offset_of(data, i), aligned = (end + 63) / 64 * 64;
    assert_int_equal(offset, aligned);
    assert_true(all_zero(data + end, aligned - end));
    /* The filter, then its layers, each with its parameters first. */
    uint64_t owner = owner_of(data, i);
    assert_true(i == 0 ? owner == 0
                       : owner == owner_of(data, i - 1) || owner == owner_of(data, i - 1) + 1);
    if (i == 0 || owner != owner_of(data, i - 1)) assert_memory_equal(row_of(data, i), "PARM", 4);
    for (unsigned j = 0; j < i; j++) assert_memory_not_equal(row_of(data, i), row_of(data, j), 8);
    end = offset + length_of(data, i);
  }
  assert_int_equal(end, len); /* nothing after the last */
}

static void sections_are_aligned_and_padded_with_zeros(void **state) {
  (void)state;
  for_every_kind(check_sections);
}

static void check_parameters(uint8_t *data, size_t len, const char *kind) {
  (void)len, (void)kind;
  const uint8_t *parameters = data + offset_of(data, 0);
  assert_memory_equal(row_of(data, 0), "PARM", 4);
  assert_int_equal(number_at(parameters, 4), 2); /* sip */
  assert_int_equal(number_at(parameters + 4, 4), 0);
  assert_memory_equal(parameters + 8, seed, 16);
  assert_int_equal(number_at(parameters + 24, 8), ITEMS);
  assert_true(number_at(parameters + 32, 8) >= 2 * ITEMS);
}

static void the_parameters_begin_with_hash_seed_and_items(void **state) {
  (void)state;
  for_every_kind(check_parameters);
}

/* The header's checksum covers what is before it, and the section table with its checksums. */
static void check_checksums(uint8_t *data, size_t len, const char *kind) {
  (void)len, (void)kind;
  uint8_t sums[16];
  for (unsigned i = 0; i < sections_in(data); i++)
    assert_int_equal(number_at(row_of(data, i) + 24, 8),
                     besom__checksum(data + offset_of(data, i), length_of(data, i)));
  put_number(sums, 8, besom__checksum(data, CHECKSUM_AT));
  put_number(sums + 8, 8, besom__checksum(data + HEADER, ROW * sections_in(data)));
  assert_int_equal(number_at(data + CHECKSUM_AT, 8), besom__checksum(sums, sizeof sums));
}

static void checksums_cover_everything(void **state) {
  (void)state;
  for_every_kind(check_checksums);
}

static void check_repair(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  uint8_t *spoilt = heap_array(len, 1);
  memcpy(spoilt, data, len);
  memset(spoilt + LENGTH_AT, 0xff, 8);
  memset(spoilt + CHECKSUM_AT, 0xff, 8);
  for (unsigned i = 0; i < sections_in(data); i++) memset(row_of(spoilt, i) + 24, 0xff, 8);
  assert_int_equal(load(spoilt, len), BESOM_CORRUPT);
  fix_checksums(spoilt, len);
  assert_memory_equal(spoilt, data, len);
  assert_int_equal(load(spoilt, len), BESOM_OK);
  free(spoilt);
}

/* Otherwise the refusals below would prove nothing. */
static void repairing_restores_every_checksum(void **state) {
  (void)state;
  for_every_kind(check_repair);
}

/* ------------------------------------------------------------------ what is refused */

static void check_version(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  assert_int_equal(load_changed(data, len, 8, 4, 0), BESOM_CORRUPT);
  assert_int_equal(load_changed(data, len, 8, 4, 2), BESOM_CORRUPT); /* neither set nor labels */
  assert_int_equal(load_changed(data, len, 8, 4, 3), BESOM_NEWER_VERSION);
  assert_int_equal(load_changed(data, len, 8, 4, UINT32_MAX), BESOM_NEWER_VERSION);
  data[8] = 3;
  memset(data + 12, 0xff, len - 12); /* a later version may have another header */
  assert_int_equal(load(data, len), BESOM_NEWER_VERSION);
}

static void a_later_version_is_newer(void **state) {
  (void)state;
  for_every_kind(check_version);
}

static void check_kind(uint8_t *data, size_t len, const char *kind) {
  static const char names[][16] = {"zzz", "Qf", "qfqf", "", "fifteen letters"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    memcpy(data + KIND_AT, names[i], 16);
    assert_int_equal(load(data, len), BESOM_CORRUPT); /* because of its checksum */
    fix_checksums(data, len);
    assert_int_equal(load(data, len), BESOM_NEWER_VERSION);
  }
  memset(data + KIND_AT, 'x', 16); /* as long as a name can be */
  fix_checksums(data, len);
  assert_int_equal(load(data, len), BESOM_NEWER_VERSION);
  memset(data + KIND_AT, 0, 16);
  memcpy(data + KIND_AT, kind, strlen(kind));
  if (strlen(kind) >= 15) return;
  /* A name and a further byte. */
  assert_int_equal(load_changed(data, len, KIND_AT + 15, 1, 'x'), BESOM_CORRUPT);
  assert_int_equal(load_changed(data, len, KIND_AT + 15, 1, 0), BESOM_OK);
}

static void an_unknown_kind_is_newer(void **state) {
  (void)state;
  for_every_kind(check_kind);
}

static void check_magic(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  for (unsigned i = 0; i < 8; i++) {
    assert_int_equal(load_changed(data, len, i, 1, data[i] ^ 1u), BESOM_CORRUPT);
    assert_int_equal(load_changed(data, len, i, 1, data[i] ^ 0x80u), BESOM_CORRUPT);
  }
}

static void a_wrong_magic_is_corrupt(void **state) {
  (void)state;
  for_every_kind(check_magic);
}

/* A filter has one file only: bytes that are not read must be 0. */
static void check_unused(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  for (unsigned i = 0; i < 16; i++)
    assert_int_equal(load_changed(data, len, RESERVED_AT + i, 1, 1), BESOM_CORRUPT);
  uint64_t end = HEADER + ROW * sections_in(data);
  for (unsigned i = 0; i < sections_in(data); i++) {
    assert_int_equal(load_changed(data, len, HEADER + ROW * i + 4, 4, owner_of(data, i) + 1),
                     BESOM_CORRUPT);
    assert_int_equal(load_changed(data, len, HEADER + ROW * i + 4, 4, owner_of(data, i) - 1),
                     BESOM_CORRUPT);
    for (; end < offset_of(data, i); end++)
      assert_int_equal(load_changed(data, len, end, 1, 1), BESOM_CORRUPT);
    end += length_of(data, i);
  }
  assert_int_equal(load_changed(data, len, offset_of(data, 0) + 4, 4, 1), BESOM_CORRUPT);
}

static void unused_bytes_must_be_zero(void **state) {
  (void)state;
  for_every_kind(check_unused);
}

static void check_places(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  static const uint64_t changes[] = {
      1, 8, 64, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX, 0 - UINT64_C(64)};
  for (unsigned i = 0; i < sections_in(data); i++)
    for (unsigned c = 0; c < sizeof changes / sizeof *changes; c++) {
      size_t row = (size_t)(row_of(data, i) - data);
      assert_int_equal(load_changed(data, len, row + 8, 8, offset_of(data, i) + changes[c]),
                       BESOM_CORRUPT);
      assert_int_equal(load_changed(data, len, row + 16, 8, length_of(data, i) + changes[c]),
                       BESOM_CORRUPT);
    }
  for (unsigned more = 1; more <= 130; more += 43) { /* bytes after the last section */
    uint8_t *longer = heap_array(len + more, 1);
    memcpy(longer, data, len);
    fix_checksums(longer, len + more);
    assert_int_equal(load(longer, len + more), BESOM_CORRUPT);
    free(longer);
  }
}

static void sections_elsewhere_are_corrupt(void **state) {
  (void)state;
  for_every_kind(check_places);
}

static void check_section_list(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  static const uint32_t counts[] = {0, 1, MAX_SECTIONS + 1, 256 + 2, UINT32_MAX};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i] != sections_in(data))
      assert_int_equal(load_changed(data, len, 12, 4, counts[i]), BESOM_CORRUPT);
  for (unsigned i = 0; i < sections_in(data); i++) /* each of them is needed */
    assert_int_equal(load_changed(data, len, HEADER + ROW * i, 4, SECTION_TAG('N', 'O', 'N', 'E')),
                     BESOM_CORRUPT);
}

/* The same file with one more section at the end. The caller frees it. */
static uint8_t *with_section(const uint8_t *data, size_t len, uint32_t tag, size_t *longer) {
  unsigned n = sections_in(data);
  uint64_t first = offset_of(data, 0), moved = (HEADER + ROW * (n + 1) + 63) / 64 * 64 - first;
  size_t extra_at = (len + moved + 63) / 64 * 64;
  *longer = extra_at + 8;
  uint8_t *made = heap_array(*longer, 1);
  memcpy(made, data, HEADER + ROW * n);
  memcpy(made + first + moved, data + first, len - first);
  put_number(made + 12, 4, n + 1);
  for (unsigned i = 0; i < n; i++) put_number(row_of(made, i) + 8, 8, offset_of(data, i) + moved);
  put_number(row_of(made, n), 4, tag);
  put_number(row_of(made, n) + 8, 8, extra_at);
  put_number(row_of(made, n) + 16, 8, 8);
  fix_checksums(made, *longer);
  return made;
}

/* An unknown section is an error: the next save would lose it. */
static void check_unknown_section(uint8_t *data, size_t len, const char *kind) {
  (void)kind;
  static const uint32_t tags[] = {SECTION_TAG('X', 'T', 'R', 'A'), TAG_BITS, TAG_PARAMETERS};
  for (unsigned i = 0; i < 3; i++) {
    size_t longer;
    uint8_t *made = with_section(data, len, tags[i], &longer);
    assert_int_equal(load(made, longer), BESOM_CORRUPT);
    free(made);
  }
}

static void unknown_and_doubled_sections_are_corrupt(void **state) {
  (void)state;
  for_every_kind(check_unknown_section);
}

static void missing_and_surplus_sections_are_corrupt(void **state) {
  (void)state;
  for_every_kind(check_section_list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_header_is_as_the_layout_says),
      cmocka_unit_test(sections_are_aligned_and_padded_with_zeros),
      cmocka_unit_test(the_parameters_begin_with_hash_seed_and_items),
      cmocka_unit_test(checksums_cover_everything),
      cmocka_unit_test(repairing_restores_every_checksum),
      cmocka_unit_test(a_later_version_is_newer),
      cmocka_unit_test(an_unknown_kind_is_newer),
      cmocka_unit_test(a_wrong_magic_is_corrupt),
      cmocka_unit_test(unused_bytes_must_be_zero),
      cmocka_unit_test(sections_elsewhere_are_corrupt),
      cmocka_unit_test(missing_and_surplus_sections_are_corrupt),
      cmocka_unit_test(unknown_and_doubled_sections_are_corrupt),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
