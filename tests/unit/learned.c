/* The learned filter: its classifier, the division of memory, and no false negatives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "papers/learned/learned_plan.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/saved_filters.h"
#include "support/temp_files.h"

static const uint8_t seed[16] = {9};
static const char *const forms[] = {"form=plain", "form=sandwiched"};

/*
 * ------------------------------------------------------------------ keys that a classifier can
 * tell apart
 */

enum { LETTERS = 12 };

/*
 * The letters of members are mostly a to m, those of others mostly n to z; three in sixteen are of
 * the other half.
 */
static void write_key(bool member, size_t i, char out[LETTERS]) {
  uint64_t x = key_u64(member ? MEMBERS : NEGATIVES, i);
  for (size_t k = 0; k < LETTERS; k++, x = x * 6364136223846793005u + 1442695040888963407u) {
    bool first_half = x >> 60 < 3 ? !member : member;
    out[k] = (char)((first_half ? 'a' : 'n') + (x >> 40) % 13);
  }
}

typedef struct letters {
  besom_source api;
  size_t n, at;
  size_t fail_at; /* counted over all passes; 0: never */
  size_t given;
  size_t passes, short_pass; /* the pass that gives only half of the keys; 0: none */
  bool member, backwards, random;
  char key[LETTERS];
} letters;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  letters *l = ctx;
  if (++l->given == l->fail_at) return BESOM_IO;
  if (l->at == l->n) return BESOM_END;
  size_t i = l->at++;
  if (l->backwards) i = l->n - 1 - i;
  write_key(l->random ? true : l->member, l->random && !l->member ? i + 1000000 : i, l->key);
  *key = (besom_bytes){l->key, LETTERS};
  *weight = 1 + i % 3;
  return BESOM_OK;
}

static besom_status first_key(void *ctx) {
  letters *l = ctx;
  l->at = ++l->passes == l->short_pass ? l->n / 2 : 0;
  return BESOM_OK;
}

static void letters_open(letters *l, bool member, size_t n) {
  *l = (letters){.n = n, .member = member};
  l->api = (besom_source){.next = next_key, .rewind = first_key, .size_hint = n, .ctx = l};
}

static bool asks(const besom_filter *f, bool member, size_t i) {
  char key[LETTERS];
  write_key(member, i, key);
  bool yes = besom_contains(f, key, LETTERS);
  /* Without the key it denies less. */
  if (yes) assert_true(besom_contains_digest(f, besom_hash(f, key, LETTERS)));
  return yes;
}

static besom_config config_of(const char *options) {
  return (besom_config){.kind = "learned", .options = options, .seed = seed};
}

