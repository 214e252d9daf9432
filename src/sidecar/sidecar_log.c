/*
 * The log of a sidecar: a table of the application's database, by position.
 *
 *     key       u64 position, big-endian
 *     value 0   "besomlog", u32 version, u32 0, id (16), path of the file that it belongs to
 *     value i   u64 session, u64 meaning, u64 stamp, u32 inserts, u32 removes,
 *               digests of the inserts, digests of the removes (16 bytes each), u64 checksum
 *
 * A record has all changes of one transaction of the application, and is part of it. Its position
 * is one more than that of the last committed one; a transaction that fails leaves no gap, and one
 * whose outcome is unknown may leave a record that the next one replaces. Each open draws a random
 * session, and an unknown outcome begins the next one, so that two records with the same position
 * and session are the same record: after a power cut, or in a restored copy, the database can be at
 * an earlier position and go on from there with other changes. So a checkpoint names its position
 * and that record's session, and the record stays when the others are trimmed.
 *
 * A log belongs to one file at a time. Two sidecars with one log would each lack the keys of the
 * other. So open refuses a second file while the lock of the first is taken, and each transaction
 * looks for a record at its position that is not its own.
 */
#define _GNU_SOURCE /* pthread_rwlock, flock */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/relaxed.h"
#include "sidecar/sidecar.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum {
  VERSION = 1,
  ID_VALUE_BYTES = 8 + 4 + 4 + SIDECAR_ID_BYTES,
  HEAD_BYTES = 3 * 8 + 2 * 4,
  TRIMMED_PER_RECORD = 16,
};

#define MAX_CHANGES ((size_t)1 << 26) /* per record: databases limit the size of a value */

static const char magic[8] = "besomlog";

struct record_key {
  uint8_t bytes[8];
};

static struct record_key sidecar_log_key_of(uint64_t position) {
  struct record_key key;
  for (unsigned i = 0; i < 8; i++) key.bytes[i] = (uint8_t)(position >> (56 - 8 * i));
  return key;
}

static besom_bytes sidecar_log_bytes_of(const struct record_key *key) {
  return (besom_bytes){key->bytes, sizeof key->bytes};
}

static bool read_key(besom_bytes key, uint64_t *position) {
  *position = 0;
  for (size_t i = 0; i < key.len && i < 8; i++)
    *position = *position << 8 | ((const uint8_t *)key.data)[i];
  return key.len == 8;
}

/*
 * Differs if the seed differs, or keep_removed. With that, a key may have no fingerprint of its own
 * because one of another key matched; to remove that would be wrong.
 */
static uint64_t meaning_of_digests(const besom_sidecar *s, const besom_filter *f) {
  return besom_hash(f, "besom", 5).hi + s->keep_removed;
}

/* ------------------------------------------------------------------ the id */

struct identity {
  besom_sidecar *s;
  bool found;
  char owner[PATH_MAX]; /* of the log; empty: none is known */
};

static void read_owner(struct identity *identity, besom_bytes value) {
  size_t len = value.len - ID_VALUE_BYTES;
  if (len >= sizeof identity->owner) len = 0;
  memcpy(identity->owner, (const uint8_t *)value.data + ID_VALUE_BYTES, len);
  identity->owner[len] = 0;
}

static besom_status visit_identity(void *ctx, const besom_record *record) {
  struct identity *identity = ctx;
  const uint8_t *value = record->value.data;
  uint64_t position;
  identity->found = true;
  if (!read_key(record->key, &position) || position != 0 || record->value.len < ID_VALUE_BYTES ||
      memcmp(value, magic, sizeof magic) != 0)
    return BESOM_CORRUPT;
  struct byte_reader r = {value + sizeof magic, value + ID_VALUE_BYTES, false};
  if (besom__read_u32(&r) > VERSION) return BESOM_NEWER_VERSION;
  besom__read_u32(&r);
  besom__read_bytes(&r, identity->s->id, SIDECAR_ID_BYTES);
  read_owner(identity, record->value);
  return BESOM_END;
}

/* A lock file that cannot be opened does not say that somebody has it. */
static bool owner_is_open(const char *owner) {
  char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s.lock", owner);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return taken;
}

static besom_status check_owner(struct identity *identity) {
  besom_sidecar *s = identity->s;
  if (!identity->owner[0] || strcmp(identity->owner, s->path) == 0) return BESOM_OK;
  if (!owner_is_open(identity->owner)) return BESOM_OK;
  return besom__sidecar_refuse(s, false, "another sidecar, with another file, has the log open");
}

