#include "workloads/request_trace.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "workloads/text_set.h"

static bool is_text(besom_bytes column, const char *text) {
  return text && column.len == strlen(text) && memcmp(column.data, text, column.len) == 0;
}

/* False if the line is none. */
static bool parse(besom_bytes line, const trace_form *form, request *out) {
  out->key = text_column(line, form->key_column, form->delimiter);
  if (!out->key.len) return false;
  if (!form->role_column) return true;
  besom_bytes role = text_column(line, form->role_column, form->delimiter);
  out->writes = is_text(role, form->writes);
  return out->writes || !form->asks || is_text(role, form->asks);
}

static void find_requests(trace *t, const trace_form *form, text_set *written) {
  t->requests = allocate(t->lines.n + 1, sizeof *t->requests);
  for (size_t i = 0; i < t->lines.n; i++) {
    request *next = &t->requests[t->n];
    *next = (request){0};
    if (!parse(t->lines.lines[i], form, next)) continue;
    next->known =
        next->writes ? !text_set_add(written, next->key) : text_set_has(written, next->key);
    t->n++;
  }
}

trace trace_read(const char *path, const trace_form *form, const text_list *yes) {
  trace t = {.lines = text_list_read(path)};
  text_set written = {0};
  for (size_t i = 0; yes && i < yes->n; i++) text_set_add(&written, yes->lines[i]);
  find_requests(&t, form, &written);
  text_set_free(&written);
  return t;
}

void trace_free(trace *t) {
  free(t->requests);
  text_list_free(&t->lines);
  *t = (trace){0};
}

/* A write of what is known says nothing new; a query is one whether the key is known or not. */
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
