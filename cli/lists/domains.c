#include "lists/domains.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

#ifdef BESOM_WITH_IDN2
#include <idn2.h>
#endif

enum { MOST_NAME_BYTES = 253, MOST_LABEL_BYTES = 63 };

static bool domain_is_ascii(besom_bytes text) {
  const unsigned char *at = text.data;
  for (size_t i = 0; i < text.len; i++)
    if (at[i] >= 0x80) return false;
  return true;
}

/* The length of the punycode; 0 if the name is not valid. */
static size_t domain_to_punycode(besom_bytes text, char name[DOMAIN_BYTES]) {
#ifdef BESOM_WITH_IDN2
  char *copy = allocate(1, text.len + 1), *ascii = NULL;
  memcpy(copy, text.data, text.len);
  int status = idn2_to_ascii_8z(copy, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  size_t len = status == IDN2_OK ? strlen(ascii) : 0;
  if (len > MOST_NAME_BYTES) len = 0;
  if (len) memcpy(name, ascii, len);
  if (ascii) idn2_free(ascii);
  free(copy);
  return len;
#else
  (void)name;
  fail("'%.*s': this besom was built without libidn2: give the name as punycode (xn--...)",
       (int)(text.len < MOST_NAME_BYTES ? text.len : MOST_NAME_BYTES), (const char *)text.data);
#endif
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static besom_bytes domain_without_comment(besom_bytes text) {
  const char *at = text.data, *comment = text.len ? memchr(at, '#', text.len) : NULL;
  size_t len = comment ? (size_t)(comment - at) : text.len;
  while (len && is_blank(at[len - 1])) len--;
  while (len && is_blank(*at)) at++, len--;
  return (besom_bytes){at, len};
}

static besom_bytes domain_without_dots(besom_bytes text) {
  const char *at = text.data;
  size_t len = text.len;
  while (len && at[len - 1] == '.') len--;
  if (len >= 2 && memcmp(at, "*.", 2) == 0) at += 2, len -= 2;
  while (len && *at == '.') at++, len--;
  return (besom_bytes){at, len};
}

static size_t domain_to_lower(besom_bytes text, char name[DOMAIN_BYTES]) {
  const char *at = text.data;
  if (text.len > MOST_NAME_BYTES) return 0;
  for (size_t i = 0; i < text.len; i++)
    name[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] + ('a' - 'A') : at[i]);
  return text.len;
}

/* Labels of letters, digits, hyphens and underscores. What else a line has is the sign of another
 * format: addresses, URLs, patterns, the mark of an exception. */
static bool domain_is_name(const char *name, size_t len) {
  size_t label = 0;
  for (size_t i = 0; i < len; i++) {
    char c = name[i];
    bool in_label = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (in_label ? ++label > MOST_LABEL_BYTES : c != '.' || !label) return false;
    if (!in_label) label = 0;
  }
  return label > 0;
}

size_t domain_spelling(besom_bytes text, char name[DOMAIN_BYTES]) {
  text = domain_without_dots(domain_without_comment(text));
  if (text.len > MOST_NAME_BYTES * 4 || (text.len && memchr(text.data, 0, text.len))) return 0;
  size_t len = domain_is_ascii(text) ? domain_to_lower(text, name) : domain_to_punycode(text, name);
  return domain_is_name(name, len) ? len : 0;
}

unsigned domain_count_labels(besom_bytes name) {
  const char *at = name.data;
  unsigned labels = name.len > 0;
  for (size_t i = 0; i < name.len; i++) labels += at[i] == '.';
  return labels;
}

bool domain_parent(besom_bytes name, besom_bytes *parent) {
  const char *at = name.data, *dot = name.len ? memchr(at, '.', name.len) : NULL;
  if (!dot) return false;
  *parent = (besom_bytes){dot + 1, name.len - (size_t)(dot + 1 - at)};
  return true;
}

bool domain_query(const besom_filter *f, besom_bytes key, char name[DOMAIN_BYTES],
                  besom_bytes *entry) {
  *entry = key;
  if (domain_is_ascii(key)) return besom_domain_contains(f, key.data, key.len, entry);
  size_t len = domain_spelling(key, name);
  return len && besom_domain_contains(f, name, len, entry);
}
