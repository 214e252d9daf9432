#include "papers/telescoping/slot_meta_code.h"

/* ------------------------------------------------------------------ probabilities */

#define WHOLE (UINT64_C(1) << CODE_BITS)
#define FRACTION_BITS 62
#define ONE (UINT64_C(1) << FRACTION_BITS)
#define ROOT_OF_HALF UINT64_C(0x2d413cccfe779921) /* sqrt(1/2) times 2^62 */
#define SELECTOR_PROBABILITY (UINT64_C(1) << 61)
#define EXTENSION_PROBABILITY \
  (UINT64_C(1) << 60) /* 1 in 16 slots: then the most extensions fit, 6 on average */

static uint64_t multiply_high(uint64_t a, uint64_t b) {
  return (uint64_t)((unsigned __int128)a * b >> 64);
}

static uint64_t multiply_fractions(uint64_t a, uint64_t b) {
  return (uint64_t)((unsigned __int128)a * b >> FRACTION_BITS);
}

static uint64_t slot_meta_code_shifted(uint64_t x, unsigned by) {
  return by < 64 ? x >> by : 0;
}

/* All slots have metadata with the same probability, independently. */
static void set_gaps(struct code_model *m, uint64_t probability) {
  m->some[0] = 0;
  m->some[1] = probability;
  for (unsigned n = 1; n < CODE_SLOTS; n++)
    m->some[n + 1] = m->some[n] + multiply_high(0 - m->some[n], probability);
  for (unsigned n = 0; n <= CODE_SLOTS; n++)
    m->none_below[n] = WHOLE - (m->some[n] >> (64 - CODE_BITS));
  for (uint64_t i = 0; i < CODE_SLOTS; i++) {
    unsigned n = 0;
    while (n < CODE_SLOTS && (i + 1) << (CODE_BITS - 6) <= m->none_below[n + 1]) n++;
    m->none_at_least[i] = (uint8_t)n;
  }
}

/*
 * The code is full only in blocks with many selectors, so it is designed for those: a slot has one
 * with probability 1/8, and each further value has 1/8 of the probability of the one before. Under
 * 4-bit remainders a new remainder often matches again, hence 2^-width. By the true distribution
 * (bench/claims/selectors.c) a hundredth as many blocks overflow as with the published code at 20
 * queries per slot and 8 bits.
 */
void besom__code_for_selectors(struct code_model *m, unsigned width) {
  unsigned falls_by = width < 3 ? width : 3; /* bits */
  m->extensions = m->all_slots = false;
  m->last_selector = MAX_SELECTOR;
  m->smaller[0] = m->smaller[1] = 0;
  for (unsigned k = 1; k < MAX_SELECTOR; k++)
    m->smaller[k + 1] = 0 - (UINT64_C(1) << (64 - falls_by * k));
  set_gaps(m, SELECTOR_PROBABILITY);
}

/*
 * Corollary 3 with c = 1 / (4 sqrt(e)) unique queries per key, e = 2^-width: the probability of
 * selector k is below e^k (c/1! + c^2/2! + ... + c^k/k!), that of selector 0 below exp(-c e). With
 * x = c e the terms are x^i/i! * e^(k - i). The bounds are normalized by their sum.
 */
void besom__code_for_corollary_selectors(struct code_model *m, unsigned width) {
  uint64_t x = slot_meta_code_shifted(width % 2 ? ROOT_OF_HALF : ONE, width / 2 + 2);
  uint64_t terms[MAX_SELECTOR + 1] = {ONE}, shares[MAX_SELECTOR + 1], sum = 0, none = ONE;
  for (unsigned i = 1; i <= MAX_SELECTOR; i++) {
    terms[i] = multiply_fractions(terms[i - 1], x) / i;
    none = i % 2 ? none - terms[i] : none + terms[i]; /* the series of exp(-x) */
  }
  for (unsigned k = 1; k <= MAX_SELECTOR; k++) {
    shares[k] = 1;
    for (unsigned i = 1; i <= k; i++)
      shares[k] += slot_meta_code_shifted(terms[i], width * (k - i));
    sum += shares[k];
  }
  m->extensions = m->all_slots = false;
  m->last_selector = MAX_SELECTOR;
  m->smaller[0] = m->smaller[1] = 0;
  for (unsigned k = 1; k < MAX_SELECTOR; k++)
    m->smaller[k + 1] = m->smaller[k] + (uint64_t)(((unsigned __int128)shares[k] << 64) / sum);
  set_gaps(m, (uint64_t)(((unsigned __int128)sum << 64) / (sum + none)));
}

