/*
 * The hot calls of pqf, compiled once per instruction set (BESOM_ISA). Every layout has calls of
 * its own: the compiler knows its numbers.
 */
#define UNSHARED
#include "partition/backyard.h"

#define CALL static FLATTEN

enum {
  QUERIES_AHEAD = 32, /* keys of a batch whose bins are prefetched */
  INSERTS_AHEAD = 16,
  CACHED_TABLE = 256 << 10, /* a table of this size is in the cache */
};

#define NAME_OF(isa) besom__pqf_calls_##isa
#define NAME(isa) NAME_OF(isa)
extern const struct pqf_calls NAME(BESOM_ISA)[BIN_LAYOUTS];

/* ------------------------------------------------------------------ queries */

/* The bit of the header that ends the entries of this mini-quotient. */
ALWAYS_INLINE uint64_t bin_run_end(const uint8_t *bin, struct pqf_place at) {
  return select_bit(~load64(bin), at.mini);
}

/* Whether the bin is full and ends with this mini-quotient, or with a smaller one. */
ALWAYS_INLINE bool bin_ends_with(const struct bin_layout *l, uint64_t end, struct pqf_place at) {
  return end == UINT64_C(1) << at.mini << l->slots;
}

/* No branch depends on the data. */
ALWAYS_INLINE bool bin_has(const uint8_t *bin, const struct bin_layout *l, uint64_t end,
                           struct pqf_place at) {
  uint64_t header = load64(bin);
  uint64_t equal = bin_slots_equal(bin, l, at.remainder);
#if defined(__BMI2__)
  /* Equal entries of a run, added to its bits, carry into its end. */
  return (header + _pdep_u64(equal, header)) & end;
#else
  struct slot_run run = {64 - leading_zeros(~header & (end - 1)) - at.mini,
                         trailing_zeros(end) - at.mini};
  return equal >> run.first % 64 & bits_below((run.end - run.first) % 64);
#endif
}

/*
 * What is not done for most keys, compiled for one layout, not inline, and without structs that
 * would be passed on the stack.
 */
struct pqf_rare {
  bool (*has_last)(const struct pqf *p, uint64_t hi);
  besom_status (*spill)(besom_filter *f, uint64_t bin, uint64_t value);
  besom_status (*refill)(const struct pqf *p, uint64_t bin);
  besom_status (*take_spilled)(besom_filter *f, uint64_t bin, uint64_t value);
};

/* Of a bin that ends so: whether the place is after its last entry, and entries of the bin are in
   the backyard. */
ALWAYS_INLINE bool bin_is_passed(const uint8_t *bin, const struct bin_layout *l,
                                 struct pqf_place at) {
  unsigned last = l->slots - 1;
  bool has_mini = load64(bin) >> (last + at.mini) & 1;
  bool greater = at.remainder > bin_remainder(bin, l, last), marked = bin_is_marked(bin, l);
  return marked & (!has_mini | greater);
}

ALWAYS_INLINE bool pqf_has_spilled(const struct pqf *p, const struct bin_layout *l,
                                   struct pqf_place at) {
  struct yard_pair pair = yards_of(p, at.bin);
  uint64_t value = value_of_place(l, at);
  bool first = yard_has(yard_at(p, pair.number[0]), l, pair.origin, value),
       second = yard_has(yard_at(p, pair.number[1]), l, pair.origin + 1, value);
  return first | second; /* no branch */
}

ALWAYS_INLINE bool pqf_has_last(const struct pqf *p, const struct bin_layout *l,
                                struct pqf_place at) {
  const uint8_t *bin = bin_at(p, l, at.bin);
  return bin_is_passed(bin, l, at) ? pqf_has_spilled(p, l, at)
                                   : bin_has(bin, l, bin_run_end(bin, at), at);
}

ALWAYS_INLINE bool pqf_has_at(const struct pqf *p, const struct bin_layout *l,
                              struct pqf_place at) {
  const uint8_t *bin = bin_at(p, l, at.bin);
  uint64_t end = bin_run_end(bin, at);
  return bin_ends_with(l, end, at) ? pqf_has_last(p, l, at) : bin_has(bin, l, end, at);
}

