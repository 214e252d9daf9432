/* besom publish: writes a large set for many clients, as signed shards and patches
 * (docs/publish.md). */
#define _DEFAULT_SOURCE 1 /* getentropy */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bar.h"
#include "besom_set.h"
#include "interrupt.h"
#include "lists/keys.h"
#include "lists/list_change.h"
#include "number_text.h"
#include "publish/key_digests.h"
#include "publish/set_pointer.h"
#include "publish/shard_build.h"
#include "publish/shard_patches.h"
#include "seed.h"
#include "verb.h"

static struct {
  words yes;
  const char *key, *name, *expires, *now, *kind, *max_change, *state, *seed;
  double fpr;
  uint64_t sequence, shards, keep;
  bool rebuild, renew, allow_empty, json;
  key_form form;
} given = {.expires = "30d", .keep = 7, .form = {.is_list = true}};

static const argument arguments[] = {
    {"--yes", "FILE", "keys of the set; may be repeated; default: standard input",
     .list = &given.yes},
    {"--key", "KEY", "secret key of minisign; it may have a password", .text = &given.key},
    {"--name", "NAME", "name of the set: letters, digits and . _ -; default: that of DIR",
     .text = &given.name},
    {"--sequence", "N",
     "number of this version: higher than all before it; default: the seconds since 1970",
     .count = &given.sequence, .least = 1, .most = (double)MAX_SEQUENCE},
    {"--expires", "DATE",
     "when clients stop accepting this version, in UTC: 2026-12-31, 2026-12-31T23:59:59Z, or a "
     "number of days; default 30d",
     .text = &given.expires},
    {"--kind", "KIND",
     "kind of the shards: updated (default; the smallest, for small patches it grows until it is "
     "built anew), or one that changes in place, such as aqf",
     .text = &given.kind},
    {"--fpr", "RATE", "false-positive rate; default 1/256", .rate = &given.fpr, .least = 1e-9,
     .most = 0.5},
    {"--shards", "N", "a power of two, at most 4096; default: one per 4 million keys, at most 256",
     .count = &given.shards, .least = 1, .most = SET_MOST_SHARDS},
    {"--keep", "N", "versions from which there are patches; default 7", .count = &given.keep,
     .most = SET_MOST_PATCHES},
    {"--max-change", "SHARE",
     "fail if a larger share of the keys was added or removed; default 20%; any: no limit",
     .text = &given.max_change},
    {"--allow-empty", NULL, "publish a set without keys; default: an error",
     .flag = &given.allow_empty},
    {"--rebuild", NULL,
     "build all shards anew, under a new seed; --kind, --fpr and --shards can change then",
     .flag = &given.rebuild},
    {"--renew", NULL, "read no keys: sign the current version again, for a later --expires",
     .flag = &given.renew},
    {"--state", "DIR", "what the next run needs and clients must not get; default: DIR.state",
     .text = &given.state},
    {"--seed", "HEX", "seed of the hash, 32 hex digits; default: random ones", .text = &given.seed},
    {"--now", "DATE", "this date instead of the clock, for tests", .text = &given.now},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};

static const command publish_command = {
    .usage = "publish DIR --key KEY --name NAME [--yes FILE]... [options]",
    .about =
        "Publishes the keys of a set for clients that keep a local copy (besom sync). DIR gets one "
        "filter per shard, the patches from the last versions, a manifest and its signature; any "
        "web server can serve it. Only changed shards are written again. The signature covers "
        "all files by their checksums, the sequence number and the expiry date, so mirrors need "
        "not be trusted.\n\n"
        "The keys are read once, also from a pipe. The digests of all keys, 16 bytes each, are "
        "kept in DIR.state: the next run compares them with its keys. Memory: some 100 bytes per "
        "key of one shard. If it is interrupted, clients see the old version or the new "
        "one.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 1,
    .examples = "  minisign -G -p set.pub -s set.key\n"
                "  list-objects | besom publish www/packages --key set.key --name packages\n"
                "  besom publish www/packages --key set.key --renew --expires 7d",
};

enum { PARTS = 256, KEYS_PER_SHARD = 4000000 };

/* All of one run. */
static struct {
  const char *directory, *state;
  secret_key key;
  bool has_old;
  set_pointer old_pointer;
  set_manifest old, next;
  uint8_t seed[SET_SEED_BYTES];
  shard_form form;
  file_bytes patches; /* from the old version */
  uint64_t added, removed, changed_shards, written;
} run_state;

