/*
 * mutate_dumps --seed S --amount N: reads payloads of DUMP, writes N changed ones. On both sides a
 * payload is its length, 4 little-endian bytes, and its bytes. The uppermost bit of the length says
 * that the payload must be refused, because a checksum of the filter is wrong.
 *
 * A payload of a module is a byte 7, the number of the type, and records: an opcode and a number or
 * a string; opcode 0 ends it. The version of RDB and a CRC-64 follow. Records are changed, dropped,
 * repeated and divided, and so are the bytes of the saved filter (support/mutate.h). The CRC is
 * always right. Payloads of RedisBloom have doubles, too; their strings must not be compressed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "support/mutate.h"
#include "support/part.h"

enum { MOST_PAYLOADS = 64, MOST_RECORDS = 64, TYPE_BYTES = 10, FOOTER_BYTES = 10 };
enum { OP_END = 0, OP_UNSIGNED = 2, OP_DOUBLE = 4, OP_STRING = 5 };

typedef struct record {
  uint64_t opcode, number; /* a number, the bits of a double, or the length of a string */
  const uint8_t *bytes;
} record;

typedef struct payload {
  const uint8_t *data;
  size_t len;
  record records[MOST_RECORDS];
  size_t n;
} payload;

typedef struct output {
  uint8_t *data;
  size_t len;
  bool wrong; /* a checksum of the filter is */
} output;

static void fail(const char *what) {
  fprintf(stderr, "mutate_dumps: %s\n", what);
  exit(1);
}

/* ------------------------------------------------------------------ reading */

/* A length of RDB: 6 or 14 bits, or 32 or 64 bits after a marker. */
static uint64_t read_number(const uint8_t **at, const uint8_t *end) {
  uint8_t first = *at < end ? *(*at)++ : 0;
  size_t more = first >> 6 == 0 ? 0 : first >> 6 == 1 ? 1 : first == 0x80 ? 4 : 8;
  uint64_t number = first >> 6 < 2 ? first & 63u : 0;
  if (first >> 6 == 3 || (size_t)(end - *at) < more) fail("not a payload of a module");
  for (; more; more--) number = number << 8 | *(*at)++;
  return number;
}

/* 8 little-endian bytes. */
static uint64_t read_double(const uint8_t **at, const uint8_t *end) {
  uint64_t bits = 0;
  if (end - *at < 8) fail("not a payload of a module");
  for (int i = 0; i < 8; i++) bits |= (uint64_t) * (*at)++ << 8 * i;
  return bits;
}

static void parse(payload *p) {
  const uint8_t *at = p->data + TYPE_BYTES, *end = p->data + p->len - FOOTER_BYTES;
  if (p->len < TYPE_BYTES + FOOTER_BYTES || p->data[0] != 7) fail("not a payload of a module");
  for (p->n = 0; p->n < MOST_RECORDS; p->n++) {
    record *r = &p->records[p->n];
    r->opcode = read_number(&at, end);
    if (r->opcode == OP_END) return;
    r->number = r->opcode == OP_DOUBLE ? read_double(&at, end) : read_number(&at, end);
    r->bytes = r->opcode == OP_STRING ? at : NULL;
    if (r->bytes && r->number > (uint64_t)(end - at)) fail("a string is too long");
    if (r->bytes) at += r->number;
  }
  fail("too many records");
}

static size_t read_payloads(payload *out) {
  uint8_t head[4];
  size_t n = 0;
  for (; fread(head, 1, 4, stdin) == 4; n++) {
    size_t len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    uint8_t *data = heap_array(len, 1);
    if (n == MOST_PAYLOADS || fread(data, 1, len, stdin) != len) fail("bad input");
    out[n] = (payload){.data = data, .len = len};
    parse(&out[n]);
  }
  return n;
}

/* ------------------------------------------------------------------ writing */

static void append(output *out, const void *bytes, size_t n) {
  out->data = heap_resize(out->data, out->len + n + 1);
  if (n) memcpy(out->data + out->len, bytes, n);
  out->len += n;
}

/* Lengths are written in any of their forms that can hold them. */
static void append_number(output *out, uint64_t number, random_stream *random) {
  uint8_t bytes[9] = {0x81};
  size_t size = 8;
  if (number < 64 && random_below(random, 8)) {
    bytes[0] = (uint8_t)number;
    append(out, bytes, 1);
    return;
  }
  if (number <= UINT32_MAX && random_below(random, 8)) {
    bytes[0] = 0x80;
    size = 4;
  }
  for (size_t i = 0; i < size; i++) bytes[1 + i] = (uint8_t)(number >> 8 * (size - 1 - i));
  append(out, bytes, 1 + size);
}

