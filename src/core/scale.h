/*
 * Products of 128 bits, for positions: x / 2^64 is a number from 0 to 1, and the upper half of the
 * product x * n scales it to n. For the product in C, gcc uses pairs of registers, and then saves
 * some on the stack. Files that are compiled for BMI2 name the instruction instead.
 */
#ifndef BESOM_CORE_SCALE_H
#define BESOM_CORE_SCALE_H

#include "core/bits.h"

/* x * n >> 64 */
ALWAYS_INLINE uint64_t scaled(uint64_t x, uint64_t n) {
#ifdef __BMI2__
  uint64_t upper;
  __asm__("mulx %2, %0, %0" : "=r"(upper) : "d"(x), "rm"(n));
  return upper;
#else
  return (uint64_t)((unsigned __int128)x * n >> 64);
#endif
}

/* The same, and *x becomes the lower half of the product: what is left after the first digit of *x
   in base n. */
ALWAYS_INLINE uint64_t next_digit(uint64_t *x, uint64_t n) {
#ifdef __BMI2__
  uint64_t upper;
  __asm__("mulx %3, %0, %1" : "=r"(*x), "=r"(upper) : "d"(*x), "rm"(n));
  return upper;
#else
  unsigned __int128 product = (unsigned __int128)*x * n;
  *x = (uint64_t)product;
  return (uint64_t)(product >> 64);
#endif
}

/* x / 2^by. By a register, if there are instructions for it: then no copy of x is needed. */
ALWAYS_INLINE uint64_t shifted(uint64_t x, unsigned by) {
#ifdef __BMI2__
  __asm__("" : "+r"(by));
#endif
  return x >> by;
}

#endif
