#include "workloads/text_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "workloads/key_stream.h"

/* ------------------------------------------------------------------ lists and files */

static char *read_text(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot read %s: bench/fetch_data.sh fetches it", path);
  size_t capacity = 1 << 20;
  char *text = allocate(capacity, 1);
  for (size_t n; (n = fread(text + *len, 1, capacity - *len, file)) > 0;) {
    *len += n;
    if (*len < capacity) continue;
    text = realloc(text, capacity *= 2);
    if (!text) fail("no memory for %s", path);
  }
  if (ferror(file)) fail("cannot read all of %s", path);
  fclose(file);
  return text;
}

static void find_lines(text_list *l, size_t len) {
  size_t lines = 0;
  for (size_t i = 0; i < len; i++) lines += l->text[i] == '\n';
  l->lines = allocate(lines + 1, sizeof *l->lines);
  size_t start = 0;
  for (size_t i = 0; i < len; i++)
    if (l->text[i] == '\n') {
      l->lines[l->n++] = (besom_bytes){l->text + start, i - start};
      start = i + 1;
    }
  if (start < len) l->lines[l->n++] = (besom_bytes){l->text + start, len - start};
}

text_list text_list_read(const char *path) {
  size_t len = 0;
  text_list l = {.text = read_text(path, &len)};
  find_lines(&l, len);
  return l;
}

void text_list_free(text_list *l) {
  free(l->text);
  free(l->lines);
  free(l->weights);
  *l = (text_list){0};
}

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static besom_bytes trim(const char *from, const char *end) {
  while (from < end && is_space(*from)) from++;
  while (from < end && is_space(end[-1])) end--;
  return (besom_bytes){from, (size_t)(end - from)};
}

besom_bytes text_column(besom_bytes line, size_t number, char delimiter) {
  besom_bytes rest = trim(line.data, (const char *)line.data + line.len);
  const char *from = rest.data, *end = from + rest.len;
  if (number == 0) return rest;
  for (;; number--) {
    while (!delimiter && from < end && is_space(*from)) from++;
    const char *stop = from;
    while (stop < end && (delimiter ? *stop != delimiter : !is_space(*stop))) stop++;
    if (number == 1) return trim(from, stop);
    if (stop == end) return (besom_bytes){end, 0};
    from = stop + 1;
  }
}

static besom_status next_line(void *ctx, besom_bytes *key, uint64_t *weight) {
  text_list *l = ctx;
  if (l->at == l->end) return BESOM_END;
  if (l->weights) *weight = l->weights[l->at];
  *key = l->lines[l->at++];
  return BESOM_OK;
}

static besom_status first_line(void *ctx) {
  ((text_list *)ctx)->at = 0;
  return BESOM_OK;
}

besom_source text_list_source(text_list *l, size_t n) {
  l->at = 0;
  l->end = n;
  return (besom_source){.next = next_line, .rewind = first_line, .size_hint = n, .ctx = l};
}

/* ------------------------------------------------------------------ synthetic URLs */

static const char *const syllables[] = {"ba", "ker", "lin", "mo", "ta",  "son", "ri",  "vel",
                                        "do", "pan", "che", "fu", "gar", "ho",  "int", "ja",
                                        "ko", "lum", "ner", "os", "pra", "qui", "ste", "wa"};
static const char *const plain_words[] = {"news", "blog",  "shop",  "wiki",
                                          "park", "music", "photo", "garden"};
static const char *const bait_words[] = {"login",  "secure", "verify", "account",
                                         "update", "wallet", "bonus",  "gift"};
static const char *const plain_ends[] = {"com", "org", "net", "de", "co.uk", "fr", "edu", "io"};
static const char *const bait_ends[] = {"xyz",     "top",  "tk", "click",
                                        "web.app", "info", "ru", "live"};

/* A sequence of random choices. */
typedef struct choices {
  uint64_t seed, made;
} choices;

static uint64_t choose(choices *d, uint64_t sides) {
  return random_below(random_at(d->seed, d->made++), sides);
}

#define CHOOSE_FROM(d, words) ((words)[choose((d), sizeof(words) / sizeof *(words))])

/* Whether one property looks suspicious: 9 of 10 for suspicious URLs, 1 of 10 for benign ones. */
static bool looks_suspicious(choices *d, bool suspicious) {
  return (choose(d, 10) == 0) != suspicious;
}

/* Appends a word. Returns the new end of the text. */
static char *append(char *end, const char *word) {
  while (*word) *end++ = *word++;
  return end;
}

/* Appends a number in hexadecimal digits, without leading zeros. */
static char *append_hex(char *end, uint64_t number) {
  int digits = 1;
  while (digits < 16 && number >> 4 * digits) digits++;
  while (digits--) *end++ = "0123456789abcdef"[number >> 4 * digits & 15];
  return end;
}

/*
 * Ends with a unique number, so that no two URLs are equal. Not by printf: claims generate up to
 * 10^8 of them.
 */
size_t synthetic_url(char out[MAX_URL_BYTES], uint64_t number, bool suspicious, uint64_t seed) {
  choices d = {.seed = random_at(seed, 2 * number + suspicious)};
  const char *name[4];
  uint64_t parts = 2 + choose(&d, 3);
  for (uint64_t i = 0; i < parts; i++) name[i] = CHOOSE_FROM(&d, syllables);
  const char *word =
      looks_suspicious(&d, suspicious) ? CHOOSE_FROM(&d, bait_words) : CHOOSE_FROM(&d, plain_words);
  const char *ending =
      looks_suspicious(&d, suspicious) ? CHOOSE_FROM(&d, bait_ends) : CHOOSE_FROM(&d, plain_ends);
  char *end = append(out, word);
  if (looks_suspicious(&d, suspicious)) end = append(end, "-");
  for (uint64_t i = 0; i < parts; i++) end = append(end, name[i]);
  end = append(append(append(end, "."), ending), "/");
  end = append_hex(end, d.seed);
  *end = 0;
  return (size_t)(end - out);
}

text_list text_list_urls(size_t n, bool suspicious, uint64_t seed) {
  text_list l = {.text = allocate(n * MAX_URL_BYTES + 1, 1)};
  size_t len = 0;
  for (size_t i = 0; i < n; i++) {
    len += synthetic_url(l.text + len, i, suspicious, seed);
    l.text[len++] = '\n';
  }
  find_lines(&l, len);
  return l;
}
