/*
 * Multislot fingerprints against a model: for every quotient the list of what was written, in
 * order. After each change the table is checked and everything is read again.
 */
#include "quotient/fingerprint/multislot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/hash.h"
#include "quotient/table/cursor.h"
#include "quotient/table/walk.h"
#include "support/heap.h"
#include "support/keys.h"

enum { MOST = 400 };

/* What the tables of a test have: slots with tags, or whole slots. */
static enum table_code code = NO_CODE;

/* All fingerprints of a table in the order of their runs. */
struct model {
  struct fingerprint list[MOST]; /* without position and slots */
  size_t n;
  uint64_t slots; /* that all of them take */
};

static struct qtable new_table_of(const struct qtable_shape *shape, enum isa isa) {
  struct qtable t;
  besom__qtable_init(&t, shape, isa, heap_array(1, besom__qtable_bytes(shape)));
  return t;
}

static struct qtable new_table(uint64_t slots, unsigned width, unsigned value_bits) {
  struct qtable_shape shape = {
      .slots = slots, .width = width, .heads = true, .code = code, .value_bits = value_bits};
  return new_table_of(&shape, besom__isa_best());
}

static void free_table(struct qtable *t) {
  free(t->blocks);
}

static void assert_sound(const char *wrong) {
  if (wrong) fail_msg("%s", wrong);
}

static besom_digest first_bits_of(besom_digest d, unsigned bits) {
  for (unsigned i = bits; i < 128; i++)
    *(i < 64 ? &d.hi : &d.lo) &= ~(UINT64_C(1) << (63 - i % 64));
  return d;
}

static besom_digest random_digest(random_stream *random) {
  uint64_t hi = random_next(random);
  return (besom_digest){hi, random_next(random)};
}

static unsigned payload_of(unsigned width) {
  return code == WHOLE_SLOTS ? width : width - (width < 7 ? 1 : width == 7 ? 2 : 3);
}

/* A counter takes the fewest slots in which all counts from 2 to its own are told apart. */
static unsigned counter_slots_by_definition(uint64_t count, unsigned width) {
  unsigned slots = 0;
  long double below = 2, own = (long double)count;
  while (below <= own) {
    slots++;
    if (slots * payload_of(width) >= 2) below += ldexpl(1, (int)(slots * payload_of(width)) - 2);
  }
  return 1 + slots;
}

/* The number of slots by definition: flags, gamma code of the count, extension, closing bit. */
static unsigned slots_by_definition(uint64_t count, unsigned extension_bits, unsigned width) {
  if (count == 1 && extension_bits == 0) return 1;
  if (count > 1 && extension_bits == 0) return counter_slots_by_definition(count, width);
  unsigned bits = 1 + extension_bits + 1;
  if (count != 1) {
    unsigned length = 0;
    for (uint64_t x = count ? count : 1; x; x /= 2) length++;
    bits += 1 + 2 * length - 1;
  }
  unsigned slots = 1;
  for (unsigned room = 0; room < bits; room += payload_of(width)) slots++;
  return slots;
}

static void assert_same(const struct qtable *t, const struct model *m) {
  struct qtable_cursor c;
  assert_sound(besom__qtable_check(t));
  besom__qtable_first(t, &c);
  for (size_t i = 0; i < m->n; i++) {
    const struct fingerprint *should = &m->list[i];
    assert_true(besom__qtable_next(&c));
    struct fingerprint is = besom__fingerprint_read(t, c.quotient, c.position);
    assert_sound(besom__fingerprint_check(t, &is));
    assert_int_equal(is.position, c.position);
    assert_int_equal(is.slots, c.slots);
    assert_int_equal(is.slots,
                     slots_by_definition(should->count, should->extension_bits, t->width));
    assert_int_equal(is.quotient, should->quotient);
    assert_int_equal(is.remainder, should->remainder);
    assert_int_equal(is.value, should->value);
    assert_int_equal(is.count, should->count);
    assert_int_equal(is.extension_bits, should->extension_bits);
    assert_int_equal(is.extension.hi, should->extension.hi);
    assert_int_equal(is.extension.lo, should->extension.lo);
  }
  assert_false(besom__qtable_next(&c));
  assert_int_equal(t->used, m->slots);
  assert_int_equal(t->further_slots, m->slots - m->n);
}

