/*
 * The instruction sets of this machine. Sources with hot loops are compiled once per instruction
 * set (CMake: variant_sources). Each exports one table of functions; a filter chooses a table when
 * it is created.
 */
#ifndef BESOM_CORE_CPU_H
#define BESOM_CORE_CPU_H

#include "besom.h"

/*
 * An entry of such a table that changes a filter. What only reads is compiled with
 * BESOM_ONLY_READS: it has no such functions.
 */
#ifdef BESOM_ONLY_READS
#define NOT_IN_READER(function) (1 ? NULL : (function))
#else
#define NOT_IN_READER(function) (function)
#endif

/*
 * An entry for integers or many keys, or a faster form of another one. The small module of web/wasm
 * (BESOM_ONLY_KEYS) has no calls that use them; the amalgamation's reader has.
 */
#ifdef BESOM_ONLY_KEYS
#define NOT_IN_MODULE(function) (1 ? NULL : (function))
#else
#define NOT_IN_MODULE(function) (function)
#endif

/* A faster form of what the general functions do: not in WebAssembly, where code is to be small. */
#ifdef BESOM_SMALL_CODE
#define NOT_IN_SMALL_CODE(function) (1 ? NULL : (function))
#else
#define NOT_IN_SMALL_CODE(function) (function)
#endif

enum isa { ISA_PORTABLE, ISA_AVX2, ISA_AVX512 };

/* The best instruction set that both this build and this machine support. */
enum isa besom__isa_best(void);

const char *besom__isa_name(enum isa isa);

#endif
