/*
 * The driver of a peer for besom-bench micro --against (docs/benchmarks.md): it reads questions
 * from stdin, measures a filter, and answers each with a line. The filter is besom's own here, of
 * the kind that the argument names. To measure another library, replace the functions that call
 * besom, and answer NO for what it cannot do.
 *
 *     cc -O3 -march=native bench_driver.c $(pkg-config --cflags --libs besom) -o driver
 *     besom-bench micro --kinds aqf,cf --against peer='./driver bloom'
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include <besom.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK ((size_t)1 << 22) /* keys that are generated before the clock starts */

static const char *kind = "bloom";
static besom_filter *filter;
static uint64_t keys, seed;
static double fpr;
static uint64_t chunk[CHUNK], answers[CHUNK / 64];

/* ------------------------------------------------------------------ keys and time */

static uint64_t number(uint64_t of, uint64_t i) {
  uint64_t z = of + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t member(uint64_t i) {
  return number(seed, i);
}

static uint64_t absent(uint64_t i) {
  return number(seed, i + (UINT64_C(1) << 63));
}

/* A member drawn at random. */
static uint64_t drawn(uint64_t i) {
  __extension__ typedef unsigned __int128 wide;
  return member((uint64_t)(((wide)number(number(~seed, 1), i) * keys) >> 64));
}

static uint64_t cpu_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------ the calls of the filter */

/* Processes the n keys of the chunk, and adds the number of yes answers to *yes. */
typedef besom_status operation(size_t n, uint64_t *yes);

static besom_status insert(size_t n, uint64_t *yes) {
  besom_status status = BESOM_OK;
  (void)yes;
  for (size_t i = 0; i < n && !status; i++) status = besom_insert_u64(filter, chunk[i]);
  return status;
}

static besom_status insert_batch(size_t n, uint64_t *yes) {
  (void)yes;
  return besom_insert_many_u64(filter, chunk, n, NULL);
}

static besom_status query(size_t n, uint64_t *yes) {
  for (size_t i = 0; i < n; i++) *yes += besom_contains_u64(filter, chunk[i]);
  return BESOM_OK;
}

static besom_status query_batch(size_t n, uint64_t *yes) {
  memset(answers, 0, sizeof answers);
  besom_status status = besom_contains_many_u64(filter, chunk, n, answers);
  for (size_t i = 0; i < (n + 63) / 64; i++) *yes += (uint64_t)__builtin_popcountll(answers[i]);
  return status;
}

static besom_status remove_keys(size_t n, uint64_t *yes) {
  besom_status status = BESOM_OK;
  (void)yes;
  for (size_t i = 0; i < n && !status; i++) status = besom_remove_u64(filter, chunk[i]);
  return status;
}

/* ------------------------------------------------------------------ questions and answers */

static const struct {
  const char *name;
  operation *run;
  uint64_t (*key)(uint64_t i);
  bool range; /* NAME FROM TO; else NAME COUNT, which is answered with the yes answers, too */
} operations[] = {
    {"insert", insert, member, true},      {"insert_batch", insert_batch, member, true},
    {"negative", query, absent, false},    {"negative_batch", query_batch, absent, false},
    {"positive", query, drawn, false},     {"positive_batch", query_batch, drawn, false},
    {"remove", remove_keys, member, true},
};

static void answer_status(besom_status status) {
  if (status == BESOM_UNSUPPORTED)
    puts("NO");
  else
    printf("ERROR %s\n", besom_strerror(status));
}

static void measure(size_t op, uint64_t from, uint64_t to) {
  uint64_t time = 0, yes = 0;
  besom_status status = BESOM_OK;
  while (from < to && !status) {
    size_t n = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
    for (size_t i = 0; i < n; i++) chunk[i] = operations[op].key(from + i);
    uint64_t start = cpu_nanoseconds();
    status = operations[op].run(n, &yes);
    time += cpu_nanoseconds() - start;
    from += n;
  }
  if (status)
    answer_status(status);
  else if (operations[op].range)
    printf("OK %" PRIu64 "\n", time);
  else
    printf("OK %" PRIu64 " %" PRIu64 "\n", time, yes);
}

/* Kinds that can only be built have no filter yet. */
static void renew(void) {
  besom_free(filter);
  filter = NULL;
  besom_status status =
      besom_create(&(besom_config){.kind = kind, .capacity = keys, .fpr = fpr}, &filter);
  if (status && status != BESOM_UNSUPPORTED)
    answer_status(status);
  else
    puts("OK");
}

static void build(void) {
  uint64_t *all = malloc((keys + 1) * sizeof *all);
  besom_status status = all ? BESOM_OK : BESOM_NO_MEMORY;
  for (uint64_t i = 0; i < keys && all; i++) all[i] = member(i);
  besom_free(filter);
  filter = NULL;
  uint64_t start = cpu_nanoseconds();
  if (!status)
    status = besom_build(&(besom_config){.kind = kind, .capacity = keys, .fpr = fpr},
                         &(besom_input){.keys_u64 = all, .n_keys = keys}, &filter);
  uint64_t time = cpu_nanoseconds() - start;
  free(all);
  if (status)
    answer_status(status);
  else
    printf("OK %" PRIu64 "\n", time);
}

static void size(void) {
  besom_statistics stats;
  besom_status status = besom_stats(filter, &stats);
  if (status)
    answer_status(status);
  else
    printf("OK %" PRIu64 "\n", 8 * stats.bytes);
}

static void answer(const char *line) {
  char name[32] = "";
  uint64_t a = 0, b = 0;
  if (sscanf(line, "keys %" SCNu64 " %" SCNu64 " %lf", &keys, &seed, &fpr) == 3) {
    renew();
    return;
  }
  sscanf(line, "%31s %" SCNu64 " %" SCNu64, name, &a, &b);
  for (size_t op = 0; op < sizeof operations / sizeof *operations && filter; op++)
    if (strcmp(name, operations[op].name) == 0) {
      measure(op, operations[op].range ? a : 0, operations[op].range ? b : a);
      return;
    }
  if (strcmp(name, "build") == 0)
    build();
  else if (strcmp(name, "bits") == 0 && filter)
    size();
  else
    puts("NO");
}

int main(int argc, char **argv) {
  char line[256];
  if (argc > 1) kind = argv[1];
  while (fgets(line, sizeof line, stdin)) {
    answer(line);
    fflush(stdout); /* besom-bench waits for it */
  }
  besom_free(filter);
  return 0;
}
