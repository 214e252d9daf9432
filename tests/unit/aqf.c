/* Saved aqf filters whose parameters about tombstones are wrong: the validator refuses them. */
#include "besom_reverse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "support/checksums.h"
#include "support/memory_sink.h"

static void assert_ok(besom_status status) {
  if (status != BESOM_OK) fail_msg("%s", besom_strerror(status));
}

/* Saves a filter with one member, and one tombstone if the option is on. */
static void save_one_removed(memory_sink *sink, const char *options) {
  static const uint8_t seed[16] = {1};
  besom_config config = {
      .kind = "aqf", .slots = 100, .width = 8, .value_bits = 2, .reserve = 0.5, .seed = seed};
  config.options = options;
  besom_filter *f = NULL;
  besom_match match;
  besom_digest stays = {1, 1}, goes = {UINT64_C(1) << 63, 0},
               like_it = {UINT64_C(1) << 63, UINT64_C(1) << 60};
  assert_ok(besom_create(&config, &f));
  assert_ok(besom_insert_at(f, stays, 1, &match));
  assert_ok(besom_insert_at(f, goes, 1, &match));
  assert_true(besom_contains_digest(f, like_it));
  assert_ok(besom_adapt_at(f, like_it, &match, goes));
  assert_false(besom_contains_digest(f, like_it));
  assert_ok(besom_remove_digest(f, goes));
  memory_sink_init(sink);
  assert_ok(besom_save(f, &sink->api));
  besom_free(f);
}

/* Offsets in the parameters (docs/format.md), which are the first section. */
enum { ITEMS = 24, EXTENSION_SLOTS = 88, EXTENDED = 96, KEEP = 104, TOMBSTONES = 112 };

static uint8_t *parameter(memory_sink *sink, size_t offset) {
  return sink->data + load64(sink->data + 64 + 8) + offset;
}

/* The status of loading the file after its checksums have been repaired. */
static besom_status load_status(memory_sink *sink) {
  besom_filter *f = NULL;
  fix_checksums(sink->data, sink->len);
  besom_status status = besom_load(sink->data, sink->len, NULL, &f);
  besom_free(f);
  return status;
}

static besom_status status_with(const char *options, size_t offset, uint64_t value) {
  memory_sink sink;
  save_one_removed(&sink, options);
  store64(parameter(&sink, offset), value);
  besom_status status = load_status(&sink);
  memory_sink_close(&sink);
  return status;
}

static void wrong_tombstone_parameters_are_refused(void **state) {
  (void)state;
  const char *on = "tombstones=yes";
  assert_ok(status_with(on, KEEP, 1)); /* unchanged */
  assert_ok(status_with(on, TOMBSTONES, 1));
  assert_ok(status_with(on, EXTENDED, 1));
  assert_ok(status_with(on, ITEMS, 1));
  assert_int_equal(status_with(on, KEEP, 0), BESOM_CORRUPT);
  assert_int_equal(status_with(on, KEEP, 2), BESOM_CORRUPT);
  assert_int_equal(status_with(on, TOMBSTONES, 0), BESOM_CORRUPT);
  assert_int_equal(status_with(on, TOMBSTONES, 2), BESOM_CORRUPT);
  assert_int_equal(status_with(on, TOMBSTONES, UINT64_MAX), BESOM_CORRUPT);
  assert_int_equal(status_with(on, EXTENDED, 0), BESOM_CORRUPT);
  assert_int_equal(status_with(on, EXTENSION_SLOTS, 0), BESOM_CORRUPT);
  assert_int_equal(status_with(on, EXTENSION_SLOTS, UINT64_MAX), BESOM_CORRUPT);
  assert_int_equal(status_with(on, ITEMS, 2), BESOM_CORRUPT);
}

static void without_the_option_there_are_none(void **state) {
  (void)state;
  assert_ok(status_with(NULL, KEEP, 0)); /* unchanged */
  assert_ok(status_with(NULL, KEEP, 1)); /* only later removals would leave tombstones */
  assert_int_equal(status_with(NULL, TOMBSTONES, 1), BESOM_CORRUPT);
}

/* A flipped bit of the table is either found, or makes another filter that is sound. */
static void flip_each_bit(const char *options) {
  memory_sink sink;
  save_one_removed(&sink, options);
  size_t bits = load64(sink.data + 64 + 32 + 8), len = load64(sink.data + 64 + 32 + 16), sound = 0;
  for (size_t i = 0; i < 8 * len; i++) {
    besom_filter *f = NULL;
    sink.data[bits + i / 8] ^= (uint8_t)(1 << (i % 8));
    fix_checksums(sink.data, sink.len);
    if (besom_load(sink.data, sink.len, NULL, &f) == BESOM_OK) {
      sound++;
      assert_ok(besom_validate(f, NULL));
      assert_ok(besom_resize(f, 200, NULL));
      assert_ok(besom_validate(f, NULL));
    }
    besom_free(f);
    sink.data[bits + i / 8] ^= (uint8_t)(1 << (i % 8));
  }
  assert_true(sound > 0 && sound < len);
  memory_sink_close(&sink);
}

static void no_bit_makes_an_unsound_filter(void **state) {
  (void)state;
  flip_each_bit("tombstones=yes");
  flip_each_bit("tombstones=yes,form=published");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_tombstone_parameters_are_refused),
      cmocka_unit_test(without_the_option_there_are_none),
      cmocka_unit_test(no_bit_makes_an_unsound_filter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