static besom_filter *build(const besom_config *config, size_t members, size_t others) {
  letters yes, no;
  besom_filter *f = NULL;
  letters_open(&yes, true, members);
  letters_open(&no, false, others);
  assert_int_equal(besom_build(config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f),
                   BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static void assert_holds(const besom_filter *f, size_t members) {
  const char *wrong = NULL;
  for (size_t i = 0; i < members; i++) assert_true(asks(f, true, i));
  if (besom_validate(f, &wrong) != BESOM_OK) fail_msg("%s", wrong);
}

/* For keys that it was not built with. */
static double rate_of(const besom_filter *f) {
  enum { FROM = 500000, QUERIES = 100000 };
  size_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += asks(f, false, FROM + i);
  return (double)yes / QUERIES;
}

/* ------------------------------------------------------------------ the division of memory */

/* No other division of the same bits between the two filters is better. */
static void a_sandwich_is_divided_best(void **state) {
  (void)state;
  for (double missed = 0.05; missed < 1; missed += 0.15)
    for (double wrong = 0.0005; wrong < 0.5; wrong *= 3)
      for (double bits = 1; bits < 20; bits += 3) {
        struct learned_plan s = {.missed = missed, .wrong = wrong};
        besom__learned_plan_bits(&s, bits, true);
        for (double part = 0; part <= 1; part += 1.0 / 64) {
          double initial = pow(0.5, log(2) * bits * part),
                 backup = pow(0.5, log(2) * bits * (1 - part) / missed);
          assert_true(s.fpr <= initial * (wrong + (1 - wrong) * backup) * 1.000001);
        }
        double wanted = s.fpr;
        besom__learned_plan_rate(&s, wanted, true); /* and back */
        assert_true(s.bits <= bits * 1.000001 && s.fpr <= wanted * 1.000001);
      }
}

/* If no threshold is worth it, the backup filter decides alone. */
static void useless_scores_are_not_used(void **state) {
  (void)state;
  struct score_histogram *scores = heap_array(1, sizeof *scores);
  memset(scores, 0, sizeof *scores);
  for (unsigned i = 1000; i < 3000; i++) scores->yes[i] = scores->no[i] = 10;
  scores->no_squares = 20000;
  for (int sandwiched = 0; sandwiched < 2; sandwiched++) {
    struct learned_plan by_bits = besom__learned_plan_for_bits(scores, 10, sandwiched);
    struct learned_plan by_rate = besom__learned_plan_for_rate(scores, 0.01, sandwiched);
    assert_int_equal(by_bits.bin, SCORE_BINS);
    assert_int_equal(by_rate.bin, SCORE_BINS);
    assert_true(fabs(by_bits.fpr - pow(0.5, 10 * log(2))) < 1e-9);
    assert_true(fabs(by_rate.bits - log2(100) / log(2)) < 1e-9);
  }
  free(scores);
}

/* ------------------------------------------------------------------ filters */

static void no_member_is_denied(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 10, 300, 8000};
  for (size_t form = 0; form < 2; form++)
    for (size_t m = 0; m < 5; m++)
      for (size_t n = 0; n < 5; n++)
        for (int by_bits = 0; by_bits < 2; by_bits++) {
          besom_config config = config_of(forms[form]);
          if (by_bits)
            config.bits_per_key = 8 + 12000 / (double)sizes[m];
          else
            config.fpr = 0.01;
          if (config.bits_per_key > 1024) continue;
          besom_filter *f = build(&config, sizes[m], sizes[n]);
          assert_holds(f, sizes[m]);
          assert_int_equal(stats_of(f).keys, sizes[m]);
          besom_free(f);
        }
}

/* It keeps to its budget or its rate, and is much better than a Bloom filter. */
static void what_keys_show_is_used(void **state) {
  (void)state;
  enum { MEMBERS_OF = 30000 };
  for (size_t form = 0; form < 2; form++) {
    besom_config config = config_of(forms[form]);
    config.bits_per_key = 8;
    besom_filter *f = build(&config, MEMBERS_OF, MEMBERS_OF);
    besom_statistics stats = stats_of(f);
    assert_true(stats.bits_per_key <= 8);
    double rate = rate_of(f);
    assert_true(rate < 0.5 * pow(0.5, 8 * log(2)));
    assert_true(rate < 4 * stats.expected_fpr && rate > 0.25 * stats.expected_fpr);
    besom_free(f);
    config.bits_per_key = 0;
    config.fpr = 0.005;
    f = build(&config, MEMBERS_OF, MEMBERS_OF);
    assert_true(rate_of(f) <= 0.005);
    assert_true(stats_of(f).bits_per_key < 0.8 * log2(200) / log(2));
    besom_free(f);
  }
}

/* Members and others look alike: no classifier is kept, and the digest is enough for an answer. */
static void nothing_to_learn_leaves_a_bloom_filter(void **state) {
  (void)state;
  letters yes, no;
  besom_config config = config_of(NULL), bloom = {.kind = "bloom", .seed = seed};
  besom_filter *f = NULL, *plain = NULL;
  letters_open(&yes, true, 20000);
  letters_open(&no, false, 20000);
  no.random = true;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f),
                   BESOM_OK);
  first_key(&yes);
  assert_int_equal(besom_build(&bloom, &(besom_input){.yes = &yes.api}, &plain), BESOM_OK);
  assert_true(stats_of(f).bytes < stats_of(plain).bytes + 1024);
  for (size_t i = 0; i < 20000; i++) {
    char key[LETTERS];
    write_key(true, 2000000 + i, key);
    besom_digest d = besom_hash(f, key, LETTERS);
    assert_int_equal(besom_contains(f, key, LETTERS), besom_contains_digest(f, d));
  }
  assert_holds(f, 20000);
  besom_free(plain);
  besom_free(f);
}

/*
 * All forms of a query by key give one answer. A batch of digests gives the answers of single ones.
 */
static void many_answers_are_the_single_answers(void **state) {
  (void)state;
  enum { N = 300 };
  besom_config config = config_of("weights=1024");
  besom_filter *f = build(&config, 5000, 5000);
  char text[N][LETTERS];
  besom_bytes keys[N];
  besom_digest digests[N];
  uint64_t by_key[N / 64 + 1], by_digest[N / 64 + 1];
  for (size_t i = 0; i < N; i++) {
    write_key(i % 2, i, text[i]);
    keys[i] = (besom_bytes){text[i], LETTERS};
    digests[i] = besom_hash(f, text[i], LETTERS);
  }
  assert_int_equal(besom_contains_many(f, keys, N, by_key), BESOM_OK);
  assert_int_equal(besom_contains_many_digest(f, digests, N, by_digest), BESOM_OK);
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(by_key[i / 64] >> (i % 64) & 1, besom_contains(f, text[i], LETTERS));
    assert_int_equal(by_digest[i / 64] >> (i % 64) & 1, besom_contains_digest(f, digests[i]));
  }
  assert_int_equal(by_key[N / 64] >> (N % 64), 0);
  besom_free(f);
}

