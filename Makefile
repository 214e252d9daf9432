# The front door to CMake. Everything that is made lies under build/.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

.PHONY: all demo test test-long bench report install symbols format clean help build-tests

all: ## build the release: build/libbesom.so, build/libbesom.a, build/besom, build/besom-bench, build/besom-redis.so
	@cmake -S . -B build
	@cmake --build build -j$(JOBS)

demo: ## install what it takes, build, and show what a filter is worth in front of a database
	@scripts/setup.sh demo
	@$(MAKE) all
	@build/besom demo

test: build-tests ## build everything, with sanitizers and fuzzers too, and run the quick tests
	ctest --test-dir build/suite -j$(JOBS) --output-on-failure --no-tests=error -L quick

test-long: build-tests ## the same with all tests
	ctest --test-dir build/suite -j$(JOBS) --output-on-failure --no-tests=error

bench: all ## measure: queries and inserts of single kinds, then the bulk load, then the besom command
	build/besom-bench micro --kinds qf,bloom --slots 67108864 --width 8 --load 0.9
	build/besom-bench run bulk-load
	bench/cli_speed.sh

# Some claims alone (REPORT=--only=A,B) make a page, but no docs/results.md: that has all of them.
report: ## put every claim of the papers to the test: build/report/index.html and docs/results.md; REPORT=--full for hours
	@scripts/setup.sh report
	@$(MAKE) all
	@[ -e data/lists/no.txt ] && [ -e data/lists/trace-web.txt ] || bench/fetch_data.sh || echo "Claims about real data will not be tested." >&2
	@python3 bench/report $(if $(findstring --only,$(REPORT)),,--docs docs) $(REPORT)

install: all ## install library, headers, pkg-config file and CMake package: PREFIX=/usr/local DESTDIR=
	@cmake --install build --prefix $(PREFIX)

symbols: all ## rewrite src/besom.symbols, after a change of the public API
	tests/scripts/shared_symbols.sh build/libbesom.so src/besom.symbols --update

format: ## clang-format all C files
	find $(wildcard include src program cli redis bench tests fuzz examples) -name '*.[ch]' -exec clang-format -i {} +

clean: ## remove build/
	rm -rf build

help: ## show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 18

# Three builds (of what only measures, one); their tests are run as one suite, so that there is one summary.
build-tests:
	@scripts/setup.sh test
	$(call build,build,-DBESOM_TESTS=ON)
	$(call build,build/asan,-DBESOM_TESTS=ON -DBESOM_TEST_PREFIX=asan/ -DBESOM_SANITIZE=address$(,)undefined -DBESOM_BENCH=OFF \
	  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g')
	$(call build,build/fuzz,-DBESOM_FUZZ=ON -DBESOM_SANITIZE=fuzzer-no-link$(,)address$(,)undefined -DBESOM_BENCH=OFF \
	  -DBESOM_CLI=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g')
	@mkdir -p build/suite
	@echo 'subdirs("$(CURDIR)/build" "$(CURDIR)/build/asan" "$(CURDIR)/build/fuzz")' >build/suite/CTestTestfile.cmake

, := ,
define build
	@echo "== $(1)"
	@cmake -S . -B $(1) -DBESOM_WERROR=ON $(2)
	@cmake --build $(1) -j$(JOBS)
endef