/* Reads the i-th fingerprint. */
static struct fingerprint locate(const struct qtable *t, size_t i) {
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  for (size_t j = 0; j <= i; j++) assert_true(besom__qtable_next(&c));
  return besom__fingerprint_read(t, c.quotient, c.position);
}

/*
 * A digest with this quotient and rest; the last 12 bits of the rest must be 0. At most 4095 slots.
 */
static besom_digest digest_at(const struct qtable *t, uint64_t quotient, unsigned __int128 rest) {
  unsigned __int128 upper = (unsigned __int128)quotient << 64 | (uint64_t)(rest >> 64);
  unsigned __int128 lower = upper % t->slots << 64 | (uint64_t)rest;
  unsigned __int128 d = (upper / t->slots << 64) + lower / t->slots + 1; /* division rounds down */
  return (besom_digest){(uint64_t)(d >> 64), (uint64_t)d};
}

/* A digest with this quotient and remainder. */
static besom_digest digest_for(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  return digest_at(t, quotient, (unsigned __int128)remainder << (128 - t->width));
}

static bool add_at(struct qtable *t, struct model *m, uint64_t quotient, uint64_t remainder) {
  if (m->n == MOST || t->ops->insert(t, digest_for(t, quotient, remainder), NULL) != BESOM_OK)
    return false;
  size_t at = m->n;
  while (at && m->list[at - 1].quotient > quotient) at--;
  memmove(m->list + at + 1, m->list + at, (m->n++ - at) * sizeof *m->list);
  m->list[at] = (struct fingerprint){.quotient = quotient, .remainder = remainder, .count = 1};
  m->slots++;
  return true;
}

static bool add_one(struct qtable *t, struct model *m, random_stream *random) {
  uint64_t quotient = random_below(random, t->slots),
           remainder = random_next(random) >> (64 - t->width);
  return add_at(t, m, quotient, remainder);
}

/* Counts of all lengths, mostly the smallest and the largest. 0 can be written, too. */
static uint64_t random_count(random_stream *random) {
  switch (random_below(random, 4)) {
  case 0:
    return 1;
  case 1:
    return random_below(random, 5);
  case 2:
    return UINT64_C(1) << 62;
  default:
    return random_next(random) >> (2 + random_below(random, 62));
  }
}

static unsigned random_bits(random_stream *random) {
  uint64_t most = random_below(random, 2) ? 8 : MAX_EXTENSION;
  return (unsigned)random_below(random, most + 1);
}

static void change(struct fingerprint *fp, const struct qtable *t, random_stream *random) {
  fp->count = random_count(random);
  fp->extension_bits = random_bits(random);
  fp->extension = first_bits_of(random_digest(random), fp->extension_bits);
  fp->value = t->value_bits ? random_next(random) >> (64 - t->value_bits) : 0;
}

/* Changes one fingerprint. FULL must not have changed a single bit. */
static void rewrite_one(struct qtable *t, struct model *m, random_stream *random, size_t *full) {
  if (m->n == 0) return;
  size_t i = (size_t)random_below(random, m->n), bytes = besom__qtable_size(t);
  struct fingerprint fp = locate(t, i);
  uint8_t *before = heap_array(1, bytes);
  memcpy(before, t->blocks, bytes);
  unsigned had = fp.slots;
  change(&fp, t, random);
  besom_status status = besom__fingerprint_write(t, &fp);
  if (status == BESOM_OK) {
    m->slots += slots_by_definition(fp.count, fp.extension_bits, t->width);
    m->slots -= had;
    m->list[i] = fp;
  } else {
    assert_int_equal(status, BESOM_FULL);
    assert_memory_equal(before, t->blocks, bytes);
    ++*full;
  }
  free(before);
}

