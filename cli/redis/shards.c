#include "redis/shards.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "fail.h"

/* A command has at most this many keys, so that it does not occupy the server for long. */
enum { KEYS_PER_COMMAND = 1000 };

uint64_t shard_hash(besom_bytes key) {
  return XXH3_64bits(key.data, key.len);
}

uint32_t shard_of(uint64_t hash, uint32_t shards) {
  return (uint32_t)((unsigned __int128)hash * shards >> 64);
}

sharded_filter shards_init(const char *name, uint64_t shards) {
  sharded_filter f = {.name = name, .shards = (uint32_t)shards};
  if (!shards)
    usage_error("--shards is required: the number of shards is fixed when the filter is made");
  if (strpbrk(name, "{}"))
    usage_error("'%s': a name with braces has a hash tag, which would put all shards into one slot",
                name);
  if (!*name || strlen(name) > sizeof *f.keys - 8)
    usage_error("'%s': the name must have 1 to 248 bytes", name);
  f.keys = allocate(f.shards, sizeof *f.keys);
  for (uint32_t i = 0; i < f.shards; i++) snprintf(f.keys[i], sizeof f.keys[i], "%s:%u", name, i);
  return f;
}

void shards_free(sharded_filter *f) {
  if (f->cluster) cluster_close(f->cluster);
  free(f->keys);
}

static besom_bytes word(const char *text) {
  return (besom_bytes){text, strlen(text)};
}

/* ------------------------------------------------------------------ existence and creation */

static void check_module(const reply *r, const char *command) {
  if (reply_is_error(r, "ERR unknown command"))
    fail("the server does not know %s: load the module besom-redis.so", command);
}

/* Sends "command name" for each name. The replies are numbers. */
static void ask_numbers(const sharded_filter *f, const char *command, const char *const *names,
                        size_t n, long long *numbers) {
  request *requests = allocate(n, sizeof *requests);
  besom_bytes(*words)[2] = allocate(n, sizeof *words);
  for (size_t i = 0; i < n; i++) {
    words[i][0] = word(command);
    words[i][1] = word(names[i]);
    requests[i] = (request){.words = words[i], .n = 2};
  }
  cluster_run(f->cluster, requests, n);
  for (size_t i = 0; i < n; i++) {
    check_module(&requests[i].reply, command);
    if (requests[i].reply.type != REPLY_NUMBER)
      fail("%s: %s", names[i],
           requests[i].reply.type == REPLY_ERROR ? requests[i].reply.text : "not a number");
    numbers[i] = requests[i].reply.number;
    reply_clear(&requests[i].reply);
  }
  free(words);
  free(requests);
}

/* The first shard whose number is 0; `shards` if there is none. */
static uint32_t first_zero(const long long *numbers, uint32_t shards) {
  uint32_t i = 0;
  while (i < shards && numbers[i]) i++;
  return i;
}

/* Asks for all shards, and for the one after the last. Returns the first that is missing. Shard 0
 * is created last; *empty is set if it is missing and the others have no keys. */
static uint32_t find_missing(const sharded_filter *f, const char *next, bool *more, bool *empty) {
  const char **names = allocate(f->shards + 1, sizeof *names);
  long long *numbers = allocate(f->shards + 1, sizeof *numbers);
  for (uint32_t i = 0; i < f->shards; i++) names[i] = f->keys[i];
  names[f->shards] = next;
  ask_numbers(f, "EXISTS", names, f->shards + 1, numbers);
  *more = numbers[f->shards];
  uint32_t missing = first_zero(numbers, f->shards);
  if (missing == 0) ask_numbers(f, "AF.CARD", names, f->shards, numbers);
  *empty = true;
  for (uint32_t i = 0; i < f->shards; i++) *empty &= !numbers[i];
  free(names);
  free(numbers);
  return missing;
}

bool shards_exist(const sharded_filter *f) {
  char next[sizeof *f->keys + 16];
  bool more, empty;
  snprintf(next, sizeof next, "%s:%u", f->name, f->shards);
  uint32_t missing = find_missing(f, next, &more, &empty);
  if (more)
    fail("%s exists: the filter has more than %u shards. Give the number that it was made with",
         next, f->shards);
  if (missing < f->shards && !(missing == 0 && empty))
    fail("%s is missing: it was deleted or evicted, or the filter has another number of shards",
         f->keys[missing]);
  return missing == f->shards;
}

static void create_range(const sharded_filter *f, uint32_t from, uint32_t to, const char *fpr,
                         const char *capacity) {
  size_t n = to - from;
  request *requests = allocate(n, sizeof *requests);
  besom_bytes(*words)[4] = allocate(n, sizeof *words);
  for (size_t i = 0; i < n; i++) {
    words[i][0] = word("AF.RESERVE");
    words[i][1] = word(f->keys[from + i]);
    words[i][2] = word(fpr);
    words[i][3] = word(capacity);
    requests[i] = (request){.words = words[i], .n = 4};
  }
  cluster_run(f->cluster, requests, n);
  for (size_t i = 0; i < n; i++) {
    reply *r = &requests[i].reply;
    if (r->type == REPLY_ERROR && !strstr(r->text, "exists"))
      fail("%s: %s", f->keys[from + i], r->text);
    reply_clear(r);
  }
  free(words);
  free(requests);
}

