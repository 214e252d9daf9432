/* besom sync: brings a local copy of a published set up to date (docs/publish.md). */
#define _DEFAULT_SOURCE 1

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bar.h"
#include "fail.h"
#include "interrupt.h"
#include "publish/set_pointer.h"
#include "publish/set_source.h"
#include "publish/shard_patches.h"
#include "verb.h"

static bool as_json;
static const char *ca;

static const argument arguments[] = {
    TRUST_ARGUMENTS,
    {"--ca", "FILE", "https: trust these certificates instead of those of the system", .text = &ca},
    JSON_ARGUMENT(as_json),
};

static const command sync_command = {
    .usage = "sync SOURCE LOCAL --verify PUB [options]",
    .about =
        "Brings the copy of a published set in the directory LOCAL up to date. SOURCE is a URL "
        "of https or http, or a directory. Everything is verified with the public key; fails, and "
        "changes nothing, if a signature is wrong, or if the version has expired or is older than "
        "that of LOCAL. For a new copy, --name should say which set it is.\n\n"
        "It fetches patches if they are smaller than the shards that changed. If it is "
        "interrupted, LOCAL is the old or the new version, and the next run continues. Programs "
        "may read LOCAL meanwhile: besom has, besom query, besom_set_open.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = 2,
    .examples = "  besom sync https://example.org/packages packages --verify set.pub --name "
                "packages\n"
                "  besom has packages left-pad-1.0.0",
};

/* All of one run. */
static struct {
  set_source *source;
  const char *local;
  bool has_old;
  set_pointer old_pointer, pointer;
  set_manifest old, next;
  file_bytes pointer_text;
} run_state;

/* ------------------------------------------------------------------ the version */

static char *local_manifest_path(uint64_t sequence) {
  char name[SET_FILE_SIZE];
  set_manifest_name(sequence, name);
  return set_path(run_state.local, name);
}

static void read_local_version(void) {
  run_state.has_old = set_pointer_read(run_state.local, &given_trust, &run_state.old_pointer);
  if (!run_state.has_old) return;
  char *path = local_manifest_path(run_state.old_pointer.statement.sequence);
  if (access(path, F_OK) == 0) {
    file_bytes text = file_read(path);
    run_state.old = set_pointer_manifest(path, &run_state.old_pointer, &text);
    free(text.data);
  } /* else all shards are fetched: the pointer still tells the sequence number */
  free(path);
}

static bool is_there(const set_file *file) {
  struct stat st;
  char *path = set_path(run_state.local, file->name);
  bool there = stat(path, &st) == 0 && (uint64_t)st.st_size == file->bytes;
  free(path);
  return there;
}

static bool local_is_complete(void) {
  uint32_t there = 0;
  while (there < run_state.old.shards && is_there(&run_state.old.files[there])) there++;
  return there && there == run_state.old.shards;
}

/* Fails unless the version may replace the local one. Returns false if it is that one. */
static bool is_newer(void) {
  const set_statement *s = &run_state.pointer.statement, *old = &run_state.old_pointer.statement;
  set_pointer_check_expiry(SET_POINTER, s, given_trust.now);
  if (!run_state.has_old) return true;
  if (strcmp(s->name, old->name) != 0)
    fail("%s: the set in %s is %s, not %s", SET_POINTER, run_state.local, old->name, s->name);
  if (s->sequence < old->sequence)
    fail("refused: sequence number %llu of %s is older than that of %s, %llu",
         (unsigned long long)s->sequence, s->name, run_state.local,
         (unsigned long long)old->sequence);
  if (s->sequence == old->sequence && strcmp(s->result, old->result) != 0)
    fail("refused: two different sets %s have the sequence number %llu", s->name,
         (unsigned long long)s->sequence);
  return s->sequence > old->sequence || !local_is_complete();
}

static void fetch_manifest(void) {
  const set_statement *s = &run_state.pointer.statement;
  set_file file = {.bytes = s->bytes};
  set_manifest_name(s->sequence, file.name);
  memcpy(file.sum, s->result, sizeof file.sum);
  set_source_fetch(run_state.source, &file, run_state.local);
  char *path = set_path(run_state.local, file.name);
  file_bytes text = file_read(path);
  run_state.next = set_pointer_manifest(file.name, &run_state.pointer, &text);
  free(text.data);
  free(path);
}

