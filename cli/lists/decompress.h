/* Decompresses gzip and zstd as a stream, in bounded memory. */
#ifndef CLI_DECOMPRESS_H
#define CLI_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum compression { NOT_COMPRESSED, GZIP, ZSTD, OTHER_COMPRESSION } compression;

/* How many bytes compression_of looks at. With fewer, it may say that it needs more. */
enum { MAGIC_BYTES = 10 };

/*
 * The compression of a file that begins with these bytes. *more: further bytes could change the
 * answer. *tool is the command that decompresses it, such as "xz -dc".
 */
compression compression_of(const void *start, size_t len, bool *more, const char **tool);

/* One compressed stream: the members of a gzip file, or the frames of a zstd file. */
typedef struct decompressor decompressor;

/* Fails with a message that names the file if besom was built without the library. */
decompressor *decompressor_create(compression form, const char *name);
void decompressor_free(decompressor *d);

/*
 * Decompresses the bytes from *from up to end, and advances *from. Writes up to most bytes; returns
 * their number. Returns 0 only if all input is consumed. Fails if the data is damaged.
 */
size_t decompress(decompressor *d, const char **from, const char *end, char *to, size_t most);

/* Whether the input may end here: at the end of a member or of a frame. */
bool decompressor_is_complete(const decompressor *d);

#endif