static void remove_one(struct qtable *t, struct model *m, random_stream *random) {
  if (m->n == 0) return;
  size_t i = (size_t)random_below(random, m->n);
  struct fingerprint fp = locate(t, i);
  besom__fingerprint_remove(t, &fp);
  m->slots -= fp.slots;
  memmove(m->list + i, m->list + i + 1, (--m->n - i) * sizeof *m->list);
}

static size_t random_operations(uint64_t slots, unsigned width, unsigned value_bits,
                                uint64_t seed) {
  struct qtable t = new_table(slots, width, value_bits);
  struct model *m = heap_array(1, sizeof *m);
  random_stream random = {seed};
  size_t full = 0;
  for (size_t step = 0; step < 400; step++) {
    uint64_t dice = random_below(&random, 10);
    if (dice < 3)
      add_one(&t, m, &random);
    else if (dice < (step % 100 < 60 ? 9 : 5))
      rewrite_one(&t, m, &random, &full);
    else
      remove_one(&t, m, &random);
    assert_same(&t, m);
  }
  while (m->n) remove_one(&t, m, &random);
  for (size_t i = 0; i < besom__qtable_size(&t); i++) assert_int_equal(t.blocks[i], 0);
  free(m);
  free_table(&t);
  return full;
}

static void what_is_written_is_read_and_the_rest_stays(void **state) {
  (void)state;
  size_t full = 0;
  for (unsigned width = 2; width <= 21; width++) {
    unsigned w = width <= 20 ? width : 64;
    full += random_operations(1 + width % 4, w, 0, width);
    full += random_operations(150, w, 5, 100 + width);
    full += random_operations(500, w, 0, 200 + width);
  }
  assert_true(full > 100);
}

/* A fingerprint between two neighbours grows and shrinks back: the bytes are as before. */
static void shrinking_back_restores_the_bytes(void **state) {
  (void)state;
  for (unsigned width = 2; width <= 21; width++) {
    struct qtable t = new_table(width < 5 ? 500 : 200, width <= 20 ? width : 64, width % 3 ? 7 : 0);
    struct model *m = heap_array(1, sizeof *m);
    random_stream random = {width};
    size_t full = 0, bytes = besom__qtable_size(&t), written = 0;
    for (size_t i = 0; i < 60; i++) add_one(&t, m, &random);
    for (size_t i = 0; i < 10; i++) rewrite_one(&t, m, &random, &full);
    uint8_t *before = heap_array(1, bytes);
    memcpy(before, t.blocks, bytes);
    for (size_t step = 0; step < 200; step++) {
      struct fingerprint old = locate(&t, (size_t)random_below(&random, m->n)), now = old;
      change(&now, &t, &random);
      if (besom__fingerprint_write(&t, &now) == BESOM_OK) {
        now = besom__fingerprint_read(&t, old.quotient, old.position);
        assert_sound(besom__fingerprint_check(&t, &now));
        assert_int_equal(besom__fingerprint_write(&t, &old), BESOM_OK);
        written++;
      }
      assert_memory_equal(before, t.blocks, bytes);
    }
    assert_true(written > 20);
    free(before);
    free(m);
    free_table(&t);
  }
}

/* Whether one of the fingerprints is a member's and matches this address. */
static bool model_has(const struct model *m, struct address a, unsigned width) {
  bool has = false;
  for (size_t i = 0; i < m->n; i++)
    has |= m->list[i].quotient == a.quotient && m->list[i].remainder == remainder_of(a, width) &&
           besom__fingerprint_matches(&m->list[i], a.rest, width);
  return has;
}

/*
 * A digest that begins with the fingerprint. In half of the cases one bit of the extension is
 * flipped.
 */
