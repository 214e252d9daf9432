/* Lists of domains: a name and its parents are asked, and the mode stays with the filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"

static const uint8_t seed[16] = "a known seed ...";

static besom_filter *list_of(const char *kind, unsigned labels, unsigned flags) {
  static const char *const names[] = {"ads.example", "tracker.net", "deep.a.b.example.org",
                                      "!good.tracker.net"};
  besom_config config = {.kind = kind, .capacity = 100, .fpr = 1e-6, .seed = seed};
  besom_filter *f;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_int_equal(besom_insert(f, names[i], strlen(names[i])), BESOM_OK);
  assert_int_equal(besom_set_domains(f, labels, flags), BESOM_OK);
  return f;
}

static bool has(const besom_filter *f, const char *name) {
  return besom_contains(f, name, strlen(name));
}

static void assert_entry(const besom_filter *f, const char *name, const char *expected) {
  besom_bytes entry;
  assert_true(besom_domain_contains(f, name, strlen(name), &entry));
  assert_int_equal(entry.len, strlen(expected));
  assert_memory_equal(entry.data, expected, entry.len);
  assert_true((const char *)entry.data >= name && (const char *)entry.data < name + strlen(name));
}

/* ------------------------------------------------------------------ queries */

static void check_answers(const besom_filter *f) {
  static const char *const listed[] = {
      "ads.example",           "ADS.Example",   "www.ads.example", "a.b.c.d.e.f.g.ads.example",
      "ads.example.",          "*.ads.example", "tracker.net",     "bad.tracker.net",
      "x.deep.a.b.example.org"};
  static const char *const others[] = {
      "example", "xads.example",     "ads.example.com",     "", ".", "*.", "..", "b.example.org",
      "ads",     "good.tracker.net", "cdn.GOOD.tracker.net"};
  besom_bytes keys[16];
  uint64_t bitmap[1];
  size_t n = sizeof listed / sizeof *listed;
  for (size_t i = 0; i < n; i++) {
    assert_true(has(f, listed[i]));
    keys[i] = (besom_bytes){listed[i], strlen(listed[i])};
  }
  assert_int_equal(besom_contains_many(f, keys, n, bitmap), BESOM_OK);
  assert_int_equal(bitmap[0], (1u << n) - 1);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(has(f, others[i]));
  assert_entry(f, "www.ads.example", "ads.example");
  assert_entry(f, "a.ADS.example.", "ADS.example");
  assert_entry(f, "*.tracker.net", "tracker.net");
}

static void a_name_and_its_parents_are_asked(void **state) {
  static const char *const kinds[] = {"aqf", "bloom", "blocked-bloom", "cf", "qf", "scaling"};
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_filter *f = list_of(kinds[i], 5, BESOM_DOMAINS_EXCEPT);
    check_answers(f);
    besom_free(f);
  }
}

/* A rate at which every twentieth name has a false positive for its exception. */
static void a_false_positive_for_an_exception_denies_no_listed_name(void **state) {
  enum { LISTED = 2000 };
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = LISTED + 1, .fpr = 0.05, .seed = seed};
  besom_filter *f;
  char name[32];
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (int i = 0; i < LISTED; i++)
    assert_int_equal(besom_insert(f, name, (size_t)sprintf(name, "host%d.example", i)), BESOM_OK);
  assert_int_equal(besom_set_domains(f, 3, BESOM_DOMAINS_EXCEPT), BESOM_OK);
  for (int i = 0; i < LISTED; i++) {
    sprintf(name, "HOST%d.Example.", i);
    assert_true(has(f, name));
  }
  besom_free(f);
}

static void names_with_more_labels_than_any_entry_are_not_asked(void **state) {
  (void)state;
  besom_filter *f = list_of("aqf", 2, 0);
  assert_true(has(f, "www.ads.example"));
  assert_false(has(f, "deep.a.b.example.org")); /* it has five */
  assert_true(has(f, "good.tracker.net"));      /* without the flag there are no exceptions */
  assert_int_equal(besom_set_domains(f, 0, 0), BESOM_OK);
  assert_false(has(f, "www.ads.example"));
  assert_true(has(f, "deep.a.b.example.org"));
  assert_entry(f, "x.deep.a.b.example.org", "deep.a.b.example.org"); /* of any filter */
  besom_free(f);
}

