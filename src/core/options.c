#include "core/options.h"

#include <string.h>

besom_status besom__option_next(const char **text, struct option *option) {
  if (!*text || !**text) return BESOM_END;
  size_t len = strcspn(*text, ",");
  const char *sign = memchr(*text, '=', len);
  if (!sign || sign == *text || sign == *text + len - 1) return BESOM_BAD_OPTION;
  if ((*text)[len] == ',' && !(*text)[len + 1]) return BESOM_BAD_OPTION; /* a trailing comma */
  option->name = (besom_bytes){*text, (size_t)(sign - *text)};
  option->value = (besom_bytes){sign + 1, len - option->name.len - 1};
  *text += len + ((*text)[len] == ',');
  return BESOM_OK;
}

static bool equals(besom_bytes bytes, const char *text) {
  return strlen(text) == bytes.len && memcmp(text, bytes.data, bytes.len) == 0;
}

bool besom__option_says(const struct option *option, const char *value) {
  return equals(option->value, value);
}

bool besom__option_is(const struct option *option, const char *name) {
  return equals(option->name, name);
}

besom_status besom__option_flag(const struct option *option, const struct flag_option *flags,
                                size_t n) {
  for (; n; flags++, n--) {
    if (!equals(option->name, flags->name)) continue;
    *flags->flag = equals(option->value, flags->set);
    return *flags->flag || equals(option->value, flags->unset) ? BESOM_OK : BESOM_BAD_OPTION;
  }
  return BESOM_BAD_OPTION;
}

besom_status besom__options_isa(const char *text, enum isa *isa, const struct flag_option *flags,
                                size_t n) {
  struct option option;
  besom_status status;
  *isa = besom__isa_best();
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "isa"))
      status = besom__isa_parse(option.value.data, option.value.len, isa);
    else
      status = besom__option_flag(&option, flags, n);
    if (status != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

besom_status besom__option_number(const struct option *option, uint64_t *out) {
  const char *digits = option->value.data;
  *out = 0;
  for (size_t i = 0; i < option->value.len; i++) {
    if (digits[i] < '0' || digits[i] > '9' || *out > (UINT64_MAX - 9) / 10) return BESOM_BAD_OPTION;
    *out = *out * 10 + (uint64_t)(digits[i] - '0');
  }
  return BESOM_OK;
}
