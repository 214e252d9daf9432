/*
 * Sources of the quotient table that are compiled several times: once per instruction set, with
 * BESOM_ISA defined, and some once more per width, with BESOM_WIDTH defined (CMakeLists.txt). The
 * linker's names end with both: besom__qtable_ops_avx2_8, besom__insert_slot_shared_avx2.
 */
#ifndef BESOM_QUOTIENT_TABLE_VARIANT_H
#define BESOM_QUOTIENT_TABLE_VARIANT_H

#define JOIN_(name, variant) name##_##variant
#define JOIN(name, variant) JOIN_(name, variant)

#ifdef BESOM_SHARED
#define VARIANT JOIN(shared, BESOM_ISA)
#else
#define VARIANT BESOM_ISA
#endif

/* The width of a table: a constant if this is an object for one width. */
#ifndef BESOM_WIDTH
#define BESOM_WIDTH any
#define WIDTH(t) ((t)->width)
#else
#define WIDTH(t) ((void)(t), (unsigned)BESOM_WIDTH)
#endif

#endif
