/*
 * What the Yahoo cloud serving benchmark (Cooper et al. 2010) asks of a store in its core workloads A to F: a pure
 * function of (seed, number of the request), so it can be made again from anywhere. Records have numbers, from 0; which
 * keys these are is the caller's business: members of a stream if they are to be there, absent ones if not.
 *
 *     A  half reads, half updates        D  95 % reads of what is new, 5 % inserts
 *     B  95 % reads, 5 % updates         E  95 % short scans, 5 % inserts
 *     C  reads                           F  half reads, half reads that write back
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

enum { YCSB_LONGEST_SCAN = 100 };

typedef struct ycsb_request {
  ycsb_operation operation;
  uint64_t record;
  uint64_t scanned; /* of a scan: records from that one on, 1 to 100 */
} ycsb_request;

typedef struct ycsb_mix {
  ycsb_operation usual, other;
  unsigned others; /* of 20 requests; of inserts 1 */
  bool latest;     /* new records are the popular ones */
} ycsb_mix;

typedef struct ycsb {
  ycsb_mix mix;
  uint64_t seed, records; /* that are there at first */
  zipf popularity;
} ycsb;

/* workload: 'A' to 'F'. records: 1 to 2^40. */
ycsb ycsb_create(char workload, uint64_t seed, uint64_t records);

/*
 * Request number i. An insert is of the next record that is not there yet. Popularity is Zipf's with s = 0.99: over the
 * records that are there, the newest first (D), else over 10^10 ranks that are scattered over the first records
 * by a hash, so that a record can have several ranks. (Records that E has inserted are reached by scans that run on.)
 */
ycsb_request ycsb_at(const ycsb *y, uint64_t i);

/* Records that are there when request i comes. */
uint64_t ycsb_records(const ycsb *y, uint64_t i);

#endif