/* Of the digest, rare->has_last finds the place again: that costs less than to pass it. */
ALWAYS_INLINE bool pqf_has_digest(const besom_filter *f, const struct bin_layout *l,
                                  const struct pqf_rare *rare, besom_digest d) {
  const struct pqf *p = const_pqf_of(f);
  struct pqf_place at = pqf_place_of(p, l, d);
  const uint8_t *bin = bin_at(p, l, at.bin);
  uint64_t end = bin_run_end(bin, at);
  if (UNLIKELY(bin_ends_with(l, end, at))) return rare->has_last(p, d.hi);
  return bin_has(bin, l, end, at);
}

/* A small table is in the cache: nothing is prefetched. */
ALWAYS_INLINE size_t pqf_prefetch_ahead(const struct pqf *p, const struct bin_layout *l, size_t n,
                                        size_t ahead) {
  return p->bins * l->bytes > CACHED_TABLE ? ahead : n;
}

/* The keys of a batch that wait for the backyard. */
struct pqf_waiting {
  unsigned n;
  uint8_t number[64];
};

ALWAYS_INLINE void pqf_wait_for_yards(const struct pqf *p, uint64_t bin,
                                      struct pqf_waiting *waiting, unsigned number) {
  struct yard_pair pair = yards_of(p, bin);
  __builtin_prefetch(yard_at(p, pair.number[0]));
  __builtin_prefetch(yard_at(p, pair.number[1]));
  waiting->number[waiting->n++] = (uint8_t)number;
}

ALWAYS_INLINE void pqf_query_many(const besom_filter *f, const struct bin_layout *l,
                                  const struct pqf_rare *rare, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  const struct pqf *p = const_pqf_of(f);
  size_t ahead = pqf_prefetch_ahead(p, l, n, QUERIES_AHEAD);
  for (size_t i = 0; ahead < n && i < ahead; i++) bin_prefetch(p, l, d[i]);
  for (size_t i = 0; i < n; i += 64) {
    struct pqf_waiting waiting = {.n = 0};
    uint64_t word = 0;
    for (size_t j = i; j < n && j < i + 64; j++) {
      if (j + ahead < n) bin_prefetch(p, l, d[j + ahead]);
      struct pqf_place at = pqf_place_of(p, l, d[j]);
      const uint8_t *bin = bin_at(p, l, at.bin);
      uint64_t end = bin_run_end(bin, at);
      word |= (uint64_t)bin_has(bin, l, end, at) << (j - i);
      if (UNLIKELY(bin_ends_with(l, end, at)) && bin_is_passed(bin, l, at))
        pqf_wait_for_yards(p, at.bin, &waiting, (unsigned)(j - i));
    }
    for (unsigned k = 0; k < waiting.n; k++) {
      bool found = rare->has_last(p, d[i + waiting.number[k]].hi);
      word |= (uint64_t)found << waiting.number[k];
    }
    bitmap[i / 64] = word;
  }
}

/* ------------------------------------------------------------------ inserts */

/* Spills the new entry of a full bin. It may have copies in both places. */
ALWAYS_INLINE besom_status pqf_spill_new(besom_filter *f, const struct bin_layout *l,
                                         uint64_t number, uint64_t value, bool is_last) {
  const struct pqf *p = pqf_of(f);
  uint8_t *bin = bin_at(p, l, number);
  unsigned copies = 0;
  if (is_last) {
    struct slot_run run = run_of_header(bin_entries(bin, l), (unsigned)(value >> l->bits));
    copies = popcount(bin_matches(bin, l, run, value & bits_below(l->bits)));
  }
  if (bin_is_marked(bin, l)) copies += yards_count(p, l, number, value);
  if (copies >= PQF_MAX_COPIES || !yards_insert(p, l, number, value)) return BESOM_FULL;
  bin_set_header(bin, l, bin_header_of(l, bin_entries(bin, l), true));
  f->items++;
  return BESOM_OK;
}

/* The bin is full: the largest of its entries and the new one goes to the backyard. */
ALWAYS_INLINE besom_status pqf_spill(besom_filter *f, const struct bin_layout *l, uint64_t number,
                                     uint64_t value) {
  const struct pqf *p = pqf_of(f);
  uint8_t *bin = bin_at(p, l, number);
  uint64_t last = bin_last(bin, l), entries = bin_entries(bin, l),
           remainder = value & bits_below(l->bits);
  if (popcount(entries) > l->slots) return BESOM_FULL; /* damaged */
  if (value >= last) return pqf_spill_new(f, l, number, value, value == last);
  unsigned mini = (unsigned)(value >> l->bits),
           at = bin_place_for(bin, l, entries, mini, remainder);
  if (bin_has_all_copies(bin, l, entries, at - mini, mini, remainder)) return BESOM_FULL;
  if (!yards_insert(p, l, number, last)) return BESOM_FULL;
  /* analysis: -Wanalyzer-shift-count-overflow: a bin that is full has entries */
  uint64_t of_last = UINT64_C(1) << (63 - leading_zeros(entries));
  bin_insert_at(bin, l, entries ^ of_last, at, mini, remainder, true);
  f->items++;
  return BESOM_OK;
}

