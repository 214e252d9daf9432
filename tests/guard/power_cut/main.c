/*
 * guard_power_cut --seed S --amount STATES   simulated power cuts of guards over databases
 * guard_power_cut --repeat FILE N            one state again, that a failure has left
 * guard_power_cut --prove SEED               recordings without syncs: states must be wrong
 *
 * For each database, durability level and layout, a process does some work with a guard while its
 * file operations are recorded. Another one builds states that the disk may have after a power cut
 * at a random moment (crash_state.h), opens the guard from each, and compares it with what the
 * level promises for the calls that had returned. STATES is the number of states in all.
 */
#define _DEFAULT_SOURCE 1 /* processes, shared memory */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash_state.h"
#include "support/part.h"
#include "support/processes.h"
#include "support/temp_files.h"
#include "workload.h"

#define LOG_BYTES (UINT64_C(1) << 28) /* address space; a recording takes some 10 MB */

enum { PLANTED_STATES = 60, GO_ON_EVERY = 4, STATES_PER_RECORDING = 100 };

static const char *const level_names[] = {"PUT", "BATCH", "SYNC"};
static const char *const layout_names[] = {"merged", "split"};

/* What is recorded. It is saved with a recording. */
struct subject {
  uint32_t database, layout, durability, planted;
  uint64_t seed;
  char root[256]; /* the directory that is recorded */
};

/* Shared by the processes. */
struct progress {
  uint64_t state; /* that is being checked */
  uint64_t checked, loaded, migrating;
  struct crash_state crash;
  char message[200];
};

struct trial {
  struct subject subject;
  struct setup setup;
  struct plan plan;
  temp_dir dir; /* has "record", which is recorded and has "db", and "state", which has "db" */
  temp_path record, state;
  struct recording *recording;
  struct progress *progress;
};

static void die(const char *what) {
  perror(what);
  exit(2);
}

static void remove_database(const char *directory) {
  temp_dir db;
  snprintf(db.path, sizeof db.path, "%.250s/db", directory);
  temp_dir_remove(&db);
}

/* ------------------------------------------------------------------ trials */

static struct trial trial_new(struct subject subject) {
  struct trial t = {.subject = subject};
  t.setup = (struct setup){databases[subject.database].open, (besom_layout)subject.layout,
                           (besom_durability)subject.durability};
  t.plan = plan_new(subject.seed, t.setup.durability);
  temp_dir_make(&t.dir);
  t.record = temp_dir_file(&t.dir, "record");
  t.state = temp_dir_file(&t.dir, "state");
  if (!subject.root[0]) snprintf(t.subject.root, sizeof t.subject.root, "%.255s", t.record.text);
  t.recording = shared_memory(LOG_BYTES);
  t.recording->size = LOG_BYTES - sizeof *t.recording;
  t.progress = shared_memory(sizeof *t.progress);
  return t;
}

static void trial_free(struct trial *t) {
  munmap(t->recording, LOG_BYTES);
  munmap(t->progress, sizeof *t->progress);
  plan_free(&t->plan);
  remove_tree(t->dir.path);
}

/* Runs a part in a process of its own: a damaged database may kill it. True if it succeeds. */
static bool in_child(struct trial *t, bool (*part)(struct trial *, uint64_t, uint64_t), uint64_t a,
                     uint64_t b) {
  fflush(stdout);
  fflush(stderr);
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    bool good = part(t, a, b);
    fflush(stderr);
    _exit(good ? 0 : 1);
  }
  int how;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(how))
    snprintf(t->progress->message, sizeof t->progress->message, "the process dies of signal %d",
             WTERMSIG(how));
  return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static bool fail(struct trial *t, const char *what, besom_status status) {
  snprintf(t->progress->message, sizeof t->progress->message, "%s (%s)", what,
           besom_strerror(status));
  return false;
}

/* ------------------------------------------------------------------ recording */

static bool record(struct trial *t, uint64_t a, uint64_t b) {
  (void)a, (void)b;
  temp_dir parent = {0};
  snprintf(parent.path, sizeof parent.path, "%.250s", t->record.text);
  recorder_start(t->recording, t->record.text, (enum planted)t->subject.planted);
  besom_status status = work_do(&t->setup, &t->plan, temp_dir_file(&parent, "db").text);
  recorder_stop();
  return status == BESOM_OK || fail(t, "the recorded work fails", status);
}

