/* The kind pqf. */
#include "partition/pqf.h"

#include <math.h>

#include "core/options.h"
#include "core/system/memory.h"
#include "partition/backyard.h"

extern const struct pqf_calls besom__pqf_calls_portable[BIN_LAYOUTS];
#ifdef BESOM_X86_VARIANTS
extern const struct pqf_calls besom__pqf_calls_avx2[BIN_LAYOUTS],
    besom__pqf_calls_avx512[BIN_LAYOUTS];
#endif

static const struct pqf_calls *pqf_calls_for(enum isa isa, unsigned layout) {
#ifdef BESOM_X86_VARIANTS
  if (isa == ISA_AVX512) return &besom__pqf_calls_avx512[layout];
  if (isa == ISA_AVX2) return &besom__pqf_calls_avx2[layout];
#endif
  (void)isa;
  return &besom__pqf_calls_portable[layout];
}

/* ------------------------------------------------------------------ creating and freeing */

static uint64_t pqf_table_bytes(const struct pqf *p) {
  return besom__pqf_bytes(p->layout, p->bins);
}

/* Sets everything that follows from the geometry and the place of the table. */
static void pqf_set_table(struct pqf *p, const struct pqf_geometry *g, enum isa isa,
                          uint8_t *table) {
  const struct bin_layout *l = &bin_layouts[g->layout];
  p->layout = l;
  p->bins = g->bins;
  p->unused_bits = 64 - g->width;
  p->isa = isa;
  p->calls = pqf_calls_for(isa, g->layout);
  p->n_yards = besom__pqf_yards(l, g->bins);
  p->yards_inverse = UINT64_MAX / p->n_yards;
  for (unsigned i = 0; i < MAX_FAN; i++) p->strides[i] = 1 + scaled(mixed(i + 1), p->n_yards - 1);
  p->yards = table;
  p->front = table + p->n_yards * YARD_BYTES;
  p->head.capacity = g->capacity;
}

static uint64_t pqf_allocated_bytes(const struct pqf *p) {
  return pqf_table_bytes(p) + YARD_BYTES - 1; /* for the alignment */
}

static besom_status pqf_new_table(besom_filter *f, const struct pqf_geometry *g, enum isa isa) {
  struct pqf *p = pqf_of(f);
  p->memory = besom__allocate(&f->allocator,
                              besom__pqf_bytes(&bin_layouts[g->layout], g->bins) + YARD_BYTES - 1);
  if (!p->memory) return BESOM_NO_MEMORY;
  uintptr_t at = (uintptr_t)p->memory;
  pqf_set_table(p, g, isa, (uint8_t *)p->memory + (-at & (YARD_BYTES - 1)));
  return BESOM_OK;
}

static besom_status pqf_create(besom_filter *f, const besom_config *config) {
  enum isa isa;
  struct pqf_geometry g;
  besom_status status = besom__option_isa(&f->kind->options, config->options, &isa);
  if (status == BESOM_OK) status = besom__pqf_geometry(config, &g);
  return status == BESOM_OK ? pqf_new_table(f, &g, isa) : status;
}

static struct pqf_geometry pqf_geometry_of(const struct pqf *p) {
  return (struct pqf_geometry){(unsigned)(p->layout - bin_layouts), pqf_width(p), p->bins,
                               p->head.capacity};
}

static besom_status pqf_create_like(besom_filter *f, const besom_filter *model) {
  struct pqf_geometry g = pqf_geometry_of(const_pqf_of(model));
  return pqf_new_table(f, &g, const_pqf_of(model)->isa);
}

static void pqf_destroy(besom_filter *f) {
  struct pqf *p = pqf_of(f);
  if (p->memory) besom__release(&f->allocator, p->memory, pqf_allocated_bytes(p));
}

/* ------------------------------------------------------------------ keys */

/* NULL before the table is made, and for other hashes: then the general calls are used. */
static const struct pqf_calls *pqf_hashing_calls(const besom_filter *f) {
  return f->hasher.id == HASH_XXH3 ? const_pqf_of(f)->calls : NULL;
}

/* A bin must be as besom_inline_pqf_has knows it. */
static bool pqf_inline_facts(const besom_filter *f, uint32_t layout, besom_inline_facts *out) {
  const struct pqf *p = const_pqf_of(f);
  const struct bin_layout *l = p->layout;
  bool is_known = l->bits == 8 && l->bytes == 32 && l->slots == 25 && l->minis == 29;
  if (layout != BESOM_INLINE_PQF || !is_known) return false;
  out->bits = p->front;
  out->number[0] = p->bins;
  out->number[1] = p->unused_bits;
  return true;
}

