#include "claims/claims.h"

const claim *const claims[] = {
    &adapt_or_cache_claim, &adversary_claim,  &billion_claim,      &bulk_load_claim,   &churn_claim,
    &cuckoo_load_claim,    &firehose_claim,   &learnt_speed_claim, &lists_claim,       &merge_claim,
    &rate_claim,           &real_lists_claim, &repeats_claim,      &reverse_map_claim, &rounds_claim,
    &store_moves_claim,    &threads_claim,    &workloads_claim,    &zipf_claim,        NULL,
};
