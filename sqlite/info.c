/* The statistics of a filter as JSON. */
#include "extension.h"

void besom__sql_append_string(sqlite3_str *json, const char *text) {
  sqlite3_str_appendchar(json, 1, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20) {
      sqlite3_str_appendf(json, "\\u%04x", c);
      continue;
    }
    if (c == '"' || c == '\\') sqlite3_str_appendchar(json, 1, '\\');
    sqlite3_str_appendchar(json, 1, *text);
  }
  sqlite3_str_appendchar(json, 1, '"');
}

int besom__sql_describe(sqlite3_str *json, const besom_filter *filter, char **error) {
  enum { MOST = 64 };
  besom_statistics stats;
  besom_counter counters[MOST];
  besom_status status = besom_stats(filter, &stats);
  if (status != BESOM_OK) return besom__sql_fail_status(error, "besom_info", status);
  sqlite3_str_appendf(json, "\"kind\":\"%s\",\"hash\":\"%s\",\"keys\":%llu,\"capacity\":%llu,",
                      stats.kind, stats.hash, (unsigned long long)stats.keys,
                      (unsigned long long)stats.capacity);
  sqlite3_str_appendf(json, "\"bytes\":%llu,\"bits_per_key\":%.4g,\"load_factor\":%.4g,",
                      (unsigned long long)stats.bytes, stats.bits_per_key, stats.load_factor);
  sqlite3_str_appendf(json,
                      "\"expected_fpr\":%.4g,\"fpr_at_capacity\":%.4g,\"reserve_used\":%.4g,"
                      "\"counters\":{",
                      stats.expected_fpr, stats.fpr_at_capacity, stats.reserve_used);
  size_t n = besom_counters(filter, counters, MOST);
  for (size_t i = 0; i < n && i < MOST; i++)
    sqlite3_str_appendf(json, "%s\"%s\":%llu", i ? "," : "", counters[i].name,
                        (unsigned long long)counters[i].value);
  sqlite3_str_appendchar(json, 1, '}');
  return SQLITE_OK;
}
