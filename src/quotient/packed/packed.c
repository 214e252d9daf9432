#include "quotient/packed/packed.h"

#include <string.h>

#include "core/address.h"
#include "core/system/memory.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"
#include "quotient/packed/packed_model.h"

#define DIRECTORY_STEP 64
#define MAX_REMAINDER 32
/* Copies take no more slots in the table than here, if a count takes one slot. */
#define MIN_REMAINDER 4

struct packed {
  struct packed_model *model;
  uint8_t seed[SEED_BYTES];
  uint32_t items;   /* with copies */
  uint32_t copies;  /* items that are not the first of their fingerprint */
  uint32_t room;    /* for so many remainders there is memory */
  uint32_t slack;   /* further items that certainly fit before the end of the table */
  uint64_t words[]; /* directory, runs, remainders, a word that is only read */
};

/* ------------------------------------------------------------------ layout */

static size_t directory_words(const struct packed_model *m) {
  return (m->slots / DIRECTORY_STEP + 3) / 4;
}

static size_t runs_words(const struct packed_model *m) {
  return (m->slots + m->capacity + 63) / 64;
}

static size_t remainder_words(const struct packed_model *m, uint32_t items) {
  return ((size_t)items * m->width + 63) / 64;
}

static size_t packed_bytes(const struct packed_model *m, uint32_t room) {
  return sizeof(struct packed) +
         8 * (directory_words(m) + runs_words(m) + remainder_words(m, room) + 1);
}

/* Entry n is the number of fingerprints before quotient (n + 1) * DIRECTORY_STEP. */
static uint16_t *directory(const struct packed *p) {
  return (uint16_t *)(uintptr_t)p->words;
}

static uint64_t *runs_of(const struct packed *p) {
  return (uint64_t *)(uintptr_t)p->words + directory_words(p->model);
}

static uint64_t *remainders_of(const struct packed *p) {
  return runs_of(p) + runs_words(p->model);
}

/* ------------------------------------------------------------------ bits */

static uint64_t packed_bits(const uint64_t *words, size_t at, unsigned n) {
  const uint64_t *w = words + at / 64;
  unsigned shift = at % 64;
  return (w[0] >> shift | w[1] << 1 << (63 - shift)) & bits_below(n);
}

/* Moves all bits from `at` on up by n < 64, in an array whose last word is `last`. */
static void open_gap(uint64_t *words, size_t at, unsigned n, size_t last) {
  size_t first = at / 64;
  uint64_t low = words[first] & bits_below(at % 64);
  words[first] ^= low;
  for (size_t i = last; i > first; i--) words[i] = words[i] << n | words[i - 1] >> (64 - n);
  words[first] = words[first] << n | low;
}

/* Removes n < 64 bits: what is above them moves down. */
static void close_gap(uint64_t *words, size_t at, unsigned n, size_t last) {
  size_t first = at / 64;
  uint64_t mask = bits_below(at % 64), low = words[first] & mask;
  for (size_t i = first; i < last; i++) words[i] = words[i] >> n | words[i + 1] << (64 - n);
  words[last] >>= n;
  words[first] = (words[first] & ~mask) | low;
}

static void set_bits(uint64_t *words, size_t at, unsigned n, uint64_t bits) {
  words[at / 64] |= bits << at % 64;
  if (at % 64 + n > 64) words[at / 64 + 1] |= bits >> (64 - at % 64);
}

/* ------------------------------------------------------------------ runs */

/* A run: where its bits begin, the number of its first fingerprint, how many it has. */
struct packed_run {
  size_t at;
  uint32_t first, n;
};

/* The position after the n-th zero (n >= 1) from `at` on. */
static size_t after_zeros(const uint64_t *words, size_t at, uint32_t n) {
  size_t i = at / 64;
  uint64_t zeros = ~words[i] & ~bits_below(at % 64);
  unsigned here;
  while ((here = popcount(zeros)) < n) {
    n -= here;
    zeros = ~words[++i];
  }
  return 64 * i + trailing_zeros(select_bit(zeros, n - 1)) + 1;
}

static uint32_t ones_at(const uint64_t *words, size_t at) {
  uint32_t n = 0;
  for (;;) {
    unsigned left = 64 - at % 64, here = trailing_zeros(~(words[at / 64] >> at % 64));
    if (here < left) return n + here;
    n += left;
    at += left;
  }
}

static struct packed_run packed_run_of(const struct packed *p, uint64_t quotient) {
  const uint64_t *runs = runs_of(p);
  uint64_t step = quotient / DIRECTORY_STEP;
  size_t at = step * DIRECTORY_STEP + (step ? directory(p)[step - 1] : 0);
  if (quotient % DIRECTORY_STEP) at = after_zeros(runs, at, quotient % DIRECTORY_STEP);
  return (struct packed_run){at, (uint32_t)(at - quotient), ones_at(runs, at)};
}

static uint64_t packed_remainder(const struct packed *p, uint32_t i) {
  return packed_bits(remainders_of(p), (size_t)i * p->model->width, p->model->width);
}

