#include "fix_reserve.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define MOST_FIXES (UINT64_C(1) << 40)

fix_reserve fix_reserve_read(const char *text) {
  fix_reserve r = {0, 0};
  if (!text) return r;
  char *end;
  if (*text && !text[strspn(text, "0123456789")]) {
    r.fixes = strtoull(text, &end, 10);
  } else {
    r.share = strtod(text, &end);
    if (*end == '%') r.share /= 100, end++;
  }
  if (*end || !(r.fixes || (r.share > 0 && r.share <= 0.5)) || r.fixes > MOST_FIXES)
    usage_error("--reserve: '%s' is neither a number of fixes nor a share up to 0.5", text);
  return r;
}