/* Within the transaction nobody else can become the owner. */
static besom_status put_identity(void *ctx, void *txn) {
  struct identity *identity = ctx;
  const besom_sidecar *s = identity->s;
  uint8_t value[ID_VALUE_BYTES + PATH_MAX];
  size_t path = strlen(s->path) < PATH_MAX ? strlen(s->path) : 0;
  struct byte_writer w = {value, value + sizeof value, false};
  struct record_key key = sidecar_log_key_of(0);
  besom_status status = BESOM_OK;
  if (s->log.get)
    status = s->log.get(s->log.ctx, txn, sidecar_log_bytes_of(&key), visit_identity, identity);
  if (status == BESOM_OK) status = check_owner(identity);
  if (status != BESOM_OK) return status;
  besom__write_bytes(&w, magic, sizeof magic);
  besom__write_u32(&w, VERSION);
  besom__write_u32(&w, 0);
  besom__write_bytes(&w, s->id, sizeof s->id);
  besom__write_bytes(&w, s->path, path);
  return s->log.put(s->log.ctx, txn, sidecar_log_bytes_of(&key),
                    (besom_bytes){value, ID_VALUE_BYTES + path});
}

besom_status besom__sidecar_identify(besom_sidecar *s, bool *wrote) {
  struct identity identity = {.s = s};
  struct record_key first = sidecar_log_key_of(0);
  besom_status status =
      s->log.scan(s->log.ctx, sidecar_log_bytes_of(&first), visit_identity, &identity);
  *wrote = false;
  if (status == BESOM_OK) status = check_owner(&identity);
  if (status != BESOM_OK || (identity.found && strcmp(identity.owner, s->path) == 0)) return status;
  status = s->log.update(s->log.ctx, put_identity, &identity);
  *wrote = status == BESOM_OK;
  return status;
}

/* ------------------------------------------------------------------ writing */

static besom_status reserve_record(besom_sidecar *s, size_t size) {
  if (size <= s->record_size) return BESOM_OK;
  uint8_t *larger = besom__allocate(&s->allocator, size + size / 2);
  if (!larger) return BESOM_NO_MEMORY;
  besom__release(&s->allocator, s->record, s->record_size);
  s->record = larger;
  s->record_size = size + size / 2;
  return BESOM_OK;
}

static void sidecar_log_write_digests(struct byte_writer *w, const struct digest_vector *v) {
  for (size_t i = 0; i < v->n; i++) {
    besom__write_u64(w, v->at[i].hi);
    besom__write_u64(w, v->at[i].lo);
  }
}

/* Numbers are consecutive: a gap is a transaction of somebody who bypassed the sidecar. */
static besom_status number_record(besom_sidecar *s, void *txn) {
  s->record_stamp = s->log.number ? s->log.number(s->log.ctx, txn) : s->stamp;
  return !s->log.number || s->record_stamp == s->stamp + 1 ? BESOM_OK : BESOM_INCOMPATIBLE;
}

static besom_status sidecar_log_put_record(besom_sidecar *s, void *txn, uint64_t position,
                                           const struct digest_vector *inserts,
                                           const struct digest_vector *removes) {
  size_t size = HEAD_BYTES + 16 * (inserts->n + removes->n) + 8;
  besom_status status = reserve_record(s, size);
  if (status == BESOM_OK) status = number_record(s, txn);
  if (status != BESOM_OK) return status;
  struct byte_writer w = {s->record, s->record + size, false};
  besom__write_u64(&w, s->session);
  besom__write_u64(&w, meaning_of_digests(s, s->filter));
  besom__write_u64(&w, s->record_stamp);
  besom__write_u32(&w, (uint32_t)inserts->n);
  besom__write_u32(&w, (uint32_t)removes->n);
  sidecar_log_write_digests(&w, inserts);
  sidecar_log_write_digests(&w, removes);
  besom__write_u64(&w, besom__checksum(s->record, size - 8));
  struct record_key key = sidecar_log_key_of(position);
  return s->log.put(s->log.ctx, txn, sidecar_log_bytes_of(&key), (besom_bytes){s->record, size});
}

