#include "quotient/fingerprint/multislot.h"

#include "quotient/table/walk.h"

/* ------------------------------------------------------------------ bit strings */

#define MAX_STRING_BITS 256 /* at most 2 + 127 + 112 + 1 bits */

struct bit_string {
  /* the first bit uppermost; zeros after the length and in the last word */
  uint64_t words[MAX_STRING_BITS / 64 + 1];
  unsigned length;
};

/* Appends the lower n bits, n <= 64. Drops those that do not fit. */
static void multislot_put_bits(struct bit_string *s, uint64_t bits, unsigned n) {
  unsigned i = s->length % 64, room = MAX_STRING_BITS - s->length, fitting = n < room ? n : room;
  if (!fitting) return;
  uint64_t *word = &s->words[s->length / 64];
  bits = bits << (64 - n) & ~(~UINT64_C(0) >> 1 >> (fitting - 1));
  word[0] |= bits >> i;
  word[1] |= bits << 1 << (63 - i);
  s->length += fitting;
}

/* The n bits from `at` on, n <= 64 and at < MAX_STRING_BITS; zeros after the end. */
static uint64_t multislot_get_bits(const struct bit_string *s, unsigned at, unsigned n) {
  const uint64_t *word = &s->words[at / 64];
  uint64_t bits = word[0] << (at % 64) | word[1] >> 1 >> (63 - at % 64);
  return n ? bits >> (64 - n) : 0;
}

/* Removes the closing 1 and the zeros after it. */
static void open_end(struct bit_string *s) {
  unsigned words = (s->length + 63) / 64;
  while (words && !s->words[words - 1]) words--;
  s->length = 0;
  if (!words) return;
  uint64_t *last = &s->words[words - 1];
  s->length = 64 * words - 1 - trailing_zeros(*last);
  *last &= *last - 1;
}

/* ------------------------------------------------------------------ counters */

/* Whether the bit string is a counter and nothing else. */
static bool is_counter(uint64_t count, unsigned extension_bits) {
  return count > 1 && !extension_bits;
}

/* How many counts fit into a bit string of this many bits, of which two say that it is one. */
static uint64_t counts_within(unsigned bits) {
  return bits < 2 ? 0 : bits - 2 < 63 ? UINT64_C(1) << (bits - 2) : UINT64_C(1) << 63;
}

/*
 * The number of further slots of a counter. *number: its content, the count less the lowest one
 * that takes as many slots.
 */
static unsigned counter_slots(uint64_t count, unsigned payload, uint64_t *number) {
  unsigned slots = 1;
  *number = count - 2;
  for (uint64_t here; *number >= (here = counts_within(slots * payload)); slots++) *number -= here;
  return slots;
}

/* The lowest count that takes this many further slots. Bounded: a corrupt table may have many. */
static uint64_t lowest_count(unsigned slots, unsigned payload) {
  uint64_t count = 2;
  for (unsigned i = 1; i < slots && i <= MAX_STRING_BITS; i++) count += counts_within(i * payload);
  return count;
}

/*
 * Beside an extension the count is an Elias gamma code: of 1 for a count of 0, else of the count,
 * which is not 1. The code of x has as many zeros as x has bits after its first, then x.
 */
static uint64_t code_of_count(uint64_t count) {
  return count ? count : 1;
}

static unsigned gamma_bits(uint64_t x) {
  return 2 * (64 - leading_zeros(x)) - 1;
}

/* ------------------------------------------------------------------ sizes */

static unsigned string_bits(uint64_t count, unsigned extension_bits, unsigned payload) {
  uint64_t number;
  if (is_counter(count, extension_bits)) return counter_slots(count, payload, &number) * payload;
  if (count == 1) return extension_bits ? 1 + extension_bits + 1 : 0;
  return 2 + gamma_bits(code_of_count(count)) + extension_bits + 1;
}

unsigned besom__fingerprint_slots(uint64_t count, unsigned extension_bits, unsigned payload) {
  if (LIKELY(count == 1 && !extension_bits)) return 1;
  unsigned bits = string_bits(count, extension_bits, payload);
  return 1 + (bits + payload - 1) / payload;
}

bool besom__fingerprint_can_count(uint64_t count, uint64_t n, unsigned payload) {
  return besom__fingerprint_slots(count + n, 0, payload) -
             besom__fingerprint_slots(count, 0, payload) <=
         n;
}

uint64_t besom__slots_of_copies(uint64_t copies, unsigned width) {
  unsigned payload = further_payload(width);
  bool counted = payload && besom__fingerprint_can_count(1, 1, payload);
  return counted ? besom__fingerprint_slots(copies, 0, payload) : copies;
}

unsigned besom__fingerprint_stretch(uint64_t count, unsigned extension_bits, unsigned payload) {
  unsigned slots = besom__fingerprint_slots(count, extension_bits, payload);
  unsigned longest =
      extension_bits + (slots - 1) * payload - string_bits(count, extension_bits, payload);
  return longest < MAX_EXTENSION ? longest : MAX_EXTENSION;
}