/* The lock file of LMDB is written through a mapping, and has no durable data. */
static bool is_complete(struct trial *t, uint64_t a, uint64_t b) {
  (void)a, (void)b;
  struct crash_log *log = crash_log_new(t->recording, t->subject.root);
  bool complete = log && crash_log_is_complete(log, "lock.mdb");
  crash_log_free(log);
  return complete || fail(t, "the recorder missed an operation", BESOM_OK);
}

/* ------------------------------------------------------------------ checking a state */

static bool check_reopened(struct trial *t, const char *db, const uint64_t *values) {
  besom_guard *g = NULL;
  besom_status status = work_open(&t->setup, db, &g);
  if (status != BESOM_OK) return fail(t, "the guard does not open again", status);
  const char *wrong = work_compare(g, values);
  if (wrong) return fail(t, wrong, BESOM_OK);
  status = besom_guard_close(g);
  return status == BESOM_OK || fail(t, "close fails", status);
}

/* The guard must also be usable: it goes on, is closed and opened again. */
static bool check_use(struct trial *t, besom_guard *g, const char *db, uint64_t *values) {
  besom_status status = work_go_on(g, t->progress->state, values), closed = besom_guard_close(g);
  if (status == BESOM_OK) status = closed;
  if (status != BESOM_OK) return fail(t, "the guard cannot go on", status);
  return check_reopened(t, db, values);
}

/* RocksDB renames its file CURRENT, which names another new file, without a sync in between. */
static bool needs_order(const struct trial *t) {
  return !strcmp(databases[t->subject.database].name, "rocksdb");
}

static bool check_state(struct trial *t, const struct crash_log *log, uint64_t state) {
  struct progress *p = t->progress;
  temp_dir parent = {0};
  uint64_t values[WORK_KEYS];
  besom_guard_statistics stats;
  besom_guard *g = NULL;
  snprintf(parent.path, sizeof parent.path, "%.250s", t->state.text);
  temp_path db = temp_dir_file(&parent, "db");
  p->state = state;
  p->crash = crash_state_write(log, t->subject.seed + state, needs_order(t), parent.path);
  besom_status status = work_open(&t->setup, db.text, &g);
  if (status != BESOM_OK) return fail(t, "the guard does not open", status);
  besom_guard_stats(g, &stats);
  const char *wrong = work_check(&t->setup, &t->plan, g, p->crash.mark, values);
  if (wrong) return fail(t, wrong, BESOM_OK);
  p->checked++;
  p->loaded += !stats.rebuilt;
  p->migrating += stats.migrating;
  if (state % GO_ON_EVERY == 0) return check_use(t, g, db.text, values);
  status = besom_guard_close(g);
  return status == BESOM_OK || fail(t, "close fails", status);
}

static bool check_states(struct trial *t, uint64_t first, uint64_t n) {
  recorder_skip_syncs();
  struct crash_log *log = crash_log_new(t->recording, t->subject.root);
  bool good = log != NULL;
  for (uint64_t i = 0; i < n && good; i++) {
    good = check_state(t, log, first + i);
    if (good) remove_database(t->state.text);
  }
  crash_log_free(log);
  return good;
}

static bool make_recording(struct trial *t) {
  if (mkdir(t->record.text, 0777) != 0 || mkdir(t->state.text, 0777) != 0) die(t->dir.path);
  return in_child(t, record, 0, 0) && in_child(t, is_complete, 0, 0);
}

/* ------------------------------------------------------------------ results */

static void describe(const struct trial *t) {
  printf("%s, %s, %s: ", databases[t->subject.database].name, level_names[t->subject.durability],
         layout_names[t->subject.layout]);
}

