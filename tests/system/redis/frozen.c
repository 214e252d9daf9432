/*
 * redis_frozen [N]: frozen filters from malformed bytes. Each is refused, or can be used and saved
 * again. N payloads, by default 10000.
 */
#include "../../../redis/frozen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../redis/little_endian.h"

static uint64_t state = 1;

static uint64_t dice(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

static size_t allocated;

static void *allocate(void *ctx, size_t size) {
  (void)ctx;
  allocated += size;
  return calloc(1, size);
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx;
  allocated -= size;
  free(memory);
}

static const besom_allocator allocator = {allocate, release, NULL};

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "redis_frozen: %s\n", what);
  exit(1);
}

/* ------------------------------------------------------------------ raw forms */

enum { MOST = 1024 };

static size_t bloom_raw(char *raw) {
  static const uint64_t bytes[] = {16, 40};
  memset(raw, 0, MOST);
  put_le(raw, 12, 8);
  put_le(raw + 8, 2, 4);
  put_le(raw + 12, 5, 4);
  put_le(raw + 16, 2, 4);
  for (int i = 0; i < 2; i++) {
    char *at = raw + 20 + 53 * i;
    put_le(at, bytes[i], 8);
    put_le(at + 8, bytes[i] * 8, 8);
    put_le(at + 16, i ? 8 : 4, 8);
    put_le_double(at + 24, 0.01);
    put_le_double(at + 32, 9.6);
    put_le(at + 40, 7, 4);
    put_le(at + 44, i ? 30 : 10, 8);
  }
  for (size_t i = 126; i < 126 + 56; i++) raw[i] = (char)dice(256);
  return 126 + 56;
}

static size_t cuckoo_raw(char *raw) {
  memset(raw, 0, MOST);
  put_le(raw, 20, 8);
  put_le(raw + 8, 8, 8);
  put_le(raw + 24, 3, 8);
  put_le(raw + 32, 2, 2);
  put_le(raw + 34, 20, 2);
  put_le(raw + 36, 2, 2);
  for (size_t i = 38; i < 38 + 16 + 32 + 64; i++) raw[i] = (char)(dice(3) ? 0 : dice(256));
  return 38 + 16 + 32 + 64;
}

static size_t mutate(char *raw, size_t len) {
  static const uint64_t special[] = {0,          1,          2,          255,       65535,
                                     UINT32_MAX, UINT64_MAX, 1ull << 63, 1ull << 47};
  for (uint64_t n = dice(4); n > 0; n--) {
    size_t at = dice(2) ? dice(len) : dice(38);
    if (dice(2))
      raw[at] = (char)dice(256);
    else if (at + 8 <= len)
      put_le(raw + at, special[dice(sizeof special / sizeof *special)], dice(2) ? 8 : 2);
  }
  uint64_t how = dice(10);
  return how == 0 ? dice(len + 1) : how == 1 ? len + dice(20) : len;
}

/* ------------------------------------------------------------------ using them */

static besom_bytes item_of(uint64_t n, char *text) {
  return (besom_bytes){text, (size_t)snprintf(text, 32, "item %llu", (unsigned long long)n)};
}

static void save_again(const struct frozen *f) {
  char *raw = malloc(FROZEN_MAX_HEADER(f->layers) + frozen_data_bytes(f));
  size_t len = frozen_write_header(f, raw);
  for (uint32_t i = 0; i < f->layers; i++) {
    memcpy(raw + len, f->layer[i].data, f->layer[i].bytes);
    len += f->layer[i].bytes;
  }
  struct frozen *again;
  require(frozen_load(f->family, raw, len, &allocator, &again) == BESOM_OK, "not saved as it is");
  char text[32];
  for (uint64_t n = 0; n < 20; n++)
    require(frozen_has(f, item_of(n, text)) == frozen_has(again, item_of(n, text)),
            "other answers");
  frozen_free(again);
  free(raw);
}

static void use_frozen(struct frozen *f) {
  char text[32];
  for (uint64_t n = 0; n < 40; n++) {
    besom_bytes item = item_of(n, text);
    uint64_t count = frozen_count(f, item);
    require(frozen_has(f, item) == (count > 0), "count and contains differ");
    if (f->family == FROZEN_CUCKOO && count && dice(2))
      require(frozen_remove(f, item), "an item that was counted is not removed");
  }
  for (uint64_t n = dice(20) ? 78 : 0; n < 80; n++) {
    besom_digest digest = {dice(UINT64_MAX), dice(UINT64_MAX)};
    besom_status status = frozen_deny(f, digest, n % 7 == 0, n % 2);
    require(status == BESOM_RESERVE_FULL || frozen_denies(f, digest), "not denied");
  }
  save_again(f);
}

static void load_exceptions_again(const struct frozen *from, struct frozen *to) {
  size_t saved = (size_t)besom__exceptions_saved_bytes(&from->exceptions);
  size_t len = FROZEN_EXCEPTIONS_HEAD + saved;
  char *data = malloc(len);
  frozen_write_exceptions_head(from, data);
  if (saved) memcpy(data + FROZEN_EXCEPTIONS_HEAD, from->exceptions.tags, saved);
  if (dice(2)) data[dice(dice(2) ? len : FROZEN_EXCEPTIONS_HEAD)] ^= (char)(1 << dice(8));
  if (frozen_load_exceptions(to, data, dice(10) ? len : dice(len)) == BESOM_OK)
    for (uint64_t n = 0; n < 10; n++)
      frozen_deny(to, (besom_digest){dice(UINT64_MAX), n}, false, true);
  free(data);
}

static bool try_payload(void) {
  char raw[MOST];
  enum frozen_family family = dice(2) ? FROZEN_BLOOM : FROZEN_CUCKOO;
  size_t len = mutate(raw, family == FROZEN_BLOOM ? bloom_raw(raw) : cuckoo_raw(raw));
  char *exact = malloc(len); /* so that the sanitizer sees a read past its end */
  memcpy(exact, raw, len);
  struct frozen *f = NULL, *other = NULL;
  besom_status status = frozen_load(family, exact, len, &allocator, &f);
  if (status == BESOM_OK) {
    use_frozen(f);
    if (frozen_load(family, exact, len, &allocator, &other) == BESOM_OK)
      load_exceptions_again(f, other);
    frozen_free(other);
    frozen_free(f);
  }
  free(exact);
  return status == BESOM_OK;
}

int main(int argc, char **argv) {
  long amount = argc > 1 ? strtol(argv[1], NULL, 10) : 10000, loaded = 0;
  for (long i = 0; i < amount; i++) loaded += try_payload();
  require(loaded > 0 && loaded < amount, "all or none are refused");
  require(allocated == 0, "memory is not released");
  printf("%ld of %ld payloads loaded\n", loaded, amount);
}
