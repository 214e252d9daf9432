/*
 * What a kind saves and loads: parameters, written and read in an order of its own, and sections of bits
 * that point to its memory, taken back by their tags. src/file/ makes a container of them.
 */
#ifndef BESOM_CORE_SECTIONS_H
#define BESOM_CORE_SECTIONS_H

#include "core/wire.h"

#define MAX_SECTIONS 8

/* A tag reads as four letters in a dump of the file. */
#define SECTION_TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TAG_PARAMETERS SECTION_TAG('P', 'A', 'R', 'M')
#define TAG_BITS SECTION_TAG('B', 'I', 'T', 'S')

struct section {
  uint32_t tag;
  const void *data;
  uint64_t len;
};

struct sections_out {
  struct writer parameters;
  struct section list[MAX_SECTIONS];
  unsigned n;
};

struct sections_in {
  struct reader parameters;
  struct section list[MAX_SECTIONS];
  unsigned n;
  unsigned taken; /* bit i: the i-th was asked for. What nobody asks for does not belong there. */
};

/* Adds a section; the memory must stay until the filter is saved. */
static inline void add_section(struct sections_out *out, uint32_t tag, const void *data, uint64_t len) {
  out->list[out->n++] = (struct section){tag, data, len};
}

/* The section of that tag; NULL if there is none. */
static inline const struct section *take_section(struct sections_in *in, uint32_t tag) {
  for (unsigned i = 0; i < in->n; i++)
    if (in->list[i].tag == tag) {
      in->taken |= 1u << i;
      return &in->list[i];
    }
  return NULL;
}

#endif
