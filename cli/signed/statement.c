#define _DEFAULT_SOURCE 1 /* timegm, gmtime_r */

#include "signed/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define BASE64 "%88[A-Za-z0-9+/=]"

bool name_is_valid(const char *name) {
  size_t len = strlen(name);
  return len && len < NAME_SIZE && strspn(name, NAME_CHARACTERS) == len;
}

void date_text(int64_t seconds, char text[DATE_SIZE]) {
  time_t t = (time_t)seconds;
  struct tm utc;
  gmtime_r(&t, &utc);
  strftime(text, DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

bool date_parse(const char *text, int64_t *seconds) {
  struct tm utc = {0};
  char whole[DATE_SIZE + 1], again[DATE_SIZE];
  snprintf(whole, sizeof whole, strlen(text) == strlen("2026-12-31") ? "%sT00:00:00Z" : "%s", text);
  if (sscanf(whole, "%4d-%2d-%2dT%2d:%2d:%2dZ", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
             &utc.tm_hour, &utc.tm_min, &utc.tm_sec) != 6)
    return false;
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  *seconds = (int64_t)timegm(&utc);
  if (*seconds < 0 || *seconds > MAX_DATE) return false;
  date_text(*seconds, again);
  return strcmp(again, whole) == 0;
}

/* "7d": that many days after now. Returns false if the text is something else. */
static bool days_parse(const char *text, int64_t now, int64_t *seconds) {
  char *end;
  unsigned long long days = strtoull(text, &end, 10);
  if (end == text || strcmp(end, "d") != 0 || days < 1 || days > 36500) return false;
  *seconds = now + (int64_t)days * 24 * 60 * 60;
  return *seconds <= MAX_DATE;
}

int64_t expiry_read(const char *text, int64_t now) {
  int64_t expires;
  if (!days_parse(text, now, &expires) && !date_parse(text, &expires))
    usage_error("--expires: '%s' is not a date such as 2026-12-31, or days such as 7d", text);
  if (expires <= now) usage_error("--expires: %s is in the past", text);
  return expires;
}

void statement_text(const statement *s, char text[COMMENT_BYTES + 1]) {
  char date[DATE_SIZE];
  date_text(s->expires, date);
  int n =
      snprintf(text, COMMENT_BYTES + 1, "besom-list-1 name=%s sequence=%llu expires=%s result=%s",
               s->name, (unsigned long long)s->sequence, date, s->result);
  if (s->base[0])
    snprintf(text + n, (size_t)(COMMENT_BYTES + 1 - n), " base=%s signature=%s global=%s", s->base,
             s->signature, s->global);
}

static bool is_whole(const statement *s) {
  bool list = name_is_valid(s->name) && s->sequence >= 1 && s->sequence <= MAX_SEQUENCE &&
              strlen(s->result) == SHA256_TEXT - 1;
  uint8_t unused[SIGNATURE_BYTES];
  return list && (!s->base[0] ||
                  (strlen(s->base) == SHA256_TEXT - 1 && signature_parse(s->signature, unused) &&
                   signature_parse(s->global, unused)));
}

/* Reads what may be a statement, then compares it with the statement that says the same. */
bool statement_parse(const char *text, statement *out) {
  char sequence[17], date[DATE_SIZE], again[COMMENT_BYTES + 1];
  *out = (statement){0};
  int fields =
      sscanf(text,
             "besom-list-1 name=%64s sequence=%16[0-9] expires=%20s result=%64[0-9a-f] "
             "base=%64[0-9a-f] signature=" BASE64 " global=" BASE64,
             out->name, sequence, date, out->result, out->base, out->signature, out->global);
  if ((fields != 4 && fields != 7) || !date_parse(date, &out->expires)) return false;
  out->sequence = strtoull(sequence, NULL, 10);
  if (!is_whole(out)) return false;
  statement_text(out, again);
  return strcmp(again, text) == 0;
}
