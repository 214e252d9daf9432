/*
 * Claim lists: a filter that is exact on a yes list and a no list, beside the cascade of Bloom
 * filters made for that and the lower bound of any such filter. One million keys in total, at
 * proportions from 1000 : 1 to 1 : 1000. Also measured: the cost of lists that may change, with a
 * dynamic filter to which all keys are added one by one.
 */
#include <math.h>

#include "besom.h"
#include "besom_guard.h"
#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/dynamic_lists.h"
#include "workloads/stream_list.h"

enum { MIN_POWER = -10, MAX_POWER = 10 };

static const double rate = 1.0 / 256;
static const double any_rate = 0.5; /* if only keys of the two lists are ever queried */

/* ------------------------------------------------------------------ sizes */

/* Queries every key of both lists, and some keys of neither. */
static besom_statistics check_answers(const besom_filter *f, const char *kind,
                                      const stream_list *yes, const stream_list *no,
                                      double *fpr_of_others) {
  if (stream_list_count_yes(f, yes) != yes->n) fail("%s answers no to a key of the yes list", kind);
  if (stream_list_count_yes(f, no)) fail("%s answers yes to a key of the no list", kind);
  stream_list others;
  stream_list_open(&others, stream_absent(BENCH_SEED), no->n, 200000);
  *fpr_of_others = (double)stream_list_count_yes(f, &others) / (double)others.n;
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  return stats;
}

static besom_statistics try_kind(const char *kind, const char *options, double wanted,
                                 stream_list *yes, stream_list *no, double *fpr_of_others) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = kind, .options = options, .fpr = wanted, .seed = seed};
  besom_filter *f;
  yes->at = no->at = 0;
  check(besom_build(&config, &(besom_input){.yes = &yes->source, .no = &no->source}, &f),
        "building %s", kind);
  besom_statistics stats = check_answers(f, kind, yes, no, fpr_of_others);
  besom_free(f);
  return stats;
}

/* Uses as much reserve as needed. reads: store reads per key. */
static besom_statistics try_dynamic(const stream_list *yes, const stream_list *no,
                                    double *fpr_of_others, double *reads) {
  dynamic_lists d = dynamic_lists_new(&yes->source, &no->source, rate);
  besom_statistics stats = check_answers(d.filter, "yesno-dynamic", yes, no, fpr_of_others);
  *reads = d.reads;
  dynamic_lists_free(&d);
  return stats;
}

/* ------------------------------------------------------------------ a guard with a no list */

static bool lacks_room(besom_status status) {
  return status == BESOM_FULL || status == BESOM_RESERVE_FULL;
}

/* Puts all keys into a guard. False if the reserve is too small. */
static bool fill_guard(besom_guard *g, const stream_list *yes, const stream_list *no) {
  besom_guard_statistics stats;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < yes->n; i++)
    check(besom_guard_put_u64(g, stream_list_key(yes, i), NULL, 0, BESOM_PUT_NEW), "a put");
  for (uint64_t i = 0; i < no->n && status == BESOM_OK; i++) {
    besom_u64_key key = besom_u64(stream_list_key(no, i));
    status = besom_guard_no_put(g, key.bytes, sizeof key.bytes);
  }
  if (!lacks_room(status)) check(status, "a key of the no list");
  check(besom_guard_stats(g, &stats), "statistics of a guard");
  return status == BESOM_OK && !stats.adapt_full;
}

/*
 * A filter of the yes list alone; the no list is in the store. Every member that a no key matches
 * takes one slot more. The reserve begins with what that takes, and grows until it is enough.
 */
static double try_guard(const stream_list *yes, const stream_list *no) {
  double matched = 1 - exp(-rate * (double)no->n / (double)yes->n), bytes = 0;
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  for (double reserve = 0.01 + 0.9 * matched / (1 + matched); !bytes; reserve += 0.02) {
    besom_config filter = {.kind = "aqf", .reserve = fmin(reserve, 0.5), .width = 2, .seed = seed};
    filter.slots = (uint64_t)((double)yes->n / (0.95 - filter.reserve)) + 1;
    while (ldexp((double)yes->n / (double)filter.slots, -(int)filter.width) > rate) filter.width++;
    if (reserve > 0.5) filter.slots = (uint64_t)((double)filter.slots * (0.5 + reserve));
    besom_guard_config config = {.filter = &filter};
    besom_store *store;
    besom_guard *g;
    check(besom_store_memory(NULL, &store), "creating a store");
    check(besom_guard_open(&config, store, &g), "opening a guard");
    if (fill_guard(g, yes, no)) {
      double unused;
      bytes = (double)check_answers(besom_guard_filter(g), "a guard", yes, no, &unused).bytes;
    }
    check(besom_guard_close(g), "closing a guard");
  }
  return bytes;
}

