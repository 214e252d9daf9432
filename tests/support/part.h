/*
 * part.h - the arguments of a program that is a part of the soak test (tests/quality/soak/soak.py):
 *
 *     PROGRAM --seed S --amount N [--NAME VALUE]...
 *
 * It does N units of work that depend only on S. The last line of its output is a JSON object of
 * counts. A failure is any exit code but 0.
 */
#ifndef BESOM_TESTS_PART_H
#define BESOM_TESTS_PART_H

#include <stdint.h>

/* The value after an argument, or `otherwise` if that is missing. name: "--amount". */
const char *part_text(int argc, char **argv, const char *name, const char *otherwise);
uint64_t part_number(int argc, char **argv, const char *name, uint64_t otherwise);

#endif
