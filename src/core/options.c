#include "core/options.h"

#include <string.h>

besom_status besom__option_next(const char **text, struct option *option) {
  if (!*text || !**text) return BESOM_END;
  size_t len = strcspn(*text, ",");
  const char *sign = memchr(*text, '=', len);
  if (!sign || sign == *text || sign == *text + len - 1) return BESOM_BAD_OPTION;
  if ((*text)[len] == ',' && !(*text)[len + 1]) return BESOM_BAD_OPTION; /* a comma promises another option */
  option->name = (besom_bytes){*text, (size_t)(sign - *text)};
  option->value = (besom_bytes){sign + 1, len - option->name.len - 1};
  *text += len + ((*text)[len] == ',');
  return BESOM_OK;
}

static bool equals(besom_bytes bytes, const char *text) {
  return strlen(text) == bytes.len && memcmp(text, bytes.data, bytes.len) == 0;
}

bool besom__option_is(const struct option *option, const char *name) {
  return equals(option->name, name);
}

besom_status besom__option_bool(const struct option *option, bool *out) {
  *out = equals(option->value, "yes");
  return *out || equals(option->value, "no") ? BESOM_OK : BESOM_BAD_OPTION;
}
