# make run    the set-up, then the tour notebook executed on shipped checkpoints -> reports/
# make test   the set-up, then ruff, the unit tests, and every notebook at smoke size
# make lab    JupyterLab, opened on the tour
# make test-browser   the set-up, then lessons in a real JupyterLab in headless Chromium
# make site   all notebooks as a site of static pages -> reports/site
# make slides the slides of the guide's classes -> reports/slides
# make bench  the benchmarks, one after another
# make llm    the offline language model of notebook 14 (127 MB)
# make doctor     what works here, and how to fix what does not
# make refresh    execute every notebook in place at lab size, outputs kept
# make student    the notebooks without outputs and solutions, for a class
# make clean      remove reports and caches (make distclean: the environment too)
#
# Another Python:        make run PYTHON=python3.12
# Another build of torch: make run TORCH=cuda (or cpu; otherwise by whether there is a GPU)
# JupyterLab, elsewhere:  make lab LAB_OPTIONS="--no-browser --ip=0.0.0.0"
# Some notebooks:        make refresh NOTEBOOKS=notebooks/05_copying.ipynb

SHELL := /bin/bash
.DEFAULT_GOAL := run
.DELETE_ON_ERROR:

# The first Python in range that can make an environment; the check below explains if there is none.
FIND_PYTHON := for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	2>/dev/null && echo "$$p" && exit; done; echo python3
PYTHON ?= $(shell $(FIND_PYTHON))
REQUIREMENTS ?= requirements.txt
TORCH ?= auto

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
READY := .venv/itekit-ready
SETTINGS := .venv/share/jupyter/lab/settings
SERVER := .venv/etc/jupyter/jupyter_server_config.py
LESSONS := $(wildcard notebooks/*.ipynb notebooks/appendix/*.ipynb)
NOTEBOOKS ?= $(LESSONS) $(wildcard notebooks/solutions/*.ipynb)
REPORTS := notebooks/run.ipynb notebooks/paper_tables.ipynb# stored without outputs: run your own
BENCHMARKS := $(sort $(wildcard tests/benchmarks/bench_*.py))
WORKERS ?= 2
STUDENT ?= handout
LAB_OPTIONS ?=

.PHONY: run test test-browser lab site slides bench llm doctor refresh student setup clean distclean

setup: $(READY)

# The stamp is written last: a set-up that stopped half-way is taken up again by the next call.
$(READY): $(REQUIREMENTS) pyproject.toml docs/jupyter_config.py
	@command -v "$(PYTHON)" >/dev/null || { echo "No $(PYTHON) here. itekit needs" \
		"Python 3.11, 3.12 or 3.13: install one, or name it: make run PYTHON=/path/to/python3"; exit 1; }
	@rm -f $(READY)
	@options=$$("$(PYTHON)" docs/set_up.py "$(TORCH)") || exit 1; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv || exit 1; \
	echo "Installing $(REQUIREMENTS) into .venv (some minutes the first time)"; \
	{ $(PIP) $$options -r "$(REQUIREMENTS)" && $(PIP) --no-deps -e . -e notebooks; } || \
		{ echo "The set-up stopped: the lines above say why. Fix the cause and run the same" \
		"command again."; exit 1; }
	@mkdir -p $(SETTINGS) && printf '%s\n' '{"@jupyterlab/apputils-extension:notification":' \
		'{"fetchNews": "false", "checkForUpdates": false}}' > $(SETTINGS)/overrides.json
	@mkdir -p $(dir $(SERVER)) && cp docs/jupyter_config.py $(SERVER)
	@touch $(READY)

run: $(READY)
	@mkdir -p reports
	$(BIN)/python -m itekit run notebooks/00_tour.ipynb --output reports/00_tour.ipynb
	$(BIN)/python docs/pages.py reports/00_tour.ipynb reports/00_tour.html

test: export OMP_NUM_THREADS = 1
test: export ITEKIT_SCALE = smoke
test: $(READY)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope
	@rm -rf reports/home
	ITEKIT_HOME=$(CURDIR)/reports/home $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope \
		-p itekit.notebooks --nbval-lax --nbval-cell-timeout=180 $(NOTEBOOKS)

test-browser: export OMP_NUM_THREADS = 1
test-browser: export ITEKIT_SCALE = smoke
test-browser: $(READY)
	$(PIP) -r tests/browser/requirements.txt
	$(BIN)/python -m pytest -c tests/browser/pytest.ini --rootdir tests/browser tests/browser

# Built from stored outputs; a link that leads nowhere is an error.
site: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r docs/requirements.txt
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs . reports/site
	@echo "site      $(CURDIR)/reports/site/index.html"

slides: $(READY)
	@$(BIN)/python docs/slides.py reports/slides

lab: $(READY)
	$(BIN)/python -m jupyter lab $(LAB_OPTIONS) notebooks/00_tour.ipynb

bench: $(READY)
	@$(if $(BENCHMARKS),,echo "no benchmarks in tests/benchmarks")
	@set -e; for file in $(BENCHMARKS); do echo "== $$file"; $(BIN)/python "$$file"; done

# Without dependencies: see the file. What it installs stays when the set-up runs again.
llm: $(READY)
	$(PIP) --no-deps -r notebooks/llm-requirements.txt

doctor: $(READY)
	$(BIN)/python -m itekit doctor

# docs/jupyter_config.py takes out what changes from run to run: times, versions, views of panels.
refresh: export ITEKIT_SCALE = lab
refresh: export ITEKIT_HOME = $(CURDIR)/reports/home
refresh: $(READY)
	$(BIN)/python -m jupyter nbconvert --config docs/jupyter_config.py \
		--to notebook --execute --inplace $(filter-out $(REPORTS),$(NOTEBOOKS))

# The exercises are handed out as they are in notebooks/, so keep your own solutions elsewhere.
student: $(READY)
	@test ! -e "$(STUDENT)" || { echo "$(STUDENT) is there: name another folder," \
		"make student STUDENT=FOLDER"; exit 1; }
	$(BIN)/python docs/handout.py "$(STUDENT)"

clean:
	rm -rf reports build .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints -o \
		-name '*.egg-info' \) -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv
