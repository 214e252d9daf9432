/* Part of claim workloads: a trace written to a file is read back in order, with its yes list. */
#define _DEFAULT_SOURCE 1 /* mkstemp, fdopen */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "claims/workload_checks/checks.h"
#include "fail.h"
#include "random.h"
#include "workloads/request_trace.h"

enum { REQUESTS = 5000, SECTORS = 1000, LISTED = 50, TEXT = 24 };

/* How to write a request, and the format that reads it. */
static const struct {
  const char *name, *line; /* arguments: role, sector */
  trace_format format;
} layouts[] = {
    {"; and spaces", "0.5 ; s%2$u ; 8 ; %1$s ; 0", {2, 4, ';', "W", "R"}},
    {"white space", " %1$s\t s%2$u ", {2, 1, 0, "W", "R"}},
    {"CSV; whatever does not write is a query", "%1$s,s%2$u,", {2, 1, ',', "W", NULL}},
    {"one key per line", "s%2$u", {0}},
};

static unsigned sector_of(size_t i) {
  return (unsigned)random_below(random_at(BENCH_SEED, 2 * i), SECTORS);
}

static bool writes(size_t i, const trace_format *format) {
  return format->role_column && random_at(BENCH_SEED, 2 * i + 1) % 2;
}

/* Some lines between the requests are not requests. The last line has no newline. */
static void write_requests(FILE *out, size_t layout) {
  fprintf(out, "%s", layouts[layout].format.queries ? "INFO: # synthetic\n\n; ; ; R\n" : "\n \r\n");
  for (size_t i = 0; i < REQUESTS; i++) {
    fprintf(out, layouts[layout].line, writes(i, &layouts[layout].format) ? "W" : "R",
            sector_of(i));
    if (i + 1 < REQUESTS) fprintf(out, i % 2 ? "\r\n" : "\n");
  }
}

static trace read_back(size_t layout, const text_list *yes) {
  const char *directory = getenv("TMPDIR");
  char path[512];
  snprintf(path, sizeof path, "%s/besom-trace-XXXXXX", directory ? directory : "/tmp");
  int fd = mkstemp(path);
  FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
  if (!out) fail("cannot write %s", path);
  write_requests(out, layout);
  if (fclose(out) != 0) fail("cannot write %s", path);
  trace t = trace_read(path, &layouts[layout].format, yes);
  unlink(path);
  return t;
}

static bool is_sector(besom_bytes key, unsigned sector) {
  char text[TEXT];
  int len = snprintf(text, sizeof text, "s%u", sector);
  return key.len == (size_t)len && memcmp(key.data, text, key.len) == 0;
}

/* Checks the requests, what was known at each, and the two lists if the trace is split at `cut`. */
static bool is_right(const trace *t, const trace_format *format, size_t cut, unsigned listed) {
  bool known[SECTORS] = {false}, right = t->n == REQUESTS;
  text_list members = trace_members(t, cut), queries = trace_queries(t, cut);
  size_t member = 0, query = 0;
  for (unsigned s = 0; s < listed; s++) known[s] = true;
  for (size_t i = 0; i < t->n && right; i++) {
    const request *r = &t->requests[i];
    unsigned s = sector_of(i);
    right &= is_sector(r->key, s) && r->writes == writes(i, format) && r->known == known[s];
    if (i < cut && r->writes && !known[s])
      right &= member < members.n && is_sector(members.lines[member++], s);
    if (i >= cut && !r->writes) right &= query < queries.n && is_sector(queries.lines[query++], s);
    known[s] |= r->writes;
  }
  right &= member == members.n && query == queries.n;
  text_list_free(&members);
  text_list_free(&queries);
  return right;
}

static bool test_layout(size_t layout, const text_list *yes, report *numbers) {
  trace t = read_back(layout, yes);
  trial row = {.generator = "trace",
               .s = -1,
               .universe = SECTORS,
               .samples = t.n,
               .remark = layouts[layout].name};
  row.right = is_right(&t, &layouts[layout].format, 0, (unsigned)yes->n) &&
              is_right(&t, &layouts[layout].format, REQUESTS / 3, (unsigned)yes->n) &&
              is_right(&t, &layouts[layout].format, SIZE_MAX, (unsigned)yes->n);
  trace_free(&t);
  return report_trial(numbers, &row);
}

bool check_traces(report *numbers) {
  char texts[LISTED][TEXT];
  besom_bytes lines[LISTED];
  for (unsigned s = 0; s < LISTED; s++)
    lines[s] = (besom_bytes){texts[s], (size_t)snprintf(texts[s], TEXT, "s%u", s)};
  text_list none = {0}, yes = {.lines = lines, .n = LISTED};
  bool holds = true;
  for (size_t layout = 0; layout < sizeof layouts / sizeof *layouts; layout++)
    holds &= test_layout(layout, layout % 2 ? &yes : &none, numbers);
  return holds;
}
