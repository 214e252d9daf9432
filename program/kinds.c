#include "kinds.h"

#include <string.h>

const besom_kind_info *kind_named(const char *name) {
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)); i++)
    if (strcmp(kind->name, name) == 0) break;
  return kind;
}
