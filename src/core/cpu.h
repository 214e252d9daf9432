/*
 * Which instructions this machine has. Sources with hot loops are compiled once for each set (CMake:
 * variant_sources) and export one table of functions each; a filter picks one when it is made.
 */
#ifndef BESOM_CORE_CPU_H
#define BESOM_CORE_CPU_H

#include "besom.h"

enum isa { ISA_PORTABLE, ISA_AVX2, ISA_AVX512 };

/* The best that this build and this machine have. */
enum isa besom__isa_best(void);

const char *besom__isa_name(enum isa isa);

/* The set of that name (BAD_OPTION if unknown, or not to be had here). */
besom_status besom__isa_parse(const char *name, size_t len, enum isa *isa);

#endif
