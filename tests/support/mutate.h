/*
 * mutate.h - saved filters as an attacker makes them: changed by their structure (header, section
 * table, parameters, bits, lengths of sections), with correct checksums in most cases.
 */
#ifndef BESOM_TESTS_MUTATE_H
#define BESOM_TESTS_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/keys.h"

/* How much longer a mutation may make a container. */
enum { MUTATION_ROOM = 256 };

/* Numbers at which decoders fail: 0, 1, powers of two and their neighbours, and `near` +- 1. */
uint64_t hostile_number(random_stream *random, uint64_t near);

/*
 * Changes a container of len bytes; there is room for MUTATION_ROOM more. Returns its length.
 * *repaired: its checksums were corrected. Otherwise it must be refused if a byte has changed.
 */
size_t mutate_container(uint8_t *data, size_t len, random_stream *random, bool *repaired);

#endif
