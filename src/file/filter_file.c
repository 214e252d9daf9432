/* Saved filters in files: save, load, map, check. */
#include "core/system/durable_file.h"
#include "file/container.h"
#include "kind.h"

static besom_status save_to(void *ctx, const besom_sink *sink) {
  return besom_save(ctx, sink);
}

besom_status besom_save_file(const besom_filter *f, const char *path) {
  if (!f || !path) return BESOM_INVALID;
  return besom__file_replace(path, save_to, (void *)(uintptr_t)f);
}

/* Without BESOM_OPEN_MMAP the filter is a copy, and the mapping is released. */
static besom_status load_mapped(void *data, size_t len, const besom_open_options *options,
                                besom_filter **out) {
  bool mapped = options->flags & BESOM_OPEN_MMAP;
  besom_status status = besom__container_load(data, len, options->allocator, mapped, options->flags,
                                              options->fault, out);
  if (status != BESOM_OK || !mapped) besom__file_unmap(data, len);
  return status;
}

besom_status besom_open_sized(const char *path, const besom_open_options *given, size_t size,
                              besom_filter **out) {
  besom_open_options options = {0};
  if (given) besom_copy_struct(&options, sizeof options, given, size);
  if (!path || !out) return BESOM_INVALID;
  if (options.flags & ~(BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED | BESOM_OPEN_CHECKSUMS))
    return BESOM_INVALID;
  if (options.fault) *options.fault = (besom_fault){NULL, 0};
  void *data;
  size_t len;
  besom_status status = besom__file_map(path, &data, &len);
  if (status == BESOM_CORRUPT && options.fault)
    *options.fault = (besom_fault){"not a saved filter", 0};
  return status == BESOM_OK ? load_mapped(data, len, &options, out) : status;
}
