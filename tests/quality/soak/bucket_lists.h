/*
 * bucket_lists.h - lists of numbers by bucket, each in the order in which it was filled: the store
 * of a bound filter, as arrays. The rank of a number is its position in the list of its bucket.
 */
#ifndef BESOM_SOAK_BUCKET_LISTS_H
#define BESOM_SOAK_BUCKET_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bucket_node {
  uint64_t bucket;
  uint32_t number, next; /* next: the index of a node, or NO_NODE */
  uint32_t value;        /* 0 until it is set */
} bucket_node;

enum { NO_NODE = UINT32_MAX };

typedef struct bucket_lists {
  bucket_node *nodes;
  size_t used, room; /* of nodes */
  uint32_t unused;   /* the first of a list of nodes that were taken out */
  uint32_t *heads;   /* lists of several buckets, by a hash */
  unsigned bits;     /* log2 of the number of heads */
  size_t n;          /* numbers in all lists */
} bucket_lists;

void bucket_lists_open(bucket_lists *l, size_t expected);
void bucket_lists_close(bucket_lists *l);
void bucket_lists_clear(bucket_lists *l);

/* Appends to the list of a bucket, and returns the rank. */
uint32_t bucket_append(bucket_lists *l, uint64_t bucket, uint32_t number);

/* The number with that rank; false if there is none. take also takes it out. */
bool bucket_get(const bucket_lists *l, uint64_t bucket, uint32_t rank, uint32_t *number);
bool bucket_take(bucket_lists *l, uint64_t bucket, uint32_t rank, uint32_t *number);

/* The node with that rank, until the lists change; NULL if there is none. */
bucket_node *bucket_find(const bucket_lists *l, uint64_t bucket, uint32_t rank);

#endif
