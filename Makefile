# `make report` and `make test` need Python 3.11+ and make, and nothing else: they build their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: report report-full site test test-all lint docs dependencies check-vulnerabilities bench faults fuzz mutation gpu clean practice reproduced

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "setuptools" "wheel"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e ".[test,lint,distributed,frames,experiments,docs]"
	touch $(STAMP)

report: $(STAMP)  ## the main job: verdicts, counterexample and audit in one self-contained page, report/index.html
	$(BIN)/fedco report --quick --out report

report-full: $(STAMP)  ## every instance, lemma, rate and paper; goes on where it stopped
	$(BIN)/fedco report --out report

site: $(STAMP)  ## the documentation as a site, site/index.html; a broken link or a formula that cannot be set stops it
	@mkdir -p $(VENV)/src && ln -sfn $(CURDIR) $(VENV)/src/fedco  # docstrings are read from the source, whose folder must be called fedco
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

test: $(STAMP) lint  ## lint, types and the whole test suite; a file's tests in one process, where they share what is derived
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-all: $(STAMP) lint  ## the slow tests too
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	@mkdir -p $(VENV)/src && ln -sfn $(CURDIR) $(VENV)/src/fedco  # mypy does not follow an editable install whose root is the package
	MYPYPATH=$(VENV)/src $(BIN)/mypy $(addprefix -p fedco.,bounds algorithms synthetic validation cli)

docs: $(STAMP)  ## run every check of the audit and compute every constant of the problems, and keep both; regenerate docs/audit.md and the papers' refutations
	$(BIN)/python -m fedco.bounds.audit.make_audit_cache
	$(BIN)/python -m fedco.validation.runs.problem_list
	$(BIN)/python -m fedco.validation.report.pages docs
	$(BIN)/python -m fedco.validation.runs.refutations

reproduced: $(STAMP)  ## run the papers' experiments (a quarter of an hour of one core; goes on where it stopped) and keep them in docs/reproduced
	$(BIN)/fedco reproduce --all --out reproduced
	$(BIN)/python -m fedco.validation.experiments.keeping reproduced docs/reproduced

practice: $(STAMP)  ## compare theory's step sizes with a grid on the problems of docs/practice.md (a few minutes), and write the page
	$(BIN)/python -m fedco.validation.practice.gallery docs

dependencies: $(STAMP)  ## write hashes.txt and docs/dependencies.md: the hash and the licence of everything that an installation brings in; git shows what changed
	$(BIN)/python .ci/dependencies.py

check-vulnerabilities: $(STAMP)  ## ask the package index for known vulnerabilities of what is pinned; fails where it says nothing of a pin
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	$(VENV)/audit/bin/pip-audit -r constraints.txt --no-deps --disable-pip --strict

bench: $(STAMP)  ## every comparison in benchmarks/README.md; installs JAX, which nothing else needs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/fcsg_invariant.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/start_up.py

faults: $(STAMP)  ## kills at every write and at random moments, damaged files, a full disk, many processes
	$(BIN)/python tests/faults/fault_campaign.py

fuzz: $(STAMP)  ## 20,000 generated inputs to every command, file and Python entry
	$(BIN)/python tests/fuzz/fuzz_campaign.py

# the first few are enough to see that it runs; ONLY takes a file or a pattern such as bounds/region/*.py, TESTS the tests that may notice
ONLY ?= storage.py
TESTS ?= tests/storage
mutation: $(STAMP)  ## small changes of the source (mutmut), and whether a test notices: make mutation ONLY=storage.py TESTS=tests/storage
	@test -d $(VENV)/mutmut || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/mutmut mutmut==3.8.1
	rm -rf $(VENV)/mutation && mkdir -p $(VENV)/mutation && git clone --quiet . $(VENV)/mutation/fedco  # mutmut wants the folder to be named as the package
	sed -e 's|ONLY|$(ONLY)|' -e 's|TESTS|$(TESTS)|' tests/mutmut.toml > $(VENV)/mutation/pyproject.toml
	cd $(VENV)/mutation && PYTHONPATH=$(CURDIR)/$(VENV)/mutmut $(CURDIR)/$(BIN)/python -m mutmut run
	cd $(VENV)/mutation && PYTHONPATH=$(CURDIR)/$(VENV)/mutmut $(CURDIR)/$(BIN)/python -m mutmut results

gpu: $(STAMP)  ## where there is a CUDA device: the tests that need one
	$(BIN)/python -c "import torch; assert torch.cuda.is_available(), 'no CUDA device here'"
	$(BIN)/python -m pytest -m gpu

clean:
	rm -rf $(VENV) report site build *.egg-info
