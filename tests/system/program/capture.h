/* Captures what a function prints to a stream. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct capture {
  FILE *out;
} capture;

static inline capture capture_begin(void) {
  capture c = {tmpfile()};
  assert_non_null(c.out);
  return c;
}

/* Reads the captured text into a string of `size` bytes and closes the stream. */
static inline void capture_read(capture *c, char *text, size_t size) {
  rewind(c->out);
  size_t len = fread(text, 1, size - 1, c->out);
  text[len] = 0;
  assert_true(len < size - 1);
  fclose(c->out);
}

static inline void capture_expect(capture *c, const char *expected) {
  char text[8192];
  capture_read(c, text, sizeof text);
  assert_string_equal(text, expected);
}

#endif
