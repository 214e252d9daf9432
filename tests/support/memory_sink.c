#include "support/memory_sink.h"

#include <stdlib.h>
#include <string.h>

#include "support/heap.h"

static besom_status append(void *ctx, const void *data, size_t len) {
  memory_sink *sink = ctx;
  if (len > sink->limit - sink->len) return sink->status;
  if (sink->len + len > sink->room) {
    sink->room = 2 * (sink->len + len);
    sink->data = heap_resize(sink->data, sink->room);
  }
  if (len) memcpy(sink->data + sink->len, data, len);
  sink->len += len;
  return BESOM_OK;
}

void memory_sink_init(memory_sink *sink) {
  *sink =
      (memory_sink){.api = {.write = append, .ctx = sink}, .limit = SIZE_MAX, .status = BESOM_IO};
}

void memory_sink_close(memory_sink *sink) {
  free(sink->data);
}

bool memory_sinks_equal(const memory_sink *a, const memory_sink *b) {
  return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}