static const struct query_calls *pqf_query_calls(const besom_filter *f) {
  const struct pqf_calls *calls = pqf_hashing_calls(f);
  return calls ? &calls->queries : NULL;
}

static const struct insert_calls *pqf_insert_calls(const besom_filter *f) {
  const struct pqf_calls *calls = pqf_hashing_calls(f);
  return calls ? &calls->inserts : NULL;
}

static const struct remove_calls *pqf_remove_calls(const besom_filter *f) {
  const struct pqf_calls *calls = pqf_hashing_calls(f);
  return calls ? &calls->removes : NULL;
}

static struct pqf_place pqf_locate(const besom_filter *f, besom_digest d) {
  return pqf_place_of(const_pqf_of(f), const_pqf_of(f)->layout, d);
}

static bool pqf_contains(const besom_filter *f, besom_digest d) {
  return const_pqf_of(f)->calls->queries.contains_digest(f, d);
}

static void pqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap) {
  const_pqf_of(f)->calls->contains_many(f, d, n, bitmap);
}

static void pqf_prefetch(const besom_filter *f, besom_digest d) {
  bin_prefetch(const_pqf_of(f), const_pqf_of(f)->layout, d);
}

static besom_status pqf_insert(besom_filter *f, besom_digest d) {
  return pqf_of(f)->calls->inserts.insert_digest(f, d);
}

static besom_status pqf_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                    size_t *done) {
  return pqf_of(f)->calls->insert_many(f, d, n, done);
}

static besom_status pqf_remove(besom_filter *f, besom_digest d) {
  return pqf_of(f)->calls->removes.remove_digest(f, d);
}

static uint64_t pqf_count_at(const struct pqf *p, struct pqf_place at) {
  const struct bin_layout *l = p->layout;
  const uint8_t *bin = bin_at(p, l, at.bin);
  struct slot_run run = run_of_header(bin_entries(bin, l), at.mini);
  return popcount(bin_matches(bin, l, run, at.remainder)) +
         (bin_is_marked(bin, l) ? yards_count(p, l, at.bin, value_of_place(l, at)) : 0);
}

static besom_status pqf_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  *n = pqf_count_at(const_pqf_of(f), pqf_locate(f, d));
  return BESOM_OK;
}

/* How many more entries of this bin surely fit: no other bin's entry has to move. */
static unsigned pqf_room(const struct pqf *p, uint64_t number) {
  const struct bin_layout *l = p->layout;
  struct yard_pair pair = yards_of(p, number);
  unsigned room = l->slots - popcount(bin_entries(bin_at(p, l, number), l));
  for (unsigned i = 0; i < 2; i++)
    if (!i || pair.number[1] != pair.number[0])
      room += l->yard_slots - yard_count(yard_at(p, pair.number[i]));
  return room;
}

static besom_status pqf_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct pqf *p = pqf_of(f);
  struct pqf_place at = pqf_locate(f, d);
  if (n == 1) return p->calls->put(f, at);
  if (n > PQF_MAX_COPIES || n > f->capacity - f->items || n > pqf_room(p, at.bin) ||
      n + pqf_count_at(p, at) > PQF_MAX_COPIES)
    return BESOM_FULL;
  besom_status status = BESOM_OK;
  while (n-- && status == BESOM_OK) status = p->calls->put(f, at);
  return status;
}

/* ------------------------------------------------------------------ iteration */

/* The state of an iterator: the bin, and how many of its entries were returned. */
enum { AT_BIN, AT_SLOT, AT_FIRST_YARD, AT_SECOND_YARD };

/* The next entry of the bin in the backyard: false if there is none. */
static bool next_in_yards(const struct pqf *p, uint64_t *state, uint64_t *value) {
  const struct bin_layout *l = p->layout;
  struct yard_pair pair = yards_of(p, state[AT_BIN]);
  unsigned from = 0;
  *value = UINT64_MAX;
  for (unsigned i = 0; i < 2; i++) {
    const uint8_t *yard = yard_at(p, pair.number[i]);
    struct slot_run run = yard_run(yard, l, pair.origin + i);
    uint64_t slot = run.first + state[AT_FIRST_YARD + i];
    if (slot >= run.end || yard_value(yard, l, (unsigned)slot) >= *value) continue;
    *value = yard_value(yard, l, (unsigned)slot);
    from = i;
  }
  state[AT_FIRST_YARD + from]++;
  return *value != UINT64_MAX;
}

