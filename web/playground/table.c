#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"
#include "quotient/table/cursor.h"
#include "quotient/table/walk.h"
#include "random.h"

#define RESERVE 0.2 /* a page shows many reports per key */

struct record {
  uint64_t bucket;
  char key[TABLE_MAX_KEY + 1];
};

/* Records in the order of their insertion: those of one bucket are in the order of their ranks. */
struct table {
  besom_filter *filter;
  besom_filter *plain; /* the qf */
  struct record records[TABLE_MAX_SLOTS];
  uint32_t count;
};

/* -------------------------------------------------------------- the store */

/* The number of the record of a match, or -1. */
static int32_t find_record(const table *t, besom_match match) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < t->count; i++)
    if (t->records[i].bucket == match.bucket && rank++ == match.rank) return (int32_t)i;
  return -1;
}

static bool is_key(const struct record *r, const char *key, size_t len) {
  return strlen(r->key) == len && memcmp(r->key, key, len) == 0;
}

static besom_digest digest_of_record(const table *t, int32_t i) {
  return besom_hash(t->filter, t->records[i].key, strlen(t->records[i].key));
}

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  const table *t = ctx;
  int32_t i = find_record(t, *match);
  (void)f;
  if (i < 0) return BESOM_NOT_FOUND;
  *digest = digest_of_record(t, i);
  return BESOM_OK;
}

const char *table_record(const table *t, uint32_t i) {
  return i < t->count ? t->records[i].key : "";
}

/* -------------------------------------------------------------- creating */

besom_status table_create(uint32_t slots, uint32_t width, uint32_t seed, table **out) {
  uint8_t bytes[16];
  if (slots > TABLE_MAX_SLOTS || width > 31) return BESOM_INVALID;
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_at(seed, i);
  table *t = calloc(1, sizeof *t);
  if (!t) return BESOM_NO_MEMORY;
  besom_config config = {
      .kind = "aqf", .slots = slots, .width = width, .seed = bytes, .reserve = RESERVE};
  besom_config plain = {.kind = "qf", .slots = slots, .width = width, .seed = bytes};
  besom_status status = besom_create(&config, &t->filter);
  if (status == BESOM_OK) status = besom_create(&plain, &t->plain);
  if (status == BESOM_OK)
    status = besom_bind(t->filter, &(besom_reverse){.digest_of = digest_of, .ctx = t});
  if (status != BESOM_OK) {
    table_free(t);
    return status;
  }
  *out = t;
  return BESOM_OK;
}

void table_free(table *t) {
  if (!t) return;
  besom_free(t->filter);
  besom_free(t->plain);
  free(t);
}

/* -------------------------------------------------------------- queries and changes */

/* A query: the digest, its matches, and the match of the key itself, or NULL. */
struct lookup {
  besom_digest digest;
  besom_match matches[TABLE_MAX_MATCHES];
  size_t count;
  const besom_match *own;
};

static struct lookup look_up(const table *t, const char *key, size_t len) {
  struct lookup l = {.digest = besom_hash(t->filter, key, len)};
  besom_matches(t->filter, l.digest, l.matches, TABLE_MAX_MATCHES, &l.count);
  if (l.count > TABLE_MAX_MATCHES) l.count = TABLE_MAX_MATCHES;
  for (size_t i = 0; i < l.count && !l.own; i++) {
    int32_t record = find_record(t, l.matches[i]);
    if (record >= 0 && is_key(&t->records[record], key, len)) l.own = &l.matches[i];
  }
  return l;
}

besom_status table_insert(table *t, const char *key, size_t len) {
  besom_match match;
  if (len > TABLE_MAX_KEY || memchr(key, 0, len)) return BESOM_INVALID;
  struct lookup l = look_up(t, key, len);
  if (l.own) return BESOM_IS_MEMBER;
  if (t->count == TABLE_MAX_SLOTS) return BESOM_FULL;
  besom_status status = besom_insert_at(t->filter, l.digest, 0, &match);
  if (status != BESOM_OK) return status;
  besom_insert_digest(t->plain, l.digest); /* its capacity is larger: it has no reserve */
  struct record *r = &t->records[t->count++];
  r->bucket = match.bucket;
  memcpy(r->key, key, len);
  r->key[len] = 0;
  return BESOM_OK;
}

besom_status table_remove(table *t, const char *key, size_t len) {
  if (len > TABLE_MAX_KEY) return BESOM_INVALID;
  struct lookup l = look_up(t, key, len);
  if (!l.own) return BESOM_NOT_FOUND;
  int32_t i = find_record(t, *l.own);
  besom_status status = besom_remove_at(t->filter, l.own);
  if (status != BESOM_OK) return status;
  besom_remove_digest(t->plain, l.digest);
  t->count--;
  memmove(&t->records[i], &t->records[i + 1], (t->count - (uint32_t)i) * sizeof *t->records);
  return BESOM_OK;
}

