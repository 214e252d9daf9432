/*
 * Requests of the Yahoo cloud serving benchmark (Cooper et al. 2010), core workloads A to F. A
 * request is a pure function of (seed, number of the request), so it can be generated again from
 * any number. Records are numbered from 0. The caller maps records to keys: members of a stream, or
 * absent keys.
 *
 *     A  50 % reads, 50 % updates       D  95 % reads of recent records, 5 % inserts
 *     B  95 % reads, 5 % updates        E  95 % short scans, 5 % inserts
 *     C  reads                          F  50 % reads, 50 % read-modify-writes
 */
#ifndef BENCH_WORKLOADS_YCSB_REQUESTS_H
#define BENCH_WORKLOADS_YCSB_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/key_stream.h"

typedef enum ycsb_operation {
  YCSB_READ,
  YCSB_UPDATE,
  YCSB_INSERT,
  YCSB_SCAN,
  YCSB_READ_MODIFY_WRITE,
  YCSB_OPERATIONS
} ycsb_operation;

enum { YCSB_MAX_SCAN = 100 };

typedef struct ycsb_request {
  ycsb_operation operation;
  uint64_t record;
  uint64_t scanned; /* of a scan: number of records from `record` on, 1 to 100 */
} ycsb_request;

typedef struct ycsb_mix {
  ycsb_operation usual, other;
  unsigned others; /* per 20 requests; 1 for inserts */
  bool latest;     /* recent records are the popular ones */
} ycsb_mix;

typedef struct ycsb {
  ycsb_mix mix;
  uint64_t seed, records; /* records at the start */
  zipf popularity;
} ycsb;

/* workload: 'A' to 'F'. records: 1 to 2^40. */
ycsb ycsb_create(char workload, uint64_t seed, uint64_t records);

/*
 * Request number i. An insert adds the next record. Popularity is Zipf with s = 0.99. In workload D
 * it ranks the existing records, newest first. In the others it ranks 10^10 values, which a hash
 * scatters over the initial records, so a record can have several ranks. (Scans of workload E reach
 * inserted records if they run past the initial ones.)
 */
ycsb_request ycsb_at(const ycsb *y, uint64_t i);

/* Number of records when request i is issued. */
uint64_t ycsb_records(const ycsb *y, uint64_t i);

#endif
