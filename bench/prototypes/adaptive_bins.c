/*
 * adaptive_bins [LOG2_SLOTS]: fingerprints with extensions in the table of pqf (bins), against aqf
 * and pqf, width 8, 0.9 keys per slot, in one run, alternately. Those of bins are inline.
 *
 *   bins   bins of 32 bytes: a header of 7 with 29 mini-quotients, 22 slots, and a flag per slot. A
 *          slot with a flag has 8 further bits of the hash of the fingerprint before it.
 *
 * If a bin is full and its last fingerprint is extended, an insert drops that extension first: what
 * is in the backyard is plain. Nothing is counted, and copies of a fingerprint in a bin and in the
 * backyard have no order: what is missing for aqf's policy only adds to these times.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "core/system/memory.h"
#include "partition/pqf_calls.c"
#include "prototype.h"
#include "quotient/quotient_filter.h"

static const struct bin_layout flagged = {32, 8, 22, 29, 5, 14, 34, 222};

/* ------------------------------------------------------------------ flags */

ALWAYS_INLINE uint32_t flags_of(const uint8_t *bin) {
  return (uint32_t)(load64(bin + 24) >> 40);
}

ALWAYS_INLINE void set_flags(uint8_t *bin, uint32_t flags) {
  store64(bin + 24, (load64(bin + 24) & bits_below(40)) | (uint64_t)flags << 40);
}

/* Of a digest, behind the bits of its fingerprint. */
ALWAYS_INLINE uint8_t extension_of(besom_digest d) {
  return (uint8_t)d.lo;
}

/* ------------------------------------------------------------------ queries */

/* Whether a fingerprint of the bin, perhaps with an extension, is that of the digest. */
static __attribute__((noinline)) bool bins_decide(const uint8_t *bin, struct pqf_place at,
                                                  besom_digest d) {
  struct slot_run run = run_of_header(bin_entries(bin, &flagged), at.mini);
  uint32_t flags = flags_of(bin),
           equal =
               (uint32_t)bin_matches(bin, &flagged, run, at.remainder) << run.first % 32 & ~flags;
  if (equal & ~(flags >> 1)) return true;
  for (; equal; equal &= equal - 1) {
    unsigned slot = trailing_zeros(equal) + 1;
    if (bin_remainder(bin, &flagged, slot) == extension_of(d)) return true;
  }
  return false;
}

/* In the backyard is what is not below the last fingerprint of the bin. */
static __attribute__((noinline)) bool bins_have_last(const struct pqf *p, besom_digest d) {
  struct pqf_place at = pqf_place_of(p, &flagged, d);
  const uint8_t *bin = bin_at(p, &flagged, at.bin);
  unsigned last = flagged.slots - 1u, extended = flags_of(bin) >> last;
  bool has_mini = load64(bin) >> (last + at.mini) & 1,
       below = has_mini & (at.remainder < bin_remainder(bin, &flagged, last - extended));
  if (bin_is_marked(bin, &flagged) & !below && pqf_has_spilled(p, &flagged, at)) return true;
  return bins_decide(bin, at, d);
}

/* A slot that has a flag, or is before one, is no plain fingerprint. */
ALWAYS_INLINE bool bins_have(const struct pqf *p, besom_digest d) {
  struct pqf_place at = pqf_place_of(p, &flagged, d);
  const uint8_t *bin = bin_at(p, &flagged, at.bin);
  uint64_t end = bin_run_end(bin, at);
  if (UNLIKELY(bin_ends_with(&flagged, end, at))) return bins_have_last(p, d);
  uint32_t equal = (uint32_t)bin_slots_equal(bin, &flagged, at.remainder), flags = flags_of(bin);
  if (UNLIKELY(equal & flags >> 1)) return bins_decide(bin, at, d);
  return (load64(bin) + _pdep_u64(equal & ~flags, load64(bin))) & end;
}

/* ------------------------------------------------------------------ changes */

/* A slot more, before this one, for an entry of this mini-quotient. */
ALWAYS_INLINE void open_slot(uint8_t *bin, unsigned slot, unsigned mini, uint8_t byte, bool flag) {
  uint32_t flags = flags_of(bin), below = flags & (uint32_t)bits_below(slot);
  bin_insert_at(bin, &flagged, bin_entries(bin, &flagged), slot + mini, mini, byte, false);
  set_flags(bin, 2 * flags - below + ((uint32_t)flag << slot));
}

