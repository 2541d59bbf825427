# One set of commands for people and for CI. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUN := $(BIN)/python
MINUTES ?= 30
CAPTURES ?= examples/captures
SEED ?= 0
SECONDS ?= 120
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
#: Markers that only their own targets run.
APART := not slow and not benchmark and not ns3

# Tests start trafficgen a thousand times: keep compiled Python even where an image forbids it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo optimised test test-all test-rest test-rust lint lint-python lint-rust fuzz \
	mutate verify ns3 kernel verification-results callgrind bench bench-results release \
	release-check wheels wheel-check wheels-portable soak audit docs site format clean

help:  ## list the commands
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(BIN)/maturin: constraints.txt | $(BIN)/python
	$(PIP) install --quiet --no-compile --constraint constraints.txt maturin
	touch $@

# The Rust core, in a profile that compiles quickly, put beside the Python sources.
$(VENV)/core: $(RUST) $(BIN)/maturin
	$(BIN)/maturin develop --locked --profile quick --skip-install
	touch $@

# The same for speed: link-time optimisation, one unit of code.
optimised: $(VENV)/installed
	$(BIN)/maturin develop --locked --release --skip-install
	rm -f $(VENV)/core  # the next target that needs no speed puts the other back

# What the demo needs: the core dependencies and the extra `report`. Maturin first: of two pips in
# one environment each may see what the other has half written.
$(VENV)/packages-demo: pyproject.toml constraints.txt | $(BIN)/maturin
	$(RUN) release/requirements.py report >$(VENV)/requirements.txt
	$(PIP) install --no-compile --progress-bar off --constraint constraints.txt \
		--requirement $(VENV)/requirements.txt
	touch $@

# What tests, lint and docs need: all extras and groups.
$(VENV)/packages: pyproject.toml constraints.txt | $(BIN)/maturin
	$(RUN) release/requirements.py all --groups test lint docs >$(VENV)/requirements.txt
	$(PIP) install --quiet --constraint constraints.txt --requirement $(VENV)/requirements.txt
	touch $@ $(VENV)/packages-demo

# The command `trafficgen`; its packages are there already.
define install_command
PIP_QUIET=1 $(BIN)/maturin develop --quiet --locked --profile quick
touch $@
endef

$(VENV)/installed: $(VENV)/packages $(VENV)/core
	$(install_command)

$(VENV)/installed-demo: $(VENV)/packages-demo $(VENV)/core
	$(install_command)

demo:  ## build, then `trafficgen demo`: the commands on a shipped capture
	@echo "# Compiling the Rust core and installing Python packages, side by side"
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/installed-demo
	$(BIN)/trafficgen demo --force

test:  ## the tests that a change needs
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/installed
	@$(MAKE) --no-print-directory test-rust
	$(RUN) -m pytest -n auto --dist worksteal -m "not long and $(APART)"

test-all: test test-rest  ## every test but those of `verify`, `ns3`, `kernel` and `bench`

test-rest: $(VENV)/installed  ## what `test-all` adds: real tools, browser, cluster, long tests
	$(RUN) -m pytest -n auto --dist worksteal -m "long and $(APART)"

test-rust:
	cargo test --quiet --profile quick --workspace

lint: lint-python lint-rust  ## style, types, layers, stub against binary

lint-python: $(VENV)/installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest trafficgen._core

lint-rust:
	cargo fmt --all --check
	cargo clippy --quiet --profile quick --workspace --all-targets -- --deny warnings

fuzz:  ## fuzz the Rust core, SECONDS=120 in all (libFuzzer: needs a C++ compiler)
	$(PYTHON) fuzz/run.py --seconds $(SECONDS) $(if $(JOBS),--jobs $(JOBS))

mutate: $(VENV)/installed  ## commands on damaged inputs, for SECONDS=120 (or COUNT=100000 SEED=1)
	nice -n 19 $(RUN) -m tests.mutated.campaign --seed $(SEED) \
		$(if $(COUNT),--count $(COUNT),--seconds $(SECONDS))

verify: $(VENV)/installed  ## longer checks: simulation studies, large files
	$(RUN) -m pytest -n auto --dist worksteal -m slow

