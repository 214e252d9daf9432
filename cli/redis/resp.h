/* A connection to a Redis or Valkey server: commands are pipelined, replies are read in order. */
#ifndef CLI_RESP_H
#define CLI_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "besom.h"

/* A reply of RESP2. Strings and errors have text, which ends with a NUL byte. */
typedef struct reply {
  enum reply_type { REPLY_STRING, REPLY_ERROR, REPLY_NUMBER, REPLY_NIL, REPLY_ARRAY } type;
  long long number;
  char *text;
  size_t n; /* bytes of the text, or elements of the array */
  struct reply *elements;
} reply;

/* Releases what the reply points to. */
void reply_clear(reply *r);
/* Is the reply an error whose text begins with this word? */
bool reply_is_error(const reply *r, const char *word);

typedef struct resp_link resp_link;

/* Connects. On failure the result is NULL, and *cause says why. */
resp_link *resp_connect(const char *host, const char *port, const char **cause);
void resp_close(resp_link *link);

/* Appends a command to those that resp_flush sends. */
void resp_add(resp_link *link, const besom_bytes *words, size_t n);

/* Both return false if the connection is broken: then close it. */
bool resp_flush(resp_link *link);
bool resp_read(resp_link *link, reply *to);

#endif
