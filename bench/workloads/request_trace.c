#include "workloads/request_trace.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "workloads/text_set.h"

static bool equals_text(besom_bytes column, const char *text) {
  return text && column.len == strlen(text) && memcmp(column.data, text, column.len) == 0;
}

/* Returns false if the line is not a request. */
static bool parse(besom_bytes line, const trace_format *format, request *out) {
  out->key = text_column(line, format->key_column, format->delimiter);
  if (!out->key.len) return false;
  if (!format->role_column) return true;
  besom_bytes role = text_column(line, format->role_column, format->delimiter);
  out->writes = equals_text(role, format->writes);
  return out->writes || !format->queries || equals_text(role, format->queries);
}

static void find_requests(trace *t, const trace_format *format, text_set *written) {
  t->requests = allocate(t->lines.n + 1, sizeof *t->requests);
  for (size_t i = 0; i < t->lines.n; i++) {
    request *next = &t->requests[t->n];
    *next = (request){0};
    if (!parse(t->lines.lines[i], format, next)) continue;
    next->known =
        next->writes ? !text_set_add(written, next->key) : text_set_has(written, next->key);
    t->n++;
  }
}

trace trace_read(const char *path, const trace_format *format, const text_list *yes) {
  trace t = {.lines = text_list_read(path)};
  text_set written = {0};
  for (size_t i = 0; yes && i < yes->n; i++) text_set_add(&written, yes->lines[i]);
  find_requests(&t, format, &written);
  text_set_free(&written);
  return t;
}

void trace_free(trace *t) {
  free(t->requests);
  text_list_free(&t->lines);
  *t = (trace){0};
}

/* A repeated write adds no member. A query counts whether its key is known or not. */
static text_list select_keys(const request *from, const request *end, bool writes) {
  text_list keys = {.lines = allocate((size_t)(end - from) + 1, sizeof *keys.lines)};
  for (const request *r = from; r < end; r++)
    if (r->writes == writes && !(writes && r->known)) keys.lines[keys.n++] = r->key;
  return keys;
}

text_list trace_members(const trace *t, size_t n) {
  return select_keys(t->requests, t->requests + (n < t->n ? n : t->n), true);
}

text_list trace_queries(const trace *t, size_t n) {
  return select_keys(t->requests + (n < t->n ? n : t->n), t->requests + t->n, false);
}
