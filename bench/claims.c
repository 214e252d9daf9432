#include "claims/claims.h"

const claim *const claims[] = {
    &bulk_load_claim,
    &rate_claim,
    NULL,
};