/* ------------------------------------------------------------------ encoding */

static void put_counter(struct bit_string *s, uint64_t count, unsigned payload) {
  uint64_t number;
  unsigned bits = counter_slots(count, payload, &number) * payload;
  multislot_put_bits(s, 3, 2);
  for (; bits - s->length > 64; multislot_put_bits(s, 0, 1)) continue;
  multislot_put_bits(s, number, bits - s->length);
}

static void put_count(struct bit_string *s, uint64_t count) {
  uint64_t code = code_of_count(count);
  unsigned bits = 64 - leading_zeros(code);
  multislot_put_bits(s, 2, 2);
  multislot_put_bits(s, 0, bits - 1);
  multislot_put_bits(s, code, bits);
}

static struct bit_string multislot_encode(const struct fingerprint *fp, unsigned payload) {
  struct bit_string s = {{0}, 0};
  if (fp->count == 1 && !fp->extension_bits) return s;
  if (is_counter(fp->count, fp->extension_bits)) {
    put_counter(&s, fp->count, payload);
    return s;
  }
  if (fp->count == 1)
    multislot_put_bits(&s, 0, 1);
  else
    put_count(&s, fp->count);
  unsigned first = fp->extension_bits < 64 ? fp->extension_bits : 64;
  if (first) multislot_put_bits(&s, fp->extension.hi >> (64 - first), first);
  if (fp->extension_bits > 64)
    multislot_put_bits(&s, fp->extension.lo >> (128 - fp->extension_bits), fp->extension_bits - 64);
  multislot_put_bits(&s, 1, 1);
  return s;
}

/* The count of a bit string that is a counter. */
static uint64_t counter_of(const struct bit_string *s, unsigned slots, unsigned payload) {
  unsigned bits = s->length - 2 < 64 ? s->length - 2 : 64;
  return lowest_count(slots, payload) + multislot_get_bits(s, s->length - bits, bits);
}

/* Reads the count beside an extension. Returns where the extension begins. */
static unsigned get_count(const struct bit_string *s, uint64_t *count) {
  unsigned at = 2, zeros = leading_zeros(multislot_get_bits(s, at, 64)),
           left = s->length > at ? s->length - at : 0, most = left < 63 ? left : 63;
  if (zeros > most) zeros = most;
  uint64_t code = multislot_get_bits(s, at + zeros, zeros + 1);
  *count = code > 1 ? code : 0; /* 0 is no code: only in a corrupt table */
  return at + 2 * zeros + 1;
}

/*
 * Fills count and extension, from the bit string of fp->slots - 1 further slots. From a bit string
 * that encode did not make it makes another fingerprint, so that besom__fingerprint_check finds it.
 */
static void decode(struct bit_string s, struct fingerprint *fp, unsigned payload) {
  if (s.length > 1 && multislot_get_bits(&s, 0, 2) == 3) {
    fp->count = counter_of(&s, fp->slots - 1, payload);
    return;
  }
  open_end(&s);
  unsigned at = multislot_get_bits(&s, 0, 1) ? get_count(&s, &fp->count) : 1;
  if (s.length <= at) return;
  fp->extension_bits = s.length - at < MAX_EXTENSION ? s.length - at : MAX_EXTENSION;
  unsigned first = fp->extension_bits < 64 ? fp->extension_bits : 64,
           second = fp->extension_bits - first;
  /* analysis: shiftTooManyBits: the extension has bits: length > at */
  fp->extension.hi = multislot_get_bits(&s, at, first) << (64 - first);
  if (second) fp->extension.lo = multislot_get_bits(&s, at + 64, second) << (64 - second);
}

/* ------------------------------------------------------------------ in the table */

static struct bit_string read_bit_string(const struct qtable *t, uint64_t position,
                                         unsigned slots) {
  struct bit_string s = {{0}, 0};
  for (uint64_t p = position + 1; p < position + slots && s.length < MAX_STRING_BITS; p++)
    multislot_put_bits(&s, slot_remainder(t, block_at(t, p / 64), p % 64, t->width),
                       further_payload_of(t));
  return s;
}

/* The content of the i-th further slot. */
static uint64_t further_slot(const struct qtable *t, const struct bit_string *s, unsigned i) {
  unsigned payload = further_payload_of(t);
  uint64_t tag = payload < t->width ? bits_below(t->width - payload) << payload : 0;
  return tag | multislot_get_bits(s, i * payload, payload);
}

/* Bounded, whatever the bits are. */
static unsigned slots_at(const struct qtable *t, uint64_t position) {
  uint64_t slots = fingerprint_end(t, position) - position;
  return slots < UINT32_MAX ? (unsigned)slots : UINT32_MAX;
}

/* The value as the table stores it. */
static uint64_t value_with_tag(const struct qtable *t, const struct fingerprint *fp) {
  return fp->value | (uint64_t)fp->tagged << own_value_bits(t);
}

