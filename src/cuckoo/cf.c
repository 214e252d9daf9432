/*
 * cf: the cuckoo filter. The alternate bucket can be anywhere in the table. The baseline for vacuum
 * and the adaptive cuckoo kinds.
 */
#include "cuckoo/partial_key.h"
#include "cuckoo/windows.h"

extern const struct partial_key_calls besom__cf_calls_portable_whole_bytes,
    besom__cf_calls_portable_lanes, besom__cf_calls_portable_wide;

#ifdef BESOM_X86_VARIANTS
extern const struct partial_key_calls besom__cf_calls_avx2_whole_bytes, besom__cf_calls_avx2_lanes,
    besom__cf_calls_avx2_wide, besom__cf_calls_avx512_whole_bytes, besom__cf_calls_avx512_lanes,
    besom__cf_calls_avx512_wide;
#endif

static const struct partial_key_policy policy = {
    .alternate = cf_alternate,
    .inline_layout = BESOM_INLINE_CF,
    .calls =
        {
            [ISA_PORTABLE] = {&besom__cf_calls_portable_whole_bytes,
                              &besom__cf_calls_portable_lanes, &besom__cf_calls_portable_wide},
#ifdef BESOM_X86_VARIANTS
            [ISA_AVX2] = {&besom__cf_calls_avx2_whole_bytes, &besom__cf_calls_avx2_lanes,
                          &besom__cf_calls_avx2_wide},
            [ISA_AVX512] = {&besom__cf_calls_avx512_whole_bytes, &besom__cf_calls_avx512_lanes,
                            &besom__cf_calls_avx512_wide},
#endif
        },
};

static const struct option_row cf_rows[] = {
    OPTION_ISA(partial_key_values),
    OPTION_WORDS(partial_key_values, layout, "buckets, windows",
                 "windows: smaller, with slower inserts"),
};

const struct besom_kind besom__cf = {
    .name = "cf",
    .summary = "cuckoo filter: small and fast; counts up to 8, removes, merges",
    .policy = &policy,
    .options = {OPTION_ROWS(cf_rows)},
    .windows = &besom__cf_windows,
    PARTIAL_KEY_KIND,
};