/* Figure 5.2 of the thesis: the probabilities of selectors 0 to 5 in units of 2^-23. */
static const uint64_t figure_5_2[MAX_PUBLISHED_SELECTOR] = {
    (1 << 22) + (1 << 21) + (1 << 18),
    (1 << 20) + (1 << 19) + (1 << 16) + (1 << 14),
    (1 << 17) + (1 << 15),
    (1 << 13) + (1 << 12),
    (1 << 9) + (1 << 7),
    (1 << 4) + (1 << 3) + 1,
};

/* exp(-x) is the probability of selector 0, 25/32. */
#define QUERIES_PER_SLOT UINT64_C(0x0fcc8e3659d9bcbe) /* x = -ln(25/32), times 2^62 */

/*
 * The share of selector k, 1 to 6, among those that are not 0, in any unit. Lemma 5.2: below e^k (c
 * + c^2/2! + ... + c^k/k!), with x = c e the terms are x^i/i! e^(k - i).
 */
static uint64_t published_share(unsigned k, unsigned width) {
  if (width == 8) {
    uint64_t rest = 1 << 23;
    for (unsigned i = 0; i < MAX_PUBLISHED_SELECTOR; i++) rest -= figure_5_2[i];
    return k < MAX_PUBLISHED_SELECTOR ? figure_5_2[k] : rest;
  }
  uint64_t term = ONE, share = 1;
  for (unsigned i = 1; i <= k; i++) {
    term = multiply_fractions(term, QUERIES_PER_SLOT) / i;
    share += slot_meta_code_shifted(term, width * (k - i));
  }
  return share;
}

void besom__code_for_published_selectors(struct code_model *m, unsigned width) {
  uint64_t sum = 0;
  m->extensions = false;
  m->all_slots = true;
  m->last_selector = MAX_PUBLISHED_SELECTOR;
  m->smaller[0] = m->smaller[1] = 0;
  for (unsigned k = 1; k <= MAX_PUBLISHED_SELECTOR; k++) sum += published_share(k, width);
  for (unsigned k = 1; k < MAX_SELECTOR; k++) {
    uint64_t share = k < MAX_PUBLISHED_SELECTOR ? published_share(k, width) : 0;
    m->smaller[k + 1] = m->smaller[k] + (uint64_t)(((unsigned __int128)share << 64) / sum);
  }
  set_gaps(m, 0 - (figure_5_2[0] << 41));
}

void besom__code_for_published_extensions(struct code_model *m) {
  memset(m, 0, sizeof *m);
  m->extensions = m->all_slots = true;
  set_gaps(m, UINT64_C(3) << 59); /* 3/32 */
}

void besom__code_for_extensions(struct code_model *m) {
  memset(m, 0, sizeof *m);
  m->extensions = true;
  set_gaps(m, EXTENSION_PROBABILITY);
}

/* ------------------------------------------------------------------ parts of an interval */

/* Encoding: the interval that is left. Decoding: low is the position of the code in it. */
struct interval {
  uint64_t low, range;
};

/* Codes below this have no metadata in the next n slots. Not 0 unless the interval is empty. */
static uint64_t none_of(const struct code_model *m, uint64_t range, unsigned n) {
  return range - multiply_high(range, m->some[n]);
}

static void narrow(struct interval *in, uint64_t from, uint64_t to) {
  in->low += from;
  in->range = to - from;
}

static bool is_within(const struct interval *in, uint64_t end) {
  return in->low < end;
}

static void descend(struct interval *in, uint64_t from, uint64_t to) {
  in->low -= from;
  in->range = to - from;
}

static uint64_t selectors_up_to(const struct code_model *m, uint64_t range, unsigned selector) {
  return selector < m->last_selector ? multiply_high(range, m->smaller[selector + 1]) : range;
}

/* ------------------------------------------------------------------ selectors and extensions */

static void put_selector(const struct code_model *m, struct interval *in, slot_meta selector) {
  narrow(in, selectors_up_to(m, in->range, selector - 1), selectors_up_to(m, in->range, selector));
}

static slot_meta take_selector(const struct code_model *m, struct interval *in) {
  slot_meta selector = 1;
  while (selector < m->last_selector && !is_within(in, selectors_up_to(m, in->range, selector)))
    selector++;
  descend(in, selectors_up_to(m, in->range, selector - 1), selectors_up_to(m, in->range, selector));
  return selector;
}

