/*
 * Fixes beside a list (besom_fixes.h): who may write them, which list they are for, wrong and
 * incomplete files, and answers. A list that takes a key that was fixed answers yes.
 */
#define _DEFAULT_SOURCE 1 /* mkfifo, chown */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_fixes.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 400, TEXT = 8192 };

static temp_dir dir;

static temp_path file(const char *name) {
  return temp_dir_file(&dir, name);
}

static void write_file(const char *name, const char *text) {
  assert_true(write_whole_file(file(name).text, text, strlen(text)));
}

/* Saves a list of KEYS keys, and one more if it is not NULL. */
static besom_filter *save_list(const char *kind, const char *more) {
  besom_config config = {.kind = kind, .capacity = KEYS + 10, .fpr = 1.0 / 4};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < KEYS; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  if (more) assert_int_equal(besom_insert(f, more, strlen(more)), BESOM_OK);
  assert_int_equal(besom_save_file(f, file("list").text), BESOM_OK);
  return f;
}

/* A text that the list wrongly answers yes to. */
static void false_positive(const besom_filter *f, char text[32], unsigned from) {
  do sprintf(text, "absent-%u", from++);
  while (!besom_contains(f, text, strlen(text)));
}

/* Writes a file of fixes for the list as it is. */
static void write_fixes(const char *keys) {
  char version[BESOM_FIXES_VERSION_BYTES], text[TEXT];
  assert_int_equal(besom_fixes_version(file("list").text, version), BESOM_OK);
  snprintf(text, sizeof text, "besom-fixes-1 %s name=list\n%s", version, keys);
  write_file("fixes", text);
  assert_int_equal(chmod(file("fixes").text, 0600), 0);
}

static besom_status open_fixes(besom_fixes **out) {
  *out = NULL;
  return besom_fixes_open(file("fixes").text, file("list").text, out);
}

static void a_fixed_key_is_answered_no_and_the_list_stays(void **state) {
  char key[32], line[64];
  size_t before, after;
  besom_fixes *x;
  (void)state;
  besom_filter *f = save_list("aqf", NULL);
  false_positive(f, key, 0);
  snprintf(line, sizeof line, "2026-01-02\t%s\n", key);
  uint8_t *bytes = read_whole_file(file("list").text, &before);
  write_fixes(line);
  assert_int_equal(open_fixes(&x), BESOM_OK);
  assert_true(besom_contains(f, key, strlen(key)));
  assert_false(besom_fixes_contains(x, f, key, strlen(key)));
  assert_true(besom_fixes_contains(NULL, f, key, strlen(key)));
  /* As besom_contains answers invalid arguments. */
  assert_true(besom_fixes_contains(x, f, NULL, 5));
  assert_true(besom_fixes_has(x, key, strlen(key)));
  assert_false(besom_fixes_has(x, key, strlen(key) - 1));
  for (uint64_t i = 0; i < KEYS; i++) {
    besom_u64_key member = besom_u64(key_u64(MEMBERS, i));
    assert_true(besom_fixes_contains(x, f, member.bytes, sizeof member.bytes));
  }
  uint8_t *same = read_whole_file(file("list").text, &after);
  assert_int_equal(before, after);
  assert_memory_equal(bytes, same, before);
  free(bytes);
  free(same);
  besom_fixes_close(x);
  besom_free(f);
}

