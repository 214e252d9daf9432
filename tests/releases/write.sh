#!/usr/bin/env bash
# write.sh BUILD DIRECTORY: writes the databases, filters, patches and signatures of the release that
# was built in BUILD to DIRECTORY, a new one: tests/releases/VERSION. Files of a release are written
# once (docs/releasing.md). Needs the targets write_databases, sqlite_release and besom-command, and
# minisign. The files of the Redis module: tests/system/redis/upgrade.py --write.
set -eu
build=$(realpath "$1")
mkdir "$2"
out=$(realpath "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# Locks and logs for people are left out. Nothing tells who packed the files, or when.
pack() { # DIRECTORY
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --exclude=lock.mdb --exclude='LOG*' \
    -c "$1" | gzip -9n >"$out/$1.tar.gz"
}

mkdir databases
"$build/tests/releases/write_databases" databases
cd databases
for name in *; do pack "$name"; done
cd ..

"$build/tests/system/sqlite/sqlite_release" --write release.db
mkdir sqlite
mv release.db sqlite/
pack sqlite

# Lists of three days, of kinds whose patches differ: cells of a table, and updates of a cascade.
# The secret key ends with this script. The list of the third day is the result of a patch only.
mkdir lists
cd lists
besom() { "$build/besom" "$@" >/dev/null; }
for day in 1 2 3; do { seq 1 1000; echo "only$day"; } >"../$day.txt"; done
seq 2001 2100 >../no.txt
seed=000102030405060708090a0b0c0d0e0f
besom build aqf.1.besom --yes ../1.txt --seed $seed
besom build yesno.1.besom --yes ../1.txt --no ../no.txt --seed $seed
besom build cascade.1.besom --smallest --yes ../1.txt --no ../no.txt --fpr 0.001 --seed $seed
for day in 2 3; do
  last=$((day - 1))
  besom build aqf.$day.besom --like aqf.1.besom --yes ../$day.txt
  besom build yesno.$day.besom --like yesno.1.besom --yes ../$day.txt --no ../no.txt
  besom build cascade.$day.besom --update cascade.$last.besom --yes ../$day.txt --no ../no.txt \
    --was ../$last.txt
done
minisign -G -W -f -p list.pub -s ../list.key >/dev/null
for kind in aqf yesno cascade; do
  for day in 1 2 3; do
    besom sign $kind.$day.besom --key ../list.key --name $kind --sequence $day --expires 2100-01-01
  done
  besom diff $kind.1.besom $kind.2.besom $kind.2.patch --sign ../list.key
  besom diff $kind.2.besom $kind.3.besom $kind.3.patch --sign ../list.key
  sha256sum $kind.3.besom >>results
  rm $kind.[23].besom $kind.[23].besom.minisig
done
cd ..
pack lists
ls -l "$out"
