/*
 * Defects that analyze.py must find, one per function, so that it shows that it can fail. This file
 * is analyzed, but never compiled into anything.
 */
#include <stdlib.h>
#include <string.h>

int leaks(int n) {
  char *copy = malloc(16);
  if (!copy) return -1;
  memset(copy, n, 16);
  if (copy[3] == 7) return 3; /* without free */
  free(copy);
  return 0;
}

int uses_after_free(void) {
  int *number = malloc(sizeof *number);
  if (!number) return -1;
  *number = 4;
  free(number);
  return *number;
}

int follows_null(const int *number, int n) {
  if (n) number = NULL;
  return *number;
}

int reads_past_the_end(void) {
  int numbers[4] = {0, 1, 2, 3};
  return numbers[4];
}

int reads_what_is_not_set(void) {
  int number;
  return number + 1;
}

void clears_too_little(char *bytes) {
  memset(bytes, 0, sizeof(bytes));
}

void sets_the_digit(int *numbers) {
  memset(numbers, '0', 16); /* 0 was meant */
}

double loses_the_fraction(int part, int whole) {
  return part / whole;
}

void frees_nothing(void) {
  char *lost = malloc(4);
  if (lost) lost[0] = 1;
}