/* besom_adapt extends all fingerprints that matched, or none. */
besom_status table_query(table *t, const char *key, size_t len) {
  if (len > TABLE_MAX_KEY) return BESOM_INVALID;
  struct lookup l = look_up(t, key, len);
  return l.count && !l.own ? besom_adapt_digest(t->filter, l.digest) : BESOM_OK;
}

/* -------------------------------------------------------------- descriptions */

static const struct qtable *qtable_of(const table *t) {
  return &const_quotient_filter(t->filter)->table;
}

/* The number of the fingerprint whose head is at the position. */
static int32_t number_of(const struct qtable *q, uint64_t position) {
  struct qtable_cursor c;
  int32_t n = 0;
  for (besom__qtable_first(q, &c); besom__qtable_next(&c); n++)
    if (c.position == position) return n;
  return -1;
}

besom_status table_look(const table *t, const char *key, size_t len, table_answer *out) {
  const struct qtable *q = qtable_of(t);
  if (len > TABLE_MAX_KEY) return BESOM_INVALID;
  struct lookup l = look_up(t, key, len);
  struct address a = address_of(l.digest, q->slots);
  struct run run = run_of(q, a.quotient);
  *out = (table_answer){.yes = besom_contains_digest(t->filter, l.digest),
                        .member = l.own != NULL,
                        .plain_yes = besom_contains_digest(t->plain, l.digest),
                        .quotient = (int32_t)a.quotient,
                        .remainder = (int32_t)remainder_of(a, q->width),
                        .run_start = (int32_t)run.start,
                        .run_end = (int32_t)run.end,
                        .suffix = (int32_t)(bits_after_remainder(a, q->width) >> 32),
                        .digest = (int32_t)(l.digest.hi >> 32),
                        .matches = (int32_t)l.count};
  for (size_t i = 0; i < l.count; i++) {
    struct fingerprint fp;
    out->match[i] = besom__locate_match(q, l.matches[i], &fp) ? number_of(q, fp.position) : -1;
  }
  return BESOM_OK;
}

void table_total(const table *t, table_totals *out) {
  const struct qtable *q = qtable_of(t);
  besom_statistics stats = {0};
  struct qtable_cursor c;
  besom_stats(t->filter, &stats);
  *out = (table_totals){.slots = (int32_t)q->slots,
                        .room = (int32_t)q->room,
                        .width = q->width,
                        .used = (int32_t)q->used,
                        .records = (int32_t)t->count,
                        .capacity = (int32_t)stats.capacity,
                        .reserve_used = (int32_t)(100 * stats.reserve_used)};
  for (besom__qtable_first(q, &c); besom__qtable_next(&c); out->fingerprints++)
    out->extension_bits +=
        (int32_t)besom__fingerprint_read(q, c.quotient, c.position).extension_bits;
}

static table_slot describe_slot(const struct qtable *q, uint64_t position) {
  const uint8_t *block = block_at(q, position / 64);
  unsigned i = position % 64;
  return (table_slot){
      .occupied = (int32_t)(block_word(q, block, WORD_OCCUPIED) >> i & 1),
      .run_end = (int32_t)(block_word(q, block, WORD_END) >> i & 1),
      .content = (int32_t)slot_remainder(q, block, i, q->width),
      .quotient = -1,
      .fingerprint = -1,
  };
}

/* The rank of a member's fingerprint: how many members of its minirun are before it. */
static uint32_t rank_of(const struct qtable *q, const struct fingerprint *fp) {
  uint32_t rank = 0;
  struct matching m = besom__minirun_start(q, fp->quotient, fp->remainder);
  while (besom__next_of_minirun(&m) && m.fp.position < fp->position) rank += is_member(&m.fp);
  return rank;
}

static table_fingerprint describe_fingerprint(const table *t, const struct fingerprint *fp) {
  const struct qtable *q = qtable_of(t);
  besom_match match = {bucket_of(q, fp->quotient, fp->remainder), rank_of(q, fp)};
  return (table_fingerprint){.position = (int32_t)fp->position,
                             .slots = (int32_t)fp->slots,
                             .quotient = (int32_t)fp->quotient,
                             .remainder = (int32_t)fp->remainder,
                             .extension_bits = (int32_t)fp->extension_bits,
                             .extension = (int32_t)(fp->extension.hi >> 32),
                             .tombstone = !is_member(fp),
                             .record = is_member(fp) ? find_record(t, match) : -1};
}

void table_describe(const table *t, table_slot *slots, table_fingerprint *fingerprints) {
  const struct qtable *q = qtable_of(t);
  struct qtable_cursor c;
  int32_t n = 0;
  for (uint64_t i = 0; i < q->room; i++) slots[i] = describe_slot(q, i);
  for (besom__qtable_first(q, &c); besom__qtable_next(&c); n++) {
    struct fingerprint fp = besom__fingerprint_read(q, c.quotient, c.position);
    fingerprints[n] = describe_fingerprint(t, &fp);
    for (uint64_t i = 0; i < fp.slots; i++) {
      table_slot *s = &slots[fp.position + i];
      s->state = i ? SLOT_FURTHER : SLOT_HEAD;
      s->quotient = (int32_t)fp.quotient;
      s->fingerprint = n;
    }
  }
}
