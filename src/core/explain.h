/*
 * A sentence for people that says what is wrong with an argument, written into the caller's buffer.
 */
#ifndef BESOM_CORE_EXPLAIN_H
#define BESOM_CORE_EXPLAIN_H

#include "besom.h"

/* Where the sentence goes. NULL instead of a pointer to it, or size 0: nobody wants to know. */
struct explanation {
  char *text;
  size_t size;
};

/* Writes the sentence, without a full stop, cut to the buffer. Returns status. */
besom_status besom__explain(struct explanation *why, besom_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
