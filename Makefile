# Everything from a fresh clone: `make test` and `make demo` make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench/bin
TESTS ?= tests

.PHONY: help test test-slow demo check format lint types docs mutants laws answers accounting fuzz e2e snapshots serve clean \
        bench bench-quick bench-adapt bench-loop bench-stream bench-trim bench-beside cluster soak hostile guard walk docs-site package package-test man lock \
        sbom console-test vendors judges token-errors

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Each process imports a thousand modules: their bytecode is kept, even if the environment says otherwise.
export PYTHONDONTWRITEBYTECODE =

# What the demo and the gateway need comes first and alone: a newcomer should not wait for the tools of the tests.
$(VENV)/installed: pyproject.toml constraints.txt
	@echo 'Installing Dragoman into $(VENV). This is done once.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]'
	@touch $@

$(VENV)/ready: $(VENV)/installed
	@echo 'Installing the tools of the tests into $(VENV). This is done once, and takes a few minutes.'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	@touch $@

# Three workers for two cores: many tests wait for a socket or a clock. Bytecode is kept in the environment, whatever the
# shell says of it: else each worker, and each program that a test starts, compiles all that it imports.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(abspath $(VENV))/bytecode $(BIN)/python -m pytest $(TESTS) -n 3 --dist worksteal --hypothesis-profile=ci

test: $(VENV)/ready ## Run the tests, but for those that take long
	$(PYTEST) -m 'not slow'

test-slow: $(VENV)/ready ## Run the tests that `make test` leaves out
	$(PYTEST) -m slow

demo: $(VENV)/installed ## Show refusal, repair and answer for every client dialect, on emulated providers
	$(BIN)/dragoman demo

check: format-check lint types docs-check test ## Run the checks that must pass before a commit (CI runs the slow tests too)

format: $(VENV)/ready ## Format the code
	$(BIN)/ruff format src tests bench docs
	$(BIN)/ruff check --fix src tests bench docs

format-check: $(VENV)/ready
	$(BIN)/ruff format --check src tests bench docs

lint: $(VENV)/ready ## Lint the code
	$(BIN)/ruff check src tests bench docs

types: $(VENV)/ready ## Check the types
	$(BIN)/mypy

docs: $(VENV)/ready ## Generate docs/reference from the code, and docs/acceptance.md
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/acceptance.py

docs-check: $(VENV)/ready
	$(BIN)/python docs/generate.py --check

mutants: $(VENV)/ready ## Break every rule and every lesson: a test must fail; writes the page of mutants
	$(BIN)/python tests/mutants.py

mutants-check: $(VENV)/ready
	$(BIN)/python tests/mutants.py --check

laws: $(VENV)/ready ## Test the laws with the whole corpus and many generated conversations
	DRAGOMAN_FULL=1 $(BIN)/python -m pytest tests/laws tests/acceptance tests/dialects tests/emulators -n 2 \
		--ignore tests/dialects/test_sdk_answers.py

answers: $(VENV)/ready ## Test every recorded answer with every official SDK, in all four dialects
	DRAGOMAN_FULL=1 $(BIN)/python -m pytest tests/dialects/test_sdk_answers.py -n 2 -s

token-errors: $(VENV)/ready ## Measure the emulators' token counts against the usages of the recordings in DRAGOMAN_CORPUS
	PYTHONPATH=tests/emulators $(BIN)/python tests/emulators/token_errors.py

accounting: $(VENV)/ready ## Send ten thousand requests of every kind: the ledger must have what the emulators counted
	DRAGOMAN_ACCOUNTING=10000 $(BIN)/python -m pytest tests/gateway/test_accounting.py -q -n 0 -s

fuzz: $(VENV)/ready ## Feed random bytes and structures to every parser for ten minutes
	$(BIN)/python bench/fuzz.py --minutes 10

e2e: $(VENV)/ready ## Test the gateway with real clients and a real model server (installs them); writes the page of proven clients
	$(BIN)/python -m pip install --quiet --constraint constraints.txt -r tests/e2e/requirements.txt
	DRAGOMAN_E2E=1 $(BIN)/python -m pytest tests/e2e -q

