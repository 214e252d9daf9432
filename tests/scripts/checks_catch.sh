#!/usr/bin/env bash
# checks_catch.sh DIR: makes a small source tree with known violations in DIR and tests that the
# checks find them, and nothing else.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)

rm -rf "$1"
mkdir -p "$1"/src/{core,quotient,layered,store} "$1"/bench "$1"/include
cd "$1"
touch include/besom.h include/besom_store.h src/store/sorted.h src/filter.h src/core/bits.h src/quotient/table.h

cat >src/core/upward.c <<'END'
#include "besom.h"
#include "core/bits.h"
#include "filter.h"
END
cat >src/store/sideways.c <<'END'
#include "../quotient/table.h"
END
cat >src/store/lmdb.c <<'END'
#include "besom_store.h"
#include "store/sorted.h"
#include "sorted.h"
#include "core/bits.h"
END
cat >src/layered/through.c <<'END'
#include "filter.h"
#include "quotient/table.h"
END
cat >bench/inside.c <<'END'
/* the public header is fine */
#include "besom.h"
  # include "core/bits.h"
END
cat >src/quotient/calls.c <<'END'
/* malloc(1) in a comment, // and
   abort() here */
void f(void) { ops->free(p); snprintf("exit(1)", 1); } // exit(1)
void g(void) { /* so */ exit(1); }
_Static_assert(1, ""); static void *h(void) { return
malloc (1); }
END

# Lines that clang-format would change, or that it has split because of a comment.
mkdir src/file
cp "$scripts/../../.clang-format" .
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
touch src/store/table.c
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

expect include_rules src/core/upward.c:3 src/store/sideways.c:1 src/store/lmdb.c:2 \
  src/store/lmdb.c:3 src/store/lmdb.c:4 src/layered/through.c:2 bench/inside.c:3
expect library_calls src/quotient/calls.c:4 src/quotient/calls.c:6
expect prose_rules cli/words.c:1 cli/words.c:1 cli/words.c:2 cli/words.c:3 cli/columns.c:3 \
  docs/page.md:6 docs/page.md:7 docs/results-page.md:7 \
  'src/store/table.c: the same name is used in src/quotient/' \
  'include, src: the term "seqlock" is not found'
rm -r src/quotient/calls.c src/store bench # not formatted, either
expect format src/file/format.c:1 src/file/format.c:4
