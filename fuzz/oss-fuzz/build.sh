#!/bin/bash -eu
# Builds the fuzz targets and their corpora as OSS-Fuzz does, which sets SRC, WORK, OUT, CC, CXX,
# CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE. `make test-oss-fuzz` runs it on this machine.
cd "$SRC/besom"
cmake -S . -B "$WORK/besom" -DBESOM_FUZZ=ON -DBESOM_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
  -DBESOM_BENCH=OFF -DBESOM_CLI=OFF -DBESOM_EXAMPLES=OFF -DBESOM_PORTABLE=ON -DCMAKE_BUILD_TYPE=None
cmake --build "$WORK/besom" -j"$(nproc)" --target fuzz_targets

for source in fuzz/fuzz_*.c; do
  target=$(basename "$source" .c)
  cp "$WORK/besom/fuzz/$target" "$OUT/"
  corpus=fuzz/corpus/${target/fuzz_open/fuzz_load} # both read saved filters
  [ ! -d "$corpus" ] || (cd "$corpus" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
done
