/*
 * The two signed texts of a published set (docs/publish.md): the statement in the pointer
 * set.minisig, and the manifest that it names. A text is accepted only if it is exactly what the
 * functions here write.
 */
#ifndef CLI_SET_MANIFEST_H
#define CLI_SET_MANIFEST_H

#include "signed/statement.h"

#define SET_POINTER "set.minisig"

enum { SET_FILE_SIZE = 65, SET_KIND_SIZE = 17, SET_MOST_SHARDS = 4096, SET_MOST_PATCHES = 1000 };

typedef struct set_statement {
  char name[NAME_SIZE];
  uint64_t sequence;
  int64_t expires;
  uint64_t bytes; /* of the manifest */
  char result[SHA256_TEXT];
} set_statement;

bool set_statement_parse(const char *text, set_statement *out);
void set_statement_text(const set_statement *s, char text[COMMENT_BYTES + 1]);

/* The name of the manifest of a version. */
void set_manifest_name(uint64_t sequence, char name[SET_FILE_SIZE]);

typedef struct set_file {
  char name[SET_FILE_SIZE];
  uint64_t bytes;
  char sum[SHA256_TEXT];
} set_file;

/* A file with the patches of the shards that differ between two versions. */
typedef struct set_patch {
  uint64_t from, to;
  set_file file;
} set_patch;

typedef struct set_manifest {
  char name[NAME_SIZE];
  uint64_t sequence;
  char kind[SET_KIND_SIZE]; /* that was asked for: updated, aqf, ... */
  double fpr;
  uint32_t shards;
  uint64_t keys;
  set_file *files; /* of each shard */
  set_patch *patches;
  size_t patch_count;
} set_manifest;

/* Returns false if the text is no manifest. */
bool set_manifest_parse(const file_bytes *text, set_manifest *out);
file_bytes set_manifest_text(const set_manifest *m);
void set_manifest_free(set_manifest *m);

#endif
