#include "lists/list_format.h"

#include <string.h>

/* ------------------------------------------------------------------ names */

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Letters, digits and the bytes of UTF-8; hyphens and underscores. */
static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' ||
         (unsigned char)c >= 0x80;
}

/* Labels with a dot between each two. */
static bool is_name(const char *text, size_t len) {
  bool after_dot = true;
  for (size_t i = 0; i < len; i++) {
    bool dot = text[i] == '.';
    if (dot ? after_dot : !is_name_byte(text[i])) return false;
    after_dot = dot;
  }
  return len && !after_dot;
}

static besom_bytes to_name(char *text, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (text[i] >= 'A' && text[i] <= 'Z') text[i] = (char)(text[i] + ('a' - 'A'));
  return (besom_bytes){text, len};
}

static text_part without_blanks(text_part p) {
  while (p.len && is_blank(*p.at)) p.at++, p.len--;
  while (p.len && is_blank(p.at[p.len - 1])) p.len--;
  return p;
}

/* Takes the text up to the next blank. */
static text_part take_word(text_part *line) {
  *line = without_blanks(*line);
  text_part word = {line->at, 0};
  while (word.len < line->len && !is_blank(line->at[word.len])) word.len++;
  line->at += word.len;
  line->len -= word.len;
  return word;
}

/* ------------------------------------------------------------------ hosts */

/* IPv4: digits and three dots. IPv6: hexadecimal digits and at least two colons, perhaps a zone. */
static bool is_address(text_part word) {
  size_t dots = 0, colons = 0, digits = 0;
  for (size_t i = 0; i < word.len && word.at[i] != '%'; i++) {
    dots += word.at[i] == '.';
    colons += word.at[i] == ':';
    digits += is_digit(word.at[i]);
    if (word.at[i] != '.' && word.at[i] != ':' && !is_hex(word.at[i])) return false;
  }
  return colons >= 2 || (dots == 3 && digits + dots == word.len);
}

line_kind hosts_line(text_part *line) {
  char *comment = line->len ? memchr(line->at, '#', line->len) : NULL;
  if (comment) line->len = (size_t)(comment - line->at);
  text_part address = take_word(line);
  *line = without_blanks(*line);
  if (!address.len) return LINE_EMPTY;
  return is_address(address) && line->len ? LINE_NAMES : LINE_OTHER;
}

static bool is_local(besom_bytes name) {
  static const char *const names[] = {"localhost",
                                      "localhost.localdomain",
                                      "local",
                                      "broadcasthost",
                                      "ip6-localhost",
                                      "ip6-loopback",
                                      "ip6-localnet",
                                      "ip6-mcastprefix",
                                      "ip6-allnodes",
                                      "ip6-allrouters",
                                      "ip6-allhosts",
                                      "localhost6",
                                      "localhost6.localdomain6"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == name.len && memcmp(names[i], name.data, name.len) == 0) return true;
  return is_address((text_part){(char *)(uintptr_t)name.data, name.len});
}

bool hosts_name(text_part *line, besom_bytes *name) {
  while (line->len) {
    text_part word = take_word(line);
    if (!word.len) return false;
    if (word.len > 1 && word.at[word.len - 1] == '.') word.len--; /* the root */
    *name = to_name(word.at, word.len);
    if (!is_local(*name)) return true;
  }
  return false;
}

/* ------------------------------------------------------------------ adblock */

static bool begins(text_part p, const char *text) {
  size_t len = strlen(text);
  return p.len >= len && memcmp(p.at, text, len) == 0;
}

/* Lines of # are comments, except for cosmetic rules: ##, #@#, #?#, #$#, #%#. */
static bool is_comment(text_part line) {
  if (line.at[0] == '!' || line.at[0] == '[') return true;
  return line.at[0] == '#' && (line.len == 1 || !strchr("#@?$%", line.at[1]));
}

line_kind adblock_line(text_part line, besom_bytes *name) {
  line = without_blanks(line);
  if (!line.len || is_comment(line)) return LINE_EMPTY;
  if (begins(line, "@@")) return LINE_EXCEPTION;
  if (!begins(line, "||")) return LINE_OTHER;
  char *end = memchr(line.at, '^', line.len);
  if (!end) return LINE_OTHER;
  text_part rest = {end + 1, line.len - (size_t)(end + 1 - line.at)};
  bool unrestricted = !rest.len || (rest.len == 10 && begins(rest, "$important")) ||
                      (rest.len == 4 && begins(rest, "$all"));
  size_t len = (size_t)(end - line.at) - 2;
  if (!unrestricted || !is_name(line.at + 2, len)) return LINE_OTHER;
  *name = to_name(line.at + 2, len);
  return LINE_NAMES;
}

/* ------------------------------------------------------------------ CSV */

csv_status csv_record(text_part text, bool at_end, size_t *len, size_t *next, size_t *lines) {
  bool in_quotes = false, at_field = true; /* a quote elsewhere is a character like others */
  *lines = 0;
  for (size_t i = 0; i < text.len; i++) {
    char c = text.at[i];
    if (c == '"' && in_quotes && i + 1 < text.len && text.at[i + 1] == '"')
      i++;
    else if (c == '"' && (in_quotes || at_field))
      in_quotes = !in_quotes;
    at_field = !in_quotes && c == ',';
    if (c != '\n') continue;
    ++*lines;
    if (in_quotes) continue;
    *len = i && text.at[i - 1] == '\r' ? i - 1 : i;
    *next = i + 1;
    return CSV_RECORD;
  }
  if (!at_end) return CSV_INCOMPLETE;
  *len = *next = text.len;
  ++*lines;
  return in_quotes ? CSV_OPEN_QUOTE : CSV_RECORD;
}

/* The field that begins with a quote: its closing quote is the first that is not doubled. */
static bool take_quoted(text_part *record, besom_bytes *field) {
  char *from = record->at + 1, *end = record->at + record->len, *to = from;
  *field = (besom_bytes){from, 0};
  for (; from < end; *to++ = *from++) {
    if (*from != '"') continue;
    if (from + 1 == end || from[1] != '"') break;
    from++;
  }
  if (from == end) return false;
  field->len = (size_t)(to - (char *)(uintptr_t)field->data);
  record->at = from + 1;
  record->len = (size_t)(end - record->at);
  return true;
}

bool csv_field(text_part *record, bool *more, besom_bytes *field, bool *bad) {
  *bad = false;
  if (!*more) return false;
  if (record->len && *record->at == '"') {
    *bad = !take_quoted(record, field) || (record->len && *record->at != ',');
    if (*bad) return false;
  } else {
    char *comma = record->len ? memchr(record->at, ',', record->len) : NULL;
    *field = (besom_bytes){record->at, comma ? (size_t)(comma - record->at) : record->len};
    record->at += field->len;
    record->len -= field->len;
  }
  *more = record->len;
  if (*more) record->at++, record->len--; /* the comma */
  return true;
}