/* After smaller remainders of the run, and their extensions. */
ALWAYS_INLINE void put_in_bin(uint8_t *bin, struct pqf_place at) {
  uint64_t entries = bin_entries(bin, &flagged), end = select_bit(~entries, at.mini);
  uint32_t flags = flags_of(bin),
           from = (uint32_t)bin_slots_from(bin, &flagged, at.remainder) | flags;
  unsigned place = 64 - leading_zeros(~_pdep_u64(from, entries) & (end - 1)),
           slot = place - at.mini;
  slot += trailing_zeros(~(uint64_t)flags >> slot);
  open_slot(bin, slot, at.mini, (uint8_t)at.remainder, false);
}

/* The bin is full, and its last fingerprint plain: the largest one goes to the backyard. */
static bool spill_plain(besom_filter *f, struct pqf_place at) {
  const struct pqf *p = pqf_of(f);
  uint8_t *bin = bin_at(p, &flagged, at.bin);
  uint64_t last = bin_last(bin, &flagged), value = value_of_place(&flagged, at),
           entries = bin_entries(bin, &flagged);
  if (value >= last) return pqf_spill_new(f, &flagged, at.bin, value, value == last) == BESOM_OK;
  if (!yards_insert(p, &flagged, at.bin, last)) return false;
  bin_set_header(bin, &flagged, entries ^ UINT64_C(1) << (63 - leading_zeros(entries)));
  put_in_bin(bin, at);
  bin_set_header(bin, &flagged, bin_header_of(&flagged, bin_entries(bin, &flagged), true));
  f->items++;
  return true;
}

/* The bin is full. */
static __attribute__((noinline)) bool bins_spill(besom_filter *f, struct pqf_place at) {
  uint8_t *bin = bin_at(pqf_of(f), &flagged, at.bin);
  uint32_t flags = flags_of(bin);
  unsigned last = flagged.slots - 1;
  if (!(flags >> last & 1)) return spill_plain(f, at);
  unsigned entry = 63 - leading_zeros(bin_entries(bin, &flagged));
  bool marked = bin_is_marked(bin, &flagged);
  set_flags(bin, flags ^ UINT32_C(1) << last);
  bin_remove(bin, &flagged, entry, entry - last);
  if (marked) {
    pqf_refill(pqf_of(f), &flagged, at.bin);
    return spill_plain(f, at);
  }
  put_in_bin(bin, at);
  f->items++;
  return true;
}

ALWAYS_INLINE bool bins_add(besom_filter *f, besom_digest d) {
  struct pqf_place at = pqf_place_of(pqf_of(f), &flagged, d);
  uint8_t *bin = bin_at(pqf_of(f), &flagged, at.bin);
  if (UNLIKELY(popcount(bin_entries(bin, &flagged)) >= flagged.slots)) return bins_spill(f, at);
  put_in_bin(bin, at);
  f->items++;
  return true;
}

/* Extends the fingerprint of a member, if it is in its bin, alone, plain, and there is room. */
static bool bins_extend(besom_filter *f, besom_digest d) {
  struct pqf_place at = pqf_place_of(pqf_of(f), &flagged, d);
  uint8_t *bin = bin_at(pqf_of(f), &flagged, at.bin);
  struct slot_run run = run_of_header(bin_entries(bin, &flagged), at.mini);
  uint32_t flags = flags_of(bin),
           equal =
               (uint32_t)bin_matches(bin, &flagged, run, at.remainder) << run.first % 32 & ~flags;
  if (popcount(bin_entries(bin, &flagged)) >= flagged.slots || popcount(equal) != 1) return false;
  if (equal & flags >> 1) return false;
  open_slot(bin, trailing_zeros(equal) + 1, at.mini, extension_of(d), true);
  return true;
}

/* ------------------------------------------------------------------ loops */

struct designs {
  besom_filter *aqf, *pqf;
  struct pqf bins;
  uint64_t n;
};

LOOP fill_aqf(besom_filter *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++)
    if (besom_insert_u64(f, member_key(i)) != BESOM_OK) exit(2);
  return to;
}

LOOP fill_bins(besom_filter *f, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++)
    if (!bins_add(f, xxh3_u64(&f->hasher, member_key(i)))) exit(2);
  return to;
}

LOOP ask_aqf(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += besom_contains_u64(f, keys[i]);
  return yes;
}

LOOP ask_bins(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++)
    yes += bins_have(const_pqf_of(f), xxh3_u64(&f->hasher, keys[i]));
  return yes;
}

