/* "kind=aqf,fpr=0.001": the configuration of a filter as text. */
#include "extension.h"

#include <stdlib.h>

static int fail_value(char **error, const char *name, const char *value, const char *expected) {
  return besom__sql_fail(error, "option %s=%s: expected %s", name, value, expected);
}

static int parse_number(const char *name, const char *value, uint64_t *number, char **error) {
  char *end;
  unsigned long long parsed = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || parsed > (uint64_t)1 << 44)
    return fail_value(error, name, value, "a number up to 2^44");
  *number = parsed;
  return SQLITE_OK;
}

static int parse_fraction(const char *name, const char *value, double *number, char **error) {
  char *end;
  *number = strtod(value, &end);
  if (end == value || *end || !(*number > 0))
    return fail_value(error, name, value, "a number above 0");
  return SQLITE_OK;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static int parse_seed(struct options *options, const char *value, char **error) {
  bool valid = strlen(value) == 32;
  for (size_t i = 0; valid && i < 16; i++) {
    int high = hex_digit(value[2 * i]), low = hex_digit(value[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    options->seed[i] = (uint8_t)(high * 16 + low);
  }
  if (!valid) return fail_value(error, "seed", value, "32 hexadecimal digits");
  options->config.seed = options->seed;
  return SQLITE_OK;
}

static int keep_for_kind(struct options *options, const char *name, const char *value) {
  char *rest = options->rest ? sqlite3_mprintf("%s,%s=%s", options->rest, name, value)
                             : sqlite3_mprintf("%s=%s", name, value);
  if (!rest) return SQLITE_NOMEM;
  sqlite3_free(options->rest);
  options->config.options = options->rest = rest;
  return SQLITE_OK;
}

static int set_option(struct options *options, const char *name, const char *value, char **error) {
  besom_config *config = &options->config;
  uint64_t number = 0;
  int rc;
  if (strcmp(name, "kind") == 0) return config->kind = value, SQLITE_OK;
  if (strcmp(name, "hash") == 0) return config->hash = value, SQLITE_OK;
  if (strcmp(name, "seed") == 0) return parse_seed(options, value, error);
  if (strcmp(name, "fpr") == 0) return parse_fraction(name, value, &config->fpr, error);
  if (strcmp(name, "reserve") == 0) return parse_fraction(name, value, &config->reserve, error);
  if (strcmp(name, "bits_per_key") == 0)
    return parse_fraction(name, value, &config->bits_per_key, error);
  if (strcmp(name, "capacity") == 0) return parse_number(name, value, &config->capacity, error);
  if (strcmp(name, "max_capacity") == 0)
    return parse_number(name, value, &config->max_capacity, error);
  if (strcmp(name, "no_capacity") == 0)
    return parse_number(name, value, &config->no_capacity, error);
  if (strcmp(name, "value_bits") != 0) return keep_for_kind(options, name, value);
  if ((rc = parse_number(name, value, &number, error)) != SQLITE_OK) return rc;
  config->value_bits = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
  return SQLITE_OK;
}

/* Ends the word at the first of the separators, or at the end, without the spaces around it. */
static char *cut(char **text, char separator) {
  while (**text == ' ') ++*text;
  char *word = *text, *end = strchr(word, separator);
  if (!end) end = word + strlen(word);
  *text = *end ? end + 1 : end;
  while (end > word && end[-1] == ' ') end--;
  *end = 0;
  return word;
}

int besom__sql_options_parse(struct options *options, const char *text, char **error) {
  *options = (struct options){.config = {.kind = "aqf", .allocator = besom__sql_allocator}};
  if (!text) return SQLITE_OK;
  if (!(options->text = sqlite3_mprintf("%s", text))) return SQLITE_NOMEM;
  char *next = options->text;
  while (*next) {
    char *value = cut(&next, ',');
    if (!*value) continue;
    if (!strchr(value, '='))
      return besom__sql_fail(error, "option %s has no value: write name=value,name=value", value);
    char *name = cut(&value, '=');
    value = cut(&value, '\0');
    int rc = set_option(options, name, value, error);
    if (rc != SQLITE_OK) return rc;
  }
  return SQLITE_OK;
}

void besom__sql_options_free(struct options *options) {
  sqlite3_free(options->text);
  sqlite3_free(options->rest);
}

int besom__sql_fail_config(char **error, const besom_config *config, besom_status status) {
  char text[256] = "";
  besom_config checked = *config;
  if (!checked.capacity && !checked.slots) checked.capacity = 1;
  if (status == BESOM_NO_MEMORY) return SQLITE_NOMEM;
  if (besom_config_check(&checked, text, sizeof text) == BESOM_OK || !*text)
    return besom__sql_fail_status(error, "building a filter", status);
  return besom__sql_fail(error, "building a filter: %s", text);
}
