/*
 * Files that are read only if their signature is right: verified before anything of them is parsed
 * (docs/signed.md). Every failure ends the program with a message.
 */
#ifndef CLI_TRUST_H
#define CLI_TRUST_H

#include "arguments.h"
#include "signed/statement.h"

/* What the user trusts. Without keys, no signature is needed. */
typedef struct trust {
  words keys;       /* public keys: files, or their text */
  const char *name; /* the expected list; NULL for any */
  const char *now;  /* a date instead of the clock; NULL for the clock */
} trust;

/* As the command line says. */
extern trust given_trust;

#define TRUST_ARGUMENTS                                                                            \
  {"--verify", "PUB",                                                                              \
   "verify the signature with this public key of minisign first, and refuse an expired file; may " \
   "be repeated (besom sign)",                                                                     \
   .list = &given_trust.keys},                                                                     \
      {"--name", "NAME", "with --verify: the name that the list must have",                        \
       .text = &given_trust.name},                                                                 \
  {                                                                                                \
    "--now", "DATE", "with --verify: this date instead of the clock, for tests",                   \
        .text = &given_trust.now                                                                   \
  }

/* A file whose signature was verified. */
typedef struct trusted_file {
  file_bytes bytes; /* release bytes.data with free */
  minisig signature;
  statement statement;
  public_key key; /* that signed it */
} trusted_file;

/* Reads FILE and FILE.minisig. Fails if the signature is not right, or if the name is another one;
 * not if the file has expired. Lists only: also accepts the signature of an unfinished update. */
trusted_file trusted_read(const char *path, const trust *t);
trusted_file trusted_read_list(const char *path, const trust *t);

/* Fails if the file has expired. */
void check_expiry(const char *path, const statement *s, const trust *t);

/* Prints what the signature of a file states: on stderr, or one JSON object on stdout. change: what
 * happened to the file, such as "signed". */
void statement_print(const char *path, const statement *s, const char *change, bool as_json);

/* If there are keys: fails if a list is not signed, or has expired; prints on stderr what its
 * signature states. */
void trusted_verify(const char *path);

/* Loads a filter if it is a list with a right signature that has not expired. filter_open calls it
 * if there are keys. */
besom_filter *trusted_open(const char *path);

/* Whether there are keys. Fails if there are none, but other options that need them. */
bool trust_is_given(void);

/* Fails if the list at that path is newer than s, or has another name, or if there is none and the
 * user gave no name. */
void check_newer(const char *path, const statement *s, const trust *t);

/* Verifies all of a file that is in memory: bytes and signature are set, the rest is written.
 * Returns NULL, or what is wrong. */
const char *verify_in_memory(trusted_file *file, const trust *t);

/*
 * Replaces a list and its signature. A crash at any moment leaves a list with a right signature.
 * Fails as check_newer does. Returns false if it is this list already.
 */
bool trusted_replace(const char *path, const trusted_file *list, const trust *t);

/* FILE.minisig; release it with free. */
char *signature_path(const char *path);

/* The seconds since 1970, by the clock or as given. */
int64_t seconds_now(const char *date);

#endif
