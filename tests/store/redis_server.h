/*
 * redis_server.h - a private Redis server for tests, on a free port of the loopback interface.
 */
#ifndef BESOM_TESTS_REDIS_SERVER_H
#define BESOM_TESTS_REDIS_SERVER_H

#include <stdbool.h>

/* Starts the server if it is not running. Returns "127.0.0.1:port". Aborts if it does not start. */
const char *redis_server_address(void);

/* Stops the server, if it is running. It also ends with this process. */
void redis_server_stop(void);

/* Kills the server, and starts one from its last snapshot (SAVE), at another address. */
void redis_server_restore(void);

/* Suspends the server, and resumes it. */
void redis_server_pause(bool paused);

/* Runs a command on the server. Aborts if the reply is an error. */
void redis_server_run(const char *command);

#endif
