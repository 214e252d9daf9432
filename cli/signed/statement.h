/*
 * What the signature of a list or a patch states: the trusted comment of a .minisig file
 * (docs/signed.md).
 */
#ifndef CLI_STATEMENT_H
#define CLI_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "signed/minisign.h"

#define MAX_DATE INT64_C(253402300799) /* the end of 9999 */

enum { NAME_SIZE = 65, DATE_SIZE = 21 };
#define MAX_SEQUENCE ((UINT64_C(1) << 53) - 1)

typedef struct statement {
  char name[NAME_SIZE];
  uint64_t sequence;
  int64_t expires; /* seconds since 1970 */
  char result[SHA256_TEXT];
  char base[SHA256_TEXT]; /* "" if it is of a list, and not of a patch */
  char signature[SIGNATURE_TEXT], global[SIGNATURE_TEXT]; /* of the list that the patch makes */
} statement;

/* Returns false if the text is not exactly what statement_text makes. */
bool statement_parse(const char *text, statement *out);
void statement_text(const statement *s, char text[COMMENT_BYTES + 1]);

/* Whether a list may have this name. */
bool name_is_valid(const char *name);

/* "2026-12-31T23:59:59Z" or "2026-12-31". Returns false if it is no date from 1970 to 9999. */
bool date_parse(const char *text, int64_t *seconds);
void date_text(int64_t seconds, char text[DATE_SIZE]);

/* The option --expires: a date after now, or "7d", that many days after now. Fails if it is none
 * of both. */
int64_t expiry_read(const char *text, int64_t now);

#endif