/* The order of the sources does not change what is learned. */
static void any_order_gives_the_same_filter(void **state) {
  (void)state;
  besom_config config = config_of("form=sandwiched");
  letters yes, no;
  besom_filter *f = build(&config, 4000, 4000), *backwards = NULL;
  letters_open(&yes, true, 4000);
  letters_open(&no, false, 4000);
  yes.backwards = no.backwards = true;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &backwards),
                   BESOM_OK);
  assert_same_bytes(f, backwards);
  besom_free(f);
  besom_free(backwards);
}

static void a_source_that_cannot_rewind_is_invalid(void **state) {
  (void)state;
  besom_config config = config_of(NULL);
  letters yes, no;
  besom_filter *f = NULL;
  letters_open(&yes, true, 100);
  letters_open(&no, false, 100);
  yes.api.rewind = NULL;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f),
                   BESOM_INVALID);
  assert_null(f);
}

/*
 * With or without a classifier, in the second pass or the third: omitted members would be denied.
 */
static void a_source_that_loses_members_is_invalid(void **state) {
  (void)state;
  static const struct {
    size_t pass;
    bool alike;
  } cases[] = {{1, false}, {2, false}, {1, true}};
  for (size_t i = 0; i < 3; i++) {
    besom_config config = config_of("form=sandwiched");
    letters yes, no;
    besom_filter *f = NULL;
    letters_open(&yes, true, 5000);
    letters_open(&no, false, 5000);
    no.random = cases[i].alike;
    yes.short_pass = cases[i].pass;
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes.api, .no = &no.api}, &f),
                     BESOM_INVALID);
    assert_null(f);
    assert_int_equal(yes.passes, cases[i].pass);
  }
}

/* It has one Bloom filter, or two in the sandwiched form. */
static void filters_have_statistics_of_their_own(void **state) {
  (void)state;
  for (size_t form = 0; form < 2; form++) {
    besom_config config = config_of(forms[form]);
    besom_filter *f = build(&config, 8000, 8000);
    uint64_t slots = 0, items = 0;
    size_t n = 0;
    for (; besom_layer(f, n); n++) {
      besom_statistics layer = stats_of(besom_layer(f, n));
      assert_string_equal(layer.kind, "bloom");
      slots += layer.slots;
      items = layer.keys;
    }
    assert_int_equal(n, form + 1);
    assert_int_equal(slots, stats_of(f).slots);
    assert_true(items > 0 && items < 8000); /* of the backup filter */
    assert_null(besom_layer(f, SIZE_MAX));
    besom_free(f);
  }
}

static bool stop_at(void *ctx, uint64_t done, uint64_t total) {
  uint64_t *left = ctx;
  assert_true(total == 0 || done <= total);
  return (*left)-- != 0;
}

/*
 * A source fails in any pass, the caller cancels, an allocation fails: there is a status, and
 * nothing is left.
 */
static void building_may_fail_anywhere(void **state) {
  (void)state;
  enum { N = 600 };
  besom_config config = config_of("form=sandwiched");
  for (int what = 0; what < 4; what++) {
    besom_status status = BESOM_IO;
    for (uint64_t n = 1; status != BESOM_OK; n++) {
      letters yes, no;
      failing_allocator memory;
      failing_allocator_init(&memory);
      uint64_t ticks = n;
      besom_progress progress = {stop_at, &ticks};
      letters_open(&yes, true, N);
      letters_open(&no, false, N);
      if (what == 0) yes.fail_at = 37 * n;
      if (what == 1) no.fail_at = 37 * n;
      if (what == 2) memory.fail_at = n;
      config.allocator = &memory.api;
      besom_filter *f = NULL;
      status = besom_build(
          &config,
          &(besom_input){.yes = &yes.api, .no = &no.api, .progress = what == 3 ? &progress : NULL},
          &f);
      static const besom_status expected[] = {BESOM_IO, BESOM_IO, BESOM_NO_MEMORY, BESOM_CANCELLED};
      assert_true(status == BESOM_OK || (status == expected[what] && !f));
      besom_free(f);
      const char *verdict = failing_allocator_verdict(&memory);
      if (verdict) fail_msg("%s", verdict);
      failing_allocator_close(&memory);
    }
  }
}

