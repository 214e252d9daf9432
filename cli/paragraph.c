#include "paragraph.h"

#include <stdio.h>
#include <string.h>

void paragraph_print(const char *text) {
  enum { COLUMNS = 79 };
  size_t column = 0;
  while (*text) {
    size_t len = strcspn(text, " ");
    if (column && column + 1 + len > COLUMNS) column = 0, putchar('\n');
    if (column) column++, putchar(' ');
    printf("%.*s", (int)len, text);
    column += len;
    text += len + strspn(text + len, " ");
  }
  putchar('\n');
}
