#!/usr/bin/env bash
# checks_catch.sh DIR: makes a small source tree with known violations in DIR and tests that the
# checks find them, and nothing else.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)

rm -rf "$1"
mkdir -p "$1"/src/{core,exceptions,quotient/table,chains,store/lmdb} "$1"/{bench,include,redis}
cd "$1"
touch include/besom.h include/besom_store.h src/store/sorted.h src/kind.h src/core/bits.h
touch src/quotient/quotient_filter.h src/quotient/table/walk.h

cat >src/core/upward.c <<'END'
#include "besom.h"
#include "core/bits.h"
#include "kind.h"
END
cat >src/store/sideways.c <<'END'
#include "../quotient/table/walk.h"
END
cat >src/store/lmdb/lmdb.c <<'END'
#include "besom_store.h"
#include "store/sorted.h"
#include "sorted.h"
#include "core/bits.h"
END
cat >src/chains/through.c <<'END'
#include "kind.h"
#include "quotient/table/walk.h"
END
cat >src/quotient/table/outward.c <<'END'
#include "quotient/table/walk.h"
#include "quotient/quotient_filter.h"
END
cat >bench/inside.c <<'END'
/* the public header is fine */
#include "besom.h"
  # include "core/bits.h"
END
echo '#include <xxhash.h>' >src/core/hash.h
echo '#include "core/hash.h"' >src/exceptions/exceptions.h
cat >redis/frozen.h <<'END'
#include "besom.h"
#include "exceptions/exceptions.h"
END
cat >src/quotient/calls.c <<'END'
/* malloc(1) in a comment, // and
   abort() here */
void f(void) { ops->free(p); snprintf("exit(1)", 1); } // exit(1)
void g(void) { /* so */ exit(1); }
_Static_assert(1, ""); static void *h(void) { return
malloc (1); }
END
cat >src/core/once.c <<'END'
static bool declared(int x);
static void once(int x,
                 int y) {
}
END
cat >src/quotient/twice.c <<'END'
static bool declared(int x);
static inline struct pair *once(void) {
  once(1);
}
END

# Lines that clang-format would change, or that it has split because of a comment.
mkdir src/file
cp "$scripts/../../../.clang-format" .
cat >src/file/format.c <<'END'
int badly( int x );
struct config {
  const char
      *name; /* a comment that is so long that it does not fit after the field, nor in the line */
};
int good; /* a comment that fits */
END

# Prose. The first file has all terms but one.
cat >include/terms.h <<'END'
/* False-positive rate, bits per key, load factor, read-copy-update, grace period, objective, */
/* reverse map, reserve, thread-safe. */
END
mkdir -p docs cli
touch src/store/walk.c
cat >cli/words.c <<'END'
/* Queries for strangers cost 2 bits per key. Lines of comments may be as long as this one, but not longer */
const char *a = "Costs 3.1 Bits a key"; /* the bits of a key; it reads a block, or a query log */
/* for who asks; a person who asks */
END
printf '/* %s */\n' "$(printf 'x%.0s' {1..94})" >cli/columns.c   # 100
printf '/* %s */\n' "$(printf 'µ%.0s' {1..94})" >>cli/columns.c  # 100, of two bytes each
printf '/* %s */\n' "$(printf 'x%.0s' {1..95})" >>cli/columns.c  # 101
cat >docs/page.md <<END
| a table | $(printf 'x%.0s' {1..100}) |
A link to [a page]($(printf 'x%.0s' {1..100})).
\`\`\`
$(printf 'x%.0s' {1..110})
\`\`\`
$(printf 'x%.0s' {1..110})
It waits for ever.
END
cp docs/page.md docs/results-page.md

# expect CHECK LINE...: the check fails, and its output begins with these places, in any order, and
# no others.
expect() {
  local check=$1 output code=0
  shift
  output=$("$scripts/$check.sh" .) || code=$?
  if [[ $code -eq 77 ]]; then return; fi
  if [[ $code -eq 0 ]]; then
    echo "$check.sh passes a bad tree"
    exit 1
  fi
  diff <(printf '%s\n' "$@" | sort) <(cut -d: -f1,2 <<<"$output" | sort) || {
    echo "$check.sh reports other places (>) than the bad ones (<)"
    exit 1
  }
}

expect include_rules src/core/upward.c:3 src/store/sideways.c:1 src/store/lmdb/lmdb.c:2 \
  src/store/lmdb/lmdb.c:3 src/store/lmdb/lmdb.c:4 src/chains/through.c:2 \
  src/quotient/table/outward.c:2 bench/inside.c:3 redis/frozen.h:2
expect function_names src/quotient/twice.c:2
find src cli -type d -exec touch {}/README.md \; # but two rooms:
rm src/core/README.md
seq 31 >src/file/README.md
touch src/chains/{1..25}.h
expect rooms 'src/core: no README.md' 'src/file/README.md: more than 30 lines' \
  'src/chains: more than 25 C files'
find src cli -name README.md -delete
rm src/chains/{1..25}.h
expect library_calls src/quotient/calls.c:4 src/quotient/calls.c:6
expect prose_rules cli/words.c:1 cli/words.c:1 cli/words.c:2 cli/words.c:3 cli/columns.c:3 \
  docs/page.md:6 docs/page.md:7 docs/results-page.md:7 \
  'src/store/walk.c: the same name is used in src/quotient/table/' \
  'include, src: the term "seqlock" is not found'
rm -r src/quotient src/core/once.c src/store bench # not formatted, either
expect format src/file/format.c:1 src/file/format.c:4
