/* What the values of a map mean: the note of the maplet, as text (docs/format.md). */
#ifndef CLI_VALUE_NAMES_H
#define CLI_VALUE_NAMES_H

#include "besom_map.h"
#include "lists/key_index.h"

typedef enum value_kind { VALUE_NUMBERS, VALUE_NAMES, VALUE_FILES } value_kind;

typedef struct value_names {
  value_kind kind;
  key_index *index;     /* the lines of the note, in the order of their values; NULL: numbers */
  const char *key_spec; /* files: what their keys are (table_file.h) */
  char *text;           /* that key_spec points into */
} value_names;

/* Those of a maplet. Fails if the note is none of ours. */
value_names value_names_read(const besom_filter *f, const char *path);
void value_names_free(value_names *names);

/* Makes them the note of a maplet. */
void value_names_write(besom_filter *f, const value_names *names);

/* The number that a value of the command line or of a list means; false if there is no such name.
 * add: a new name gets the next number. */
bool value_names_number(value_names *names, besom_bytes text, bool add, uint32_t *number);

/* Whether the text is a decimal number below 2^32. */
bool value_is_number(besom_bytes text, uint32_t *number);

/* The name of a value; of a number, its digits in `digits`. A value without a name is a number. */
enum { VALUE_DIGITS = 24 };
besom_bytes value_names_text(const value_names *names, uint64_t value, char digits[VALUE_DIGITS]);

#endif
