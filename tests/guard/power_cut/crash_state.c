#define _GNU_SOURCE 1 /* mkdir */
#include "crash_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/heap.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { SECTOR = 512 };

#define NEVER UINT64_MAX

struct entry {
  const struct op *op;
  const char *path, *path2; /* relative to the root; NULL: none */
  const uint8_t *data;
  uint32_t file; /* of an operation on a file */
  uint64_t kept; /* index of the operation from which on a power cut cannot undo this one */
};

struct crash_log {
  const char *root;
  struct entry *entries;
  size_t n;
  uint32_t files;
};

/* ------------------------------------------------------------------ reading the recording */

static const char *relative(const struct crash_log *log, const char *path) {
  size_t len = strlen(log->root);
  return path[len] == '/' ? path + len + 1 : path + len;
}

static const uint8_t *parse(const struct crash_log *log, const uint8_t *at, struct entry *e) {
  const struct op *op = (const struct op *)at;
  const char *path = (const char *)(op + 1);
  size_t bytes = op->kind == OP_WRITE ? op->len : 0;
  *e = (struct entry){.op = op, .kept = NEVER};
  if (op->path_len && op->kind != OP_UNKNOWN) e->path = relative(log, path);
  if (op->path2_len) e->path2 = relative(log, path + op->path_len);
  e->data = (const uint8_t *)path + op->path_len + op->path2_len;
  return at + (sizeof *op + op->path_len + op->path2_len + bytes + 7) / 8 * 8;
}

/* Inode numbers are used again after a removal, so each new file gets a number of its own. */
static void number_files(struct crash_log *log) {
  uint64_t *inodes = heap_array(log->n, sizeof *inodes);
  for (size_t i = 0; i < log->n; i++) {
    struct entry *e = &log->entries[i];
    if (e->op->kind == OP_CREATE) inodes[log->files++] = e->op->inode;
    for (e->file = log->files; e->file && inodes[e->file - 1] != e->op->inode;) e->file--;
  }
  free(inodes);
}

static bool is_name_change(const struct op *op) {
  return op->kind == OP_CREATE || op->kind == OP_DIRECTORY || op->kind == OP_RENAME ||
         op->kind == OP_LINK || op->kind == OP_UNLINK;
}

static bool is_in_directory(const char *path, const char *directory) {
  size_t len = strlen(directory);
  if (len && (strncmp(path, directory, len) != 0 || path[len] != '/')) return false;
  return !strchr(path + (len ? len + 1 : 0), '/');
}

static bool keeps(const struct entry *sync, const struct entry *e) {
  if (sync->op->kind == OP_SYNC_DIRECTORY)
    return is_name_change(e->op) && is_in_directory(e->path, sync->path);
  if (sync->op->kind != OP_SYNC) return false;
  return (e->op->kind == OP_WRITE || e->op->kind == OP_RESIZE) && e->file == sync->file;
}

static void find_syncs(struct crash_log *log) {
  for (size_t i = 0; i < log->n; i++) {
    struct entry *e = &log->entries[i];
    if (e->op->kind == OP_WRITE && e->op->synced) e->kept = i;
    if (e->op->kind != OP_SYNC && e->op->kind != OP_SYNC_DIRECTORY) continue;
    for (size_t j = i; j-- > 0;) {
      struct entry *earlier = &log->entries[j];
      /* What is before the last sync of the same file or directory is kept by that one. */
      if (earlier->op->kind == e->op->kind && earlier->op->inode == e->op->inode) break;
      if (earlier->kept == NEVER && keeps(e, earlier)) earlier->kept = i;
    }
  }
}

struct crash_log *crash_log_new(const struct recording *recording, const char *root) {
  struct crash_log *log = heap_array(1, sizeof *log);
  *log = (struct crash_log){.root = root, .n = recording->ops};
  log->entries = heap_array(log->n + 1, sizeof *log->entries);
  const uint8_t *at = recording->bytes;
  for (size_t i = 0; i < log->n; i++) at = parse(log, at, &log->entries[i]);
  number_files(log);
  find_syncs(log);
  bool unknown = false;
  for (size_t i = 0; i < log->n; i++) unknown |= log->entries[i].op->kind == OP_UNKNOWN;
  if (!recording->full && !unknown) return log;
  fprintf(stderr, unknown ? "the recording has an operation that cannot be replayed\n"
                          : "the recording does not fit into its memory\n");
  crash_log_free(log);
  return NULL;
}

void crash_log_free(struct crash_log *log) {
  if (log) free(log->entries);
  free(log);
}

/* ------------------------------------------------------------------ a disk */

struct image {
  uint8_t *bytes;
  size_t len, room;
};

struct name {
  const char *path;
  uint32_t file; /* 0: a directory */
};

struct disk {
  struct image *files; /* [1] is the first */
  struct name *names;
  size_t names_n;
};

