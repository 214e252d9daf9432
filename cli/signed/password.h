/* Passwords. */
#ifndef CLI_PASSWORD_H
#define CLI_PASSWORD_H

/* Asks for the password of a file on the terminal, without echo. Reads a line of standard input if
 * there is no terminal. Release it with free, after overwriting it. */
char *password_read(const char *path);

#endif
