/*
 * Configurations: what is out of range, contradictory or unknown is refused, and besom_config_check
 * tells which member is wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"

/* besom_config_check returns the status, and a sentence that contains this word. */
static void assert_explained(besom_status expected, const besom_config *config, const char *word) {
  char text[200], start[10];
  assert_status(expected, besom_config_check(config, text, sizeof text));
  size_t len = strlen(text);
  assert_true(len > 0 && len < sizeof text - 1 && text[len - 1] != '.');
  if (!strstr(text, word)) fail_msg("\"%s\" does not contain \"%s\"", text, word);
  memset(start, 'x', sizeof start);
  assert_status(expected, besom_config_check(config, start, sizeof start - 1));
  assert_int_equal(strncmp(start, text, sizeof start - 2), 0);
  assert_true(memchr(start, 0, sizeof start - 1) && start[sizeof start - 1] == 'x');
  assert_status(expected, besom_config_check(config, NULL, 0));
}

/* besom_create and besom_build both fail, and besom_config_check explains it with this word. */
static void assert_no_filter(besom_status expected, const besom_config *config, const char *word) {
  besom_filter *f = NULL;
  uint64_t key = 1;
  array_source source;
  source_of_u64(&source, &key, 1);
  assert_status(expected, besom_build(config, &(besom_input){.yes = &source.api}, &f));
  assert_null(f);
  besom_status status = besom_create(config, &f);
  if (status != BESOM_UNSUPPORTED) assert_status(expected, status);
  assert_null(f);
  assert_explained(expected, config, word);
}

static void impossible_numbers_are_invalid(void **state) {
  const subject *s = subject_of(state);
  const double bad_rates[] = {-0.5, 1, 1.5, -0x1p-60, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof bad_rates / sizeof *bad_rates; i++) {
    besom_config config = config_of(s, 100, bad_rates[i]);
    assert_no_filter(BESOM_INVALID, &config, "fpr");
  }
  const double bad_bits[] = {-1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof bad_bits / sizeof *bad_bits; i++) {
    besom_config config = config_of(s, 100, 0);
    config.fpr = 0, config.bits_per_key = bad_bits[i];
    assert_no_filter(BESOM_INVALID, &config, "bits_per_key");
  }
  const uint64_t bad_capacities[] = {(UINT64_C(1) << 44) + 1, UINT64_C(1) << 63, UINT64_MAX};
  for (size_t i = 0; i < sizeof bad_capacities / sizeof *bad_capacities; i++) {
    besom_config config = config_of(s, bad_capacities[i], 0);
    assert_no_filter(BESOM_INVALID, &config, "capacity");
    config = config_of(s, 100, 0);
    config.max_capacity = bad_capacities[i];
    assert_no_filter(BESOM_INVALID, &config, "max_capacity");
    config = config_of(s, 100, 0);
    config.no_capacity = bad_capacities[i];
    assert_no_filter(BESOM_INVALID, &config, "no_capacity");
    config = geometry_of(s, bad_capacities[i], 8);
    assert_no_filter(BESOM_INVALID, &config, "slots");
  }
  const double bad_reserves[] = {-0.1, 0.51, 1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof bad_reserves / sizeof *bad_reserves; i++) {
    besom_config config = config_of(s, 100, 0);
    config.reserve = bad_reserves[i];
    assert_no_filter(BESOM_INVALID, &config, "reserve");
  }
  besom_config values = config_of(s, 100, 0), smaller = config_of(s, 100, 0);
  values.value_bits = 33;
  assert_no_filter(BESOM_INVALID, &values, "value_bits");
  smaller.max_capacity = 99;
  assert_no_filter(BESOM_INVALID, &smaller, "max_capacity");
}

/* Members that replace each other, and a filter without a size. */
static void contradictions_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_config both = config_of(s, 100, 0.01), wide = geometry_of(s, 100, 65),
               none = config_of(s, 0, 0);
  both.bits_per_key = 12;
  assert_no_filter(BESOM_INVALID, &both, "fpr");
  assert_no_filter(BESOM_INVALID, &wide, "width");
  besom_config lone = config_of(s, 100, 0), sized = geometry_of(s, 100, 8);
  lone.width = 8;
  assert_no_filter(BESOM_INVALID, &lone, "width");
  sized.capacity = 100;
  assert_no_filter(BESOM_INVALID, &sized, "slots");
  besom_filter *f = NULL;
  bool is_created = can(s, BESOM_CAN_INSERT) || needs_store(s);
  assert_status(is_created ? BESOM_INVALID : BESOM_UNSUPPORTED, besom_create(&none, &f));
  assert_null(f);
  assert_explained(BESOM_INVALID, &none, "capacity");
}

/* A flag that no kind knows, and a flag that some kinds do not support. */
static void flags_are_known_or_refused(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  config.flags = BESOM_CONCURRENT | 1u << 20;
  assert_no_filter(BESOM_INVALID, &config, "flags");
  config.flags = BESOM_CONCURRENT;
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status != BESOM_OK) {
    assert_no_filter(BESOM_UNSUPPORTED, &config, "concurrent");
    return;
  }
  assert_string_equal(stats_of(f).kind, s->kind->name);
  besom_free(f);
}

