/*
 * Claim lists: a filter exact on a yes list and a no list, beside the chain of Bloom filters made for that and the
 * least that any such filter can do with. One million keys in all, at proportions from 1000 : 1 to 1 : 1000.
 */
#include <math.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "workload.h"

enum { LEAST_POWER = -10, MOST_POWER = 10, SEED = 0xbe50 };

static const double rate = 1.0 / 256;
static const double any_rate = 0.5; /* when only keys of the two lists are ever asked */

/* ------------------------------------------------------------------ lists from streams of keys */

/* n keys of a stream, from number `first` on. */
typedef struct list {
  besom_source source;
  key_stream keys;
  uint64_t first, n, at;
  uint8_t key[8];
} list;

static uint64_t list_key(const list *l, uint64_t i) {
  uint64_t key;
  l->keys.generate(&l->keys, l->first + i, 1, &key);
  return key;
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  key_bytes(list_key(l, l->at++), l->key);
  *key = (besom_bytes){l->key, sizeof l->key};
  return BESOM_OK;
}

static void list_open(list *l, key_stream keys, uint64_t first, uint64_t n) {
  *l = (list){.keys = keys, .first = first, .n = n};
  l->source = (besom_source){.next = next_key, .size_hint = n, .ctx = l};
}

/* ------------------------------------------------------------------ sizes */

static uint64_t count_yes(const besom_filter *f, const list *l) {
  uint64_t yes = 0;
  for (uint64_t i = 0; i < l->n; i++) yes += besom_contains_u64(f, list_key(l, i));
  return yes;
}

/* Built, and asked for every key of both lists, and for some of neither. */
static besom_statistics try_kind(const char *kind, double wanted, list *yes, list *no, double *share_of_others) {
  uint8_t seed[16];
  hash_seed(SEED, seed);
  besom_config config = {.kind = kind, .rate = wanted, .seed = seed};
  besom_filter *f;
  yes->at = no->at = 0;
  check(besom_build(&config, &yes->source, &no->source, NULL, &f), "building %s", kind);
  if (count_yes(f, yes) != yes->n) fail("%s denies a key of the yes list", kind);
  if (count_yes(f, no)) fail("%s confirms a key of the no list", kind);
  list others;
  list_open(&others, stream_absent(SEED), no->n, 200000);
  *share_of_others = (double)count_yes(f, &others) / (double)others.n;
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  besom_free(f);
  return stats;
}

/* Theorem 7 of the paper: what any static filter takes, but for a constant. */
static double least_bits(double yes, double no) {
  return yes * log2(fmax(1 / rate, no / yes)) + log2(exp(1)) * fmin(rate * no, yes);
}

static bool try_proportion(int power, uint64_t keys, report *numbers) {
  uint64_t n_yes = (uint64_t)round((double)keys / (1 + exp2(power))), n_no = keys - n_yes;
  list yes, no;
  list_open(&yes, stream_members(SEED), 0, n_yes);
  list_open(&no, stream_absent(SEED), 0, n_no);
  progress("%llu yes, %llu no", (unsigned long long)n_yes, (unsigned long long)n_no);
  double others_yesno, others_cascade, others_closed, least = least_bits((double)n_yes, (double)n_no);
  besom_statistics yesno = try_kind("yesno", rate, &yes, &no, &others_yesno);
  besom_statistics cascade = try_kind("cascade", rate, &yes, &no, &others_cascade);
  besom_statistics closed = try_kind("cascade", any_rate, &yes, &no, &others_closed);
  bool holds = yesno.bytes <= cascade.bytes && others_yesno <= 1.1 * rate;
  report_cell(numbers, "%d", power);
  report_cell(numbers, "%llu", (unsigned long long)n_yes);
  report_cell(numbers, "%llu", (unsigned long long)n_no);
  report_cell(numbers, "%.3f", 8 * (double)yesno.bytes / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)cascade.bytes / (double)keys);
  report_cell(numbers, "%.3f", least / (double)keys);
  report_cell(numbers, "%.3f", 8 * (double)closed.bytes / (double)keys);
  report_cell(numbers, "%u", yesno.width);
  report_cell(numbers, "%.5f", others_yesno);
  report_cell(numbers, "%.5f", others_cascade);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static bool run(bool full, report *numbers) {
  bool holds = true;
  for (int power = LEAST_POWER; power <= MOST_POWER; power += full ? 1 : 5)
    holds &= try_proportion(power, full ? 1000000 : 200000, numbers);
  return holds;
}

static const char *const columns[] = {
    "log2_no_yes",    "yes",   "no",           "yesno_bits",     "cascade_bits", "least_bits",
    "closed_cascade", "width", "others_yesno", "others_cascade", "holds"};

const claim lists_claim = {
    .name = "lists",
    .source = "adaptiveqf Figure 9",
    .statement = "exact on both lists, yesno takes no more than a cascade of the same rate (bits a key of both lists)",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
