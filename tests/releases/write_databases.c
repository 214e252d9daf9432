/*
 * write_databases.c DIRECTORY: writes the databases of contents.h, each to a directory of its own,
 * with a guard or a sidecar of this build. write.sh packs them.
 */
#define _DEFAULT_SOURCE 1 /* gethostname */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contents.h"
#include "guard/databases.h"
#include "guard/sidecar_tables.h"

/* RocksDB, a shared library, finds this function in the program: its files have the name. */
__attribute__((visibility("default"))) int gethostname(char *name, size_t len) {
  strncpy(name, "host", len);
  return 0;
}

static void need(besom_status status, const char *what) {
  if (status == BESOM_OK) return;
  fprintf(stderr, "%s: %s\n", what, besom_strerror(status));
  exit(1);
}

/* ------------------------------------------------------------------ guards */

static void guard_write_version(besom_guard *g, unsigned i, int version) {
  release_bytes key = release_key(i), value = release_value(i, version);
  need(besom_guard_put(g, key.data, key.len, value.data, value.len, 0), "put");
}

static void guard_write_records(const release_guard *fixture, besom_guard *g) {
  for (unsigned i = 0; i < RELEASE_KEYS; i++) guard_write_version(g, i, 0);
  for (unsigned i = 0; i < RELEASE_KEYS; i++) {
    release_bytes key = release_key(i);
    int last = release_version(i, false);
    if (last == RELEASE_GONE) need(besom_guard_delete(g, key.data, key.len), "delete");
    if (last > 0) guard_write_version(g, i, last);
  }
  for (unsigned i = 0; release_has_no_list(fixture) && i < RELEASE_NO; i++) {
    release_bytes key = release_name("no", i);
    need(besom_guard_no_put(g, key.data, key.len), "no_put");
  }
}

/* Twice: the filter adapts to each false positive. */
static void guard_ask_absent(besom_guard *g) {
  for (unsigned i = 0; i < 2 * RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i % RELEASE_ABSENT);
    if (besom_guard_get(g, key.data, key.len, NULL) != BESOM_NOT_FOUND) need(BESOM_IO, "get");
  }
}

static besom_guard *guard_open_at(const release_guard *fixture, const char *directory) {
  besom_store *store = NULL;
  besom_guard *g = NULL;
  size_t prefix = strcspn(fixture->name, "-");
  for (size_t i = 0; databases[i].name; i++)
    if (strlen(databases[i].name) == prefix && !strncmp(databases[i].name, fixture->name, prefix))
      need(databases[i].open(directory, &store), directory);
  if (!store) need(BESOM_UNSUPPORTED, fixture->name);
  need(release_guard_open(fixture, store, &g), fixture->name);
  return g;
}

/* In two sessions: RocksDB makes a table of its log when it is opened. */
static void guard_write(const release_guard *fixture, const char *directory) {
  besom_guard *g = guard_open_at(fixture, directory);
  guard_write_records(fixture, g);
  need(besom_guard_close(g), "close");
  g = guard_open_at(fixture, directory);
  guard_ask_absent(g);
  if (fixture->migrating) {
    need(besom_guard_rekey(g), "rekey");
    need(besom_guard_step(g, RELEASE_KEYS / 3, NULL), "step");
    guard_ask_absent(g);
  }
  need(besom_guard_close(g), "close");
}

/* ------------------------------------------------------------------ sidecars */

static void sidecar_report_absent(besom_sidecar *s) {
  for (unsigned i = 0; i < RELEASE_ABSENT; i++) {
    release_bytes key = release_name("absent", i);
    if (besom_sidecar_may_contain(s, key.data, key.len))
      need(besom_sidecar_report(s, key.data, key.len, besom_sidecar_read_point(s)), "report");
  }
}

/* All keys of a range, then without those that the release has deleted. */
static void table_write_range(const table_ops *ops, table *db, unsigned from, unsigned to) {
  for (int deleting = 0; deleting < 2; deleting++) {
    ops->begin(db);
    for (unsigned i = from; i < to; i++) {
      release_bytes key = release_key(i);
      if (!deleting || !release_in_table(i, false))
        ops->change(db, (besom_bytes){key.data, key.len}, !deleting);
    }
    ops->end(db, true);
  }
}

/* ended: the process ends here, without closing anything. */
static void table_write(const release_sidecar *fixture, const char *directory, const char *file) {
  besom_sidecar_config config = release_sidecar_config(fixture, &release_sidecar_filter);
  const table_ops *ops = NULL;
  for (size_t i = 0; all_tables[i]; i++)
    if (!strcmp(all_tables[i]->name, fixture->database)) ops = all_tables[i];
  if (!ops) need(BESOM_UNSUPPORTED, fixture->name);
  lmdb_table_every_commit = fixture->every_commit;
  table db = ops->open(directory, &config, file);
  table_write_range(ops, &db, RELEASE_PLAIN, RELEASE_SAVED);
  sidecar_report_absent(db.sidecar);
  need(besom_sidecar_sync(db.sidecar), "sync");
  table_write_range(ops, &db, RELEASE_SAVED, RELEASE_KEYS);
  if (fixture->killed) _exit(0);
  sidecar_report_absent(db.sidecar);
  ops->close(&db);
}

/* Without a log: the file has all keys, or says that it is in use. */
static void sidecar_file_write(const release_sidecar *fixture, const char *file) {
  release_table keys = {0};
  besom_source source = {release_table_next, release_table_rewind, 0, &keys};
  besom_sidecar_config config = release_sidecar_config(fixture, &release_sidecar_filter);
  besom_sidecar *s = NULL;
  config.keys = &source;
  need(besom_sidecar_open(&config, file, NULL, &s), fixture->name);
  sidecar_report_absent(s);
  if (fixture->killed) {
    need(besom_sidecar_begin(s), "begin");
    need(besom_sidecar_insert(s, "another", 7), "insert");
    _exit(0);
  }
  need(besom_sidecar_stamp(s, RELEASE_STAMP), "stamp");
  need(besom_sidecar_close(s), "close");
}

/* ------------------------------------------------------------------ all of them */

static void make_directory(const char *path) {
  if (mkdir(path, 0777) == 0) return;
  perror(path);
  exit(1);
}

/* In a process of its own, which may end at any place. */
static void sidecar_write(const release_sidecar *fixture, const char *directory) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    char data[600], file[600];
    snprintf(data, sizeof data, "%s/data", directory);
    snprintf(file, sizeof file, "%s/keys.besom", directory);
    if (fixture->database) table_write(fixture, data, file);
    if (!fixture->database) sidecar_file_write(fixture, file);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(1);
}

int main(int argc, char **argv) {
  char path[512];
  if (argc != 2) return 2;
  for (size_t i = 0; i < RELEASE_SIDECARS; i++) {
    snprintf(path, sizeof path, "%s/%s", argv[1], release_sidecars[i].name);
    make_directory(path);
    sidecar_write(&release_sidecars[i], path);
  }
  for (size_t i = 0; i < RELEASE_GUARDS; i++) {
    snprintf(path, sizeof path, "%s/guard-%s", argv[1], release_guards[i].name);
    guard_write(&release_guards[i], path);
  }
  return 0;
}
