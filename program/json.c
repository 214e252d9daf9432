#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence at the start; 0 if there is none (RFC 3629). */
static size_t utf8_length(const uint8_t *text, size_t len) {
  if (text[0] < 0x80) return 1;
  size_t n = text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;
  if (!n || n > len) return 0;
  uint8_t least = text[0] == 0xe0   ? 0xa0
                  : text[0] == 0xf0 ? 0x90
                                    : 0x80,
          most = text[0] == 0xed   ? 0x9f
                 : text[0] == 0xf4 ? 0x8f
                                   : 0xbf;
  if (text[1] < least || text[1] > most) return 0;
  for (size_t i = 2; i < n; i++)
    if (text[i] >> 6 != 2) return 0;
  return n;
}

/* A byte that is not UTF-8, as in the name of a file, becomes the replacement character. */
static void print_string(const char *text, size_t len) {
  putchar('"');
  for (size_t i = 0, n; i < len; i += n ? n : 1) {
    n = utf8_length((const uint8_t *)text + i, len - i);
    if (!n)
      printf("\\ufffd");
    else if (text[i] == '"' || text[i] == '\\')
      printf("\\%c", text[i]);
    else if ((unsigned char)text[i] < ' ')
      printf("\\u%04x", (unsigned)text[i]);
    else
      fwrite(text + i, 1, n, stdout);
  }
  putchar('"');
}

void json_print_text(const char *text) {
  if (text)
    print_string(text, strlen(text));
  else
    printf("null");
}

/* JSON allows no leading zeros or plus signs and requires digits on both sides of a point: "007"
 * and ".5" are strings. */
static bool is_number(const char *text) {
  static const char *const digits = "0123456789";
  if (*text == '-') text++;
  size_t integer = strspn(text, digits);
  if (!integer || (*text == '0' && integer > 1)) return false;
  text += integer;
  if (*text == '.') {
    size_t fraction = strspn(++text, digits);
    if (!fraction) return false;
    text += fraction;
  }
  if (*text == 'e') {
    text++;
    if (*text == '+' || *text == '-') text++;
    size_t exponent = strspn(text, digits);
    if (!exponent) return false;
    text += exponent;
  }
  return !*text;
}

void json_print_cell(const char *cell) {
  if (!*cell)
    printf("null");
  else if (is_number(cell))
    printf("%s", cell);
  else
    json_print_text(cell);
}

void json_print_rows(const report *table) {
  printf("[");
  for (size_t row = 1; row < report_rows(table); row++) {
    printf(row == 1 ? "\n  {" : ",\n  {");
    for (size_t i = 0; i < report_columns(table); i++) {
      if (i) printf(", ");
      json_print_text(report_text(table, 0, i));
      printf(": ");
      json_print_cell(report_text(table, row, i));
    }
    printf("}");
  }
  printf("\n]");
}

/* ------------------------------------------------------------------ member by member */

static void begin_member(json *j, const char *name, const char *suffix) {
  if (j->more) putchar(',');
  if (name) printf("\"%s%s\":", name, suffix);
  j->more = true;
}

void json_open(json *j, const char *name, char bracket) {
  begin_member(j, name, "");
  putchar(bracket);
  j->closing[j->depth++] = bracket == '{' ? '}' : ']';
  j->more = false;
}

void json_close(json *j) {
  putchar(j->closing[--j->depth]);
  j->more = j->depth;
  if (!j->depth) putchar('\n');
}

void json_text(json *j, const char *name, const char *text) {
  begin_member(j, name, "");
  json_print_text(text);
}

void json_count(json *j, const char *name, uint64_t count) {
  begin_member(j, name, "");
  printf("%llu", (unsigned long long)count);
}

void json_real(json *j, const char *name, double number) {
  begin_member(j, name, "");
  if (isfinite(number))
    printf("%.6g", number);
  else
    printf("null");
}

void json_flag(json *j, const char *name, bool flag) {
  begin_member(j, name, "");
  printf(flag ? "true" : "false");
}

static bool is_utf8(const uint8_t *text, size_t len) {
  for (size_t i = 0, n; i < len; i += n)
    if (!(n = utf8_length(text + i, len - i))) return false;
  return true;
}

void json_bytes(json *j, const char *name, const void *data, size_t len) {
  const uint8_t *bytes = data;
  bool is_text = is_utf8(bytes, len);
  begin_member(j, name, is_text ? "" : "_hex");
  if (is_text) {
    print_string(data, len);
    return;
  }
  putchar('"');
  for (size_t i = 0; i < len; i++) printf("%02x", bytes[i]);
  putchar('"');
}