/* Removes some records that the checkpoint covers. Its own record stays. */
static besom_status trim(besom_sidecar *s, void *txn) {
  besom_status status = BESOM_OK;
  s->trimmed_to = s->oldest;
  for (unsigned i = 0; i < TRIMMED_PER_RECORD && s->trimmed_to < s->checkpoint; i++) {
    struct record_key key = sidecar_log_key_of(s->trimmed_to);
    status = s->log.remove(s->log.ctx, txn, sidecar_log_bytes_of(&key));
    if (status != BESOM_OK) return status;
    s->trimmed_to++;
  }
  return status;
}

struct foreign {
  const besom_sidecar *s;
  uint64_t position;
  bool found;
};

/* A record of this sidecar is of this transaction, or of one whose outcome is unknown. */
static besom_status visit_next(void *ctx, const besom_record *record) {
  struct foreign *foreign = ctx;
  const besom_sidecar *s = foreign->s;
  uint64_t position;
  if (!read_key(record->key, &position) || position != foreign->position) return BESOM_END;
  uint64_t session = record->value.len >= 8 ? load64(record->value.data) : s->session + 1;
  foreign->found = session - s->first_session > s->session - s->first_session;
  return BESOM_END;
}

/* Whether another sidecar has written to the log: it begins its records where this one would. */
static besom_status check_alone(besom_sidecar *s, void *txn) {
  struct foreign foreign = {.s = s, .position = s->position + 1};
  struct record_key next = sidecar_log_key_of(s->position + 1);
  besom_status status =
      s->log.get ? s->log.get(s->log.ctx, txn, sidecar_log_bytes_of(&next), visit_next, &foreign)
                 : s->log.scan(s->log.ctx, sidecar_log_bytes_of(&next), visit_next, &foreign);
  if (status != BESOM_OK || !foreign.found) return status;
  return besom__sidecar_refuse(s, true, "another sidecar has written to the log. Close this one");
}