/*
 * Chooses the lower or the upper half. The lower half of an odd range is the larger one, so that it
 * is never empty.
 */
static void put_half(struct interval *in, bool upper) {
  uint64_t half = in->range - in->range / 2;
  if (upper)
    narrow(in, half, in->range);
  else
    narrow(in, 0, half);
}

static bool take_half(struct interval *in) {
  uint64_t half = in->range - in->range / 2;
  bool upper = !is_within(in, half);
  if (upper)
    descend(in, half, in->range);
  else
    descend(in, 0, half);
  return upper;
}

/* Writes a bit, then for each further bit "more" and the bit. */
static void put_extension(struct interval *in, slot_meta extension) {
  for (unsigned left = 63 - leading_zeros(extension); left--;) {
    put_half(in, extension >> left & 1);
    put_half(in, left > 0);
  }
}

static slot_meta take_extension(struct interval *in) {
  slot_meta extension = 1;
  do extension = extension << 1 | take_half(in);
  while (take_half(in) && extension >> MAX_META_EXTENSION == 0);
  return extension;
}

/* ------------------------------------------------------------------ blocks */

static bool is_too_large(const struct code_model *m, slot_meta n) {
  return m->extensions ? n >> (MAX_META_EXTENSION + 1) : n > m->last_selector;
}

/* Whether an interval of two numbers or more is left after the slots without metadata. */
static bool rest_fits(const struct code_model *m, uint64_t range, unsigned next) {
  return next == 0 || (next == CODE_SLOTS ? range : none_of(m, range, CODE_SLOTS - next)) >= 2;
}

bool besom__meta_encode(const struct code_model *m, const slot_meta *meta, uint64_t *code) {
  struct interval in = {0, WHOLE};
  unsigned next = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    if (!meta[i]) continue;
    if (is_too_large(m, meta[i])) return false;
    narrow(&in, none_of(m, in.range, i + 1 - next), none_of(m, in.range, i - next));
    if (m->extensions)
      put_extension(&in, meta[i]);
    else
      put_selector(m, &in, meta[i]);
    if (!in.range) return false;
    next = i + 1;
  }
  *code = in.low;
  return !m->all_slots || rest_fits(m, in.range, next);
}

static slot_meta descend_to_meta(const struct code_model *m, struct interval *in, unsigned gap) {
  descend(in, none_of(m, in->range, gap + 1), none_of(m, in->range, gap));
  return m->extensions ? take_extension(in) : take_selector(m, in);
}

/*
 * The number of slots from `next` on before the first one with metadata; all remaining ones if
 * there is none.
 */
static unsigned gap_from(const struct code_model *m, const struct interval *in, unsigned next) {
  unsigned fewest = 0, most = CODE_SLOTS - next; /* bounds: at least, less than */
  if (!in->low || is_within(in, none_of(m, in->range, most))) return most;
  while (most - fewest > 1) {
    unsigned middle = (fewest + most) / 2;
    if (is_within(in, none_of(m, in->range, middle)))
      fewest = middle;
    else
      most = middle;
  }
  return fewest;
}

/*
 * The same from slot 0: its boundaries are precomputed, and the first bits of the code nearly
 * determine the gap.
 */
static unsigned first_gap(const struct code_model *m, uint64_t code) {
  unsigned gap = m->none_at_least[code >> (CODE_BITS - 6)];
  while (gap < CODE_SLOTS && code < m->none_below[gap + 1]) gap++;
  return gap;
}

void besom__meta_decode(const struct code_model *m, uint64_t code, slot_meta *meta) {
  struct interval in = {code, WHOLE};
  memset(meta, 0, CODE_SLOTS * sizeof *meta);
  for (unsigned gap = first_gap(m, code), next = 0; next + gap < CODE_SLOTS;
       gap = gap_from(m, &in, next)) {
    meta[next + gap] = descend_to_meta(m, &in, gap);
    next += gap + 1;
    if (next == CODE_SLOTS) break;
  }
}

/* Decodes only the gaps that end before `first`, then compares the next gap with `last`. */
bool besom__code_has_meta_from(const struct code_model *m, uint64_t code, unsigned first,
                               unsigned last) {
  struct interval in = {code, WHOLE};
  unsigned gap = first_gap(m, code), next = 0;
  while (next + gap < first) {
    descend_to_meta(m, &in, gap);
    next += gap + 1;
    if (next > last || is_within(&in, none_of(m, in.range, last + 1 - next))) return false;
    gap = gap_from(m, &in, next);
  }
  return next + gap <= last;
}
