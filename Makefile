# make demo   set up what it takes and run the main job
# make test   set up what it takes and run the tests
# make docs   set up what it takes and build the site
#
# Needs only make, a package index that pip can reach, and Python >= 3.11: python3, or the
# newest one that tools/find-python finds, or PYTHON=/path/to/python3. Environments are
# made once and again when pyproject.toml or the constraints change.

SHELL := /bin/sh
# The FFT of scipy 1.18 keeps threads that a fork waits for, now and then for ever, and tests fork.
# With one thread it keeps none.
export DUCC0_NUM_THREADS := 1
PYTHON ?=
VENV := .venv
NEWEST := .venv-newest
LOWEST := .venv-lowest
MIDDLE := .venv-3.13
DOCS := .venv-docs
RELEASE := .venv-release
LOCKED := constraints/locked.txt
TEST_EXTRAS := accounting,attacks,dask,diffprivlib,duckdb,frames,ledger-signatures,onnx,onnx-runtime,plots,postgresql,report,test
# What is tested with versions other than the locked ones.
OTHER_EXTRAS := frames,report,test
NEWEST_PYTHON := newest
# What goes by the versions of other libraries, for a few minutes: tables and files as they are
# read, reports, stored models and ledgers, and scikit-learn's checks and lists. What is computed
# goes by numpy and numba alone, and runs with locked and newest versions. ARGS=tests runs all.
LOWEST_TESTS := tests/domain tests/records/streams tests/datasets tests/estimators/report \
	$(patsubst %,tests/estimators/test_%.py,storage stored_books copies pipelines pipeline_rows \
		asked_of_types estimator_checks classifier_checks regressor_checks) \
	$(patsubst %,tests/accounting/test_%.py,accountant certificates ledger ledger_check verify) \
	tests/test_exceptions.py tests/test_packaging.py tests/test_strict_json.py
# What goes by no version of another library: statistics, sums of fractions, edits of every leaf of
# a file, memory, processes that are killed, what is run as a script or shown in a page, and what is
# read as text.
NOT_NEWEST := audit benchmarks consistent dask test_site.py test_kernel_cache.py test_demo.py \
	$(patsubst %,test_%.py,mutants architecture circles documents long_functions walls words) \
	trees/test_same_integers.py trees/multinomial/test_lattice_level.py records/streams/test_kept_chunks.py \
	mechanisms/test_k_norm.py trees/test_all_settings.py estimators/test_rule.py test_readme_figures.py \
	ledger/test_kills.py ledger/test_taking.py ledger/test_edited_bytes.py ledger/test_documented.py \
	estimators/report/test_report_check.py estimators/report/test_hostile_files.py \
	estimators/report/test_report_histories.py estimators/report/test_known_fits.py \
	$(patsubst %,estimators/test_%.py,explanation published_law private_independence no_replay \
		ledger_fits searches released_only regressor stored_books copies) \
	$(patsubst %,accounting/test_%.py,theorem2 laws) \
	$(patsubst %,ledger/test_%.py,brute_force composition) \
	command_line/test_documented.py frozen/test_places.py test_walks.py
# Of files that stay, tests of laws and of what is learnt over many seeded fits or draws. With the
# same digests (tests/frozen) fits release the same bits, so their statistics are the locked ones'.
STATISTICS := \
	estimators/test_classifier.py::test_a_tiny_epsilon_is_no_worse_than_the_noisy_prior \
	estimators/test_explanation_noise.py::test_repeated_fits_lie_as_far_apart_as_is_said \
	estimators/test_forecast_range.py::test_labels_that_say_nothing_are_promised_nothing \
	trees/rules/test_sums.py::test_many_small_effects_are_learnt_better_by_sums_near_to_good_ones \
	trees/one_shot/test_median.py::test_odds_of_two_cells_are_those_of_the_mechanism \
	mechanisms/test_objective.py::test_places_are_those_of_the_minimum_with_noise_on_each \
	mechanisms/test_objective.py::test_the_constants_weight_has_the_law_of_the_minimum_and_not_that_of_other_noise \
	mechanisms/test_objective.py::test_weights_of_no_records_are_noise_over_ridge
# What is among the tests with the lowest versions and goes by no version: some of those above, and
# a page as a browser lays it out, whose text other tests there hold.
NOT_LOWEST := records/streams/test_kept_chunks.py $(filter estimators/report/%,$(NOT_NEWEST)) \
	estimators/report/test_report_browser.py