/* The law: fix k, then a list that has k. The fixes are refused, so that k is answered yes. */
static void a_new_list_that_has_the_key_answers_yes(void **state) {
  char key[32], line[64];
  besom_fixes *x;
  (void)state;
  besom_filter *f = save_list("aqf", NULL);
  false_positive(f, key, 0);
  snprintf(line, sizeof line, "2026-01-02\t%s\n", key);
  write_fixes(line);
  besom_free(f);
  f = save_list("aqf", key);
  assert_int_equal(open_fixes(&x), BESOM_INCOMPATIBLE);
  assert_null(x);
  assert_true(besom_fixes_contains(x, f, key, strlen(key)));
  /* Without a list they are not compared, and tell what they are for. */
  assert_int_equal(besom_fixes_open(file("fixes").text, NULL, &x), BESOM_OK);
  besom_fixes_information info;
  besom_fixes_info(x, &info);
  assert_string_equal(info.name, "list");
  assert_memory_equal(info.version, "sha256=", 7);
  assert_int_equal(info.keys, 1);
  besom_bytes first = besom_fixes_key(x, 0);
  assert_int_equal(first.len, strlen(key));
  assert_memory_equal(first.data, key, first.len);
  assert_null(besom_fixes_key(x, 1).data);
  besom_fixes_close(x);
  besom_free(f);
}

