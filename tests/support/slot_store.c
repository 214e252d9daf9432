#include "support/slot_store.h"

#include <stdlib.h>

#include "support/heap.h"

static bool may_answer(slot_store *s) {
  return ++s->calls != s->fail_at;
}

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  slot_store *s = ctx;
  s->reads++;
  if (f != s->f || match->rank || match->bucket >= s->slots || !s->taken[match->bucket])
    s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  if (!may_answer(s)) return BESOM_IO;
  *digest = s->digests[match->bucket];
  return BESOM_OK;
}

static besom_status exchange(void *ctx, const besom_filter *f, const besom_match *a,
                             const besom_match *b) {
  slot_store *s = ctx;
  if (f != s->f || a->rank || b->rank || a->bucket >= s->slots || b->bucket >= s->slots)
    s->wrong = true;
  if (s->wrong || !(s->taken[a->bucket] || s->taken[b->bucket])) s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  if (!may_answer(s)) return BESOM_IO;
  s->moves += (uint64_t)s->taken[a->bucket] + s->taken[b->bucket];
  besom_digest digest = s->digests[a->bucket];
  bool taken = s->taken[a->bucket];
  s->digests[a->bucket] = s->digests[b->bucket];
  s->taken[a->bucket] = s->taken[b->bucket];
  s->digests[b->bucket] = digest;
  s->taken[b->bucket] = taken;
  return BESOM_OK;
}

besom_status slot_store_rebind(slot_store *s, besom_filter *f) {
  s->f = f;
  return besom_bind(f, &(besom_reverse){.digest_of = digest_of, .ctx = s, .exchange = exchange});
}

besom_status slot_store_open(slot_store *s, besom_filter *f) {
  besom_statistics stats;
  besom_status status = besom_stats(f, &stats);
  if (status != BESOM_OK) return status;
  *s = (slot_store){.slots = (size_t)stats.slots};
  s->digests = heap_array(s->slots, sizeof *s->digests);
  s->taken = heap_array(s->slots, sizeof *s->taken);
  return slot_store_rebind(s, f);
}

void slot_store_close(slot_store *s) {
  besom_bind(s->f, NULL);
  free(s->digests);
  free(s->taken);
}

besom_status slot_store_insert(slot_store *s, besom_digest d, besom_match *match) {
  besom_status status = besom_insert_at(s->f, d, 0, match);
  if (status != BESOM_OK) return status;
  if (match->rank || match->bucket >= s->slots || s->taken[match->bucket]) s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  s->digests[match->bucket] = d;
  s->taken[match->bucket] = true;
  s->n++;
  return BESOM_OK;
}

besom_status slot_store_remove(slot_store *s, besom_match match) {
  besom_status status = besom_remove_at(s->f, &match);
  if (status != BESOM_OK) return status;
  s->taken[match.bucket] = false;
  s->n--;
  return BESOM_OK;
}
