/*
 * Claim rounds: an adversary asks a queue of Q keys ten times a round, and keeps only those that were a false positive
 * in the round. A filter that adapts sweeps the queue away, if Q is not too large for what it can remember.
 */
#include "rounds.h"
#include "claims/claims.h"

enum { SHOWN = 4 };

static const unsigned ratios[] = {10, 15, 20, 30, 50};

typedef struct effort {
  uint64_t members, seeds, rounds;
} effort;

static const effort quick = {.members = 4000, .seeds = 2, .rounds = 6};
static const effort thorough = {.members = 16000, .seeds = 10, .rounds = 20};

/* Sums over the seeds. */
typedef struct outcome {
  double queue[SHOWN]; /* its length at the start of the rounds 2, 3, ..., as a share of S */
  double left;         /* and at the end */
  double overall;      /* rate of the last round: false positives a query */
  double by_element;   /* keys that were one at least once */
  double won;
  uint64_t rebuilds;
} outcome;

static void play(const contender *who, unsigned ratio, uint64_t seed, effort e, driver *d, outcome *sum) {
  uint64_t members = e.members;
  setting s = {.slots = (uint64_t)((double)members / who->load) + 2,
               .members = members,
               .kind = who->kind,
               .key_seed = seed,
               .filter_seed = seed};
  learner l = learner_create(who->way, &s, d);
  key_stream absent = stream_absent(seed);
  rounds r = rounds_create(&absent, ratio * members);
  while (r.played < e.rounds && !rounds_swept(&r, members)) {
    rounds_play(&r, &l);
    if (r.played <= SHOWN) sum->queue[r.played - 1] += (double)r.n / (double)members;
  }
  sum->left += (double)r.n / (double)members;
  sum->overall += rounds_rate(&r);
  sum->by_element += rounds_rate_by_key(&r);
  sum->won += rounds_swept(&r, members);
  sum->rebuilds += learner_stats(&l).rebuilds;
  rounds_free(&r);
  learner_free(&l);
}

static outcome play_all(const contender *who, unsigned ratio, effort e, driver *d, report *numbers) {
  outcome sum = {0};
  double share = 1 / (double)e.seeds;
  progress("Q/S = %u: %s", ratio, who->kind);
  for (uint64_t i = 0; i < e.seeds; i++) play(who, ratio, random_at(BENCH_SEED, i), e, d, &sum);
  report_cell(numbers, "%s", who->kind);
  report_cell(numbers, "%u", ratio);
  for (int i = 0; i < SHOWN; i++) report_cell(numbers, "%.3g", sum.queue[i] * share);
  report_cell(numbers, "%.3g", sum.left * share);
  report_cell(numbers, "%.3g", sum.overall * share);
  report_cell(numbers, "%.3g", sum.by_element * share);
  report_cell(numbers, "%.0f", sum.won);
  report_cell(numbers, "%llu", (unsigned long long)sum.rebuilds);
  return sum;
}

static verdict run(bool full, report *numbers) {
  effort e = full ? thorough : quick;
  driver d = driver_create();
  findings found = {0};
  for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
    if (!full && ratios[r] % 20 != 10) continue;
    for (int c = 0; c < CONTENDERS; c++) {
      outcome o = play_all(&contenders[c], ratios[r], e, &d, numbers);
      if (c == 0) finding(&found, o.won == 0);
      if (c == 3 && ratios[r] == 10) finding(&found, o.won == (double)e.seeds);
    }
  }
  driver_free(&d);
  return verdict_of(&found);
}

static const char *const columns[] = {"filter",   "Q/S",  "Q_round_2", "Q_round_3", "Q_round_4", "Q_round_5",
                                      "Q_at_end", "rate", "by_key",    "seeds_won", "rebuilds"};

const claim rounds_claim = {
    .name = "rounds",
    .source = "telescoping: Figure 4; thesis: Figure 6.4, Figure 6.5, Figure 6.6",
    .statement = "an adversary who repeats false positives in rounds has less than 1 % of S left from taf, at Q/S = 10",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
