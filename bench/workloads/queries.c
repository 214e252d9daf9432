#include "workloads/queries.h"

#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "workloads/firehose_streams.h"
#include "workloads/key_list.h"
#include "workloads/request_trace.h"

/*
 * Exponent of the active set (POW_EXP in FireHose). It gives 54 repetitions per key in 10 million
 * queries; the telescoping filter paper measures with 57. The paper's 0.5 would give 76, FireHose's
 * own -1.5 would give 1.
 */
static const double trend_exponent = -0.5;

static queries allocate_queries(const char *name, uint64_t n) {
  return (queries){.name = name, .numbers = allocate(n, sizeof(uint32_t)), .n = n};
}

static void count_different(queries *q) {
  for (uint64_t i = 0; i < q->n; i++)
    if (q->numbers[i] >= q->universe) q->universe = (uint64_t)q->numbers[i] + 1;
  uint8_t *seen = allocate(q->universe, 1);
  for (uint64_t i = 0; i < q->n; i++) {
    q->distinct += !seen[q->numbers[i]];
    seen[q->numbers[i]] = 1;
  }
  free(seen);
}

queries queries_of_active_set(uint64_t n) {
  queries q = allocate_queries("active_set", n);
  active_set a = active_set_create(BENCH_SEED, trend_exponent);
  for (uint64_t i = 0; i < n; i++) q.numbers[i] = (uint32_t)active_set_next(&a);
  active_set_free(&a);
  count_different(&q);
  return q;
}

queries queries_of_power_law(uint64_t n) {
  queries q = allocate_queries("power_law", n);
  power_law p = power_law_create(BENCH_SEED);
  for (uint64_t i = 0; i < n; i++) q.numbers[i] = (uint32_t)power_law_next(&p);
  power_law_free(&p);
  count_different(&q);
  return q;
}

queries queries_of_zipf(double s, uint64_t universe, uint64_t n, uint64_t seed) {
  queries q = allocate_queries("zipf", n);
  zipf popularity = zipf_create(s, universe);
  uint64_t ranking = ~seed; /* independent of the keys */
  for (uint64_t i = 0; i < n; i++)
    q.numbers[i] = (uint32_t)(zipf_rank(&popularity, random_at(ranking, i)) - 1);
  q.universe = universe;
  return q;
}

/* ------------------------------------------------------------------ traces */

const char *const trace_names[TRACES] = {"web", "mysql", "mssql"};

static uint64_t parse_block(besom_bytes digits) {
  const char *text = digits.data;
  uint64_t block = 0;
  for (size_t i = 0; i < digits.len && text[i] >= '0' && text[i] <= '9'; i++)
    block = 10 * block + (uint64_t)(text[i] - '0');
  return block;
}

static key_list read_blocks(const char *name) {
  char path[64];
  snprintf(path, sizeof path, "data/lists/trace-%s.txt", name);
  trace t = trace_read(path, &(trace_format){.key_column = 2}, NULL);
  if (!t.n) fail("%s is empty: bench/fetch_data.sh trace fetches it", path);
  key_list blocks = {0};
  for (size_t i = 0; i < t.n; i++) key_list_add(&blocks, parse_block(t.requests[i].key));
  trace_free(&t);
  return blocks;
}

queries queries_of_trace(const char *name) {
  key_list blocks = read_blocks(name), sorted = {0};
  queries q = allocate_queries(name, blocks.count);
  for (size_t i = 0; i < blocks.count; i++) key_list_add(&sorted, blocks.keys[i]);
  key_list_sort(&sorted);
  q.distinct = q.universe = sorted.count;
  for (size_t i = 0; i < blocks.count; i++) {
    uint64_t *at =
        bsearch(&blocks.keys[i], sorted.keys, sorted.count, sizeof *sorted.keys, key_compare);
    q.numbers[i] = (uint32_t)(at - sorted.keys);
  }
  key_list_free(&blocks);
  key_list_free(&sorted);
  return q;
}

static int by_requests(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

queries queries_of_repeated(const queries *whole, double requests_per_key) {
  /* per key: its requests above, its number below, so that equal counts have one order */
  uint64_t *keys = allocate(whole->universe, sizeof *keys), kept = 0, n = 0;
  uint8_t *is_kept = allocate(whole->universe, 1);
  for (uint64_t i = 0; i < whole->universe; i++) keys[i] = i;
  for (uint64_t i = 0; i < whole->n; i++) keys[whole->numbers[i]] += UINT64_C(1) << 32;
  qsort(keys, whole->universe, sizeof *keys, by_requests);
  while (kept < whole->universe &&
         (double)(n + (keys[kept] >> 32)) >= requests_per_key * (double)(kept + 1)) {
    n += keys[kept] >> 32;
    is_kept[(uint32_t)keys[kept++]] = 1;
  }
  queries q = allocate_queries("repeated", n);
  q.universe = whole->universe;
  q.distinct = kept;
  for (uint64_t i = 0, to = 0; i < whole->n; i++)
    if (is_kept[whole->numbers[i]]) q.numbers[to++] = whole->numbers[i];
  free(keys);
  free(is_kept);
  return q;
}

/* ------------------------------------------------------------------ running */

void queries_free(queries *q) {
  free(q->numbers);
  *q = (queries){0};
}

uint64_t queries_key(const queries *q, uint64_t i, uint64_t seed) {
  uint64_t key;
  key_stream absent = stream_absent(seed);
  absent.generate(&absent, q->numbers[i], 1, &key);
  return key;
}

uint64_t queries_passes(const queries *q, uint64_t wanted) {
  return wanted / q->n + 1;
}

uint64_t queries_run(const queries *q, tested_filter *tested, uint64_t seed) {
  uint64_t hits = 0;
  for (uint64_t i = 0; i < q->n; i++) hits += tested_filter_query(tested, queries_key(q, i, seed));
  return hits;
}
