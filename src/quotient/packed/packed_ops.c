/*
 * Queries and changes of packed filters, compiled once per instruction set (BESOM_ISA). A query has
 * hardly a branch that depends on the key: it takes two words of runs, and one of remainders.
 */
#include <string.h>

#include "core/hash.h"
#include "quotient/packed/packed_table.h"

#define NAME_OF(isa) besom__packed_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct packed_ops *NAME(BESOM_ISA)(void);

/* ------------------------------------------------------------------ bits */

/* At least PACKED_WINDOW_BITS bits from `at` on. Reads 8 bytes, the first of which has bit `at`. */
ALWAYS_INLINE uint64_t packed_window(const uint64_t *words, size_t at) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t window;
  memcpy(&window, (const uint8_t *)words + at / 8, sizeof window);
  return window >> at % 8;
#else
  const uint64_t *w = words + at / 64;
  unsigned shift = at % 64;
  return shift < 8 ? w[0] >> shift : w[0] >> shift | w[1] << (64 - shift);
#endif
}

/* Moves all bits from `at` on up by n < 64, in an array whose last word is `last`. */
ALWAYS_INLINE void open_gap(uint64_t *words, size_t at, unsigned n, size_t last) {
  size_t first = at / 64, i = last;
  uint64_t low = words[first] & bits_below(at % 64);
  words[first] ^= low;
#ifdef __AVX2__
  const __m128i up = _mm_cvtsi32_si128((int)n), down = _mm_cvtsi32_si128((int)(64 - n));
  for (; i >= first + 4; i -= 4) {
    __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)(words + i - 3));
    __m256i before = _mm256_loadu_si256((const __m256i *)(const void *)(words + i - 4));
    here = _mm256_or_si256(_mm256_sll_epi64(here, up), _mm256_srl_epi64(before, down));
    _mm256_storeu_si256((__m256i *)(void *)(words + i - 3), here);
  }
#endif
  for (; i > first; i--) words[i] = words[i] << n | words[i - 1] >> (64 - n);
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

/* ------------------------------------------------------------------ runs */

/* A run: where its bits begin, the number of its first fingerprint, how many it has. */
struct packed_run {
  size_t at;
  uint32_t first, n;
};

/* The position after the n-th zero (n >= 1) from `at` on. Mostly it is in the first two words. */
ALWAYS_INLINE size_t after_zeros(const uint64_t *words, size_t at, unsigned n) {
  size_t i = at / 64;
  uint64_t zeros = ~words[i] & bits_from(at % 64), next = ~words[i + 1];
  unsigned here = popcount(zeros);
  bool beyond = here < n;
  n -= beyond ? here : 0;
  zeros = beyond ? next : zeros;
  i += beyond;
  while (UNLIKELY((here = popcount(zeros)) < n)) {
    n -= here;
    zeros = ~words[++i];
  }
  return 64 * i + trailing_zeros(select_bit(zeros, n - 1)) + 1;
}

ALWAYS_INLINE uint32_t ones_at(const uint64_t *words, size_t at) {
  uint32_t n = trailing_zeros(~packed_window(words, at) | UINT64_C(1) << (PACKED_WINDOW_BITS - 1)),
           more;
  if (LIKELY(n < PACKED_WINDOW_BITS - 1)) return n;
  for (n = 0;; n += more) {
    more = 64 - (at + n) % 64;
    uint32_t here = trailing_zeros(~(words[(at + n) / 64] >> (at + n) % 64));
    if (here < more) return n + here;
  }
}

ALWAYS_INLINE struct packed_run packed_run_of(const struct packed *p, uint64_t quotient) {
  const uint64_t *runs = runs_of(p);
  uint64_t step = quotient / DIRECTORY_STEP;
  size_t at = step * DIRECTORY_STEP + (step ? directory(p)[step - 1] : 0);
  if (LIKELY(quotient % DIRECTORY_STEP)) at = after_zeros(runs, at, quotient % DIRECTORY_STEP);
  return (struct packed_run){at, (uint32_t)(at - quotient), ones_at(runs, at)};
}

