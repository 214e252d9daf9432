#include "publish/asked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bar.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "lists/domains.h"
#include "number_text.h"
#include "publish/local_fixes.h"
#include "publish/set_pointer.h"

bool is_published_set(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  char *pointer = set_path(path, SET_POINTER);
  if (access(pointer, F_OK) != 0)
    fail("%s: a directory without a published set: besom sync makes one", path);
  free(pointer);
  return true;
}

besom_set *published_set_open(const char *path) {
  besom_set *set = NULL;
  besom_status status = besom_set_open(path, BESOM_OPEN_CHECKSUMS, &set);
  if (status == BESOM_IO)
    fail("%s: %s. To fetch what is missing: besom sync", path, strerror(errno));
  if (status == BESOM_CORRUPT)
    fail("%s: a file of the set is damaged. Delete the file that besom verify names, and run besom "
         "sync",
         path);
  check(status, "%s", path);
  return set;
}

static besom_set_information set_information(const besom_set *set) {
  besom_set_information info;
  check(besom_set_info(set, &info), "the set");
  return info;
}

/* Signatures, if keys are given, and the expiry date. */
static void refuse_untrusted(const char *path, const besom_set *set) {
  besom_set_information info = set_information(set);
  set_statement s = {.expires = info.expires};
  snprintf(s.name, sizeof s.name, "%s", info.name);
  if (given_trust.keys.n) published_set_verify(path, false);
  set_pointer_check_expiry(path, &s, given_trust.now);
}

/* Fixes for another version have no effect, and a message says so. */
static key_index *fixes_for(const char *fixes, const char *path, const fixes_of *of) {
  bool fits;
  key_index *keys = fixes_read(fixes, of, &fits);
  if (fits) return keys;
  fprintf(stderr,
          "%s: %s: not for this version of %s, so it has no effect. If its keys are still absent, "
          "apply it again: besom fix %s --fixes %s --again\n",
          program_name, fixes, path, path, fixes);
  key_index_free(keys);
  return NULL;
}

asked_target asked_open(const char *path, const char *fixes) {
  asked_target a = {NULL, NULL, NULL};
  bool is_standard = strcmp(path, "-") == 0;
  if (fixes && is_standard) usage_error("--fixes needs a list in a file, not standard input");
  if (is_standard || !is_published_set(path)) {
    a.filter = filter_open(path);
  } else {
    a.set = published_set_open(path);
    refuse_untrusted(path, a.set);
  }
  if (!fixes) return a;
  fixes_of of = asked_fixes_of(a, path);
  a.fixes = fixes_for(fixes, path, &of);
  return a;
}

asked_target asked_open_for_fixes(const char *path) {
  asked_target a = {NULL, NULL, NULL};
  if (strcmp(path, "-") == 0) usage_error("--fixes needs a list in a file, not standard input");
  if (is_published_set(path))
    a.set = published_set_open(path);
  else
    a.filter = filter_open(path);
  return a;
}

fixes_of asked_fixes_of(asked_target a, const char *path) {
  return a.set ? fixes_of_set(a.set) : fixes_of_list(path);
}

void asked_close(asked_target a) {
  besom_free(a.filter);
  besom_set_close(a.set);
  if (a.fixes) key_index_free(a.fixes);
}

/* Goes on to the next parent that a list of domains answers yes to. */
static bool next_entry(const besom_filter *f, besom_bytes *entry) {
  besom_bytes parent;
  return domain_parent(*entry, &parent) && besom_domain_contains(f, parent.data, parent.len, entry);
}

bool asked_is_fixed(asked_target a, besom_bytes *entry, bool domains) {
  char name[DOMAIN_BYTES];
  if (!a.fixes) return false;
  if (!domains) return key_index_contains(a.fixes, *entry);
  do {
    size_t len = domain_spelling(*entry, name);
    if (!len || !key_index_contains(a.fixes, (besom_bytes){name, len})) return false;
  } while (next_entry(a.filter, entry));
  return true;
}

bool asked_contains(asked_target a, besom_bytes key) {
  return a.set ? besom_set_contains(a.set, key.data, key.len)
               : besom_contains(a.filter, key.data, key.len);
}

void asked_contains_many(asked_target a, const besom_bytes *keys, size_t n, uint64_t *bitmap) {
  check(a.set ? besom_set_contains_many(a.set, keys, n, bitmap)
              : besom_contains_many(a.filter, keys, n, bitmap),
        "querying");
}

bool asked_is_domains(asked_target a) {
  return a.filter && besom_domain_labels(a.filter, NULL);
}

/* ------------------------------------------------------------------ besom info, besom verify */

int published_set_info(const char *path, bool as_json) {
  besom_set *set = published_set_open(path);
  besom_set_information info = set_information(set);
  char date[DATE_SIZE];
  double bits = info.keys ? 8.0 * (double)info.bytes / (double)info.keys : 0;
  json j = {0};
  date_text(info.expires, date);
  if (as_json) {
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_text(&j, "set", info.name);
    json_text(&j, "kind", info.kind);
    json_count(&j, "sequence", info.sequence);
    json_text(&j, "expires", date);
    json_count(&j, "shards", info.shards);
    json_count(&j, "keys", info.keys);
    json_count(&j, "bytes", info.bytes);
    json_real(&j, "bits_per_key", bits);
    json_close(&j);
  } else {
    printf("set          %s\nkind         %s\nsequence     %llu\nexpires      %s\n", info.name,
           info.kind, (unsigned long long)info.sequence, date);
    printf("shards       %llu\nkeys         %s\n", (unsigned long long)info.shards,
           grouped(info.keys).text);
    printf("bytes        %s\nbits per key %.2f\n", grouped(info.bytes).text, bits);
  }
  besom_set_close(set);
  return EXIT_YES;
}

/* Fails unless a file has the checksum that is signed. */
static void verify_set_file(const char *directory, const set_file *file) {
  char sum[SHA256_TEXT], *path = set_path(directory, file->name);
  file_bytes bytes = file_read(path);
  sha256_text(&bytes, sum);
  if (strcmp(sum, file->sum) != 0) fail("%s: its checksum is not the signed one", path);
  free(bytes.data);
  free(path);
}

int published_set_verify(const char *path, bool as_json) {
  set_pointer p;
  char name[SET_FILE_SIZE];
  if (!given_trust.keys.n) usage_error("--verify is missing: the public key of the publisher");
  if (!set_pointer_read(path, &given_trust, &p)) fail("%s: no set in it", path);
  set_pointer_check_expiry(path, &p.statement, given_trust.now);
  set_manifest_name(p.statement.sequence, name);
  char *manifest_path = set_path(path, name);
  file_bytes text = file_read(manifest_path);
  set_manifest m = set_pointer_manifest(manifest_path, &p, &text);
  bar_begin("verifying", "shards");
  for (uint32_t i = 0; i < m.shards; i++) {
    verify_set_file(path, &m.files[i]);
    bar_tick(i, m.shards);
  }
  bar_end();
  set_statement_print(path, &p.statement, "signature and checksums are right", text.len, as_json);
  set_manifest_free(&m);
  free(text.data);
  free(manifest_path);
  return EXIT_YES;
}
