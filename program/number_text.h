/* Numbers for people. */
#ifndef PROGRAM_NUMBER_TEXT_H
#define PROGRAM_NUMBER_TEXT_H

#include <stdint.h>

typedef struct number_text {
  char text[32];
} number_text;

/* A count with commas between thousands: grouped(1234567).text is "1,234,567". */
number_text grouped(uint64_t count);

#endif
