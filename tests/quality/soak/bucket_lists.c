#include "bucket_lists.h"

#include <stdlib.h>

#include "support/heap.h"
#include "support/keys.h"

void bucket_lists_open(bucket_lists *l, size_t expected) {
  *l = (bucket_lists){.unused = NO_NODE, .bits = 6};
  while (((size_t)1 << l->bits) < expected) l->bits++;
  l->heads = heap_array((size_t)1 << l->bits, sizeof *l->heads);
  bucket_lists_clear(l);
}

void bucket_lists_close(bucket_lists *l) {
  free(l->nodes);
  free(l->heads);
  *l = (bucket_lists){.unused = NO_NODE};
}

void bucket_lists_clear(bucket_lists *l) {
  for (size_t i = 0; i >> l->bits == 0; i++) l->heads[i] = NO_NODE;
  l->used = l->n = 0;
  l->unused = NO_NODE;
}

static uint32_t *head_of(const bucket_lists *l, uint64_t bucket) {
  return &l->heads[mix64(bucket) >> (64 - l->bits)];
}

static uint32_t new_node(bucket_lists *l) {
  if (l->unused != NO_NODE) {
    uint32_t node = l->unused;
    l->unused = l->nodes[node].next;
    return node;
  }
  if (l->used == l->room) {
    l->room = l->room ? 2 * l->room : 64;
    l->nodes = heap_resize(l->nodes, l->room * sizeof *l->nodes);
  }
  return (uint32_t)l->used++;
}

uint32_t bucket_append(bucket_lists *l, uint64_t bucket, uint32_t number) {
  uint32_t node = new_node(l), rank = 0, *link = head_of(l, bucket);
  for (; *link != NO_NODE; link = &l->nodes[*link].next) rank += l->nodes[*link].bucket == bucket;
  l->nodes[node] = (bucket_node){bucket, number, NO_NODE, 0};
  *link = node;
  l->n++;
  return rank;
}

/* The link to the node, or to the end of the list. */
static uint32_t *find(const bucket_lists *l, uint64_t bucket, uint32_t rank) {
  uint32_t *link = head_of(l, bucket);
  for (; *link != NO_NODE; link = &l->nodes[*link].next)
    if (l->nodes[*link].bucket == bucket && rank-- == 0) break;
  return link;
}

bool bucket_get(const bucket_lists *l, uint64_t bucket, uint32_t rank, uint32_t *number) {
  uint32_t node = *find(l, bucket, rank);
  if (node != NO_NODE) *number = l->nodes[node].number;
  return node != NO_NODE;
}

bucket_node *bucket_find(const bucket_lists *l, uint64_t bucket, uint32_t rank) {
  uint32_t node = *find(l, bucket, rank);
  return node == NO_NODE ? NULL : &l->nodes[node];
}

bool bucket_take(bucket_lists *l, uint64_t bucket, uint32_t rank, uint32_t *number) {
  uint32_t *link = find(l, bucket, rank), node = *link;
  if (node == NO_NODE) return false;
  *number = l->nodes[node].number;
  *link = l->nodes[node].next;
  l->nodes[node].next = l->unused;
  l->unused = node;
  l->n--;
  return true;
}