/* Tables without values have no tags. */
static void multislot_read_value(const struct qtable *t, struct fingerprint *fp) {
  const uint8_t *block = block_at(t, fp->position / 64);
  fp->value = slot_value(t, fp->position) & bits_below(own_value_bits(t));
  fp->tagged = block_tags(t, block) >> (fp->position % 64) & 1;
}

struct fingerprint besom__fingerprint_read(const struct qtable *t, uint64_t quotient,
                                           uint64_t position) {
  struct fingerprint fp = {
      .quotient = quotient,
      .position = position,
      .remainder = slot_remainder(t, block_at(t, position / 64), position % 64, t->width),
      .count = 1,
      .slots = slots_at(t, position),
  };
  if (UNLIKELY(t->value_bits)) multislot_read_value(t, &fp);
  if (fp.slots > 1) decode(read_bit_string(t, position, fp.slots), &fp, further_payload_of(t));
  return fp;
}

/*
 * Inserts or deletes slots after the head until the fingerprint has so many. FULL: nothing has
 * changed.
 */
static besom_status set_slots(struct qtable *t, const struct fingerprint *fp, unsigned slots) {
  uint64_t further = fp->position + 1;
  unsigned have = slots_at(t, fp->position), now = have;
  for (; now > slots; now--) t->ops->delete_slot(t, fp->quotient, further);
  for (; now < slots; now++) {
    besom_status status = t->ops->insert_slot(t, fp->quotient, further, 1);
    if (status == BESOM_OK) continue;
    for (; now > have; now--) t->ops->delete_slot(t, fp->quotient, further);
    return status;
  }
  return BESOM_OK;
}

besom_status besom__fingerprint_write(struct qtable *t, const struct fingerprint *fp) {
  unsigned payload = further_payload_of(t),
           slots = besom__fingerprint_slots(fp->count, fp->extension_bits, payload);
  struct bit_string s = multislot_encode(fp, payload);
  besom_status status = set_slots(t, fp, slots);
  if (status != BESOM_OK) return status;
  uint64_t p = fp->position;
  if (UNLIKELY(t->value_bits)) set_slot_value(t, p, value_with_tag(t, fp));
  for (unsigned i = 0; i + 1 < slots; i++) {
    p++;
    set_slot_remainder(t, block_at(t, p / 64), p % 64, further_slot(t, &s, i), t->width);
  }
  return BESOM_OK;
}

besom_status besom__fingerprint_append(struct qtable_appender *out, const struct fingerprint *fp) {
  unsigned width = out->table.width, payload = further_payload_of(&out->table),
           slots = besom__fingerprint_slots(fp->count, fp->extension_bits, payload);
  struct bit_string s = multislot_encode(fp, payload);
  besom_status status = qtable_append(out, fp->quotient, fp->remainder, width);
  if (status == BESOM_OK) qtable_append_value(out, value_with_tag(&out->table, fp));
  out->table.extended += is_extended(&out->table, fp);
  for (unsigned i = 0; i + 1 < slots && status == BESOM_OK; i++)
    status = qtable_append_further(out, further_slot(&out->table, &s, i), width);
  return status;
}

void besom__fingerprint_remove(struct qtable *t, const struct fingerprint *fp) {
  for (unsigned i = fp->slots; i--;) t->ops->delete_slot(t, fp->quotient, fp->position + i);
}

/* ------------------------------------------------------------------ matching */

besom_digest besom__extension_of(besom_digest rest, unsigned width, unsigned bits) {
  unsigned __int128 x = (unsigned __int128)rest.hi << 64 | rest.lo;
  x = bits ? x << width >> (128 - bits) << (128 - bits) : 0;
  return (besom_digest){(uint64_t)(x >> 64), (uint64_t)x};
}

bool besom__fingerprint_is_prefix(const struct fingerprint *fp, besom_digest rest, unsigned width) {
  besom_digest extension = besom__extension_of(rest, width, fp->extension_bits);
  return extension.hi == fp->extension.hi && extension.lo == fp->extension.lo;
}

bool besom__fingerprint_matches(const struct fingerprint *fp, besom_digest rest, unsigned width) {
  return is_member(fp) && besom__fingerprint_is_prefix(fp, rest, width);
}

const char *besom__fingerprint_check(const struct qtable *t, const struct fingerprint *fp) {
  unsigned payload = further_payload_of(t);
  struct bit_string should = multislot_encode(fp, payload);
  if (fp->slots != besom__fingerprint_slots(fp->count, fp->extension_bits, payload))
    return "a fingerprint has the wrong number of slots";
  for (unsigned i = 0; i + 1 < fp->slots; i++) {
    uint64_t p = fp->position + 1 + i;
    if (slot_value(t, p)) return "a further slot has a value";
    if (slot_remainder(t, block_at(t, p / 64), p % 64, t->width) != further_slot(t, &should, i))
      return "a multislot fingerprint is not well formed";
  }
  return NULL;
}
