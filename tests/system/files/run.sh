#!/usr/bin/env bash
# run.sh WORK_DIR BUILD_DIR...: files that builds for several platforms write are the same bytes, and
# each platform reads those of the first build. A build has the programs besom and
# learned_files, or scripts of these names in emulated/ that run them (tests/system/cross/run.sh).
set -eu
work=$1
shift
seed=(--seed 000102030405060708090a0b0c0d0e0f)

# The directory of the programs that run here; an absolute path.
programs_of() {
  if [[ -e $1/emulated/besom ]]; then
    realpath "$1/emulated"
  else
    realpath "$1"
  fi
}

make_lists() {
  seq 1 3000 >yes.txt
  seq 3001 4000 >no.txt
  (seq 11 3000; seq 3001 3010) >later.txt
  seq 3011 4000 >later_no.txt
  for i in 1 2 3 4 5; do
    seq $((i * 100)) | sed "s/^/issuer$i:/"
  done >revoked.txt
  for i in 1 2 3 4 5; do
    seq 1001 $((3000 - i * 100)) | sed "s/^/issuer$i:/"
  done >valid.txt
}

# Every form of list that the command can build, updates of one, and patches.
make_files() {
  local kind
  for kind in aqf qf bloom blocked-bloom cf vacuum fuse ribbon; do
    besom build $kind.besom --kind $kind --yes yes.txt "${seed[@]}"
  done
  besom build sip.besom --hash sip --yes yes.txt "${seed[@]}"
  besom build yesno.besom --yes yes.txt --no no.txt "${seed[@]}"
  besom build dynamic.besom --dynamic --yes yes.txt --no no.txt "${seed[@]}"
  besom build cascade.besom --smallest --yes yes.txt --no no.txt --fpr 0.001 "${seed[@]}"
  besom build learned.besom --kind learned --yes revoked.txt --no valid.txt "${seed[@]}"
  besom build stacked.besom --kind stacked --yes yes.txt --no no.txt "${seed[@]}"
  besom build groups.besom --smallest --closed --group-by '^([^:]*):' --yes revoked.txt \
    --no valid.txt "${seed[@]}"
  besom build updated.besom --update cascade.besom --yes later.txt --no later_no.txt --was yes.txt
  besom diff cascade.besom updated.besom updated.patch
  besom build later.besom --like aqf.besom --yes later.txt
  besom diff aqf.besom later.besom later.patch
  learned_files learned
}

# In the directory of the files of another platform.
check_files() {
  for file in *.besom; do
    besom verify "$file" >/dev/null
  done
  besom verify updated.besom --yes later.txt --no later_no.txt >/dev/null
  besom verify groups.besom --yes revoked.txt --no valid.txt >/dev/null
  besom patch cascade.besom updated.patch patched
  cmp patched updated.besom
  besom patch aqf.besom later.patch patched
  cmp patched later.besom
  rm patched
  learned_files learned check
}

first=
for build in "$@"; do
  platform=$(basename "$build")
  programs=$(programs_of "$build")
  rm -rf "${work:?}/$platform"
  mkdir -p "$work/$platform"
  (
    cd "$work/$platform"
    PATH=$programs:$PATH
    make_lists
    make_files
  ) >/dev/null
  first=${first:-$platform}
  (
    cd "$work/$first"
    PATH=$programs:$PATH
    check_files
  )
  n=0
  for file in "$work/$first"/*.besom "$work/$first"/*.patch; do
    cmp "$file" "$work/$platform/$(basename "$file")"
    n=$((n + 1))
  done
  echo "$platform: $n files have the bytes of $first"
done