/* ------------------------------------------------------------------ the old version */

static void read_old_version(void) {
  char public_text[PUBLIC_KEY_TEXT], name[SET_FILE_SIZE];
  minisign_public_text(&run_state.key, public_text);
  const char *keys[] = {public_text};
  trust own = {.keys = {keys, 1}, .name = given.name};
  run_state.has_old = set_pointer_read(run_state.directory, &own, &run_state.old_pointer);
  if (!run_state.has_old) return;
  set_manifest_name(run_state.old_pointer.statement.sequence, name);
  char *path = set_path(run_state.directory, name);
  file_bytes text = file_read(path);
  run_state.old = set_pointer_manifest(path, &run_state.old_pointer, &text);
  free(text.data);
  free(path);
}

static bool is_power_of_two(uint64_t n) {
  return n && !(n & (n - 1));
}

/* Kind and rate are those of the old version, unless everything is built anew. */
static void choose_form(void) {
  const set_manifest *old = &run_state.old;
  bool keep = run_state.has_old && !given.rebuild;
  if (given.shards && !is_power_of_two(given.shards))
    usage_error("--shards: %llu is not a power of two", (unsigned long long)given.shards);
  if (keep && ((given.kind && strcmp(given.kind, old->kind) != 0) ||
               (given.fpr > 0 && given.fpr != old->fpr) ||
               (given.shards && given.shards != old->shards) || given.seed))
    usage_error("%s has %u shards of kind %s: --kind, --fpr, --shards and --seed need --rebuild",
                run_state.directory, old->shards, old->kind);
  run_state.form = (shard_form){.kind = given.kind          ? given.kind
                                        : run_state.has_old ? old->kind
                                                            : "updated",
                                .fpr = given.fpr > 0       ? given.fpr
                                       : run_state.has_old ? old->fpr
                                                           : 1.0 / 256,
                                .seed = run_state.seed};
  shard_form_check(&run_state.form);
}

/* The file of the state with the seed of a version. */
static char *seed_path(uint64_t sequence) {
  char name[SET_FILE_SIZE];
  set_manifest_name(sequence, name);
  return set_path(run_state.state, name);
}

/* The seed is part of the state: digests of earlier runs depend on it. */
static void choose_seed(void) {
  char *path = seed_path(run_state.old.sequence);
  if (run_state.has_old && !given.rebuild) {
    if (access(path, F_OK) != 0)
      fail("%s: the state of the last run is missing: --state says where it is. Without it: "
           "--rebuild, which clients must fetch whole",
           path);
    file_bytes text = file_read(path);
    if (text.len != SET_SEED_BYTES) fail("%s: damaged; use --rebuild", path);
    memcpy(run_state.seed, text.data, SET_SEED_BYTES);
    free(text.data);
  } else if (!seed_read(given.seed, run_state.seed) &&
             getentropy(run_state.seed, SET_SEED_BYTES) != 0) {
    fail("no random bytes for the seed: %s", strerror(errno));
  }
  free(path);
}

/* ------------------------------------------------------------------ reading keys */

static uint64_t read_keys(digest_spill *spill, uint32_t parts) {
  besom_filter *hasher = shard_hasher(&run_state.form);
  key_reader *keys = keys_open(given.yes, &given.form);
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t done = 0;
  bar_begin("reading keys", run_state.has_old ? "keys" : "bytes");
  for (size_t n; (n = keys_batch(keys, batch));) {
    for (size_t i = 0; i < n; i++)
      digest_spill_add(spill, besom_set_shard(batch[i].data, batch[i].len, parts),
                       besom_hash(hasher, batch[i].data, batch[i].len));
    done += n;
    if (run_state.has_old) /* also for a pipe, whose length is not known */
      bar_tick(done, run_state.old.keys > done ? run_state.old.keys : 0);
    else
      keys_tick(keys);
  }
  bar_end();
  keys_close(keys);
  besom_free(hasher);
  if (!done && !given.allow_empty)
    fail("the list has no keys, so nothing was published: is it complete, and is its format right? "
         "To publish a set without keys: --allow-empty");
  return done;
}

/* ------------------------------------------------------------------ one shard */

