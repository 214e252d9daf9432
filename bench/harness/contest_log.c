#include "harness/contest_log.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "workloads/key_stream.h"

contest_log contest_log_of(text_list *members, text_list *absent, uint32_t *queries, size_t n,
                           uint64_t seed) {
  contest_log l = {.members = members, .absent = absent, .queries = queries, .n = n, .seed = seed};
  check(besom_workload_create((uint64_t)1 << 30, NULL, &l.sample), "creating a workload");
  for (size_t i = 0; i < n / 4; i++) {
    besom_bytes key = absent->lines[queries[i]];
    check(besom_workload_add(l.sample, key.data, key.len, 1), "sampling");
  }
  return l;
}

contest_log contest_log_draw(text_list *members, text_list *absent, double skew, size_t n,
                             uint64_t seed) {
  uint32_t *queries = allocate(n, sizeof *queries);
  zipf popularity = zipf_create(skew, absent->n);
  for (size_t i = 0; i < n; i++)
    queries[i] = (uint32_t)(zipf_rank(&popularity, random_at(~seed, i)) - 1);
  return contest_log_of(members, absent, queries, n, seed);
}

void contest_log_free(contest_log *l) {
  free(l->queries);
  besom_workload_free(l->sample);
}

/* The false positives of the second quarter, each once. */
static size_t collect(contestant *c, const contest_log *l, uint32_t *found) {
  size_t n = 0;
  uint8_t *known = allocate(l->absent->n, 1);
  for (size_t i = 0; i < l->n / 2; i++) {
    uint32_t number = l->queries[i];
    if (contestant_query_line(c, l->absent, number) && i >= l->n / 4 && !known[number]) {
      known[number] = 1;
      found[n++] = number;
    }
  }
  free(known);
  return n;
}

double contest_play(design d, double bits, double share, const contest_log *l, double *most_bits) {
  contestant c = contestant_create(d, bits, l->members, l->sample, l->seed);
  uint32_t *found = allocate(l->n, sizeof *found);
  size_t collected = collect(&c, l, found), replayed = 0, hits = 0;
  for (size_t i = l->n / 2; i < l->n; i++) {
    bool replay = collected && random_unit(random_at(l->seed, i)) < share;
    uint32_t number = replay ? found[replayed++ % collected] : l->queries[i];
    hits += contestant_query_line(&c, l->absent, number);
  }
  *most_bits = fmax(*most_bits, 8 * (double)c.most_bytes / (double)l->members->n);
  free(found);
  contestant_free(&c);
  return 2 * (double)hits / (double)l->n;
}

double contest_key_bits(const text_list *l) {
  double bytes = 0;
  for (size_t i = 0; i < l->n; i++) bytes += (double)l->lines[i].len;
  return 8 * bytes / (double)l->n;
}
