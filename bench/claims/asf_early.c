/*
 * Claim asf-early: an adaptive stacked filter that uses its upper layers before they are full,
 * beside the published form and a Bloom filter of the same size. Negative queries are Zipf
 * distributed, over as many keys as there are queries; in the second half the popularity is
 * reversed. One popular key can decide a single run, so there are several seeds, and the numbers
 * are means and medians over them. Then an adversary: a tenth of all queries repeats false
 * positives.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "besom_reverse.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/timing.h"
#include "random.h"
#include "workloads/key_stream.h"
#include "zipf.h"

enum { BITS = 10, WINDOWS = 20, MAX_SEEDS = 20, SKEWS = 3, PARTS = 10, CHUNK = 128 };

static const double skews[SKEWS] = {0.75, 1, 1.25};
static const double bars[SKEWS] = {0.75, 0.5, 0.25}; /* of the FPR of a Bloom filter */
static const double bar_new = 1.3, bar_other = 1, bar_adversary = 0.01;

typedef struct effort {
  uint64_t members, queries; /* per phase; also the number of absent keys */
  int seeds;
  double slack; /* what is required of the FPR of the first phase is so many times as high */
} effort;

static const effort quick = {200000, 2000000, 2, 1.5};
static const effort thorough = {1000000, 10000000, MAX_SEEDS, 1};

typedef enum which { BLOOM, EARLY, PUBLISHED, FILTERS } which;

static const struct {
  const char *name, *kind, *form;
} filters[FILTERS] = {{"bloom", "bloom", NULL},
                      {"asf", "adaptive-stacked", "incremental"},
                      {"asf_published", "adaptive-stacked", "published"}};

/* ------------------------------------------------------------------ filters */

typedef struct member_source {
  key_stream stream;
  uint64_t at, n;
  besom_u64_key key;
} member_source;

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  uint64_t number;
  (void)weight;
  if (m->at == m->n) return BESOM_END;
  m->stream.generate(&m->stream, m->at++, 1, &number);
  m->key = besom_u64(number);
  *key = (besom_bytes){m->key.bytes, sizeof m->key.bytes};
  return BESOM_OK;
}

static besom_status first_member(void *ctx) {
  ((member_source *)ctx)->at = 0;
  return BESOM_OK;
}

/* A filter that holds the members and is bound to them. */
static besom_filter *make(which each, const char *options, member_source *m, uint64_t members,
                          uint64_t seed) {
  uint8_t hash[16];
  besom_filter *f;
  *m = (member_source){.stream = stream_members(seed), .n = members};
  besom_source source = {
      .next = next_member, .rewind = first_member, .size_hint = members, .ctx = m};
  besom_config config = {.kind = filters[each].kind,
                         .options = options,
                         .capacity = members,
                         .bits_per_key = BITS,
                         .seed = hash};
  hash_seed(seed, hash);
  check(besom_build(&config, &(besom_input){.yes = &source}, &f), "building %s",
        filters[each].name);
  if (each != BLOOM) check(besom_bind_source(f, &source), "binding %s", filters[each].name);
  return f;
}

/* Returns whether the key is a false positive, and reports it. */
static bool query(besom_filter *f, which each, uint64_t key) {
  if (!besom_contains_u64(f, key)) return false;
  if (each != BLOOM) check(besom_adapt_u64(f, key), "adapting");
  return true;
}

static double bits_of(const besom_filter *f, uint64_t members) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  return 8.0 * (double)stats.bytes / (double)members;
}

/* Frees the filter after checking that it holds its members. */
static void close_filter(besom_filter *f, uint64_t members, uint64_t seed) {
  key_stream stream = stream_members(seed);
  for (uint64_t i = 0; i < members; i++) {
    uint64_t key;
    stream.generate(&stream, i, 1, &key);
    if (!besom_contains_u64(f, key)) fail("a member was answered no");
  }
  besom_free(f);
}

/* ------------------------------------------------------------------ popularity */

/* The FPR per window and over the first phase, by seed. */
typedef struct rates {
  double windows[WINDOWS][MAX_SEEDS], overall[MAX_SEEDS], bits[MAX_SEEDS];
} rates;

/* The filters of one seed, which get the same queries. */
typedef struct seed_run {
  uint64_t seed, drawn;
  const effort *effort;
  zipf popularity;
  key_stream absent;
  besom_filter *filters[FILTERS];
  member_source members[FILTERS];
} seed_run;

