/* besom diff, patch, update: ship an update of a filter as the difference to its predecessor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "json.h"
#include "signed/trust.h"
#include "verb.h"

static const char *sign_key;
static bool as_json;

static const argument diff_arguments[] = {
    {"--sign", "KEY",
     "sign the patch with this secret key of minisign, and write PATCH.minisig; OLD and NEW must "
     "be signed with it (besom sign)",
     .text = &sign_key},
    JSON_ARGUMENT(as_json),
};

static const command diff_command = {
    .usage = "diff OLD NEW PATCH [options]",
    .about = "Writes the difference between two filters to the file PATCH; besom patch makes NEW "
             "from OLD and PATCH. The patch is small if both filters have the same seed and size: "
             "build NEW with --like OLD, or both with the same --seed and --capacity.",
    .arguments = diff_arguments,
    .argument_count = COUNT_OF(diff_arguments),
    .least_words = 3,
    .most_words = 3,
    .examples = "  besom build new.besom --like old.besom --yes new.txt\n"
                "  besom diff old.besom new.besom patch\n"
                "  besom patch old.besom patch new.besom",
};

static const argument trust_arguments[] = {TRUST_ARGUMENTS, JSON_ARGUMENT(as_json)};

static const command patch_command = {
    .usage = "patch OLD PATCH OUT [options]",
    .about = "Applies a patch of besom diff to the filter OLD and writes the new filter to OUT. "
             "Fails if the patch was made for another filter than OLD.\n\n"
             "With --verify, OLD and PATCH must be signed, and OUT.minisig is written, too. Fails "
             "if a signature is wrong, if the patch has expired, or if its sequence number is "
             "older than that of OLD or OUT.",
    .arguments = trust_arguments,
    .argument_count = COUNT_OF(trust_arguments),
    .least_words = 3,
    .most_words = 3,
    .examples = "  besom patch old.besom patch new.besom",
};

static const command update_command = {
    .usage = "update LIST FILE --verify PUB [options]",
    .about = "Replaces the signed filter LIST by a newer one. FILE is a patch of besom diff "
             "--sign, or a whole filter that besom sign has signed; FILE.minisig is its "
             "signature. LIST.minisig is replaced, too. Fails, and changes nothing, if a signature "
             "is wrong, if FILE has expired, is older than LIST, or is another list. If LIST does "
             "not exist yet, --name must say which list it is. If a crash interrupts it, LIST is "
             "the old or the new filter, and besom accepts its signature.",
    .arguments = trust_arguments,
    .argument_count = COUNT_OF(trust_arguments),
    .least_words = 2,
    .most_words = 2,
    .examples = "  besom update blocked.besom patch --verify list.pub\n"
                "  besom update blocked.besom whole.besom --verify list.pub --name blocked",
};

static besom_status append(void *ctx, const void *data, size_t len) {
  file_bytes *bytes = ctx;
  uint8_t *longer = realloc(bytes->data, bytes->len + len);
  if (!longer) return BESOM_NO_MEMORY;
  memcpy(longer + bytes->len, data, len);
  bytes->data = longer;
  bytes->len += len;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ diff */

static besom_filter *filter_of(const trusted_file *file, const char *path) {
  besom_filter *f = NULL;
  check(besom_load(file->bytes.data, file->bytes.len, NULL, &f), "%s", path);
  return f;
}

/* Makes the patch and returns its size. */
static file_bytes difference(const besom_filter *old, const besom_filter *fresh, words args) {
  file_bytes patch = {NULL, 0};
  besom_sink sink = {.write = append, .ctx = &patch};
  check(besom_diff(old, fresh, &sink), "the difference between %s and %s", args.at[0], args.at[1]);
  return patch;
}

static void report_patch(const char *path, const file_bytes *patch, const besom_filter *fresh) {
  uint64_t whole = filter_stats(fresh).bytes;
  json j = {0};
  if (!as_json) {
    fprintf(stderr, "%s: %zu bytes, %.2f %% of the filter\n", path, patch->len,
            100.0 * (double)patch->len / (double)whole);
    return;
  }
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_count(&j, "bytes", patch->len);
  json_count(&j, "filter_bytes", whole);
  json_close(&j);
}

/* The statement of a patch: that of the new list, what it is for, and the new list's signature. */
static minisig sign_patch(const secret_key *key, const file_bytes *patch, const trusted_file *old,
                          const trusted_file *fresh) {
  statement s = fresh->statement;
  minisig m;
  memcpy(s.base, old->statement.result, sizeof s.base);
  signature_text(fresh->signature.of_file, s.signature);
  signature_text(fresh->signature.of_comment, s.global);
  statement_text(&s, m.comment);
  minisign_sign(key, patch, &m);
  return m;
}

static void check_successor(const trusted_file *old, const trusted_file *fresh, words args) {
  if (strcmp(old->statement.name, fresh->statement.name) != 0)
    fail("%s is the list %s, and %s is the list %s", args.at[0], old->statement.name, args.at[1],
         fresh->statement.name);
  if (fresh->statement.sequence <= old->statement.sequence)
    fail("%s: its sequence number %llu is not higher than that of %s, %llu", args.at[1],
         (unsigned long long)fresh->statement.sequence, args.at[0],
         (unsigned long long)old->statement.sequence);
}

