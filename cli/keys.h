/* Keys from files: one a line, or in the other forms that the options ask for. What is wrong with a file ends the
 * program, with its name and line. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stdio.h>

#include "arguments.h"
#include "besom.h"

/* How keys stand in a file. */
typedef struct key_form {
  bool null;            /* each ends with a NUL instead of a newline */
  bool lengths;         /* each follows its length, 4 bytes, the lowest first */
  bool lower;           /* A to Z are read as a to z */
  const char *comments; /* lines that begin with this are no keys; NULL: all are */
} key_form;

/* The arguments of every verb that reads keys. */
#define KEY_FORM_ARGUMENTS(form)                                                              \
  {"--null", NULL, "keys end with NUL bytes, not newlines", .flag = &(form).null},            \
      {"--lengths", NULL, "binary keys: each behind its length, 4 bytes, the lowest first",   \
       .flag = &(form).lengths},                                                              \
      {"--lower", NULL, "read A to Z as a to z", .flag = &(form).lower}, {                    \
    "--comments", "TEXT", "skip lines that begin with this, as '#'", .text = &(form).comments \
  }

#define KEY_FORM_HELP                                                                             \
  "Keys are lines, without their newline (or CRLF); empty lines are skipped. --null, --lengths, " \
  "--lower and\n"                                                                                 \
  "--comments change that."

typedef struct key_reader key_reader;

/* Reads the files one after the other; none: standard input, and so is "-". */
key_reader *keys_open(words files, const key_form *form);
void keys_close(key_reader *r);

/* The next key, borrowed until the following call; false: no more. */
bool keys_next(key_reader *r, besom_bytes *key);

/* Up to cap keys that stay until the following call: as many as are in memory; 0: no more. */
size_t keys_batch(key_reader *r, besom_bytes *keys, size_t cap);

/* From the first key again. Standard input that is no file is kept in one for that: say so before reading. */
void keys_keep(key_reader *r);
void keys_rewind(key_reader *r);

/* Where the last key came from, "file:line" (with --null and --lengths: the number of the key). */
const char *keys_place(const key_reader *r);

/* How many were given so far; bytes that were read, and all there are (0: unknown), for a bar. */
uint64_t keys_count(const key_reader *r);
void keys_tick(const key_reader *r);

/* The reader as a source for the library. */
besom_source keys_source(key_reader *r);

#endif
