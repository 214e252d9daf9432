/*
 * Claim real-lists: a blocklist of phishing and malware domains that must not block the most linked domains, nor any of
 * a million other names. scripts/fetch-lists.sh fetches both lists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "workload.h"

enum { SEED = 0xbe50 };

static const double rate = 1.0 / 256;
static const char *const yes_path = "data/lists/yes.txt", *const no_path = "data/lists/no.txt";

/* ------------------------------------------------------------------ lists from files */

typedef struct list {
  char *text;
  besom_bytes *lines;
  size_t n, at;
} list;

static char *read_text(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot read %s: scripts/fetch-lists.sh fetches it", path);
  size_t room = 1 << 20;
  char *text = allocate(room, 1);
  for (size_t n; (n = fread(text + *len, 1, room - *len, file)) > 0;) {
    *len += n;
    if (*len < room) continue;
    text = realloc(text, room *= 2);
    if (!text) fail("no memory for %s", path);
  }
  fclose(file);
  return text;
}

static list list_read(const char *path) {
  size_t len = 0, lines = 0;
  list l = {.text = read_text(path, &len)};
  for (size_t i = 0; i < len; i++) lines += l.text[i] == '\n';
  l.lines = allocate(lines + 1, sizeof *l.lines);
  for (size_t start = 0, i = 0; i < len; i++)
    if (l.text[i] == '\n') {
      l.lines[l.n++] = (besom_bytes){l.text + start, i - start};
      start = i + 1;
    }
  return l;
}

static void list_free(list *l) {
  free(l->lines);
  free(l->text);
}

static besom_status next_line(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  *key = l->lines[l->at++];
  return BESOM_OK;
}

static besom_source source_of(list *l) {
  l->at = 0;
  return (besom_source){.next = next_line, .size_hint = l->n, .ctx = l};
}

static uint64_t count_yes(const besom_filter *f, const list *l) {
  uint64_t yes = 0;
  for (size_t i = 0; i < l->n; i++) yes += besom_contains(f, l->lines[i].data, l->lines[i].len);
  return yes;
}

/* ------------------------------------------------------------------ kinds */

/* With the no list where the kind can promise it; else it is only asked for. */
static bool test_kind(const char *kind, bool promises, list *yes, list *no, report *numbers) {
  uint8_t seed[16];
  hash_seed(SEED, seed);
  besom_config config = {.kind = kind, .rate = rate, .seed = seed};
  besom_source members = source_of(yes), others = source_of(no);
  besom_filter *f;
  check(besom_build(&config, &members, promises ? &others : NULL, NULL, &f), "building %s", kind);
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  uint64_t blocked = count_yes(f, yes), wrongly = count_yes(f, no);
  besom_free(f);
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%zu", yes->n);
  report_cell(numbers, "%zu", no->n);
  report_cell(numbers, "%llu", (unsigned long long)stats.bytes);
  report_cell(numbers, "%.2f", 8 * (double)stats.bytes / (double)yes->n);
  report_cell(numbers, "%llu", (unsigned long long)(yes->n - blocked));
  report_cell(numbers, "%llu", (unsigned long long)wrongly);
  return blocked == yes->n && (!promises || wrongly == 0);
}

static bool run(bool full, report *numbers) {
  (void)full;
  list yes = list_read(yes_path), no = list_read(no_path);
  bool holds = test_kind("yesno", true, &yes, &no, numbers);
  holds &= test_kind("cascade", true, &yes, &no, numbers);
  holds &= test_kind("bloom", false, &yes, &no, numbers);
  holds &= test_kind("fuse", false, &yes, &no, numbers);
  list_free(&yes);
  list_free(&no);
  return holds;
}

static const char *const columns[] = {"kind", "yes", "no", "bytes", "bits_per_yes", "yes_missed", "no_blocked"};

const claim real_lists_claim = {
    .name = "real-lists",
    .source = "besom",
    .statement = "a blocklist of domains blocks all of them, and none of a million known-good names",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
