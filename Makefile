# Set-up and checks of a checkout.  VENV may name an environment that exists already: the torch in it stays.
VENV ?= .venv
TORCH ?= torch==2.13.0
OUT ?= build/conformance
REQUIREMENTS := docs/requirements.md

BIN := $(VENV)/bin
STAMP := $(VENV)/.graph-conformance-installed
RECORD := $(OUT)/reference.jsonl
KILLS := $(OUT)/self-check.json
# The reference as each document describes it, and on a device as asynchronous as a GPU.
FACES := reference,reference.xpu,reference.accelerator,reference.asynchronous
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# The newest of the Pythons here is not needed, only one that is new enough; its torch, if it has one, is used.
# One that PYTHON names is used or refused, so that nobody takes a run of another one for it.
PYTHONS = $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python3.10)
FIND_PYTHON = for python in $(PYTHONS); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && break; python=; done

# Reports are opened in it; without one those tests are skipped.
FIND_CHROMIUM = { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null

.PHONY: conformance test soak bench check self-check distortions docs clean

conformance: $(STAMP)
	@mkdir -p $(OUT); \
	$(BIN)/python -m pytest --impl=reference --record=$(RECORD) --force -q; status=$$?; \
	$(BIN)/graph-conformance report $(RECORD) --output $(OUT)/report --force $(if $(wildcard $(KILLS)),--self-check $(KILLS)) \
		|| exit $$?; \
	exit $$status

# The second time by file, since the tests of one share what is costly to make; in their own order, which has the files
# that take longest first.
test: $(STAMP)
	@mkdir -p $(OUT)/faces
	$(BIN)/python -m pytest --impl=$(FACES) --record=$(OUT)/faces --force -q -n 2
	$(BIN)/graph-conformance requirements --coverage $(OUT)/faces/*.jsonl
	$(BIN)/python -m pytest tests -q -n 2 --dist loadfile --no-loadscope-reorder -m "not soak"

# What finds more the longer it takes, with more of everything than `make test` has.
soak: $(STAMP)
	KILLS=27 STANDINS=whole $(BIN)/python -m pytest tests/examples/test_standins.py tests/isolation/test_resume.py -q -n 2 --dist loadfile -m "not soak"
	$(BIN)/python -m pytest tests -q -n 2 -m soak

# The figures of docs/performance.md; BENCH=--quick leaves out those that take minutes.
bench: $(STAMP)
	$(BIN)/python benchmarks/table.py $(BENCH)

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	for folder in $(sort $(dir $(wildcard examples/*/*.py))); do $(BIN)/mypy $$folder*.py || exit $$?; done
	MYPYPATH=examples/standins $(BIN)/mypy --explicit-package-bases examples/standins
	$(BIN)/graph-conformance requirements --check $(REQUIREMENTS)

# What the suites detect, and that they raise no false alarm: minutes, so no part of the tests.  Reports show it from
# then on.
self-check: $(STAMP)
	@mkdir -p $(OUT)
	$(BIN)/graph-conformance self-check --markdown docs/kill-table.md --json > $(KILLS).new; status=$$?; \
	[ $$status -gt 1 ] || mv $(KILLS).new $(KILLS); \
	exit $$status

# Mechanical changes of what users call, and pairs of faults: minutes as well.
distortions: $(STAMP)
	$(BIN)/graph-conformance self-check --distortions --pairs 100 --markdown docs/distortions.md

docs: $(STAMP)
	$(BIN)/graph-conformance requirements --markdown $(REQUIREMENTS)

$(STAMP): pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
		$(FIND_PYTHON); \
		[ -n "$$python" ] || { echo "none of these is Python 3.10 or newer: $(PYTHONS); say which: make PYTHON=..." >&2; exit 1; }; \
		if "$$python" -c 'import torch' 2>/dev/null; then site=--system-site-packages; else site=; fi; \
		"$$python" -m venv $$site $(VENV); \
	fi
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(PIP) install '$(TORCH)'
	@$(PIP) install --editable '.[dev]'
	@! $(FIND_CHROMIUM) || $(PIP) install --editable '.[browser]' || echo "no tests in a browser: see above" >&2
	@touch $@

clean:
	rm -rf $(OUT)
