/*
 * Public data in place of the data of the papers (CAIDA packets, Shalla's URL list): blocks that a
 * server read and wrote, domains of blocklists, package names. A key is 64 bits of the hash of a
 * line. A random half of the distinct keys are members. The queries are for the other half.
 */
#ifndef BENCH_WORKLOADS_REAL_DATASET_H
#define BENCH_WORKLOADS_REAL_DATASET_H

#include <stddef.h>
#include <stdint.h>

typedef struct real_dataset {
  const char *name;
  uint64_t *members, *queries;
  uint64_t member_count, query_count;
} real_dataset;

enum { REAL_DATASETS = 3 };

/*
 * trace: the queries are in the order of the trace. domains, names: the lists have no query
 * frequencies, so `drawn` queries are drawn uniformly. Fails if bench/fetch_data.sh has not fetched
 * the data.
 */
real_dataset real_dataset_open(size_t which, uint64_t drawn);
void real_dataset_free(real_dataset *s);

#endif
