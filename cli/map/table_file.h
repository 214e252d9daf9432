/* The records of a file and the key of each: a line, a column of CSV or TSV, or a column between
 * blanks. gzip and zstd are decompressed. An error ends the program with a message. */
#ifndef CLI_TABLE_FILE_H
#define CLI_TABLE_FILE_H

#include "besom.h"

typedef struct table_file table_file;

/*
 * key: NULL, and a line is a key; or a column: a number from 1, or a name of the first record. The
 * name of the file tells what separates columns: commas (.csv), tabs (.tsv, .tab), else blanks.
 */
table_file *table_open(const char *path, const char *key);
void table_close(table_file *t);

/* The next key. It and the record are valid until the next call. record may be NULL. Records
 * without that column have no key and are skipped. */
bool table_next(table_file *t, besom_bytes *key, besom_bytes *record);

/* The bytes read so far, before decompression. */
uint64_t table_bytes_read(const table_file *t);

#endif