static void open_run(seed_run *r, double skew, const effort *e, uint64_t seed) {
  char options[128];
  *r = (seed_run){.seed = seed,
                  .effort = e,
                  .popularity = zipf_create(skew, e->queries),
                  .absent = stream_absent(seed)};
  for (int each = 0; each < FILTERS; each++) {
    snprintf(options, sizeof options, "skew=%.0f,negatives=%llu,lifetime=%llu,form=%s", 100 * skew,
             (unsigned long long)e->queries, (unsigned long long)e->queries,
             filters[each].form ? filters[each].form : "");
    r->filters[each] =
        make((which)each, each == BLOOM ? NULL : options, &r->members[each], e->members, seed);
  }
}

/* Draws the next queries. With reversed popularity the least popular key is the most popular. */
static void draw(seed_run *r, bool reversed, uint64_t keys[CHUNK]) {
  for (int i = 0; i < CHUNK; i++) {
    uint64_t rank = zipf_rank(&r->popularity, random_at(r->seed, r->drawn++));
    r->absent.generate(&r->absent, reversed ? r->effort->queries - rank : rank - 1, 1, &keys[i]);
  }
}

/* Queries a chunk at once. A report may change the answer for a later key, so that is repeated. */
static uint64_t query_chunk(besom_filter *f, which each, const uint64_t keys[CHUNK]) {
  uint64_t answers[CHUNK / 64], wrong = 0;
  check(besom_contains_many_u64(f, keys, CHUNK, answers), "querying");
  for (int i = 0; i < CHUNK; i++)
    if (answers[i / 64] >> (i % 64) & 1) wrong += query(f, each, keys[i]);
  return wrong;
}

static void run_seed(double skew, const effort *e, int number, rates out[FILTERS]) {
  uint64_t window = 2 * e->queries / WINDOWS, keys[CHUNK];
  seed_run r;
  open_run(&r, skew, e, BENCH_SEED + 1 + (uint64_t)number);
  for (int w = 0; w < WINDOWS; w++) {
    uint64_t wrong[FILTERS] = {0}, queried = 0;
    for (; queried < window; queried += CHUNK) {
      draw(&r, w >= WINDOWS / 2, keys);
      for (int each = 0; each < FILTERS; each++)
        wrong[each] += query_chunk(r.filters[each], (which)each, keys);
    }
    for (int each = 0; each < FILTERS; each++) {
      double rate = (double)wrong[each] / (double)queried;
      out[each].windows[w][number] = rate;
      if (w < WINDOWS / 2) out[each].overall[number] += rate / (WINDOWS / 2);
    }
  }
  for (int each = 0; each < FILTERS; each++) {
    out[each].bits[number] = bits_of(r.filters[each], e->members);
    close_filter(r.filters[each], e->members, r.seed);
  }
}

static double mean_of(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i];
  return sum / n;
}

static double median_of(const double *x, int n) {
  samples s = {0};
  for (int i = 0; i < n; i++) samples_add(&s, x[i]);
  double median = samples_median(&s);
  samples_free(&s);
  return median;
}

/* Means and medians of one filter relative to the Bloom filter's. */
typedef struct ratio {
  double mean, median;
} ratio;

static ratio show(report *numbers, const char *span, double skew, which each, int window,
                  const double *own, const double *bloom, int seeds, double bits) {
  ratio r = {mean_of(own, seeds) / mean_of(bloom, seeds),
             median_of(own, seeds) / median_of(bloom, seeds)};
  report_cell(numbers, "%s", span);
  report_cell(numbers, "%g", skew);
  report_cell(numbers, "%s", filters[each].name);
  if (window)
    report_cell(numbers, "%d", window);
  else
    report_cell(numbers, "%s", "");
  report_cell(numbers, "%.6f", mean_of(own, seeds));
  report_cell(numbers, "%.6f", median_of(own, seeds));
  report_cell(numbers, "%.3f", r.mean);
  report_cell(numbers, "%.3f", r.median);
  report_cell(numbers, "%.3f", bits);
  return r;
}

static bool below(ratio r, double bar) {
  return r.mean <= bar && r.median <= bar;
}

static void judge_skew(int s, const rates *all, const effort *e, report *numbers, findings *found) {
  double bar = bars[s] * e->slack;
  int seeds = e->seeds;
  for (int each = 0; each < FILTERS; each++) {
    const rates *own = &all[each], *bloom = &all[BLOOM];
    double bits = mean_of(own->bits, seeds);
    ratio r = show(numbers, "overall", skews[s], (which)each, 0, own->overall, bloom->overall,
                   seeds, bits);
    if (each == EARLY) finding(found, r.mean < bar && r.median < bar);
    for (int w = 0; w < WINDOWS; w++) {
      r = show(numbers, "window", skews[s], (which)each, w + 1, own->windows[w], bloom->windows[w],
               seeds, bits);
      bool fresh = w == 0 || w == WINDOWS / 2;
      if (each == EARLY) finding(found, below(r, fresh ? bar_new : bar_other));
    }
  }
}

