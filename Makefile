# A newcomer's two commands: `make run` and `make test`. All of them set everything up in .venv first.
#
#   make setup      nothing but that
#   make run        the tutorials from schedule to simulated result, with a trace and statistics
#   make test       every test that is not marked long
#   make quick      the house rules and the tests of what needs neither LLVM nor Amaranth, under a minute
#   make explore    the same tests with other random examples, each time others
#   make test-long  the long ones: fuzzing at full size, big property tests
#   make check      ruff, ruff format, mypy --strict
#   make lowest     the tests with the lowest versions of all dependencies, in .venv-lowest
#   make coverage   the tests, and which lines none of them runs
#   make bench      the functional simulator beside numpy and onnxruntime
#   make fuzz       coverage-guided fuzzing of everything that is parsed, for SECONDS (600)
#   make pictures   the pictures of docs/inspection.md and README.md anew, each from a real run

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
LOWEST := .venv-lowest
TESTS  ?= tests
SECONDS ?= 600
BENCH  := $(VENV)/.bench-ready
JOBS   ?= $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -gt 4 ] && echo 4 || echo $$n)

.PHONY: setup run quick test explore test-long lowest coverage check format bench fuzz pictures clean simulators

setup: $(STAMP)
	@echo "$(VENV) is ready: $(BIN)/vta, $(BIN)/pytest"

run: $(STAMP)
	@$(BIN)/python examples/run_all.py

quick: $(STAMP)
	@$(BIN)/python -m pytest -q -n $(JOBS) -rs $$($(BIN)/python -m tests.support.quick)

test: $(STAMP) simulators
	@$(BIN)/python -m pytest -q -n $(JOBS) -rs

explore: $(STAMP) simulators
	@VTA_EXPLORE=1 $(BIN)/python -m pytest -q -n $(JOBS) -rs $(TESTS)

test-long: $(STAMP) simulators
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[long]'
	@$(BIN)/python -m pytest -q -m long -rs

lowest: $(STAMP) simulators
	@[ -x $(LOWEST)/bin/python ] || $(PYTHON) -m venv $(LOWEST)
	@$(BIN)/python -m tests.support.lowest > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install -q --disable-pip-version-check -c $(LOWEST)/constraints.txt -e '.[bench,test]'
	@cat $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pytest -q -n $(JOBS) -rs $(TESTS)

coverage: $(STAMP) simulators
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[coverage]'
	@$(BIN)/python -m pytest -q -n $(JOBS) --cov --cov-report=term:skip-covered --cov-report=html $(TESTS)

# What tests need and PyPI does not have: Icarus Verilog for the cocotb benches, Chromium for the trace page, a C compiler
# for what networks become in C. Debian's packages are installed where that is allowed; where not, those tests are skipped, and say so.
simulators:
	@$(call debian,iverilog,iverilog,Icarus Verilog,the cocotb benches)
	@$(call debian,chromedriver,chromium chromium-driver,Chromium,the tests of the trace page)
	@$(call debian,cc,gcc libc6-dev,a C compiler,the tests of the C runtime)

# $(1) the command to look for, $(2) the packages that bring it, $(3) its name, $(4) what is skipped without it
define debian
  command -v $(1) >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "installing $(3)"; \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2); } >/dev/null 2>&1 \
	      || echo "$(3) could not be installed; $(4) will be skipped"; \
	  else \
	    echo "$(3) is not installed (Debian: apt-get install $(2)); $(4) will be skipped"; \
	  fi; }
endef

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy

format: $(STAMP)
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

bench: $(BENCH)
	@$(BIN)/python -m bench.functional

fuzz: $(STAMP)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[fuzz]'
	@$(BIN)/python -m bench.coverage_fuzz --seconds $(SECONDS) --keep

pictures: $(STAMP) simulators
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[pictures]'
	@$(BIN)/python -m docs.make_pictures

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; '$(PYTHON)' is older. Set PYTHON=/path/to/python3.11"; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV) \
	  || { echo "python -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "setting up $(VENV), once: this downloads the packages that pyproject.toml names"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

$(BENCH): $(STAMP)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) $(LOWEST) htmlcov .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