/* Parts of up to 255 bytes are asked; a longer label makes the rest one part less. */
static void names_of_any_length_are_asked_by_their_ends(void **state) {
  char name[1000];
  (void)state;
  besom_filter *f = list_of("aqf", 127, 0);
  memset(name, 'a', sizeof name);
  for (size_t len = 230; len < 990; len += 7) {
    memcpy(name + len, ".ads.example", 12);
    assert_true(besom_contains(f, name, len + 12));
    memset(name + len, 'a', 12);
    assert_false(besom_contains(f, name, len));
  }
  for (size_t i = 1; i < sizeof name; i += 2) name[i] = '.'; /* more labels than there can be */
  memcpy(name + sizeof name - 12, ".tracker.net", 12);
  assert_true(besom_contains(f, name, sizeof name));
  besom_free(f);
}

static void names_of_packets_are_asked(void **state) {
  static const char listed[] = "\3www\3ADS\7example", dotted[] = "\013ads.example";
  char long_name[300] = {63};
  (void)state;
  besom_filter *f = list_of("aqf", 5, 0);
  assert_true(besom_domain_contains_wire(f, listed, sizeof listed));
  assert_true(besom_domain_contains_wire(f, listed + 4, sizeof listed - 4));
  assert_false(besom_domain_contains_wire(f, listed + 8, sizeof listed - 8));
  for (size_t len = 0; len < sizeof listed; len++) /* cut short */
    assert_false(besom_domain_contains_wire(f, listed, len));
  assert_false(besom_domain_contains_wire(f, dotted, sizeof dotted));
  assert_false(besom_domain_contains_wire(f, "", 1)); /* the root */
  assert_false(besom_domain_contains_wire(f, "\300\14", 3));
  for (size_t i = 0; i < sizeof long_name; i += 64) long_name[i] = 63;
  assert_false(besom_domain_contains_wire(f, long_name, sizeof long_name));
  assert_true(besom_domain_contains_wire(NULL, "", 1));
  besom_free(f);
}

/* Of all bytes, A to Z alone are folded; labels of a packet and of a text give the same answer. */
static void names_are_folded_byte_by_byte(void **state) {
  uint8_t name[32] = "abcdefghijk.ads.example", wire[32] = "\013abcdefghijk\3ads\7example";
  (void)state;
  besom_filter *f = list_of("aqf", 5, 0);
  assert_int_equal(besom_insert(f, "abcdefghijk.ads.example", 23), BESOM_OK);
  assert_int_equal(besom_set_domains(f, 3, 0), BESOM_OK);
  assert_int_equal(besom_remove(f, "ads.example", 11), BESOM_OK);
  for (size_t at = 0; at < 11; at++) {
    for (unsigned c = 0; c < 256; c++) {
      bool same = c == name[at] || c + ('a' - 'A') == name[at];
      uint8_t before = name[at];
      name[at] = (uint8_t)c;
      memcpy(wire + 1, name, 11);
      bool yes = c != '.' && besom_contains(f, name, 23);
      assert_int_equal(yes, same);
      assert_int_equal(besom_domain_contains_wire(f, wire, 25), same);
      name[at] = before;
    }
  }
  besom_free(f);
}

static void a_report_fixes_every_part_that_answers(void **state) {
  (void)state;
  besom_filter *f = list_of("aqf", 5, 0);
  assert_int_equal(besom_insert(f, "www.ads.example", 15), BESOM_OK);
  assert_int_equal(besom_adapt(f, "X.www.ads.example", 17), BESOM_OK);
  assert_false(has(f, "x.www.ads.example"));
  assert_false(has(f, "ads.example"));
  assert_true(has(f, "tracker.net"));
  besom_free(f);
}

/* ------------------------------------------------------------------ the mode */

