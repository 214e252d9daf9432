#!/usr/bin/env bash
# setup.sh demo|check|report|test|sqlite|python|redis|web|playground|test-web|cross|musl|amalgamation|deb|test-deb: installs the Debian packages that are missing for a make target.
set -eu

demo=(gcc libc6-dev make cmake libxxhash-dev liblmdb-dev)
check=(gcc libc6-dev make cmake libxxhash-dev libcmocka-dev binutils)
report=("${demo[@]}" librocksdb-dev python3 gnuplot-nox git)
test=("${report[@]}" binutils pkg-config libcmocka-dev clang clang-format-14 libclang-rt-14-dev g++
  libhiredis-dev redis-server chromium chromium-driver valgrind libsqlite3-dev sqlite3
  mandoc zlib1g-dev libzstd-dev zstd libsodium-dev minisign patch)

sqlite=(gcc libc6-dev make cmake libxxhash-dev libcmocka-dev binutils coreutils libsqlite3-dev sqlite3 python3)

python=(gcc libc6-dev make cmake libxxhash-dev liblmdb-dev binutils python3 python3-dev python3-pytest
  python3-hypothesis python3-numpy python3-build python3-setuptools python3-wheel)

redis=(gcc libc6-dev make cmake libxxhash-dev libcmocka-dev binutils redis-server python3 python3-redis)
command -v npm >/dev/null || redis+=(nodejs npm)

web=(make cmake clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32 libxxhash-dev)
command -v npm >/dev/null || web+=(nodejs npm)

playground=("${web[@]}" gcc libc6-dev python3 chromium chromium-driver)

musl=(gcc make cmake libxxhash-dev musl-tools)

cross=("${musl[@]}" libc6-dev libcmocka-dev clang python3 gcc-s390x-linux-gnu libc6-dev-s390x-cross
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user zlib1g-dev libzstd-dev zstd libsodium-dev
  minisign)

# Those of Build-Depends in debian/control, and the tools.
deb=(build-essential fakeroot dpkg-dev debhelper dh-python lintian cmake libxxhash-dev libcmocka-dev liblmdb-dev
  librocksdb-dev libhiredis-dev libsodium-dev libsqlite3-dev libzstd-dev zlib1g-dev python3-dev python3-setuptools
  python3-wheel)

case ${1-} in
demo) wanted=("${demo[@]}") ;;
check) wanted=("${check[@]}") ;;
report) wanted=("${report[@]}") ;;
test) wanted=("${test[@]}") ;;
sqlite) wanted=("${sqlite[@]}") ;;
python) wanted=("${python[@]}") ;;
redis) wanted=("${redis[@]}") ;;
web) wanted=("${web[@]}") ;;
playground) wanted=("${playground[@]}") ;;
test-web) wanted=("${playground[@]}" minisign) ;;
cross) wanted=("${cross[@]}") ;;
musl) wanted=("${musl[@]}") ;;
amalgamation) wanted=(make cmake gcc libc6-dev libxxhash-dev python3) ;;
deb) wanted=("${deb[@]}") ;;
test-deb) wanted=("${deb[@]}" redis-server redis-tools sqlite3 man-db pkg-config util-linux) ;;
*)
  echo "usage: $0 demo|check|report|test|sqlite|python|redis|web|playground|test-web|cross|musl|amalgamation|deb|test-deb" >&2
  exit 2
  ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "This is not Debian. Install the equivalents of these packages: ${wanted[*]}" >&2
  exit 0
fi

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

find_missing() {
  missing=()
  local package
  for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
}

find_missing
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ $(id -u) -ne 0 ]]; then
  echo "Packages are missing. Install them with: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Without a network the update fails, but the packages may be in the cache.
apt-get update -qq || true
if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
  find_missing
  echo "Could not install: ${missing[*]}" >&2
  echo "Check the network, then run: apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi
