/*
 * Fences for code in which one side runs often and the other rarely. Both sides store, fence and
 * load: after that at least one of them has seen the store of the other. The frequent side executes
 * light_fence, which only stops the compiler. The rare side calls besom__heavy_fence, which makes
 * every running thread of the process execute a full fence (membarrier of Linux).
 */
#ifndef BESOM_CORE_ASYMMETRIC_FENCE_H
#define BESOM_CORE_ASYMMETRIC_FENCE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Call this before any use of the others. False if the system has no such fence: then the frequent
 * side needs sequentially consistent operations.
 */
bool besom__prepare_heavy_fence(void);

void besom__heavy_fence(void);

static inline void light_fence(void) {
  atomic_signal_fence(memory_order_seq_cst);
}

/*
 * A number that no other thread has while this one runs, and that every source file sees alike. Not
 * 0.
 */
static inline uintptr_t thread_number(void) {
#if defined(__linux__) && defined(__x86_64__) && defined(__LP64__)
  uintptr_t number; /* the address of the thread's control block, whose first word is that */
  __asm__("mov %%fs:0, %0" : "=r"(number));
  return number;
#elif defined(__linux__) && defined(__aarch64__)
  return (uintptr_t)__builtin_thread_pointer();
#else
  return (uintptr_t)&errno; /* each thread has its own */
#endif
}

#endif