static besom_digest near_to(const struct qtable *t, const struct fingerprint *fp,
                            random_stream *random) {
  besom_digest e = random_digest(random), its = fp->extension;
  unsigned __int128 rest = ((unsigned __int128)e.hi << 64 | e.lo) >> fp->extension_bits;
  rest |= (unsigned __int128)its.hi << 64 | its.lo;
  if (fp->extension_bits && random_below(random, 2))
    rest ^= (unsigned __int128)1 << (127 - random_below(random, fp->extension_bits));
  rest = rest >> (t->width - 1) >> 1 | (unsigned __int128)fp->remainder << (128 - t->width);
  return digest_at(t, fp->quotient, rest >> 12 << 12);
}

/* Queries keys near each fingerprint. MAYBE is allowed; the other answers are counted. */
static void query_near(const struct qtable *t, const struct model *m, random_stream *random,
                       size_t *answers) {
  for (size_t i = 0; i < m->n; i++) {
    besom_digest d = near_to(t, &m->list[i], random);
    enum answer answer = t->ops->contains(t, d);
    if (answer != ANSWER_MAYBE)
      assert_int_equal(answer == ANSWER_YES, model_has(m, address_of(d, t->slots), t->width));
    answers[answer]++;
  }
}

/* Fingerprints of all sorts, two with each remainder. */
static void add_pairs(struct qtable *t, struct model *m, random_stream *random) {
  t->extended = 1;
  while (m->n < 150) {
    uint64_t quotient = random_below(random, t->slots),
             remainder = random_next(random) >> (64 - t->width);
    for (int i = 0; i < 2; i++) assert_true(add_at(t, m, quotient, remainder));
  }
  for (size_t i = 0; i < m->n; i++) {
    struct fingerprint fp = locate(t, i);
    change(&fp, t, random);
    if (random_below(random, 3)) fp.count = 1;
    /* with the two bits around them: a word, one bit less or one bit more */
    if (random_below(random, 8) == 0) {
      fp.extension_bits = 61 + (unsigned)random_below(random, 3);
      fp.extension = first_bits_of(random_digest(random), fp.extension_bits);
    }
    fp.value = 0;
    fp.tagged = random_below(random, 8) == 0 && has_tags(t);
    if (besom__fingerprint_slots(fp.count, fp.extension_bits, payload_of(t->width)) > 9) continue;
    assert_int_equal(besom__fingerprint_write(t, &fp), BESOM_OK);
    m->list[i] = fp;
  }
}

/*
 * A query usually compares the extension itself, in slots with tags. A tagged fingerprint and one
 * with a count of 0 match nothing. The answer is no only if no fingerprint with the remainder
 * matches.
 */
static void a_query_answers_by_the_extension(void **state) {
  (void)state;
  for (unsigned width = 2; width <= 21; width++)
    for (int best = 0; best < 2; best++) {
      struct qtable_shape shape = {.slots = 3000,
                                   .width = width <= 20 ? width : 64,
                                   .heads = true,
                                   .code = code == NO_CODE ? TAGS : code,
                                   .value_bits = code == NO_CODE};
      struct qtable t = new_table_of(&shape, best ? besom__isa_best() : ISA_PORTABLE);
      struct model *m = heap_array(1, sizeof *m);
      random_stream random = {width};
      size_t answers[4] = {0};
      add_pairs(&t, m, &random);
      for (int round = 0; round < 20; round++) query_near(&t, m, &random, answers);
      assert_true(answers[code == NO_CODE ? ANSWER_NO : ANSWER_MAYBE] > 20);
      assert_true(answers[ANSWER_YES] > (code == NO_CODE ? 200 : 20));
      free(m);
      free_table(&t);
    }
}