/* The checksum is that of FIPS 180-4, over several blocks, too. */
static void the_version_is_the_checksum(void **state) {
  static const struct {
    const char *text, *sum;
  } known[] = {{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
               {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
               {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  char version[BESOM_FIXES_VERSION_BYTES];
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    write_file("list", known[i].text);
    assert_int_equal(besom_fixes_version(file("list").text, version), BESOM_OK);
    assert_string_equal(version + strlen("sha256="), known[i].sum);
  }
  char *many = malloc(1000000);
  memset(many, 'a', 1000000);
  assert_true(write_whole_file(file("list").text, many, 1000000));
  free(many);
  assert_int_equal(besom_fixes_version(file("list").text, version), BESOM_OK);
  assert_string_equal(version,
                      "sha256=cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112"
                      "cd0");
  assert_int_equal(besom_fixes_version(file("nothing").text, version), BESOM_IO);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(besom_fixes_version(dir.path, version), BESOM_IO); /* no set in it */
}

static void who_else_can_write_is_refused(void **state) {
  static const mode_t wrong[] = {0620, 0602, 0666};
  besom_fixes *x;
  (void)state;
  besom_free(save_list("aqf", NULL));
  write_fixes("");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(chmod(file("fixes").text, wrong[i]), 0);
    errno = 0;
    assert_int_equal(open_fixes(&x), BESOM_IO);
    assert_int_equal(errno, EPERM);
  }
  assert_int_equal(chmod(file("fixes").text, 0644), 0);
  assert_int_equal(open_fixes(&x), BESOM_OK);
  besom_fixes_close(x);
  if (geteuid() == 0) { /* of somebody else, who is not root */
    assert_int_equal(chown(file("fixes").text, 12345, 12345), 0);
    assert_int_equal(open_fixes(&x), BESOM_IO);
    assert_int_equal(errno, EPERM);
  }
  assert_int_equal(unlink(file("fixes").text), 0);
  assert_int_equal(open_fixes(&x), BESOM_IO);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(mkfifo(file("fixes").text, 0600), 0); /* does not wait */
  assert_int_equal(open_fixes(&x), BESOM_IO);
  assert_int_equal(errno, EPERM);
  assert_int_equal(unlink(file("fixes").text), 0);
}

static void expect_parsed(const char *text, besom_status wanted, size_t line, size_t keys) {
  besom_fixes *x = NULL;
  size_t bad = 0, len = strlen(text);
  char *copy = malloc(len + 1); /* no byte behind the text: the sanitizer sees it */
  memcpy(copy, text, len);
  copy = realloc(copy, len ? len : 1);
  assert_int_equal(besom_fixes_parse(copy, len, &bad, &x), wanted);
  free(copy);
  assert_int_equal(bad, line);
  if (wanted != BESOM_OK) return;
  besom_fixes_information info;
  besom_fixes_info(x, &info);
  assert_int_equal(info.keys, keys);
  besom_fixes_close(x);
}

static void wrong_lines_are_named(void **state) {
  char line[700] = "besom-fixes-1 ";
  (void)state;
  expect_parsed("", BESOM_OK, 0, 0);
  expect_parsed("besom-fixes-1 v name=\n", BESOM_OK, 0, 0);
  expect_parsed("besom-fixes-1 v name=n\n2026-01-02\tk\n2026-01-02\tk\n", BESOM_OK, 0, 2);
  expect_parsed("besom-fixes-1 v name=n\n2026-01-02\tk\n2026-01-03\tunfinish", BESOM_OK, 0, 1);
  expect_parsed("besom-fixes-1 v name=n", BESOM_CORRUPT, 1, 0); /* not complete */
  expect_parsed("\n", BESOM_CORRUPT, 1, 0);
  expect_parsed("besom-fixes-2 v name=n\n", BESOM_CORRUPT, 1, 0);
  expect_parsed("besom-fixes-1 v\n", BESOM_CORRUPT, 1, 0);
  expect_parsed("besom-fixes-1 v nam=n\n", BESOM_CORRUPT, 1, 0);
  expect_parsed("besom-fixes-1 v name=n\n\n", BESOM_CORRUPT, 2, 0);
  expect_parsed("besom-fixes-1 v name=n\n2026-01-02 k\n", BESOM_CORRUPT, 2, 0);
  expect_parsed("besom-fixes-1 v name=n\n2026-01-02\t\n", BESOM_CORRUPT, 2, 0);
  expect_parsed("besom-fixes-1 v name=n\n2026-01-02\tk\n2026-1-2\tkey\n", BESOM_CORRUPT, 3, 0);
  memset(line + strlen(line), 'v', BESOM_FIXES_VERSION_BYTES);
  strcat(line, " name=n\n");
  expect_parsed(line, BESOM_CORRUPT, 1, 0); /* too long */
  strcpy(line, "besom-fixes-1 v name=");
  memset(line + strlen(line), 'n', 256);
  strcat(line, "\n");
  expect_parsed(line, BESOM_CORRUPT, 1, 0);
  assert_int_equal(besom_fixes_parse(NULL, 1, NULL, NULL), BESOM_INVALID);
  besom_fixes_close(NULL);
}

/* Of a list of domains the fixed entry is passed over, and the next parent is asked. */
static void a_fixed_entry_leaves_its_parents(void **state) {
  static const char text[] = "besom-fixes-1 v name=n\n2026-01-02\tads.example.org\n";
  besom_config config = {.kind = "aqf", .capacity = 100, .fpr = 1e-6};
  besom_filter *f;
  besom_fixes *x;
  besom_bytes entry;
  (void)state;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  assert_int_equal(besom_insert(f, "ads.example.org", 15), BESOM_OK);
  assert_int_equal(besom_set_domains(f, 3, 0), BESOM_OK);
  assert_int_equal(besom_fixes_parse(text, strlen(text), NULL, &x), BESOM_OK);
  assert_true(besom_fixes_contains(NULL, f, "x.ads.example.org", 17));
  assert_false(besom_fixes_contains(x, f, "x.ads.example.org", 17));
  assert_false(besom_fixes_contains(x, f, "X.ADS.Example.org.", 18));
  assert_int_equal(besom_insert(f, "example.org", 11), BESOM_OK);
  assert_true(besom_fixes_domain_contains(x, f, "x.Ads.Example.org", 17, &entry));
  assert_int_equal(entry.len, 11);
  assert_memory_equal(entry.data, "Example.org", 11);
  assert_true(besom_fixes_domain_contains(x, f, NULL, 5, NULL));
  assert_true(besom_fixes_domain_contains(NULL, f, NULL, 5, NULL));
  besom_fixes_close(x);
  besom_free(f);
}

static int set_up(void **state) {
  (void)state;
  temp_dir_make(&dir);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  temp_dir_remove(&dir);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fixed_key_is_answered_no_and_the_list_stays),
      cmocka_unit_test(a_new_list_that_has_the_key_answers_yes),
      cmocka_unit_test(the_version_is_the_checksum),
      cmocka_unit_test(who_else_can_write_is_refused),
      cmocka_unit_test(wrong_lines_are_named),
      cmocka_unit_test(a_fixed_entry_leaves_its_parents),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