/* The keys of a shard have a binomial distribution: four standard deviations above the mean. */
void shards_create(const sharded_filter *f, double fpr, uint64_t capacity) {
  double mean = (double)capacity / f->shards;
  char rate[32], size[32];
  snprintf(rate, sizeof rate, "%.17g", fpr);
  snprintf(size, sizeof size, "%.0f", ceil(mean + (f->shards > 1 ? 4 * sqrt(mean) : 0)));
  if (f->shards > 1) create_range(f, 1, f->shards, rate, size);
  create_range(f, 0, 1, rate, size);
}

/* ------------------------------------------------------------------ batches */

/* A batch in the order of its shards. */
struct plan {
  uint32_t *shard; /* of each key */
  uint32_t *order; /* indices of keys, sorted by shard */
  size_t *begin;   /* per shard: its first entry in `order`; and one more */
  request *requests;
  size_t *first; /* per request: its first entry in `order` */
  besom_bytes *words;
  size_t n;    /* requests */
  size_t head; /* words of a request before its keys */
};

/* A counting sort. */
static void sort_by_shard(const sharded_filter *f, struct plan *p, const besom_bytes *keys,
                          size_t n) {
  for (size_t i = 0; i < n; i++) {
    p->shard[i] = shard_of(shard_hash(keys[i]), f->shards);
    p->begin[p->shard[i] + 1]++;
  }
  for (uint32_t s = 0; s < f->shards; s++) p->begin[s + 1] += p->begin[s];
  size_t *next = allocate(f->shards, sizeof *next);
  memcpy(next, p->begin, f->shards * sizeof *next);
  for (size_t i = 0; i < n; i++) p->order[next[p->shard[i]]++] = (uint32_t)i;
  free(next);
}

static void add_request(struct plan *p, besom_bytes **at, const char *shard, const char *command,
                        const char *const *options, const besom_bytes *keys, size_t from,
                        size_t to) {
  besom_bytes *words = *at;
  *(*at)++ = word(command);
  *(*at)++ = word(shard);
  for (size_t i = 2; i < p->head; i++) *(*at)++ = word(options[i - 2]);
  for (size_t i = from; i < to; i++) *(*at)++ = keys[p->order[i]];
  p->first[p->n] = from;
  p->requests[p->n++] = (request){.words = words, .n = (size_t)(*at - words)};
}

static struct plan make_plan(const sharded_filter *f, const char *command,
                             const char *const *options, const besom_bytes *keys, size_t n) {
  size_t most = n / KEYS_PER_COMMAND + f->shards + 1;
  struct plan p = {.shard = allocate(n, sizeof *p.shard),
                   .order = allocate(n, sizeof *p.order),
                   .begin = allocate(f->shards + 1, sizeof *p.begin),
                   .requests = allocate(most, sizeof *p.requests),
                   .first = allocate(most, sizeof *p.first),
                   .words = allocate(n + most * (2 + MAX_OPTIONS), sizeof *p.words),
                   .head = 2};
  while (p.head < 2 + MAX_OPTIONS && options[p.head - 2]) p.head++;
  sort_by_shard(f, &p, keys, n);
  besom_bytes *at = p.words;
  for (uint32_t s = 0; s < f->shards; s++)
    for (size_t from = p.begin[s], to; from < p.begin[s + 1]; from = to) {
      to = p.begin[s + 1] - from > KEYS_PER_COMMAND ? from + KEYS_PER_COMMAND : p.begin[s + 1];
      add_request(&p, &at, f->keys[s], command, options, keys, from, to);
    }
  return p;
}

static void free_plan(struct plan *p) {
  for (size_t i = 0; i < p->n; i++) reply_clear(&p->requests[i].reply);
  free(p->shard);
  free(p->order);
  free(p->begin);
  free(p->requests);
  free(p->first);
  free(p->words);
}

static char error_text[1024];

/* Takes the outcomes from the reply of one request: an array with an element per key. */
static bool take_outcomes(const struct plan *p, size_t i, const char *command,
                          enum outcome *outcomes) {
  const request *r = &p->requests[i];
  size_t keys = r->n - p->head;
  bool ok = true;
  check_module(&r->reply, command);
  if (r->reply.type == REPLY_ERROR) fail("%s: %s", (const char *)r->words[1].data, r->reply.text);
  if (r->reply.type != REPLY_ARRAY || r->reply.n != keys)
    fail("%s: the reply to %s is not an array of %zu", (const char *)r->words[1].data, command,
         keys);
  for (size_t k = 0; k < r->reply.n; k++) {
    const reply *e = &r->reply.elements[k];
    outcomes[p->order[p->first[i] + k]] = e->type == REPLY_ERROR ? OUTCOME_ERROR
                                          : e->number            ? OUTCOME_YES
                                                                 : OUTCOME_NO;
    if (e->type == REPLY_ERROR) snprintf(error_text, sizeof error_text, "%s", e->text);
    ok &= e->type != REPLY_ERROR;
  }
  return ok;
}

const char *shards_run(const sharded_filter *f, const char *command,
                       const char *const options[MAX_OPTIONS], const besom_bytes *keys, size_t n,
                       enum outcome *outcomes) {
  struct plan p = make_plan(f, command, options, keys, n);
  bool ok = true;
  cluster_run(f->cluster, p.requests, p.n);
  for (size_t i = 0; i < p.n; i++) ok &= take_outcomes(&p, i, command, outcomes);
  free_plan(&p);
  return ok ? NULL : error_text;
}
