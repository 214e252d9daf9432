#!/usr/bin/env bash
# prose_rules.sh ROOT [PATH...]: checks code comments, messages and documentation. Prints every
# violation as file:line: phrase and ends with 1 if there is one. docs/glossary.md has the terms to
# use.
#
# - No phrase of the list below, in any case. Write plain technical English: short declarative
#   sentences, "per" for rates (bits per key), no metaphors for mechanisms, and a named actor.
# - No line of more than 100 columns in C files and Markdown. In Markdown, tables, code blocks and
#   the targets of links may be longer. The generated docs/results*.md and bench/records/*.md, and CHANGELOG.md are exempt.
# - No two files under src/ have the same name, except NAME.c and NAME.h in one directory.
# - The main terms of the field are found by grep in include/ and src/.
#
# With PATHs (files or directories), only the first two rules are checked, in these files.
set -eu
cd "$1"
shift
export LC_ALL=C.UTF-8

# One extended regular expression (PCRE) per line; they match whole words.
phrases=$(
  cat <<'END'
for ever
by and by
in vain
wrong yes(es)?
yes that was wrong
rate of wrong
(bits|bytes|ns|nanoseconds|microseconds|milliseconds|cycles|cache misses) an? (key|item|slot|query|block|lookup|insert|operation|entry|element|record|page|probe|fingerprint|member|read|write|step|line|bucket|level|report)
(keys|items|queries|inserts|lookups|reads|writes|operations|bytes|probes|times) a (second|minute|hour|day)(?! (time|copy|key|table|filter|store|file|list|pass|one))
(reads|probes|misses|accesses) an? (query|lookup|insert)(?! (log|file))
(as often|as long|for as long) as it takes
(for|to|by|from|than|with|of) who
who cannot
whoever
(he|she) (is|was|has|had|can|cannot|may|must|asks|saw|sees|gets|knows|wants|does|would)
at least so many
so many were
seats?
escort(s|ed|ing)?
loans?
strangers?
the books
like anybody else
wanted rate
all counted
costs almost never
almost never a
of which no
its time in files
what was learnt
something older
so to speak
thereof|therein|whereof|wherein|hitherto|lest|nay
adapt_room|room to adapt|adapt room
BESOM_(UNLIKE|NEWER|STOPPED|MEMBER)
END
)

# Terms that must be found, as they are, in any case.
terms=('false-positive rate' 'bits per key' 'load factor' 'read-copy-update' 'grace period' seqlock
  objective 'reverse map' reserve thread-safe)

restricted=
if [[ $# -gt 0 ]]; then
  restricted=yes
  paths=("$@")
else
  paths=()
  for path in include src cli program redis sqlite python bench examples tests docs fuzz scripts cmake Makefile \
    CMakeLists.txt README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md; do
    if [[ -e $path ]]; then paths+=("$path"); fi
  done
fi

# All text files but these checks themselves, which quote what they forbid.
text_files() {
  find "${paths[@]}" -type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.py' -o -name '*.pyi' -o -name '*.sh' \
    -o -name '*.session' -o -name '*.txt' -o -name '*.cmake' -o -name '*.html' -o -name '*.js' \
    -o -name '*.css' -o -name '*.bash' -o -name '*.zsh' -o -name Makefile \) \
    ! -path '*/golden/*' ! -path '*/corpus/*' \
    ! -name prose_rules.sh ! -name checks_catch.sh ! -name release_check.sh -print0
}

bad=0
report() { # the violations, one per line, on standard input
  grep . && bad=1
  return 0
}

pattern="\\b(?:$(paste -sd'|' <<<"$phrases"))\\b"
report < <(text_files | xargs -0 grep -HnoiP -e "$pattern" | sed -E 's/^([^:]*:[0-9]+):/\1: /')

# Bytes of UTF-8 sequences after the first do not count.
# shellcheck disable=SC2016 # an awk program
long_lines='
  BEGIN { columns = 100 }
  FNR == 1 { in_code = 0; markdown = FILENAME ~ /\.md$/ }
  {
    line = $0
    gsub(/[\200-\277]/, "", line)
    if (markdown) {
      if (line ~ /^[ \t]*```/) in_code = !in_code
      if (in_code || line ~ /^[ \t]*\|/ || line ~ /^[ \t]*```/) next
      gsub(/\]\([^)]*\)/, "]", line)
      gsub(/<?https?:[^ >)]*>?/, "", line)
    }
    if (length(line) > columns) printf "%s:%d: %d columns\n", FILENAME, FNR, length(line)
  }'
report < <(text_files | grep -zE '\.([ch]|md)$' | grep -zvE '(^|/)(docs/results[^/]*|bench/records/[^/]*|CHANGELOG)\.md$' |
  LC_ALL=C xargs -0r awk "$long_lines")

if [[ ${restricted} ]]; then exit $bad; fi

report < <(find src -name '*.[ch]' | sort | awk -F/ '
  {
    stem = $NF
    sub(/\.[ch]$/, "", stem)
    dir = substr($0, 1, length($0) - length($NF))
    if (!(stem in first)) first[stem] = dir
    else if (first[stem] != dir) printf "%s: the same name is used in %s\n", $0, first[stem]
  }')

for term in "${terms[@]}"; do
  grep -rqiF -e "$term" include src || report <<<"include, src: the term \"$term\" is not found"
done
exit $bad