static int signed_diff(words args) {
  if (strcmp(args.at[2], "-") == 0)
    usage_error("--sign: PATCH must be a file, because its signature is written beside it");
  secret_key key = minisign_secret_key(sign_key);
  char public_text[PUBLIC_KEY_TEXT];
  minisign_public_text(&key, public_text);
  const char *keys[] = {public_text};
  trust own = {.keys = {keys, 1}};
  trusted_file old = trusted_read_list(args.at[0], &own),
               fresh = trusted_read_list(args.at[1], &own);
  check_successor(&old, &fresh, args);
  besom_filter *from = filter_of(&old, args.at[0]), *to = filter_of(&fresh, args.at[1]);
  file_bytes patch = difference(from, to, args);
  minisig m = sign_patch(&key, &patch, &old, &fresh);
  file_bytes text = minisign_text(&m);
  char *path = signature_path(args.at[2]);
  minisign_forget(&key);
  file_write(args.at[2], &patch);
  file_write(path, &text);
  report_patch(args.at[2], &patch, to);
  free(path);
  free(text.data);
  free(patch.data);
  free(old.bytes.data);
  free(fresh.bytes.data);
  besom_free(from);
  besom_free(to);
  return 0;
}

static int diff(words args) {
  if (sign_key) return signed_diff(args);
  besom_filter *old = filter_open(args.at[0]), *fresh = filter_open(args.at[1]);
  file_bytes patch = difference(old, fresh, args);
  file_write(args.at[2], &patch);
  report_patch(args.at[2], &patch, fresh);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

/* ------------------------------------------------------------------ patch */

static besom_filter *patched(const besom_filter *old, const file_bytes *patch, const char *old_path,
                             const char *patch_path) {
  besom_filter *fresh = NULL;
  besom_status status = besom_patch(old, patch->data, patch->len, &fresh);
  if (status == BESOM_INCOMPATIBLE)
    fail("%s: this patch was made for another filter than %s", patch_path, old_path);
  if (status == BESOM_CORRUPT)
    fail("%s: not a patch, or damaged. besom diff makes patches", patch_path);
  check(status, "%s", patch_path);
  return fresh;
}

/* The list that a patch makes, with the signature that the patch brings. */
static trusted_file made_list(const trusted_file *old, const trusted_file *patch,
                              const char *old_path, const char *patch_path) {
  besom_filter *from = filter_of(old, old_path),
               *to = patched(from, &patch->bytes, old_path, patch_path);
  trusted_file made = {.signature = patch->signature, .statement = patch->statement};
  besom_sink sink = {.write = append, .ctx = &made.bytes};
  check(besom_save(to, &sink), "%s", patch_path);
  signature_parse(patch->statement.signature, made.signature.of_file);
  signature_parse(patch->statement.global, made.signature.of_comment);
  made.statement.base[0] = 0;
  statement_text(&made.statement, made.signature.comment);
  const char *wrong = verify_in_memory(&made, &given_trust);
  if (wrong)
    fail("%s: the filter that the patch makes is not the signed one: %s", patch_path, wrong);
  besom_free(from);
  besom_free(to);
  return made;
}

static void replace(const char *path, const trusted_file *list) {
  bool replaced = trusted_replace(path, list, &given_trust);
  statement_print(path, &list->statement, replaced ? "replaced" : "unchanged", as_json);
}

static void apply_trusted(const char *old_path, const trusted_file *patch, const char *patch_path,
                          const char *out) {
  trusted_file old = trusted_read_list(old_path, &given_trust);
  if (old.statement.sequence == patch->statement.sequence) { /* perhaps of an interrupted update */
    replace(out, &old);
  } else {
    if (strcmp(old.statement.result, patch->statement.base) != 0)
      fail("%s: this patch was made for another filter than %s", patch_path, old_path);
    trusted_file made = made_list(&old, patch, old_path, patch_path);
    replace(out, &made);
    free(made.bytes.data);
  }
  free(old.bytes.data);
}

static void report_filter(const char *path, const besom_filter *f) {
  besom_statistics stats = filter_stats(f);
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_text(&j, "kind", stats.kind);
  json_count(&j, "bytes", stats.bytes);
  json_close(&j);
}

static int trusted_patch(words args) {
  if (strcmp(args.at[2], "-") == 0)
    usage_error("--verify: OUT must be a file, because its signature is written beside it");
  trusted_file patch = trusted_read(args.at[1], &given_trust);
  if (!patch.statement.base[0]) fail("%s: a whole list, and not a patch: besom update", args.at[1]);
  check_expiry(args.at[1], &patch.statement, &given_trust);
  check_newer(args.at[0], &patch.statement, &given_trust);
  if (strcmp(args.at[0], args.at[2]) != 0) given_trust.name = patch.statement.name;
  apply_trusted(args.at[0], &patch, args.at[1], args.at[2]);
  free(patch.bytes.data);
  return 0;
}

static int patch(words args) {
  if (trust_is_given()) return trusted_patch(args);
  besom_filter *old = filter_open(args.at[0]);
  file_bytes patch = file_read(args.at[1]);
  besom_filter *fresh = patched(old, &patch, args.at[0], args.at[1]);
  filter_save(fresh, args.at[2]);
  if (as_json) report_filter(args.at[2], fresh);
  free(patch.data);
  besom_free(old);
  besom_free(fresh);
  return 0;
}

/* ------------------------------------------------------------------ update */

static int update(words args) {
  if (!given_trust.keys.n) usage_error("--verify is missing: the public key of the publisher");
  trusted_file file = trusted_read(args.at[1], &given_trust);
  check_expiry(args.at[1], &file.statement, &given_trust);
  check_newer(args.at[0], &file.statement, &given_trust);
  if (file.statement.base[0]) {
    apply_trusted(args.at[0], &file, args.at[1], args.at[0]);
  } else {
    besom_free(filter_of(&file, args.at[1]));
    replace(args.at[0], &file);
  }
  free(file.bytes.data);
  return 0;
}

const verb diff_verb = {"diff", "write the difference between two filters", &diff_command, diff};
const verb patch_verb = {"patch", "make the new filter from the old one and a diff", &patch_command,
                         patch};
const verb update_verb = {"update", "replace a signed list by a newer one", &update_command,
                          update};
