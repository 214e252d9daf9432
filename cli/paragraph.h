/* Text for a terminal. */
#ifndef CLI_PARAGRAPH_H
#define CLI_PARAGRAPH_H

/* Prints a text to stdout, in lines of at most 79 characters. */
void paragraph_print(const char *text);

#endif