ALWAYS_INLINE besom_status pqf_put_at(besom_filter *f, const struct bin_layout *l,
                                      const struct pqf_rare *rare, struct pqf_place at) {
  uint8_t *bin = bin_at(pqf_of(f), l, at.bin);
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  if (UNLIKELY(popcount(bin_entries(bin, l)) >= l->slots))
    return rare->spill(f, at.bin, value_of_place(l, at));
  if (!bin_insert(bin, l, at.mini, at.remainder)) return BESOM_FULL;
  f->items++;
  return BESOM_OK;
}

ALWAYS_INLINE besom_status pqf_put_digest(besom_filter *f, const struct bin_layout *l,
                                          const struct pqf_rare *rare, besom_digest d) {
  return pqf_put_at(f, l, rare, pqf_place_of(pqf_of(f), l, d));
}

ALWAYS_INLINE besom_status pqf_put_many(besom_filter *f, const struct bin_layout *l,
                                        const struct pqf_rare *rare, const besom_digest *d,
                                        size_t n, size_t *done) {
  const struct pqf *p = pqf_of(f);
  size_t i, ahead = pqf_prefetch_ahead(p, l, n, INSERTS_AHEAD);
  besom_status status = BESOM_OK;
  for (i = 0; ahead < n && i < ahead; i++) bin_prefetch(p, l, d[i]);
  for (i = 0; i < n; i++) {
    if (i + ahead < n) bin_prefetch(p, l, d[i + ahead]);
    status = pqf_put_digest(f, l, rare, d[i]);
    if (UNLIKELY(status != BESOM_OK)) break;
  }
  *done = i;
  return status;
}

/* ------------------------------------------------------------------ removes */

/* After a remove from a marked bin: its smallest entry in the backyard comes back. */
ALWAYS_INLINE besom_status pqf_refill(const struct pqf *p, const struct bin_layout *l,
                                      uint64_t number) {
  uint8_t *bin = bin_at(p, l, number);
  struct yard_pair pair = yards_of(p, number);
  uint64_t smallest[2];
  struct slot_run run[2];
  for (unsigned i = 0; i < 2; i++) {
    const uint8_t *yard = yard_at(p, pair.number[i]);
    run[i] = yard_run(yard, l, pair.origin + i);
    smallest[i] = run[i].first < run[i].end ? yard_value(yard, l, run[i].first) : UINT64_MAX;
  }
  unsigned from = smallest[1] < smallest[0];
  uint64_t value = smallest[from];
  if (value == UINT64_MAX) return BESOM_OK; /* only in a damaged filter */
  yard_remove(yard_at(p, pair.number[from]), l, pair.origin + from, run[from].first);
  bin_fill(bin, l, value, run[0].end - run[0].first + run[1].end - run[1].first > 1);
  return BESOM_OK;
}

/* It is not in the bin: perhaps in the backyard. */
ALWAYS_INLINE besom_status pqf_take_spilled(besom_filter *f, const struct bin_layout *l,
                                            uint64_t number, uint64_t value) {
  const struct pqf *p = pqf_of(f);
  uint8_t *bin = bin_at(p, l, number);
  struct yard_pair pair = yards_of(p, number);
  for (unsigned i = 0; bin_is_marked(bin, l) && i < 2; i++) {
    uint8_t *yard = yard_at(p, pair.number[i]);
    struct slot_run run = yard_slots_from(yard, l, pair.origin + i, value);
    if (run.first >= run.end || yard_value(yard, l, run.first) != value) continue;
    yard_remove(yard, l, pair.origin + i, run.first);
    bin_set_header(bin, l, bin_header_of(l, bin_entries(bin, l), yards_have_some(p, l, pair)));
    f->items--;
    return BESOM_OK;
  }
  return BESOM_NOT_FOUND;
}

