#include "lists/group_by.h"

#include <regex.h>
#include <stdio.h>

#include "besom.h"
#include "fail.h"

static _Noreturn void group_by_refuse(const char *expression) {
  regex_t posix;
  char reason[128];
  int error = regcomp(&posix, expression, REG_EXTENDED);
  if (error) {
    regerror(error, &posix, reason, sizeof reason);
    usage_error("--group-by: '%s': %s", expression, reason);
  }
  regfree(&posix);
  usage_error("--group-by: '%s' is not supported: it must begin with ^ or end with $, have one "
              "pair of parentheses and no |, and nothing repeated may match the byte after it (use "
              "[^:]*: instead of .*:)",
              expression);
}

/* The last option is the expression, which may have commas. */
const char *group_by_options(const char *expression, bool closed) {
  static char options[320];
  int len =
      snprintf(options, sizeof options, "%sgroup=%s", closed ? "universe=closed," : "", expression);
  if (len < 0 || (size_t)len >= sizeof options) usage_error("--group-by: at most 255 bytes");
  besom_config config = {.kind = "grouped", .capacity = 1, .options = options};
  if (besom_config_check(&config, NULL, 0) != BESOM_OK) group_by_refuse(expression);
  return options;
}
