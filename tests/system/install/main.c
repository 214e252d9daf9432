/* The smallest program that uses an installed besom. */
#include <besom.h>
#include <stdio.h>

int main(void) {
  besom_config config = {.kind = "bloom", .capacity = 1000, .fpr = 0.01};
  besom_filter *f;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_OK) status = besom_insert(f, "key", 3);
  if (status != BESOM_OK) {
    fprintf(stderr, "%s\n", besom_strerror(status));
    return 1;
  }
  bool found = besom_contains(f, "key", 3);
  besom_free(f);
  printf("besom %s: %s\n", besom_version(), found ? "found" : "lost");
  return found ? 0 : 1;
}
