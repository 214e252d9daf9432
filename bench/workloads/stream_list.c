#include "workloads/stream_list.h"

#include <math.h>

uint64_t stream_list_key(const stream_list *l, uint64_t i) {
  uint64_t key;
  l->keys.generate(&l->keys, l->first + i, 1, &key);
  return key;
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  stream_list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  l->key = besom_u64(stream_list_key(l, l->at++));
  *key = (besom_bytes){l->key.bytes, sizeof l->key.bytes};
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  stream_list *l = ctx;
  l->at = 0;
  return BESOM_OK;
}

void stream_list_open(stream_list *l, key_stream keys, uint64_t first, uint64_t n) {
  *l = (stream_list){.keys = keys, .first = first, .n = n};
  l->source = (besom_source){.next = next_key, .rewind = rewind_keys, .size_hint = n, .ctx = l};
}

uint64_t stream_list_count_yes(const besom_filter *f, const stream_list *l) {
  uint64_t yes = 0;
  for (uint64_t i = 0; i < l->n; i++) yes += besom_contains_u64(f, stream_list_key(l, i));
  return yes;
}

double least_list_bits(double yes, double no, double rate) {
  return yes * log2(fmax(1 / rate, no / yes)) + log2(exp(1)) * fmin(rate * no, yes);
}

double least_closed_list_bits(double yes, double no) {
  return (lgamma(yes + no + 1) - lgamma(yes + 1) - lgamma(no + 1)) / log(2);
}