/* The value of the next entry of the bin that the iterator is at. */
static bool next_in_bin(const struct pqf *p, uint64_t *state, uint64_t *value) {
  const struct bin_layout *l = p->layout;
  const uint8_t *bin = bin_at(p, l, state[AT_BIN]);
  uint64_t entry = select_bit(bin_entries(bin, l), (unsigned)state[AT_SLOT]);
  unsigned slot = (unsigned)state[AT_SLOT];
  if (!entry || slot >= l->slots) return bin_is_marked(bin, l) && next_in_yards(p, state, value);
  state[AT_SLOT]++;
  *value = (uint64_t)(trailing_zeros(entry) - slot) << l->bits | bin_remainder(bin, l, slot);
  return true;
}

static bool next_place(const struct pqf *p, uint64_t *state, struct pqf_place *at) {
  const struct bin_layout *l = p->layout;
  uint64_t value;
  while (state[AT_BIN] < p->bins) {
    if (next_in_bin(p, state, &value)) {
      *at = (struct pqf_place){state[AT_BIN], value & bits_below(pqf_width(p)),
                               (unsigned)(value >> l->bits)};
      if (at->mini >= l->minis) continue; /* damaged */
      return true;
    }
    state[AT_BIN]++;
    state[AT_SLOT] = state[AT_FIRST_YARD] = state[AT_SECOND_YARD] = 0;
  }
  return false;
}

static void pqf_iter_start(const besom_filter *f, besom_iter *iter) {
  (void)f;
  memset(iter->state, 0, sizeof iter->state);
}

static besom_status pqf_iter_next(const besom_filter *f, besom_iter *iter, besom_entry *entry) {
  const struct pqf *p = const_pqf_of(f);
  struct pqf_place at;
  if (!next_place(p, iter->state, &at)) return BESOM_END;
  *entry = (besom_entry){
      .quotient = at.bin * p->layout->minis + at.mini, .remainder = at.remainder, .count = 1};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

/* A set keeps one of two equal fingerprints. */
static besom_status pqf_put_once(besom_filter *f, struct pqf_place at) {
  const struct pqf_calls *calls = pqf_of(f)->calls;
  return f->is_set && calls->has(f, at) ? BESOM_OK : calls->put(f, at);
}

/* Copies a, then inserts the entries of b. */
static besom_status pqf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct pqf *x = const_pqf_of(a), *y = const_pqf_of(b);
  uint64_t state[4] = {0};
  struct pqf_place at;
  if (x->layout != y->layout || x->bins != y->bins || x->unused_bits != y->unused_bits)
    return BESOM_INCOMPATIBLE;
  if (!into->is_set && a->items + b->items > into->capacity) return BESOM_FULL;
  memcpy(pqf_of(into)->yards, x->yards, (size_t)pqf_table_bytes(x));
  into->items = a->items;
  besom_status status = BESOM_OK;
  while (status == BESOM_OK && next_place(y, state, &at)) status = pqf_put_once(into, at);
  return status;
}

/*
 * Quotient and remainder are one number, of which resizing changes where the quotient ends. A table
 * that shrinks has no room for more bits per remainder than its layout: then the last ones are
 * dropped.
 */
static besom_status pqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct pqf *p = const_pqf_of(f);
  struct pqf_geometry g = pqf_geometry_of(p);
  unsigned most = p->layout->bits, minis = p->layout->minis;
  bool divides = true;
  for (; slots > g.bins * minis && g.width; g.width--) {
    g.bins *= 2;
    g.capacity *= 2;
  }
  for (uint64_t now = g.bins * minis; slots < now; now /= 2, g.width++) {
    divides &= g.bins % 2 == 0;
    g.bins /= 2;
    g.capacity /= 2;
  }
  if (g.width && g.capacity < f->items) return BESOM_FULL;
  if (!g.width || !g.capacity || !divides) return BESOM_INVALID;
  pqf_of(fresh)->dropped_bits = g.width > most ? g.width - most : 0;
  if (g.width > most) g.width = most;
  fresh->items = 0;
  return pqf_new_table(fresh, &g, p->isa);
}

