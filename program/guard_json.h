/* The statistics of a guard as JSON, and for Prometheus. */
#ifndef PROGRAM_GUARD_JSON_H
#define PROGRAM_GUARD_JSON_H

#include <stdio.h>

#include "besom_guard.h"

/*
 * Prints one JSON object without a line break: every member of the statistics under its own name,
 * and "offenders", an array with one object per offender. The key of an offender is cut to
 * BESOM_OFFENDER_BYTES; its bytes are printed as the characters U+0000 to U+00FF.
 */
void guard_json_print(FILE *out, const besom_guard_statistics *stats,
                      const besom_offender *offenders, size_t offender_count);

/*
 * Prints one line per member in the text format of Prometheus: besom_NAME{directory="..."} VALUE,
 * and besom_health.
 */
void guard_prometheus_print(FILE *out, const besom_guard_statistics *stats, besom_health health,
                            const char *directory);

#endif
