#define _DEFAULT_SOURCE 1 /* sigaction */

#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "bar.h"

static volatile sig_atomic_t caught;

static void note(int signal_number) {
  caught = signal_number;
}

void interrupt_watch(void) {
  struct sigaction action = {.sa_handler = note};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

void interrupt_check(void) {
  if (!caught) return;
  bar_end();
  fputs("besom: interrupted; no file was changed\n", stderr);
  exit(128 + (int)caught); /* as a shell has it */
}
