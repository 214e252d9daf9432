/* Bulk builds: from a source to groups of entries. */
#include "build/bulk.h"
#include "build/parts.h"

#define BATCH_KEYS 8192
#define BATCH_BYTES ((size_t)1 << 16)
#define DIRECT_KEYS 2048 /* that the caller's thread hashes itself while all batches are taken */

/* Keys that one thread copied and another one hashes. */
struct key_batch {
  struct key_batch *next;
  uint32_t n;
  uint32_t ends[BATCH_KEYS]; /* where each key ends in bytes */
  uint8_t bytes[BATCH_BYTES];
};

/* A key that may be hashed, or a status: what the source returned, or INVALID. */
ALWAYS_INLINE besom_status bulk_collect_next_key(const besom_source *source, besom_bytes *key) {
  uint64_t weight = 1;
  besom_status status = source->next(source->ctx, key, &weight);
  return UNLIKELY(status == BESOM_OK && !key->data && key->len) ? BESOM_INVALID : status;
}

besom_status besom__read_digests(const besom_filter *f, const besom_source *source,
                                 besom_digest *out, size_t cap, size_t *n) {
  besom_status status = BESOM_OK;
  besom_bytes key;
  size_t i = 0;
  for (; i < cap && (status = bulk_collect_next_key(source, &key)) == BESOM_OK; i++)
    out[i] = key.len == 8 ? hash_u64(&f->hasher, load64(key.data)) /* many keys are integers */
                          : hash_bytes(&f->hasher, key.data, key.len);
  *n = i;
  return status;
}

/* ------------------------------------------------------------------ entries */

/* The quotient and the remainder of a digest, as one number: as address_of computes them. */
ALWAYS_INLINE uint64_t bulk_collect_place_of(besom_digest d, uint64_t places) {
  uint64_t carry = (uint64_t)((unsigned __int128)d.lo * places >> 64);
  return (uint64_t)(((unsigned __int128)d.hi * places + carry) >> 64);
}

static void add_digests(const struct entry_form *form, struct partition *list,
                        const besom_digest *d, size_t n) {
  struct partition to = *list;
  unsigned shift = form->shift;
  uint64_t places = form->places, rest = bits_below(shift);
  for (size_t i = 0; form->whole && i < n; i++)
    *(besom_digest *)partition_add(&to, (size_t)(d[i].hi >> 1 >> shift), sizeof *d) = d[i];
  for (size_t i = 0; !form->whole && i < n; i++) {
    uint64_t place = bulk_collect_place_of(d[i], places);
    *(uint32_t *)partition_add(&to, (size_t)(place >> shift), SHORT_ENTRY) =
        (uint32_t)(place & rest);
  }
}

/* How many keys the pool has room for, whatever groups they belong to. */
static uint64_t room_of(const struct bulk *b) {
  uint64_t open = open_chunks(b), chunks = pool_chunks(&b->pool);
  return chunks > open ? (chunks - open) * CHUNK_ENTRIES(entry_bytes(&b->form)) : 0;
}

/* Room for some more keys: up to cap, 0 if there is no memory. Doubles the pool if it has to. */
static size_t bulk_collect_make_room(struct bulk *b, size_t cap) {
  uint64_t room = room_of(b);
  if (b->count == room && room < b->most && !b->limit) {
    uint64_t more = b->most - room < room ? b->most - room : room;
    besom__pool_grow(&b->pool, more / CHUNK_ENTRIES(entry_bytes(&b->form)) + 1);
    room = room_of(b);
  }
  if (room > b->most) room = b->most;
  return room - b->count < cap ? (size_t)(room - b->count) : cap;
}

/* ------------------------------------------------------------------ one thread */

/* Reads up to cap keys and hashes them here. */
static besom_status read_direct(struct bulk *b, size_t cap) {
  besom_digest digests[BUILD_BATCH];
  besom_status status = BESOM_OK;
  size_t n;
  for (size_t done = 0; status == BESOM_OK && done < cap; done += n) {
    size_t left = cap - done;
    status =
        besom__read_digests(b->f, b->source, digests, left < BUILD_BATCH ? left : BUILD_BATCH, &n);
    add_digests(&b->form, &b->lists[0], digests, n);
    b->count += n;
  }
  return status;
}

/* ------------------------------------------------------------------ several threads */