ALWAYS_INLINE besom_status pqf_take_at(besom_filter *f, const struct bin_layout *l,
                                       const struct pqf_rare *rare, struct pqf_place at) {
  const struct pqf *p = pqf_of(f);
  uint8_t *bin = bin_at(p, l, at.bin);
  bool marked = bin_is_marked(bin, l);
  unsigned entry = bin_find(bin, l, load64(bin), at.mini, at.remainder);
  if (UNLIKELY(entry == NO_ENTRY)) return rare->take_spilled(f, at.bin, value_of_place(l, at));
  if (UNLIKELY(entry - at.mini >= l->slots)) return BESOM_NOT_FOUND; /* damaged */
  bin_remove(bin, l, entry, at.mini);
  f->items--;
  return marked ? rare->refill(p, at.bin) : BESOM_OK;
}

ALWAYS_INLINE besom_status pqf_take_digest(besom_filter *f, const struct bin_layout *l,
                                           const struct pqf_rare *rare, besom_digest d) {
  return pqf_take_at(f, l, rare, pqf_place_of(pqf_of(f), l, d));
}

/* ------------------------------------------------------------------ the calls of each layout */

CALL bool pqf_contains_bytes(const besom_filter *f, const void *key, size_t len) {
  return f->queries->contains_digest(f, xxh3_bytes(&f->hasher, key, len));
}

CALL besom_status pqf_insert_bytes(besom_filter *f, const void *key, size_t len) {
  return f->inserts->insert_digest(f, xxh3_bytes(&f->hasher, key, len));
}

#define RARE static __attribute__((noinline, flatten))

/* Not inline: else removes of keys of 8 bytes would have a stack frame. */
RARE besom_status pqf_remove_bytes(besom_filter *f, const void *key, size_t len) {
  return f->removes->remove_digest(f, besom__xxh3_bytes(&f->hasher, key, len));
}

/* The name of a function for layout i. With the instruction set: the sources may be one file. */
#define LAYOUT_NAME_OF(name, i, isa) name##_##i##_##isa
#define LAYOUT_NAME_IN(name, i, isa) LAYOUT_NAME_OF(name, i, isa)
#define LAYOUT_NAME(name, i) LAYOUT_NAME_IN(name, i, BESOM_ISA)

/* Where code is to be small, those of layout 1 are for all layouts but the first. */
#ifdef BESOM_SMALL_CODE
#define LAYOUT(i, p) ((i) ? (p)->layout : &bin_layouts[0])
#else
#define LAYOUT(i, p) ((void)(p), &bin_layouts[i])
#endif

