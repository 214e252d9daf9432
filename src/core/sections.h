/*
 * What a kind saves and loads: parameters, written and read in an order of its own, and sections of bits
 * that point to its memory, taken back by their tags in the same order. src/file/ makes a container of them.
 *
 * Filters made of filters: each has a number, 0 for the outermost, the others counted as they are saved. A section
 * belongs to one of them, its owner.
 */
#ifndef BESOM_CORE_SECTIONS_H
#define BESOM_CORE_SECTIONS_H

#include "core/wire.h"

#define MAX_SECTIONS 128
#define MAX_INNER 64              /* filters within a filter */
#define INNER_PARAMETER_BYTES 256 /* more than any kind that can be one has */

/* A tag reads as four letters in a dump of the file. */
#define SECTION_TAG(a, b, c, d) \
  ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TAG_PARAMETERS SECTION_TAG('P', 'A', 'R', 'M')
#define TAG_BITS SECTION_TAG('B', 'I', 'T', 'S')

struct section {
  uint32_t tag;
  uint32_t owner;
  const void *data;
  uint64_t len;
};

struct sections_out {
  struct writer parameters; /* of the owner */
  struct section list[MAX_SECTIONS];
  unsigned n;
  uint32_t owner, owners; /* the one that is saved now, and how many inner ones there are so far */
  bool failed;            /* too many of something */
  uint8_t (*inner_parameters)[INNER_PARAMETER_BYTES]; /* MAX_INNER of them */
};

struct sections_in {
  struct reader parameters; /* of the owner */
  struct section list[MAX_SECTIONS];
  unsigned n;
  unsigned taken; /* so many were asked for. What nobody asks for does not belong there. */
  uint32_t owner, owners;
};

/* Adds a section; the memory must stay until the filter is saved. */
static inline void add_section(struct sections_out *out, uint32_t tag, const void *data,
                               uint64_t len) {
  if (out->n == MAX_SECTIONS)
    out->failed = true;
  else
    out->list[out->n++] = (struct section){tag, out->owner, data, len};
}

/* The next section, if it is the owner's and has that tag; else NULL. */
static inline const struct section *take_section(struct sections_in *in, uint32_t tag) {
  const struct section *next = &in->list[in->taken];
  if (in->taken == in->n || next->tag != tag || next->owner != in->owner) return NULL;
  in->taken++;
  return next;
}

/* The owner's parameters as a reader; a failed one if it has none. */
static inline struct reader take_parameters(struct sections_in *in) {
  const struct section *s = take_section(in, TAG_PARAMETERS);
  if (!s) return (struct reader){NULL, NULL, true};
  return (struct reader){s->data, (const uint8_t *)s->data + s->len, false};
}

#endif