# Single tests: edits of every leaf of a stored model, and the README's fits of a whole table, which
# are computed by numpy and numba; each docstring's example still runs.
NOT_LOWEST_TESTS := estimators/test_stored_books.py::test_every_edit_is_refused_or_found \
	test_packaging.py::test_readme_examples_run
comma := ,
# One file's tests stay together, so that what they share is made once.
PYTEST_FLAGS ?= -n 2 --dist loadfile
# With other versions asserts are not rewritten, which takes each process 20 s. With ARGS they are,
# so that what failed then says its values.
OTHER_FLAGS := --assert=plain
DEMO_FLAGS ?=
MUTANT_FLAGS ?= --jobs 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Bytecode is kept: hundreds of tests start a process that imports the package.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help environments demo test test-newest test-lowest test-3.13 mutants mutants-sample lint format docs wheel sbom clean

help:
	@echo "make demo          run the main job: a private forest on adult at epsilon = 1"
	@echo "make test          run the tests with the locked versions"
	@echo "make test-newest   run most tests with the newest Python, numpy and scikit-learn"
	@echo "make test-3.13     run those with Python 3.13 and the newest of all else"
	@echo "make test-lowest   run those that go by versions with the lowest that pyproject.toml allows"
	@echo "make mutants       plant faults in copies of the code, and see that a test notices each"
	@echo "make lint          ruff and mypy"
	@echo "make format        let ruff format the code"
	@echo "make docs          build the site in build/site: no network is needed, and no warning is let pass"
	@echo "make wheel         build the wheel, look what is in it, and try it in an environment of its own"
	@echo "make sbom          the same, and write its bill of materials (CycloneDX) beside it"
	@echo "make clean         remove environments and caches"

demo: $(VENV)/.ready-run
	$(VENV)/bin/python -m dpforest demo --force $(DEMO_FLAGS)

test: $(VENV)/.ready-test
	$(VENV)/bin/python -m pytest $(PYTEST_FLAGS) $(ARGS)

# All but `NOT_NEWEST`.
test-newest: $(NEWEST)/.ready-test
	$(NEWEST)/bin/python -m pytest $(PYTEST_FLAGS) \
		$(or $(ARGS),$(OTHER_FLAGS) $(patsubst %,--ignore=tests/%,$(NOT_NEWEST)) \
			$(patsubst %,--deselect=tests/%,$(STATISTICS)))

# Nothing to do where that Python is the newest one: it has just been tested.
test-3.13:
	@if [ "$$(tools/find-python newest)" = "$$(tools/find-python 3.13)" ]; then \
		echo "Python 3.13 is the newest here: make test-newest tests it"; \
	else \
		$(MAKE) test-newest NEWEST=$(MIDDLE) NEWEST_PYTHON=3.13; \
	fi

# Compiled kernels of a place of their own: numba's versions would wipe out each other's.
test-lowest: $(LOWEST)/.ready-test
	NUMBA_CACHE_DIR='$(CURDIR)/$(LOWEST)/numba' $(LOWEST)/bin/python -m pytest $(PYTEST_FLAGS) \
		$(or $(ARGS),$(OTHER_FLAGS) $(LOWEST_TESTS) $(patsubst %,--ignore=tests/%,$(NOT_LOWEST)) \
			$(patsubst %,--deselect=tests/%,$(NOT_LOWEST_TESTS)))

# All of them take some twenty minutes; results are kept, so that a run that was cut short goes on.
mutants: $(VENV)/.ready-test
	$(VENV)/bin/python tools/mutants $(MUTANT_FLAGS) $(ARGS)

# A dozen, chosen by the commit; in copies of what `make test` compiled.
mutants-sample: $(VENV)/.ready-test
	$(VENV)/bin/python tools/mutants $(MUTANT_FLAGS) --sample 12 --seed-from-head

lint: $(VENV)/.ready-lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.ready-lint
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Examples run as it is built. Pages that went are not kept.
docs: $(DOCS)/.ready-docs
	rm -rf build/site docs/generated docs/gallery
	$(DOCS)/bin/python -m sphinx -b html -n -W --keep-going -q -d build/site-doctrees docs build/site
	@echo "the site is in build/site/index.html"