/* The file of the state that belongs to a published shard. */
static char *state_path(const char *shard, const char *suffix) {
  char name[SET_FILE_SIZE + 8];
  snprintf(name, sizeof name, "%s%s", shard, suffix);
  return set_path(run_state.state, name);
}

static void write_state(const char *shard, const char *suffix, const digest_list *list) {
  char *path = state_path(shard, suffix);
  digest_list_write(path, list);
  free(path);
}

static digest_list read_state(const char *shard, const char *suffix, bool required) {
  char *path = state_path(shard, suffix);
  digest_list list;
  if (!digest_list_read(path, &list) && required)
    fail("%s: the state of the last run is missing. Without it: --rebuild", path);
  free(path);
  return list;
}

/* Writes the filter, and its patch from the old one if that is smaller. */
static void write_shard(uint32_t shard, const besom_filter *old, const besom_filter *f) {
  set_file *file = &run_state.next.files[shard];
  file_bytes bytes = filter_saved(f);
  snprintf(file->name, sizeof file->name, "shard-%u-%llu", shard,
           (unsigned long long)run_state.next.sequence);
  file->bytes = bytes.len;
  sha256_text(&bytes, file->sum);
  char *path = set_path(run_state.directory, file->name);
  file_write(path, &bytes);
  free(path);
  if (old) {
    file_bytes patch = filter_difference(old, f);
    if (patch.len < bytes.len) shard_patches_add(&run_state.patches, shard, &patch);
    free(patch.data);
  }
  run_state.changed_shards++;
  run_state.written += bytes.len;
  free(bytes.data);
}

static void refuse_large_change(bool is_last) {
  double share = list_change_limit(given.max_change);
  const set_manifest *old = &run_state.old;
  if (share < 0 || !run_state.has_old || given.rebuild || !old->keys) return;
  uint64_t more = run_state.added > run_state.removed ? run_state.added : run_state.removed;
  if ((double)more <= share * (1 + LIST_CHANGE_ROUNDING) * (double)old->keys) return;
  fail(
      "refused: of %s keys%s %s were added and %s removed: more than the %.0f %% that are allowed. "
      "Is the list complete? If it is: --max-change %.0f%%, or --max-change any",
      grouped(old->keys).text, is_last ? "" : ", so far", grouped(run_state.added).text,
      grouped(run_state.removed).text, 100 * share,
      ceil(100 * (1 - LIST_CHANGE_ROUNDING) * (double)more / (double)old->keys));
}

/* Digests under another seed would deny every key. */
static void refuse_other_seed(const besom_filter *f, const char *path) {
  besom_filter *hasher = shard_hasher(&run_state.form);
  besom_digest a = besom_hash_u64(f, 1), b = besom_hash_u64(hasher, 1);
  if (a.hi != b.hi || a.lo != b.lo)
    fail("%s: not of the state in %s; use --rebuild", path, run_state.state);
  besom_free(hasher);
}

/* Changes a shard that is published. Returns false if its keys are the same. */
static bool change_shard(uint32_t shard, const digest_list *keys) {
  const set_file *was = &run_state.old.files[shard];
  digest_list old_keys = read_state(was->name, ".keys", true);
  digest_list added = digest_list_without(keys, &old_keys),
              removed = digest_list_without(&old_keys, keys);
  run_state.added += added.n;
  run_state.removed += removed.n;
  bool is_changed = added.n || removed.n;
  if (is_changed) {
    refuse_large_change(false);
    digest_list before = read_state(was->name, ".gone", false),
                gone = digest_list_union(&before, &removed);
    char *path = set_path(run_state.directory, was->name);
    besom_filter *old = filter_open(path);
    refuse_other_seed(old, path);
    double lag = (double)shard / run_state.next.shards;
    besom_filter *f = shard_change(&run_state.form, old, keys, &gone, lag);
    if (!f) gone.n = 0;
    if (!f) f = shard_build(&run_state.form, keys);
    write_shard(shard, old, f);
    write_state(run_state.next.files[shard].name, ".gone", &gone);
    besom_free(f);
    besom_free(old);
    free(path);
    free(before.at);
    free(gone.at);
  } else {
    run_state.next.files[shard] = *was;
  }
  free(old_keys.at);
  free(added.at);
  free(removed.at);
  return is_changed;
}