typedef struct saved_bytes {
  uint8_t data[1 << 16];
  size_t len;
} saved_bytes;

static besom_status append(void *ctx, const void *data, size_t len) {
  saved_bytes *s = ctx;
  if (len > sizeof s->data - s->len) return BESOM_IO;
  memcpy(s->data + s->len, data, len);
  s->len += len;
  return BESOM_OK;
}

static saved_bytes saved;

static void save(const besom_filter *f) {
  saved.len = 0;
  assert_int_equal(besom_save(f, &(besom_sink){.write = append, .ctx = &saved}), BESOM_OK);
}

static void assert_mode(besom_filter *f) {
  unsigned flags;
  assert_int_equal(besom_domain_labels(f, &flags), 5);
  assert_int_equal(flags, BESOM_DOMAINS_EXCEPT);
  check_answers(f);
  besom_free(f);
}

static void the_mode_is_saved_in_format_version_2(void **state) {
  (void)state;
  besom_filter *f = list_of("aqf", 5, BESOM_DOMAINS_EXCEPT), *loaded;
  save(f);
  assert_int_equal(saved.data[8], 2);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &loaded), BESOM_OK);
  assert_mode(loaded);
  besom_set_domains(f, 0, 0);
  save(f);
  assert_int_equal(saved.data[8], 1);
  besom_free(f);
}

static void the_mode_outlives_sharing_growing_and_merging(void **state) {
  (void)state;
  besom_filter *f = list_of("aqf", 5, BESOM_DOMAINS_EXCEPT), *other, *both;
  besom_statistics stats;
  assert_int_equal(besom_create_like(f, &other), BESOM_OK);
  assert_int_equal(besom_domain_labels(other, NULL), 5);
  assert_int_equal(besom_merge(f, other, &both), BESOM_OK);
  assert_mode(both);
  assert_int_equal(besom_set_domains(other, 0, 0), BESOM_OK);
  assert_int_equal(besom_merge(f, other, &both), BESOM_INCOMPATIBLE);
  besom_free(other);
  besom_stats(f, &stats);
  assert_int_equal(besom_resize(f, 2 * stats.slots, NULL), BESOM_OK);
  check_answers(f);
  assert_int_equal(besom_share(f), BESOM_OK);
  check_answers(f);
  assert_int_equal(besom_resize(f, 4 * stats.slots, NULL), BESOM_OK);
  assert_int_equal(besom_set_domains(f, 5, 0), BESOM_UNSUPPORTED);
  assert_mode(f);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  besom_filter *f = list_of("aqf", 5, BESOM_DOMAINS_EXCEPT);
  besom_bytes entry;
  assert_int_equal(besom_set_domains(NULL, 1, 0), BESOM_INVALID);
  assert_int_equal(besom_set_domains(f, 128, 0), BESOM_INVALID);
  assert_int_equal(besom_set_domains(f, 1, 2), BESOM_INVALID);
  assert_int_equal(besom_set_domains(f, 0, BESOM_DOMAINS_EXCEPT), BESOM_INVALID);
  assert_int_equal(besom_domain_labels(NULL, NULL), 0);
  assert_true(besom_domain_contains(NULL, "a", 1, &entry)); /* as besom_contains */
  assert_true(besom_domain_contains(f, NULL, 1, NULL));
  assert_mode(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_and_its_parents_are_asked),
      cmocka_unit_test(a_false_positive_for_an_exception_denies_no_listed_name),
      cmocka_unit_test(names_with_more_labels_than_any_entry_are_not_asked),
      cmocka_unit_test(names_of_any_length_are_asked_by_their_ends),
      cmocka_unit_test(names_of_packets_are_asked),
      cmocka_unit_test(names_are_folded_byte_by_byte),
      cmocka_unit_test(a_report_fixes_every_part_that_answers),
      cmocka_unit_test(the_mode_is_saved_in_format_version_2),
      cmocka_unit_test(the_mode_outlives_sharing_growing_and_merging),
      cmocka_unit_test(wrong_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
