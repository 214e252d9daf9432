/*
 * A guard of your own: an adaptive filter in front of a table that you already have.
 *
 * Use this if you cannot use besom_guard.h. The table here is an array of words; yours is a
 * database. All it needs is a list of keys per bucket, in the order of their insertion: the reverse
 * map.
 *
 *     cc own_guard.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom_reverse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 2000
#define MAX_MATCHES 16

/* -------------------------------------------------------------- the table: keys by bucket */

static struct record {
  uint64_t bucket;
  char word[24];
} table[WORDS];
static size_t records;
static unsigned long reads; /* what a filter is there to save */

/* The record of a match: the rank-th of its bucket. */
static struct record *find(const besom_match *match) {
  uint32_t rank = 0;
  reads++;
  for (size_t i = 0; i < records; i++)
    if (table[i].bucket == match->bucket && rank++ == match->rank) return &table[i];
  return NULL;
}

static void append(const besom_match *match, const char *word) {
  table[records].bucket = match->bucket;
  snprintf(table[records++].word, sizeof table->word, "%s", word);
}

static void erase(struct record *r) {
  memmove(r, r + 1, (size_t)(table + records-- - (r + 1)) * sizeof *r);
}

/* -------------------------------------------------------------- the guard */

static besom_digest hash(const besom_filter *f, const char *word) {
  return besom_hash(f, word, strlen(word));
}

/* Some calls need the key behind a fingerprint: besom asks for its digest. */
static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  (void)ctx;
  struct record *r = find(match);
  if (!r) return BESOM_NOT_FOUND;
  *digest = hash(f, r->word);
  return BESOM_OK;
}

static besom_status put(besom_filter *f, const char *word) {
  besom_match match;
  besom_status status = besom_insert_at(f, hash(f, word), 0, &match);
  if (status == BESOM_OK) append(&match, word);
  return status;
}

/* The record of a word, or NULL. Every fingerprint that matched another word is extended. */
static struct record *get(besom_filter *f, const char *word, besom_match *where) {
  besom_digest digest = hash(f, word);
  besom_match matches[MAX_MATCHES];
  size_t n = 0;
  if (!besom_contains_digest(f, digest)) return NULL; /* certain, and no read */
  if (besom_matches(f, digest, matches, MAX_MATCHES, &n) != BESOM_OK) return NULL;
  if (n > MAX_MATCHES) n = MAX_MATCHES;
  for (size_t i = 0; i < n; i++) {
    struct record *r = find(&matches[i]);
    if (r && strcmp(r->word, word) == 0) {
      *where = matches[i];
      return r;
    }
  }
  for (size_t i = 0; i < n; i++) { /* a false positive: never again */
    struct record *r = find(&matches[i]);
    if (r) besom_adapt_at(f, digest, &matches[i], hash(f, r->word));
  }
  return NULL;
}

static besom_status delete (besom_filter *f, const char *word) {
  besom_match where;
  struct record *r = get(f, word, &where);
  if (!r) return BESOM_NOT_FOUND;
  besom_status status = besom_remove_at(f, &where); /* while the record is still stored */
  if (status == BESOM_OK) erase(r);
  return status;
}

/* -------------------------------------------------------------- a run */

static unsigned long reads_of_absent_words(besom_filter *f) {
  unsigned long before = reads;
  besom_match where;
  char word[24];
  for (int i = 0; i < 20000; i++) {
    snprintf(word, sizeof word, "absent-%d", i);
    if (get(f, word, &where)) exit(1);
  }
  return reads - before;
}

int main(void) {
  besom_config config = {.kind = "aqf", .capacity = WORDS, .fpr = 0.01, .reserve = 0.2};
  besom_reverse reverse = {.digest_of = digest_of};
  besom_filter *f;
  besom_match where;
  char word[24];
  if (besom_create(&config, &f) != BESOM_OK || besom_bind(f, &reverse) != BESOM_OK) return 1;
  for (int i = 0; i < WORDS; i++) {
    snprintf(word, sizeof word, "word-%d", i);
    if (put(f, word) != BESOM_OK) return 1;
  }
  if (!get(f, "word-7", &where) || delete (f, "word-7") != BESOM_OK) return 1;
  if (get(f, "word-7", &where) || !get(f, "word-8", &where)) return 1;

  unsigned long first = reads_of_absent_words(f), second = reads_of_absent_words(f);
  printf("20000 absent words: %lu reads the first time, %lu the second time\n", first, second);
  besom_free(f);
  return first > 0 && second == 0 ? 0 : 1;
}
