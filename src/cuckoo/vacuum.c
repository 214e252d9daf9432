/*
 * vacuum: a cuckoo filter whose alternate bucket is near (Wang et al., "Vacuum Filters", 2019). The
 * lowest two bits of the fingerprint choose the chunk size: 32, 128, 512 or 65536 buckets. Both
 * buckets are in the same chunk. So half of the pairs share a page and many share a cache line. The
 * quarter of the fingerprints with large chunks balances the load between small chunks.
 *
 * Chunks begin at multiples of their size. The buckets left over at the end of the table belong to
 * the last chunk, which has up to twice the size. So any even number of buckets works.
 */
#include "cuckoo/partial_key.h"

extern const struct partial_key_calls besom__vacuum_calls_portable_whole_bytes,
    besom__vacuum_calls_portable_lanes, besom__vacuum_calls_portable_wide;

#ifdef BESOM_X86_VARIANTS
extern const struct partial_key_calls besom__vacuum_calls_avx2_whole_bytes,
    besom__vacuum_calls_avx2_lanes, besom__vacuum_calls_avx2_wide,
    besom__vacuum_calls_avx512_whole_bytes, besom__vacuum_calls_avx512_lanes,
    besom__vacuum_calls_avx512_wide;
#endif

static const struct partial_key_policy policy = {
    .alternate = vacuum_alternate,
    .inline_layout = BESOM_INLINE_VACUUM,
    .calls =
        {
            [ISA_PORTABLE] = {&besom__vacuum_calls_portable_whole_bytes,
                              &besom__vacuum_calls_portable_lanes,
                              &besom__vacuum_calls_portable_wide},
#ifdef BESOM_X86_VARIANTS
            [ISA_AVX2] = {&besom__vacuum_calls_avx2_whole_bytes, &besom__vacuum_calls_avx2_lanes,
                          &besom__vacuum_calls_avx2_wide},
            [ISA_AVX512] = {&besom__vacuum_calls_avx512_whole_bytes,
                            &besom__vacuum_calls_avx512_lanes, &besom__vacuum_calls_avx512_wide},
#endif
        },
};

const struct besom_kind besom__vacuum = {
    .name = "vacuum",
    .summary = "vacuum filter: a cuckoo filter whose two buckets are near each other",
    .policy = &policy,
    .options = ISA_ONLY,
    PARTIAL_KEY_KIND,
};