.venv-ns3/installed:  # ns-3's wheel: Python 3.11 on x86-64
	test -x .venv-ns3/bin/python || $(PYTHON) -m venv .venv-ns3
	.venv-ns3/bin/python -m pip --disable-pip-version-check --quiet install ns3==3.44.post0
	touch $@

.venv-trex/installed:  # TRex's own Python client, which takes no Python newer than 3.11
	test -x .venv-trex/bin/python || $(PYTHON) -m venv .venv-trex
	.venv-trex/bin/python -m pip --disable-pip-version-check --quiet install --no-deps \
		lbr-trex-client==3.4.0
	touch $@

.venv-peers/installed:  # readers that are compared with ours, and whose requirements are not ours
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install nfstream==6.6.0
	touch $@

ns3: $(VENV)/installed .venv-ns3/installed  ## the same dumbbell in ns-3 (Python 3.11 on x86-64)
	TRAFFICGEN_NS3_PYTHON=$(CURDIR)/.venv-ns3/bin/python $(RUN) -m pytest -m ns3
	TRAFFICGEN_NS3_PYTHON=$(CURDIR)/.venv-ns3/bin/python $(RUN) -m tests.verification.ns3_mixes
	$(RUN) -m pytest tests/verification/test_mixes.py -k "ns-3:"

kernel: $(VENV)/installed  ## mixes of flows in network namespaces (root; an hour and a half)
	$(RUN) -m tests.verification.kernel_mixes
	$(RUN) -m pytest tests/verification/test_mixes.py -k "kernel:"

verification-results: $(VENV)/installed  ## records of "How sure are we" (PARTS="theory")
	$(RUN) docs/verification_results.py $(PARTS)

callgrind: $(VENV)/installed  ## instructions of the Rust loops against those stored (valgrind)
	$(RUN) benchmarks/instructions.py

bench: optimised  ## speed next to other tools (half an hour; peers: .venv-peers/installed)
	$(RUN) benchmarks/run.py

bench-results: optimised .venv-peers/installed  ## records of "How fast"
	$(RUN) benchmarks/run.py --record $(PARTS)

release: $(VENV)/installed  ## wheel, source archive and bill of materials, in dist/
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --out dist
	$(RUN) release/sbom.py dist/trafficgen-streaming.cdx.json

release-check: release  ## install that wheel elsewhere and run `trafficgen demo` there
	$(RUN) release/check.py dist

wheels: $(BIN)/maturin  ## a wheel for this machine, in dist/
	$(BIN)/maturin build --release --locked --out dist

wheel-check: $(VENV)/installed  ## install a wheel elsewhere and run `trafficgen demo` there
	rm -rf target/checked-wheel
	$(BIN)/maturin build --quiet --profile quick --locked --out target/checked-wheel
	$(RUN) release/check.py target/checked-wheel

wheels-portable: $(VENV)/installed  ## Linux wheels for x86-64, aarch64 and older glibc (zig)
	for machine in x86_64 aarch64; do $(BIN)/maturin build --release --locked --zig \
		--target $$machine-unknown-linux-gnu --compatibility manylinux_2_28 --out dist || exit 1; done

soak: $(VENV)/installed  ## all commands in a loop, random options (MINUTES=30 CAPTURES=DIR SEED=0)
	$(RUN) -m tests.soak.road --minutes $(MINUTES) --captures $(CAPTURES) --seed $(SEED)

audit: $(VENV)/installed  ## known vulnerabilities (pip-audit, cargo-deny or cargo-audit)
	@! command -v cargo-deny >/dev/null || cargo deny --locked check
	@! command -v cargo-audit >/dev/null || cargo audit
	@command -v cargo-deny cargo-audit >/dev/null || \
		echo "note: neither cargo-deny nor cargo-audit is installed; crates were not checked"
	@if command -v pip-audit >/dev/null; \
	then pip-audit --requirement constraints.txt --no-deps --disable-pip; \
	else echo "note: pip-audit is not installed; Python packages were not checked"; fi

docs: $(VENV)/installed  ## regenerate the generated pages and pictures
	$(RUN) docs/generate.py

site: $(VENV)/installed  ## build the website of the docs in docs/_build/html
	$(RUN) docs/build_site.py

format: $(VENV)/installed  ## format all sources
	$(BIN)/ruff format . && $(BIN)/ruff check --fix . && cargo fmt --all

clean:  ## remove what was built
	rm -rf $(VENV) target demo-results docs/_build
