/*
 * learned.c FILE-PREFIX: makes filters of every kind that adapts without a store, with a fixed
 * seed, reports false positives to them, and saves them. Then it opens every file
 * FILE-PREFIX-KIND.besom that another run may have written before (argument "check"), and asks it
 * the same questions.
 *
 * The files must be the same bytes on every machine: tests/system/files/run.sh compares those of
 * this machine with those of a big-endian one.
 */
#include <besom.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 2000, ABSENT = 20000 };

static const uint8_t seed[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static const struct subject {
  const char *name, *kind, *options;
  uint64_t capacity; /* a chain begins with less */
} subjects[] = {{"aqf", "aqf", NULL, MEMBERS},
                {"aqf-tombstones", "aqf", "tombstones=yes", MEMBERS},
                {"aqf-full", "aqf", "exceptions=full", MEMBERS},
                {"aqf-forget", "aqf", "forget=yes,max_exceptions=50", MEMBERS},
                {"yesno", "yesno", NULL, MEMBERS},
                {"chain", "scaling", "base=aqf", MEMBERS / 20},
                {"cached-lru", "cached", "base=cf", MEMBERS},
                {"cached-topk", "cached", "cache=topk", MEMBERS}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static int fail(const char *name, const char *what) {
  fprintf(stderr, "%s: %s\n", name, what);
  return 1;
}

/* The source of the members. */
static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  static besom_u64_key current;
  uint64_t *next = ctx;
  (void)weight;
  if (*next == MEMBERS) return BESOM_END;
  current = besom_u64((*next)++);
  *key = (besom_bytes){current.bytes, sizeof current.bytes};
  return BESOM_OK;
}

/* Absent keys are numbered after the members. */
static int learn(besom_filter *f, const char *name) {
  for (uint64_t i = MEMBERS; i < MEMBERS + ABSENT; i++) {
    besom_status status = besom_contains_u64(f, i) ? besom_adapt_u64(f, i) : BESOM_OK;
    if (status != BESOM_OK && status != BESOM_EVICTED) return fail(name, "adapt");
  }
  return 0;
}

/* How many absent keys are answered yes; UINT64_MAX if a member is answered no. */
static uint64_t false_positives(const besom_filter *f) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < MEMBERS; i++)
    if (!besom_contains_u64(f, i)) return UINT64_MAX;
  for (uint64_t i = MEMBERS; i < MEMBERS + ABSENT; i++) n += besom_contains_u64(f, i);
  return n;
}

static uint64_t exceptions(const besom_filter *f) {
  besom_counter counters[32];
  size_t n = besom_counters(f, counters, 32);
  for (size_t i = 0; i < n && i < 32; i++)
    if (strcmp(counters[i].name, "exceptions") == 0) return counters[i].value;
  return 0;
}

static int write_or_check(const struct subject *s, const char *prefix, int check) {
  char path[512];
  besom_config config = {.kind = s->kind,
                         .options = s->options,
                         .capacity = s->capacity,
                         .fpr = 0.01,
                         .reserve = 0.5,
                         .seed = seed};
  besom_filter *f = NULL, *saved = NULL;
  uint64_t first = 0;
  besom_source members = {.next = next_member, .ctx = &first};
  if (besom_build(&config, &(besom_input){.yes = &members}, &f) != BESOM_OK)
    return fail(s->name, "build");
  if (learn(f, s->name)) return fail(s->name, "learn");
  snprintf(path, sizeof path, "%s-%s.besom", prefix, s->name);
  if (!check && besom_save_file(f, path) != BESOM_OK) return fail(s->name, "save");
  if (besom_open(path, NULL, &saved) != BESOM_OK) return fail(s->name, "open");
  if (false_positives(saved) != false_positives(f)) return fail(s->name, "answers differ");
  if (!exceptions(saved)) return fail(s->name, "nothing was learned");
  besom_free(f);
  besom_free(saved);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int failures = 0;
  for (size_t i = 0; i < SUBJECTS; i++)
    failures += write_or_check(&subjects[i], argv[1], argc > 2 && strcmp(argv[2], "check") == 0);
  return failures != 0;
}
