#include "quotient/multislot.h"

#include "quotient/walk.h"

/* ------------------------------------------------------------------ bit strings */

#define MAX_STRING_BITS 256 /* at most 1 + 127 + 112 + 1 bits */

struct bit_string {
  /* the first bit uppermost; zeros after the length and in the last word */
  uint64_t words[MAX_STRING_BITS / 64 + 1];
  unsigned length;
};

/* Appends the lower n bits, n <= 64. Drops those that do not fit. */
static void put_bits(struct bit_string *s, uint64_t bits, unsigned n) {
  unsigned i = s->length % 64, room = MAX_STRING_BITS - s->length, fitting = n < room ? n : room;
  if (!fitting) return;
  uint64_t *word = &s->words[s->length / 64];
  bits = bits << (64 - n) & ~(~UINT64_C(0) >> 1 >> (fitting - 1));
  word[0] |= bits >> i;
  word[1] |= bits << 1 << (63 - i);
  s->length += fitting;
}

/* The n bits from `at` on, n <= 64 and at < MAX_STRING_BITS; zeros after the end. */
static uint64_t get_bits(const struct bit_string *s, unsigned at, unsigned n) {
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

/*
 * The length of the Elias gamma code of x >= 1: as many zeros as x has bits after its first, then
 * x.
 */
static unsigned gamma_bits(uint64_t x) {
  return 2 * (64 - leading_zeros(x)) - 1;
}

static unsigned string_bits(uint64_t count, unsigned extension_bits) {
  if (count == 1 && extension_bits == 0) return 0;
  return 1 + (count != 1 ? gamma_bits(count + 1) : 0) + extension_bits + 1;
}

static struct bit_string encode(const struct fingerprint *fp) {
  struct bit_string s = {{0}, 0};
  if (!string_bits(fp->count, fp->extension_bits)) return s;
  put_bits(&s, fp->count != 1, 1);
  if (fp->count != 1) {
    unsigned bits = 64 - leading_zeros(fp->count + 1);
    put_bits(&s, 0, bits - 1);
    put_bits(&s, fp->count + 1, bits);
  }
  unsigned first = fp->extension_bits < 64 ? fp->extension_bits : 64;
  if (first) put_bits(&s, fp->extension.hi >> (64 - first), first);
  if (fp->extension_bits > 64)
    put_bits(&s, fp->extension.lo >> (128 - fp->extension_bits), fp->extension_bits - 64);
  put_bits(&s, 1, 1);
  return s;
}

/*
 * Fills count and extension. From a bit string that encode did not make it makes another
 * fingerprint, so that besom__fingerprint_check finds it.
 */
static void decode(struct bit_string s, struct fingerprint *fp) {
  fp->count = 1;
  open_end(&s);
  unsigned at = 1;
  if (get_bits(&s, 0, 1)) {
    unsigned zeros = leading_zeros(get_bits(&s, at, 64)),
             most = s.length - at < 63 ? s.length - at : 63;
    if (zeros > most) zeros = most;
    uint64_t code = get_bits(&s, at + zeros, zeros + 1);
    fp->count = code ? code - 1 : 0; /* 0 is no code: only in a corrupt table */
    at += 2 * zeros + 1;
  }
  if (s.length <= at) return;
  fp->extension_bits = s.length - at < MAX_EXTENSION ? s.length - at : MAX_EXTENSION;
  unsigned first = fp->extension_bits < 64 ? fp->extension_bits : 64,
           second = fp->extension_bits - first;
  fp->extension.hi = get_bits(&s, at, first) << (64 - first);
  if (second) fp->extension.lo = get_bits(&s, at + 64, second) << (64 - second);
}

/* ------------------------------------------------------------------ sizes */

unsigned besom__fingerprint_slots(uint64_t count, unsigned extension_bits, unsigned width) {
  unsigned bits = string_bits(count, extension_bits);
  return bits ? 1 + (bits + further_payload(width) - 1) / further_payload(width) : 1;
}

bool besom__fingerprint_can_count(uint64_t count, uint64_t n, unsigned width) {
  return besom__fingerprint_slots(count + n, 0, width) -
             besom__fingerprint_slots(count, 0, width) <=
         n;
}

unsigned besom__fingerprint_stretch(uint64_t count, unsigned extension_bits, unsigned width) {
  unsigned slots = besom__fingerprint_slots(count, extension_bits, width);
  unsigned longest =
      extension_bits + (slots - 1) * further_payload(width) - string_bits(count, extension_bits);
  return longest < MAX_EXTENSION ? longest : MAX_EXTENSION;
}

/* ------------------------------------------------------------------ in the table */

static struct bit_string read_bit_string(const struct qtable *t, uint64_t position,
                                         unsigned slots) {
  struct bit_string s = {{0}, 0};
  for (uint64_t p = position + 1; p < position + slots && s.length < MAX_STRING_BITS; p++)
    put_bits(&s, slot_remainder(t, block_at(t, p / 64), p % 64, t->width),
             further_payload(t->width));
  return s;
}

/* The content of the i-th further slot. */
static uint64_t further_slot(const struct bit_string *s, unsigned i, unsigned width) {
  return bits_below(further_tag_bits(width)) << further_payload(width) |
         get_bits(s, i * further_payload(width), further_payload(width));
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

struct fingerprint besom__fingerprint_read(const struct qtable *t, uint64_t quotient,
                                           uint64_t position) {
  const uint8_t *block = block_at(t, position / 64);
  struct fingerprint fp = {
      .quotient = quotient,
      .position = position,
      .remainder = slot_remainder(t, block, position % 64, t->width),
      .value = slot_value(t, block, position % 64) & bits_below(own_value_bits(t)),
      .count = 1,
      .tagged = block_tags(t, block) >> (position % 64) & 1,
      .slots = slots_at(t, position),
  };
  if (fp.slots > 1) decode(read_bit_string(t, position, fp.slots), &fp);
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
  struct bit_string s = encode(fp);
  unsigned slots = besom__fingerprint_slots(fp->count, fp->extension_bits, t->width);
  besom_status status = set_slots(t, fp, slots);
  if (status != BESOM_OK) return status;
  uint64_t p = fp->position;
  set_slot_value(t, block_at(t, p / 64), p % 64, value_with_tag(t, fp));
  for (unsigned i = 0; i + 1 < slots; i++) {
    p++;
    set_slot_remainder(t, block_at(t, p / 64), p % 64, further_slot(&s, i, t->width), t->width);
  }
  return BESOM_OK;
}

besom_status besom__fingerprint_append(struct qtable_appender *out, const struct fingerprint *fp) {
  struct bit_string s = encode(fp);
  unsigned width = out->table.width,
           slots = besom__fingerprint_slots(fp->count, fp->extension_bits, width);
  besom_status status = qtable_append(out, fp->quotient, fp->remainder, width);
  if (status == BESOM_OK) qtable_append_value(out, value_with_tag(&out->table, fp));
  out->table.extended += is_extended(fp);
  for (unsigned i = 0; i + 1 < slots && status == BESOM_OK; i++)
    status = qtable_append_further(out, further_slot(&s, i, width), width);
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
  struct bit_string should = encode(fp);
  if (fp->slots != besom__fingerprint_slots(fp->count, fp->extension_bits, t->width))
    return "a fingerprint has the wrong number of slots";
  for (unsigned i = 0; i + 1 < fp->slots; i++) {
    uint64_t p = fp->position + 1 + i;
    if (slot_value(t, block_at(t, p / 64), p % 64)) return "a further slot has a value";
    if (slot_remainder(t, block_at(t, p / 64), p % 64, t->width) !=
        further_slot(&should, i, t->width))
      return "a multislot fingerprint is not well formed";
  }
  return NULL;
}
