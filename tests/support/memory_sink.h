/*
 * memory_sink.h - a besom_sink that writes to memory, and can fail at a chosen byte.
 */
#ifndef BESOM_TESTS_MEMORY_SINK_H
#define BESOM_TESTS_MEMORY_SINK_H

#include "besom.h"

typedef struct memory_sink {
  besom_sink api; /* pass &api to besom_save; its ctx is this struct, which must not move */
  uint8_t *data;
  size_t len, room;
  size_t limit;        /* a write that would go beyond this many bytes fails */
  besom_status status; /* with this status */
} memory_sink;

void memory_sink_init(memory_sink *sink);
void memory_sink_close(memory_sink *sink);
bool memory_sinks_equal(const memory_sink *a, const memory_sink *b);

#endif
