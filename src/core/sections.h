/*
 * What a kind saves and loads: parameters, which it writes and reads in its own order, and
 * sections, which point to its memory and are read back by tag in the same order. src/file/ writes
 * them into a container.
 *
 * Layered filters: every filter has a number. The outermost is 0; its layers are numbered in the
 * order in which they are saved. A section belongs to one of these filters, its owner.
 */
#ifndef BESOM_CORE_SECTIONS_H
#define BESOM_CORE_SECTIONS_H

#include "core/byte_io.h"

#define MAX_SECTIONS 128
#define MAX_SAVED_LAYERS 64       /* of all levels of nesting */
#define LAYER_PARAMETER_BYTES 256 /* more than any kind that can be a layer needs */

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
  struct byte_writer parameters; /* of the owner */
  struct section list[MAX_SECTIONS];
  unsigned n;
  uint32_t owner, owners; /* the filter being saved; the number of layers so far */
  bool failed;            /* too many sections, layers or parameter bytes */
  uint8_t (*layer_parameters)[LAYER_PARAMETER_BYTES]; /* MAX_SAVED_LAYERS of them */
};

struct sections_in {
  struct byte_reader parameters; /* of the owner */
  struct section list[MAX_SECTIONS];
  unsigned n;
  unsigned taken; /* sections read so far; a section that no kind reads is an error */
  uint32_t owner, owners;
};

/* Adds a section. The memory must stay valid until the filter is saved. */
static inline void add_section(struct sections_out *out, uint32_t tag, const void *data,
                               uint64_t len) {
  if (out->n == MAX_SECTIONS)
    out->failed = true;
  else
    out->list[out->n++] = (struct section){tag, out->owner, data, len};
}

/* The next section, if it belongs to the owner and has that tag; else NULL. */
static inline const struct section *take_section(struct sections_in *in, uint32_t tag) {
  const struct section *next = &in->list[in->taken];
  if (in->taken == in->n || next->tag != tag || next->owner != in->owner) return NULL;
  in->taken++;
  return next;
}

/* A reader of the owner's parameters. If there are none, its failed is set. */
static inline struct byte_reader take_parameters(struct sections_in *in) {
  const struct section *s = take_section(in, TAG_PARAMETERS);
  if (!s) return (struct byte_reader){NULL, NULL, true};
  return (struct byte_reader){s->data, (const uint8_t *)s->data + s->len, false};
}

#endif
