#include "lists/decompress.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#ifdef BESOM_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef BESOM_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

/* ------------------------------------------------------------------ magic numbers */

static const struct magic {
  compression form;
  const char *tool, *bytes;
  size_t len;
} magics[] = {
    {GZIP, "gzip -dc", "\x1f\x8b\x08", 3},
    {ZSTD, "zstd -dc", "\x28\xb5\x2f\xfd", 4},
    {OTHER_COMPRESSION, "xz -dc",
     "\xfd"
     "7zXZ",
     6},
    {OTHER_COMPRESSION, "lz4 -dc", "\x04\x22\x4d\x18", 4},
    {OTHER_COMPRESSION, "unzip -p", "PK\x03\x04", 4},
    {OTHER_COMPRESSION, "7z x -so", "7z\xbc\xaf\x27\x1c", 6},
};

static const char bzip2_magic[] = "BZh?1AY&SY"; /* ?: a digit */
enum { BZIP2_DIGIT_AT = 3, SKIPPABLE_BYTES = 4 };

static bool begins_with(const uint8_t *start, size_t len, const char *magic, size_t magic_len) {
  return memcmp(start, magic, len < magic_len ? len : magic_len) == 0;
}

static bool begins_bzip2(const uint8_t *start, size_t len) {
  for (size_t i = 0; i < len && i < sizeof bzip2_magic - 1; i++)
    if (i == BZIP2_DIGIT_AT ? start[i] < '1' || start[i] > '9'
                            : start[i] != (uint8_t)bzip2_magic[i])
      return false;
  return true;
}

/* A frame that a decompressor of zstd skips: 0x184d2a5?, little-endian. */
static bool begins_skippable(const uint8_t *start, size_t len) {
  return (len < 1 || start[0] >> 4 == 5) && (len < 2 || start[1] == 0x2a) &&
         (len < 3 || start[2] == 0x4d) && (len < 4 || start[3] == 0x18);
}

compression compression_of(const void *bytes, size_t len, bool *more, const char **tool) {
  const uint8_t *start = bytes;
  *more = false;
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
    if (!begins_with(start, len, magics[i].bytes, magics[i].len)) continue;
    *more |= len < magics[i].len;
    *tool = magics[i].tool;
    if (len >= magics[i].len) return magics[i].form;
  }
  if (begins_skippable(start, len)) {
    *more |= len < SKIPPABLE_BYTES;
    *tool = "zstd -dc";
    if (len >= SKIPPABLE_BYTES) return ZSTD;
  }
  if (begins_bzip2(start, len)) {
    *more |= len < MAGIC_BYTES;
    *tool = "bzip2 -dc";
    if (len >= MAGIC_BYTES) return OTHER_COMPRESSION;
  }
  return NOT_COMPRESSED;
}

/* ------------------------------------------------------------------ streams */

struct decompressor {
  const struct codec *codec;
  const char *name;
  bool is_complete;
#ifdef BESOM_WITH_ZLIB
  z_stream gzip;
#endif
#ifdef BESOM_WITH_ZSTD
  ZSTD_DStream *zstd;
#endif
};

bool decompressor_is_complete(const decompressor *d) {
  return d->is_complete;
}

#ifdef BESOM_WITH_ZLIB
static bool begin_gzip(decompressor *d) {
  enum { GZIP_ONLY = 16, LARGEST_WINDOW = 15 };
  return inflateInit2(&d->gzip, GZIP_ONLY + LARGEST_WINDOW) == Z_OK;
}

static void end_gzip(decompressor *d) {
  inflateEnd(&d->gzip);
}

/* Members follow each other. Some tools append zeros, which mean nothing. */
static size_t step_gzip(decompressor *d, const char **from, const char *end, char *to,
                        size_t most) {
  enum { PIECE = 1 << 30 }; /* zlib counts in 32 bits */
  if (d->is_complete) {
    while (*from < end && !**from) ++*from;
    if (*from == end) return 0;
    inflateReset(&d->gzip);
    d->is_complete = false;
  }
  size_t left = (size_t)(end - *from);
  d->gzip.next_in = (Bytef *)(uintptr_t)*from;
  d->gzip.avail_in = (uInt)(left < PIECE ? left : PIECE);
  d->gzip.next_out = (Bytef *)to;
  d->gzip.avail_out = (uInt)(most < PIECE ? most : PIECE);
  int code = inflate(&d->gzip, Z_NO_FLUSH);
  *from = (const char *)d->gzip.next_in;
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    fail("%s: the gzip data is damaged: %s", d->name, d->gzip.msg ? d->gzip.msg : zError(code));
  d->is_complete = code == Z_STREAM_END;
  return (size_t)((char *)d->gzip.next_out - to);
}
#endif

#ifdef BESOM_WITH_ZSTD
static bool begin_zstd(decompressor *d) {
  d->zstd = ZSTD_createDStream();
  return d->zstd;
}

static void end_zstd(decompressor *d) {
  ZSTD_freeDStream(d->zstd);
}

/* The library takes no more than 128 MB for a window. */
static size_t step_zstd(decompressor *d, const char **from, const char *end, char *to,
                        size_t most) {
  ZSTD_inBuffer in = {*from, (size_t)(end - *from), 0};
  ZSTD_outBuffer out = {to, most, 0};
  size_t code = ZSTD_decompressStream(d->zstd, &out, &in);
  *from += in.pos;
  if (ZSTD_isError(code) && ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
    fail("%s: its zstd window is larger than 128 MB: give the output of zstd -dc --long=31",
         d->name);
  if (ZSTD_isError(code))
    fail("%s: the zstd data is damaged: %s", d->name, ZSTD_getErrorName(code));
  if (in.pos || out.pos) d->is_complete = code == 0;
  return out.pos;
}
#endif

static const struct codec {
  const char *name, *library, *package;
  bool (*begin)(decompressor *d); /* false: out of memory. NULL: besom has no such library */
  size_t (*step)(decompressor *d, const char **from, const char *end, char *to, size_t most);
  void (*end)(decompressor *d);
} codecs[] = {
    [GZIP] = {"gzip", "zlib", "zlib1g-dev",
#ifdef BESOM_WITH_ZLIB
              begin_gzip, step_gzip, end_gzip
#endif
    },
    [ZSTD] = {"zstd", "libzstd", "libzstd-dev",
#ifdef BESOM_WITH_ZSTD
              begin_zstd, step_zstd, end_zstd
#endif
    },
};

decompressor *decompressor_create(compression form, const char *name) {
  const struct codec *codec = &codecs[form];
  if (!codec->begin)
    fail("%s: compressed with %s, and besom was built without %s: install %s and build it again, "
         "or give the output of %s -dc",
         name, codec->name, codec->library, codec->package, codec->name);
  decompressor *d = allocate(1, sizeof *d);
  d->codec = codec;
  d->name = name;
  if (!codec->begin(d)) fail("%s: out of memory", name);
  return d;
}

void decompressor_free(decompressor *d) {
  if (!d) return;
  d->codec->end(d);
  free(d);
}

size_t decompress(decompressor *d, const char **from, const char *end, char *to, size_t most) {
  for (;;) {
    const char *start = *from;
    size_t n = d->codec->step(d, from, end, to, most);
    if (n || *from == end) return n;
    if (*from == start) fail("%s: the %s data is damaged", d->name, d->codec->name);
  }
}
