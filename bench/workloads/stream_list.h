/*
 * Lists of keys from a stream, as sources for besom_build; and the least sizes of filters that are
 * exact on two lists.
 */
#ifndef BENCH_WORKLOADS_STREAM_LIST_H
#define BENCH_WORKLOADS_STREAM_LIST_H

#include "besom.h"
#include "workloads/key_stream.h"

/* n keys of a stream, from number `first` on. */
typedef struct stream_list {
  besom_source source; /* ends where it was opened: do not copy the struct */
  key_stream keys;
  uint64_t first, n, at;
  besom_u64_key key;
} stream_list;

void stream_list_open(stream_list *l, key_stream keys, uint64_t first, uint64_t n);
uint64_t stream_list_key(const stream_list *l, uint64_t i);

/* How many keys of the list the filter answers yes. */
uint64_t stream_list_count_yes(const besom_filter *f, const stream_list *l);

/*
 * Theorem 7 of the AQF paper: the least bits of any static filter that is exact on both lists and
 * answers yes to other keys at this rate, up to a constant.
 */
double least_list_bits(double yes, double no, double rate);

/* The least bits that tell which keys of both lists are on the yes list. */
double least_closed_list_bits(double yes, double no);

#endif
