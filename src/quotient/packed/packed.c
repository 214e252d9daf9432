#include "quotient/packed/packed.h"

#include <string.h>

#include "core/system/memory.h"
#include "exceptions/reports.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"
#include "quotient/packed/packed_table.h"

#define MAX_REMAINDER 32
/* Copies take no more slots in the table than here, if a count takes one slot. */
#define MIN_REMAINDER 4

static size_t packed_bytes(const struct packed_model *m, uint32_t room) {
  return sizeof(struct packed) +
         8 * (directory_words(m) + runs_words(m) + remainder_words(m, room) + 1);
}

const struct packed_ops *besom__packed_ops_portable(void);
#ifdef BESOM_X86_VARIANTS
const struct packed_ops *besom__packed_ops_avx2(void);
const struct packed_ops *besom__packed_ops_avx512(void);
#endif

const struct packed_ops *besom__packed_ops(enum isa isa) {
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return besom__packed_ops_avx512();
  if (isa == ISA_AVX2) return besom__packed_ops_avx2();
#endif
  (void)isa;
  return besom__packed_ops_portable();
}

/* ------------------------------------------------------------------ queries */

besom_digest besom__packed_hash(const struct packed *p, const void *key, size_t len) {
  return besom__siphash(p->seed, key, len);
}

uint64_t besom__packed_slots(const struct packed *p) {
  return p->model->slots;
}

bool besom__packed_has_exceptions(const struct packed *p) {
  return p->exceptions;
}

static bool packed_denies(const struct packed *p, besom_digest d) {
  return UNLIKELY(p->exceptions) && p->exceptions->count && exceptions_deny(p->exceptions, d);
}

uint64_t besom__packed_count(const struct packed *p, besom_digest d) {
  return packed_denies(p, d) ? 0 : p->model->ops->count(p, d);
}

bool besom__packed_contains(const struct packed *p, besom_digest d) {
  return p->model->ops->contains(p, d) && !packed_denies(p, d);
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

besom_status besom__packed_insert(struct packed **at, besom_digest d,
                                  const besom_allocator *allocator) {
  struct packed *p = *at;
  if (p->items == p->model->capacity) return BESOM_FULL;
  if (!p->slack && !(p->slack = slack_of(p))) return BESOM_FULL;
  if (p->items == p->room && enlarge(at, allocator) != BESOM_OK) return BESOM_NO_MEMORY;
  p = *at;
  p->model->ops->insert(p, d);
  if (UNLIKELY(p->exceptions) && p->exceptions->count)
    besom__exceptions_remove(p->exceptions, d, false);
  return BESOM_OK;
}

bool besom__packed_is_full(const struct packed *p) {
  return !p->model->grows && p->items == p->model->capacity && !p->copies;
}

bool besom__packed_remove(struct packed *p, besom_digest d) {
  return !packed_denies(p, d) && p->model->ops->remove(p, d);
}

/* ------------------------------------------------------------------ packing */

/* The layer that has the table; NULL if the filter cannot be packed. */
static const besom_filter *packable_layer(const besom_filter *f) {
  if (f->snapshot || f->mapping || f->task || f->bound || f->is_set) return NULL;
  if (f->domains.labels || f->hasher.id != HASH_SIP) return NULL;
  const besom_filter *layer = f;
  if (is_kind(f->kind, &besom__scaling)) layer = besom_layer(f, 1) ? NULL : besom_layer(f, 0);
  if (!layer || !is_kind(layer->kind, &besom__aqf)) return NULL;
  if (layer != f && layer->exceptions) return NULL;
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

/* ------------------------------------------------------------------ exceptions */

static void drop_exceptions(struct packed *p, const besom_allocator *allocator) {
  if (!p->exceptions) return;
  besom__exceptions_free(p->exceptions, allocator);
  besom__release(allocator, p->exceptions, sizeof *p->exceptions);
  p->exceptions = NULL;
}

static besom_status copy_exceptions(struct packed *p, const struct exception_set *from,
                                    const besom_allocator *allocator) {
  if (!from) return BESOM_OK;
  struct exception_set *m = besom__allocate(allocator, sizeof *m);
  if (!m) return BESOM_NO_MEMORY;
  if (besom__exceptions_copy(m, from, allocator) == BESOM_OK) {
    p->exceptions = m;
    return BESOM_OK;
  }
  besom__release(allocator, m, sizeof *m);
  return BESOM_NO_MEMORY;
}

static besom_status give_exceptions(const struct packed *p, besom_filter *f) {
  if (!p->exceptions) return BESOM_OK;
  struct exception_set *m = besom__reports_set(f);
  if (!m || besom__exceptions_copy(m, p->exceptions, &f->allocator) != BESOM_OK)
    return BESOM_NO_MEMORY;
  besom__choose_calls(f);
  return BESOM_OK;
}

void besom__packed_take_exceptions(struct packed *p, besom_filter *f,
                                   const besom_allocator *allocator) {
  drop_exceptions(p, allocator);
  p->exceptions = f->exceptions;
  f->exceptions = NULL;
  besom__choose_calls(f);
}

/* ------------------------------------------------------------------ packing and unpacking */

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
  besom_status status = append_all_entries(p, layer) ? copy_exceptions(p, f->exceptions, allocator)
                                                     : BESOM_UNSUPPORTED;
  if (status == BESOM_OK)
    *out = p;
  else
    besom__packed_free(p, allocator);
  return status;
}

/* A digest with this address, in the middle of those that have it. */
static besom_digest digest_of_fingerprint(const struct packed_model *m, uint64_t quotient,
                                          uint64_t remainder) {
  unsigned __int128 middle = 2 * (quotient << m->width | remainder) + 1;
  return (besom_digest){(uint64_t)((middle << (63 - m->width)) / m->slots), 0};
}

static uint64_t packed_remainder(const struct packed *p, uint32_t i) {
  unsigned width = p->model->width, shift = (size_t)i * width % 64;
  const uint64_t *w = remainders_of(p) + (size_t)i * width / 64;
  return (w[0] >> shift | w[1] << 1 << (63 - shift)) & bits_below(width);
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
  if (status == BESOM_OK) status = give_exceptions(p, f);
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
  copy->exceptions = NULL;
  besom__packed_model_ref(copy->model);
  if (copy_exceptions(copy, p->exceptions, allocator) == BESOM_OK) return copy;
  besom__packed_free(copy, allocator);
  return NULL;
}

struct packed *besom__packed_visit(struct packed *p, const struct block_visitor *v) {
  p = v->visit(v->ctx, p);
  if (!p->exceptions) return p;
  p->exceptions = v->visit(v->ctx, p->exceptions);
  besom__exceptions_visit(p->exceptions, v);
  return p;
}

void besom__packed_free(struct packed *p, const besom_allocator *allocator) {
  if (!p) return;
  size_t bytes = packed_bytes(p->model, p->room);
  drop_exceptions(p, allocator);
  besom__packed_model_unref(p->model);
  besom__release(allocator, p, bytes);
}