static besom_status pqf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                    bool *finished) {
  struct pqf *to = pqf_of(fresh);
  const struct pqf *from = pqf_of(f);
  unsigned minis = from->layout->minis;
  struct pqf_place at;
  besom_status status = BESOM_OK;
  for (*finished = false; max-- && status == BESOM_OK;) {
    *finished = !next_place(from, to->resized, &at);
    if (*finished) break;
    uint64_t number =
                 ((at.bin * minis + at.mini) << pqf_width(from) | at.remainder) >> to->dropped_bits,
             quotient = number >> pqf_width(to);
    status =
        pqf_put_once(fresh, (struct pqf_place){quotient / minis, number & bits_below(pqf_width(to)),
                                               (unsigned)(quotient % minis)});
  }
  return status;
}

/* ------------------------------------------------------------------ statistics, checks */

static unsigned pqf_prefix_bits(const besom_filter *f) {
  const struct pqf *p = const_pqf_of(f);
  return 64 - leading_zeros(p->bins * p->layout->minis) + pqf_width(p);
}

static uint64_t spilled_entries(const struct pqf *p) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < p->n_yards; i++) n += yard_count(yard_at(p, i));
  return n;
}

/* Unlike the slots of the statistics. */
static uint64_t slots_of_table(const struct pqf *p) {
  return p->bins * p->layout->slots + p->n_yards * p->layout->yard_slots;
}

static void pqf_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct pqf *p = const_pqf_of(f);
  s->isa = besom__isa_name(p->isa);
  s->slots = p->bins * p->layout->minis;
  s->width = pqf_width(p);
  s->bytes += p->memory ? pqf_allocated_bytes(p) : pqf_table_bytes(p);
  s->load_factor = (double)f->items / (double)slots_of_table(p);
  s->expected_fpr = besom__pqf_fpr(p->layout, p->bins, pqf_width(p), f->items);
  s->fpr_at_capacity = besom__pqf_fpr(p->layout, p->bins, pqf_width(p), f->capacity);
}

/* The entries of a bin ascend, are in range, and end where unused slots begin. */
static const char *check_entries(const struct pqf *p, uint64_t number, uint64_t *entries) {
  const struct bin_layout *l = p->layout;
  uint64_t state[4] = {number, 0, 0, 0}, last = 0, value;
  unsigned width = pqf_width(p), copies = 0, used = popcount(bin_entries(bin_at(p, l, number), l));
  for (unsigned slot = used; slot < l->slots; slot++)
    if (bin_remainder(bin_at(p, l, number), l, slot)) return "an empty slot is not 0";
  for (; next_in_bin(p, state, &value); last = value, ++*entries) {
    if (value < last) return "the entries of a bin are not in order";
    copies = value == last ? copies + 1 : 1;
    if (copies > PQF_MAX_COPIES) return "there are more copies of an entry than there may be";
    if (value >> l->bits >= l->minis) return "there is no such mini-quotient";
    if ((value & bits_below(l->bits)) >> width) return "a remainder is too long";
  }
  return NULL;
}

static const char *check_bin(const struct pqf *p, uint64_t number, uint64_t *entries) {
  const struct bin_layout *l = p->layout;
  const uint8_t *bin = bin_at(p, l, number);
  uint64_t header = bin_entries(bin, l);
  struct yard_pair pair = yards_of(p, number);
  bool spilled = yards_have_some(p, l, pair);
  if (popcount(header) > l->slots) return "a bin has more entries than slots";
  if (header && popcount(header) + l->minis <= 64 - leading_zeros(header))
    return "a bin has more mini-quotients than it should";
  if (bin_is_marked(bin, l) != spilled) return "a bin is marked if and only if it has spilled";
  if (spilled && popcount(header) != l->slots) return "a bin that has spilled is not full";
  return check_entries(p, number, entries);
}

static const char *check_yard(const struct pqf *p, uint64_t number) {
  const struct bin_layout *l = p->layout;
  const uint8_t *yard = yard_at(p, number);
  unsigned used = yard_count(yard), bit = 64 + used * yard_entry_bits(l);
  if (used > l->yard_slots) return "a bin of the backyard has more entries than slots";
  if (used && used + 2u * l->fan <= 64 - leading_zeros(load64(yard)))
    return "a bin of the backyard has more origins than it should";
  for (; bit < 8 * YARD_BYTES; bit++)
    if (yard[bit / 8] >> bit % 8 & 1) return "the backyard has bits after its last entry";
  return NULL;
}

