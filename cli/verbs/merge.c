/* besom merge: one filter from several. */
#include <stdio.h>

#include "fail.h"
#include "files.h"
#include "json.h"
#include "verb.h"

static bool given_json;

static const argument arguments[] = {JSON_ARGUMENT(given_json)};

static const command merge_command = {
    .usage = "merge OUT FILTER FILTER... [--json]",
    .about = "Writes one filter that holds the keys of all given filters. They must have the same "
             "kind, hash, seed and size; besom build --like FILTER --max-change any makes such "
             "filters. The merged "
             "filter has the capacity of the first one. If the keys do not fit, grow every filter "
             "first (besom grow).",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 3,
    .most_words = SIZE_MAX,
    .examples = "  besom build new.besom --like old.besom --yes new.txt\n"
                "  besom merge all.besom old.besom new.besom",
};

static void print_result(const char *path, const besom_filter *f) {
  uint64_t keys = filter_stats(f).keys;
  json j = {0};
  if (!given_json) {
    fprintf(stderr, "%s: %s%llu keys\n", path, filter_counts_keys(f) ? "" : "at least ",
            (unsigned long long)keys);
    return;
  }
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_count(&j, "keys", keys);
  json_flag(&j, "keys_exact", filter_counts_keys(f));
  json_close(&j);
}

static int merge(words args) {
  besom_filter *all = filter_load(args.at[1]);
  for (size_t i = 2; i < args.n; i++) {
    besom_filter *next = filter_open(args.at[i]), *both = NULL;
    besom_status status = besom_merge(all, next, &both);
    if (status == BESOM_INCOMPATIBLE)
      fail("%s and %s differ in kind, hash, seed or size. Build the second one with: "
           "besom build --max-change any --like %s",
           args.at[1], args.at[i], args.at[1]);
    if (status == BESOM_FULL)
      fail("%s: the merged filter is too small for its keys. Grow every filter first: besom grow",
           args.at[i]);
    if (status == BESOM_RESERVE_FULL)
      fail("%s: the reserve of the merged filter is too small for the adaptations of all filters. "
           "Grow every filter first, which enlarges the reserve: besom grow",
           args.at[i]);
    check(status, "merging %s", args.at[i]);
    besom_free(all);
    besom_free(next);
    all = both;
  }
  filter_save(all, args.at[0]);
  print_result(args.at[0], all);
  besom_free(all);
  return 0;
}

const verb merge_verb = {"merge", "merge filters into one", &merge_command, merge};
