/*
 * acf-cyclic with bucket_slots=4: the adaptive cuckoo filter that the AQF paper compares with
 * (section 6.2). A key has two buckets of four slots. A selector of four bits per bucket is the
 * number of the fingerprint function of its slots; adapting takes the next function, cyclically,
 * and so computes all four fingerprints anew.
 */
#include "papers/adaptive_cuckoo/acf.h"

enum { FUNCTIONS = 16 };

static unsigned acf_buckets_function(const struct acf *a, uint64_t slot, uint64_t entry) {
  (void)entry;
  return bucket_selector(a, slot / MAX_BUCKET_SLOTS);
}

/* The keys of a bucket. */
struct bucket_keys {
  besom_digest digests[MAX_BUCKET_SLOTS];
  bool used[MAX_BUCKET_SLOTS];
};

static besom_status read_keys_of_bucket(const struct acf *a, uint64_t first,
                                        struct bucket_keys *keys) {
  *keys = (struct bucket_keys){0};
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++) {
    if (!slot_get(&a->table, first + i)) continue;
    besom_status status = besom__acf_stored(a, first + i, &keys->digests[i]);
    if (status != BESOM_OK) return status;
    keys->used[i] = true;
  }
  return BESOM_OK;
}

static bool has_match(const struct acf *a, const struct bucket_keys *keys, besom_digest d,
                      unsigned function) {
  bool found = false;
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++)
    found |= keys->used[i] && acf_entry(a, keys->digests[i], function) == acf_entry(a, d, function);
  return found;
}

/* Reads all keys of the bucket before it changes anything. */
static besom_status acf_buckets_fix(struct acf *a, besom_digest offender, uint64_t slot,
                                    besom_digest stored) {
  (void)stored;
  uint64_t bucket = slot / MAX_BUCKET_SLOTS, first = bucket * MAX_BUCKET_SLOTS;
  struct bucket_keys keys;
  besom_status status = read_keys_of_bucket(a, first, &keys);
  if (status != BESOM_OK) return status;
  unsigned now = bucket_selector(a, bucket), next = (now + 1) % FUNCTIONS;
  while (next != now && has_match(a, &keys, offender, next)) next = (next + 1) % FUNCTIONS;
  if (next == now) return BESOM_FULL;
  set_bucket_selector(a, bucket, next);
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS; i++)
    if (keys.used[i]) slot_set(&a->table, first + i, acf_entry(a, keys.digests[i], next));
  return BESOM_OK;
}

const struct acf_policy besom__acf_buckets = {
    .layout = {.buckets_per_key = 2,
               .slots_per_bucket = MAX_BUCKET_SLOTS,
               .min_width = 4,
               .max_width = 32,
               .bucket_selector = 4},
    .function = acf_buckets_function,
    .fix = acf_buckets_fix,
};
