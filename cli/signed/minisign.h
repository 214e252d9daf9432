/*
 * Ed25519 signatures in the format of minisign, without prehashing: keys and .minisig files
 * (docs/signed.md). Needs libsodium; without it every function fails with a message that names the
 * package.
 */
#ifndef CLI_MINISIGN_H
#define CLI_MINISIGN_H

#include "files.h"

enum {
  KEY_NUMBER_BYTES = 8,
  SIGNATURE_BYTES = 64,
  SIGNATURE_TEXT = 89, /* base64, with the final 0 */
  SHA256_TEXT = 65,    /* hex digits, with the final 0 */
  PUBLIC_KEY_TEXT = 57,
  COMMENT_BYTES = 1000,
};

typedef struct public_key {
  uint8_t number[KEY_NUMBER_BYTES], key[32];
} public_key;

typedef struct secret_key {
  uint8_t number[KEY_NUMBER_BYTES], key[64];
} secret_key;

/* The content of a .minisig file. */
typedef struct minisig {
  uint8_t number[KEY_NUMBER_BYTES];
  uint8_t of_file[SIGNATURE_BYTES];    /* covers the file */
  uint8_t of_comment[SIGNATURE_BYTES]; /* covers of_file and the comment */
  char comment[COMMENT_BYTES + 1];     /* the trusted comment */
} minisig;

/* A file of minisign, or the base64 text of a key. Fails if it is neither. */
public_key minisign_public_key(const char *path_or_text);

/* Reads a key without a password, or asks for the password. Fails if the key is damaged. Call
 * minisign_forget after the last use. */
secret_key minisign_secret_key(const char *path);
void minisign_forget(secret_key *key);

/* The text of the public key that belongs to a secret key. */
void minisign_public_text(const secret_key *key, char text[PUBLIC_KEY_TEXT]);

/* Parses a .minisig file. Returns NULL, or what is wrong with it. */
const char *minisign_parse(const file_bytes *text, minisig *out);

/* The text of a .minisig file. */
file_bytes minisign_text(const minisig *m);

/* Signs a file. The comment must be set. */
void minisign_sign(const secret_key *key, const file_bytes *file, minisig *m);

/* Whether the comment, or the file, is what the owner of the key has signed. The key number must
 * match, too. */
bool minisign_comment_is_signed(const minisig *m, const public_key *key);
bool minisign_file_is_signed(const minisig *m, const public_key *key, const file_bytes *file);

/* SHA-256 in hex digits. */
void sha256_text(const file_bytes *file, char text[SHA256_TEXT]);

/* Between a signature and its base64 text. signature_parse returns false if it is none. */
void signature_text(const uint8_t signature[SIGNATURE_BYTES], char text[SIGNATURE_TEXT]);
bool signature_parse(const char *text, uint8_t signature[SIGNATURE_BYTES]);

#endif
