/*
 * build_like of cf and vacuum: keys that the model may hold get the slots that it has for them, so
 * that the diff of both filters is as small as the change of the set. A fingerprint has up to 8
 * slots, and which one it gets depends on all other keys: a table that is filled anew differs from
 * the model in most buckets.
 */
#include "core/system/memory.h"
#include "cuckoo/partial_key.h"

/* A slot of the bucket that has this fingerprint in the model and is empty in f. */
static uint64_t free_slot_as_in(const struct partial_key *model, const struct partial_key *f,
                                uint64_t bucket, uint64_t fingerprint) {
  uint64_t first = bucket * MAX_BUCKET_SLOTS;
  for (uint64_t slot = first; slot < first + MAX_BUCKET_SLOTS; slot++)
    if (slot_get(&model->table, slot) == fingerprint && !slot_get(&f->table, slot)) return slot;
  return NO_SLOT;
}

static bool put_as_in(const struct partial_key *model, besom_filter *f, besom_digest d) {
  struct partial_key *p = partial_key(f);
  uint64_t fingerprint = fingerprint_of(p, d), bucket = home_bucket(p, d);
  uint64_t slot = free_slot_as_in(model, p, bucket, fingerprint);
  if (slot == NO_SLOT)
    slot = free_slot_as_in(model, p, p->policy->alternate(p, bucket, fingerprint), fingerprint);
  if (slot == NO_SLOT) return false;
  slot_set(&p->table, slot, fingerprint);
  f->items++;
  return true;
}

/* Keeps only the digests that were not put, in their order. */
static void put_all_as_in(const struct partial_key *model, besom_filter *f, struct digests *all) {
  uint64_t left = 0;
  for (uint64_t i = 0; i < all->n; i++)
    if (!put_as_in(model, f, all->at[i])) all->at[left++] = all->at[i];
  all->n = left;
}

besom_status besom__partial_key_build_like(besom_filter *f, const besom_filter *model,
                                           const besom_source *yes, const besom_source *no,
                                           const besom_progress *progress) {
  struct digests all;
  size_t done;
  if (no) return BESOM_UNSUPPORTED;
  f->capacity = model->capacity;
  besom_status status = besom__partial_key_create_like(f, model);
  if (status != BESOM_OK) return status;
  status = besom__collect(f, yes, f->capacity, progress, &all);
  if (status == BESOM_OK) {
    besom__digests_unite(&all);
    put_all_as_in(const_partial_key(model), f, &all);
    status = besom__partial_key_insert_many(f, all.at, (size_t)all.n, &done);
    besom__digests_free(f, &all);
  }
  if (status != BESOM_OK) besom__partial_key_destroy(f);
  return status;
}
