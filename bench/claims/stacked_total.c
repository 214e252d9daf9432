/*
 * Claim stacked-total: all that a filter costs in front of a disk, its own time and the reads for its false positives,
 * from 6 to 14 bits a member: a Bloom filter, a stack of them, and classifiers with Bloom filters, on address-like
 * names, on FireHose's power law, and on integers asked by Zipf's law.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/disk.h"
#include "harness/stacked_setup.h"

typedef enum which { BLOOM, STACKED, LEARNED, SANDWICHED, SUBJECTS } which;

static const struct {
  const char *name, *kind, *options;
} subjects[SUBJECTS] = {{"bloom", "bloom", NULL},
                        {"stacked", "stacked", NULL},
                        {"learned", "learned", "form=plain"},
                        {"sandwiched", "learned", "form=sandwiched"}};

enum { LEAST_BITS = 6, MOST_BITS = 14 };

static const double most_times = 2; /* of a Bloom filter's time, for a stack */
static const double luck = 1.05;

typedef struct outcome {
  double fpr, positive_ns, negative_ns;
} outcome;

/* The times of a query for a non-member, if a false positive is a read of the disk. */
static double with_reads(const outcome *o, double read_ns) {
  return o->negative_ns + o->fpr * read_ns;
}

/* What the queries of a scene are put to. */
typedef struct stage {
  stacked_setup setup;
  besom_workload *known; /* the more popular half of the keys */
  char listed[LISTED_BYTES];
  setup_queries members, others;
} stage;

static stage stage_create(stacked_setup s) {
  stage t = {.setup = s,
             .members = setup_queries_create(&s, true),
             .others = setup_queries_create(&s, false)};
  t.known = setup_known_half(&s, t.listed);
  return t;
}

static void stage_free(stage *t) {
  besom_workload_free(t->known);
  setup_queries_free(&t->members);
  setup_queries_free(&t->others);
}

/*
 * Only a stack knows keys one by one. The others' rates are taken over all keys alike: whether the most popular one
 * happens to be a false positive would say nothing about the kind.
 */
static outcome measure(const stage *t, which each, double bits) {
  besom_config config = {
      .kind = subjects[each].kind, .options = subjects[each].options, .bits = bits};
  if (each == STACKED) config.options = t->listed;
  besom_filter *f =
      setup_filter(&t->setup, config, BENCH_SEED, each == BLOOM ? NULL : t->known, NULL);
  outcome o = {.fpr = each == STACKED ? setup_fpr(&t->setup, f) : setup_fpr_uniform(&t->setup, f),
               .positive_ns = setup_queries_time(&t->members, f),
               .negative_ns = setup_queries_time(&t->others, f)};
  besom_free(f);
  return o;
}

static void show(const stage *t, which each, int bits, const outcome *o, const outcome *bloom,
                 report *numbers) {
  report_cell(numbers, "%s", t->setup.name);
  report_cell(numbers, "%s", subjects[each].name);
  report_cell(numbers, "%d", bits);
  report_cell(numbers, "%.3g", o->fpr);
  report_cell(numbers, "%.1f", o->positive_ns);
  report_cell(numbers, "%.1f", o->negative_ns);
  report_cell(numbers, "%.2f", o->negative_ns / bloom->negative_ns);
  report_cell(numbers, "%.3f", 1e-3 * with_reads(o, SSD_READ_NS));
  report_cell(numbers, "%.3f", 1e-3 * with_reads(o, HDD_READ_NS));
}

/* Is the stack the cheapest of all in front of such a disk? */
static bool stack_is_best(const outcome of[SUBJECTS], double read_ns) {
  double stack = with_reads(&of[STACKED], read_ns);
  for (int i = 0; i < SUBJECTS; i++)
    if (stack > luck * with_reads(&of[i], read_ns)) return false;
  return true;
}

static bool stack_is_fast(const outcome *stack, const outcome *bloom) {
  return stack->positive_ns <= most_times * bloom->positive_ns &&
         stack->negative_ns <= most_times * bloom->negative_ns;
}