/* A second call within a transaction writes the same record again, with more changes. */
besom_status besom_sidecar_log_to(besom_sidecar *s, void *txn) {
  if (!s || !s->has_log || !s->is_open) return BESOM_INVALID;
  if (s->inserts.n + s->removes.n > MAX_CHANGES) return BESOM_FULL;
  bool has_news = s->inserts.n + s->removes.n > 0 || s->stamp != s->logged_stamp || s->log.number ||
                  s->is_unknown; /* its record must be replaced */
  if (!has_news) return BESOM_OK;
  besom_status status = check_alone(s, txn);
  if (status != BESOM_OK) return status;
  sidecar_lock(s); /* reports look at the list */
  besom__sidecar_prune_removes(s);
  sidecar_unlock(s);
  status = sidecar_log_put_record(s, txn, s->position + 1, &s->inserts, &s->removes);
  if (status == BESOM_OK) status = trim(s, txn);
  if (status != BESOM_OK) return status;
  s->logged_inserts = s->inserts.n;
  s->logged_removes = s->removes.n;
  s->wrote_record = true;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ replaying */

struct replay {
  besom_sidecar *s;
  besom_filter *filter;
  uint64_t meaning;
  bool continues;
  bool at_checkpoint; /* its own record was seen */
};

/* A record whose size and checksum are right. */
struct parsed {
  uint64_t session, meaning, stamp;
  uint32_t inserts, removes;
  struct byte_reader digests;
};

static bool parse(besom_bytes value, struct parsed *p) {
  const uint8_t *data = value.data;
  if (value.len < HEAD_BYTES + 8) return false;
  struct byte_reader r = {data, data + value.len - 8, false};
  p->session = besom__read_u64(&r);
  p->meaning = besom__read_u64(&r);
  p->stamp = besom__read_u64(&r);
  p->inserts = besom__read_u32(&r);
  p->removes = besom__read_u32(&r);
  p->digests = r;
  return load64(data + value.len - 8) == besom__checksum(data, value.len - 8) &&
         value.len == HEAD_BYTES + 16 * ((uint64_t)p->inserts + p->removes) + 8;
}

static besom_digest next_digest(struct byte_reader *r) {
  besom_digest digest;
  digest.hi = besom__read_u64(r);
  digest.lo = besom__read_u64(r);
  return digest;
}

static besom_status sidecar_log_apply(struct replay *replay, struct parsed *p) {
  besom_sidecar *s = replay->s;
  besom_status status = BESOM_OK;
  for (uint32_t i = 0; i < p->inserts && status == BESOM_OK; i++)
    status = besom__sidecar_add(s, replay->filter, next_digest(&p->digests));
  s->stale = status == BESOM_FULL && s->is_static;
  if (status != BESOM_OK) return status;
  for (uint32_t i = 0; i < p->removes; i++)
    besom__sidecar_take_out(s, replay->filter, next_digest(&p->digests));
  besom__sidecar_count(s, p->inserts, p->removes);
  s->stats.replayed += (uint64_t)p->inserts + p->removes;
  s->stats.logged += (uint64_t)p->inserts + p->removes;
  return BESOM_OK;
}

static besom_status visit_record(void *ctx, const besom_record *record) {
  struct replay *replay = ctx;
  besom_sidecar *s = replay->s;
  struct parsed p = {0};
  uint64_t position;
  bool is_record = read_key(record->key, &position) && parse(record->value, &p);
  replay->continues = false;
  if (!replay->at_checkpoint) {
    replay->at_checkpoint = true;
    replay->continues = is_record && position == s->position && p.session == s->position_session;
    return replay->continues ? BESOM_OK : BESOM_END;
  }
  if (!is_record || position != s->position + 1 || p.meaning != replay->meaning) return BESOM_END;
  besom_status status = sidecar_log_apply(replay, &p);
  if (status == BESOM_FULL) return BESOM_END; /* a new filter will be larger */
  if (status != BESOM_OK) return status;
  s->position = position;
  s->position_session = p.session;
  s->stamp = p.stamp;
  replay->continues = true;
  return BESOM_OK;
}

static besom_status visit_oldest(void *ctx, const besom_record *record) {
  besom_sidecar *s = ctx;
  return read_key(record->key, &s->oldest) ? BESOM_END : BESOM_CORRUPT;
}

besom_status besom__sidecar_replay(besom_sidecar *s, besom_filter *f, bool *continues) {
  struct record_key first = sidecar_log_key_of(1);
  s->oldest = 1;
  besom_status found = s->log.scan(s->log.ctx, sidecar_log_bytes_of(&first), visit_oldest, s);
  if (found != BESOM_OK) return found;
  struct replay replay = {.s = s, .filter = f, .meaning = meaning_of_digests(s, f)};
  struct record_key from = sidecar_log_key_of(s->position);
  besom_status status = s->log.scan(s->log.ctx, sidecar_log_bytes_of(&from), visit_record, &replay);
  *continues = replay.continues;
  return status;
}

/* ------------------------------------------------------------------ starting again */

struct restart {
  besom_sidecar *s;
  struct digest_vector positions; /* .lo */
};

static besom_status sidecar_log_collect(void *ctx, const besom_record *record) {
  struct restart *restart = ctx;
  uint64_t position;
  if (!read_key(record->key, &position)) return BESOM_CORRUPT;
  if (position == 0) return BESOM_OK;
  besom_status status = besom__digest_vector_reserve(&restart->positions, &restart->s->allocator);
  if (status != BESOM_OK) return status;
  restart->positions.at[restart->positions.n++] = (besom_digest){.lo = position};
  return BESOM_OK;
}

static besom_status replace_all(void *ctx, void *txn) {
  struct restart *restart = ctx;
  besom_sidecar *s = restart->s;
  const struct digest_vector none = {0};
  for (size_t i = 0; i < restart->positions.n; i++) {
    struct record_key key = sidecar_log_key_of(restart->positions.at[i].lo);
    besom_status status = s->log.remove(s->log.ctx, txn, sidecar_log_bytes_of(&key));
    if (status != BESOM_OK) return status;
  }
  return sidecar_log_put_record(s, txn, s->position, &none, &none);
}

besom_status besom__sidecar_restart_log(besom_sidecar *s) {
  struct restart restart = {.s = s};
  struct record_key from = sidecar_log_key_of(0);
  besom_status status =
      s->log.scan(s->log.ctx, sidecar_log_bytes_of(&from), sidecar_log_collect, &restart);
  uint64_t last = restart.positions.n ? restart.positions.at[restart.positions.n - 1].lo : 0;
  if (last > UINT64_MAX / 2) last = 0; /* of a damaged key */
  if (status == BESOM_OK) {
    s->position = s->oldest = last + 1;
    s->position_session = s->session;
    status = s->log.update(s->log.ctx, replace_all, &restart);
    if (status == BESOM_OK) s->stamp = s->record_stamp;
  }
  besom__digest_vector_free(&restart.positions, &s->allocator);
  return status;
}