static const char *pqf_validate(const besom_filter *f) {
  const struct pqf *p = const_pqf_of(f);
  const char *error = NULL;
  uint64_t entries = 0;
  if (f->items > f->capacity) return "there are more keys than the capacity";
  for (uint64_t i = 0; i < p->n_yards && !error; i++) error = check_yard(p, i);
  for (uint64_t i = 0; i < p->bins && !error; i++) error = check_bin(p, i, &entries);
  if (error) return error;
  if (entries != f->items) return "the number of keys is not the number of entries";
  uint64_t in_front = 0;
  for (uint64_t i = 0; i < p->bins; i++)
    in_front += popcount(bin_entries(bin_at(p, p->layout, i), p->layout));
  return in_front + spilled_entries(p) == entries
             ? NULL
             : "the backyard has entries of bins that are none";
}

/* ------------------------------------------------------------------ files */

static void pqf_save(const besom_filter *f, struct sections_out *out) {
  const struct pqf *p = const_pqf_of(f);
  besom__write_u64(&out->parameters, p->bins);
  besom__write_u32(&out->parameters, p->layout->bits);
  besom__write_u32(&out->parameters, pqf_width(p));
  add_section(out, TAG_BITS, p->yards, pqf_table_bytes(p));
}

static besom_status pqf_load(besom_filter *f, struct sections_in *in) {
  struct pqf_geometry g = {.capacity = f->capacity, .bins = besom__read_u64(&in->parameters)};
  uint32_t slot_bits = besom__read_u32(&in->parameters);
  g.width = besom__read_u32(&in->parameters);
  const struct section *bits = take_section(in, TAG_BITS);
  while (g.layout < BIN_LAYOUTS && bin_layouts[g.layout].bits != slot_bits) g.layout++;
  if (!bits || g.layout == BIN_LAYOUTS || g.width < 1 || g.width > slot_bits) return BESOM_CORRUPT;
  const struct bin_layout *l = &bin_layouts[g.layout];
  if (!g.bins || !besom__pqf_is_addressable(l, g.bins, g.width) || !g.capacity ||
      g.capacity > besom__pqf_capacity(l, g.bins) || bits->len != besom__pqf_bytes(l, g.bins))
    return BESOM_CORRUPT;
  if (f->mapping) {
    pqf_set_table(pqf_of(f), &g, besom__isa_best(), (uint8_t *)(uintptr_t)bits->data);
    return BESOM_OK;
  }
  besom_status status = pqf_new_table(f, &g, besom__isa_best());
  if (status == BESOM_OK) memcpy(pqf_of(f)->yards, bits->data, (size_t)bits->len);
  return status;
}

/* ------------------------------------------------------------------ the kind */

const struct besom_kind besom__pqf = {
    .name = "pqf",
    .summary = "partition quotient filter: a key is in one cache line; counts, removes, grows",
    .also = BESOM_CAN_REKEY,
    .max_copies = PQF_MAX_COPIES,
    .size = sizeof(struct pqf),
    .options = ISA_ONLY,
    .full_by_chance = true,
    .create = pqf_create,
    .create_like = pqf_create_like,
    .destroy = pqf_destroy,
    .bits_per_key = besom__pqf_bits_per_key,
    .stats = pqf_stats,
    .query = {.calls = pqf_query_calls,
              .contains = pqf_contains,
              .contains_many = pqf_contains_many,
              .prefetch = pqf_prefetch,
              .inline_facts = NOT_IN_MODULE(pqf_inline_facts),
              .count = pqf_count,
              .prefix_bits = pqf_prefix_bits},
    .change = &(const struct change_ops){.calls = pqf_insert_calls,
                                         .remove_calls = NOT_IN_SMALL_CODE(pqf_remove_calls),
                                         .insert = pqf_insert,
                                         .insert_many = pqf_insert_many,
                                         .insert_count = pqf_insert_count,
                                         .remove = pqf_remove},
    .whole = &(const struct whole_ops){.merge = pqf_merge,
                                       .resize_start = pqf_resize_start,
                                       .resize_step = pqf_resize_step,
                                       .append = besom__pqf_append,
                                       .parts = &besom__pqf_in_parts,
                                       .iter_start = pqf_iter_start,
                                       .iter_next = pqf_iter_next},
    .file = &(const struct file_ops){.validate = pqf_validate, .save = pqf_save, .load = pqf_load},
};