static bool make_shard(uint32_t shard, const digest_list *keys) {
  if (run_state.has_old && !given.rebuild) return change_shard(shard, keys);
  if (!run_state.has_old) run_state.added += keys->n;
  besom_filter *f = shard_build(&run_state.form, keys);
  write_shard(shard, NULL, f);
  besom_free(f);
  return true;
}

static void make_shards(digest_spill *spill, uint32_t parts, uint64_t read) {
  set_manifest *next = &run_state.next;
  uint64_t done = 0;
  next->files = allocate(next->shards, sizeof *next->files);
  bar_begin("writing shards", "keys");
  for (uint32_t i = 0; i < next->shards; i++) {
    digest_list keys = digest_spill_take(spill, i * (parts / next->shards), parts / next->shards);
    if (make_shard(i, &keys)) write_state(next->files[i].name, ".keys", &keys);
    next->keys += keys.n;
    done += keys.n;
    bar_tick(done, read > done ? read : done);
    free(keys.at);
  }
  bar_end();
  refuse_large_change(true);
}

/* ------------------------------------------------------------------ the new version */

/* The patches of the old version that are still offered, and that from it. */
static void list_patches(void) {
  const set_manifest *old = &run_state.old;
  set_manifest *next = &run_state.next;
  if (!run_state.has_old || given.rebuild || !given.keep) return;
  size_t kept = old->patch_count < given.keep - 1 ? old->patch_count : (size_t)given.keep - 1;
  next->patches = allocate(kept + 1, sizeof *next->patches);
  for (size_t i = old->patch_count - kept; i < old->patch_count; i++)
    next->patches[next->patch_count++] = old->patches[i];
  set_patch *p = &next->patches[next->patch_count++];
  *p = (set_patch){.from = old->sequence, .to = next->sequence};
  shard_patches_add(&run_state.patches, 0, NULL); /* there may be none */
  snprintf(p->file.name, sizeof p->file.name, "patch-%llu-%llu", (unsigned long long)p->from,
           (unsigned long long)p->to);
  p->file.bytes = run_state.patches.len;
  sha256_text(&run_state.patches, p->file.sum);
  char *path = set_path(run_state.directory, p->file.name);
  file_write(path, &run_state.patches);
  free(path);
  run_state.written += p->file.bytes;
}

/* Signs the manifest and replaces the pointer: from then on clients see it. */
static void sign_version(const set_manifest *m, int64_t expires) {
  char name[SET_FILE_SIZE];
  set_manifest_name(m->sequence, name);
  char *path = set_path(run_state.directory, name),
       *pointer = set_path(run_state.directory, SET_POINTER);
  file_bytes text = set_manifest_text(m);
  set_statement s = {.sequence = m->sequence, .expires = expires, .bytes = text.len};
  minisig signature;
  snprintf(s.name, sizeof s.name, "%s", m->name);
  sha256_text(&text, s.result);
  set_statement_text(&s, signature.comment);
  minisign_sign(&run_state.key, &text, &signature);
  minisign_forget(&run_state.key);
  file_bytes signed_text = minisign_text(&signature);
  file_write(path, &text);
  set_sync_directory(run_state.directory);
  file_write(pointer, &signed_text);
  set_sync_directory(run_state.directory);
  run_state.written += text.len + signed_text.len;
  free(text.data);
  free(signed_text.data);
  free(path);
  free(pointer);
}

static bool names_file(const set_manifest *m, const char *name) {
  char manifest[SET_FILE_SIZE];
  set_manifest_name(m->sequence, manifest);
  if (strcmp(manifest, name) == 0) return true;
  for (uint32_t i = 0; i < m->shards && m->files; i++)
    if (strcmp(m->files[i].name, name) == 0) return true;
  for (size_t i = 0; i < m->patch_count; i++)
    if (strcmp(m->patches[i].file.name, name) == 0) return true;
  return false;
}

/* Clients may be fetching the old version. */
static bool is_published(const void *ctx, const char *name) {
  (void)ctx;
  return names_file(&run_state.next, name) || names_file(&run_state.old, name);
}

/* The state of the new version: files of its shards, with a suffix. */
static bool is_state(const void *ctx, const char *name) {
  (void)ctx;
  char shard[SET_FILE_SIZE];
  size_t len = strcspn(name, ".");
  snprintf(shard, sizeof shard, "%.*s", (int)len, name);
  return names_file(&run_state.next, shard);
}

