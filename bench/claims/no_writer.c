/*
 * Claim no-writer: replayed false positives of a guard that is hardly written to, or not at all.
 * Every second query is for a fresh absent key, the others repeat false positives that were
 * collected, at random. Nothing but gets, and puts of members now and then, runs; no background.
 */
#include "claims/claims.h"
#include "fail.h"
#include "harness/attacked_filter.h"
#include "harness/interval.h"

enum { MEMBERS = 20000, WINDOW = 100000, KNOWN = 1 << 16 };

static const struct {
  const char *name;
  bool threads, migrating; /* migrating: a rekey has begun, and waits */
  uint64_t gets_per_put;   /* 0: there are no puts */
  double eps;
} attacked[] = {
    {"aqf", false, false, 0, 1.0 / 256},         {"aqf", true, false, 0, 1.0 / 256},
    {"aqf_migrating", true, true, 0, 1.0 / 256}, {"aqf", true, false, 0, 1.0 / 16},
    {"aqf", false, false, 1000, 1.0 / 256},      {"aqf", false, false, 20000, 1.0 / 256},
    {"aqf", false, false, 100000, 1.0 / 256}};
enum { ATTACKED = sizeof attacked / sizeof *attacked };

typedef struct tally {
  samples replayed, worst, fresh, bytes;
} tally;

static attacked_filter guard_under_attack(int which, uint64_t seed) {
  uint8_t hash[16];
  hash_seed(seed, hash);
  besom_config config = {.kind = "aqf",
                         .capacity = MEMBERS,
                         .fpr = attacked[which].eps,
                         .reserve = 0.005,
                         .seed = hash};
  besom_guard_config guard = {.grow_at = 1, .threads = attacked[which].threads};
  key_stream keys = stream_members(seed);
  attacked_filter a = attacked_create(&config, &guard);
  attacked_insert(&a, &keys, 0, MEMBERS);
  if (attacked[which].migrating) {
    check(besom_guard_rekey(a.guard), "a rekey");
    check(besom_guard_step(a.guard, MEMBERS / 3, NULL), "a step");
  }
  return a;
}

/* Replaces the value of a member: enough for the guard to do its work. */
static void put_member(attacked_filter *a, const key_stream *members, uint64_t i) {
  uint64_t key;
  members->generate((key_stream *)members, i % MEMBERS, 1, &key);
  check(besom_guard_put_u64(a->guard, key, "v", 1, 0), "replacing a value");
}

static void run_seed(int which, unsigned windows, uint64_t number, tally *all) {
  uint64_t seed = random_at(BENCH_SEED, number), n = 0, gets = 0, again = 0, fresh_hits = 0;
  attacked_filter a = guard_under_attack(which, seed);
  uint64_t first_bytes = attacked_bytes(&a), most = first_bytes;
  key_stream absent = stream_absent(seed), members = stream_members(seed);
  static uint64_t known[KNOWN];
  double worst = 0;
  for (unsigned w = 0; w < windows; w++) {
    uint64_t hits = 0;
    for (uint64_t q = 0; q < WINDOW / 2; q++) {
      uint64_t key, every = attacked[which].gets_per_put;
      absent.generate(&absent, gets, 1, &key);
      bool hit = attacked_query(&a, key);
      if (hit) known[n++ % KNOWN] = key;
      fresh_hits += hit;
      if (n) hits += attacked_query(&a, known[random_at(seed, gets) % (n < KNOWN ? n : KNOWN)]);
      gets++;
      if (every && gets % (every / 2) == 0) put_member(&a, &members, gets);
    }
    uint64_t bytes = attacked_bytes(&a);
    if (bytes > most) most = bytes;
    if (w == 0) continue;
    again += hits;
    if (2.0 * (double)hits / WINDOW > worst) worst = 2.0 * (double)hits / WINDOW;
  }
  samples_add(&all->replayed, 2.0 * (double)again / WINDOW / (windows - 1));
  samples_add(&all->worst, worst);
  samples_add(&all->fresh, (double)fresh_hits / (double)gets);
  samples_add(&all->bytes, (double)most / (double)first_bytes);
  attacked_free(&a);
}

static double largest(const samples *s) {
  return samples_quantile(s, 1);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  unsigned windows = full ? 100 : 6, seeds = full ? 5 : 2;
  for (int which = 0; which < ATTACKED; which++) {
    tally t = {0};
    progress("%s", attacked[which].name);
    for (unsigned i = 0; i < seeds; i++) run_seed(which, windows, i, &t);
    report_cell(numbers, "%s", attacked[which].name);
    report_cell(numbers, "%s", attacked[which].threads ? "yes" : "no");
    report_cell(numbers, "%llu", (unsigned long long)attacked[which].gets_per_put);
    report_cell(numbers, "%.4g", attacked[which].eps);
    report_cell(numbers, "%.4g", interval_of(&t.fresh).mean);
    report_cell(numbers, "%.4g", interval_of(&t.replayed).mean);
    report_cell(numbers, "%.4g", largest(&t.worst));
    report_cell(numbers, "%.2f", largest(&t.bytes));
    finding(&found, largest(&t.worst) <= attacked[which].eps);
    samples_free(&t.replayed);
    samples_free(&t.worst);
    samples_free(&t.fresh);
    samples_free(&t.bytes);
  }
  return found;
}

static const char *const columns[] = {"guard",     "threads",      "gets_per_put", "target",
                                      "fresh_fpr", "replayed_fpr", "worst_window", "most_bytes"};

const claim no_writer_claim = {
    .name = "no-writer",
    .title = "Replayed false positives without a writer",
    .source = "besom",
    .statement =
        "while every second query repeats a false positive that was collected, the rate of "
        "these is at most the target in every window of 100,000 queries but the first, "
        "without a write, and with few",
    .differs =
        "20,000 keys, 6 windows, 2 seeds (full: 100, 5). gets_per_put 0: no puts. most_bytes: "
        "filters, exceptions and fronts, as a multiple of the filter at first; exceptions "
        "take at least 16 KB, which is half of this small filter. aqf_migrating: a rekey was "
        "begun and nobody continues it.",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