/* CRC-64 of Jones, reflected. */
static uint64_t crc64(const uint8_t *data, size_t len) {
  static uint64_t table[256];
  uint64_t crc = 0;
  for (uint64_t i = 256; !table[1] && i-- > 0;) { /* table[0] is 0 */
    table[i] = i;
    for (int bit = 0; bit < 8; bit++)
      table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT64_C(0x95AC9329AC4BC9B5) : 0);
  }
  for (size_t i = 0; i < len; i++) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
  return crc;
}

static void append_little(output *out, uint64_t number, size_t size) {
  uint8_t bytes[8];
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(number >> 8 * i);
  append(out, bytes, size);
}

static void append_string(output *out, const record *r, size_t begin, size_t end,
                          random_stream *random) {
  append_number(out, OP_STRING, random);
  append_number(out, end - begin, random);
  append(out, r->bytes + begin, end - begin);
}

/* ------------------------------------------------------------------ changes */

/* The saved filter, changed; in one piece or in two. */
static void append_changed_filter(output *out, const record *r, random_stream *random) {
  uint8_t *copy = heap_array((size_t)r->number + MUTATION_ROOM, 1);
  memcpy(copy, r->bytes, (size_t)r->number);
  bool repaired, is_filter = !memcmp(r->bytes,
                                     "\x89"
                                     "BESOM",
                                     6);
  size_t len = mutate_container(copy, (size_t)r->number, random, &repaired);
  record changed = {OP_STRING, len, copy};
  bool differs = len != r->number || memcmp(copy, r->bytes, len) != 0;
  out->wrong |= is_filter && differs && !repaired;
  size_t middle = random_below(random, 8) || !len ? len : 1 + random_below(random, len);
  if (middle) append_string(out, &changed, 0, middle, random);
  if (middle < len) append_string(out, &changed, middle, len, random);
  free(copy);
}

static void append_record(output *out, const record *r, random_stream *random) {
  if (r->bytes) {
    append_string(out, r, 0, (size_t)r->number, random);
    return;
  }
  append_number(out, r->opcode, random);
  if (r->opcode == OP_DOUBLE)
    append_little(out, r->number, 8);
  else
    append_number(out, r->number, random);
}

/* A record with another number, another opcode, twice, or not at all. */
static void append_wrong_record(output *out, record r, random_stream *random) {
  switch (random_below(random, 4)) {
  case 0:
    r.opcode = random_below(random, 8);
    append_record(out, &r, random);
    return;
  case 1:
    append_record(out, &r, random);
    append_record(out, &r, random);
    return;
  case 2:
    if (!r.bytes) r.number = hostile_number(random, r.number);
    append_record(out, &r, random);
    return;
  default:
    return;
  }
}

/* Most payloads have a changed filter, one in five has a wrong record. */
static void change(const payload *p, random_stream *random, output *out) {
  bool in_frame = random_below(random, 5) == 0;
  size_t wrong = random_below(random, p->n);
  out->len = 0;
  out->wrong = false;
  append(out, p->data, TYPE_BYTES);
  for (size_t i = 0; i < p->n; i++) {
    const record *r = &p->records[i];
    if (in_frame && i == wrong)
      append_wrong_record(out, *r, random);
    else if (r->bytes && r->number > 64 && (!in_frame || random_below(random, 2)))
      append_changed_filter(out, r, random);
    else
      append_record(out, r, random);
  }
  if (in_frame) out->wrong = false; /* the bytes may be those of an incomplete filter, unread yet */
  append_number(out, OP_END, random);
  if (random_below(random, 50) == 0) out->len -= random_below(random, out->len);
  append(out, p->data + p->len - FOOTER_BYTES, 2);
  append_little(out, crc64(out->data, out->len), 8);
}

int main(int argc, char **argv) {
  static payload payloads[MOST_PAYLOADS];
  random_stream random = {part_number(argc, argv, "--seed", 1)};
  uint64_t amount = part_number(argc, argv, "--amount", 1000);
  size_t n = read_payloads(payloads);
  output out = {NULL, 0, false}, size = {NULL, 0, false};
  if (!n) fail("no payloads");
  for (uint64_t i = 0; i < amount; i++) {
    change(&payloads[random_below(&random, n)], &random, &out);
    size.len = 0;
    append_little(&size, out.len | (uint64_t)out.wrong << 31, 4);
    if (fwrite(size.data, 1, 4, stdout) != 4 || fwrite(out.data, 1, out.len, stdout) != out.len)
      return 1;
  }
  free(out.data), free(size.data);
  return 0;
}
