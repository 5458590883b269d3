# Two commands do everything on a fresh machine: `make demo` and `make test`. `make help` lists the others.
SHELL := /bin/bash
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
PAGE_SOURCES := $(shell find frontend -path frontend/node_modules -prune -o -type f -print 2>/dev/null) $(wildcard docs/guides/*.md) docs/glossary.md

# the build of torch: auto, cpu or cuda; see scripts/install-torch
TORCH ?= auto
ifeq ($(filter $(TORCH),auto cpu cuda),)
$(error TORCH=$(TORCH): choose auto, cpu or cuda)
endif

PYTEST := $(BIN)/pytest -q
# the tests of `make test`; CI runs those marked `more` as well. `make unit TESTS=tests/unit/wire ARGS='-k keys'` runs one area
SHORT := not long and not more
# a machine that forbids bytecode would compile all tests, and the code of each program, in every process
export PYTHONDONTWRITEBYTECODE :=
# whole jobs and pages wait more than they compute, so more of them run at once than there are cores; by number of tests, the file that
# takes longest, of one test, would come last
BY_FILE := --dist loadfile --no-loadscope-reorder

.PHONY: help demo up test test-more test-long check checkcode checkpage pagelint pagetests unit integration jobs e2e hostile audit gpu page generate client format wheel bench report clean

help:  ## list the commands
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/.demo backend/page/index.html  ## train on real data and show it live; ARGS=--exit ends by itself, ARGS=--json prints one line; TORCH=cpu or cuda chooses the build of torch
	@$(BIN)/gradstream demo $(ARGS)

up: .venv/.demo backend/page/index.html  ## the platform on this machine, without a job
	@$(BIN)/gradstream up $(ARGS)

test: .venv/.dev check unit integration  ## everything: lint, types, contracts, front end, unit, integration, whole jobs, browser
	@GRADSTREAM_SCREENSHOTS= $(MAKE) --no-print-directory --output-sync=target -j2 jobs e2e  # both wait more than they compute; no test reads pictures

check: .venv/.dev frontend/node_modules/.installed  ## lint, types, import contracts; the page's lint, types and tests
	@$(MAKE) --no-print-directory --output-sync=target -j2 checkpage checkcode  # the longest first

checkcode: .venv/.dev  ## the Python half of check, with the prose that users read
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m checks

checkpage: pagelint pagetests  ## the page's half of check, with the API that it is written against

pagelint: .venv/.dev frontend/node_modules/.installed
	scripts/npm run lint

pagetests: .venv/.dev frontend/node_modules/.installed
	scripts/npm run typecheck
	scripts/npm test
	$(BIN)/python -m backend openapi | diff -q - frontend/openapi.json >/dev/null || { echo "frontend/openapi.json is stale: run 'make generate'" >&2; exit 1; }
	scripts/npm run client:check

test-more: .venv/.dev backend/page/index.html  ## what `make test` leaves out and CI runs: more cases of its tests, and tests whose defects shorter ones find
	@$(MAKE) --no-print-directory SHORT='more and not long' unit integration
	@$(MAKE) --no-print-directory --output-sync=target -j2 SHORT='more and not long' jobs e2e

test-long: .venv/.dev backend/page/index.html  ## what both leave out: long laws and fuzz, repeated papers, every look of every page
	@$(MAKE) --no-print-directory SHORT=long unit integration
	@$(MAKE) --no-print-directory --output-sync=target -j2 SHORT=long jobs e2e

unit: .venv/.dev  ## tests without servers, the laws in the simulator among them; TESTS=PATH and ARGS='-k NAME' choose, as in the next three
	$(PYTEST) $(or $(TESTS),tests/unit tests/laws) -m '$(SHORT) and not redis' -n 4 $(ARGS)

integration: .venv/.dev backend/page/index.html  ## tests against real Postgres, Redis and Celery, the laws over Redis among them
	$(PYTEST) $(or $(TESTS),tests/integration tests/hostile tests/laws tests/gpu) -m '$(SHORT) and not simulator' -n 4 --dist loadgroup $(ARGS)

jobs: .venv/.dev backend/page/index.html  ## whole jobs in real processes, and what goes wrong with them
	$(PYTEST) $(or $(TESTS),tests/faults tests/jobs) -m '$(SHORT)' -n 2 $(BY_FILE) $(ARGS)

e2e: .venv/.dev backend/page/index.html  ## the page in a real Chromium, against the real platform and real training
	scripts/chromium
	GRADSTREAM_SCREENSHOTS="$${GRADSTREAM_SCREENSHOTS-build/screenshots}" $(PYTEST) $(or $(TESTS),tests/browser) -m '$(SHORT)' -n 3 $(BY_FILE) $(ARGS)

hostile: .venv/.dev backend/page/index.html  ## thousands of generated attacks, half an hour on two cores; RUNS=N of each kind, FIRST=N is the first seed
	GRADSTREAM_HOSTILE_RUNS="$(or $(RUNS),many)" GRADSTREAM_HOSTILE_FIRST="$(or $(FIRST),0)" $(BIN)/pytest tests/hostile -q -n 2 --timeout 14400

audit: .venv/.demo  ## compare the locks with databases of advisories, which takes a network; LOCKS=FILE adds a list of pinned packages
	@$(BIN)/python scripts/audit $(LOCKS)

gpu: .venv/.dev  ## the laws on a GPU, and its figures; without one it says so; MNIST=PATH has the data for trainings
	$(BIN)/pytest tests/gpu -q -rs
	$(BIN)/python -m benchmarks.gpu $(if $(MNIST),--mnist $(MNIST)) $(ARGS)

bench: .venv/.dev backend/page/index.html  ## claims of speed, as ratios measured in one run; MNIST=PATH has the data for other systems beside ours, ARGS=--install gets them
	$(BIN)/python -m benchmarks.cli_start
	$(BIN)/python -m benchmarks.simulator
	$(BIN)/python -m benchmarks.listing
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m benchmarks.exchange
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.stragglers
	$(BIN)/python -m benchmarks.hosts
	$(BIN)/python -m benchmarks.collective
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.charts
	$(BIN)/python -m benchmarks.attackers
	$(BIN)/python -m benchmarks.layers
	$(BIN)/python -m benchmarks.user_logging
	$(BIN)/python -m benchmarks.update_histograms
	$(BIN)/python -m benchmarks.stages
	$(BIN)/python -m benchmarks.tensor
	$(BIN)/python -m benchmarks.group_memory
	$(BIN)/python -m benchmarks.group_startup
	$(BIN)/python -m benchmarks.model_memory
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.table_growth
	$(BIN)/python -m benchmarks.peers --mnist '$(MNIST)' $(ARGS)

report: .venv/.dev  ## the papers' findings repeated in small, into docs/report; MNIST=PATH names the folder of its files; at most an hour
	$(BIN)/python -m benchmarks.report --mnist '$(MNIST)' $(ARGS)

page: backend/page/index.html  ## build the web page

wheel: .venv/.dev backend/page/index.html  ## build the wheel, which contains the page, into dist/
	@$(BIN)/python -m pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir dist
	@ls dist/*.whl

generate: client  ## write anew what is made from the code: README's table of strategies, the reference of the job file, the API document, the page's API client and glossary
	$(BIN)/python scripts/readme-table
	$(BIN)/python scripts/bundle-rules
	$(BIN)/python scripts/page-glossary
	$(BIN)/python scripts/job-file-reference

format: .venv/.dev  ## lay out the Python code as `make check` wants it
	$(BIN)/ruff format .

client: .venv/.dev frontend/node_modules/.installed  ## generate the page's API client from the API
	$(BIN)/python -m backend openapi > frontend/openapi.json
	scripts/npm run client

clean:  ## remove what was built here; `gradstream reset` removes the platform's data
	rm -rf .venv frontend/node_modules backend/page build dist

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 4))' || { echo "Gradstream needs Python 3.11.4 or newer; name one with PYTHON=..." >&2; exit 1; }
	@echo "Making a virtual environment in .venv" >&2
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "This Python cannot make virtual environments; on Debian: apt install python3-venv" >&2; exit 1; }

.venv/.torch-$(TORCH): .venv/bin/python constraints.txt
	@$(BIN)/python scripts/install-torch $(TORCH)
	@rm -f .venv/.torch-*
	@touch $@

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt | .venv/.torch-$(TORCH)
	@echo "Installing Gradstream and what it needs (a few minutes the first time)" >&2
	@$(PIP) -e '.[demo]'
	@touch $@

.venv/.dev: .venv/.demo
	@echo "Installing the tools for development" >&2
	@$(PIP) -e '.[dev]'
	@touch $@

frontend/node_modules/.installed: frontend/package-lock.json | .venv/bin/python
	@echo "Installing the web page's packages" >&2
	@scripts/npm ci --no-audit --no-fund --loglevel=error >&2
	@touch $@

backend/page/index.html: frontend/node_modules/.installed $(filter-out frontend/openapi.json,$(PAGE_SOURCES))
	@echo "Building the web page" >&2
	@scripts/npm run build >/dev/null
	@touch $@
