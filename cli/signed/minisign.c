#include "signed/minisign.h"

#include "fail.h"

#ifdef BESOM_WITH_SODIUM
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signed/password.h"

#define ALGORITHM "Ed"
#define PREHASHED "ED"
#define COMMENT_PREFIX "untrusted comment: "
#define TRUSTED_PREFIX "trusted comment: "
#define SIGNATURE_COMMENT COMMENT_PREFIX "signature of besom"

static void start(void) {
  if (sodium_init() < 0) fail("libsodium cannot be initialized");
}

/* ------------------------------------------------------------------ text */

static bool decode(const char *text, size_t len, uint8_t *out, size_t size) {
  size_t written = 0;
  return sodium_base642bin(out, size, text, len, NULL, &written, NULL,
                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
         written == size;
}

/* The next line, without its end. Returns false if there is none. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len) {
  if (*at == end) return false;
  const char *stop = memchr(*at, '\n', (size_t)(end - *at));
  if (!stop) stop = end;
  *line = *at;
  *len = (size_t)(stop - *at);
  if (*len && stop[-1] == '\r') --*len;
  *at = stop == end ? end : stop + 1;
  return true;
}

static bool begins_with(const char *line, size_t len, const char *prefix) {
  return len >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

/* Decodes the second line of a key file. */
static bool decode_key_file(const char *path, uint8_t *out, size_t size) {
  file_bytes text = file_read(path);
  const char *at = (const char *)text.data, *end = at + text.len, *line;
  size_t len;
  bool ok = next_line(&at, end, &line, &len) && begins_with(line, len, COMMENT_PREFIX) &&
            next_line(&at, end, &line, &len) && decode(line, len, out, size);
  sodium_memzero(text.data, text.len);
  free(text.data);
  return ok;
}

/* ------------------------------------------------------------------ keys */

public_key minisign_public_key(const char *path_or_text) {
  start();
  uint8_t raw[2 + sizeof(public_key)];
  public_key key;
  if (!decode(path_or_text, strlen(path_or_text), raw, sizeof raw) &&
      !decode_key_file(path_or_text, raw, sizeof raw))
    fail("%s: not a public key of minisign. To make a pair of keys: minisign -G", path_or_text);
  if (memcmp(raw, ALGORITHM, 2) != 0)
    fail("%s: a public key, but not one of Ed25519", path_or_text);
  memcpy(&key, raw + 2, sizeof key);
  return key;
}

/* The file of a secret key. */
struct secret_file {
  uint8_t algorithm[2], password_hash[2], checksum_hash[2];
  uint8_t salt[32], operations[8], memory[8];
  struct {
    uint8_t number[KEY_NUMBER_BYTES], key[64], checksum[32];
  } hidden; /* encrypted if there is a password */
};

static uint64_t little_endian(const uint8_t bytes[8]) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; i--) value = value << 8 | bytes[i];
  return value;
}

static void decrypt(struct secret_file *file, const char *path) {
  uint8_t mask[sizeof file->hidden], *hidden = (uint8_t *)&file->hidden;
  char *password = password_read(path);
  if (crypto_pwhash_scryptsalsa208sha256(mask, sizeof mask, password, strlen(password), file->salt,
                                         little_endian(file->operations),
                                         (size_t)little_endian(file->memory)) != 0)
    fail("%s: not enough memory for the hash of the password", path);
  for (size_t i = 0; i < sizeof mask; i++) hidden[i] ^= mask[i];
  sodium_memzero(mask, sizeof mask);
  sodium_memzero(password, strlen(password));
  free(password);
}

static bool checksum_matches(const struct secret_file *file) {
  uint8_t sum[sizeof file->hidden.checksum];
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof sum);
  crypto_generichash_update(&state, file->algorithm, sizeof file->algorithm);
  crypto_generichash_update(&state, file->hidden.number, sizeof file->hidden.number);
  crypto_generichash_update(&state, file->hidden.key, sizeof file->hidden.key);
  crypto_generichash_final(&state, sum, sizeof sum);
  return sodium_memcmp(sum, file->hidden.checksum, sizeof sum) == 0;
}

/* A key without a password has no checksum. Its second half is the public key of the first. */
static bool halves_match(const struct secret_file *file) {
  uint8_t public[32], secret[64];
  crypto_sign_seed_keypair(public, secret, file->hidden.key);
  bool match = sodium_memcmp(secret, file->hidden.key, sizeof secret) == 0;
  sodium_memzero(secret, sizeof secret);
  return match;
}

secret_key minisign_secret_key(const char *path) {
  start();
  struct secret_file file;
  if (!decode_key_file(path, (uint8_t *)&file, sizeof file) ||
      memcmp(file.algorithm, ALGORITHM, 2) != 0 || memcmp(file.checksum_hash, "B2", 2) != 0)
    fail("%s: not a secret key of minisign. To make a pair of keys: minisign -G", path);
  bool encrypted = memcmp(file.password_hash, "Sc", 2) == 0;
  if (!encrypted && memcmp(file.password_hash, "\0\0", 2) != 0)
    fail("%s: the password of this key is hashed in an unknown way", path);
  if (encrypted) decrypt(&file, path);
  if (encrypted && !checksum_matches(&file)) fail("%s: wrong password", path);
  if (!halves_match(&file)) fail("%s: the secret key is damaged", path);
  secret_key key;
  memcpy(key.number, file.hidden.number, sizeof key.number);
  memcpy(key.key, file.hidden.key, sizeof key.key);
  sodium_memzero(&file, sizeof file);
  return key;
}