static uint64_t next_sequence(void) {
  uint64_t old = run_state.has_old ? run_state.old.sequence : 0;
  if (given.sequence && given.sequence <= old)
    usage_error("--sequence: the current version is %llu already", (unsigned long long)old);
  uint64_t now = (uint64_t)seconds_now(given.now);
  return given.sequence ? given.sequence : now > old ? now : old + 1;
}

static uint32_t default_shards(uint64_t keys) {
  uint32_t shards = 1;
  while (shards < PARTS && keys / shards > KEYS_PER_SHARD) shards *= 2;
  return shards;
}

/* ------------------------------------------------------------------ the verb */

static const char *publish_keys(int64_t expires) {
  set_manifest *next = &run_state.next;
  bool keep = run_state.has_old && !given.rebuild;
  uint64_t shards = keep ? run_state.old.shards : given.shards;
  uint32_t parts = shards ? (uint32_t)shards : PARTS;
  digest_spill *spill = digest_spill_create(run_state.state, parts);
  uint64_t read = read_keys(spill, parts);
  *next = (set_manifest){.sequence = next_sequence(),
                         .fpr = run_state.form.fpr,
                         .shards = shards ? (uint32_t)shards : default_shards(read)};
  snprintf(next->name, sizeof next->name, "%s", given.name ? given.name : run_state.old.name);
  snprintf(next->kind, sizeof next->kind, "%s", run_state.form.kind);
  make_shards(spill, parts, read);
  digest_spill_free(spill);
  if (keep && !run_state.changed_shards) {
    sign_version(&run_state.old, expires);
    return "unchanged, signed again";
  }
  list_patches();
  char *path = seed_path(next->sequence);
  file_write(path, &(file_bytes){run_state.seed, SET_SEED_BYTES});
  free(path);
  set_sync_directory(run_state.state);
  sign_version(next, expires);
  set_remove_others(run_state.directory, is_published, NULL);
  set_remove_others(run_state.state, is_state, NULL);
  return "published";
}

static void print_result(const char *change, int64_t expires) {
  const set_manifest *m = run_state.changed_shards ? &run_state.next : &run_state.old;
  set_statement s = {.sequence = m->sequence, .expires = expires};
  snprintf(s.name, sizeof s.name, "%s", m->name);
  if (run_state.changed_shards && !given.json)
    fprintf(stderr,
            "%s: %s keys, %s added, %s removed, %llu of %u shards written, patch %s bytes\n",
            run_state.directory, grouped(m->keys).text, grouped(run_state.added).text,
            grouped(run_state.removed).text, (unsigned long long)run_state.changed_shards,
            m->shards, grouped(run_state.patches.len).text);
  set_statement_print(run_state.directory, &s, change, run_state.written, given.json);
}

static char *default_state(const char *directory) {
  size_t len = strlen(directory);
  while (len > 1 && directory[len - 1] == '/') len--;
  char *state = allocate(1, len + sizeof ".state");
  memcpy(state, directory, len);
  strcpy(state + len, ".state");
  return state;
}

static int run(words args) {
  if (!given.key) usage_error("--key is missing: the secret key. To make one: minisign -G");
  if (given.name && !name_is_valid(given.name))
    usage_error("--name: '%s' is not 1 to %d letters, digits and . _ -", given.name, NAME_SIZE - 1);
  list_change_limit(given.max_change);
  int64_t expires = expiry_read(given.expires, seconds_now(given.now));
  interrupt_leaves("the published version was not changed");
  run_state.directory = args.at[0];
  run_state.state = given.state ? given.state : default_state(args.at[0]);
  run_state.key = minisign_secret_key(given.key);
  set_make_directory(run_state.directory, 0777);
  set_make_directory(run_state.state, 0700);
  set_lock_directory(run_state.directory);
  read_old_version();
  if (!run_state.has_old && given.renew)
    fail("%s: there is no version to sign again", run_state.directory);
  if (!run_state.has_old && !given.name) usage_error("--name is missing: the name of the set");
  if (given.renew) {
    sign_version(&run_state.old, expires);
    print_result("signed again", expires);
    return 0;
  }
  choose_form();
  choose_seed();
  print_result(publish_keys(expires), expires);
  return 0;
}

const verb publish_verb = {"publish", "publish a large set for clients that keep a copy",
                           &publish_command, run};
