#include "harness/peer_case.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "kinds.h"

void peer_case_create(peer_case *s, const char *text, uint64_t seconds) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  size_t len = strspn(text, letters);
  if (len == 0 || text[len] != '=' || !text[len + 1])
    usage_error("--against: '%s' is not NAME=COMMAND, a name of letters, digits, '-', '_' and '.'",
                text);
  *s = (peer_case){.name = allocate(len + 1, 1)};
  memcpy(s->name, text, len);
  if (kind_named(s->name)) usage_error("--against: %s is the name of a kind", s->name);
  s->driver = peer_driver_start(s->name, text + len + 1, seconds);
}

void peer_case_free(peer_case *s) {
  peer_driver_end(&s->driver);
  for (int style = 0; style < CALL_STYLES; style++)
    for (int op = 0; op < OPERATIONS; op++) samples_free(&s->nanoseconds[style][op]);
  free(s->name);
}

static void peer_record(peer_case *s, call_style style, operation op, uint64_t nanoseconds,
                        uint64_t n) {
  if (n == 0) return;
  if (nanoseconds == 0)
    peer_driver_fail(&s->driver, "measured 0 nanoseconds for %llu keys of %s",
                     (unsigned long long)n, operation_names[style][op]);
  samples_add(&s->nanoseconds[style][op], (double)nanoseconds / (double)n);
}

/* An empty filter for the keys of the plan and this seed. */
static void peer_renew(peer_case *s, const micro_plan *p, uint64_t seed) {
  uint64_t none;
  if (!peer_driver_ask(&s->driver, &none, 0, "keys %llu %llu %.9g",
                       (unsigned long long)micro_plan_items(p), (unsigned long long)seed,
                       micro_plan_fpr(p)))
    peer_driver_fail(&s->driver, "answered 'keys' with NO");
}

/* Sends "OP FROM TO". False: the driver does not have this operation. */
static bool peer_range(peer_case *s, const char *op, uint64_t from, uint64_t to,
                       uint64_t *nanoseconds) {
  *nanoseconds = 0;
  return from == to || peer_driver_ask(&s->driver, nanoseconds, 1, "%s %llu %llu", op,
                                       (unsigned long long)from, (unsigned long long)to);
}

static bool peer_measure_inserts(peer_case *s, const micro_plan *p, call_style style) {
  uint64_t items = micro_plan_items(p), last = micro_plan_last_items(p), first_time, last_time;
  const char *op = operation_names[style][INSERT];
  if (!peer_range(s, op, 0, items - last, &first_time)) return false;
  if (!peer_range(s, op, items - last, items, &last_time)) return false;
  peer_record(s, style, INSERT, first_time + last_time, items);
  peer_record(s, style, INSERT_LAST, last_time, last);
  return true;
}

/* A filter with all keys. One without this call gets them by single inserts, or is built. */
static void peer_fill(peer_case *s, const micro_plan *p, uint64_t seed, call_style style) {
  uint64_t ignored;
  peer_renew(s, p, seed);
  if (peer_measure_inserts(s, p, style)) return;
  if (style == BATCH &&
      peer_range(s, operation_names[SINGLE][INSERT], 0, micro_plan_items(p), &ignored))
    return;
  if (!peer_driver_ask(&s->driver, &ignored, 1, "build"))
    peer_driver_fail(&s->driver, "answered 'insert' and 'build' with NO");
}

static void peer_measure_queries(peer_case *s, const micro_plan *p, call_style style) {
  uint64_t n = micro_plan_queries(p), answer[2]; /* nanoseconds, hits */
  if (peer_driver_ask(&s->driver, answer, 2, "%s %llu", operation_names[style][NEGATIVE],
                      (unsigned long long)n)) {
    peer_record(s, style, NEGATIVE, answer[0], n);
    s->negatives += n;
    s->false_positives += answer[1];
  }
  if (peer_driver_ask(&s->driver, answer, 2, "%s %llu", operation_names[style][POSITIVE],
                      (unsigned long long)n)) {
    peer_record(s, style, POSITIVE, answer[0], n);
    if (answer[1] != n)
      peer_driver_fail(&s->driver, "says yes to %llu of %llu queries for members",
                       (unsigned long long)answer[1], (unsigned long long)n);
  }
}

static void peer_measure_size(peer_case *s, const micro_plan *p) {
  uint64_t bits;
  if (peer_driver_ask(&s->driver, &bits, 1, "bits"))
    s->bits_per_key = (double)bits / (double)micro_plan_items(p);
}

void peer_case_measure(peer_case *s, const micro_plan *p, uint64_t seed) {
  uint64_t time, items = micro_plan_items(p), last = micro_plan_last_items(p);
  for (int style = 0; style < CALL_STYLES; style++) {
    peer_fill(s, p, seed, (call_style)style);
    peer_measure_queries(s, p, (call_style)style);
    if (style == BATCH) continue;
    peer_measure_size(s, p);
    if (peer_range(s, operation_names[SINGLE][REMOVE], items - last, items, &time))
      peer_record(s, SINGLE, REMOVE, time, last);
  }
  peer_renew(s, p, seed);
  if (peer_driver_ask(&s->driver, &time, 1, "build")) peer_record(s, SINGLE, BUILD, time, items);
}

double peer_case_ratio(const peer_case *s, const micro_case *besom, call_style style,
                       operation op) {
  const samples *of_besom = &besom->nanoseconds[style][op], *of_peer = &s->nanoseconds[style][op];
  if (of_besom->count != of_peer->count) return 0;
  samples ratios = {0};
  for (size_t i = 0; i < of_peer->count; i++)
    samples_add(&ratios, of_peer->values[i] / of_besom->values[i]);
  double median = samples_median(&ratios);
  samples_free(&ratios);
  return median;
}