/* The caller's thread fills idle batches, the others hash those that are ready. */
struct hashing {
  struct bulk *bulk;
  struct key_batch *idle, *ready;
  bool closed; /* no further batch will be ready */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct workers workers;
};

static struct key_batch *pop(struct key_batch **list) {
  struct key_batch *batch = *list;
  if (batch) *list = batch->next;
  return batch;
}

static void push(struct key_batch **list, struct key_batch *batch) {
  batch->next = *list;
  *list = batch;
}

static struct key_batch *take_idle(struct hashing *h) {
  if (!h->workers.n) return NULL;
  pthread_mutex_lock(&h->mutex);
  struct key_batch *batch = pop(&h->idle);
  pthread_mutex_unlock(&h->mutex);
  return batch;
}

static void give_ready(struct hashing *h, struct key_batch *batch) {
  pthread_mutex_lock(&h->mutex);
  push(&h->ready, batch);
  pthread_cond_signal(&h->changed);
  pthread_mutex_unlock(&h->mutex);
}

static void bulk_collect_hash_batch(const struct bulk *b, struct partition *list,
                                    const struct key_batch *from) {
  besom_digest digests[BUILD_BATCH];
  const struct hasher *hasher = &b->f->hasher;
  const uint8_t *key = from->bytes;
  for (uint32_t done = 0; done < from->n;) {
    size_t n = 0;
    for (; n < BUILD_BATCH && done < from->n; n++) {
      const uint8_t *end = from->bytes + from->ends[done++];
      digests[n] = hash_bytes(hasher, key, (size_t)(end - key));
      key = end;
    }
    add_digests(&b->form, list, digests, n);
  }
}

/* Hashes ready batches until there will be no more, or, if !wait, there is none. */
static void hash_ready(struct hashing *h, unsigned thread, bool wait) {
  struct bulk *b = h->bulk;
  pthread_mutex_lock(&h->mutex);
  for (;;) {
    struct key_batch *batch = pop(&h->ready);
    if (batch) {
      pthread_mutex_unlock(&h->mutex);
      bulk_collect_hash_batch(b, &b->lists[thread], batch);
      pthread_mutex_lock(&h->mutex);
      push(&h->idle, batch);
    } else if (!wait || h->closed) {
      break;
    } else {
      pthread_cond_wait(&h->changed, &h->mutex);
    }
  }
  pthread_mutex_unlock(&h->mutex);
}

static void help_hashing(void *ctx, unsigned thread) {
  hash_ready(ctx, thread, true);
}

/* Copies up to cap keys. One that does not fit in the batch is hashed here, and is the last. */
static besom_status copy_keys(struct bulk *b, struct key_batch *to, size_t cap) {
  besom_source source = *b->source;
  besom_status status = BESOM_OK;
  besom_bytes key;
  uint32_t n = 0, used = 0, most = cap < BATCH_KEYS ? (uint32_t)cap : BATCH_KEYS;
  for (; n < most && (status = bulk_collect_next_key(&source, &key)) == BESOM_OK; n++) {
    if (UNLIKELY(key.len > BATCH_BYTES - used)) {
      besom_digest d = hash_bytes(&b->f->hasher, key.data, key.len);
      add_digests(&b->form, &b->lists[0], &d, 1);
      b->count++;
      break;
    }
    if (LIKELY(key.len == 8))
      memcpy(to->bytes + used, key.data, 8); /* one move */
    else if (key.len)
      memcpy(to->bytes + used, key.data, key.len);
    used += (uint32_t)key.len;
    to->ends[n] = used;
  }
  to->n = n;
  b->count += n;
  return status;
}

/* Reads some keys: for other threads if there is an idle batch. */
static besom_status read_some(struct hashing *h, size_t cap) {
  struct bulk *b = h->bulk;
  struct key_batch *batch = take_idle(h);
  if (!batch) return read_direct(b, cap < DIRECT_KEYS ? cap : DIRECT_KEYS);
  besom_status status = copy_keys(b, batch, cap);
  give_ready(h, batch);
  return status;
}

static void start_threads(struct hashing *h) {
  struct bulk *b = h->bulk;
  pthread_mutex_init(&h->mutex, NULL);
  pthread_cond_init(&h->changed, NULL);
  for (unsigned i = 0; i < b->threads; i++) push(&h->idle, &b->batches[i]);
  besom__workers_start(&h->workers, b->threads - 1, 1, help_hashing, h);
}