/* ------------------------------------------------------------------ which patches */

static bool is_same_file(const set_file *a, const set_file *b) {
  return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && strcmp(a->sum, b->sum) == 0;
}

/* Whether the local copy has the right file of a shard already. */
static bool shard_stayed(uint32_t shard) {
  return shard < run_state.old.shards &&
         is_same_file(&run_state.old.files[shard], &run_state.next.files[shard]) &&
         is_there(&run_state.next.files[shard]);
}

/* The bytes of all shards that differ. */
static uint64_t changed_bytes(void) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < run_state.next.shards; i++)
    if (!shard_stayed(i)) bytes += run_state.next.files[i].bytes;
  return bytes;
}

/* A way by patches to the next version: what it costs, and the patch after the first one. */
typedef struct patch_way {
  uint64_t bytes; /* UINT64_MAX: there is none */
  size_t then;
} patch_way;

/* The cheapest way from a version on, by the patches from place i on. Returns its first patch. */
static size_t cheapest_from(uint64_t version, const patch_way *ways, size_t i) {
  const set_manifest *next = &run_state.next;
  size_t best = next->patch_count;
  for (; i < next->patch_count; i++)
    if (next->patches[i].from == version &&
        (best == next->patch_count || ways[i].bytes < ways[best].bytes))
      best = i;
  return best < next->patch_count && ways[best].bytes == UINT64_MAX ? next->patch_count : best;
}

/*
 * The cheapest way from the local version: the places of its patches in the manifest. Returns their
 * number; 0 if there is no way, or fetching the shards is cheaper. Patches are in the order of the
 * versions that they start from, and lead to higher ones: the last one is settled first.
 */
static size_t choose_patches(size_t *places) {
  const set_manifest *next = &run_state.next;
  size_t none = next->patch_count, n = 0;
  if (next->shards != run_state.old.shards) return 0;
  patch_way *ways = allocate(none + 1, sizeof *ways);
  for (size_t i = none; i--;) {
    const set_patch *p = &next->patches[i];
    bool last = p->to == next->sequence;
    size_t then = last ? none : cheapest_from(p->to, ways, i + 1);
    uint64_t rest = last ? 0 : then == none ? UINT64_MAX : ways[then].bytes;
    ways[i] = (patch_way){rest == UINT64_MAX ? rest : rest + p->file.bytes, then};
  }
  size_t first = cheapest_from(run_state.old.sequence, ways, 0);
  if (first < none && ways[first].bytes < changed_bytes())
    for (size_t i = first; i < none; i = ways[i].then) places[n++] = i;
  free(ways);
  return n;
}

/* ------------------------------------------------------------------ applying them */

/* The patches of one file, by shard. */
typedef struct patch_file {
  file_bytes bytes;
  file_bytes *patches;
} patch_file;

static patch_file read_patch_file(const set_file *file) {
  char *path = set_path(run_state.local, file->name);
  patch_file p = {file_read(path), allocate(run_state.next.shards, sizeof(file_bytes))};
  shard_patches_read(path, &p.bytes, run_state.next.shards, p.patches);
  free(path);
  return p;
}

/* Makes a shard by the patches that it has. A shard that was built anew has none for that version,
 * and does not fit the later ones: then it is fetched. */
static void patch_shard(uint32_t shard, const patch_file *files, size_t n) {
  const set_file *to = &run_state.next.files[shard];
  char *old_path = set_path(run_state.local, run_state.old.files[shard].name),
       *path = set_path(run_state.local, to->name), sum[SHA256_TEXT] = "";
  besom_open_options options = {.flags = BESOM_OPEN_CHECKSUMS};
  besom_filter *f = NULL;
  besom_status status = besom_open(old_path, &options, &f);
  for (size_t i = 0; i < n && status == BESOM_OK; i++) {
    besom_filter *fresh = NULL;
    if (!files[i].patches[shard].data) continue;
    status = besom_patch(f, files[i].patches[shard].data, files[i].patches[shard].len, &fresh);
    if (status != BESOM_OK) break;
    besom_free(f);
    f = fresh;
  }
  if (status == BESOM_NO_MEMORY) check(status, "%s", to->name);
  if (status == BESOM_OK) {
    file_bytes bytes = filter_saved(f);
    sha256_text(&bytes, sum);
    if (strcmp(sum, to->sum) == 0) file_write(path, &bytes);
    free(bytes.data);
  }
  besom_free(f);
  free(old_path);
  free(path);
}

