#define _DEFAULT_SOURCE 1 /* fileno */

#include "signed/password.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "fail.h"

enum { PASSWORD_SIZE = 1024 };

static char *without_line_end(char *line) {
  line[strcspn(line, "\r\n")] = 0;
  return line;
}

/* Reads a line of the terminal; echo is on again afterwards. Returns false if there was none. */
static bool ask(FILE *terminal, const char *path, char *line) {
  struct termios before, silent;
  fprintf(terminal, "Password of %s: ", path);
  fflush(terminal);
  tcgetattr(fileno(terminal), &before);
  silent = before;
  silent.c_lflag &= ~(tcflag_t)ECHO;
  tcsetattr(fileno(terminal), TCSAFLUSH, &silent);
  bool got = fgets(line, PASSWORD_SIZE, terminal);
  tcsetattr(fileno(terminal), TCSAFLUSH, &before);
  fputc('\n', terminal);
  return got;
}

char *password_read(const char *path) {
  char *password = allocate(1, PASSWORD_SIZE);
  FILE *terminal = fopen("/dev/tty", "r+");
  bool got =
      terminal ? ask(terminal, path, password) : fgets(password, PASSWORD_SIZE, stdin) != NULL;
  if (terminal) fclose(terminal);
  if (!got) fail("%s: no password was given", path);
  return without_line_end(password);
}
