# One set of commands for people and for CI. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUN := $(BIN)/python
MINUTES ?= 30
CAPTURES ?= examples/captures
SEED ?= 0

SECONDS ?= 120

# Tests start trafficgen a thousand times: each would compile what it loads where images forbid to keep that.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-rust lint lint-python lint-rust fuzz mutate verify ns3 kernel verification-results callgrind bench bench-results release release-check wheels soak audit docs site format clean

help:  ## list the commands
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

$(VENV)/installed: pyproject.toml constraints.txt Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'  # the first that knows --group
	$(PIP) install --constraint constraints.txt --group test --group lint --group docs --editable .
	touch $@

demo: $(VENV)/installed  ## build, then inspect, fit, generate and compare a shipped capture
	$(RUN) examples/demo.py

test: test-rust $(VENV)/installed  ## the test suite: Rust core, then everything else from Python
	$(RUN) -m pytest -n auto --dist worksteal

test-rust:
	cargo test --quiet --release --workspace

lint: lint-python lint-rust  ## style, types, layers, stub against binary

lint-python: $(VENV)/installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest trafficgen._core

lint-rust:
	cargo fmt --all --check
	cargo clippy --quiet --release --workspace --all-targets -- --deny warnings

fuzz:  ## fuzz targets of the Rust core, SECONDS=120 together (libFuzzer: needs a C++ compiler)
	$(PYTHON) fuzz/run.py --seconds $(SECONDS) $(if $(JOBS),--jobs $(JOBS))

mutate: $(VENV)/installed  ## commands on damaged captures, for SECONDS=120
	$(RUN) -m tests.mutated.campaign --seconds $(SECONDS)

verify: $(VENV)/installed  ## longer checks: simulation studies, large files
	$(RUN) -m pytest -n auto --dist worksteal -m slow

.venv-ns3/installed:  # ns-3's wheel: Python 3.11 on x86-64
	test -x .venv-ns3/bin/python || $(PYTHON) -m venv .venv-ns3
	.venv-ns3/bin/python -m pip --disable-pip-version-check --quiet install ns3==3.44.post0
	touch $@

.venv-trex/installed:  # TRex's own Python client, which takes no Python newer than 3.11
	test -x .venv-trex/bin/python || $(PYTHON) -m venv .venv-trex
	.venv-trex/bin/python -m pip --disable-pip-version-check --quiet install --no-deps lbr-trex-client==3.4.0
	touch $@

.venv-peers/installed:  # readers that are compared with ours, and whose requirements are not ours
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install nfstream==6.6.0
	touch $@

ns3: $(VENV)/installed .venv-ns3/installed  ## the same dumbbell in ns-3 (Python 3.11 on x86-64; installs its wheel into .venv-ns3)
	TRAFFICGEN_NS3_PYTHON=$(CURDIR)/.venv-ns3/bin/python $(RUN) -m pytest -m ns3

kernel: $(VENV)/installed  ## the same dumbbell in network namespaces (root; iproute2, ethtool, iperf3; 15 minutes)
	$(RUN) -m pytest -m kernel

verification-results: $(VENV)/installed  ## the records behind "How sure are we" (PARTS="theory exports"; all take an hour)
	$(RUN) docs/verification_results.py $(PARTS)

callgrind: $(VENV)/installed  ## instructions that the Rust loops take for a packet, beside those that are stored (valgrind)
	$(RUN) benchmarks/instructions.py

bench: $(VENV)/installed  ## us and the peers side by side, with ratios (half an hour; .venv-peers/installed and .venv-ns3/installed make more peers)
	$(RUN) benchmarks/run.py

bench-results: $(VENV)/installed .venv-peers/installed  ## the records behind "How fast" (an idle machine, an hour; PARTS="ingest merge")
	$(RUN) benchmarks/run.py --record $(PARTS)

release: $(VENV)/installed  ## wheel for this platform, source archive and bill of materials, in dist/
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --out dist
	$(RUN) release/sbom.py dist/trafficgen-streaming.cdx.json

release-check: release  ## install what was built, away from the sources, and take a shipped capture along the road
	$(RUN) release/check.py dist

wheels: $(VENV)/installed  ## wheels for Linux on x86-64 and aarch64 with an older glibc, by zig (pip install ziglang; rustup target add)
	for machine in x86_64 aarch64; do $(BIN)/maturin build --release --locked --zig --target $$machine-unknown-linux-gnu \
		--compatibility manylinux_2_28 --out dist || exit 1; done

soak: $(VENV)/installed  ## the whole road in a loop with random options (MINUTES=30 CAPTURES=FOLDER SEED=0)
	$(RUN) -m tests.soak.road --minutes $(MINUTES) --captures $(CAPTURES) --seed $(SEED)

audit: $(VENV)/installed  ## ask the databases of known weaknesses about all dependencies (network; pip-audit, cargo-deny or cargo-audit)
	@! command -v cargo-deny >/dev/null || cargo deny --locked check
	@! command -v cargo-audit >/dev/null || cargo audit
	@command -v cargo-deny cargo-audit >/dev/null || echo "note: neither cargo-deny nor cargo-audit is installed; crates were not asked about"
	@if command -v pip-audit >/dev/null; then pip-audit --requirement constraints.txt --no-deps --disable-pip; \
	else echo "note: pip-audit is not installed; Python packages were not asked about"; fi

docs: $(VENV)/installed  ## regenerate the generated pages and pictures
	$(RUN) docs/generate.py

site: $(VENV)/installed  ## a website of the documentation, in docs/_build/html; a broken link is an error
	$(RUN) docs/build_site.py

format: $(VENV)/installed  ## format all sources
	$(BIN)/ruff format . && $(BIN)/ruff check --fix . && cargo fmt --all

clean:  ## remove what was built
	rm -rf $(VENV) target demo-results docs/_build
