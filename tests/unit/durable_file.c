/* Whole files: a save that fails leaves the old file and nothing else, and errno tells why. */
#define _DEFAULT_SOURCE /* fork, setuid, setrlimit */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom.h"
#include "support/keys.h"
#include "support/temp_files.h"

/* A directory with an old file in it, and a filter that is to replace it. */
struct scene {
  temp_dir dir;
  temp_path path;
  besom_filter *filter;
  size_t bytes; /* of the filter's file */
};

static const char old_text[] = "what was here before";

static size_t size_of_file(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (size_t)info.st_size;
}

static void open_scene(struct scene *s) {
  besom_config config = {.kind = "qf", .capacity = 3000};
  temp_dir_make(&s->dir);
  s->path = temp_dir_file(&s->dir, "filter.besom");
  assert_int_equal(besom_create(&config, &s->filter), BESOM_OK);
  for (uint64_t i = 0; i < 2000; i++)
    assert_int_equal(besom_insert_u64(s->filter, key_u64(MEMBERS, i)), BESOM_OK);
  assert_int_equal(besom_save_file(s->filter, s->path.text), BESOM_OK);
  s->bytes = size_of_file(s->path.text);
  assert_true(write_whole_file(s->path.text, old_text, sizeof old_text));
}

static void close_scene(struct scene *s) {
  besom_free(s->filter);
  temp_dir_remove(&s->dir);
}

static void assert_old_file_alone(const struct scene *s) {
  size_t len = 0;
  uint8_t *data = read_whole_file(s->path.text, &len);
  assert_int_equal(len, sizeof old_text);
  assert_memory_equal(data, old_text, len);
  assert_int_equal(temp_dir_count(&s->dir), 1);
  free(data);
}

/* A save that ends with BESOM_IO and this errno. */
static void assert_io(int error, const besom_filter *f, const char *path) {
  errno = 0;
  assert_int_equal(besom_save_file(f, path), BESOM_IO);
  assert_int_equal(errno, error);
}

/* ------------------------------------------------------------------ in a process with fewer rights */

enum { NOT_POSSIBLE = 255, NOT_IO = 254 };

/* The errno of a save in a child that has first given up what `give_up` says. */
static int errno_of_hampered_save(bool (*give_up)(size_t limit), size_t limit,
                                  const struct scene *s) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (!give_up(limit)) _exit(NOT_POSSIBLE);
    _exit(besom_save_file(s->filter, s->path.text) == BESOM_IO ? errno : NOT_IO);
  }
  int result;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result));
  return WEXITSTATUS(result);
}

static bool limit_file_size(size_t limit) {
  return signal(SIGXFSZ, SIG_IGN) != SIG_ERR &&
         setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit}) == 0;
}

/* Root may write everywhere, nobody may not. */
static bool drop_root(size_t ignored) {
  (void)ignored;
  return geteuid() != 0 || setuid(65534) == 0;
}

/* However much of it fits. */
static void a_full_disk_leaves_the_old_file(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  for (size_t limit = 0; limit < s.bytes; limit += 1 + limit / 2) {
    assert_int_equal(errno_of_hampered_save(limit_file_size, limit, &s), EFBIG);
    assert_old_file_alone(&s);
  }
  assert_int_equal(errno_of_hampered_save(limit_file_size, s.bytes - 1, &s), EFBIG);
  assert_old_file_alone(&s);
  assert_int_equal(errno_of_hampered_save(limit_file_size, s.bytes, &s), NOT_IO);
  assert_int_equal(size_of_file(s.path.text), s.bytes);
  assert_int_equal(temp_dir_count(&s.dir), 1);
  close_scene(&s);
}

static void a_directory_that_is_not_writable_keeps_its_file(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  assert_int_equal(chmod(s.dir.path, 0555), 0);
  int error = errno_of_hampered_save(drop_root, 0, &s);
  assert_int_equal(chmod(s.dir.path, 0755), 0);
  assert_old_file_alone(&s);
  close_scene(&s);
  if (error == NOT_POSSIBLE) skip();
  assert_int_equal(error, EACCES);
}

/* ------------------------------------------------------------------ save */

static void saving_leaves_the_file_alone(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(besom_save_file(s.filter, s.path.text), BESOM_OK);
    assert_int_equal(size_of_file(s.path.text), s.bytes);
    assert_int_equal(temp_dir_count(&s.dir), 1);
  }
  close_scene(&s);
}

static void a_path_may_have_no_directory(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  int here = open(".", O_RDONLY);
  assert_int_equal(chdir(s.dir.path), 0);
  assert_int_equal(besom_save_file(s.filter, "other.besom"), BESOM_OK);
  assert_int_equal(besom_save_file(s.filter, "./filter.besom"), BESOM_OK);
  assert_int_equal(fchdir(here), 0);
  close(here);
  assert_int_equal(size_of_file(temp_dir_file(&s.dir, "other.besom").text), s.bytes);
  assert_int_equal(size_of_file(s.path.text), s.bytes);
  assert_int_equal(temp_dir_count(&s.dir), 2);
  close_scene(&s);
}

