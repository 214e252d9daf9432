#!/usr/bin/env bash
# package_paths.sh [DIRECTORY]: which Debian package has this path? A map, a table of sqlite3, grep
# and zgrep over the same index: size, build, time per lookup (docs/map.md). Fetches the index of
# bookworm (46 MB, 7.3 million paths) into DIRECTORY, default data/packages, unless it is there, and
# needs 4 GB of disk. Times are CPU seconds of one core. BESOM is the command.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
besom=$(realpath "${BESOM-$here/build/besom}")
mkdir -p "${1-$here/data/packages}"
cd "${1-$here/data/packages}"
mirror=http://deb.debian.org/debian/dists/bookworm/main
queries=100000

for name in Contents-all Contents-amd64; do
  [[ -e $name.gz ]] || { curl -fsS -o "$name.part" "$mirror/$name.gz" && mv "$name.part" "$name.gz"; }
done
cat Contents-all.gz Contents-amd64.gz >contents.gz
zcat contents.gz >contents.txt

# A line of the index: path, blanks, section/package, more of them after commas.
awk '{
  n = split($NF, packages, ",")
  path = $0
  sub(/[ \t]+[^ \t]+$/, "", path)
  for (i = 1; i <= n; i++) { name = packages[i]; sub(/.*\//, "", name); print path "\t" name }
}' contents.txt >pairs.tsv
awk -v n="$(wc -l <pairs.tsv)" -v queries=$queries -F '\t' \
  'NR % int(n / queries) == 0 { print $1 }' pairs.tsv | head -$queries >present.txt
sed 's/$/.not-there/' present.txt >absent.txt

# seconds COMMAND...: of one run, in CPU time, with that of children. The output goes to a file: if it
# is /dev/null, grep ends at the first line that it finds.
seconds() {
  local TIMEFORMAT='%U %S'
  { time "$@" >stdout.txt 2>stderr.txt; } 2>&1 | awk '{ print $1 + $2 }'
}

build_sqlite() {
  rm -f packages.db
  sqlite3 packages.db "CREATE TABLE paths(path TEXT, package TEXT, PRIMARY KEY(path, package)) WITHOUT ROWID" \
    ".mode ascii" ".separator \"\t\" \"\n\"" ".import pairs.tsv paths"
}

ask_sqlite() { # FILE
  { echo ".mode tabs"
    sed "s/'/''/g; s/.*/SELECT path, package FROM paths WHERE path = '&';/" "$1"; } | sqlite3 packages.db
}

grep_each() { # GREP INDEX FILE: a run per path
  while IFS= read -r path; do "$1" -F -- "$path" "$2" || true; done <"$3"
}

get_each() { # FILE
  while IFS= read -r path; do "$besom" map get packages.map "$path" || true; done <"$1"
}

row() { # NAME SIZE BUILD PRESENT ABSENT
  printf '| %s | %s | %s | %s | %s |\n' "$@"
}

per_lookup() { # SECONDS QUERIES
  awk -v s="$1" -v n="$2" 'BEGIN { t = s / n
    if (t < 1e-3) printf "%.1f us", t * 1e6; else if (t < 1) printf "%.0f ms", t * 1e3; else printf "%.1f s", t }'
}

megabytes() { # FILE
  awk -v n="$(stat -c %s "$1")" 'BEGIN { printf "%.1f MB", n / 1e6 }'
}

lookups() { # NAME SIZE BUILD QUERIES COMMAND...: the command gets a file of paths
  local name=$1 size=$2 build=$3 n=$4
  shift 4
  head -"$n" present.txt >some.txt
  local present absent
  present=$(per_lookup "$(seconds "$@" some.txt)" "$n")
  head -"$n" absent.txt >some.txt
  absent=$(per_lookup "$(seconds "$@" some.txt)" "$n")
  row "$name" "$size" "$build" "$present" "$absent"
}

echo "$(wc -l <contents.txt) paths, $(wc -l <pairs.tsv) pairs, $(cut -f 2 pairs.tsv | sort -u | wc -l) packages"
echo
row "" size build "lookup, present" "lookup, absent"
row --- --- --- --- ---
map_seconds=$(seconds "$besom" map build packages.map --pairs pairs.tsv)
lookups "besom map query, $queries paths at once" "$(megabytes packages.map)" "$map_seconds s" $queries \
  "$besom" map query packages.map
lookups "besom map get, a run per path" "$(megabytes packages.map)" "$map_seconds s" 20 \
  get_each
sqlite_seconds=$(seconds build_sqlite)
lookups "sqlite3, $queries paths at once" "$(megabytes packages.db)" "$sqlite_seconds s" $queries ask_sqlite
lookups "grep -F, a run per path" "$(megabytes contents.txt)" "" 3 grep_each grep contents.txt
lookups "zgrep -F, a run per path" "$(megabytes contents.gz)" "" 3 grep_each zgrep contents.gz

# Every package that has a path must be among its candidates.
"$besom" map query packages.map present.txt | sort >candidates.txt
awk -F '\t' 'NR == FNR { asked[$0]; next } $1 in asked' present.txt pairs.tsv | sort -u >true.txt
echo
echo "$(comm -13 candidates.txt true.txt | wc -l) of $(wc -l <true.txt) pairs are missing," \
  "$(comm -23 candidates.txt true.txt | wc -l) candidates are wrong;" \
  "$("$besom" map query packages.map absent.txt | wc -l) of $queries absent paths have one"