/* ------------------------------------------------------------------ the figure */

static bool try_proportion(int power, uint64_t keys, report *numbers) {
  uint64_t n_yes = (uint64_t)round((double)keys / (1 + exp2(power))), n_no = keys - n_yes;
  stream_list yes, no;
  stream_list_open(&yes, stream_members(BENCH_SEED), 0, n_yes);
  stream_list_open(&no, stream_absent(BENCH_SEED), 0, n_no);
  progress("%llu yes, %llu no", (unsigned long long)n_yes, (unsigned long long)n_no);
  double others_yesno, others_cascade, others_closed, others_dynamic, reads;
  double least = least_list_bits((double)n_yes, (double)n_no, rate);
  besom_statistics yesno = try_kind("yesno", NULL, rate, &yes, &no, &others_yesno);
  besom_statistics cascade = try_kind("cascade", NULL, rate, &yes, &no, &others_cascade);
  besom_statistics closed = try_kind("cascade", NULL, any_rate, &yes, &no, &others_closed);
  double others_fuse, others_ribbon;
  besom_statistics fuse = try_kind("cascade", "base=fuse", rate, &yes, &no, &others_fuse);
  besom_statistics ribbon = try_kind("cascade", "base=ribbon", rate, &yes, &no, &others_ribbon);
  besom_statistics dynamic = try_dynamic(&yes, &no, &others_dynamic, &reads);
  double guard = try_guard(&yes, &no);
  bool holds =
      yesno.bytes <= cascade.bytes && others_yesno <= 1.1 * rate && others_dynamic <= 1.1 * rate;
  holds &= others_fuse <= 1.1 * rate && others_ribbon <= 1.1 * rate;
  report_cell(numbers, "%d", power);
  report_cell(numbers, "%llu", (unsigned long long)n_yes);
  report_cell(numbers, "%llu", (unsigned long long)n_no);
  report_cell(numbers, "%.3f", 8 * (double)yesno.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)cascade.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)fuse.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)ribbon.bytes / (double)keys);
  report_cell(numbers, "%.3f", least / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)closed.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)dynamic.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * guard / (double)keys);
  report_cell(numbers, "%u", yesno.width);
  report_cell(numbers, "%.5f", others_yesno);
  report_cell(numbers, "%.5f", others_cascade);
  report_cell(numbers, "%.5f", others_fuse);
  report_cell(numbers, "%.5f", others_ribbon);
  report_cell(numbers, "%.5f", others_dynamic);
  report_cell(numbers, "%.5f", reads);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int power = MIN_POWER; power <= MAX_POWER; power += full ? 1 : 2)
    finding(&found, try_proportion(power, full ? 1000000 : 200000, numbers));
  return found;
}

static const char *const columns[] = {"log2_no_yes",
                                      "yes",
                                      "no",
                                      "yesno_bits",
                                      "cascade_bits",
                                      "fuse_bits",
                                      "ribbon_bits",
                                      "lower_bound_bits",
                                      "closed_cascade",
                                      "dynamic_bits",
                                      "guard_bits",
                                      "width",
                                      "others_yesno",
                                      "others_cascade",
                                      "others_fuse",
                                      "others_ribbon",
                                      "others_dynamic",
                                      "dynamic_reads",
                                      "holds"};

static const plot plots[] = {
    {.title = "Space of filters that are exact on two lists",
     .x = "log2_no_yes",
     .y = "yesno_bits,cascade_bits,fuse_bits,ribbon_bits,lower_bound_bits,dynamic_bits,guard_bits",
     .x_label = "log2 of (no list / yes list)",
     .y_label = "bits per key of both lists"},
    {0}};

const claim lists_claim = {
    .name = "lists",
    .title = "Exact on a yes list and a no list",
    .source = "adaptiveqf: Figure 9",
    .paper = "For a million items on both lists together, at every proportion, the AQF takes "
             "less space than CRLite's cascade of Bloom filters or about the same, although its "
             "lists may change.",
    .statement = "exact on both lists, yesno takes no more bits per key of both lists than a "
                 "cascade of the same FPR",
    .differs = "200 thousand keys (full: a million). yesno is our aqf of two lists that do not "
               "change. Like the paper's filter, yesno-dynamic may change at any time; it keeps "
               "both lists, and takes more space the longer the no list is. guard_bits is the "
               "filter of a guard (aqf) whose no list is in the store. CRLite's cascade is "
               "our own implementation, at the same FPR for keys of neither list; fuse_bits and "
               "ribbon_bits are a cascade of one such filter and a retrieval of one bit.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