/* ------------------------------------------------------------------ an adversary */

enum { ATTACKED = 100000, UNIVERSE = 130000, ATTACK_QUERIES = 4000000 };

/* Half of the queries is for members, a tenth is the adversary's: it repeats a false positive. */
static double attack(which each, int number) {
  uint64_t seed = BENCH_SEED + 1 + (uint64_t)number, draws = 0, negative = 0, wrong = 0;
  key_stream absent = stream_absent(seed);
  member_source members;
  char options[32];
  snprintf(options, sizeof options, "form=%s", filters[each].form);
  besom_filter *f = make(each, each == BLOOM ? NULL : options, &members, ATTACKED, seed);
  uint64_t *known = allocate(UNIVERSE, sizeof *known), n = 0;
  for (uint64_t i = 0; i < ATTACK_QUERIES; i++) {
    uint64_t part = i % 10, key, at = random_at(seed, draws++);
    if (i == ATTACK_QUERIES / PARTS * (PARTS - 1)) negative = wrong = 0; /* the last part counts */
    if (part < 5) continue; /* a member: the filter says yes */
    bool attacks = part == 5 && n;
    at %= attacks ? n : UNIVERSE;
    if (attacks)
      key = known[at];
    else
      absent.generate(&absent, at, 1, &key);
    bool yes = query(f, each, key);
    negative++;
    wrong += yes;
    if (yes && !attacks && n < UNIVERSE) known[n++] = key;
    if (!yes && attacks) known[at] = known[--n]; /* it is of no use any more */
  }
  free(known);
  close_filter(f, ATTACKED, seed);
  return (double)wrong / (double)negative;
}

static void judge_adversary(int seeds, report *numbers, findings *found) {
  double last[FILTERS][MAX_SEEDS], highest = 0;
  for (int each = 0; each < FILTERS; each++)
    for (int i = 0; i < seeds; i++) {
      progress("%s, adversary, seed %d", filters[each].name, i + 1);
      last[each][i] = attack((which)each, i);
      if (each == EARLY) highest = fmax(highest, last[each][i]);
    }
  for (int each = 0; each < FILTERS; each++)
    show(numbers, "adversary", 0, (which)each, 0, last[each], last[BLOOM], seeds, BITS);
  finding(found, highest < bar_adversary);
}

/* ------------------------------------------------------------------ the claim */

static findings run(bool full, report *numbers) {
  const effort *e = full ? &thorough : &quick;
  findings found = {0};
  for (int s = 0; s < SKEWS; s++) {
    rates *all = allocate(FILTERS, sizeof *all);
    for (int each = 0; each < FILTERS; each++) all[each] = (rates){.overall = {0}};
    for (int i = 0; i < e->seeds; i++) {
      progress("Zipf %g, seed %d", skews[s], i + 1);
      run_seed(skews[s], e, i, all);
    }
    judge_skew(s, all, e, numbers, &found);
    free(all);
  }
  judge_adversary(e->seeds, numbers, &found);
  return found;
}

static const char *const columns[] = {"span",       "zipf",         "filter",
                                      "window",     "mean_fpr",     "median_fpr",
                                      "mean_ratio", "median_ratio", "bits_per_key"};

static const plot plots[] = {{.title = "FPR per window, relative to a Bloom filter (means)",
                              .x = "window",
                              .y = "mean_ratio",
                              .series = "filter",
                              .panels = "zipf",
                              .where = "span=window",
                              .x_label = "window; popularity is reversed after the tenth",
                              .y_label = "FPR / FPR of the Bloom filter"},
                             {0}};

const claim asf_early_claim = {
    .name = "asf-early",
    .title = "When should a learning stacked filter start to learn?",
    .source = "besom",
    .statement = "an adaptive stacked filter whose upper layers are used early has less than 0.75 "
                 "(Zipf 0.75), 0.5 (1) and 0.25 (1.25) of the FPR of a Bloom filter of the same "
                 "size; in the first window and in the one after the popularity is reversed it has "
                 "at most 1.3 times, in all others at most 1.0 times that FPR; an adversary that "
                 "repeats false positives ends below 1 %",
    .differs =
        "Full: 10^6 members, 10 bits, 10^7 queries per phase over 10^7 absent keys, 20 "
        "seeds; quick: a fifth of each, 2 seeds, and 1.5 times the limits of the first "
        "sentence, because the time of learning weighs more. Windows are tenths of a phase. The "
        "adversary: 10^5 members, 130,000 absent keys, 4 * 10^6 queries, of which half are "
        "for members and a tenth repeat a false positive that is still one; the FPR is that "
        "of the last tenth.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