/* Each sentence of the statement is a part of it, for each memory of each scene. */
static void test_scene(stacked_setup s, bool full, findings *found, report *numbers) {
  stage t = stage_create(s);
  for (int bits = LEAST_BITS; bits <= MOST_BITS; bits += full ? 2 : 4) {
    outcome of[SUBJECTS];
    for (int i = 0; i < SUBJECTS; i++) {
      progress("%s, %d bits, %s", s.name, bits, subjects[i].name);
      of[i] = measure(&t, (which)i, bits);
      show(&t, (which)i, bits, &of[i], &of[BLOOM], numbers);
    }
    finding(found, of[STACKED].fpr < of[BLOOM].fpr);
    finding(found, stack_is_fast(&of[STACKED], &of[BLOOM]));
    if (s.keys == URLS)
      finding(found, of[LEARNED].negative_ns > of[STACKED].negative_ns); /* others need no model */
    finding(found, stack_is_best(of, SSD_READ_NS));
    finding(found, stack_is_best(of, HDD_READ_NS));
  }
  stage_free(&t);
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 50000, universe = 10 * members;
  power_law law = power_law_create(BENCH_SEED);
  findings found = {0};
  test_scene(setup_urls(members, universe), full, &found, numbers);
  test_scene(setup_firehose(POWER_LAW_KEYS / 2, &law), full, &found, numbers);
  test_scene(setup_zipf(0.75, members, universe), full, &found, numbers);
  power_law_free(&law);
  return found;
}

static const char *const columns[] = {"keys",        "filter",      "bits",
                                      "rate",        "positive_ns", "negative_ns",
                                      "times_bloom", "ssd_us",      "hdd_us"};

static const plot plots[] = {
    {.title = "False positives by memory (as Figures 3a, e, i)",
     .x = "bits",
     .y = "rate",
     .series = "filter",
     .panels = "keys",
     .x_label = "bits a member",
     .y_label = "false positives a query",
     .log_y = true},
    {.title = "Time of a query for a non-member, without reads (as Figures 3b, f, j)",
     .x = "bits",
     .y = "negative_ns",
     .series = "filter",
     .panels = "keys",
     .x_label = "bits a member",
     .y_label = "ns a query",
     .log_y = true},
    {.title = "Time of a query for a member (as Figures 3b, f, j)",
     .x = "bits",
     .y = "positive_ns",
     .series = "filter",
     .panels = "keys",
     .x_label = "bits a member",
     .y_label = "ns a query",
     .log_y = true},
    {.title = "All that a query for a non-member costs before a hard disk (as Figures 3c, g, k)",
     .x = "bits",
     .y = "hdd_us",
     .series = "filter",
     .panels = "keys",
     .x_label = "bits a member",
     .y_label = "microseconds a query",
     .log_y = true},
    {.title = "All that a query for a non-member costs before an NVMe SSD (as Figures 3d, h, l)",
     .x = "bits",
     .y = "ssd_us",
     .series = "filter",
     .panels = "keys",
     .x_label = "bits a member",
     .y_label = "microseconds a query",
     .log_y = true},
    {0}};

const claim stacked_total_claim = {
    .name = "stacked-total",
    .source = "stacked-filters: Figure 3",
    .paper = "On three data sets stacks err 5 to 100 times less often than Bloom filters of the "
             "same memory, as "
             "seldom as learned filters or less, and take 1 to 2 times a Bloom filter's time, "
             "where learned filters "
             "take 90 to 190 times; so in front of a hard disk or an SSD all costs together are "
             "1.4 to 130 times "
             "lower than with Bloom filters, and 1.5 to 1028 times lower than with learned ones.",
    .statement = "at 6 to 14 bits a member a stack errs less than a Bloom filter, takes at most "
                 "twice its time, "
                 "answers addresses faster than a learned filter, and is the cheapest of all in "
                 "front of an SSD and "
                 "of a hard disk",
    .differs = "Addresses are made up, since the paper's lists are not to be had; 5 * 10^4 members "
               "and ten times as "
               "many other keys (full: 10^6; the paper's integers 10^6 and 10^8), whose more "
               "popular half is known, "
               "as in the paper. The learned filter's model is a small linear one, not a recurrent "
               "network: cheaper "
               "by far, good on these addresses, and dropped where it is worth nothing, which "
               "leaves a Bloom filter. "
               "Filters are timed, reads reckoned at 74 microseconds (SSD) and 8 milliseconds "
               "(hard disk). The "
               "rate of a Bloom or learned filter is that over all keys alike, which its rate over "
               "queries is on "
               "average over all hash seeds.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
