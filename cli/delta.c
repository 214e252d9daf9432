/* besom delta, apply: updates of a list, as small as the change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "verb.h"

static const command delta_command = {
    .usage = "delta OLD NEW PATCH",
    .about = "Writes to the file PATCH what besom apply needs to make NEW of OLD. It is small if "
             "both were built alike:\n"
             "besom build --like OLD, or with one --seed and one --capacity.",
    .least_words = 3,
    .most_words = 3,
    .more = "  besom build new.besom --like old.besom --yes new.txt\n"
            "  besom delta old.besom new.besom patch\n"
            "  besom apply old.besom patch new.besom",
};

static const command apply_command = {
    .usage = "apply OLD PATCH OUT",
    .about = "Makes the filter that the patch was made for, from the one that it was made from. A "
             "patch for another\n"
             "filter is refused.",
    .least_words = 3,
    .most_words = 3,
};

static besom_status write_out(void *ctx, const void *data, size_t len) {
  file_bytes *bytes = ctx;
  bytes->data = realloc(bytes->data, bytes->len + len);
  if (!bytes->data) return BESOM_NO_MEMORY;
  memcpy(bytes->data + bytes->len, data, len);
  bytes->len += len;
  return BESOM_OK;
}

static int delta(words words) {
  besom_filter *old = filter_open(words.at[0]), *fresh = filter_open(words.at[1]);
  file_bytes patch = {NULL, 0};
  besom_sink sink = {.write = write_out, .ctx = &patch};
  check(besom_diff(old, fresh, &sink), "the difference of %s and %s", words.at[0], words.at[1]);
  file_write(words.at[2], &patch);
  fprintf(stderr, "%s: %zu bytes, %.2f %% of the filter\n", words.at[2], patch.len,
          100.0 * (double)patch.len / (double)filter_stats(fresh).bytes);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

static int apply(words words) {
  besom_filter *old = filter_open(words.at[0]), *fresh = NULL;
  file_bytes patch = file_read(words.at[1]);
  besom_status status = besom_patch(old, patch.data, patch.len, &fresh);
  if (status == BESOM_INCOMPATIBLE)
    fail("%s: a patch for another filter than %s", words.at[1], words.at[0]);
  if (status == BESOM_CORRUPT) fail("%s: not a patch, or damaged", words.at[1]);
  check(status, "%s", words.at[1]);
  filter_save(fresh, words.at[2]);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

const verb delta_verb = {"delta", "write what makes one filter of another", &delta_command, delta};
const verb apply_verb = {"apply", "make the new filter from the old one and a delta",
                         &apply_command, apply};
