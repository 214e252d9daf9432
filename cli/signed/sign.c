/* besom sign: signs a list, so that clients can verify it (docs/signed.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "signed/trust.h"
#include "verb.h"

static struct {
  const char *key, *name, *expires, *now;
  uint64_t sequence;
  bool json;
} given = {.expires = "30d"};

static const argument arguments[] = {
    {"--key", "KEY", "secret key of minisign; it may have a password", .text = &given.key},
    {"--name", "NAME", "name of the list: letters, digits and . _ -", .text = &given.name},
    {"--sequence", "N",
     "number of this version: higher than all before it; default: the seconds since 1970",
     .count = &given.sequence, .least = 1, .most = (double)MAX_SEQUENCE},
    {"--expires", "DATE",
     "when clients stop accepting it, in UTC: 2026-12-31 (the start of that day), "
     "2026-12-31T23:59:59Z, or a number of days, such as 7d; default 30d",
     .text = &given.expires},
    {"--now", "DATE", "this date instead of the clock, for tests", .text = &given.now},
    JSON_ARGUMENT(given.json),
};

static const command sign_command = {
    .usage = "sign FILTER --key KEY --name NAME [options]",
    .about = "Signs a filter and writes the signature to FILTER.minisig. It covers the name of the "
             "list, its sequence number, its expiry date and its SHA-256, so that a mirror can "
             "neither change the list, nor send an older one, nor keep clients at an old one. "
             "besom update, and --verify of other verbs, verify it. So does minisign -V.\n\n"
             "To make a pair of keys: minisign -G. To sign patches: besom diff --sign.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 1,
    .examples = "  minisign -G -p list.pub -s list.key\n"
                "  besom sign blocked.besom --key list.key --name blocked --expires 7d\n"
                "  minisign -V -m blocked.besom -p list.pub",
};

/* Loads the bytes that will be signed: another read of the file could find another filter. */
static void refuse_no_filter(const file_bytes *bytes, const char *path) {
  besom_filter *f = NULL;
  besom_status status = besom_load(bytes->data, bytes->len, NULL, &f);
  if (status == BESOM_CORRUPT)
    fail("%s: not a filter, or damaged. For the position of the fault: besom verify", path);
  check(status, "%s", path);
  besom_free(f);
}

static int run(words args) {
  const char *path = args.at[0];
  trusted_file list = {0};
  statement *s = &list.statement;
  if (!given.key) usage_error("--key is missing: the secret key. To make one: minisign -G");
  if (!given.name) usage_error("--name is missing: the name of the list");
  if (!name_is_valid(given.name))
    usage_error("--name: '%s' is not 1 to %d letters, digits and . _ -", given.name, NAME_SIZE - 1);
  int64_t now = seconds_now(given.now);
  s->expires = expiry_read(given.expires, now);
  if (strcmp(path, "-") == 0) usage_error("standard input cannot be signed: give a file");
  list.bytes = file_read(path);
  refuse_no_filter(&list.bytes, path);
  secret_key key = minisign_secret_key(given.key);
  snprintf(s->name, sizeof s->name, "%s", given.name);
  s->sequence = given.sequence ? given.sequence : (uint64_t)now;
  sha256_text(&list.bytes, s->result);
  statement_text(s, list.signature.comment);
  minisign_sign(&key, &list.bytes, &list.signature);
  minisign_forget(&key);
  file_bytes text = minisign_text(&list.signature);
  char *out = signature_path(path);
  file_write(out, &text);
  statement_print(path, s, "signed", given.json);
  free(text.data);
  free(list.bytes.data);
  free(out);
  return 0;
}

const verb sign_verb = {"sign", "sign a list, so that clients can verify it", &sign_command, run};