/* ------------------------------------------------------------------ remainders */

/* One bit, the highest of the field, for each of the next n fingerprints that is equal. */
ALWAYS_INLINE uint64_t equal_fields(const struct packed *p, uint32_t first, uint32_t n,
                                    uint64_t remainder) {
  const struct packed_model *m = p->model;
  uint64_t lows = m->fields, tops = lows << (m->width - 1);
  uint64_t fields = n < m->fields_per_window ? bits_below(n * m->width) : ~UINT64_C(0);
  uint64_t x = packed_window(remainders_of(p), (size_t)first * m->width) ^ lows * remainder;
  uint64_t others = (((x & ~tops) + (tops - lows)) | x) & tops; /* fields that are not 0 */
  return (others ^ tops) & fields;
}

struct equal_remainders {
  uint64_t n;
  uint32_t last; /* the number of the last one; the end of the run if there is none */
};

ALWAYS_INLINE struct equal_remainders find_equal(const struct packed *p,
                                                 const struct packed_run *run, uint64_t remainder) {
  struct equal_remainders found = {0, run->first + run->n};
  uint32_t i = 0;
  do {
    uint64_t equal = equal_fields(p, run->first + i, run->n - i, remainder);
    found.n += popcount(equal);
    if (equal) found.last = run->first + i + (63 - leading_zeros(equal)) / p->model->width;
    i += p->model->fields_per_window;
  } while (UNLIKELY(i < run->n));
  return found;
}

/* ------------------------------------------------------------------ calls */

static uint64_t packed_count(const struct packed *p, besom_digest d) {
  struct address a = address_of(d, p->model->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  return find_equal(p, &run, remainder_of(a, p->model->width)).n;
}

static bool packed_contains(const struct packed *p, besom_digest d) {
  struct address a = address_of(d, p->model->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  uint64_t remainder = remainder_of(a, p->model->width), equal = 0;
  uint32_t i = 0;
  do {
    equal |= equal_fields(p, run.first + i, run.n - i, remainder);
    i += p->model->fields_per_window;
  } while (UNLIKELY(i < run.n));
  return equal != 0;
}

static void packed_insert(struct packed *p, besom_digest d) {
  const struct packed_model *m = p->model;
  struct address a = address_of(d, m->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  uint64_t *runs = runs_of(p), *remainders = remainders_of(p);
  uint64_t remainder = remainder_of(a, m->width);
  struct equal_remainders equal = find_equal(p, &run, remainder);
  size_t at = (size_t)(equal.n ? equal.last + 1 : equal.last) * m->width;
  open_gap(runs, run.at, 1, (m->slots + p->items) / 64);
  set_bits(runs, run.at, 1, 1);
  open_gap(remainders, at, m->width, remainder_words(m, p->items + 1) - 1);
  set_bits(remainders, at, m->width, remainder);
  count_in_directory(p, a.quotient, 1);
  p->items++;
  p->copies += equal.n > 0;
  p->slack--;
}

static bool packed_remove(struct packed *p, besom_digest d) {
  const struct packed_model *m = p->model;
  struct address a = address_of(d, m->slots);
  struct packed_run run = packed_run_of(p, a.quotient);
  struct equal_remainders equal = find_equal(p, &run, remainder_of(a, m->width));
  if (!equal.n) return false;
  close_gap(runs_of(p), run.at, 1, (m->slots + p->items - 1) / 64);
  close_gap(remainders_of(p), (size_t)equal.last * m->width, m->width,
            remainder_words(m, p->items) - 1);
  count_in_directory(p, a.quotient, -1);
  p->copies -= equal.n > 1;
  p->items--;
  return true;
}

static const struct packed_ops packed_ops = {packed_contains, packed_count, packed_insert,
                                             packed_remove};

const struct packed_ops *NAME(BESOM_ISA)(void) {
  return &packed_ops;
}
