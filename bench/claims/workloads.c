/*
 * Claim workloads: the generated queries have the distributions that they should have. All other
 * claims depend on this one.
 */
#include "claims/claims.h"
#include "claims/workload_checks/checks.h"

static findings run(bool full, report *numbers) {
  findings found = {0};
  finding(&found, check_key_streams(full, numbers));
  progress("FireHose");
  finding(&found, check_firehose(full, numbers));
  progress("YCSB");
  finding(&found, check_ycsb(full, numbers));
  progress("adversaries and traces");
  finding(&found, check_adversaries(numbers));
  finding(&found, check_traces(numbers));
  return found;
}

static const char *const columns[] = {"generator", "s",          "universe", "samples",
                                      "bins",      "chi_square", "holds",    "remark"};

const claim workloads_claim = {
    .name = "workloads",
    .title = "The generators of keys and queries",
    .source = "besom",
    .statement = "the uniform, Zipf, FireHose and YCSB generators give every key its exact "
                 "probability (chi-square within 4 standard errors); changing sets, traces and "
                 "adversaries behave as documented; loops are found in acf-cyclic and not in aqf",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