static void apply_patches(void) {
  size_t *way = allocate(run_state.next.patch_count + 1, sizeof *way), n = choose_patches(way);
  patch_file *files = allocate(n + 1, sizeof *files);
  for (size_t i = 0; i < n; i++) {
    const set_file *file = &run_state.next.patches[way[i]].file;
    set_source_fetch(run_state.source, file, run_state.local);
    files[i] = read_patch_file(file);
  }
  bar_begin("applying patches", "shards");
  for (uint32_t i = 0; i < run_state.next.shards && n; i++) {
    if (!shard_stayed(i)) patch_shard(i, files, n);
    bar_tick(i, run_state.next.shards);
  }
  bar_end();
  for (size_t i = 0; i < n; i++) {
    free(files[i].bytes.data);
    free(files[i].patches);
  }
  free(files);
  free(way);
}

/* ------------------------------------------------------------------ the switch */

static bool is_current(const void *ctx, const char *name) {
  char manifest[SET_FILE_SIZE];
  (void)ctx;
  set_manifest_name(run_state.next.sequence, manifest);
  if (strcmp(name, manifest) == 0) return true;
  for (uint32_t i = 0; i < run_state.next.shards; i++)
    if (strcmp(name, run_state.next.files[i].name) == 0) return true;
  return false;
}

/* From this rename on, LOCAL is the new version. */
static void replace_pointer(void) {
  char *path = set_path(run_state.local, SET_POINTER);
  set_sync_directory(run_state.local);
  file_write(path, &run_state.pointer_text);
  set_sync_directory(run_state.local);
  free(path);
}

static const char *bring_up_to_date(void) {
  const set_statement *s = &run_state.pointer.statement, *old = &run_state.old_pointer.statement;
  if (!is_newer()) {
    run_state.next = run_state.old;
    bool renewed = s->expires > old->expires;
    if (renewed) replace_pointer();
    set_remove_others(run_state.local, is_current, NULL); /* after an interruption */
    return renewed ? "unchanged, valid for longer" : "unchanged";
  }
  fetch_manifest();
  apply_patches();
  for (uint32_t i = 0; i < run_state.next.shards; i++)
    if (!shard_stayed(i))
      set_source_fetch(run_state.source, &run_state.next.files[i], run_state.local);
  replace_pointer();
  set_remove_others(run_state.local, is_current, NULL);
  return run_state.has_old ? "updated" : "new copy";
}

/* A copy has no patches: they would be removed from the set itself. */
static void refuse_source_as_copy(const char *source) {
  struct stat from, to;
  if (stat(source, &from) == 0 && stat(run_state.local, &to) == 0 && from.st_dev == to.st_dev &&
      from.st_ino == to.st_ino)
    usage_error("%s is the published set itself: the copy needs a directory of its own", source);
}

static int run(words args) {
  if (!given_trust.keys.n) usage_error("--verify is missing: the public key of the publisher");
  run_state.local = args.at[1];
  interrupt_leaves("the copy was not changed; the next run continues");
  set_make_directory(run_state.local, 0777);
  refuse_source_as_copy(args.at[0]);
  set_lock_directory(run_state.local);
  read_local_version();
  run_state.source = set_source_open(args.at[0], ca);
  run_state.pointer_text = set_source_read(run_state.source, SET_POINTER, SET_POINTER_BYTES);
  run_state.pointer = set_pointer_verify(SET_POINTER, &run_state.pointer_text, &given_trust);
  const char *change = bring_up_to_date();
  set_statement_print(run_state.local, &run_state.pointer.statement, change,
                      set_source_bytes(run_state.source), as_json);
  set_source_close(run_state.source);
  return 0;
}

const verb sync_verb = {"sync", "bring the copy of a published set up to date", &sync_command, run};
