/*
 * What the library needs of an operating system, for a WebAssembly module without WASI: memory of
 * the module, random bytes and the time from two imports, no files, no threads, one process. It
 * replaces src/core/system/memory.c, durable_file.c, workers.c, wait.c and process.c, and
 * src/guard/threads/background.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/system/durable_file.h"
#include "core/system/memory.h"
#include "core/system/process.h"
#include "core/system/wait.h"
#include "core/system/workers.h"
#include "guard/guard.h"
#include "guard/threads/background.h"

#define IMPORT(name) __attribute__((import_module("besom"), import_name(name)))

/* Fills memory with random bytes (crypto.getRandomValues); 0, or not 0 on failure. */
IMPORT("random") int besom_web_random(void *out, size_t n);

/* Milliseconds by a clock that only goes forward (performance.now). */
IMPORT("now") double besom_web_now(void);

/* ------------------------------------------------------------------ memory */

static void *allocate(void *ctx, size_t size) {
  (void)ctx;
  return size > PTRDIFF_MAX ? NULL : calloc(1, size);
}

static void release(void *ctx, void *memory, size_t size) {
  (void)ctx, (void)size;
  free(memory);
}

const besom_allocator besom__default_allocator = {allocate, release, NULL};

/* ------------------------------------------------------------------ the C library */

int getentropy(void *out, size_t n) {
  if (besom_web_random(out, n) == 0) return 0;
  errno = EIO;
  return -1;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  (void)clock;
  double ms = besom_web_now(), seconds = (double)(int64_t)(ms / 1000);
  out->tv_sec = (time_t)seconds;
  out->tv_nsec = (long)((ms - 1000 * seconds) * 1e6);
  return 0;
}

/* snprintf of wasi-libc links stderr, whose functions would import a WASI. Nothing is printed. */
size_t __stdio_write(void *file, const void *data, size_t len) {
  (void)file, (void)data;
  return len;
}

long long __stdio_seek(void *file, long long offset, int from) {
  (void)file, (void)offset, (void)from;
  return -1;
}

int __stdio_close(void *file) {
  (void)file;
  return 0;
}

/* ------------------------------------------------------------------ files: none */

besom_status besom__file_replace(const char *path,
                                 besom_status (*fill)(void *ctx, const besom_sink *sink),
                                 void *ctx) {
  (void)path, (void)fill, (void)ctx;
  return BESOM_IO;
}

besom_status besom__file_map(const char *path, void **data, size_t *len) {
  (void)path, (void)data, (void)len;
  return BESOM_IO;
}

/* A filter that was loaded in place owns the bytes (besom_web_load). */
void besom__file_unmap(void *data, size_t len) {
  (void)len;
  free(data);
}

besom_status besom__file_unlink(const char *path) {
  (void)path;
  return BESOM_IO;
}

/* ------------------------------------------------------------------ threads: one */

void besom__workers_start(struct workers *w, unsigned n, unsigned first,
                          void (*work)(void *ctx, unsigned i), void *ctx) {
  (void)n, (void)first, (void)work, (void)ctx;
  w->n = 0;
}

void besom__workers_join(struct workers *w) {
  (void)w;
}

/* Nothing waits: there is no other thread. */
void besom__wait(unsigned *times) {
  ++*times;
}

besom_status besom__background_start(besom_guard *g, const besom_allocator *allocator, double share,
                                     struct background **out) {
  (void)g, (void)allocator, (void)share, (void)out;
  return BESOM_UNSUPPORTED;
}

void besom__background_stop(struct background *b) {
  (void)b;
}

void besom__background_wake(struct background *b) {
  (void)b;
}

void besom__process_init(struct process *p) {
  static uint8_t own = 1; /* never written: no process is forked */
  *p = (struct process){.page = &own};
}

void besom__process_free(struct process *p) {
  (void)p;
}

bool besom__process_has_id(const struct process *p) {
  (void)p;
  return true;
}
