#!/usr/bin/env bash
# checks_catch.sh DIR: makes a small bad source tree in DIR and expects the checks to find what is wrong there.
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

# expect CHECK LINE...: it fails, and its output begins with these places, in any order, and has no more
expect() {
  local check=$1 output
  shift
  if output=$("$scripts/$check.sh" .); then
    echo "$check.sh passes a bad tree"
    exit 1
  fi
  diff <(printf '%s\n' "$@" | sort) <(cut -d: -f1,2 <<<"$output" | sort) || {
    echo "$check.sh reports other places (>) than the bad ones (<)"
    exit 1
  }
}

expect include_rules src/core/upward.c:3 src/store/sideways.c:1 src/store/lmdb.c:2 src/store/lmdb.c:3 \
  src/store/lmdb.c:4 src/layered/through.c:2 bench/inside.c:3
expect library_calls src/quotient/calls.c:4 src/quotient/calls.c:6
