/*
 * Claim extension-bits: how many extensions the 56-bit code of a block holds.
 *
 * A table of 64 quotients is one block. Digests are made by hand: a reported digest that differs
 * from the stored one in the n-th bit after the remainder makes an extension of n bits.
 */
#include <math.h>

#include "besom_reverse.h"
#include "claims/claims.h"
#include "counters.h"
#include "fail.h"
#include "harness/interval.h"
#include "harness/tested_filter.h"

enum { SLOTS = 64, KEYS = 60, QUOTIENT_BITS = 6, WIDTH = 8, LONGEST = 40 };
enum { QUICK_SEEDS = 50, FULL_SEEDS = 1000 };

static const char *const forms[] = {"form=published", "form=default"};
static const double paper_single = 8, paper_longest = 19;

typedef struct block {
  besom_filter *filter;
  besom_digest stored[KEYS];
  besom_match matches[KEYS];
} block;

/* One key per quotient, in random order. */
static block block_create(const char *options, uint64_t seed) {
  uint8_t bytes[16];
  block b;
  hash_seed(seed, bytes);
  besom_config config = {
      .kind = "exaf", .slots = SLOTS, .width = WIDTH, .seed = bytes, .options = options};
  check(besom_create(&config, &b.filter), "making a filter");
  for (uint64_t i = 0; i < KEYS; i++)
    b.stored[i] = (besom_digest){i << (64 - QUOTIENT_BITS) | random_at(seed, i) >> QUOTIENT_BITS,
                                 random_at(~seed, i)};
  for (uint64_t i = KEYS; i-- > 1;) {
    uint64_t j = random_at(seed, KEYS + i) % (i + 1);
    besom_digest other = b.stored[i];
    b.stored[i] = b.stored[j];
    b.stored[j] = other;
  }
  for (int i = 0; i < KEYS; i++)
    check(besom_insert_at(b.filter, b.stored[i], 0, &b.matches[i]), "inserting");
  return b;
}

/* Extends the i-th fingerprint by this many bits. */
static besom_status extend(const block *b, int i, int bits) {
  besom_digest offender = b->stored[i];
  offender.hi ^= (uint64_t)1 << (64 - QUOTIENT_BITS - WIDTH - bits);
  return besom_adapt_at(b->filter, offender, &b->matches[i], b->stored[i]);
}

/* One in two extensions has one bit, one in four has two, and so on. */
static int random_length(uint64_t seed, int i) {
  uint64_t bits = random_at(seed, (uint64_t)(1000 + i));
  int length = 1;
  for (; bits & 1 && length < LONGEST; bits >>= 1) length++;
  return length;
}

/* The extensions that fit before the first one that does not. */
static int extensions_that_fit(const char *options, uint64_t seed, bool single_bits) {
  block b = block_create(options, seed);
  int fit = 0;
  while (fit < KEYS && !counter_of(b.filter, "rebuilds") &&
         extend(&b, fit, single_bits ? 1 : random_length(seed, fit)) == BESOM_OK)
    fit++;
  fit -= counter_of(b.filter, "rebuilds") > 0;
  besom_free(b.filter);
  return fit;
}

static int longest_that_fits(const char *options, uint64_t seed) {
  int longest = 0;
  for (int bits = 1; bits <= LONGEST; bits++) {
    block b = block_create(options, seed);
    if (extend(&b, 0, bits) == BESOM_OK && !counter_of(b.filter, "rebuilds")) longest = bits;
    besom_free(b.filter);
    if (longest < bits) break;
  }
  return longest;
}

static void test(const char *options, bool judged, uint64_t seeds, findings *found,
                 report *numbers) {
  samples single = {0}, any = {0}, longest = {0};
  for (uint64_t i = 0; i < seeds; i++) {
    uint64_t seed = random_at(BENCH_SEED, i);
    samples_add(&single, extensions_that_fit(options, seed, true));
    samples_add(&any, extensions_that_fit(options, seed, false));
    samples_add(&longest, longest_that_fits(options, seed));
    if (!judged) continue;
    add_factor(found, "extqf-single-bits", single.values[i] / paper_single);
    add_factor(found, "extqf-longest", longest.values[i] / paper_longest);
  }
  report_cell(numbers, "%s", options);
  interval_report(interval_of(&single), numbers);
  interval_report(interval_of(&any), numbers);
  interval_report(interval_of(&longest), numbers);
  if (judged)
    finding(found, fabs(interval_of(&single).mean / paper_single - 1) < 0.2 &&
                       fabs(interval_of(&longest).mean / paper_longest - 1) < 0.2);
  samples_free(&single);
  samples_free(&any);
  samples_free(&longest);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int i = 0; i < 2; i++)
    test(forms[i], i == 0, full ? FULL_SEEDS : QUICK_SEEDS, &found, numbers);
  return found;
}

static const char *const columns[] = {"form",        "single_bit",  "single_low", "single_high",
                                      "any_length",  "any_low",     "any_high",   "longest",
                                      "longest_low", "longest_high"};

const claim extension_bits_claim = {
    .name = "extension-bits",
    .title = "Extensions that the code of a block holds",
    .source = "thesis: Section 5.2.2",
    .paper = "A 56-bit arithmetic code of the extensions of 64 slots holds around 8 extensions of "
             "one bit, or one of 19 bits.",
    .statement = "the published form of exaf holds 8 extensions of one bit, or one of 19 bits, "
                 "within a fifth",
    .differs = "One block with 60 keys; 50 seeds (full: 1000), which place the extensions. The "
               "code has the probabilities of the authors' program (29/32 for an empty "
               "extension), which the thesis does not print. besom's own form is drawn beside it.",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