vendors: $(VENV)/ready ## Test emulators, profiles and compiled requests against the vendors' own SDK types (installs them)
	$(BIN)/python -m pip install --quiet --no-deps --requirement tests/emulators/vendors.txt
	$(BIN)/python -m pytest tests/emulators/test_vendor_types.py -q -n 0 -rs

judges: $(VENV)/ready ## Let the suites of others judge the gateway on emulated providers (installs them); writes their page
	$(BIN)/python -m tests.suites.llmprobe; probed=$$?; $(BIN)/python -m tests.suites.langchain_suite && exit $$probed

console-test: $(VENV)/ready ## Test the console in a real browser (needs chromium; installs Playwright)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group console
	DRAGOMAN_BROWSER=1 $(BIN)/python -m pytest tests/console -q -n 0 -rs --hypothesis-profile=ci

snapshots: $(VENV)/ready ## Rewrite the snapshots; review the diff
	DRAGOMAN_SNAPSHOTS=write $(BIN)/python -m pytest tests -q -k snapshot

serve: $(VENV)/installed ## Run the gateway
	$(BIN)/dragoman serve

docs-site: $(VENV)/ready ## Build the documentation site into build/site; a warning is an error
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group site
	$(BIN)/python docs/build_site.py

man: $(VENV)/ready ## Write the manual page, build/man/dragoman.1
	$(BIN)/python docs/manpage.py

$(VENV)/package: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group package
	@touch $@

package: $(VENV)/package ## Build wheel and sdist into dist
	$(BIN)/python -m build --no-isolation

package-test: $(VENV)/package ## Build the package, install and run it; check all files of deploy
	DRAGOMAN_PACKAGE=1 $(BIN)/python -m pytest tests/release -q -n 0

lock: $(VENV)/package ## Write requirements.lock: every dependency of all extras, with hashes
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url --no-emit-find-links --constraint constraints.txt --output-file requirements.lock --quiet

sbom: $(VENV)/package ## Write the bill of materials in CycloneDX form, dist/sbom.cdx.json, from requirements.lock
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
		--output-reproducible --output-file dist/sbom.cdx.json

.venv-bench/ready: pyproject.toml bench/environment.sh
	sh bench/environment.sh all
	@touch $@

bench-adapt: .venv-bench/ready ## Measure compiling a request, compared with LiteLLM's transformation
	cd bench && ../$(BENCH)/python adapt.py

bench-loop: $(VENV)/ready ## Measure the turns of an agent's loop, with a memory of conversations and without
	cd bench && ../$(BIN)/python loop.py

bench-stream: .venv-bench/ready ## Measure translating a stream, compared with LiteLLM's
	cd bench && ../$(BENCH)/python stream.py

cluster: $(VENV)/ready ## Run replicas on Redis and PostgreSQL under load, while things go wrong (needs both servers)
	$(BIN)/python bench/cluster.py
	$(BIN)/python bench/cluster.py --streams 1000

bench-trim: $(VENV)/ready ## Measure trimming a long history, compared with reading it
	$(BIN)/python bench/trim.py

bench-beside: $(VENV)/ready ## Measure how long small requests wait beside large ones
	$(BIN)/python bench/beside.py

bench: .venv-bench/ready ## Measure the gateway, nginx, LiteLLM and Portkey; writes the figures of the README
	$(BENCH)/python bench/gateway.py --figures

bench-quick: .venv-bench/ready ## Measure only what has a target, in two minutes
	$(BENCH)/python bench/gateway.py --quick

hostile: $(VENV)/ready ## Send every hostile input of the table to a gateway; nobody else may notice
	$(BIN)/python bench/hostile.py

soak: .venv-bench/ready ## Run 100,000 requests and 5,000 streams with faults
	$(BENCH)/python bench/soak.py

# Each path is counted twice, and no count may find bytecode that the other one wrote.
guard: export PYTHONDONTWRITEBYTECODE = 1
guard: $(VENV)/ready ## Check that no hot path became slower (counts instructions with valgrind)
	$(BIN)/python bench/guard.py

walk: $(VENV)/ready ## Count the files, functions and calls that a request goes through
	$(BIN)/python bench/walk.py

clean: ## Remove generated files and environments
	rm -rf $(VENV) .venv-bench .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
