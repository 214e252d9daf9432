#include "support/part.h"

#include <stdlib.h>
#include <string.h>

const char *part_text(int argc, char **argv, const char *name, const char *otherwise) {
  for (int i = 1; i + 1 < argc; i++)
    if (!strcmp(argv[i], name)) return argv[i + 1];
  return otherwise;
}

uint64_t part_number(int argc, char **argv, const char *name, uint64_t otherwise) {
  const char *text = part_text(argc, argv, name, NULL);
  return text ? strtoull(text, NULL, 10) : otherwise;
}
