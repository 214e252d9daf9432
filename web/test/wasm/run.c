/* Runs the contract tests of the repository under control of JavaScript (contract.test.mjs). */
#include <stdio.h>
#include <stdlib.h>

#include "laws/law.h"
#include "support/temp_files.h"

/* There are no files of the library's own here, and no measure of resident memory. */
const law file_laws[] = {{0}}, size_laws[] = {{0}};

static const struct CMUnitTest *all;

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n, void *setup,
                            void *teardown) {
  (void)name, (void)setup, (void)teardown;
  all = tests;
  web_run((unsigned)n);
  return 0;
}

__attribute__((export_name("web_test_name"))) const char *web_test_name(unsigned i) {
  return all[i].name;
}

__attribute__((export_name("web_run_one"))) void web_run_one(unsigned i) {
  void *state = all[i].initial_state;
  all[i].test_func(&state);
}

/* ------------------------------------------------------------------ support/temp_files.h */

/* Laws that write files are skipped. */
void temp_dir_make(temp_dir *dir) {
  (void)dir;
  web_skip();
}

void temp_dir_remove(const temp_dir *dir) {
  (void)dir;
}

temp_path temp_dir_file(const temp_dir *dir, const char *name) {
  (void)dir, (void)name;
  return (temp_path){{0}};
}

size_t temp_dir_count(const temp_dir *dir) {
  (void)dir;
  return 0;
}

bool write_whole_file(const char *path, const void *data, size_t len) {
  (void)path, (void)data, (void)len;
  return false;
}

uint8_t *read_whole_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  enum { MOST = 1 << 20 }; /* golden files are small */
  uint8_t *bytes = malloc(MOST);
  *len = bytes ? fread(bytes, 1, MOST, file) : 0;
  fclose(file);
  return bytes;
}
