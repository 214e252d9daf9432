/* besom merge, grow: whole filters. */
#include <stdio.h>

#include "fail.h"
#include "files.h"
#include "verb.h"

static const command merge_command = {
    .usage = "merge OUT FILTER FILTER...",
    .about = "Makes one filter of several, which must be alike: of one kind, size and seed. besom "
             "build --like FILTER\n"
             "makes such filters. The merged one has room for no more keys than each of them had.",
    .least_words = 3,
    .most_words = SIZE_MAX,
    .more = "  besom build new.besom --like old.besom --yes new.txt\n  besom merge all.besom "
            "old.besom new.besom",
};

static int merge(words words) {
  besom_filter *all = filter_load(words.at[1]);
  for (size_t i = 2; i < words.n; i++) {
    besom_filter *next = filter_open(words.at[i]), *both = NULL;
    besom_status status = besom_merge(all, next, &both);
    if (status == BESOM_INCOMPATIBLE)
      fail("%s is not like %s: they differ in kind, hash, seed or size. besom build --like %s "
           "makes one that is",
           words.at[i], words.at[1], words.at[1]);
    if (status == BESOM_FULL)
      fail("%s: there is no room for all keys of both: besom grow makes some, in each of them",
           words.at[i]);
    check(status, "merging %s", words.at[i]);
    besom_free(all);
    besom_free(next);
    all = both;
  }
  filter_save(all, words.at[0]);
  fprintf(stderr, "%s: %llu keys\n", words.at[0], (unsigned long long)filter_stats(all).items);
  besom_free(all);
  return 0;
}

static uint64_t slots;

static const argument grow_arguments[] = {
    {"--slots", "N", "exactly so many: what there are, times a power of two; default: twice",
     .count = &slots, .most = 1e18},
};

static const command grow_command = {
    .usage = "grow FILTER [--slots N]",
    .about = "Doubles the room of a filter, by moving bits from the remainders to the quotients: "
             "no key is needed. The\n"
             "rate of wrong yeses is kept up to the --max-capacity that it was built for.",
    .arguments = grow_arguments,
    .argument_count = COUNT_OF(grow_arguments),
    .least_words = 1,
    .most_words = 1,
};

static int grow(words words) {
  besom_filter *f = filter_load(words.at[0]);
  besom_statistics before = filter_stats(f);
  besom_status status = besom_grow(f, slots ? slots : 2 * before.slots);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: a filter of the kind %s cannot grow", words.at[0], before.kind);
  if (status == BESOM_INVALID)
    fail("%s: has %llu slots, and cannot get %llu: not a power of two times as many, or no "
         "remainder would be left",
         words.at[0], (unsigned long long)before.slots,
         (unsigned long long)(slots ? slots : 2 * before.slots));
  check(status, "growing %s", words.at[0]);
  filter_save(f, words.at[0]);
  besom_statistics after = filter_stats(f);
  fprintf(stderr, "%s: room for %llu keys, was %llu\n", words.at[0],
          (unsigned long long)after.capacity, (unsigned long long)before.capacity);
  besom_free(f);
  return 0;
}

const verb merge_verb = {"merge", "make one filter of several", &merge_command, merge};
const verb grow_verb = {"grow", "make room in a filter", &grow_command, grow};
