/*
 * Two lists that change: yes to every blocked name, no to every known-good name, at any time.
 *
 * yesno-dynamic is a filter in front of a store that holds both lists. The store here is an array;
 * yours is a database. All it needs is a list of keys per bucket, in the order of their insertion:
 * the reverse map. Members and no-list keys are in the same buckets.
 *
 *     cc two_lists.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom_reverse.h>
#include <stdio.h>
#include <string.h>

#define BLOCKED 2000
#define GOOD 2000
#define MAX_MATCHES 16

/* -------------------------------------------------------------- the store: names by bucket */

static struct record {
  uint64_t bucket;
  char name[24];
} store[BLOCKED + GOOD];
static size_t records;
static unsigned long reads;

/* The record of a match: the rank-th of its bucket. */
static struct record *find(const besom_match *match) {
  uint32_t rank = 0;
  reads++;
  for (size_t i = 0; i < records; i++)
    if (store[i].bucket == match->bucket && rank++ == match->rank) return &store[i];
  return NULL;
}

static void append(const besom_match *match, const char *name) {
  store[records].bucket = match->bucket;
  snprintf(store[records++].name, sizeof store->name, "%s", name);
}

static void erase(struct record *r) {
  memmove(r, r + 1, (size_t)(store + records-- - (r + 1)) * sizeof *r);
}

/* besom asks for the digest of a stored key, to tell it from a key of the other list. */
static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  (void)ctx;
  const struct record *r = find(match);
  if (!r) return BESOM_NOT_FOUND;
  *digest = besom_hash(f, r->name, strlen(r->name));
  return BESOM_OK;
}

/* -------------------------------------------------------------- the lists */

enum list { MEMBER, NO_LIST };

/* IS_MEMBER: the name is on the other list. */
static besom_status add(besom_filter *f, enum list list, const char *name) {
  besom_digest digest = besom_hash(f, name, strlen(name));
  besom_match match;
  besom_status status =
      list == MEMBER ? besom_insert_at(f, digest, 0, &match) : besom_no_add_at(f, digest, &match);
  if (status == BESOM_OK) append(&match, name);
  return status;
}

/* Several fingerprints may match: only the stored name tells which one is meant. */
static besom_status drop(besom_filter *f, enum list list, const char *name) {
  besom_digest digest = besom_hash(f, name, strlen(name));
  besom_match matches[MAX_MATCHES];
  size_t n = 0;
  besom_status status = list == MEMBER ? besom_matches(f, digest, matches, MAX_MATCHES, &n)
                                       : besom_no_matches(f, digest, matches, MAX_MATCHES, &n);
  if (status != BESOM_OK) return status;
  for (size_t i = 0; i < n && i < MAX_MATCHES; i++) {
    struct record *r = find(&matches[i]);
    if (!r || strcmp(r->name, name) != 0) continue;
    status = list == MEMBER ? besom_remove_at(f, &matches[i]) : besom_no_remove_at(f, &matches[i]);
    if (status == BESOM_OK) erase(r);
    return status;
  }
  return BESOM_NOT_FOUND;
}

static bool blocks(const besom_filter *f, const char *name) {
  return besom_contains(f, name, strlen(name));
}

/* How many of n names are blocked. */
static int blocked(const besom_filter *f, const char *prefix, int n) {
  char name[24];
  int yes = 0;
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "%s-%d", prefix, i);
    yes += blocks(f, name);
  }
  return yes;
}

/* -------------------------------------------------------------- a run */

int main(void) {
  besom_config config = {
      .kind = "yesno-dynamic", .capacity = BLOCKED + GOOD, .fpr = 0.05, .reserve = 0.2};
  besom_reverse reverse = {.digest_of = digest_of};
  besom_filter *f;
  char name[24];
  if (besom_create(&config, &f) != BESOM_OK || besom_bind(f, &reverse) != BESOM_OK) return 1;
  for (int i = 0; i < BLOCKED; i++) {
    snprintf(name, sizeof name, "bad-%d", i);
    if (add(f, MEMBER, name) != BESOM_OK) return 1;
  }
  int before = blocked(f, "good", GOOD);
  reads = 0;
  for (int i = 0; i < GOOD; i++) {
    snprintf(name, sizeof name, "good-%d", i);
    if (add(f, NO_LIST, name) != BESOM_OK) return 1;
  }
  printf("good names blocked: %d without a no list, %d with it; %lu reads to add %d names\n",
         before, blocked(f, "good", GOOD), reads, GOOD);
  if (!before || blocked(f, "good", GOOD) || blocked(f, "bad", BLOCKED) != BLOCKED) return 1;

  /* A name is on one list. To move it, take it off the other list first. */
  if (add(f, MEMBER, "good-7") != BESOM_IS_MEMBER) return 1;
  if (drop(f, NO_LIST, "good-7") != BESOM_OK || add(f, MEMBER, "good-7") != BESOM_OK) return 1;
  if (drop(f, MEMBER, "bad-7") != BESOM_OK || add(f, NO_LIST, "bad-7") != BESOM_OK) return 1;
  printf("moved: good-7 is %s, bad-7 is %s\n", blocks(f, "good-7") ? "blocked" : "free",
         blocks(f, "bad-7") ? "blocked" : "free");
  if (!blocks(f, "good-7") || blocks(f, "bad-7")) return 1;
  if (drop(f, NO_LIST, "good-7") != BESOM_NOT_FOUND) return 1;

  /* Every other name is still exact. */
  bool exact = blocked(f, "good", GOOD) == 1 && blocked(f, "bad", BLOCKED) == BLOCKED - 1;
  besom_free(f);
  return exact ? 0 : 1;
}
