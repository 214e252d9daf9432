/* Fixes beside a list: the text of their file, and answers with them. */
#include "besom_fixes.h"

#include <string.h>

#include "core/system/memory.h"

static const char fixes_mark[] = "besom-fixes-1 ", fixes_name_mark[] = " name=";
enum { FIXES_NAME_BYTES = 256, LEAST_SLOTS = 8 };

/* A hash table of numbers of keys, over a copy of the text. Its owner wrote it, so that a hash
 * without a seed will do. */
struct besom_fixes {
  char *text;
  besom_bytes *keys;
  uint32_t *slots; /* number + 1; 0: empty */
  size_t len, bytes, n, key_room, slot_count;
  char version[BESOM_FIXES_VERSION_BYTES], name[FIXES_NAME_BYTES];
};

static void *fixes_allocate(size_t size) {
  return besom__allocate(&besom__default_allocator, size ? size : 1);
}

static void fixes_release(void *memory, size_t size) {
  if (memory) besom__release(&besom__default_allocator, memory, size ? size : 1);
}

void besom_fixes_close(besom_fixes *x) {
  if (!x) return;
  fixes_release(x->text, x->len);
  fixes_release(x->keys, x->key_room * sizeof *x->keys);
  fixes_release(x->slots, x->slot_count * sizeof *x->slots);
  fixes_release(x, sizeof *x);
}

/* ------------------------------------------------------------------ keys */

/* FNV-1a. */
static size_t fixes_hash(besom_bytes key) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  const uint8_t *at = key.data;
  for (size_t i = 0; i < key.len; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return (size_t)(hash ^ hash >> 32);
}

/* The slot of a key, or the empty one where it belongs. */
static size_t fixes_slot(const besom_fixes *x, besom_bytes key) {
  size_t mask = x->slot_count - 1, at = fixes_hash(key) & mask;
  for (;; at = (at + 1) & mask) {
    if (!x->slots[at]) return at;
    besom_bytes found = x->keys[x->slots[at] - 1];
    if (found.len == key.len && memcmp(found.data, key.data, key.len) == 0) return at;
  }
}

bool besom_fixes_has(const besom_fixes *x, const void *key, size_t len) {
  return x && (key || !len) && x->slots[fixes_slot(x, (besom_bytes){key, len})];
}

besom_bytes besom_fixes_key(const besom_fixes *x, size_t i) {
  return i < x->n ? x->keys[i] : (besom_bytes){0};
}

void besom_fixes_info(const besom_fixes *x, besom_fixes_information *info) {
  *info = (besom_fixes_information){x->version, x->name, x->n, x->bytes};
}

/* ------------------------------------------------------------------ lines */

