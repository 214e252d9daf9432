/*
 * The bytes of the files that keys are read from: decompressed, and checked for their encoding. An
 * error in a file ends the program with a message that names the file.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "arguments.h"

typedef struct input_files input_files;

/* Opens the first of the files. "-", or an empty list, is standard input. is_text: a UTF-8
 * byte-order mark at the start of a file is skipped, and UTF-16 is refused. */
input_files *input_open(words files, bool is_text);
void input_close(input_files *in);

/* Reads up to `most` bytes of the current file, at least one; 0 at its end. most must be at least
 * INPUT_LEAST. */
enum { INPUT_LEAST = 512 };
size_t input_read(input_files *in, char *to, size_t most);

/* Opens the next file; false if there is none. */
bool input_next_file(input_files *in);

/* input_rewind starts again at the first file. input_keep, called before the first read, makes that
 * possible for pipes: their contents are copied to a temporary file. */
void input_keep(input_files *in);
void input_rewind(input_files *in);

/* The name of the current file for messages. */
const char *input_name(const input_files *in);

/* Fails if standard input was claimed before: the second reader would find it empty. */
void claim_standard_input(void);

/* Progress: the bytes read so far, and those of the files opened so far (0: unknown). They are
 * bytes before decompression. */
uint64_t input_bytes_read(const input_files *in);
uint64_t input_bytes_total(const input_files *in);

#endif
