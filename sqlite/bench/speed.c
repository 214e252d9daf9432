/*
 * besom-sqlite-bench [ROWS [PROBES [DIRECTORY]]]: what the extension costs and saves.
 *
 * 1. Calls of besom_has per second in one statement, with 10^6 keys.
 * 2. Inserts and deletes of a guarded table, and of one without a guard.
 * 3. Existence checks for a column of ROWS keys (default 10 million) by its index and by a guard,
 *    with PROBES keys per statement (default 100000), of which a share is present. Both run in
 *    turn. Cold: SQLite's cache is empty, and POSIX_FADV_DONTNEED has dropped the file from the
 *    system's; "new connection" also loads the saved filter. Warm: all pages are in SQLite's cache.
 *    A figure is the median of the rounds; a ratio is the median of the ratios within a round.
 */
#define _GNU_SOURCE /* posix_fadvise */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "besom_sqlite.h"

enum { ROUNDS = 5 };

static void fail(sqlite3 *db, const char *what) {
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

/* mix(x): a distinct random even number for every x, by SplitMix64. */
static void mix(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  unsigned long long x = (unsigned long long)sqlite3_value_int64(argv[0]) * 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  x ^= x >> 31;
  sqlite3_result_int64(context, (sqlite3_int64)(x & ~1ull));
}

static sqlite3 *open_database(const char *path) {
  sqlite3 *db;
  if (sqlite3_open(path, &db) != SQLITE_OK || besom_sqlite_init(db, NULL, NULL) != SQLITE_OK)
    fail(db, path);
  sqlite3_create_function(db, "mix", 1, SQLITE_UTF8, NULL, mix, NULL, NULL);
  return db;
}

static void run(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(db, sql);
}

static sqlite3_int64 number(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail(db, sql);
  sqlite3_int64 result =
      sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  if (sqlite3_finalize(statement) != SQLITE_OK) fail(db, sql);
  return result;
}

/* Seconds: of the clock, or of the processor, which other processes do not disturb. */
static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned long long bytes_read(void) {
  unsigned long long bytes = 0;
  char line[128];
  FILE *file = fopen("/proc/self/io", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "read_bytes: %llu", &bytes);
  if (file) fclose(file);
  return bytes;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values) {
  double sorted[ROUNDS];
  memcpy(sorted, values, sizeof sorted);
  qsort(sorted, ROUNDS, sizeof *sorted, compare);
  return sorted[ROUNDS / 2];
}

/* ------------------------------------------------------------------ besom_has */

static void measure_has(void) {
  sqlite3 *db = open_database(":memory:");
  static const struct {
    const char *name, *sql;
  } cases[] = {
      {"a scan without it", "SELECT count(*) FROM keys WHERE k > 0"},
      {"besom_has, members", "SELECT count(*) FROM keys WHERE besom_has('keys', k)"},
      {"besom_has, absent keys", "SELECT count(*) FROM keys WHERE besom_has('keys', k + 1)"},
      {"besom_has, text", "SELECT count(*) FROM texts WHERE besom_has('texts', k)"},
  };
  run(db, "CREATE TABLE keys(k INTEGER); "
          "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000000) "
          "INSERT INTO keys SELECT x * 7919 FROM c; "
          "CREATE TABLE texts(k TEXT); INSERT INTO texts SELECT 'user' || k || '@x.org' FROM keys; "
          "SELECT besom_save('keys', besom_build(k)) FROM keys; "
          "SELECT besom_save('texts', besom_build(k)) FROM texts");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
      double start = now(CLOCK_PROCESS_CPUTIME_ID);
      number(db, cases[i].sql);
      double seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start;
      if (seconds < best) best = seconds;
    }
    printf("%-24s %6.1f million rows per second of processor time\n", cases[i].name,
           1e-6 * 1e6 / best);
  }
  sqlite3_close(db);
}

/* ------------------------------------------------------------------ writes */

static double seconds_of(sqlite3 *db, const char *sql) {
  double start = now(CLOCK_PROCESS_CPUTIME_ID);
  run(db, sql);
  return now(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* The same statements for the tables plain and guarded, in turn. */
static void measure_writes(void) {
  enum { STATEMENTS = 3 };
  static const char *const names[STATEMENTS] = {"insert", "insert or ignore", "delete"};
  static const char *const forms[STATEMENTS] = {
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000) "
      "INSERT INTO %s(k) SELECT mix(x) FROM c",
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000) "
      "INSERT OR IGNORE INTO %s(k) SELECT mix(x) FROM c",
      "DELETE FROM %s WHERE id > 0"};
  double seconds[STATEMENTS][2][ROUNDS];
  sqlite3 *db = open_database(":memory:");
  run(db, "CREATE TABLE plain(id INTEGER PRIMARY KEY, k INTEGER UNIQUE); "
          "CREATE TABLE guarded(id INTEGER PRIMARY KEY, k INTEGER UNIQUE); "
          "CREATE VIRTUAL TABLE g USING besom_guard(guarded, k)");
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < STATEMENTS; i++)
      for (int guarded = 0; guarded < 2; guarded++) {
        char sql[256];
        snprintf(sql, sizeof sql, forms[i], guarded ? "guarded" : "plain");
        seconds[i][guarded][round] = seconds_of(db, sql);
      }
  for (int i = 0; i < STATEMENTS; i++)
    printf("%-16s plain table %5.2f us per row, guarded table %5.2f us per row\n", names[i],
           10 * median(seconds[i][0]), 10 * median(seconds[i][1]));
  sqlite3_close(db);
}

/* ------------------------------------------------------------------ guards */

