#include "workloads/sorted_digests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "random.h"

/*
 * No sorting is needed: if m digests are left above the last one, a part of the range above it
 * holds none of them with probability (1 - part)^m.
 */
besom_digest sorted_digests_next(sorted_digests *s) {
  double uniform = random_unit(random_at(s->seed, 2 * s->given));
  s->log_above += log(uniform) / (double)(s->n - s->given);
  double share = -expm1(s->log_above);
  uint64_t hi = (uint64_t)(share * 0x1p63) * 2; /* 2^64 itself would not fit */
  s->last = hi > s->last ? hi : s->last + 1;
  return (besom_digest){.hi = s->last, .lo = random_at(s->seed, 2 * s->given++ + 1)};
}

digest_array digest_array_create(size_t count) {
  return (digest_array){.digests = allocate(count, sizeof(besom_digest)), .count = count};
}

void digest_array_free(digest_array *a) {
  free(a->digests);
  *a = (digest_array){0};
}

static int compare(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return (x->lo > y->lo) - (x->lo < y->lo);
}

void digest_array_sort(digest_array *a) {
  qsort(a->digests, a->count, sizeof *a->digests, compare);
}

static besom_status next_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_array *a = ctx;
  size_t left = a->count - a->given;
  if (left == 0) return BESOM_END;
  *n = left < cap ? left : cap;
  memcpy(out, a->digests + a->given, *n * sizeof *out);
  a->given += *n;
  return BESOM_OK;
}

besom_digest_source digest_array_source(digest_array *a) {
  a->given = 0;
  return (besom_digest_source){.next = next_digests, .size_hint = a->count, .ctx = a};
}