/* Extreme false-positive rates and bits per key: the filter keeps them, or there is none. */
static void extreme_configurations_are_kept_or_refused(void **state) {
  const subject *s = subject_of(state);
  const double rates[] = {0x1p-40, 0x1p-60, 0x1p-64, 0x1p-80, 0x1p-300, 0x1p-1074, 0.999999};
  const double bits[] = {0x1p-1074, 0.001, 0.5, 1, 2, 3, 4, 100, 1000, 1e18, 1e300};
  enum { N = 1000 };
  uint64_t *keys = keys_u64(MEMBERS, N);
  for (size_t i = 0; i < sizeof rates / sizeof *rates + sizeof bits / sizeof *bits; i++) {
    besom_config config = config_of(s, N, 0);
    if (i < sizeof rates / sizeof *rates)
      config.fpr = rates[i];
    else
      config.fpr = 0, config.bits_per_key = bits[i - sizeof rates / sizeof *rates];
    besom_filter *f = NULL;
    array_source source;
    source_of_u64(&source, keys, N);
    besom_status status = besom_build(&config, &(besom_input){.yes = &source.api}, &f);
    assert_true(status == BESOM_OK || status == BESOM_INVALID);
    besom_status checked = besom_config_check(&config, NULL, 0);
    if (checked != BESOM_OK) assert_status(status, checked); /* OK: it depends on the keys */
    if (can(s, BESOM_CAN_INSERT)) assert_status(status, checked);
    if (checked == BESOM_INVALID)
      assert_explained(checked, &config, config.fpr != 0 ? "fpr" : "bits_per_key");
    if (status != BESOM_OK) continue;
    besom_statistics stats = stats_of(f);
    if (config.fpr != 0) assert_true(stats.fpr_at_capacity <= config.fpr);
    /* In so small a filter the struct may add a bit per key. */
    else
      assert_true(8.0 * (double)stats.bytes <= config.bits_per_key * N * 1.02 + 8 * 512);
    assert_holds_u64(f, keys, N);
    besom_free(f);
  }
  free(keys);
}

static void unknown_names_are_refused(void **state) {
  const subject *s = subject_of(state);
  const char *const kinds[] = {"", "no such kind", "QF", " qf", "qf "};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_config config = config_of(s, 100, 0);
    config.kind = kinds[i];
    assert_no_filter(BESOM_UNKNOWN_KIND, &config, "kind");
  }
  const char *const options[] = {"foo=1",
                                 "isa=",
                                 ",",
                                 "isa",
                                 "=",
                                 "=portable",
                                 "isa=portable,",
                                 ",isa=",
                                 "isa=x",
                                 ";;",
                                 "isa=portabl",
                                 "isa=avx2 ",
                                 "foo",
                                 "isa=portable,foo=1",
                                 " ",
                                 "ISA=portable",
                                 "isa==portable",
                                 "isa=portable,,"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    besom_config config = config_of(s, 100, 0);
    config.options = options[i];
    assert_no_filter(BESOM_BAD_OPTION, &config, "option");
  }
  const char *const hashes[] = {"", "md5", "XXH3", "xxh3 ", "si", "sipp"};
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
    besom_config config = config_of(s, 100, 0);
    config.hash = hashes[i];
    assert_no_filter(BESOM_BAD_OPTION, &config, "hash");
  }
}

static void an_allocator_has_both_functions(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 10, 0);
  besom_allocator hollow = {0};
  config.allocator = &hollow;
  assert_no_filter(BESOM_INVALID, &config, "allocator");
}

/* A configuration of which a filter can be made is OK, of any size, and has no text. */
static void a_good_configuration_is_ok(void **state) {
  const subject *s = subject_of(state);
  static const uint64_t capacities[] = {1, 10, 100000, UINT64_C(1) << 40};
  for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
    besom_config config = config_of(s, capacities[i], 0);
    char text[200] = "x";
    assert_status(BESOM_OK, besom_config_check(&config, text, sizeof text));
    assert_string_equal(text, "");
    assert_status(BESOM_OK, besom_config_check(&config, NULL, 0));
    assert_status(BESOM_INVALID, besom_config_check(&config, NULL, 1));
  }
}

static void no_configuration_is_invalid(void **state) {
  (void)state;
  char text[200];
  besom_config config = {.capacity = 10};
  besom_filter *f = NULL;
  assert_status(BESOM_INVALID, besom_config_check(NULL, text, sizeof text));
  assert_status(BESOM_INVALID, besom_create(NULL, &f));
  assert_status(BESOM_INVALID, besom_create(&config, &f));
  assert_null(f);
  assert_explained(BESOM_INVALID, &config, "kind");
}

const law config_laws[] = {
    LAW(no_configuration_is_invalid, THE_LIBRARY, 0),
    LAW(a_good_configuration_is_ok, EVERY_SUBJECT, 0),
    LAW(flags_are_known_or_refused, EVERY_KIND, 0),
    LAW(impossible_numbers_are_invalid, EVERY_KIND, 0),
    LAW(contradictions_are_invalid, EVERY_KIND, 0),
    LAW(extreme_configurations_are_kept_or_refused, EVERY_KIND, CAN_BUILD),
    LAW(unknown_names_are_refused, EVERY_KIND, 0),
    LAW(an_allocator_has_both_functions, EVERY_KIND, 0),
    {0},
};
