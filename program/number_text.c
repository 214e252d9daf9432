#include "number_text.h"

#include <stdio.h>
#include <string.h>

number_text grouped(uint64_t count) {
  char digits[24];
  number_text out;
  size_t n = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), used = 0;
  for (size_t i = 0; i < n; i++) {
    if (i && (n - i) % 3 == 0) out.text[used++] = ',';
    out.text[used++] = digits[i];
  }
  out.text[used] = 0;
  return out;
}
