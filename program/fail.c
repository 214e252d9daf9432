#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *current_verb;
static int (*last_answer)(void);

void fail_with(int (*answer)(void)) {
  last_answer = answer;
}

static _Noreturn void exit_failed(void) {
  int (*answer)(void) = last_answer;
  last_answer = NULL; /* it may fail, too */
  exit(answer ? answer() : EXIT_FAILED);
}

void usage_error_verb(const char *verb) {
  current_verb = verb;
}

static void print_message(const char *format, va_list values) {
  fflush(stdout); /* keeps the order when stdout and stderr go to one file */
  fprintf(stderr, "%s: ", program_name);
  vfprintf(stderr, format, values);
}

void usage_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  print_message(format, values);
  va_end(values);
  fprintf(stderr, "\nTry: %s%s%s --help\n", program_name, current_verb ? " " : "",
          current_verb ? current_verb : "");
  exit(EXIT_USAGE);
}

void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  print_message(format, values);
  va_end(values);
  fputc('\n', stderr);
  exit_failed();
}

void check(besom_status status, const char *format, ...) {
  if (status == BESOM_OK) return;
  va_list values;
  va_start(values, format);
  print_message(format, values);
  va_end(values);
  fprintf(stderr, ": %s\n", besom_strerror(status));
  exit_failed();
}

void *allocate(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) fail("out of memory: %zu elements of %zu bytes", count, size);
  return memory;
}

void *reallocate(void *memory, size_t count, size_t size) {
  void *larger = realloc(memory, count * size);
  if (!larger) fail("out of memory: %zu elements of %zu bytes", count, size);
  return larger;
}
