#include "map/pair_list.h"

#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "config_text.h"
#include "fail.h"
#include "seed.h"

enum { PARTS = 256, FIRST_ROOM = 64 };

/* A pair, without padding. */
struct pair {
  uint32_t words[5]; /* the digest, the upper words first; the value */
};

/* The pairs whose digest begins with one byte. */
struct part {
  struct pair *at;
  size_t n, room;
};

struct pair_list {
  besom_config config;
  uint8_t seed[SEED_BYTES];
  besom_filter *hash; /* used only for its hash */
  struct part parts[PARTS];
  uint64_t count;
};

/* 16 bytes that nobody knows: the digest of a filter whose seed the library drew. */
static void draw_seed(uint8_t seed[SEED_BYTES]) {
  besom_config small = {.kind = "qf", .hash = "sip", .capacity = 1};
  besom_filter *f;
  check(besom_create(&small, &f), "drawing a seed");
  besom_digest d = besom_hash(f, "seed", 4);
  memcpy(seed, &d, SEED_BYTES);
  besom_free(f);
}

pair_list *pair_list_create(const besom_config *config) {
  pair_list *list = allocate(1, sizeof *list);
  list->config = *config;
  if (config->seed)
    memcpy(list->seed, config->seed, SEED_BYTES);
  else
    draw_seed(list->seed);
  list->config.seed = list->seed;
  besom_config small = {.kind = "qf", .hash = config->hash, .seed = list->seed, .capacity = 1};
  check(besom_create(&small, &list->hash), "hashing pairs");
  return list;
}

void pair_list_free(pair_list *list) {
  besom_free(list->hash);
  for (size_t p = 0; p < PARTS; p++) free(list->parts[p].at);
  free(list);
}

void pair_list_add(pair_list *list, besom_bytes key, uint32_t value) {
  besom_digest d = besom_hash(list->hash, key.data, key.len);
  struct part *part = &list->parts[d.hi >> 56];
  if (part->n == part->room) {
    part->room += part->room / 4 + FIRST_ROOM;
    part->at = reallocate(part->at, part->room, sizeof *part->at);
  }
  part->at[part->n++] = (struct pair){
      {(uint32_t)(d.hi >> 32), (uint32_t)d.hi, (uint32_t)(d.lo >> 32), (uint32_t)d.lo, value}};
  list->count++;
}

uint64_t pair_list_count(const pair_list *list) {
  return list->count;
}

static int compare_pairs(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  for (size_t i = 0; i < 5; i++)
    if (x->words[i] != y->words[i]) return x->words[i] < y->words[i] ? -1 : 1;
  return 0;
}

/* In ascending order, so that inserts go through the table from its beginning to its end. */
static void sort_part(struct part *part) {
  size_t kept = 0;
  if (part->n) qsort(part->at, part->n, sizeof *part->at, compare_pairs);
  for (size_t i = 0; i < part->n; i++)
    if (!kept || compare_pairs(&part->at[kept - 1], &part->at[i]) != 0)
      part->at[kept++] = part->at[i];
  part->n = kept;
}

static void insert_part(besom_filter *f, struct part *part) {
  for (size_t i = 0; i < part->n; i++) {
    const uint32_t *w = part->at[i].words;
    besom_digest d = {(uint64_t)w[0] << 32 | w[1], (uint64_t)w[2] << 32 | w[3]};
    check(besom_insert_value_digest(f, d, w[4]), "inserting a pair");
  }
  free(part->at);
  *part = (struct part){NULL, 0, 0};
}

besom_filter *pair_list_build(pair_list *list, uint32_t value_bits, uint64_t capacity) {
  static const option_name names[] = {
      {"fpr", "--fpr"}, {"capacity", "--capacity"}, {"max_capacity", "--max-capacity"}};
  char text[CONFIG_TEXT_SIZE];
  besom_config config = list->config;
  besom_filter *f;
  uint64_t count = 0, done = 0;
  for (size_t p = 0; p < PARTS; count += list->parts[p++].n) {
    bar_tick(p, PARTS);
    sort_part(&list->parts[p]);
  }
  config.value_bits = value_bits;
  config.capacity = count > capacity ? count : capacity;
  if (!config.capacity) config.capacity = 1;
  if (config.max_capacity < config.capacity) config.max_capacity = 0;
  besom_status status = config_text(&config, names, sizeof names / sizeof *names, text);
  if (status == BESOM_INVALID || status == BESOM_BAD_OPTION) usage_error("%s", text);
  check(besom_create(&config, &f), "making the map");
  for (size_t p = 0; p < PARTS; p++) {
    done += list->parts[p].n;
    insert_part(f, &list->parts[p]);
    bar_tick(done, count);
  }
  list->count = 0;
  return f;
}
