/*
 * besom_fixes.h - fixes beside a list: the reports of one client about a file that must keep its
 * bytes, because it is signed or patched. `besom fix LIST --fixes FILE` writes them: docs/lists.md.
 *
 *     besom_fixes *fixes;
 *     besom_status status = besom_fixes_open("my.fixes", "blocked.besom", &fixes);
 *     if (status == BESOM_INCOMPATIBLE) ...     // for other bytes of the list: set the file aside
 *     if (!besom_fixes_contains(fixes, list, "key", 3)) ...    // not in the list, or a local fix
 *     besom_fixes_close(fixes);
 *
 * A fix says "absent now", so it holds for the bytes that it was made for. Open the list first,
 * then its fixes. If the list is patched or replaced, or a key is inserted, close its fixes. `besom
 * fix LIST --fixes FILE --again` applies them to the new list, if their keys are still absent.
 *
 * Nothing reads a file of fixes unless this call names it. Its first line has the version and the
 * name of the list; each other line a date, a tab and a key. An incomplete last line is left out.
 *
 * Threads: all calls but close may run beside each other.
 */
#ifndef BESOM_FIXES_H
#define BESOM_FIXES_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct besom_fixes besom_fixes;

/*
 * Opens a file of fixes. list: the file of a list, or the directory of a published set; the fixes
 * must be for its version. NULL: they are not compared (besom_fixes_info tells the version).
 * Errors: IO (errno EPERM: the file of fixes belongs neither to the caller nor to root, others can
 * write it, or it is no regular file), CORRUPT (not a file of fixes, or the list is damaged),
 * INCOMPATIBLE (for another version, or for another list), NEWER_VERSION (of a set), NO_MEMORY,
 * INVALID.
 */
BESOM_API besom_status besom_fixes_open(const char *path, const char *list, besom_fixes **out);

/* The same from memory, for callers that compare the version. bad_line may be NULL; if the result
 * is CORRUPT, it becomes the number of the wrong line, from 1. */
BESOM_API besom_status besom_fixes_parse(const void *text, size_t len, size_t *bad_line,
                                         besom_fixes **out);

/* NULL is allowed. */
BESOM_API void besom_fixes_close(besom_fixes *fixes);

/* Whether this key is fixed. */
BESOM_API bool besom_fixes_has(const besom_fixes *fixes, const void *key, size_t len);

/*
 * As besom_contains, and for a list of domains besom_domain_contains, but no if the key is fixed; a
 * name is asked for its next parent if the entry that answers is fixed. fixes may be NULL.
 */
BESOM_API bool besom_fixes_contains(const besom_fixes *fixes, const besom_filter *f,
                                    const void *key, size_t len);
BESOM_API bool besom_fixes_domain_contains(const besom_fixes *fixes, const besom_filter *f,
                                           const void *name, size_t len, besom_bytes *entry);

/* Key number i, below info.keys. It is valid until the fixes are closed. */
BESOM_API besom_bytes besom_fixes_key(const besom_fixes *fixes, size_t i);

typedef struct besom_fixes_information {
  const char *version; /* "sha256=..." of a list, "sequence=..." of a set; valid until close */
  const char *name;    /* as version */
  size_t keys;         /* lines with a key; equal ones count each */
  size_t bytes;        /* of the complete lines */
} besom_fixes_information;

BESOM_API void besom_fixes_info(const besom_fixes *fixes, besom_fixes_information *info);

/* The version of a list or a set, as the first line of its fixes has it. Errors: IO, CORRUPT,
 * NEWER_VERSION, NO_MEMORY. */
enum { BESOM_FIXES_VERSION_BYTES = 80 };
BESOM_API besom_status besom_fixes_version(const char *list,
                                           char version[BESOM_FIXES_VERSION_BYTES]);

/* Whether a line without its line break is a fix, and its key. */
BESOM_API bool besom_fixes_line(besom_bytes line, besom_bytes *key);

#ifdef __cplusplus
}
#endif

#endif
