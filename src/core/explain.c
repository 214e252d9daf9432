#include "core/explain.h"

#include <stdarg.h>
#include <stdio.h>

besom_status besom__explain(struct explanation *why, besom_status status, const char *format, ...) {
  if (!why || !why->size) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why->text, why->size, format, arguments);
  va_end(arguments);
  return status;
}
