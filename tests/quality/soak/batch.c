#include "batch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/keys.h"

static uint64_t number_of(const char *text) {
  char *end = NULL;
  uint64_t n = strtoull(text, &end, 10);
  if (end == text || *end) {
    fprintf(stderr, "not a number: %s\n", text);
    exit(2);
  }
  return n;
}

batch batch_of(int argc, char **argv, const char *row_option) {
  batch b = {.seed = 1, .amount = 1};
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value && !strcmp(argv[i], "--seed")) {
      b.seed = number_of(value);
    } else if (value && !strcmp(argv[i], "--amount")) {
      b.amount = number_of(value);
    } else if (value && !strcmp(argv[i], "--episode")) {
      b.episode = number_of(value);
    } else if (value && row_option && !strcmp(argv[i], row_option)) {
      b.row = value;
    } else {
      fprintf(stderr, "usage: %s --seed S --amount N [--episode E]%s%s%s\n", argv[0],
              row_option ? " [" : "", row_option ? row_option : "", row_option ? " NAME]" : "");
      exit(2);
    }
  }
  return b;
}

/* ------------------------------------------------------------------ episodes */

static uint64_t running; /* the episode, for the handlers of errors */

static void tell_episode(void) {
  fprintf(stderr, "only this episode: --episode %" PRIu64 "\n", running);
}

static void on_abort(int number) {
  tell_episode(); /* not safe in every handler, but abort() was called outside of stdio */
  signal(number, SIG_DFL);
  raise(number);
}

/* Only programs with a sanitizer have it. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

void batch_run(batch request, const uint64_t *done, void (*episode)(void *ctx, uint64_t seed),
               void *ctx) {
  signal(SIGABRT, on_abort);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(tell_episode);
  for (running = 1; *done < request.amount; running++) {
    if (request.episode) running = request.episode;
    episode(ctx, mix64(request.seed << 24) + running);
    if (request.episode) return;
  }
}

void print_counts(const count *counts, int n) {
  for (int i = 0; i < n; i++)
    printf("%s\"%s\": %" PRIu64, i ? ", " : "{", counts[i].name, counts[i].n);
  puts("}");
}