/* Leaves the recording behind, and says how to repeat the state. */
static void report_failure(const struct trial *t) {
  const struct progress *p = t->progress;
  char path[64];
  snprintf(path, sizeof path, "/tmp/power-cut-%ld.recording", (long)getpid());
  FILE *file = fopen(path, "wb");
  bool saved = file && fwrite(&t->subject, sizeof t->subject, 1, file) == 1 &&
               fwrite(t->recording, sizeof *t->recording + t->recording->used, 1, file) == 1;
  if (file) saved &= fclose(file) == 0;
  fflush(stdout);
  fprintf(stderr, "%s\n", p->message);
  fprintf(
      stderr,
      "state %llu of seed %llu: cut after operation %llu of %llu, %llu steps had returned, %llu "
      "operations without a sync kept, %llu dropped\n",
      (unsigned long long)p->state, (unsigned long long)t->subject.seed,
      (unsigned long long)p->crash.cut, (unsigned long long)p->crash.ops,
      (unsigned long long)p->crash.mark, (unsigned long long)p->crash.kept,
      (unsigned long long)p->crash.dropped);
  if (saved)
    fprintf(stderr, "repeat: guard_power_cut --repeat %s %llu\n", path,
            (unsigned long long)p->state);
}

/* The states of one recording. */
static bool run(struct subject subject, uint64_t states, struct progress *sum) {
  struct trial t = trial_new(subject);
  bool good = make_recording(&t) && in_child(&t, check_states, 0, states);
  sum->checked += t.progress->checked;
  sum->loaded += t.progress->loaded;
  sum->migrating += t.progress->migrating;
  if (!good) {
    describe(&t);
    report_failure(&t);
  }
  trial_free(&t);
  return good;
}

/* Lost syncs must be found. */
static bool run_planted(struct subject subject, enum planted planted) {
  subject.planted = planted;
  struct trial t = trial_new(subject);
  bool found = make_recording(&t) && !in_child(&t, check_states, 0, PLANTED_STATES);
  describe(&t);
  printf("without syncs of %s: %s\n", planted == DROP_SYNCS ? "files" : "directories",
         found ? t.progress->message : "NOT FOUND");
  trial_free(&t);
  return found;
}

static bool repeat(const char *path, uint64_t state) {
  struct subject subject;
  FILE *file = fopen(path, "rb");
  if (!file || fread(&subject, sizeof subject, 1, file) != 1) die(path);
  struct trial t = trial_new(subject);
  size_t read = fread(t.recording, 1, LOG_BYTES, file);
  fclose(file);
  if (read < sizeof *t.recording || mkdir(t.state.text, 0777) != 0) die(path);
  bool good = in_child(&t, check_states, state, 1);
  describe(&t);
  printf("state %llu: %s\nleft in %s\n", (unsigned long long)state,
         good ? "good" : t.progress->message, t.state.text);
  return good;
}

/* Database, layout and durability in turn. Each recording has a seed of its own. */
static bool run_all(uint64_t seed, uint64_t states) {
  uint32_t ways = 6 * (sizeof databases / sizeof *databases - 1);
  uint64_t each = (states + ways - 1) / ways;
  struct progress sum = {0};
  bool good = true;
  if (each > STATES_PER_RECORDING) each = STATES_PER_RECORDING;
  for (uint64_t i = 0, n; states && good; states -= n, i++) {
    struct subject subject = {.database = (uint32_t)(i / 6 % (ways / 6)),
                              .layout = i % 2,
                              .durability = (uint32_t)(i % 6 / 2),
                              .seed = (seed << 20) + i};
    n = states < each ? states : each;
    good = run(subject, n, &sum);
  }
  printf("{\"states\": %llu, \"with a checkpoint\": %llu, \"during migrations\": %llu, \"wrong\": "
         "%d}\n",
         (unsigned long long)sum.checked, (unsigned long long)sum.loaded,
         (unsigned long long)sum.migrating, !good);
  return good;
}

static bool prove(uint64_t seed) {
  bool good = true;
  for (uint32_t i = 0; databases[i].name; i++) {
    struct subject subject = {.database = i, .durability = BESOM_DURABLE_PUT, .seed = seed};
    good &= run_planted(subject, DROP_SYNCS);
    good &= run_planted(subject, DROP_DIRECTORY_SYNCS);
  }
  return good;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--repeat"))
    return repeat(argv[2], strtoull(argv[3], NULL, 10)) ? 0 : 1;
  if (argc == 3 && !strcmp(argv[1], "--prove")) return prove(strtoull(argv[2], NULL, 10)) ? 0 : 1;
  return run_all(part_number(argc, argv, "--seed", 1), part_number(argc, argv, "--amount", 200))
             ? 0
             : 1;
}