# By way of the source distribution, so that whoever has that alone can build the wheel too.
wheel: $(RELEASE)/.ready-release
	rm -rf build/release build/release-tried
	$(RELEASE)/bin/python -m build --no-isolation --outdir build/release .
	$(RELEASE)/bin/python -m twine check --strict build/release/*
	$(RELEASE)/bin/python tools/try-wheel build/release/*.whl build/release-tried

sbom: wheel
	$(RELEASE)/bin/python tools/sbom build/release/*.whl build/release-tried build/release/sbom.cdx.json

clean:
	rm -rf build/site build/site-doctrees docs/generated docs/gallery $(DOCS)
	rm -rf build/release build/release-tried $(RELEASE)
	rm -rf $(VENV) $(NEWEST) $(MIDDLE) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
	find dpforest tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments -------------------------------------------------------------------------
# A stamp is touched last: an installation that was cut short is done again.

# Those of the tests, which `make -j3 environments` makes side by side.
environments: $(VENV)/.ready-test $(NEWEST)/.ready-test $(LOWEST)/.ready-test

$(VENV)/bin/python:
	@python="$$(PYTHON='$(PYTHON)' tools/find-python default)" && \
	echo "making $(VENV) with $$python" && "$$python" -m venv --clear $(VENV)

$(NEWEST)/bin/python:
	@python="$$(tools/find-python $(NEWEST_PYTHON))" && \
	echo "making $(NEWEST) with $$python" && "$$python" -m venv --clear $(NEWEST)

$(LOWEST)/bin/python:
	@python="$$(tools/find-python 3.11)" && \
	echo "making $(LOWEST) with $$python" && "$$python" -m venv --clear $(LOWEST)

# Editable, and without build isolation, so that the build tool is locked too.
$(VENV)/.ready-run: pyproject.toml $(LOCKED) | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install -q -c $(LOCKED) flit_core
	$(VENV)/bin/python -m pip install -q -c $(LOCKED) --no-build-isolation -e '.[report]'
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready-run
	$(VENV)/bin/python -m pip install -q -c $(LOCKED) --no-build-isolation -e '.[$(TEST_EXTRAS)]'
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready-run
	$(VENV)/bin/python -m pip install -q -c $(LOCKED) --no-build-isolation -e '.[lint]'
	@touch $@

$(DOCS)/bin/python:
	@python="$$(PYTHON='$(PYTHON)' tools/find-python default)" && \
	echo "making $(DOCS) with $$python" && "$$python" -m venv --clear $(DOCS)

$(DOCS)/.ready-docs: pyproject.toml $(LOCKED) | $(DOCS)/bin/python
	$(DOCS)/bin/python -m pip install -q -c $(LOCKED) flit_core
	$(DOCS)/bin/python -m pip install -q -c $(LOCKED) --no-build-isolation -e '.[accounting,dask,docs,frames,plots,report]'
	@touch $@

$(RELEASE)/bin/python:
	@python="$$(PYTHON='$(PYTHON)' tools/find-python default)" && \
	echo "making $(RELEASE) with $$python" && "$$python" -m venv --clear $(RELEASE)

$(RELEASE)/.ready-release: pyproject.toml $(LOCKED) | $(RELEASE)/bin/python
	$(RELEASE)/bin/python -m pip install -q -c $(LOCKED) flit_core build twine cyclonedx-bom
	@touch $@

$(NEWEST)/.ready-test: pyproject.toml | $(NEWEST)/bin/python
	$(NEWEST)/bin/python -m pip install -q --upgrade --upgrade-strategy eager flit_core
	$(NEWEST)/bin/python -m pip install -q --upgrade --upgrade-strategy eager \
		--no-build-isolation -e '.[$(OTHER_EXTRAS)]'
	@touch $@

$(LOWEST)/.ready-test: pyproject.toml tools/lowest-versions | $(LOWEST)/bin/python
	$(LOWEST)/bin/python tools/lowest-versions $(subst $(comma), ,$(OTHER_EXTRAS)) \
		> $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install -q -c $(LOWEST)/constraints.txt flit_core
	$(LOWEST)/bin/python -m pip install -q -c $(LOWEST)/constraints.txt \
		--no-build-isolation -e '.[$(OTHER_EXTRAS)]'
	@touch $@