static void a_path_that_cannot_be_is_io(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  char long_name[5000];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;
  assert_io(ENOENT, s.filter, temp_dir_file(&s.dir, "missing/filter.besom").text);
  assert_io(ENOTDIR, s.filter, temp_dir_file(&s.dir, "filter.besom/filter.besom").text);
  assert_io(ENAMETOOLONG, s.filter, long_name);
  assert_io(ENAMETOOLONG, s.filter, long_name + sizeof long_name - 1000);
  assert_old_file_alone(&s);
  close_scene(&s);
}

static void a_directory_is_not_replaced(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  temp_path inner = temp_dir_file(&s.dir, "directory");
  assert_int_equal(mkdir(inner.text, 0755), 0);
  assert_io(EISDIR, s.filter, inner.text);
  assert_int_equal(temp_dir_count(&s.dir), 2);
  assert_int_equal(rmdir(inner.text), 0);
  assert_old_file_alone(&s);
  close_scene(&s);
}

/* ------------------------------------------------------------------ load */

static besom_status load_by(unsigned way, const char *path) {
  besom_filter *f = NULL;
  errno = 0;
  static const unsigned flags[] = {0, BESOM_OPEN_MMAP, BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED};
  besom_open_options options = {.flags = flags[way]};
  besom_status status = besom_open(path, way ? &options : NULL, &f);
  assert_int_equal(f != NULL, status == BESOM_OK);
  besom_free(f);
  return status;
}

static void what_is_no_saved_filter_is_corrupt(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  temp_path empty = temp_dir_file(&s.dir, "empty");
  assert_true(write_whole_file(empty.text, "", 0));
  for (unsigned way = 0; way < 3; way++) {
    assert_int_equal(load_by(way, s.path.text), BESOM_CORRUPT);
    assert_int_equal(load_by(way, empty.text), BESOM_CORRUPT);
    assert_int_equal(load_by(way, s.dir.path), BESOM_CORRUPT);
    assert_int_equal(load_by(way, "/dev/null"), BESOM_CORRUPT);
  }
  close_scene(&s);
}

static void what_cannot_be_opened_is_io(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  for (unsigned way = 0; way < 3; way++) {
    assert_int_equal(load_by(way, temp_dir_file(&s.dir, "missing").text), BESOM_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(load_by(way, temp_dir_file(&s.dir, "filter.besom/inside").text), BESOM_IO);
    assert_int_equal(errno, ENOTDIR);
  }
  close_scene(&s);
}

/* The lowest free number tells: whether it went well or not, what was opened is closed. */
/* Names up to the system's own limit: the temporary one must not be longer. */
static void the_longest_name_can_be_saved(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  char name[256];
  memset(name, 'n', 255);
  name[255] = 0;
  temp_path path = temp_dir_file(&s.dir, name);
  assert_int_equal(besom_save_file(s.filter, path.text), BESOM_OK);
  assert_int_equal(size_of_file(path.text), s.bytes);
  assert_int_equal(temp_dir_count(&s.dir), 2);
  close_scene(&s);
}

static void a_replaced_file_keeps_its_permissions(void **state) {
  (void)state;
  struct scene s;
  struct stat info;
  open_scene(&s);
  assert_int_equal(chmod(s.path.text, 0600), 0);
  assert_int_equal(besom_save_file(s.filter, s.path.text), BESOM_OK);
  assert_int_equal(stat(s.path.text, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  close_scene(&s);
}

/* Opening a FIFO that nobody writes to would wait for ever. */
static void a_fifo_is_no_saved_filter(void **state) {
  (void)state;
  struct scene s;
  besom_filter *f;
  open_scene(&s);
  temp_path path = temp_dir_file(&s.dir, "fifo");
  assert_int_equal(mkfifo(path.text, 0600), 0);
  alarm(10);
  assert_int_equal(besom_open(path.text, NULL, &f), BESOM_CORRUPT);
  assert_int_equal(besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &f),
                   BESOM_CORRUPT);
  alarm(0);
  close_scene(&s);
}

static void no_descriptor_stays_open(void **state) {
  (void)state;
  struct scene s;
  open_scene(&s);
  int before = dup(0);
  close(before);
  for (unsigned way = 0; way < 3; way++) load_by(way, s.path.text);
  assert_io(ENOENT, s.filter, temp_dir_file(&s.dir, "missing/filter.besom").text);
  assert_int_equal(besom_save_file(s.filter, s.path.text), BESOM_OK);
  for (unsigned way = 0; way < 3; way++) assert_int_equal(load_by(way, s.path.text), BESOM_OK);
  for (unsigned way = 0; way < 3; way++) load_by(way, s.dir.path);
  int after = dup(0);
  close(after);
  assert_int_equal(after, before);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_disk_leaves_the_old_file),
      cmocka_unit_test(a_directory_that_is_not_writable_keeps_its_file),
      cmocka_unit_test(saving_leaves_the_file_alone),
      cmocka_unit_test(a_path_may_have_no_directory),
      cmocka_unit_test(a_path_that_cannot_be_is_io),
      cmocka_unit_test(a_directory_is_not_replaced),
      cmocka_unit_test(what_is_no_saved_filter_is_corrupt),
      cmocka_unit_test(what_cannot_be_opened_is_io),
      cmocka_unit_test(the_longest_name_can_be_saved),
      cmocka_unit_test(a_replaced_file_keeps_its_permissions),
      cmocka_unit_test(a_fifo_is_no_saved_filter),
      cmocka_unit_test(no_descriptor_stays_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
