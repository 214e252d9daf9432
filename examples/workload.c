/*
 * A filter for the queries that you have: count past queries, plan, build, compare.
 *
 * A few absent keys are queried again and again: a crawler, a stale link, a misspelled name. The
 * stacked filter stores the most frequent ones, and has fewer false positives than a Bloom filter
 * of the same memory.
 *
 *     cc workload.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom_plan.h>
#include <stdio.h>

#define MEMBERS 50000
#define ABSENT 200000
#define QUERIES 500000

/* -------------------------------------------------------------- keys and queries */

static size_t name(char *out, size_t size, const char *prefix, unsigned long i) {
  return (size_t)snprintf(out, size, "%s-%lu", prefix, i);
}

struct members {
  unsigned long at;
  char key[32];
};

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct members *m = ctx;
  (void)weight;
  if (m->at == MEMBERS) return BESOM_END;
  key->len = name(m->key, sizeof m->key, "member", m->at++);
  key->data = m->key;
  return BESOM_OK;
}

static besom_status rewind_members(void *ctx) {
  ((struct members *)ctx)->at = 0;
  return BESOM_OK;
}

/* A negative query. Low numbers are frequent: the first 1 % of the keys get 32 % of the queries. */
static size_t next_query(uint64_t *random, char *out, size_t size) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  double u = (double)(*random >> 11) * 0x1p-53;
  return name(out, size, "absent", (unsigned long)(u * u * u * u * ABSENT));
}

static unsigned long false_positives(const besom_filter *f) {
  unsigned long n = 0;
  uint64_t random = 2; /* not the past queries: others like them */
  char key[32];
  for (int i = 0; i < QUERIES; i++) {
    size_t len = next_query(&random, key, sizeof key);
    n += besom_contains(f, key, len);
  }
  return n;
}

/* -------------------------------------------------------------- a run */

int main(void) {
  besom_workload *w;
  char key[32];
  uint64_t random = 1;
  if (besom_workload_create(0, NULL, &w) != BESOM_OK) return 1;
  for (int i = 0; i < QUERIES; i++) { /* in a server: after every query that was a no */
    size_t len = next_query(&random, key, sizeof key);
    if (besom_workload_add(w, key, len, 1) != BESOM_OK) return 1;
  }
  besom_workload_statistics past;
  if (besom_workload_stats(w, &past) != BESOM_OK) return 1;
  printf("%llu past queries for %llu keys; %.1f %% of future ones are for other keys\n",
         (unsigned long long)past.queries, (unsigned long long)past.keys, 100 * past.unseen);

  /* What would the best stacked filter of 12 bits per key be? Nothing is built yet. */
  const uint8_t seed[16] = {1}; /* fixed only so that every run has the same figures */
  besom_config config = {.kind = "stacked", .bits_per_key = 12, .seed = seed};
  besom_stack_plan plan;
  if (besom_plan(&config, MEMBERS, w, NULL, &plan) != BESOM_OK) return 1;
  printf("plan: %u layers, %llu frequent keys (%.0f %% of the queries), %.2f bits per key\n",
         plan.layers, (unsigned long long)plan.frequent, 100 * plan.share, plan.bits_per_key);
  printf("plan: FPR %.5f over such queries, %.5f over others, %.2f layers per negative query\n",
         plan.expected_fpr, plan.worst_fpr, plan.checks);

  struct members members = {0};
  besom_source yes = {next_member, rewind_members, MEMBERS, &members};
  besom_source no = besom_workload_source(w);
  besom_filter *stacked, *bloom;
  besom_statistics size;
  if (besom_build(&config, &(besom_input){.yes = &yes, .no = &no}, &stacked) != BESOM_OK) return 1;
  if (besom_stats(stacked, &size) != BESOM_OK) return 1;

  besom_config same = {
      .kind = "bloom", .capacity = MEMBERS, .bits_per_key = size.bits_per_key, .seed = seed};
  if (besom_create(&same, &bloom) != BESOM_OK) return 1;
  bool complete = true;
  for (unsigned long i = 0; i < MEMBERS; i++) {
    size_t len = name(key, sizeof key, "member", i);
    if (besom_insert(bloom, key, len) != BESOM_OK) return 1;
    complete = complete && besom_contains(stacked, key, len);
  }
  unsigned long planned = false_positives(stacked), baseline = false_positives(bloom);
  printf("%d new queries, %.2f bits per key: stacked %lu false positives, bloom %lu\n", QUERIES,
         size.bits_per_key, planned, baseline);
  double measured = (double)planned / QUERIES;
  besom_free(stacked);
  besom_free(bloom);
  besom_workload_free(w);
  return complete && planned < baseline && measured < 2 * plan.expected_fpr ? 0 : 1;
}