/* Appended in order to an empty table of any width: the same fingerprints. */
static void appending_gives_the_same_fingerprints(void **state) {
  (void)state;
  for (unsigned width = 2; width <= 21; width++) {
    unsigned w = width <= 20 ? width : 64;
    struct qtable t = new_table(300, w, 3);
    struct model *m = heap_array(1, sizeof *m);
    random_stream random = {width};
    struct qtable_appender out = qtable_append_start(&t);
    for (uint64_t quotient = 0; quotient < 300; quotient += random_below(&random, 3 * 128 / w)) {
      struct fingerprint *fp = &m->list[m->n];
      fp->quotient = quotient;
      fp->remainder = random_next(&random) >> (64 - w);
      change(fp, &t, &random);
      unsigned slots = besom__fingerprint_slots(fp->count, fp->extension_bits, payload_of(w));
      if (m->n == MOST - 1 || m->slots + slots > 300) break;
      assert_int_equal(besom__fingerprint_append(&out, fp), BESOM_OK);
      m->slots += slots;
      m->n++;
    }
    assert_true(m->n > 1);
    qtable_append_finish(&out, &t);
    assert_same(&t, m);
    free(m);
    free_table(&t);
  }
}

static void slots_and_stretch_follow_the_definition(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 3, 6, 7, 100, UINT64_C(1) << 40, UINT64_C(1) << 62};
  for (unsigned width = 2; width <= 64; width++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (unsigned bits = 0; bits <= MAX_EXTENSION; bits++) {
        unsigned slots = slots_by_definition(counts[c], bits, width);
        assert_int_equal(besom__fingerprint_slots(counts[c], bits, payload_of(width)), slots);
        unsigned longest = besom__fingerprint_stretch(counts[c], bits, payload_of(width));
        if (bits == 0) continue; /* no extension to stretch */
        assert_true(longest >= bits && longest <= MAX_EXTENSION);
        assert_int_equal(slots_by_definition(counts[c], longest, width), slots);
        if (longest < MAX_EXTENSION)
          assert_int_equal(slots_by_definition(counts[c], longest + 1, width), slots + 1);
      }
  assert_int_equal(besom__fingerprint_stretch(1, 0, payload_of(8)), 0);
}

/* The sizes that multislot.h promises for remainders of 8 bits. */
static void counters_of_8_bits_are_small(void **state) {
  (void)state;
  static const struct sizes {
    uint64_t first, last;
    unsigned slots;
  } tagged[] = {{1, 1, 1}, {2, 9, 2}, {10, 265, 3}, {266, 8457, 4}},
    whole[] = {{1, 1, 1}, {2, 65, 2}, {66, 16449, 3}, {16450, 17000, 4}};
  for (size_t i = 0; i < 4; i++) {
    const struct sizes s = code == WHOLE_SLOTS ? whole[i] : tagged[i];
    for (uint64_t count = s.first; count <= s.last; count++)
      assert_int_equal(besom__fingerprint_slots(count, 0, payload_of(8)), s.slots);
  }
  for (unsigned width = 2; width <= 64; width++) /* no count takes fewer slots than a lower one */
    for (uint64_t count = 1; count < 5000; count++)
      assert_true(besom__fingerprint_slots(count, 0, payload_of(width)) <=
                  besom__fingerprint_slots(count + 1, 0, payload_of(width)));
}

static unsigned bit_of(besom_digest d, unsigned i) {
  if (i >= 128) return 0;
  return (i < 64 ? d.hi >> (63 - i) : d.lo >> (127 - i)) & 1;
}