static struct disk disk_new(const struct crash_log *log) {
  struct disk disk = {.files = heap_array(log->files + 1, sizeof *disk.files),
                      .names = heap_array(log->n + 1, sizeof *disk.names)};
  memset(disk.files, 0, (log->files + 1) * sizeof *disk.files);
  return disk;
}

static void disk_free(struct disk *disk, const struct crash_log *log) {
  for (uint32_t i = 0; i <= log->files; i++) free(disk->files[i].bytes);
  free(disk->files);
  free(disk->names);
}

static void resize(struct image *file, size_t len) {
  if (len > file->room) {
    file->room = 2 * len;
    file->bytes = heap_resize(file->bytes, file->room);
  }
  if (len > file->len) memset(file->bytes + file->len, 0, len - file->len);
  file->len = len;
}

static void overwrite(struct image *file, uint64_t at, const uint8_t *data, size_t len) {
  if (at + len > file->len) resize(file, at + len);
  memcpy(file->bytes + at, data, len);
}

static void remove_name(struct disk *disk, const char *path) {
  for (size_t i = 0; i < disk->names_n; i++)
    if (strcmp(disk->names[i].path, path) == 0) {
      disk->names[i] = disk->names[--disk->names_n];
      return;
    }
}

static void set_name(struct disk *disk, const char *path, uint32_t file) {
  remove_name(disk, path);
  disk->names[disk->names_n++] = (struct name){path, file};
}

static const struct name *find_name(const struct disk *disk, const char *path) {
  for (size_t i = 0; i < disk->names_n; i++)
    if (strcmp(disk->names[i].path, path) == 0) return &disk->names[i];
  return NULL;
}

static void apply(struct disk *disk, const struct entry *e) {
  switch (e->op->kind) {
  case OP_CREATE:
  case OP_DIRECTORY:
    set_name(disk, e->path, e->op->kind == OP_CREATE ? e->file : 0);
    break;
  case OP_RENAME: /* the new name has the file, even if its creation under the old name is lost */
    remove_name(disk, e->path);
    set_name(disk, e->path2, e->file);
    break;
  case OP_LINK:
    set_name(disk, e->path2, e->file);
    break;
  case OP_UNLINK:
    remove_name(disk, e->path);
    break;
  case OP_WRITE:
    overwrite(&disk->files[e->file], e->op->offset, e->data, e->op->len);
    break;
  case OP_RESIZE:
    resize(&disk->files[e->file], e->op->offset);
    break;
  default:
    break;
  }
}

static void write_file(const char *path, const struct image *file) {
  if (write_whole_file(path, file->bytes ? file->bytes : (const uint8_t *)"", file->len)) return;
  perror(path);
  exit(2);
}

/* Directories come before the files in them, because they were created before. A name whose
   directory is lost is lost, too. */
static void write_disk(const struct disk *disk, const char *directory) {
  char path[1024];
  for (unsigned files = 0; files < 2; files++)
    for (size_t i = 0; i < disk->names_n; i++) {
      const struct name *name = &disk->names[i];
      const char *slash = strrchr(name->path, '/');
      snprintf(path, sizeof path, "%s/%.*s", directory, (int)(slash ? slash - name->path : 0),
               name->path);
      if (access(path, F_OK) != 0) continue;
      snprintf(path, sizeof path, "%s/%s", directory, name->path);
      if (name->file && files) write_file(path, &disk->files[name->file]);
      if (!name->file && !files) mkdir(path, 0777);
    }
}

/* ------------------------------------------------------------------ choosing a state */

/* How a state is chosen. Shares are out of 8. */
struct choice {
  random_stream random;
  uint64_t cut;
  uint64_t in_order;  /* of what is not synced, everything before this operation is kept */
  uint64_t last_name; /* with ordered_names: changes of names from here on are not kept */
  bool ordered_names;
  unsigned keep_data, keep_names, torn, sized;
};

static bool happens(struct choice *c, unsigned share) {
  return random_below(&c->random, 8) < share;
}

static bool is_turning_point(const struct op *op) {
  return is_name_change(op) || op->kind == OP_SYNC || op->kind == OP_SYNC_DIRECTORY || op->synced;
}

/* A cut beside an operation that changes something, or, in half of the cases, beside the next one
   that makes changes durable. A mark follows some of these. */
static uint64_t choose_cut(const struct crash_log *log, random_stream *random) {
  uint64_t cut = random_below(random, log->n);
  bool turning = random_below(random, 2);
  while (cut < log->n && log->entries[cut].op->kind == OP_MARK)
    cut = random_below(random, log->n + 1);
  while (turning && cut < log->n && !is_turning_point(log->entries[cut].op)) cut++;
  cut += random_below(random, 3);
  return cut < log->n ? cut : log->n;
}

