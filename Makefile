# A front end to CMake. All build products are under build/.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

# No target is a file: all that have a description, and those that have none.
.PHONY: build-tests picture-numbers $(shell sed -nE 's/^([a-z-]+):.*[#]# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

all: ## build the release: libbesom.so, libbesom.a, besom, besom-bench, besom-redis.so, besom-sqlite.so, examples in build/; VERBOSE=1 shows every command
	@VERBOSE='$(VERBOSE)' scripts/build.sh build $(JOBS)

demo: ## install missing packages, build, and show what a filter saves in front of a database
	@scripts/setup.sh demo
	@$(MAKE) all
	@build/besom demo

# The inner loop of development: the build directory is that of `make test`. It is configured only
# once; the build itself notices when that is needed again.
check: ## build the release, run the fast tests, check formatting, includes and prose: a minute
	@scripts/setup.sh check
	@cmake -L -N build 2>/dev/null | grep -q BESOM_TESTS:BOOL=ON || \
	  cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target check_programs
	ctest --test-dir build -j$(JOBS) --output-on-failure --no-tests=error -L check

test: build-tests ## build all, also with sanitizers and fuzzers, and run the quick tests: 10 minutes
	ctest --test-dir build/suite -j$(JOBS) --output-on-failure --no-tests=error -L quick

# N=30 takes hours. REPEAT='-R guard' is for ctest: some of the tests.
N ?= 30
test-repeat: build-tests ## run every quick test N=30 times, idle and with busy cores: none may fail once
	@tests/quality/scripts/repeat.sh build/suite $(N) $(REPEAT)

test-long: build-tests ## run the quick and the long tests: hours
	@cmake --build build -j$(JOBS) --target thread_programs
	ctest --test-dir build/suite -j$(JOBS) --output-on-failure --no-tests=error -L 'quick|long|threads'

# State and failures are in build/soak. SOAK=--part=model,--minutes=30 runs one part for half an hour;
# tests/quality/soak/soak.py --help lists the options.
soak: ## run the longest tests, go on where the last run ended, write docs/trust/soak.md: days
	@scripts/setup.sh test
	$(call build,build,-DBESOM_TESTS=ON,--target soak_programs)
	$(call build,build/asan,$(sanitized),--target soak_programs)
	@python3 tests/quality/soak/soak.py $(subst $(,)--, --,$(SOAK))

# PLANTED=--only=A,B plants some of them; tests/quality/soak/planted.py --help lists the options.
planted: ## plant bugs in a copy of the sources, one at a time: the parts of make soak must find them; an hour
	@scripts/setup.sh test
	@python3 tests/quality/soak/planted.py $(subst $(,)--, --,$(PLANTED))

test-threads: ## test threads with the thread sanitizer: a minute
	@scripts/setup.sh test
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target thread_programs
	ctest --test-dir build -j$(JOBS) --output-on-failure --no-tests=error -L threads

# As the release is, without assertions. COVERAGE=--fresh forgets the counts of earlier runs.
coverage: ## count the lines and branches of src/ that the tests run, and write docs/trust/coverage.md: 10 minutes
	@for tests in test sqlite redis python; do scripts/setup.sh $$tests || exit; done
	@cmake -S . -B build/coverage -DBESOM_TESTS=ON -DBESOM_COVERAGE=ON -DBESOM_BENCH=OFF \
	  -DCMAKE_BUILD_TYPE=Coverage -DCMAKE_C_FLAGS_COVERAGE='-O1 -DNDEBUG'
	@cmake --build build/coverage -j$(JOBS)
	@PYTHONDONTWRITEBYTECODE=1 python3 tests/quality/coverage build/coverage --jobs $(JOBS) --page docs/trust/coverage.md $(COVERAGE)

# WALK='--list guard put' names the functions of a call.
walk: ## count the functions and files that a key passes: aqf contains, guard put and get over LMDB; a minute
	@scripts/setup.sh demo
	@$(call build,build/walk,-DBESOM_TESTS=ON -DCMAKE_BUILD_TYPE=Walk \
	  -DCMAKE_C_FLAGS_WALK='-O0 -g1 -gdwarf-4 -DNDEBUG -finstrument-functions',--target walk)
	@python3 tests/quality/walk/walk.py build/walk/tests/walk $(WALK)

# Uses the builds of `make test`; without them it makes the release only.
test-sqlite: ## test the extension for SQLite: a minute after `make test`
	@scripts/setup.sh sqlite
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target sqlite_programs
	ctest --test-dir build -j$(JOBS) --output-on-failure --no-tests=error -L sqlite
	@[ ! -e build/asan/CMakeCache.txt ] || { cmake --build build/asan -j$(JOBS) --target sqlite_programs && \
	  ctest --test-dir build/asan -j$(JOBS) --output-on-failure --no-tests=error -L sqlite; }

python: ## build the package for Python in build/python, for the interpreter /usr/bin/python3
	@scripts/setup.sh python-dist
	@cmake -S . -B build
	@cmake --build build -j$(JOBS) --target besom_python

python-dist: ## make the source distribution and the wheel for Python in build/python-dist
	@scripts/setup.sh python-dist
	@python/dist.sh build/python-dist
	@ls build/python-dist/*

# Uses the builds of `make test`; without them it makes the release only.
test-python: ## test the package for Python: a minute after `make test`
	@scripts/setup.sh python
	@cmake -S . -B build -DBESOM_WERROR=ON
	@cmake --build build -j$(JOBS) --target besom_python
	@[ ! -e build/asan/CMakeCache.txt ] || { cmake -S . -B build/asan && \
	  cmake --build build/asan -j$(JOBS) --target besom_python; }
	python/tests/run.sh build build/asan

# Failovers depend on the timing of servers, so a test gets a second attempt.
test-redis: ## test the module for Redis and Valkey: failovers, upgrades, clients of RedisBloom, shards: a minute
	@scripts/setup.sh redis
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target redis_programs
	ctest --test-dir build -j$(JOBS) --output-on-failure --no-tests=error --repeat until-pass:2 -L redis

test-dns: ## test the examples for name servers in dnsdist, Knot Resolver and unbound: 10 seconds
	@scripts/setup.sh dns
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target besom-command besom
	ctest --test-dir build --output-on-failure --no-tests=error -L dns

web: ## build the WebAssembly modules in build/wasm, and the npm package besom in build/npm
	@scripts/setup.sh web
	@cmake -S . -B build/wasm -DCMAKE_TOOLCHAIN_FILE='$(CURDIR)/web/wasm/wasm32.cmake' -DBESOM_WERROR=ON
	@cmake --build build/wasm -j$(JOBS)
	@node web/build.mjs build/wasm build/npm

# The files that the native command builds are compared with those of the package.
test-web: web ## test the npm package in Node and Chromium, and the playground: a minute after `make web`
	@scripts/setup.sh test-web
	@cmake --build build/wasm -j$(JOBS) --target contract
	@cmake -S . -B build -DBESOM_WERROR=ON
	@cmake --build build -j$(JOBS) --target besom-command
	node --expose-gc --test web/test/*.test.mjs
	@$(MAKE) test-playground

test-oss-fuzz: ## build the fuzz targets as OSS-Fuzz does, and run each for some seconds: three minutes
	@scripts/setup.sh test
	@tests/system/packages/oss_fuzz.sh . build/oss-fuzz

playground: web ## write build/playground.html, which opens from disk: watch a filter learn, and race filters
	@node web/playground/bundle.mjs build/wasm/playground.wasm build/playground.html
	@echo "build/playground.html"

site: all playground ## write build/site: the documentation, manual pages and playground as a site that opens from disk
	@scripts/setup.sh site
	@python3 site/build.py build/site

test-site: site ## check the links, headings, colours and search of the site in Chromium: a minute after `make site`
	PYTHONDONTWRITEBYTECODE=1 python3 tests/system/pages/site.py build/site $(SITE_PICTURES)

# With PICTURES=docs/images it takes the pictures of the documentation.
test-playground: playground ## run the playground in Chromium, and compare its numbers with the native library
	@scripts/setup.sh playground
	@cmake -S . -B build -DBESOM_WERROR=ON
	@cmake --build build -j$(JOBS) --target playground-numbers
	PYTHONDONTWRITEBYTECODE=1 python3 web/test/playground.py build/playground.html \
	  build/web/playground/playground-numbers $(PICTURES)

picture-numbers:
	@cmake -S . -B build
	@cmake --build build -j$(JOBS) --target playground-numbers

picture: picture-numbers ## draw the picture of the README again, docs/images/savings.svg
	@scripts/plot_savings.py build/web/playground/playground-numbers docs/images/savings.svg

chart: all ## measure every kind, and draw the chart of docs/benchmarks.md, docs/images/kinds.svg: two minutes
	@scripts/plot_kinds.py --measure build/besom-bench bench/records/kinds.csv docs/images/kinds.svg

# PLATFORMS="s390x musl" TESTS=contract runs a part.
cross: ## build and test with gcc, clang, musl, and for aarch64 and s390x under qemu: about an hour
	@scripts/setup.sh cross
	@JOBS=$(JOBS) TESTS='$(TESTS)' tests/system/cross/run.sh $(PLATFORMS)

musl: ## build the besom command as a static program, with musl: build/cross/musl/besom
	@scripts/setup.sh musl
	@cmake -S . -B build/cross/musl -DCMAKE_TOOLCHAIN_FILE='$(CURDIR)/tests/cross/musl.cmake' -DBESOM_WERROR=ON
	@cmake --build build/cross/musl -j$(JOBS) --target besom-command
	@echo "build/cross/musl/besom"

# FORM=small has no published systems (so has PAPERS=OFF), FORM=reader only reads saved filters,
# FORM=all has code for AVX-512 and all frequent widths, too.
FORM ?= $(if $(filter OFF,$(PAPERS)),small)
amalgamation: ## write the library as one file, build/amalgamation/besom.c; FORM=small, reader or all: another form
	@scripts/setup.sh amalgamation
	@cmake -S . -B build
	@cmake --build build --target besom_amalgamation$(addprefix _,$(FORM))
	@echo "build/amalgamation/$(addsuffix /,$(FORM))besom.c build/amalgamation/$(addsuffix /,$(FORM))besom.h"

test-amalgamation: ## compile its forms with gcc and clang, print the times, run the laws of filters against it: 5 minutes
	@scripts/setup.sh test
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	@cmake --build build -j$(JOBS) --target besom_amalgamation besom_amalgamation_small \
	  besom_amalgamation_reader contract_tests
	ctest --test-dir build --verbose --no-tests=error -L amalgamation

go: amalgamation ## write the module for Go, with the library as one file, in build/go
	@scripts/setup.sh go
	@mkdir -p build/go
	@rm -f build/go/*.go
	@cp go/*.go go/go.mod go/shim.[ch] LICENSE build/amalgamation/besom.[ch] build/go

test-go: go ## test the module for Go, with the race detector and fuzzers, too: a minute
	@scripts/setup.sh test-go
	@cmake -S . -B build -DBESOM_WERROR=ON
	@cmake --build build -j$(JOBS) --target besom-command
	go/test.sh build/go build/besom

rust: amalgamation ## write the crates for Rust, with the library as one file, in build/rust
	@scripts/setup.sh rust
	@mkdir -p build/rust/besom-sys/c
	@cp -r rust/Cargo.toml rust/besom rust/besom-sys build/rust
	@cp build/amalgamation/besom.[ch] build/rust/besom-sys/c

java: amalgamation ## write the package for Java, with the library inside: build/java/besom.jar
	@scripts/setup.sh java
	@java/build.sh build/amalgamation build/java

test-java: java ## test the package for Java, with the checks of JNI: a minute
	java/test.sh build/java

test-rust: rust ## test the crates for Rust, with clippy: a minute
	@scripts/setup.sh test-rust
	rust/test.sh build/rust

deb: ## build the Debian packages in build/deb, and check them with lintian
	@scripts/setup.sh deb
	@scripts/deb.sh build/deb -j$(JOBS)

# Needs root, for a root directory of its own; nothing is installed on this machine.
test-deb: ## build the packages, install them into a clean root, run the first steps there, remove them
	@[ "$$(id -u)" = 0 ] || { echo "make test-deb needs root, for a root directory of its own" >&2; exit 1; }
	@$(MAKE) deb
	@scripts/setup.sh test-deb
	tests/system/packages/run.sh build/deb

test-builds: ## build static, with link-time optimization, by FetchContent, and twice: identical files; half an hour
	@scripts/setup.sh test
	@cmake -S . -B build -DBESOM_WERROR=ON -DBESOM_TESTS=ON
	ctest --test-dir build --output-on-failure --no-tests=error -R '^(build_forms|reproducible(_deb)?)_long$$'

# One source at a time, and only those that changed since the last run; the first run takes a minute.
analyze: ## static analysis with gcc -fanalyzer and cppcheck: no finding without a reason: a minute
	$(call analyze)

analyze-all: ## also with clang-tidy: two minutes
	$(call analyze,--all)

analyze-page: ## write docs/trust/analysis.md: the suppressed findings and why they are no defects
	@python3 tests/quality/analysis/analyze.py --page build/analyze

# The draw is the same for everybody. It goes on where it was interrupted.
mutants: ## test 300 mutants of the library, and write docs/trust/mutants.md: an hour
	@scripts/setup.sh mutants
	@nice -n 19 python3 tests/quality/mutants/mutants.py $(MUTANTS)

bench: all ## measure queries and inserts of some kinds, bulk loading, and the besom command
	build/besom-bench micro --kinds qf,bloom --slots 67108864 --width 8 --load 0.9
	build/besom-bench run bulk-load
	bench/cli_speed.sh

# With REPORT=--only=A,B there is a page, but docs/results.md is not written: it has all claims. Full
# runs are kept in bench/records/full claim by claim: the same command continues.
report: ## test all claims: build/report/index.html and docs/results.md; REPORT=--full takes hours
	@scripts/setup.sh report
	@$(MAKE) all
	@[ -e data/lists/no.txt ] && [ -e data/lists/trace-web.txt ] || bench/fetch_data.sh || \
	  echo "Claims about real data will not be tested." >&2
	@python3 bench/report $(if $(findstring --full,$(REPORT)),--docs docs,$(if $(findstring --only,$(REPORT)),,--docs docs)) $(REPORT)

release-check: all picture-numbers ## what is missing for a release: a line per check (docs/releasing.md)
	@scripts/release-check.sh . build

# KEY is the secret key of minisign that the checksums are signed with; without it they are not.
release: amalgamation playground go rust ## write build/release: source archive, SBOM, one C file, packages for Go and Rust, playground, checksums: KEY=FILE
	@$(archive) -f build/besom-go.tar.gz --transform 's,^go,besom-go,' go
	@$(archive) -f build/besom-rust.tar.gz --transform 's,^rust,besom-rust,' --exclude rust/target --exclude Cargo.lock rust
	@scripts/release.py build/release $(if $(KEY),--key '$(KEY)') --extra build/amalgamation/besom.c \
	  build/besom-go.tar.gz build/besom-rust.tar.gz build/playground.html

install: all ## install library, headers, pkg-config files, CMake package: PREFIX=/usr/local DESTDIR=
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@DESTDIR="$(DESTDIR)" scripts/uninstall.sh --remember build "$(PREFIX)"

uninstall: ## remove what `make install` has installed: PREFIX=/usr/local DESTDIR=
	@DESTDIR="$(DESTDIR)" scripts/uninstall.sh "$(PREFIX)"

install-redis: all ## install the module for Redis and a sample configuration: PREFIX=/usr/local SYSCONFDIR=/etc DESTDIR=
	@DESTDIR="$(DESTDIR)" scripts/install-redis.sh build/besom-redis.so "$(PREFIX)" "$(SYSCONFDIR)"

symbols: all ## rewrite src/besom.symbols and debian/ after a change of the public API or the version
	tests/quality/scripts/shared_symbols.sh build/libbesom.so src/besom.symbols --update
	scripts/debian_version.sh --update

format: ## format all C files with clang-format 14
	tests/quality/scripts/format.sh . --update

clean: ## remove build/
	rm -rf build

help: ## show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 20

# Three builds whose tests are run as one suite, so that there is one summary. Benchmarks are built
# once, in release mode.
build-tests:
	@scripts/setup.sh test
	$(call build,build,-DBESOM_TESTS=ON)
	$(call build,build/asan,$(sanitized))
	$(call build,build/fuzz,-DBESOM_FUZZ=ON -DBESOM_BENCH=OFF -DBESOM_CLI=OFF -DBESOM_PORTABLE=ON \
	  -DBESOM_SANITIZE=fuzzer-no-link$(,)address$(,)undefined -DCMAKE_C_COMPILER=clang $(traced))
	@mkdir -p build/suite
	@echo 'subdirs("$(CURDIR)/build" "$(CURDIR)/build/asan" "$(CURDIR)/build/fuzz")' \
	  >build/suite/CTestTestfile.cmake

# $(call analyze,OPTIONS)
define analyze
	@scripts/setup.sh analyze
	@cmake -S . -B build/analyze -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DBESOM_BENCH=OFF \
	  -DBESOM_PYTHON=OFF -DBESOM_EXAMPLES=OFF >/dev/null
	@python3 tests/quality/analysis/analyze.py $(1) build/analyze
endef

, := ,
# The same bytes on every machine.
archive = tar -C build --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -I 'gzip -n9' -c
# Line numbers are all that the traces of a sanitizer need; more would take a third of the build.
traced = -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g1'
sanitized = -DBESOM_TESTS=ON -DBESOM_TEST_PREFIX=asan/ -DBESOM_BENCH=OFF \
  -DBESOM_SANITIZE=address$(,)undefined $(traced)
# $(call build,DIRECTORY,OPTIONS[,OPTIONS OF THE BUILD])
define build
	@echo "== $(1)"
	@cmake -S . -B $(1) -DBESOM_WERROR=ON $(2)
	@cmake --build $(1) -j$(JOBS) $(3)
endef