/* The number of the last fingerprint of the run that is equal; the end of the run if none is. */
static uint32_t last_equal(const struct packed *p, const struct packed_run *run, uint64_t remainder,
                           uint64_t *equal) {
  uint32_t end = run->first + run->n, last = end;
  *equal = 0;
  for (uint32_t i = run->first; i < end; i++)
    if (packed_remainder(p, i) == remainder) {
      last = i;
      ++*equal;
    }
  return last;
}

/* ------------------------------------------------------------------ queries */

uint64_t besom__packed_items(const struct packed *p) {
  return p->items;
}

besom_digest besom__packed_hash(const struct packed *p, const void *key, size_t len) {
  return besom__siphash(p->seed, key, len);
}

uint64_t besom__packed_count(const struct packed *p, besom_digest d) {
  struct address a = address_of(d, p->model->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  uint64_t equal;
  last_equal(p, &run, remainder_of(a, p->model->width), &equal);
  return equal;
}

bool besom__packed_contains(const struct packed *p, besom_digest d) {
  return besom__packed_count(p, d) > 0;
}

/* ------------------------------------------------------------------ changes */

/*
 * How many further items fit before the end of the table, wherever they go: its tail, less how far
 * the present ones reach beyond their quotients.
 */
static uint32_t slack_of(const struct packed *p) {
  const uint64_t *runs = runs_of(p);
  int64_t reach = 0, most = 0;
  for (size_t at = (size_t)p->model->slots + p->items; at;) {
    unsigned n = (at - 1) % 64 + 1; /* bits of this word */
    uint64_t word = runs[(at - 1) / 64];
    at -= n;
    for (unsigned i = n; reach + 64 > most && i--;) {
      reach += word >> i & 1 ? 1 : -1;
      if (reach > most) most = reach;
      n = i;
    }
    reach += 2 * (int64_t)popcount(word & (n < 64 ? bits_below(n) : ~UINT64_C(0))) - n;
  }
  return most < p->model->tail ? (uint32_t)(p->model->tail - most) : 0;
}

/* Makes room for one item more. The memory grows by an eighth. */
static besom_status enlarge(struct packed **p, const besom_allocator *allocator) {
  struct packed *old = *p;
  const struct packed_model *m = old->model;
  uint32_t more = old->room / 8 > 16 ? old->room / 8 : 16;
  uint32_t room = m->capacity - old->room < more ? m->capacity : old->room + more;
  struct packed *now = besom__allocate(allocator, packed_bytes(m, room));
  if (!now) return BESOM_NO_MEMORY;
  memcpy(now, old, packed_bytes(m, old->room));
  now->room = room;
  besom__release(allocator, old, packed_bytes(m, old->room));
  *p = now;
  return BESOM_OK;
}

/* Adds `by` to the entries after the quotient. */
static void count_in_directory(struct packed *p, uint64_t quotient, int by) {
  for (uint64_t i = quotient / DIRECTORY_STEP; i < p->model->slots / DIRECTORY_STEP; i++)
    directory(p)[i] = (uint16_t)(directory(p)[i] + by);
}

static void put(struct packed *p, uint64_t quotient, size_t run_at, uint32_t i,
                uint64_t remainder) {
  const struct packed_model *m = p->model;
  open_gap(runs_of(p), run_at, 1, (m->slots + p->items) / 64);
  set_bits(runs_of(p), run_at, 1, 1);
  open_gap(remainders_of(p), (size_t)i * m->width, m->width, remainder_words(m, p->items + 1) - 1);
  set_bits(remainders_of(p), (size_t)i * m->width, m->width, remainder);
  count_in_directory(p, quotient, 1);
  p->items++;
}

besom_status besom__packed_insert(struct packed **at, besom_digest d,
                                  const besom_allocator *allocator) {
  struct packed *p = *at;
  if (p->items == p->model->capacity) return BESOM_FULL;
  if (!p->slack && !(p->slack = slack_of(p))) return BESOM_FULL;
  if (p->items == p->room && enlarge(at, allocator) != BESOM_OK) return BESOM_NO_MEMORY;
  p = *at;
  struct address a = address_of(d, p->model->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  uint64_t remainder = remainder_of(a, p->model->width), equal;
  uint32_t i = last_equal(p, &run, remainder, &equal);
  put(p, a.quotient, run.at, equal ? i + 1 : i, remainder);
  p->copies += equal > 0;
  p->slack--;
  return BESOM_OK;
}

bool besom__packed_is_full(const struct packed *p) {
  return !p->model->grows && p->items == p->model->capacity && !p->copies;
}

bool besom__packed_remove(struct packed *p, besom_digest d) {
  const struct packed_model *m = p->model;
  struct address a = address_of(d, m->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  uint64_t equal;
  uint32_t i = last_equal(p, &run, remainder_of(a, m->width), &equal);
  if (!equal) return false;
  close_gap(runs_of(p), run.at, 1, (m->slots + p->items - 1) / 64);
  close_gap(remainders_of(p), (size_t)i * m->width, m->width, remainder_words(m, p->items) - 1);
  count_in_directory(p, a.quotient, -1);
  p->copies -= equal > 1;
  p->items--;
  return true;
}

/* ------------------------------------------------------------------ packing */

/* The layer that has the table; NULL if the filter cannot be packed. */
static const besom_filter *packable_layer(const besom_filter *f) {
  if (f->snapshot || f->mapping || f->task || f->bound || f->is_set || f->exceptions) return NULL;
  if (f->domains.labels || f->hasher.id != HASH_SIP) return NULL;
  const besom_filter *layer = f;
  if (is_kind(f->kind, &besom__scaling)) layer = besom_layer(f, 1) ? NULL : besom_layer(f, 0);
  if (!layer || !is_kind(layer->kind, &besom__aqf)) return NULL;
  const struct qtable *t = &const_quotient_filter(layer)->table;
  bool fits = t->slots <= PACKED_MAX_SLOTS && layer->items <= layer->capacity;
  bool plain = t->code == NO_CODE && !t->value_bits && !t->extended;
  return fits && plain && t->width >= MIN_REMAINDER && t->width <= MAX_REMAINDER ? layer : NULL;
}

/* Appends a fingerprint. Its quotient is at least that of the last one. */
static void append(struct packed *p, uint64_t quotient, uint64_t remainder) {
  size_t at = quotient + p->items;
  set_bits(runs_of(p), at, 1, 1);
  set_bits(remainders_of(p), (size_t)p->items * p->model->width, p->model->width, remainder);
  count_in_directory(p, quotient, 1);
  p->items++;
}

static bool append_entry(struct packed *p, const besom_entry *entry) {
  if (entry->extension_bits || entry->value || entry->count > p->room - p->items) return false;
  for (uint64_t i = 0; i < entry->count; i++) append(p, entry->quotient, entry->remainder);
  p->copies += (uint32_t)(entry->count - 1);
  return true;
}

static bool append_all_entries(struct packed *p, const besom_filter *layer) {
  besom_iter iter = {.filter = layer};
  besom_entry entry;
  while (besom_iter_next(&iter, &entry) == BESOM_OK)
    if (!append_entry(p, &entry)) return false;
  return p->items == layer->items;
}

besom_status besom__pack(const besom_filter *f, const besom_allocator *allocator,
                         struct packed **out) {
  const besom_filter *layer = packable_layer(f);
  if (!layer) return BESOM_UNSUPPORTED;
  struct packed_model *m = besom__packed_model_of(f, layer);
  uint32_t room = (uint32_t)layer->items;
  struct packed *p = m ? besom__allocate(allocator, packed_bytes(m, room)) : NULL;
  if (!p) {
    if (m) besom__packed_model_unref(m);
    return BESOM_NO_MEMORY;
  }
  p->model = m;
  p->room = room;
  memcpy(p->seed, f->hasher.seed, SEED_BYTES);
  if (append_all_entries(p, layer)) {
    *out = p;
    return BESOM_OK;
  }
  besom__packed_free(p, allocator);
  return BESOM_UNSUPPORTED;
}

/* A digest with this address, in the middle of those that have it. */
static besom_digest digest_of_fingerprint(const struct packed_model *m, uint64_t quotient,
                                          uint64_t remainder) {
  unsigned __int128 middle = 2 * (quotient << m->width | remainder) + 1;
  return (besom_digest){(uint64_t)((middle << (63 - m->width)) / m->slots), 0};
}

static besom_status insert_all(const struct packed *p, besom_filter *f) {
  const uint64_t *runs = runs_of(p);
  besom_status status = BESOM_OK;
  uint64_t quotient = 0;
  uint32_t i = 0;
  for (size_t at = 0; i < p->items && status == BESOM_OK; at++) {
    if (runs[at / 64] >> at % 64 & 1)
      status = besom_insert_digest(
          f, digest_of_fingerprint(p->model, quotient, packed_remainder(p, i++)));
    else
      quotient++;
  }
  return status;
}

besom_status besom__unpack(const struct packed *p, const besom_allocator *allocator,
                           besom_filter **out) {
  besom_filter *f;
  besom_status status = besom__packed_model_make(p->model, p->seed, allocator, &f);
  if (status != BESOM_OK) return status;
  status = insert_all(p, f);
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  return status;
}

struct packed *besom__packed_copy(const struct packed *p, const besom_allocator *allocator) {
  size_t bytes = packed_bytes(p->model, p->room);
  struct packed *copy = besom__allocate(allocator, bytes);
  if (!copy) return NULL;
  memcpy(copy, p, bytes);
  besom__packed_model_ref(copy->model);
  return copy;
}

void besom__packed_free(struct packed *p, const besom_allocator *allocator) {
  if (!p) return;
  size_t bytes = packed_bytes(p->model, p->room);
  besom__packed_model_unref(p->model);
  besom__release(allocator, p, bytes);
}
