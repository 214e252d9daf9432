/* Saved filters in files: save, load, map, check. */
#include <sys/mman.h>

#include "core/durable_file.h"
#include "file/container.h"
#include "filter.h"

static besom_status save_to(void *ctx, const besom_sink *sink) {
  return besom_save(ctx, sink);
}

besom_status besom_save_file(const besom_filter *f, const char *path) {
  if (!f || !path) return BESOM_INVALID;
  return besom__file_replace(path, save_to, (void *)(uintptr_t)f);
}

besom_status besom_load_file(const char *path, const besom_allocator *allocator,
                             besom_filter **out) {
  if (!path || !out) return BESOM_INVALID;
  void *data;
  size_t len;
  besom_status status = besom__file_map(path, &data, &len);
  if (status != BESOM_OK) return status;
  status = besom_load(data, len, allocator, out);
  munmap(data, len);
  return status;
}

besom_status besom_open_mmap(const char *path, unsigned flags, besom_filter **out) {
  if (!path || !out || (flags & ~(BESOM_TRUSTED | BESOM_CHECKSUMS))) return BESOM_INVALID;
  void *data;
  size_t len;
  besom_status status = besom__file_map(path, &data, &len);
  if (status != BESOM_OK) return status;
  status = besom__container_load(data, len, NULL, true, flags, NULL, out);
  if (status != BESOM_OK) munmap(data, len);
  return status;
}

besom_status besom_check_file(const char *path, besom_fault *fault) {
  if (!path || !fault) return BESOM_INVALID;
  *fault = (besom_fault){NULL, 0};
  void *data;
  size_t len;
  besom_status status = besom__file_map(path, &data, &len);
  if (status == BESOM_CORRUPT) *fault = (besom_fault){"not a saved filter", 0};
  if (status != BESOM_OK) return status;
  besom_filter *f = NULL;
  status = besom__container_load(data, len, NULL, true, 0, fault, &f);
  if (status == BESOM_OK)
    besom_free(f);
  else
    munmap(data, len);
  return status;
}
