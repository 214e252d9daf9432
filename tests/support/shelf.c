#include "support/shelf.h"

#include <stdlib.h>

#include "support/heap.h"

static bool may_answer(shelf *s) {
  return ++s->calls != s->fail_at;
}

static besom_status digest_of(void *ctx, const besom_filter *f, besom_match match,
                              besom_digest *digest) {
  shelf *s = ctx;
  s->reads++;
  if (f != s->f || match.rank || match.bucket >= s->slots || !s->taken[match.bucket])
    s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  if (!may_answer(s)) return BESOM_IO;
  *digest = s->digests[match.bucket];
  return BESOM_OK;
}

static besom_status exchange(void *ctx, const besom_filter *f, besom_match a, besom_match b) {
  shelf *s = ctx;
  if (f != s->f || a.rank || b.rank || a.bucket >= s->slots || b.bucket >= s->slots)
    s->wrong = true;
  if (s->wrong || !(s->taken[a.bucket] || s->taken[b.bucket])) s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  if (!may_answer(s)) return BESOM_IO;
  s->moves += (uint64_t)s->taken[a.bucket] + s->taken[b.bucket];
  besom_digest digest = s->digests[a.bucket];
  bool taken = s->taken[a.bucket];
  s->digests[a.bucket] = s->digests[b.bucket];
  s->taken[a.bucket] = s->taken[b.bucket];
  s->digests[b.bucket] = digest;
  s->taken[b.bucket] = taken;
  return BESOM_OK;
}

besom_status shelf_rebind(shelf *s, besom_filter *f) {
  s->f = f;
  return besom_bind(f, &(besom_reverse){.digest_of = digest_of, .ctx = s, .exchange = exchange});
}

besom_status shelf_open(shelf *s, besom_filter *f) {
  besom_statistics stats;
  besom_status status = besom_stats(f, &stats);
  if (status != BESOM_OK) return status;
  *s = (shelf){.slots = (size_t)stats.slots};
  s->digests = heap_array(s->slots, sizeof *s->digests);
  s->taken = heap_array(s->slots, sizeof *s->taken);
  return shelf_rebind(s, f);
}

void shelf_close(shelf *s) {
  besom_bind(s->f, NULL);
  free(s->digests);
  free(s->taken);
}

besom_status shelf_insert(shelf *s, besom_digest d, besom_match *match) {
  besom_status status = besom_insert_at(s->f, d, 0, match);
  if (status != BESOM_OK) return status;
  if (match->rank || match->bucket >= s->slots || s->taken[match->bucket]) s->wrong = true;
  if (s->wrong) return BESOM_NOT_FOUND;
  s->digests[match->bucket] = d;
  s->taken[match->bucket] = true;
  s->n++;
  return BESOM_OK;
}

besom_status shelf_remove(shelf *s, besom_match match) {
  besom_status status = besom_remove_at(s->f, match);
  if (status != BESOM_OK) return status;
  s->taken[match.bucket] = false;
  s->n--;
  return BESOM_OK;
}