bool besom_fixes_line(besom_bytes line, besom_bytes *key) {
  static const char day[] = "0000-00-00\t";
  const char *at = line.data;
  size_t before = sizeof day - 1;
  if (line.len <= before) return false;
  for (size_t i = 0; i < before; i++)
    if (day[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != day[i]) return false;
  *key = (besom_bytes){at + before, line.len - before};
  return true;
}

static bool fixes_copy(const char *from, const char *to, char *out, size_t room) {
  size_t len = (size_t)(to - from);
  if (len >= room || memchr(from, 0, len)) return false;
  memcpy(out, from, len);
  out[len] = 0;
  return true;
}

/* The mark, the version, which is one word, " name=" and the name. */
static bool fixes_first_line(besom_fixes *x, const char *line, const char *end) {
  const size_t mark = sizeof fixes_mark - 1, name = sizeof fixes_name_mark - 1;
  if ((size_t)(end - line) < mark || memcmp(line, fixes_mark, mark) != 0) return false;
  line += mark;
  const char *blank = memchr(line, ' ', (size_t)(end - line));
  if (!blank || (size_t)(end - blank) < name || memcmp(blank, fixes_name_mark, name) != 0)
    return false;
  return fixes_copy(line, blank, x->version, sizeof x->version) &&
         fixes_copy(blank + name, end, x->name, sizeof x->name);
}

static size_t fixes_count_lines(const char *text, size_t len) {
  size_t n = 0;
  const char *end = text + len;
  while (text < end && (text = memchr(text, '\n', (size_t)(end - text)))) n++, text++;
  return n;
}

static bool fixes_reserve(besom_fixes *x, const void *text, size_t len) {
  x->key_room = fixes_count_lines(text, len);
  x->slot_count = LEAST_SLOTS;
  while (x->slot_count < 2 * x->key_room) x->slot_count *= 2;
  x->len = len;
  x->text = fixes_allocate(len);
  x->keys = fixes_allocate(x->key_room * sizeof *x->keys);
  x->slots = fixes_allocate(x->slot_count * sizeof *x->slots);
  if (!x->text || !x->keys || !x->slots) return false;
  if (len) memcpy(x->text, text, len);
  memset(x->slots, 0, x->slot_count * sizeof *x->slots);
  return true;
}

/* Returns the number of the line that is wrong, 0 if there is none. */
static size_t fixes_lines(besom_fixes *x) {
  const char *at = x->text, *all = x->text + x->len, *end;
  for (size_t line = 1; at < all; line++, at = end + 1) {
    besom_bytes key;
    end = memchr(at, '\n', (size_t)(all - at));
    if (!end && line > 1) break; /* somebody is writing, or was interrupted */
    if (!end || (line == 1 && !fixes_first_line(x, at, end))) return line;
    x->bytes = (size_t)(end + 1 - x->text);
    if (line == 1) continue;
    if (!besom_fixes_line((besom_bytes){at, (size_t)(end - at)}, &key)) return line;
    x->keys[x->n++] = key;
    size_t slot = fixes_slot(x, key);
    if (!x->slots[slot]) x->slots[slot] = (uint32_t)x->n;
  }
  return 0;
}

besom_status besom_fixes_parse(const void *text, size_t len, size_t *bad_line, besom_fixes **out) {
  if (!out || (len && !text)) return BESOM_INVALID;
  if (len > UINT32_MAX / 2) return BESOM_NO_MEMORY;
  besom_fixes *x = fixes_allocate(sizeof *x);
  if (!x) return BESOM_NO_MEMORY;
  *x = (besom_fixes){0};
  if (!fixes_reserve(x, text, len)) {
    besom_fixes_close(x);
    return BESOM_NO_MEMORY;
  }
  size_t wrong = fixes_lines(x);
  if (wrong) {
    if (bad_line) *bad_line = wrong;
    besom_fixes_close(x);
    return BESOM_CORRUPT;
  }
  *out = x;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ answers */

static bool fixes_has_name(const besom_fixes *x, besom_bytes entry) {
  uint8_t name[256];
  const uint8_t *from = entry.data;
  if (!x || !from || entry.len > sizeof name) return false;
  for (size_t i = 0; i < entry.len; i++)
    name[i] = (uint8_t)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] + ('a' - 'A') : from[i]);
  return besom_fixes_has(x, name, entry.len);
}

bool besom_fixes_domain_contains(const besom_fixes *x, const besom_filter *f, const void *name,
                                 size_t len, besom_bytes *entry) {
  besom_bytes found;
  while (besom_domain_contains(f, name, len, &found)) {
    if (entry) *entry = found;
    if (!fixes_has_name(x, found)) return true;
    const uint8_t *dot = memchr(found.data, '.', found.len);
    if (!dot) return false;
    name = dot + 1;
    len = found.len - (size_t)(dot + 1 - (const uint8_t *)found.data);
  }
  return false;
}

bool besom_fixes_contains(const besom_fixes *x, const besom_filter *f, const void *key,
                          size_t len) {
  if (besom_domain_labels(f, NULL)) return besom_fixes_domain_contains(x, f, key, len, NULL);
  return besom_contains(f, key, len) && !besom_fixes_has(x, key, len);
}
