# make run      Weir on 127.0.0.1:8080 in front of a slow demo origin; ORIGIN=url for your own
# make demo     1,000 clients at once on one cold key, and what the origin saw of them
# make build    build/release/weir
# make test     everything that proves it; missing Debian packages are installed, no service is started
# make load     the shipped program under load and attack, each for SECONDS (60), as a table
# make soak     everything at once for SECONDS (3600), with samples of what may not grow
# make conformance  the public test suite for HTTP caches alone; part of `make test`
# make mutate   the cache's decisions with one operator changed at a time: which changes no test sees
# make fuzz     each fuzz target for FUZZ_SECONDS (60)
# make package  build/release/weir_VERSION_ARCH.deb
# make format   clang-format over the tree
# make clean    removes build/

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60

.PHONY: build run demo test load soak conformance mutate fuzz package format clean packages-build packages-test packages-package
.PHONY: packages-tools packages-bench packages-compare

build: packages-build
	cmake --preset release -DWEIR_TESTS=OFF --log-level=WARNING
	cmake --build build/release -j $(JOBS)

run: build
	@bench/demo/run serve

demo: build
	@bench/demo/run burst

test: packages-build packages-test
	cmake --preset release -DWEIR_TESTS=ON --log-level=WARNING
	cmake --build build/release -j $(JOBS)
	ctest --test-dir build/release -j $(JOBS) --output-on-failure --no-tests=error

load: packages-build packages-test
	cmake --preset release -DWEIR_TESTS=ON --log-level=WARNING
	cmake --build build/release -j $(JOBS) --target load_test
	WEIR_LOAD_SECONDS=$(or $(SECONDS),60) build/release/tests/load/load_test --gtest_brief=1 --gtest_filter=-Soak.*

soak: packages-build packages-test
	cmake --preset release -DWEIR_TESTS=ON --log-level=WARNING
	cmake --build build/release -j $(JOBS) --target load_test
	WEIR_LOAD_SECONDS=$(or $(SECONDS),3600) build/release/tests/load/load_test --gtest_brief=1 --gtest_filter=Soak.*

conformance: build packages-test
	tests/conformance/run build/release/weir build/release/conformance

mutate: packages-build packages-test
	tests/mutate/run

fuzz: packages-build packages-test
	.ci/fuzz $(FUZZ_SECONDS)

package: build packages-package
	cd build/release && cpack

format: packages-tools
	git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format -i

clean:
	rm -rf build

packages-build packages-test packages-package packages-tools packages-bench packages-compare: packages-%:
	@docker/install $*
