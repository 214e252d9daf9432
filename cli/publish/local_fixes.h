/* What fixes (lists/fixes.h) are made for: this list, or this version of a published set. */
#ifndef CLI_LOCAL_FIXES_H
#define CLI_LOCAL_FIXES_H

#include "besom_set.h"
#include "lists/fixes.h"

/* A set: its name and its sequence number. */
fixes_of fixes_of_set(const besom_set *set);

/* A list: the checksum of its bytes. Its name is the signed one if there is a signature, which is
 * not verified here, else that of the file. */
fixes_of fixes_of_list(const char *path);

#endif
