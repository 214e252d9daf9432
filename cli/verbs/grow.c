/* besom grow: more capacity for a filter, without its keys. */
#include <stdio.h>

#include "fail.h"
#include "files.h"
#include "json.h"
#include "verb.h"

static uint64_t slots;
static bool given_json;

static const argument arguments[] = {
    {"--slots", "N", "new number of slots: the old one times a power of two; default: twice",
     .count = &slots, .most = 1e18},
    JSON_ARGUMENT(given_json),
};

static const command grow_command = {
    .usage = "grow FILTER [options]",
    .about = "Doubles the capacity of a filter. No keys are needed: every doubling moves one bit "
             "from the remainders to the quotients. The target false-positive rate holds up to the "
             "--max-capacity that the filter was built with.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 1,
};

static void print_result(const char *path, uint64_t capacity, uint64_t before) {
  json j = {0};
  if (!given_json) {
    fprintf(stderr, "%s: capacity %llu keys, was %llu\n", path, (unsigned long long)capacity,
            (unsigned long long)before);
    return;
  }
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_count(&j, "capacity", capacity);
  json_count(&j, "capacity_before", before);
  json_close(&j);
}

static int grow(words args) {
  besom_filter *f = filter_load(args.at[0]);
  besom_statistics before = filter_stats(f);
  uint64_t target = slots ? slots : 2 * before.slots;
  besom_status status = besom_resize(f, target, NULL);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: filters of kind %s cannot grow. Build a larger one: besom build --capacity",
         args.at[0], before.kind);
  if (status == BESOM_INVALID)
    fail("%s: cannot grow from %llu to %llu slots: the factor is not a power of two, or no bits of "
         "the remainders would be left",
         args.at[0], (unsigned long long)before.slots, (unsigned long long)target);
  check(status, "growing %s", args.at[0]);
  filter_save(f, args.at[0]);
  print_result(args.at[0], filter_stats(f).capacity, before.capacity);
  besom_free(f);
  return 0;
}

const verb grow_verb = {"grow", "double the capacity of a filter", &grow_command, grow};
