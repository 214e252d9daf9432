/* Reads keys from files: one per line, or in another form that the options select. gzip and zstd
 * are decompressed. An error in a file ends the program with a message that names the file and the
 * line. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stdio.h>

#include "arguments.h"
#include "besom.h"

/* The form of keys in a file. */
typedef struct key_form {
  bool null;            /* keys end with a NUL byte instead of a newline */
  bool length_prefixed; /* each key follows its length: 4 bytes, little-endian */
  bool lowercase;       /* convert A-Z to a-z */
  const char *comments; /* skip lines that start with this; NULL: no line is skipped */
  const char *format;   /* lines (default), hosts, adblock, csv:COLUMN or fixes */
  /* The verb's own choice: a key with a NUL or a carriage return is an error, because it is the
   * sign of another format. Queries take any bytes. */
  bool is_list;
  bool domains;  /* keys are names of domains: in one spelling (domains.h) */
  bool is_quiet; /* no messages about skipped lines and other formats */
} key_form;

/* The options of every verb that reads keys. */
#define KEY_FORM_ARGUMENTS(form)                                                                   \
  {"--format", "FORMAT",                                                                           \
   "lines (default), hosts, adblock, csv:COLUMN (a number, or a name of the first record), or "    \
   "fixes (of besom fix --fixes)",                                                                 \
   .text = &(form).format},                                                                        \
      {"--null", NULL, "keys end with NUL bytes, not newlines", .flag = &(form).null},             \
      {"--length-prefixed", NULL, "binary keys: 4 bytes of length, little-endian, then the key",   \
       .flag = &(form).length_prefixed},                                                           \
      {"--lowercase", NULL, "convert A-Z in keys to a-z", .flag = &(form).lowercase}, {            \
    "--comments", "TEXT", "skip lines that start with TEXT, such as '#'", .text = &(form).comments \
  }

/* Of the verbs with two lists: the no list may have a format of its own. */
#define NO_FORMAT_ARGUMENT(no_format)                                                             \
  {                                                                                               \
    "--no-format", "FORMAT", "format of the no list, if it is another one than that of --format", \
        .text = &(no_format)                                                                      \
  }

#define KEY_FORM_HELP                                                                         \
  "A key is a line without its newline (or CRLF); empty lines are skipped. --format reads "   \
  "published lists: the names of a hosts file, the ||name^ rules of a list for ad blockers, " \
  "or a column of a CSV file. gzip and zstd are decompressed."

typedef struct key_reader key_reader;

/* Reads the files one after the other. "-", or an empty list, is standard input. keys_tell_skipped
 * tells on stderr how many lines were skipped because they have no plain name; keys_close, too. */
key_reader *keys_open(words files, const key_form *form);
/* In this format; NULL: that of the form. */
key_reader *keys_open_as(words files, const key_form *form, const char *format);
void keys_tell_skipped(const key_reader *r);
void keys_close(key_reader *r);

/* Reads the next key; it is valid until the next call. Returns false at the end. */
bool keys_next(key_reader *r, besom_bytes *key);

enum { KEYS_PER_BATCH = 1024 };

/* Reads the next keys, as many as the buffer holds; they are valid until the next call. Returns
 * their number, 0 at the end. Use either keys_next or keys_batch between two calls of keys_rewind.
 */
size_t keys_batch(key_reader *r, besom_bytes keys[KEYS_PER_BATCH]);

/* keys_rewind starts again at the first key. keys_keep, called before the first read, makes that
 * possible for pipes: their contents are copied to a temporary file. */
void keys_keep(key_reader *r);
void keys_rewind(key_reader *r);

/* The position of the last key: "file:line", or "file:key N" for binary keys. */
const char *keys_position(const key_reader *r);

/* The position of the i-th key of the last batch. */
const char *keys_batch_position(const key_reader *r, size_t i);

/* The key that a word of the command line means: it may have to be converted to lower case. */
const char *key_of_word(const char *word, const key_form *form);

/* The number of keys read so far. */
uint64_t keys_count(const key_reader *r);

/* Lines that have no plain name (hosts, adblock, domains), and exceptions (adblock: @@). */
typedef struct keys_skipped {
  uint64_t rules, exceptions, names;
} keys_skipped;

keys_skipped keys_skipped_so_far(const key_reader *r);

/* Whether lines were skipped, and none of the files had a key: the format is another one. */
bool keys_all_skipped(const key_reader *r);

/* From now on, keys of which the function says so are skipped. NULL: none. */
typedef bool key_test(const void *ctx, besom_bytes key);
void keys_exclude(key_reader *r, key_test *is_excluded, const void *ctx);

/* After the last file, these keys follow, as they are. They must stay valid. */
void keys_append(key_reader *r, const besom_bytes *keys, size_t n);

/* Of domains: the most labels of a name that was read so far, also before keys_rewind. */
unsigned keys_most_labels(const key_reader *r);

/* Updates the progress bar with the bytes read so far. */
void keys_tick(const key_reader *r);

/* The reader as a source of keys for the library. */
besom_source keys_source(key_reader *r);

#endif
