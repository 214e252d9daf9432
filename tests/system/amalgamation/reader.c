/* Uses the form that only reads: opens the golden file of every kind, and asks its keys. */
#include "besom.h"

#include <stdio.h>

int main(int n, char **paths) {
  int opened = 0;
  for (int i = 1; i < n; i++) {
    besom_filter *f;
    besom_status status = besom_open(paths[i], NULL, &f);
    if (status == BESOM_UNKNOWN_KIND || status == BESOM_NEWER_VERSION) {
      printf("%s: %s\n", paths[i], besom_strerror(status)); /* scaling and adaptive-stacked */
      continue;
    }
    if (status != BESOM_OK) return printf("%s: %s\n", paths[i], besom_strerror(status)), 1;
    const char *reason = NULL;
    if (besom_validate(f, &reason) != BESOM_OK) return printf("%s: %s\n", paths[i], reason), 1;
    unsigned yes = 0;
    for (uint64_t key = 0; key < 10000; key++) yes += besom_contains_u64(f, 1000000 + key);
    if (yes > 2500) return printf("%s: yes to %u of 10000 absent keys\n", paths[i], yes), 1;
    besom_free(f);
    opened++;
  }
  printf("%d files opened\n", opened);
  return opened < 20;
}
