# Every target makes its own environment, in .venv, with nothing but python3 (3.11 or later) and pip.
# The stamp depends on what decides the environment, so that a second run starts at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.complete
EXTRAS := models,tokenizers,sweeps,lab,bench,dev,docs
# Worker processes for the tests; one per core.
WORKERS ?= auto
# JupyterLabs with a browser each, side by side. A browser, a server and a kernel share one's work.
BROWSERS ?= 2
# Where the environment forbids it, hundreds of processes of the tests would compile all of the
# sources anew, a second each instead of a third of one.
export PYTHONDONTWRITEBYTECODE :=
# Whole files to one worker, so that what a file prepares is prepared once; who is done takes from others.
SHARE  := --dist worksteal
# Further words for pytest, such as ARGS="-k regex".
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help setup lab test test-browser test-long check format bench bench-ui docs clean

help: ## Say what there is.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

$(STAMP): pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.12 ...")'
	@# An environment of another Python is made anew; one of the same is brought up to date.
	@echo "Making the environment in $(VENV): about 2 GB are downloaded and installed, which takes some minutes."
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c .ci/constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

setup: $(STAMP) ## Make the environment, and nothing else.

lab: $(STAMP) ## Set up, then open the explorer in JupyterLab.
	@$(BIN)/explorer lab

# In two runs: what computes, then what drives JupyterLab in a browser.
# A choice by name may leave one of them without a test, which pytest answers with status 5.
NONE_CHOSEN = $(if $(ARGS),|| test $$? = 5)

test: $(STAMP) ## Run the tests (minutes), those in a browser where there is one.
	$(BIN)/python -m pytest -n $(WORKERS) $(SHARE) -m "not long" --ignore=tests/browser $(ARGS) $(NONE_CHOSEN)
	@$(if $(filter tests/% explorer/% widgets/%,$(ARGS)),,$(MAKE) --no-print-directory test-browser)

test-browser: $(STAMP) ## Drive a real JupyterLab in a real browser (needs chromium).
	$(BIN)/python -m pytest -n $(BROWSERS) $(SHARE) -m "not long" -ra tests/browser $(ARGS) $(NONE_CHOSEN)

test-long: $(STAMP) ## Run every test with many more examples.
	EXPLORER_LONG_EXAMPLES=$${EXPLORER_LONG_EXAMPLES:-1000} $(BIN)/python -m pytest -n $(WORKERS) $(SHARE) --timeout 7200 --ignore=tests/browser $(ARGS)
	$(BIN)/python -m pytest -n $(BROWSERS) $(SHARE) -m long -ra tests/browser $(ARGS) $(NONE_CHOSEN)

check: $(STAMP) ## Format check, lint and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(STAMP) ## Format and sort what `check` would complain about.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## Measure beside the peers; rewrites docs/benchmarks and the README's table.
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.constructions
	$(BIN)/python -m benchmarks.schemas
	$(BIN)/python -m benchmarks.device

bench-ui: $(STAMP) ## Measure the explorer in a browser; rewrites docs/benchmarks/ui.*.
	$(BIN)/python -m benchmarks.ui

docs: $(STAMP) ## Build the site in build/site/html, warnings are errors, and check every link in it.
	$(BIN)/python -m tools.site

clean: ## Remove the environment and every cache.
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build
	find explorer widgets tests -name __pycache__ -type d -prune -exec rm -rf {} +
