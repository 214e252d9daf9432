#include "publish/shard_build.h"

#include <math.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "kinds.h"
#include "lists/keys.h"

/* A shard that can change in place has this much more room than keys. */
#define HEADROOM 0.01

/* No reports are published, and clients keep theirs elsewhere. */
#define SHARD_RESERVE 0.001

/* A static shard is built anew when its updates make it so much larger. The limit differs from
 * shard to shard. */
#define LEAST_GROWTH 0.04
#define MOST_GROWTH 0.08
#define ALLOWED_BYTES 16384

enum { MERGED_UPDATES = 8, INSERTED_AT_ONCE = 4096 };

static bool shard_is_static(const char *kind) {
  return strcmp(kind, "updated") == 0 || strcmp(kind, "ribbon") == 0 || strcmp(kind, "fuse") == 0;
}

void shard_form_check(const shard_form *form) {
  const besom_kind_info *info = kind_named(form->kind);
  if (!info) usage_error("--kind: unknown kind '%s'; besom kinds lists them", form->kind);
  if (!shard_is_static(form->kind) && !(info->abilities & BESOM_CAN_INSERT))
    usage_error("--kind: shards cannot be of kind %s; use updated, aqf, or another kind that "
                "inserts",
                form->kind);
}

besom_filter *shard_hasher(const shard_form *form) {
  besom_config config = {.kind = "bloom", .capacity = 1, .seed = form->seed};
  besom_filter *f = NULL;
  check(besom_create(&config, &f), "the hash of the keys");
  return f;
}

/* ------------------------------------------------------------------ building anew */

/* For kinds that do not take digests in ascending order. */
static besom_status insert_digests(const besom_config *config, const digest_list *keys,
                                   besom_filter **out) {
  besom_status status = besom_create(config, out);
  for (size_t at = 0; at < keys->n && status == BESOM_OK; at += INSERTED_AT_ONCE) {
    size_t some = keys->n - at < INSERTED_AT_ONCE ? keys->n - at : INSERTED_AT_ONCE;
    status = besom_insert_many_digest(*out, keys->at + at, some, NULL);
  }
  return status;
}

besom_filter *shard_build(const shard_form *form, const digest_list *keys) {
  besom_config config = {.kind = strcmp(form->kind, "updated") == 0 ? "ribbon" : form->kind,
                         .capacity = keys->n ? keys->n : 1,
                         .fpr = form->fpr,
                         .seed = form->seed};
  if (!shard_is_static(form->kind)) {
    config.capacity += (uint64_t)ceil(HEADROOM * (double)keys->n) + 16;
    config.reserve = SHARD_RESERVE;
  }
  digest_cursor cursor = {keys, 0};
  besom_digest_source source = digest_list_source(&cursor);
  besom_input input = {.digests = &source};
  besom_filter *f = NULL;
  besom_status status = besom_build(&config, &input, &f);
  if (status == BESOM_UNSUPPORTED) status = insert_digests(&config, keys, &f);
  check(status, "building a shard of kind %s", config.kind);
  return f;
}

/* ------------------------------------------------------------------ changing */

static const besom_filter *shard_base(const besom_filter *f) {
  return strcmp(filter_stats(f).kind, "updated") == 0 ? besom_layer(f, 0) : f;
}

/* Whether a new filter would be that much smaller. Its size is that of the first one, in proportion
 * to the keys. */
static bool has_grown(const besom_filter *old, const besom_filter *f, size_t keys, double lag) {
  const besom_filter *base = shard_base(old);
  double built_from = (double)filter_stats(base).keys;
  double fresh = built_from ? (double)filter_saved_bytes(base) * (double)keys / built_from : 0;
  double limit = 1 + LEAST_GROWTH + (MOST_GROWTH - LEAST_GROWTH) * lag;
  return (double)filter_saved_bytes(f) > limit * fresh + ALLOWED_BYTES;
}

static besom_status update_merging(const besom_filter *old, const digest_list *keys,
                                   const digest_list *gone, uint64_t merged, besom_filter **out) {
  digest_cursor cursor = {keys, 0}, gone_cursor = {gone, 0};
  besom_digest_source source = digest_list_source(&cursor),
                      gone_source = digest_list_source(&gone_cursor);
  besom_input input = {
      .digests = &source, .update = old, .was_digests = &gone_source, .merge_updates = merged};
  return besom_build(NULL, &input, out);
}

static besom_filter *shard_update(const besom_filter *old, const digest_list *keys,
                                  const digest_list *gone, double lag) {
  besom_filter *f = NULL;
  besom_status status = update_merging(old, keys, gone, 0, &f);
  if (status == BESOM_FULL) status = update_merging(old, keys, gone, MERGED_UPDATES, &f);
  if (status == BESOM_FULL) return NULL;
  check(status, "updating a shard");
  if (!has_grown(old, f, keys->n, lag)) return f;
  besom_free(f);
  return NULL;
}

static besom_filter *shard_like(const besom_filter *old, const digest_list *keys) {
  digest_cursor cursor = {keys, 0};
  besom_digest_source source = digest_list_source(&cursor);
  besom_input input = {.digests = &source, .like = old};
  besom_filter *f = NULL;
  besom_status status = besom_build(NULL, &input, &f);
  if (status == BESOM_FULL || status == BESOM_UNSUPPORTED) return NULL;
  check(status, "changing a shard");
  return f;
}

besom_filter *shard_change(const shard_form *form, const besom_filter *old, const digest_list *keys,
                           const digest_list *gone, double lag) {
  if (shard_is_static(form->kind)) return shard_update(old, keys, gone, lag);
  /* A filter with half of its keys is twice as large as need be. */
  return 2 * keys->n + 16 < filter_stats(old).capacity ? NULL : shard_like(old, keys);
}
