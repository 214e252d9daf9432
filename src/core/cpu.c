#include "core/cpu.h"

#include <string.h>

#ifdef BESOM_X86_VARIANTS
#include <cpuid.h>

/*
 * On a processor without lzcnt the instruction runs as another one and returns a wrong count. If
 * the compiler's __builtin_cpu_supports does not know it, each filter that is created or loaded
 * calls cpuid, which takes microseconds in a virtual machine.
 */
static bool has_lzcnt(void) {
#if !defined(__clang__) && __GNUC__ >= 11
  return __builtin_cpu_supports("lzcnt");
#else
  unsigned a, b, c, d;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
#endif
}
#endif

static const char *const names[] = {"portable", "avx2", "avx512"};

enum isa besom__isa_best(void) {
#ifdef BESOM_X86_VARIANTS
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && has_lzcnt();
#ifdef BESOM_WITHOUT_AVX512
  return avx2 ? ISA_AVX2 : ISA_PORTABLE;
#else
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return avx512 ? ISA_AVX512 : avx2 ? ISA_AVX2 : ISA_PORTABLE;
#endif
#else
  return ISA_PORTABLE;
#endif
}

const char *besom__isa_name(enum isa isa) {
  return names[isa];
}
