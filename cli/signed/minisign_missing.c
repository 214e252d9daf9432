/* minisign.h in a build without libsodium. */
#include "fail.h"
#include "signed/minisign.h"

#ifndef BESOM_WITH_SODIUM

static _Noreturn void missing(void) {
  fail("besom was built without libsodium, which signatures need: install it (Debian: "
       "libsodium-dev) and build besom again");
}

public_key minisign_public_key(const char *path_or_text) {
  (void)path_or_text;
  missing();
}
secret_key minisign_secret_key(const char *path) {
  (void)path;
  missing();
}
void minisign_public_text(const secret_key *key, char text[PUBLIC_KEY_TEXT]) {
  (void)key, (void)text;
  missing();
}
void minisign_forget(secret_key *key) {
  (void)key;
}
const char *minisign_parse(const file_bytes *text, minisig *out) {
  (void)text, (void)out;
  missing();
}
file_bytes minisign_text(const minisig *m) {
  (void)m;
  missing();
}
void minisign_sign(const secret_key *key, const file_bytes *file, minisig *m) {
  (void)key, (void)file, (void)m;
  missing();
}
bool minisign_comment_is_signed(const minisig *m, const public_key *key) {
  (void)m, (void)key;
  missing();
}
bool minisign_file_is_signed(const minisig *m, const public_key *key, const file_bytes *file) {
  (void)m, (void)key, (void)file;
  missing();
}
void sha256_text(const file_bytes *file, char text[SHA256_TEXT]) {
  (void)file, (void)text;
  missing();
}
void signature_text(const uint8_t signature[SIGNATURE_BYTES], char text[SIGNATURE_TEXT]) {
  (void)signature, (void)text;
  missing();
}
bool signature_parse(const char *text, uint8_t signature[SIGNATURE_BYTES]) {
  (void)text, (void)signature;
  missing();
}

#endif