static void compare_inserts(struct designs *d, const char *name, uint64_t from, uint64_t to) {
  double scale = 1e9 / (double)(to - from), t0 = seconds_now();
  fill_aqf(d->aqf, from, to);
  double t1 = seconds_now();
  fill_aqf(d->pqf, from, to);
  double t2 = seconds_now();
  fill_bins(&d->bins.head, from, to);
  double t3 = seconds_now();
  printf("%s,%.1f,%.1f,%.1f\n", name, (t1 - t0) * scale, (t2 - t1) * scale, (t3 - t2) * scale);
}

static void compare_queries(const struct designs *d, bool members) {
  uint64_t *keys = query_keys(members, d->n), yes[3];
  double ns[3][ROUNDS], t[4], negatives = QUERIES;
  for (int r = 0; r < ROUNDS; r++) {
    t[0] = seconds_now(), yes[0] = ask_aqf(d->aqf, keys);
    t[1] = seconds_now(), yes[1] = ask_aqf(d->pqf, keys);
    t[2] = seconds_now(), yes[2] = ask_bins(&d->bins.head, keys);
    t[3] = seconds_now();
    for (int i = 0; i < 3; i++) ns[i][r] = 1e9 * (t[i + 1] - t[i]) / QUERIES;
  }
  printf("%s,%.1f,%.1f,%.1f\n", members ? "positive" : "negative", median(ns[0]), median(ns[1]),
         median(ns[2]));
  if (!members)
    printf("1/fpr,%.0f,%.0f,%.0f\n", negatives / (double)yes[0], negatives / (double)yes[1],
           negatives / (double)yes[2]);
  for (int i = 0; i < 3; i++)
    if (members && yes[i] != QUERIES) exit(3);
  free(keys);
}

/* ------------------------------------------------------------------ one run */

static size_t make_bins(struct pqf *p, const besom_filter *model, uint64_t n) {
  const struct bin_layout *l = &flagged;
  p->head = *model;
  p->head.items = 0, p->head.capacity = UINT64_MAX;
  p->bins = 10 * n / l->keys_of_ten + 1, p->n_yards = besom__pqf_yards(l, p->bins);
  p->yards_inverse = UINT64_MAX / p->n_yards, p->unused_bits = 56;
  for (unsigned i = 0; i < MAX_FAN; i++) p->strides[i] = 1 + scaled(mixed(i + 1), p->n_yards - 1);
  size_t bytes = (size_t)besom__pqf_bytes(l, p->bins);
  p->memory = besom__allocate(&model->allocator, bytes + 64);
  if (!p->memory) exit(1);
  p->yards = (uint8_t *)p->memory + (-(uintptr_t)p->memory & 63);
  p->front = p->yards + p->n_yards * YARD_BYTES;
  return bytes;
}

static void run(uint64_t slots, unsigned percent) {
  static const uint8_t seed[16] = {1, 2, 3};
  struct designs d = {.n = slots / 10 * 9};
  besom_config
      aqf = {.kind = "aqf", .slots = slots, .width = 8, .seed = seed, .options = PROTOTYPE_ISA},
      pqf = {
          .kind = "pqf", .capacity = d.n, .seed = seed, .options = PROTOTYPE_ISA, .fpr = 1.0 / 256};
  if (besom_create(&aqf, &d.aqf) || besom_create(&pqf, &d.pqf)) exit(1);
  size_t bytes = make_bins(&d.bins, d.aqf, d.n);
  printf("%u %% of fingerprints of bins extended\noperation,aqf,pqf,bins\n", percent);
  compare_inserts(&d, "insert", 0, slots / 20 * 17);
  uint64_t extended = 0;
  for (uint64_t i = 0; 100 * extended < percent * d.n; i += 16)
    extended += bins_extend(&d.bins.head, xxh3_u64(&d.aqf->hasher, member_key(i)));
  compare_inserts(&d, "insert_last", slots / 20 * 17, d.n);
  for (int members = 0; members < 2; members++) compare_queries(&d, members);
  double per_key = 8 / (double)d.n;
  printf("bits_per_key,%.2f,%.2f,%.2f\n",
         (double)besom__qtable_size(&quotient_filter(d.aqf)->table) * per_key,
         (double)besom__pqf_bytes(const_pqf_of(d.pqf)->layout, const_pqf_of(d.pqf)->bins) * per_key,
         (double)bytes * per_key);
  besom__release(&d.aqf->allocator, d.bins.memory, bytes + 64);
  besom_free(d.aqf), besom_free(d.pqf);
}

int main(int argc, char **argv) {
  for (unsigned percent = 0; percent < 2; percent++) run(slots_of(argc, argv), percent);
  return 0;
}