static void options_are_known_or_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"form=",           "form=x",   "weights=1000", "weights=8",
                                    "weights=2097152", "weights=", "base=qf"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_config config = config_of(bad[i]);
    letters yes;
    besom_filter *f = NULL;
    letters_open(&yes, true, 10);
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes.api}, &f), BESOM_BAD_OPTION);
  }
}

/* ------------------------------------------------------------------ files */

static temp_path golden_path(void) {
  temp_path path;
  snprintf(path.text, sizeof path.text, "%s/tests/golden/learned-model-v1.besom", BESOM_SOURCE_DIR);
  return path;
}

/*
 * A filter with all its parts, saved by the first version that had it. `learned --write-golden`
 * writes it.
 */
static besom_filter *make_golden(void) {
  besom_config config = config_of("form=sandwiched,weights=1024");
  config.fpr = 0.005; /* not bits_per_key: that includes structs, whose sizes change */
  return build(&config, 3000, 3000);
}

/* Whether the filter denies a key that it would not deny by digest alone. */
static bool model_decides(const besom_filter *f) {
  for (size_t i = 0; i < 10000; i++) {
    char key[LETTERS];
    write_key(false, i, key);
    if (!besom_contains(f, key, LETTERS) && besom_contains_digest(f, besom_hash(f, key, LETTERS)))
      return true;
  }
  return false;
}

static void a_model_loads_for_ever_and_answers_alike(void **state) {
  (void)state;
  temp_path path = golden_path();
  besom_filter *golden = NULL, *mapped = NULL, *today = make_golden();
  assert_int_equal(besom_open(path.text, NULL, &golden), BESOM_OK);
  assert_int_equal(besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &mapped),
                   BESOM_OK);
  assert_holds(golden, 3000);
  assert_true(model_decides(golden));
  for (size_t i = 0; i < 30000; i++) {
    assert_int_equal(asks(golden, false, i), asks(mapped, false, i));
    assert_int_equal(asks(golden, false, i), asks(today, false, i));
  }
  assert_same_bytes(golden, mapped);
  assert_same_bytes(golden, today);
  besom_free(golden), besom_free(mapped), besom_free(today);
}

static void damaged_bytes_are_refused(void **state) {
  (void)state;
  besom_config config = config_of("form=sandwiched,weights=64");
  config.bits_per_key = 40;
  besom_filter *f = build(&config, 200, 200), *copy = NULL;
  memory_sink saved;
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_OK);
  assert_same_bytes(f, copy);
  for (size_t len = 0; len < saved.len; len++) {
    besom_filter *none = NULL;
    assert_true(besom_load(saved.data, len, NULL, &none) != BESOM_OK && !none);
    saved.data[len] ^= 4;
    assert_true(besom_load(saved.data, saved.len, NULL, &none) != BESOM_OK && !none);
    saved.data[len] ^= 4;
  }
  memory_sink_close(&saved);
  besom_free(copy), besom_free(f);
}

/* Damaged bytes with valid checksums are refused, or give a filter that can be used. */
static void repaired_damage_does_no_harm(void **state) {
  (void)state;
  besom_filter *f = make_golden();
  memory_sink saved;
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  random_stream random = {3};
  size_t accepted = 0;
  for (size_t round = 0; round < 1000; round++) {
    besom_filter *damaged = load_damaged(&saved, &random, round);
    if (!damaged) continue;
    for (size_t i = 0; i < 20; i++) asks(damaged, i % 2, i);
    besom_free(damaged);
    accepted++;
  }
  assert_true(accepted > 0);
  memory_sink_close(&saved);
  besom_free(f);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--write-golden")) {
    besom_filter *f = make_golden();
    besom_status status = besom_save_file(f, golden_path().text);
    besom_free(f);
    return status != BESOM_OK;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sandwich_is_divided_best),
      cmocka_unit_test(useless_scores_are_not_used),
      cmocka_unit_test(no_member_is_denied),
      cmocka_unit_test(what_keys_show_is_used),
      cmocka_unit_test(nothing_to_learn_leaves_a_bloom_filter),
      cmocka_unit_test(many_answers_are_the_single_answers),
      cmocka_unit_test(any_order_gives_the_same_filter),
      cmocka_unit_test(a_source_that_cannot_rewind_is_invalid),
      cmocka_unit_test(a_source_that_loses_members_is_invalid),
      cmocka_unit_test(filters_have_statistics_of_their_own),
      cmocka_unit_test(building_may_fail_anywhere),
      cmocka_unit_test(options_are_known_or_refused),
      cmocka_unit_test(a_model_loads_for_ever_and_answers_alike),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(repaired_damage_does_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
