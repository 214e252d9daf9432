/*
 * vectors DIRECTORY [MANY]: opens every file that expected.txt and maps.txt of DIRECTORY name, asks
 * the queries of vectors.h (the first 2^14, or with MANY 2^20), and compares the answers. Uses the
 * public calls of reading only, so it tests each form of the amalgamation, too. A file of a kind
 * that this build lacks is reported, and its answers are not compared.
 */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_FILES = 200 };

typedef struct vector_file {
  char name[64];
  unsigned long crc[2], yes[2];
  unsigned long long sample;
  besom_filter *f;
  uint8_t *answers;
} vector_file;

static vector_file files[MAX_FILES];

static uint32_t crc32_of(const uint8_t *data, size_t len) {
  uint32_t crc = ~UINT32_C(0);
  for (size_t i = 0; i < len; i++) crc = vector_crc(crc, data[i]);
  return ~crc;
}

static unsigned long count_bits(const uint8_t *data, size_t len) {
  unsigned long n = 0;
  for (size_t i = 0; i < len; i++) n += (unsigned long)__builtin_popcount(data[i]);
  return n;
}

static size_t read_expected(const char *directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/expected.txt", directory);
  FILE *in = fopen(path, "r");
  size_t n = 0;
  while (in && n < MAX_FILES) {
    vector_file *v = &files[n];
    int read = fscanf(in, "%63s %lx %lu %lx %lu %llx", v->name, &v->crc[0], &v->yes[0], &v->crc[1],
                      &v->yes[1], &v->sample);
    if (read != 6) break;
    n++;
  }
  if (in) fclose(in);
  return n;
}

/* False: the build lacks the kind. */
static bool open_file(vector_file *v, const char *directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, v->name);
  besom_status status = besom_open(path, NULL, &v->f);
  if (status == BESOM_UNKNOWN_KIND || status == BESOM_NEWER_VERSION) return false;
  v->answers = calloc(1, MANY / 8);
  if (status != BESOM_OK || !v->answers) {
    printf("%s: %s\n", v->name, besom_strerror(status));
    exit(1);
  }
  return true;
}

static bool agree(const vector_file *v, bool many) {
  size_t len = (many ? MANY : FEW) / 8;
  uint32_t crc = crc32_of(v->answers, len);
  unsigned long yes = count_bits(v->answers, len);
  if (crc == v->crc[many] && yes == v->yes[many]) return true;
  unsigned long long sample = 0;
  for (unsigned i = 0; i < 8; i++) sample |= (unsigned long long)v->answers[i] << 8 * i;
  printf("%s: yes to %lu of %zu queries instead of %lu; the first 64: %016llx instead of %016llx\n",
         v->name, yes, 8 * len, v->yes[many], sample, v->sample);
  return false;
}

/* ------------------------------------------------------------------ maplets */

/* Counts the files that this build can open in *opened. */
static bool check_map(const char *path, uint32_t crc, unsigned long candidates, bool many,
                      size_t *opened) {
  besom_filter *f = NULL;
  uint32_t found = ~UINT32_C(0);
  unsigned long n = 0;
  besom_status status = besom_open(path, NULL, &f);
  for (uint64_t q = 0; f && q < (many ? MANY : FEW); q++) {
    vector_key key = vector_key_number(vector_query(q));
    n += vector_candidates(f, &key, &found);
  }
  besom_free(f);
  if (status == BESOM_UNKNOWN_KIND || status == BESOM_NEWER_VERSION)
    return printf("%s: not a kind of this build\n", path) > 0;
  ++*opened;
  if (status == BESOM_OK && ~found == crc && n == candidates) return true;
  printf("%s: %s, %lu candidates instead of %lu\n", path, besom_strerror(status), n, candidates);
  return false;
}

/* Returns the files that answer wrong. */
static size_t check_maps(const char *directory, bool many) {
  char path[4096], name[64];
  unsigned long crc[2], candidates[2];
  size_t opened = 0, wrong = 0;
  snprintf(path, sizeof path, "%s/maps.txt", directory);
  FILE *in = fopen(path, "r");
  while (in && fscanf(in, "%63s %lx %lu %lx %lu", name, &crc[0], &candidates[0], &crc[1],
                      &candidates[1]) == 5) {
    snprintf(path, sizeof path, "%s/%s", directory, name);
    wrong += !check_map(path, (uint32_t)crc[many], candidates[many], many, &opened);
  }
  if (in) fclose(in);
  printf("%zu maplets, %zu wrong\n", opened, wrong);
  return wrong + (opened < 3);
}

int main(int n_arguments, char **arguments) {
  if (n_arguments < 2) return 2;
  bool many = n_arguments > 2;
  size_t n = read_expected(arguments[1]), opened = 0, wrong = 0;
  for (size_t i = 0; i < n; i++) {
    if (open_file(&files[i], arguments[1]))
      opened++;
    else
      printf("%s: not a kind of this build\n", files[i].name);
  }
  for (uint64_t q = 0; q < (many ? MANY : FEW); q++) {
    vector_key key = vector_key_number(vector_query(q));
    for (size_t i = 0; i < n; i++)
      if (files[i].f)
        files[i].answers[q / 8] |= (uint8_t)(vector_answer(files[i].f, &key) << q % 8);
  }
  for (size_t i = 0; i < n; i++) {
    wrong += files[i].f && !agree(&files[i], many);
    besom_free(files[i].f);
    free(files[i].answers);
  }
  printf("%zu files, %zu wrong\n", opened, wrong);
  wrong += check_maps(arguments[1], many);
  return wrong || opened < 20;
}
