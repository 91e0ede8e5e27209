"""Every option of every command, once: how it is spelled, what it means, and its least value.

A command is a function whose parameters are its options, with their types and defaults; `command.py` looks each up here, first under
`COMMAND.PARAMETER`, then under `PARAMETER`. What the verbs of a theorem are told stands in `bounds/options.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from ..bounds.options import VERBS, Option

ARGUMENTS = {
    "name": Option("For instance feddro.theorem_5_1 (see `fedco theorems`), my_bound.toml, or my_paper.py:theorem_1.", "ID|FILE"),
    "theorems.paper": Option("A paper key such as feddro, or a file; all papers without it.", "[PAPER|FILE]"),
    "audit.name": Option("A theorem id, a paper key or a file; everything without it.", "[ID|FILE]"),
    "compare.names": Option("Theorems to compare; the main ones of all papers without any.", "[ID|FILE]..."),
    "constants.names": Option("The theorems that the file is for.", "ID|FILE..."),
    "explore.names": Option("Theorems to show; the main ones of all papers without any.", "[ID|PAPER|FILE]..."),
    "words": Option("Words that say what the symbol means, or its letter: step size, noise inner, L_f, …", "[WORD]..."),
    "file": Option(
        "A function that returns a dict with model (an nn.Module), loss, clients (a DataLoader, Dataset or pair of tensors for "
        "each), and if wanted form, test, along and the form's numbers; run, tune, validate and practice take the same.",
        "FILE.py:NAME",
    ),
    "counterexample.name": Option("A theorem with a certified counterexample; the only one without it.", "[ID]"),
    "bundle": Option(
        "The file of a refutation, the name of one that comes with fedco, or the id of a claim: all of its refutations.",
        "BUNDLE|NAME|ID",
    ),
    "method": Option("A name of `fedco algorithms`, or FILE.py:NAME.", "METHOD"),
    "folders": Option("Folders that `fedco run` has written.", "DIR…"),
    "figure": Option("One of the list, for instance feddro/figure_6.", "[KEY/FIGURE]"),
    "folder": Option("Folder of a `fedco validate` or `fedco report` run.", "DIR"),
}  # fmt: skip
"""Arguments that a command takes without a flag."""
OPTIONS = {
    **VERBS,
    # media
    "as_json": Option("Print one JSON object and nothing else on stdout.", flag="--json"),
    "latex": Option("Print LaTeX for a paper; needs amsmath and amssymb only."),
    "markdown": Option("Print Markdown, formulas between dollar signs."),
    "html": Option("Print a page of HTML, formulas in MathML."),
    # what commands share
    "trust": Option("Run the code (a method, a proof) that a TOML file or a bundle names."),
    "strict": Option("End with status 3 where the values are not admissible."),
    "jobs": Option("Number of processes; as many as there are cores without it.", least=1),
    "scheduler": Option("Address of a dask scheduler (tcp://host:port) whose workers do the runs; the results are the same.", "ADDRESS"),
    "max_hours": Option("Refuse a run that would take longer; the time is estimated before it starts.", least=0),
    "root_seed": Option("Number from which all random numbers follow."),
    "figure_file": Option("Also write a figure (.png, .svg, .pdf).", "FILE", "--figure"),
    "out": Option("Folder for measurements, figures and results.json.", "DIR"),
    "weight": Option("Weight of one resource in the cost that is minimised.", "NAME=PRICE"),
    # theory
    "show.statement": Option("Show only this statement: printed, composed, corrected or sharpened; all of them without it.", "LABEL"),
    "sensitivity": Option("Also print by how many percent the bound changes when a symbol grows by one percent."),
    "admissible.figure_file": Option("Also draw the set of two hyperparameters (.png, .svg, .pdf).", "FILE", "--figure"),
    "practice.model": Option("A function that returns a model, a loss and clients, in the place of --problem.", "FILE.py:NAME"),
    "tune.model": Option(
        "Estimate the constants of this model first, as `fedco estimate` does; the answer lists the estimates that it uses.", "FILE.py:NAME"
    ),
    "complexity.eps": Option("Target for the bound; without it only the orders of the costs are printed."),
    "compare.eps": Option("Target for the metric of every theorem."),
    "compare.orders": Option("Print the orders of the costs as the target goes to 0 instead of the costs; needs no constants."),
    "compare.kind": Option("Compare only theorems about this kind of problem, e.g. conditional."),
    "compare.cost": Option("The cost that is minimised for each theorem.", "NAME"),
    "compare.statement": Option("printed, composed or corrected; the best available without it.", "LABEL"),
    "recheck": Option("Run the check of this finding again.", "FINDING"),
    "check": Option(
        "Run every check now, or none; without either only the checks of papers that changed since their last audit.",
        flag="--check/--no-check",
    ),
    "prove.statement": Option(
        "Which statement to prove, such as sharpened; without it the corrected one where there is one, else the printed one.", "LABEL"
    ),
    "sharpen.tune": Option("Choose the step sizes and momenta that have no value: the least sharpened bound of at most 25 points."),
    "sharpen.out": Option("The file of the certificate.", "FILE"),
    "shared": Option("Write names of quantities, which mean the same in every paper, instead of letters."),
    "constants.out": Option("The file to write; it must not exist yet. Without it the text is printed.", "FILE.toml"),
    # models
    "estimate.theorem": Option("The theorem whose constants are wanted: an id, or a file.", "ID"),
    "estimate.out": Option("The constants file to write, with a comment on every value.", "FILE.toml"),
    "form": Option(
        "federated, kl_dro, chi2_dro, kl_clients, maml, invariant, average_precision, maml_tasks or meta; that of the "
        "function without it."
    ),
    "points": Option("Number of random points in the region around the run; 59 without it.", least=2),
    "radius": Option("Radius of that region; a tenth of the distance that the run covers without it.", least=0),
    # pages
    "explore.out": Option("The page to write.", "FILE.html"),
    "explore.measured": Option("Folder of a `fedco validate` run, or of several: its means are drawn too.", "DIR", "--with"),
    "explore.opened": Option("Open the page in the browser.", flag="--open"),
    "report.out": Option("Folder for index.html and everything behind it.", "DIR"),
    "report.opened": Option("Show the page in the browser when it is written.", flag="--open"),
    "quick": Option("Run a few theorems in full and each of the others on at most three short instances: a few minutes on two cores."),
    # checks
    "falsify.statement": Option("Which statement to attack.", "LABEL"),
    "seconds": Option("Seconds that each search may take.", least=0.1),
    "falsify.jobs": Option("Number of searches at the same time, each with a seed of its own.", least=1),
    "falsify.seed": Option("Seed of the search."),
    "hidden": Option(
        "Value of a constant that the paper hides in O(.); with `any` larger and larger values are tried: 1, 10, 100, ...", "VALUE|any"
    ),
    "each_term": Option("Find out which terms and conditions are necessary: each is dropped or relaxed, and searched for."),
    "falsify.assume": Option("A property that instances must also have.", "PROPERTY"),
    "where": Option("Search only where this holds, for instance `nu=3`, `alpha<=1/(100*L)` or `r=1`.", "CONDITION"),
    "falsify.out": Option("Folder for the bundles.", "DIR"),
    "problem": Option(
        "A name of `fedco problems`, or FILE.py:NAME: a problem, or a function that returns a model, a loss and clients as "
        "for `fedco estimate`, whose constants are then estimated."
    ),
    "practice.horizon": Option("Horizon, in the theorem's unit: iterations, or rounds where it counts those.", flag="--T", least=1),
    "factor": Option("Ratio of two neighbouring step sizes of the grid.", least=2),
    "below": Option("Number of step sizes below theory's.", least=0),
    "above": Option("Number of step sizes above theory's.", least=0),
    "practice.seeds": Option("Number of seeds, the same at every step size.", least=1),
    "practice.budget": Option(
        "How many runs (one seed at one step size) the grid may take; all that it has without it.", least=1
    ),
    "practice.out": Option("Also write practice.png, practice.svg, table.csv and practice.json.", "DIR"),
    "validate.problem": Option("Only this problem: a registered one or FILE.py:NAME."),
    "validate.seeds": Option("Seeds per experiment; planned in advance without it.", least=1),
    "alpha": Option("Total probability of a false verdict, shared by all tests."),
    "validate.statement": Option(
        "Which statement is judged; without it the one that the paper's instances are for, mostly the printed one.", "LABEL"
    ),
    "device": Option("Where to run: cpu or cuda."),
    "lemmas": Option("Measure both sides of every lemma of the proof instead; no verdicts."),
    "case": Option("Case I or II of the counterexample; both without it."),
    "replay.method": Option("The file of the method, if the refuted theorem has a method of its own; the file is run.", "FILE.py"),
    "cases": Option("Number of results that are measured again.", least=1),
    "verify.seed": Option("Chooses which results are measured again; without it the choice differs every time."),
    # runs
    "plot.out": Option("Figure to write: .svg, .png or .pdf.", "FILE"),
    "over": Option("Symbol on the horizontal axis, for instance T, K, I.", "NAME"),
    "sweep": Option("Measure the theorem's sweep over this symbol beside the bound.", "NAME"),
    "low": Option("Left end of the axis.", flag="--from"),
    "high": Option("Right end of the axis.", flag="--to"),
    "plot.measured": Option("Folder of a `fedco validate` run to draw beside it.", "DIR", "--with"),
    "plot.seeds": Option("Seeds per point of --sweep.", least=16),
    "cache": Option("Folder for the measurements of --sweep; those that are there are reused.", "DIR"),
    "run.problem": Option("A name of `fedco problems`, or FILE.py:NAME."),
    "run.steps": Option("Number of local steps.", flag="--T", least=1),
    "run.out": Option("Folder for the table, run.json and a figure of every metric.", "DIR"),
    "grid": Option(
        "What varies: eta=1e-3:1:13log (13 values, logarithmic), eta=0:1:5 (linear), I=1,2,4. A hyperparameter, "
        "or problem.NAME, a parameter of the problem. Every combination is run, with the same noise.",
        "NAME=VALUES",
    ),
    "run.values": Option(
        "A hyperparameter, or problem.NAME, a parameter of the problem. A step size may decline: eta=0.5/(t + 4).", "NAME=VALUE", "--set"
    ),
    "run.seeds": Option("Number of seeds.", least=1),
    "metric": Option(
        "objective (default), gradient_sq, distance, train_loss, test_loss, accuracy, mean_client_accuracy, "
        "worst_client_accuracy (both also as …_train_accuracy), worst_class_accuracy, train_accuracy, average_precision, "
        "consensus_error, messages or bytes, as far as the problem offers it; or FILE.py:NAME, a function of yours."
    ),
    "every": Option("Steps between two recorded values; about 100 values are recorded without it.", least=1),
    "run.theorem": Option(
        "Draw the bound of this theorem beside gradient_sq; without it of all theorems about this method on certified constants.",
        "ID",
    ),
    "format": Option("Format of the table: csv, or parquet (needs fedco[frames])."),
    "reproduce.whole": Option("Run every figure that can be run, and write a page with them: DIR/index.html.", flag="--all"),
    "full": Option(
        "Use the paper's sizes, networks and step sizes; some figures take hours or days. A stopped figure continues where it was."
    ),
    "data": Option(
        "Folder with MNIST's idx files or the .bin files of CIFAR-10 or CIFAR-100, used instead of scikit-learn's digits, or with "
        "Omniglot's folders of PNG images. Nothing is downloaded.",
        "DIR",
    ),
    "reproduce.seeds": Option("Number of runs of each curve; with too few runs no ordering is decided.", least=6),
    "again": Option("With --all: also run the figures that an earlier call has finished."),
    "reproduce.max_hours": Option("Refuse a figure if one of its curves, or the tuning of it, is estimated to take longer.", least=0),
    "reproduce.out": Option("Folder for figures, tables and JSON.", "DIR"),
}  # fmt: skip


def option_of(command: str, parameter: str) -> tuple[str, Option]:
    """The row of a parameter of a command, and its key."""
    keys = (f"{command}.{parameter}", parameter)
    return next((key, rows[key]) for key in keys for rows in (ARGUMENTS, OPTIONS) if key in rows)


# --- what the shell completes: each is read without torch, and nothing here may fail ---


def theorem_ids(incomplete: str) -> list[str]:
    """The ids of theorems that begin so; paper keys while no paper is named, which needs no paper to be read."""
    from ..bounds.registry import get_paper, is_paper, paper_keys

    key, dot, _ = incomplete.partition(".")
    found: list[str] = []
    with suppress(Exception):
        if dot and is_paper(key):
            found = list(get_paper(key).theorems)
        else:
            keys = [name for name in paper_keys() if name.startswith(key)]
            found = [f"{name}." for name in keys] if len(keys) > 1 else list(get_paper(keys[0]).theorems)
    return [name for name in found if name.startswith(incomplete)]


def problem_names(incomplete: str) -> list[str]:
    """The names of registered problems that begin so, from the kept list, current or not."""
    found: list[str] = []
    with suppress(Exception):
        from ..validation.runs.problem_list import FILE

        found = [item["name"] for item in json.loads(FILE.read_text(encoding="utf-8"))["problems"]]
    return [name for name in found if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """The names of methods that begin so."""
    found: list[str] = []
    with suppress(Exception):
        from ..algorithms.declared import declared

        found = list(declared())
    return [name for name in found if name.startswith(incomplete)]


COMPLETED: dict[str, Callable[[str], list[str]]] = {
    "name": theorem_ids,
    "constants.names": theorem_ids,
    "bundle": theorem_ids,
    "problem": problem_names,
    "validate.problem": problem_names,
    "run.problem": problem_names,
    "method": method_names,
}
"""Arguments and options that the shell completes."""
