#include "support/mutate.h"

#include <string.h>

#include "support/checksums.h"

enum { HEADER = 64, ROW = 32, KIND = 16, LENGTH = 32, SECTION_ALIGNMENT = 64 };

static uint64_t get(const uint8_t *at, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | at[i];
  return number;
}

static void put(uint8_t *at, size_t bytes, uint64_t number) {
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> 8 * i);
}

uint64_t hostile_number(random_stream *random, uint64_t near) {
  uint64_t power = UINT64_C(1) << random_below(random, 64);
  switch (random_below(random, 8)) {
  case 0:
    return 0;
  case 1:
    return UINT64_MAX - random_below(random, 3);
  case 2:
    return power;
  case 3:
    return power - 1;
  case 4:
    return near + 1;
  case 5:
    return near - 1;
  case 6:
    return near ^ power;
  default:
    return random_below(random, 300);
  }
}

/* A field of 1, 4 or 8 bytes at a multiple of its size. */
static void change_field(uint8_t *data, size_t begin, size_t end, random_stream *random) {
  static const size_t sizes[] = {1, 4, 8, 8};
  size_t size = sizes[random_below(random, 4)], n = (end - begin) / size;
  if (!n) return;
  uint8_t *at = data + begin + size * random_below(random, n);
  put(at, size, hostile_number(random, get(at, size)));
}

/* ------------------------------------------------------------------ places */

static size_t row_count(const uint8_t *data, size_t len) {
  size_t n = len >= HEADER ? data[12] : 0, most = len >= HEADER ? (len - HEADER) / ROW : 0;
  return n < most ? n : most;
}

/* The bytes of a section, as far as there are any. */
static void section(const uint8_t *data, size_t len, size_t i, size_t *begin, size_t *end) {
  uint64_t at = get(data + HEADER + ROW * i + 8, 8), size = get(data + HEADER + ROW * i + 16, 8);
  *begin = at > len ? len : (size_t)at;
  *end = size > len - *begin ? len : *begin + (size_t)size;
}

static void change_header(uint8_t *data, size_t len, random_stream *random) {
  size_t kinds = 0;
  if (len < HEADER) return;
  while (besom_kinds(kinds)) kinds++;
  if (random_below(random, 2)) {
    const char *name = besom_kinds(random_below(random, kinds))->name;
    memset(data + KIND, 0, 16);
    memcpy(data + KIND, name, strlen(name));
  } else {
    change_field(data, 8, HEADER - 8, random);
  }
}

static void change_table(uint8_t *data, size_t len, random_stream *random) {
  size_t n = row_count(data, len);
  if (!n) return;
  uint8_t *a = data + HEADER + ROW * random_below(random, n), other[ROW];
  uint8_t *b = data + HEADER + ROW * random_below(random, n);
  switch (random_below(random, 3)) {
  case 0: /* another tag, owner, offset or length */
    change_field(a, 0, ROW - 8, random);
    return;
  case 1:
    memcpy(other, a, ROW);
    memcpy(a, b, ROW);
    memcpy(b, other, ROW);
    return;
  default: /* the same bytes twice */
    memcpy(a + 8, b + 8, ROW - 8);
  }
}

/* The parameters come first, so the first section is the best target. */
static void change_section(uint8_t *data, size_t len, random_stream *random) {
  size_t n = row_count(data, len), begin, end;
  if (!n) return;
  section(data, len, random_below(random, 2) ? 0 : random_below(random, n), &begin, &end);
  if (begin < end) change_field(data, begin, end, random);
}

static void change_bits(uint8_t *data, size_t len, random_stream *random) {
  if (len <= HEADER) return;
  size_t at = HEADER + random_below(random, len - HEADER), most = len - at < 40 ? len - at : 40;
  size_t n = 1 + random_below(random, most), from = random_below(random, len - n + 1);
  switch (random_below(random, 4)) {
  case 0:
    memset(data + at, 0, n);
    return;
  case 1:
    memset(data + at, 255, n);
    return;
  case 2:
    memmove(data + at, data + from, n);
    return;
  default:
    data[at] ^= (uint8_t)(1u << random_below(random, 8));
  }
}

static size_t change_length(uint8_t *data, size_t len, random_stream *random) {
  if (random_below(random, 2)) return random_below(random, len + 1);
  size_t more = 1 + random_below(random, MUTATION_ROOM);
  memset(data + len, random_below(random, 2) ? 0 : 255, more);
  return len + more;
}

static size_t align(size_t offset) {
  return (offset + SECTION_ALIGNMENT - 1) / SECTION_ALIGNMENT * SECTION_ALIGNMENT;
}

/* Another size of a section: nearly the same, a part of it, or nothing. */
static size_t other_size(size_t size, random_stream *random) {
  static const size_t steps[] = {1, 8, SECTION_ALIGNMENT, MUTATION_ROOM / 2};
  size_t step = steps[random_below(random, 4)];
  if (random_below(random, 2)) return size + step;
  return random_below(random, 4) && size >= step ? size - step : random_below(random, size + 1);
}

/*
 * A section gets another length, and the header, the table and the sections after it agree, so that
 * only its own decoder can refuse it.
 */
static size_t resize_section(uint8_t *data, size_t len, random_stream *random) {
  size_t n = row_count(data, len), begin, end;
  if (!n) return len;
  size_t i = random_below(random, n);
  section(data, len, i, &begin, &end);
  size_t size = other_size(end - begin, random), next = align(end), moved = align(begin + size);
  bool last = i + 1 == n;
  if (!last && next > len) return len;
  if (!last) memmove(data + moved, data + next, len - next);
  size_t new_len = last ? begin + size : moved + (len - next), cut = begin + size;
  if (cut > end) memset(data + end, random_below(random, 2) ? 0 : 255, cut - end);
  if (!last) memset(data + cut, 0, moved - cut);
  put(data + HEADER + ROW * i + 16, 8, size);
  for (size_t j = i + 1; j < n; j++) {
    uint8_t *offset = data + HEADER + ROW * j + 8;
    put(offset, 8, get(offset, 8) + moved - next);
  }
  put(data + LENGTH, 8, new_len);
  return new_len;
}

size_t mutate_container(uint8_t *data, size_t len, random_stream *random, bool *repaired) {
  for (uint64_t i = 1 + random_below(random, 3); i > 0; i--) {
    uint64_t place = random_below(random, 20);
    if (place < 2)
      change_header(data, len, random);
    else if (place < 6)
      change_table(data, len, random);
    else if (place < 13)
      change_section(data, len, random);
    else
      change_bits(data, len, random);
  }
  uint64_t length = random_below(random, 20);
  if (length == 0) len = change_length(data, len, random);
  if (length == 1 || length == 2) len = resize_section(data, len, random);
  *repaired = random_below(random, 16) > 0;
  if (*repaired) fix_checksums(data, len);
  return len;
}