/* From here on changes of names are lost: often all that are not synced are kept, or none. */
static uint64_t choose_last_name(const struct crash_log *log, struct choice *c) {
  uint64_t first = c->cut, n = 0;
  for (uint64_t i = 0; i < c->cut; i++) {
    const struct entry *e = &log->entries[i];
    if (!is_name_change(e->op) || e->kept < c->cut) continue;
    if (!n++ || random_below(&c->random, n) == 0) first = i;
  }
  return happens(c, 3) ? c->cut + 1 : first;
}

static struct choice choose(const struct crash_log *log, uint64_t seed) {
  static const unsigned shares[] = {0, 1, 4, 7, 8};
  struct choice c = {.random = {mix64(seed)}};
  c.cut = choose_cut(log, &c.random);
  c.keep_data = shares[random_below(&c.random, 5)];
  c.keep_names = shares[random_below(&c.random, 5)];
  c.torn = (unsigned)random_below(&c.random, 3);
  c.sized = (unsigned)random_below(&c.random, 3);
  c.in_order = happens(&c, 2) ? random_below(&c.random, c.cut + 1) : 0;
  c.last_name = choose_last_name(log, &c);
  return c;
}

/* Applies some sectors of a write, or only the size that it gave the file. */
static void apply_torn(struct disk *disk, const struct entry *e, struct choice *c) {
  uint64_t at = e->op->offset, end = at + e->op->len;
  struct image *file = &disk->files[e->file];
  if (happens(c, 1) && end > file->len) resize(file, end);
  while (at < end) {
    uint64_t next = (at / SECTOR + 1) * SECTOR;
    if (next > end) next = end;
    if (happens(c, 4)) overwrite(file, at, e->data + (at - e->op->offset), next - at);
    at = next;
  }
}

static bool is_kept(const struct op *op, uint64_t index, struct choice *c) {
  if (!is_name_change(op)) return index < c->in_order || happens(c, c->keep_data);
  if (c->ordered_names) return index < c->last_name;
  return index < c->in_order || happens(c, c->keep_names);
}

/* Whether any of it was kept. */
static bool apply_unsynced(struct disk *disk, const struct entry *e, uint64_t index,
                           struct choice *c) {
  bool write = e->op->kind == OP_WRITE;
  bool keep = is_kept(e->op, index, c);
  if (write && index >= c->in_order && happens(c, c->torn)) {
    apply_torn(disk, e, c);
    return true;
  }
  if (keep) apply(disk, e);
  struct image *file = &disk->files[e->file];
  if (!keep && write && happens(c, c->sized) && e->op->offset + e->op->len > file->len)
    resize(file, e->op->offset + e->op->len);
  return keep;
}

static bool changes_disk(const struct op *op) {
  return is_name_change(op) || op->kind == OP_WRITE || op->kind == OP_RESIZE;
}

struct crash_state crash_state_write(const struct crash_log *log, uint64_t seed, bool ordered_names,
                                     const char *directory) {
  struct disk disk = disk_new(log);
  struct choice c = choose(log, seed);
  c.ordered_names = ordered_names;
  struct crash_state state = {.cut = c.cut, .ops = log->n};
  for (size_t i = 0; i <= c.cut && i < log->n; i++) {
    const struct entry *e = &log->entries[i];
    if (e->op->kind == OP_MARK && i < c.cut) state.mark = e->op->offset;
    if (!changes_disk(e->op)) continue;
    if (e->kept < c.cut)
      apply(&disk, e);
    else if (apply_unsynced(&disk, e, i, &c))
      state.kept++;
    else
      state.dropped++;
  }
  write_disk(&disk, directory);
  disk_free(&disk, log);
  return state;
}

/* ------------------------------------------------------------------ completeness */

static bool file_is(const struct crash_log *log, const struct name *name,
                    const struct image *file) {
  char path[1024];
  size_t len = 0;
  snprintf(path, sizeof path, "%s/%s", log->root, name->path);
  uint8_t *real = read_whole_file(path, &len);
  bool same = real && len == file->len && (!len || memcmp(real, file->bytes, len) == 0);
  if (!same) fprintf(stderr, "%s: the recording does not lead to this file\n", path);
  free(real);
  return same;
}

bool crash_log_is_complete(const struct crash_log *log, const char *except) {
  struct disk disk = disk_new(log);
  bool complete = true;
  size_t files = 0;
  for (size_t i = 0; i < log->n; i++) apply(&disk, &log->entries[i]);
  for (size_t i = 0; i < disk.names_n; i++) {
    const struct name *name = &disk.names[i];
    files += name->file != 0;
    if (name->file && !strstr(name->path, except))
      complete &= file_is(log, name, &disk.files[name->file]);
  }
  temp_dir real;
  snprintf(real.path, sizeof real.path, "%.250s/db", log->root);
  if (temp_dir_count(&real) != files || !find_name(&disk, "db")) {
    fprintf(stderr, "%s: the recording leads to other files\n", real.path);
    complete = false;
  }
  disk_free(&disk, log);
  return complete;
}
