#!/usr/bin/env bash
# test.sh CRATES: tests the crates for Rust (build/rust).
set -eu
BESOM_VECTORS=$(realpath "$(dirname "$0")/../tests/vectors")
export BESOM_VECTORS
cd "$1"
PATH=/usr/bin:$PATH # cargo and rustc of Debian: the oldest that are supported
export CARGO_NET_OFFLINE=true
cargo --version
cargo test --quiet --workspace --all-features
if cargo clippy --version >/dev/null 2>&1; then
  cargo clippy --quiet --workspace --all-features --all-targets -- -D warnings
else
  echo "clippy is not installed: not run"
fi
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --no-deps --all-features
