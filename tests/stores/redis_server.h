/*
 * redis_server.h - a Redis server of the test's own, on a free port of the loopback interface.
 */
#ifndef BESOM_TESTS_REDIS_SERVER_H
#define BESOM_TESTS_REDIS_SERVER_H

#include <stdbool.h>

/* Starts it, if it is not running yet; ends the program if it cannot. "127.0.0.1:port". */
const char *redis_server_address(void);

/* Stops it; nothing happens if none is running. It also ends when this process does. */
void redis_server_stop(void);

/* Stops it for a while, and lets it go on. */
void redis_server_pause(bool paused);

/* Runs a command there, and fails if the answer is an error. */
void redis_server_run(const char *command);

#endif