void minisign_public_text(const secret_key *key, char text[PUBLIC_KEY_TEXT]) {
  uint8_t raw[2 + sizeof(public_key)];
  memcpy(raw, ALGORITHM, 2);
  memcpy(raw + 2, key->number, sizeof key->number);
  crypto_sign_ed25519_sk_to_pk(raw + 2 + sizeof key->number, key->key);
  sodium_bin2base64(text, PUBLIC_KEY_TEXT, raw, sizeof raw, sodium_base64_VARIANT_ORIGINAL);
}

void minisign_forget(secret_key *key) {
  sodium_memzero(key, sizeof *key);
}

/* ------------------------------------------------------------------ signatures */

const char *minisign_parse(const file_bytes *text, minisig *out) {
  start();
  const char *at = (const char *)text->data, *end = at + text->len, *line;
  uint8_t raw[2 + KEY_NUMBER_BYTES + SIGNATURE_BYTES];
  size_t len;
  if (!next_line(&at, end, &line, &len) || !begins_with(line, len, COMMENT_PREFIX) ||
      !next_line(&at, end, &line, &len) || !decode(line, len, raw, sizeof raw))
    return "not a signature of minisign";
  if (memcmp(raw, PREHASHED, 2) == 0)
    return "a prehashed signature. Use besom sign, or minisign -S -l";
  if (memcmp(raw, ALGORITHM, 2) != 0) return "not a signature of Ed25519";
  memcpy(out->number, raw + 2, sizeof out->number);
  memcpy(out->of_file, raw + 2 + KEY_NUMBER_BYTES, sizeof out->of_file);
  size_t prefix = strlen(TRUSTED_PREFIX);
  if (!next_line(&at, end, &line, &len) || !begins_with(line, len, TRUSTED_PREFIX) ||
      len - prefix > COMMENT_BYTES || memchr(line, 0, len))
    return "no trusted comment in it, or a longer one than besom makes";
  memcpy(out->comment, line + prefix, len - prefix);
  out->comment[len - prefix] = 0;
  if (!next_line(&at, end, &line, &len) ||
      !decode(line, len, out->of_comment, sizeof out->of_comment) || at != end)
    return "not a signature of minisign: the trusted comment has no signature";
  return NULL;
}

file_bytes minisign_text(const minisig *m) {
  uint8_t raw[2 + KEY_NUMBER_BYTES + SIGNATURE_BYTES];
  char first[128], global[SIGNATURE_TEXT];
  memcpy(raw, ALGORITHM, 2);
  memcpy(raw + 2, m->number, sizeof m->number);
  memcpy(raw + 2 + KEY_NUMBER_BYTES, m->of_file, sizeof m->of_file);
  sodium_bin2base64(first, sizeof first, raw, sizeof raw, sodium_base64_VARIANT_ORIGINAL);
  signature_text(m->of_comment, global);
  size_t size = COMMENT_BYTES + 512;
  file_bytes text = {allocate(1, size), 0};
  text.len = (size_t)snprintf((char *)text.data, size, "%s\n%s\n%s%s\n%s\n", SIGNATURE_COMMENT,
                              first, TRUSTED_PREFIX, m->comment, global);
  return text;
}

/* What of_comment covers. Returns its length. */
static size_t covered_text(const minisig *m, uint8_t text[SIGNATURE_BYTES + COMMENT_BYTES]) {
  memcpy(text, m->of_file, SIGNATURE_BYTES);
  memcpy(text + SIGNATURE_BYTES, m->comment, strlen(m->comment));
  return SIGNATURE_BYTES + strlen(m->comment);
}

void minisign_sign(const secret_key *key, const file_bytes *file, minisig *m) {
  uint8_t text[SIGNATURE_BYTES + COMMENT_BYTES];
  memcpy(m->number, key->number, sizeof m->number);
  crypto_sign_detached(m->of_file, NULL, file->data, file->len, key->key);
  crypto_sign_detached(m->of_comment, NULL, text, covered_text(m, text), key->key);
}

static bool has_number(const minisig *m, const public_key *key) {
  return memcmp(m->number, key->number, sizeof m->number) == 0;
}

bool minisign_comment_is_signed(const minisig *m, const public_key *key) {
  uint8_t text[SIGNATURE_BYTES + COMMENT_BYTES];
  return has_number(m, key) &&
         crypto_sign_verify_detached(m->of_comment, text, covered_text(m, text), key->key) == 0;
}

bool minisign_file_is_signed(const minisig *m, const public_key *key, const file_bytes *file) {
  return has_number(m, key) &&
         crypto_sign_verify_detached(m->of_file, file->data, file->len, key->key) == 0;
}

void sha256_text(const file_bytes *file, char text[SHA256_TEXT]) {
  uint8_t hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, file->data, file->len);
  sodium_bin2hex(text, SHA256_TEXT, hash, sizeof hash);
}

void signature_text(const uint8_t signature[SIGNATURE_BYTES], char text[SIGNATURE_TEXT]) {
  sodium_bin2base64(text, SIGNATURE_TEXT, signature, SIGNATURE_BYTES,
                    sodium_base64_VARIANT_ORIGINAL);
}

bool signature_parse(const char *text, uint8_t signature[SIGNATURE_BYTES]) {
  return decode(text, strlen(text), signature, SIGNATURE_BYTES);
}

#endif
