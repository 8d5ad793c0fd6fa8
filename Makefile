# Everything from a fresh clone: `make test` and `make demo` make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench/bin
TESTS ?= tests

.PHONY: help test demo check format lint types docs mutants laws answers fuzz e2e snapshots serve clean \
        bench bench-quick bench-adapt bench-stream soak guard

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[sdk,emulators]'
	@touch $@

test: $(VENV)/ready ## Run the tests
	$(BIN)/python -m pytest $(TESTS) -n 2 --dist loadfile

demo: $(VENV)/ready ## Show refusal, repair and answer for every client dialect, on emulated providers
	$(BIN)/dragoman demo

check: format-check lint types docs-check test ## Everything that must be true before a commit

format: $(VENV)/ready ## Format the code
	$(BIN)/ruff format src tests bench docs
	$(BIN)/ruff check --fix src tests bench docs

format-check: $(VENV)/ready
	$(BIN)/ruff format --check src tests bench docs

lint: $(VENV)/ready ## Lint the code
	$(BIN)/ruff check src tests bench docs

types: $(VENV)/ready ## Check the types
	$(BIN)/mypy

docs: $(VENV)/ready ## Write docs/reference from the code
	$(BIN)/python docs/generate.py

docs-check: $(VENV)/ready
	$(BIN)/python docs/generate.py --check

mutants: $(VENV)/ready ## Break every rule and every lesson: a test must fail; writes the page of mutants
	$(BIN)/python tests/mutants.py

mutants-check: $(VENV)/ready
	$(BIN)/python tests/mutants.py --check

laws: $(VENV)/ready ## The laws over the whole corpus and many generated conversations
	DRAGOMAN_FULL=1 $(BIN)/python -m pytest tests/laws tests/acceptance tests/dialects tests/emulators -n 2 \
		--ignore tests/dialects/test_sdk_answers.py

answers: $(VENV)/ready ## Every recorded answer, read by every official SDK in all four dialects
	DRAGOMAN_FULL=1 $(BIN)/python -m pytest tests/dialects/test_sdk_answers.py -n 2 -s

fuzz: $(VENV)/ready ## Ten minutes of random bytes and structures into every parser
	$(BIN)/python bench/fuzz.py --minutes 10

e2e: $(VENV)/ready ## Real clients and a real model server against the gateway (installs them)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt -r tests/e2e/requirements.txt
	DRAGOMAN_E2E=1 $(BIN)/python -m pytest tests/e2e -q

snapshots: $(VENV)/ready ## Rewrite the snapshots; review the diff
	DRAGOMAN_SNAPSHOTS=write $(BIN)/python -m pytest tests -q -k snapshot

serve: $(VENV)/ready ## Run the gateway
	$(BIN)/dragoman serve

.venv-bench/ready: pyproject.toml bench/environment.sh
	sh bench/environment.sh all
	@touch $@

bench-adapt: .venv-bench/ready ## Compiling a request, beside LiteLLM's transformation
	cd bench && ../$(BENCH)/python adapt.py

bench-stream: .venv-bench/ready ## Translating a stream, beside LiteLLM's
	cd bench && ../$(BENCH)/python stream.py

bench: .venv-bench/ready ## The gateway beside nginx, LiteLLM and Portkey; writes the figures of the README
	$(BENCH)/python bench/gateway.py --figures

bench-quick: .venv-bench/ready ## The cells with a target, in two minutes
	$(BENCH)/python bench/gateway.py --quick

soak: .venv-bench/ready ## 100,000 requests and 5,000 streams with faults
	$(BENCH)/python bench/soak.py

guard: $(VENV)/ready ## Has anything on the hot paths become dearer? (valgrind)
	$(BIN)/python bench/guard.py

clean: ## Remove what was made
	rm -rf $(VENV) .venv-bench .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
