#include "publish/local_fixes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "besom_fixes.h"
#include "fail.h"
#include "signed/trust.h"

fixes_of fixes_of_set(const besom_set *set) {
  fixes_of of;
  besom_set_information info;
  check(besom_set_info(set, &info), "the set");
  snprintf(of.version, sizeof of.version, "sequence=%llu", (unsigned long long)info.sequence);
  snprintf(of.name, sizeof of.name, "%s", info.name);
  return of;
}

/* Whether there is a signature that names the list. */
static bool signed_name(const char *path, char name[FIXES_NAME_BYTES]) {
  minisig m;
  statement s;
  bool found = false;
  char *signature = signature_path(path);
  if (access(signature, R_OK) == 0) {
    file_bytes text = file_read(signature);
    found = !minisign_parse(&text, &m) && statement_parse(m.comment, &s);
    free(text.data);
  }
  if (found) snprintf(name, FIXES_NAME_BYTES, "%s", s.name);
  free(signature);
  return found;
}

/* The file without its folder and ".besom". */
static void file_name(const char *path, char name[FIXES_NAME_BYTES]) {
  const char *slash = strrchr(path, '/'), suffix[] = ".besom";
  snprintf(name, FIXES_NAME_BYTES, "%s", slash ? slash + 1 : path);
  size_t len = strlen(name), end = sizeof suffix - 1;
  if (len > end && strcmp(name + len - end, suffix) == 0) name[len - end] = 0;
  for (char *at = name; *at; at++)
    if (*at == '\n') *at = '?';
}

fixes_of fixes_of_list(const char *path) {
  fixes_of of = {0};
  besom_status status = besom_fixes_version(path, of.version);
  if (status == BESOM_IO) fail("%s: %s", path, strerror(errno));
  check(status, "%s", path);
  if (!signed_name(path, of.name)) file_name(path, of.name);
  return of;
}