/* Bit by bit. A fingerprint matches what begins with its extension, and nothing else. */
static void an_extension_is_what_follows_the_remainder(void **state) {
  (void)state;
  random_stream random = {5};
  for (unsigned width = 1; width <= 64; width++)
    for (unsigned bits = 0; bits <= MAX_EXTENSION; bits++) {
      besom_digest rest = random_digest(&random), e = besom__extension_of(rest, width, bits);
      for (unsigned i = 0; i < 128; i++)
        assert_int_equal(bit_of(e, i), i < bits ? bit_of(rest, width + i) : 0);
      struct fingerprint fp = {.count = 1, .extension = e, .extension_bits = bits};
      assert_true(besom__fingerprint_matches(&fp, rest, width));
      for (unsigned i = 0; i < 128; i++) {
        besom_digest other = rest;
        *(i < 64 ? &other.hi : &other.lo) ^= UINT64_C(1) << (63 - i % 64);
        assert_int_equal(besom__fingerprint_matches(&fp, other, width),
                         i < width || i >= width + bits);
      }
    }
}

/* A flipped bit of a bit string is found, or makes another well-formed fingerprint. */
static void the_checker_sees_what_is_wrong(void **state) {
  (void)state;
  struct qtable t = new_table(10, 3, 2);
  assert_int_equal(t.ops->insert(&t, digest_for(&t, 4, 5), NULL), BESOM_OK);
  struct fingerprint fp = besom__fingerprint_read(&t, 4, 4);
  fp.count = 9;
  fp.extension_bits = 4;
  fp.extension.hi = UINT64_C(0xb) << 60;
  fp.value = 2;
  assert_int_equal(besom__fingerprint_write(&t, &fp), BESOM_OK);
  fp = besom__fingerprint_read(&t, 4, 4);
  assert_sound(besom__fingerprint_check(&t, &fp));
  unsigned last = (unsigned)fp.position + fp.slots - 1;
  uint64_t bits = slot_remainder(&t, block_at(&t, 0), last, 3);
  set_slot_remainder(&t, block_at(&t, 0), last, 0, 3); /* a last slot without the closing bit */
  fp = besom__fingerprint_read(&t, 4, 4);
  assert_non_null(besom__fingerprint_check(&t, &fp));
  set_slot_remainder(&t, block_at(&t, 0), last, bits, 3);
  fp = besom__fingerprint_read(&t, 4, 4);
  assert_sound(besom__fingerprint_check(&t, &fp));
  set_slot_value(&t, last, 1); /* a value in a further slot */
  assert_non_null(besom__fingerprint_check(&t, &fp));
  set_slot_value(&t, last, 0);
  for (unsigned p = (unsigned)fp.position + 1; p <= last; p++)
    set_slot_remainder(&t, block_at(&t, 0), p, 0, 3);
  fp = besom__fingerprint_read(&t, 4, 4); /* only zeros */
  assert_non_null(besom__fingerprint_check(&t, &fp));
  free_table(&t);
}

static int use_tags(void **state) {
  (void)state;
  code = NO_CODE;
  return 0;
}

static int use_whole_slots(void **state) {
  (void)state;
  code = WHOLE_SLOTS;
  return 0;
}

#define TAGGED(test) cmocka_unit_test_setup(test, use_tags)
#define WHOLE(test) \
  { #test "_in_whole_slots", test, use_whole_slots, NULL, NULL }

int main(void) {
  const struct CMUnitTest tests[] = {
      TAGGED(what_is_written_is_read_and_the_rest_stays),
      WHOLE(what_is_written_is_read_and_the_rest_stays),
      TAGGED(shrinking_back_restores_the_bytes),
      WHOLE(shrinking_back_restores_the_bytes),
      TAGGED(appending_gives_the_same_fingerprints),
      WHOLE(appending_gives_the_same_fingerprints),
      TAGGED(slots_and_stretch_follow_the_definition),
      WHOLE(slots_and_stretch_follow_the_definition),
      TAGGED(counters_of_8_bits_are_small),
      WHOLE(counters_of_8_bits_are_small),
      TAGGED(an_extension_is_what_follows_the_remainder),
      TAGGED(the_checker_sees_what_is_wrong),
      WHOLE(the_checker_sees_what_is_wrong),
      TAGGED(a_query_answers_by_the_extension),
      WHOLE(a_query_answers_by_the_extension),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
