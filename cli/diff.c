/* besom diff, patch: ship an update of a filter as the difference to its predecessor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "verb.h"

static const command diff_command = {
    .usage = "diff OLD NEW PATCH",
    .about = "Writes the difference between two filters to the file PATCH; besom patch makes NEW "
             "from OLD and PATCH. The patch is small if both filters have the same seed and size: "
             "build NEW with --like OLD, or both with the same --seed and --capacity.",
    .least_words = 3,
    .most_words = 3,
    .examples = "  besom build new.besom --like old.besom --yes new.txt\n"
                "  besom diff old.besom new.besom patch\n"
                "  besom patch old.besom patch new.besom",
};

static const command patch_command = {
    .usage = "patch OLD PATCH OUT",
    .about = "Applies a patch of besom diff to the filter OLD and writes the new filter to OUT. "
             "Fails if the patch was made for another filter than OLD.",
    .least_words = 3,
    .most_words = 3,
    .examples = "  besom patch old.besom patch new.besom",
};

static besom_status append(void *ctx, const void *data, size_t len) {
  file_bytes *bytes = ctx;
  uint8_t *longer = realloc(bytes->data, bytes->len + len);
  if (!longer) return BESOM_NO_MEMORY;
  memcpy(longer + bytes->len, data, len);
  bytes->data = longer;
  bytes->len += len;
  return BESOM_OK;
}

static int diff(words args) {
  besom_filter *old = filter_open(args.at[0]), *fresh = filter_open(args.at[1]);
  file_bytes patch = {NULL, 0};
  besom_sink sink = {.write = append, .ctx = &patch};
  check(besom_diff(old, fresh, &sink), "the difference between %s and %s", args.at[0], args.at[1]);
  file_write(args.at[2], &patch);
  fprintf(stderr, "%s: %zu bytes, %.2f %% of the filter\n", args.at[2], patch.len,
          100.0 * (double)patch.len / (double)filter_stats(fresh).bytes);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

static int patch(words args) {
  besom_filter *old = filter_open(args.at[0]), *fresh = NULL;
  file_bytes patch = file_read(args.at[1]);
  besom_status status = besom_patch(old, patch.data, patch.len, &fresh);
  if (status == BESOM_INCOMPATIBLE)
    fail("%s: this patch was made for another filter than %s", args.at[1], args.at[0]);
  if (status == BESOM_CORRUPT)
    fail("%s: not a patch, or damaged. besom diff makes patches", args.at[1]);
  check(status, "%s", args.at[1]);
  filter_save(fresh, args.at[2]);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

const verb diff_verb = {"diff", "write the difference between two filters", &diff_command, diff};
const verb patch_verb = {"patch", "make the new filter from the old one and a diff", &patch_command,
                         patch};