static void make_database(const char *path, long rows) {
  sqlite3 *db = open_database(path);
  char sql[1024];
  run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; "
          "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, v TEXT)");
  snprintf(sql, sizeof sql,
           "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %ld) "
           "INSERT INTO t SELECT x, mix(x), 'row ' || x || ' of the table' FROM c; "
           "CREATE INDEX t_k ON t(k)",
           rows);
  run(db, sql);
  double start = now(CLOCK_MONOTONIC);
  run(db, "CREATE VIRTUAL TABLE g USING besom_guard(t, k)");
  printf("the guard of %ld keys was created in %.1f s, its filter has %.1f MB; the index has %.0f "
         "MB, the file %.0f MB\n",
         rows, now(CLOCK_MONOTONIC) - start,
         1e-6 * (double)number(db, "SELECT length(data) FROM g_state"),
         1e-6 * (double)number(db, "SELECT sum(pgsize) FROM dbstat WHERE name = 't_k'"),
         1e-6 * (double)number(db, "SELECT page_count * 4096 FROM pragma_page_count"));
  sqlite3_close(db);
  db = open_database(path);
  printf("a new connection loads the filter in %.3f s of processor time\n",
         seconds_of(db, "SELECT count(*) FROM g WHERE k = 0"));
  sqlite3_close(db);
}

/* Probes in a database of their own, in memory. */
static void make_probes(sqlite3 *db, long rows, long probes, int present) {
  char sql[1024];
  run(db, "ATTACH ':memory:' AS probes; CREATE TABLE probes.q(k INTEGER)");
  snprintf(sql, sizeof sql,
           "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %ld) "
           "INSERT INTO probes.q SELECT mix(abs(random()) %% %ld + 1) + (x %% 100 >= %d) FROM c",
           probes, rows, present);
  run(db, sql);
}

static void drop_caches(sqlite3 *db, const char *path) {
  sqlite3_db_release_memory(db);
  int file = open(path, O_RDONLY);
  if (file < 0 || fsync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) {
    perror(path);
    exit(1);
  }
  close(file);
}

static const char *const by_index = "SELECT count(*) FROM probes.q WHERE EXISTS "
                                    "(SELECT 1 FROM t WHERE t.k = q.k)";
static const char *const by_guard = "SELECT count(*) FROM probes.q WHERE EXISTS "
                                    "(SELECT 1 FROM g WHERE g.k = q.k)";

struct result {
  double seconds, megabytes;
  sqlite3_int64 found;
};

static struct result measure(sqlite3 *db, const char *sql, clockid_t clock) {
  unsigned long long before = bytes_read();
  double start = now(clock);
  struct result result = {.found = number(db, sql)};
  result.seconds = now(clock) - start;
  result.megabytes = 1e-6 * (double)(bytes_read() - before);
  return result;
}

/* One line: the medians of index and guard, and of their ratio. */
static void print_line(const char *name, int present, const double *index, const double *guard,
                       double index_mb, double guard_mb) {
  double ratios[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) ratios[i] = guard[i] / index[i];
  printf(
      "%-22s %3d %% present: index %8.3f s (%6.1f MB read), guard %8.3f s (%6.1f MB read), guard "
      "/ index %.2f, index / guard %.2f\n",
      name, present, median(index), index_mb, median(guard), guard_mb, median(ratios),
      1 / median(ratios));
  fflush(stdout);
}

enum mode { WARM, COLD, COLD_NEW };

static void measure_guard(const char *path, long rows, long probes, int present, enum mode mode) {
  static const char *const names[] = {"warm", "cold", "cold, new connection"};
  double index[ROUNDS], guard[ROUNDS], index_mb = 0, guard_mb = 0;
  sqlite3 *db = open_database(path);
  make_probes(db, rows, probes, present);
  if (mode == WARM) run(db, "PRAGMA cache_size = -2000000");
  for (int round = mode == WARM ? -1 : 0; round < ROUNDS; round++) {
    struct result a, b;
    clockid_t clock = mode == WARM ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    if (mode == COLD) number(db, "SELECT count(*) FROM g WHERE k = 0"); /* has its filter */
    if (mode != WARM) drop_caches(db, path);
    a = measure(db, by_index, clock);
    if (mode == COLD_NEW) {
      sqlite3_close(db);
      db = open_database(path);
      make_probes(db, rows, probes, present);
    }
    if (mode != WARM) drop_caches(db, path);
    b = measure(db, by_guard, clock);
    if (mode != COLD_NEW && a.found != b.found) {
      fprintf(stderr, "index %lld, guard %lld\n", a.found, b.found);
      exit(1);
    }
    if (round < 0) continue;
    index[round] = a.seconds, guard[round] = b.seconds;
    index_mb = a.megabytes, guard_mb = b.megabytes;
  }
  print_line(names[mode], present, index, guard, index_mb, guard_mb);
  sqlite3_close(db);
}

int main(int argc, char **argv) {
  long rows = argc > 1 ? atol(argv[1]) : 10000000, probes = argc > 2 ? atol(argv[2]) : 100000;
  char path[512];
  snprintf(path, sizeof path, "%s/besom-sqlite-bench.db", argc > 3 ? argv[3] : ".");
  measure_has();
  measure_writes();
  unlink(path);
  make_database(path, rows);
  static const int shares[] = {1, 50, 100};
  for (size_t i = 0; i < 3; i++)
    for (int mode = WARM; mode <= COLD_NEW; mode++)
      measure_guard(path, rows, probes, shares[i], (enum mode)mode);
  unlink(path);
  return 0;
}
