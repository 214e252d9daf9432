#define _DEFAULT_SOURCE 1 /* mkdtemp, readlink, posix_spawnp */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "harness/instruction_loops.h"

extern char **environ;

static const char missing[] = "valgrind is missing: apt-get install valgrind";

/* ------------------------------------------------------------------ the directory of the files */

static void create_directory(char directory[PATH_MAX]) {
  const char *parent = getenv("TMPDIR");
  snprintf(directory, PATH_MAX, "%s/besom-instructions-XXXXXX", parent ? parent : "/tmp");
  if (!mkdtemp(directory)) fail("creating %s: %s", directory, strerror(errno));
}

static void remove_directory(const char *directory) {
  char path[PATH_MAX + 256];
  DIR *files = opendir(directory);
  for (struct dirent *file; files && (file = readdir(files));) {
    snprintf(path, sizeof path, "%s/%s", directory, file->d_name);
    (void)remove(path); /* fails for . and .. */
  }
  if (files) closedir(files);
  (void)rmdir(directory);
}

static FILE *open_file(const char *directory, const char *name) {
  char path[PATH_MAX + 256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return fopen(path, "r");
}

/* ------------------------------------------------------------------ running the child */

/* Returns an error of posix_spawnp, or 0 and the status of the process. */
static int run(char **argv, int *status) {
  pid_t process;
  int error = posix_spawnp(&process, argv[0], NULL, NULL, argv, environ);
  if (error) return error;
  /* An interrupt ends the child. This process must live on to remove the files. */
  void (*old)(int) = signal(SIGINT, SIG_IGN);
  while (waitpid(process, status, 0) < 0 && errno == EINTR) continue;
  signal(SIGINT, old);
  return 0;
}

static int run_child(const instruction_plan *plan, const char *directory, int *status) {
  char self[PATH_MAX] = "", slots[32], width[32], out[PATH_MAX + 64], log[PATH_MAX + 64];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return errno;
  snprintf(slots, sizeof slots, "%llu", (unsigned long long)plan->slots);
  snprintf(width, sizeof width, "%llu", (unsigned long long)plan->width);
  snprintf(out, sizeof out, "--callgrind-out-file=%s/count", directory);
  snprintf(log, sizeof log, "--log-file=%s/log", directory);
  char *argv[] = {"valgrind",
                  "--quiet",
                  "--tool=callgrind",
                  "--instr-atstart=no",
                  out,
                  log,
                  self,
                  "instructions",
                  INSTRUCTION_CHILD,
                  slots,
                  width,
                  (char *)(plan->isa ? plan->isa : BEST_ISA),
                  (char *)plan->kinds,
                  plan->concurrent ? CONCURRENT_FORM
                  : plan->reports  ? REPORTS_FORM
                                   : "plain",
                  NULL};
  return run(argv, status);
}

static void print_log(const char *directory) {
  char line[256];
  FILE *log = open_file(directory, "log");
  while (log && fgets(line, sizeof line, log)) fputs(line, stderr);
  if (log) fclose(log);
}

/* ------------------------------------------------------------------ reading the files */

typedef struct count {
  char kind[32], op[32], isa[16];
  double calls, instructions;
} count;

/* A file of callgrind: the description has the name of the loop, the totals are what it counted. */
static bool read_count(FILE *file, count *c) {
  bool named = false, counted = false;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "desc: Trigger: Client Request: %31s %31s %lf %15s", c->kind, c->op, &c->calls,
               c->isa) == 4)
      named = true;
    if (sscanf(line, "totals: %lf", &c->instructions) == 1) counted = true;
  }
  return named && counted;
}

static bool next_count(const char *directory, int number, count *c) {
  char name[32];
  snprintf(name, sizeof name, "count.%d", number);
  FILE *file = open_file(directory, name);
  bool found = file && read_count(file, c);
  if (file) fclose(file);
  return found;
}

static loop_form form_of(const char *op) {
  const counted_operation *o = counted_operations;
  while (o->name && strcmp(o->name, op) != 0) o++;
  return o->form;
}

static void name_build(instruction_table *t, const char *isa) {
#ifdef __clang__
  snprintf(t->build, sizeof t->build, "clang %d, %s", __clang_major__, isa);
#else
  snprintf(t->build, sizeof t->build, "gcc %d, %s", __GNUC__, isa);
#endif
}

/* The child counts in another order than the rows have. */
static void sort_rows(instruction_table *t) {
  instruction_table sorted = {0};
  for (size_t i = 0; i < t->count; i++) {
    const char *kind = t->rows[i].kind;
    if (table_find(&sorted, kind, NULL)) continue;
    for (const counted_operation *op = counted_operations; op->name; op++) {
      const instruction_row *row = table_find(t, kind, op->name);
      if (row) table_add(&sorted, kind, op->name, row->instructions);
    }
  }
  free(t->rows);
  t->rows = sorted.rows;
  t->count = sorted.count;
}

static void read_counts(const char *directory, instruction_table *t) {
  double empty[LOOP_FORMS] = {0};
  count c;
  for (int number = 1; next_count(directory, number, &c); number++) {
    double each = c.instructions / c.calls;
    if (strcmp(c.kind, EMPTY_LOOP) == 0) {
      empty[(c.op[0] - '0') % LOOP_FORMS] = each;
      name_build(t, c.isa);
    } else {
      table_add(t, c.kind, c.op, each - empty[form_of(c.op)]);
    }
  }
  sort_rows(t);
}

void instruction_parent(const instruction_plan *plan, instruction_table *t) {
  char directory[PATH_MAX];
  int status = 0;
  if (!has_valgrind_headers) fail("%s, then compile besom-bench again", missing);
  create_directory(directory);
  int error = run_child(plan, directory, &status);
  if (!error && status != 0) print_log(directory);
  t->slots = plan->slots;
  read_counts(directory, t);
  remove_directory(directory);
  if (error == ENOENT) fail("%s", missing);
  if (error) fail("starting valgrind: %s", strerror(error));
  if (status != 0) fail("counting instructions failed");
  if (t->count == 0) fail("valgrind counted nothing");
}
