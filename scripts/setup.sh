#!/usr/bin/env bash
# setup.sh TARGET: installs the Debian packages that are missing for a make target.
set -eu

declare -A packages
packages[demo]='gcc libc6-dev make cmake libxxhash-dev liblmdb-dev libsodium-dev libzstd-dev zlib1g-dev'
packages[check]='gcc libc6-dev make cmake libxxhash-dev libcmocka-dev binutils'
packages[report]="${packages[demo]} librocksdb-dev python3 gnuplot-nox git"
packages[test]="${packages[report]} binutils pkg-config libcmocka-dev clang clang-format-14
  libclang-rt-14-dev g++ libhiredis-dev redis-server chromium chromium-driver valgrind libsqlite3-dev
  sqlite3 mandoc zlib1g-dev libzstd-dev zstd libsodium-dev libcurl4-openssl-dev minisign patch libidn2-dev
  publicsuffix"
packages[sqlite]="${packages[check]} coreutils libsqlite3-dev sqlite3 python3"
packages[python-dist]="${packages[demo]} binutils python3 python3-dev python3-build
  python3-setuptools python3-wheel python3-venv"
packages[python]="${packages[python-dist]} python3-pytest python3-hypothesis python3-numpy
  python3-pandas python3-sqlalchemy python3-requests python3-tqdm python3-matplotlib mypy"
packages[redis]="${packages[check]} redis-server python3 python3-redis"
packages[web]='make cmake clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32 libxxhash-dev'
packages[dns]="${packages[check]} python3 dnsdist knot-resolver unbound python3-unbound dnsperf publicsuffix"
if ! command -v npm >/dev/null; then
  packages[redis]+=' nodejs npm'
  packages[web]+=' nodejs npm'
fi
packages[playground]="${packages[web]} gcc libc6-dev python3 chromium chromium-driver"
packages[site]='pandoc mandoc python3 chromium chromium-driver'
packages[test-web]="${packages[playground]} minisign"
packages[musl]='gcc make cmake libxxhash-dev musl-tools'
packages[cross]="${packages[musl]} libc6-dev libcmocka-dev clang python3 gcc-s390x-linux-gnu
  libc6-dev-s390x-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user zlib1g-dev libzstd-dev
  zstd libsodium-dev minisign"
packages[amalgamation]='make cmake gcc libc6-dev libxxhash-dev python3'
packages[go]="${packages[amalgamation]} golang-go"
packages[test-go]="${packages[go]} ${packages[check]} libsodium-dev minisign go-staticcheck"
packages[java]="${packages[amalgamation]} openjdk-17-jdk-headless"
packages[rust]="${packages[amalgamation]} cargo rustc"
packages[test-rust]="${packages[rust]} rust-clippy"
# Those of Build-Depends in debian/control, and the tools.
packages[deb]='build-essential fakeroot dpkg-dev debhelper dh-python lintian cmake libxxhash-dev
  libcmocka-dev libcurl4-openssl-dev liblmdb-dev librocksdb-dev libhiredis-dev libidn2-dev
  libsodium-dev libsqlite3-dev
  libzstd-dev zlib1g-dev python3-dev python3-setuptools python3-wheel'
packages[test-deb]="${packages[deb]} redis-server redis-tools sqlite3 man-db pkg-config util-linux"
packages[analyze]="${packages[demo]} librocksdb-dev libhiredis-dev libsqlite3-dev zlib1g-dev
  libzstd-dev libsodium-dev libcurl4-openssl-dev python3 cppcheck clang-tidy-14"
packages[mutants]="${packages[demo]} lld librocksdb-dev libhiredis-dev redis-server libcmocka-dev python3"

if [[ $# -ne 1 || ! ${packages[$1]-} ]]; then
  echo "usage: $0 $(printf '%s\n' "${!packages[@]}" | sort | paste -sd'|')" >&2
  exit 2
fi
read -r -d '' -a wanted <<<"${packages[$1]}" || true

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