/* What is ready is hashed, by this thread, too. */
static void end_threads(struct hashing *h) {
  hash_ready(h, 0, false);
  pthread_mutex_lock(&h->mutex);
  h->closed = true;
  pthread_cond_broadcast(&h->changed);
  pthread_mutex_unlock(&h->mutex);
  besom__workers_join(&h->workers);
  pthread_cond_destroy(&h->changed);
  pthread_mutex_destroy(&h->mutex);
}

/* ------------------------------------------------------------------ parts in several threads */

struct part_reading {
  struct bulk *bulk;
  _Atomic size_t claimed;      /* parts below this are being read, or were read */
  _Atomic uint64_t count;      /* keys */
  _Atomic besom_status status; /* BESOM_OK until something fails */
};

static void fail_reading(struct part_reading *r, besom_status status) {
  besom_status ok = BESOM_OK;
  if (status != BESOM_OK) atomic_compare_exchange_strong(&r->status, &ok, status);
}

/* Reads the keys of a part and hashes them here. In the caller's thread: reports progress, too. */
static besom_status read_whole_part(struct part_reading *r, unsigned thread,
                                    const besom_source *part) {
  struct bulk *b = r->bulk;
  besom_digest digests[BUILD_BATCH];
  besom_status status = BESOM_OK;
  uint64_t given = 0;
  for (size_t n; status == BESOM_OK; given += n) {
    status = besom__read_digests(b->f, part, digests, BUILD_BATCH, &n);
    if (n > part->size_hint - given) return BESOM_INVALID; /* there is no room for them */
    add_digests(&b->form, &b->lists[thread], digests, n);
    uint64_t count = n + atomic_fetch_add_explicit(&r->count, n, memory_order_relaxed);
    if (status == BESOM_OK) status = atomic_load_explicit(&r->status, memory_order_relaxed);
    if (status != BESOM_OK || thread) continue;
    b->count = count;
    status = besom__bulk_tick(b, 0);
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static void read_parts(void *ctx, unsigned thread) {
  struct part_reading *r = ctx;
  const struct key_parts *parts = r->bulk->parts;
  size_t i;
  while (atomic_load_explicit(&r->status, memory_order_relaxed) == BESOM_OK &&
         (i = atomic_fetch_add_explicit(&r->claimed, 1, memory_order_relaxed)) < parts->n)
    fail_reading(r, read_whole_part(r, thread, &parts->parts[i]));
}

/* If not, they are read one after the other, as one source. */
static bool can_read_parts(const struct bulk *b) {
  uint64_t known = b->parts ? b->parts->all.size_hint : 0;
  return known && (b->parts->n > 1 || b->threads == 1) && !b->done && b->most >= known &&
         room_of(b) >= known;
}

static besom_status read_all_parts(struct bulk *b) {
  struct part_reading r = {.bulk = b, .status = BESOM_OK};
  struct workers workers;
  besom__workers_start(&workers, b->threads - 1, 1, read_parts, &r);
  read_parts(&r, 0);
  besom__workers_join(&workers);
  b->count = atomic_load_explicit(&r.count, memory_order_relaxed);
  return atomic_load_explicit(&r.status, memory_order_relaxed);
}

/* ------------------------------------------------------------------ all keys */

size_t besom__bulk_batch_bytes(unsigned threads) {
  return threads > 1 ? threads * sizeof(struct key_batch) : 0;
}

besom_status besom__bulk_collect(struct bulk *b, bool *all) {
  if (can_read_parts(b)) {
    *all = true;
    return read_all_parts(b);
  }
  struct hashing h = {.bulk = b};
  besom_status status = BESOM_OK;
  size_t cap;
  if (b->threads > 1) start_threads(&h);
  while (status == BESOM_OK && (cap = bulk_collect_make_room(b, BATCH_KEYS)) > 0) {
    status =
        b->threads > 1 ? read_some(&h, cap) : read_direct(b, cap < BUILD_BATCH ? cap : BUILD_BATCH);
    if (status == BESOM_OK) status = besom__bulk_tick(b, 0);
  }
  if (b->threads > 1) end_threads(&h);
  *all = status == BESOM_END;
  return *all ? BESOM_OK : status;
}