#define CALLS_OF_LAYOUT(i)                                                                        \
  RARE bool LAYOUT_NAME(pqf_rare_has, i)(const struct pqf *p, uint64_t hi) {                      \
    const struct bin_layout *l = LAYOUT(i, p);                                                    \
    return pqf_has_last(p, l, pqf_place_of(p, l, (besom_digest){hi, 0}));                         \
  }                                                                                               \
  RARE besom_status LAYOUT_NAME(pqf_rare_spill, i)(besom_filter * f, uint64_t bin,                \
                                                   uint64_t value) {                              \
    return pqf_spill(f, LAYOUT(i, const_pqf_of(f)), bin, value);                                  \
  }                                                                                               \
  RARE besom_status LAYOUT_NAME(pqf_rare_refill, i)(const struct pqf *p, uint64_t bin) {          \
    return pqf_refill(p, LAYOUT(i, p), bin);                                                      \
  }                                                                                               \
  RARE besom_status LAYOUT_NAME(pqf_rare_take, i)(besom_filter * f, uint64_t bin,                 \
                                                  uint64_t value) {                               \
    return pqf_take_spilled(f, LAYOUT(i, const_pqf_of(f)), bin, value);                           \
  }                                                                                               \
  static const struct pqf_rare LAYOUT_NAME(pqf_rare_calls, i) = {                                 \
      LAYOUT_NAME(pqf_rare_has, i), LAYOUT_NAME(pqf_rare_spill, i),                               \
      LAYOUT_NAME(pqf_rare_refill, i), LAYOUT_NAME(pqf_rare_take, i)};                            \
  CALL bool LAYOUT_NAME(pqf_contains_u64, i)(const besom_filter *f, uint64_t key) {               \
    return pqf_has_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i),         \
                          xxh3_u64(&f->hasher, key));                                             \
  }                                                                                               \
  CALL bool LAYOUT_NAME(pqf_contains_digest, i)(const besom_filter *f, besom_digest d) {          \
    return pqf_has_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), d);     \
  }                                                                                               \
  CALL besom_status LAYOUT_NAME(pqf_insert_u64, i)(besom_filter * f, uint64_t key) {              \
    return pqf_put_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i),         \
                          xxh3_u64(&f->hasher, key));                                             \
  }                                                                                               \
  CALL besom_status LAYOUT_NAME(pqf_insert_digest, i)(besom_filter * f, besom_digest d) {         \
    return pqf_put_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), d);     \
  }                                                                                               \
  static void LAYOUT_NAME(pqf_contains_many, i)(const besom_filter *f, const besom_digest *d,     \
                                                size_t n, uint64_t *bitmap) {                     \
    pqf_query_many(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), d, n, bitmap); \
  }                                                                                               \
  static besom_status LAYOUT_NAME(pqf_insert_many, i)(besom_filter * f, const besom_digest *d,    \
                                                      size_t n, size_t *done) {                   \
    return pqf_put_many(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), d, n,     \
                        done);                                                                    \
  }                                                                                               \
  static bool LAYOUT_NAME(pqf_has, i)(const besom_filter *f, struct pqf_place at) {               \
    return pqf_has_at(const_pqf_of(f), LAYOUT(i, const_pqf_of(f)), at);                           \
  }                                                                                               \
  static besom_status LAYOUT_NAME(pqf_put, i)(besom_filter * f, struct pqf_place at) {            \
    return pqf_put_at(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), at);        \
  }                                                                                               \
  CALL besom_status LAYOUT_NAME(pqf_take, i)(besom_filter * f, besom_digest d) {                  \
    return pqf_take_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i), d);    \
  }                                                                                               \
  CALL besom_status LAYOUT_NAME(pqf_remove_key, i)(besom_filter * f, const void *key,             \
                                                   size_t len) {                                  \
    if (UNLIKELY(len != 8)) return pqf_remove_bytes(f, key, len);                                 \
    return pqf_take_digest(f, LAYOUT(i, const_pqf_of(f)), &LAYOUT_NAME(pqf_rare_calls, i),        \
                           xxh3_u64(&f->hasher, load64(key)));                                    \
  }

#define TABLE_OF_LAYOUT(i)                                                                        \
  {                                                                                               \
    .queries = {.contains = pqf_contains_bytes,                                                   \
                .contains_u64 = NOT_IN_MODULE(LAYOUT_NAME(pqf_contains_u64, i)),                  \
                .contains_digest = LAYOUT_NAME(pqf_contains_digest, i)},                          \
    .inserts = {.insert = NOT_IN_READER(pqf_insert_bytes),                                        \
                .insert_u64 = NOT_IN_READER(LAYOUT_NAME(pqf_insert_u64, i)),                      \
                .insert_digest = NOT_IN_READER(LAYOUT_NAME(pqf_insert_digest, i))},               \
    .removes = {.remove = NOT_IN_SMALL_CODE(LAYOUT_NAME(pqf_remove_key, i)),                      \
                .remove_digest = NOT_IN_READER(LAYOUT_NAME(pqf_take, i))},                        \
    .contains_many = NOT_IN_MODULE(LAYOUT_NAME(pqf_contains_many, i)),                            \
    .insert_many = NOT_IN_READER(LAYOUT_NAME(pqf_insert_many, i)),                                \
    .has = NOT_IN_READER(LAYOUT_NAME(pqf_has, i)), .put = NOT_IN_READER(LAYOUT_NAME(pqf_put, i)), \
  }

CALLS_OF_LAYOUT(0)
CALLS_OF_LAYOUT(1)

#ifdef BESOM_SMALL_CODE
#define TABLE_OF_WIDE_LAYOUT(i) TABLE_OF_LAYOUT(1)
#else
#define TABLE_OF_WIDE_LAYOUT(i) TABLE_OF_LAYOUT(i)
CALLS_OF_LAYOUT(2)
CALLS_OF_LAYOUT(3)
CALLS_OF_LAYOUT(4)
#endif

const struct pqf_calls NAME(BESOM_ISA)[BIN_LAYOUTS] = {
    TABLE_OF_LAYOUT(0), TABLE_OF_LAYOUT(1), TABLE_OF_WIDE_LAYOUT(2), TABLE_OF_WIDE_LAYOUT(3),
    TABLE_OF_WIDE_LAYOUT(4)};
