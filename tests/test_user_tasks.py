"""Fifteen things that somebody does who has constants of their own and a question, in the order in which they come up.

 1. own constants, and the step sizes for them
 2. constants that are not known
 3. all five papers from one file
 4. a derived constant instead of its parts
 5. a template of constants, filled in
 6. what a paper calls a thing
 7. a number that is safe to use: nothing refuted without a word, nothing that the method cannot take
 8. what is admissible, and why a point is not
 9. a figure
10. a table for a paper, in LaTeX
11. answers in Python: arrays, data frames, numbers
12. a notebook of one's own
13. a typo in each argument
14. what cannot be: absurd numbers, files that cannot be written
15. the wheel in an empty environment, and a typed program

The commands run in this process, in a folder with a file of constants; 12 and 15 are slow.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import fedco
import in_process
import nbformat
import numpy as np
import pytest
from in_a_notebook import html, latex
from in_process import Done
from installed import run
from quick import slowly

MINE = """
L_f = 1
L_g = "3/2"
S_f = 1
S_g = 0.5
sigma_g = 0.5
F_gap = 2
N = 20
"""
"""What somebody knows of a problem with a conditional expectation, in the letters of FCSG's paper."""
SHARED = """
outer_smoothness = 1
outer_sample_smoothness = 1
outer_lipschitz = 1
outer_sample_lipschitz = 1
outer_mean_square_lipschitz = 1
inner_mean_square_lipschitz = 1
inner_sample_lipschitz = 1
inner_jacobian_mean_square = 1
inner_smoothness = 1
inner_sample_smoothness = 1
objective_smoothness = 2
objective_gap = 1
inner_value_noise = "1/2"
inner_jacobian_noise = "1/2"
inner_noise = "1/2"
composite_noise = "1/2"
outer_gradient_noise = "1/2"
local_gradient_bound = 1
local_smoothness = 1
local_hessian_lipschitz = 1
clients = 8
"""
"""The same in names that mean one thing in every paper."""
FCSG, FEDDRO, SCGDM = "fcsg.theorem_4_1", "feddro.theorem_5_1", "local_scgdm.theorem_3_4"
FIVE = (SCGDM, "comfedl.theorem_1", FCSG, "meta_fl.theorem_8", FEDDRO)
RULES = ("zero_noise", "equal_clients", "exact_start", "no_extra_term")
ASSUMED = [part for rule in RULES for part in ("--assume", rule)]


Command = Callable[..., Done]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """`fedco ...` in this process, in a folder with `mine.toml` and `shared.toml`."""
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "shared.toml").write_text(SHARED)
    monkeypatch.chdir(tmp_path)
    return in_process.run


def sets(**values: object) -> list[str]:
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


# --- 1 ---------------------------------------------------------------------------------------------------------------


def test_01_own_constants_and_the_step_sizes_for_them(command: Command):
    """The tuned values, typed in again as they were printed, are admissible and reach the target; a better target costs more."""
    status, out, err = command("tune", FCSG, "--constants", "mine.toml", "--eps", "1/10")
    assert status == 0, err
    head, claim = out.splitlines()[:2]
    assert head.startswith(f"{FCSG} (corrected): alpha = ") and 0 < float(claim.rpartition(" <= ")[2]) <= 0.1
    chosen = dict(re.findall(r"(\w+) = ([0-9.]+)", head))
    answer = json.loads(command("bound", FCSG, "--constants", "mine.toml", *sets(**chosen), "--json").out)
    assert answer["admissible"] and 0 < answer["total"] <= 0.1
    costs = [
        json.loads(command("tune", FCSG, "--constants", "mine.toml", "--eps", eps, "--json").out)["cost"]["samples"]
        for eps in ("1/10", "1/20")
    ]
    assert costs[0] < costs[1]


# --- 2 ---------------------------------------------------------------------------------------------------------------


def test_02_constants_that_are_not_known(command: Command):
    """What is missing is named, with the rules that would fill it in; what a rule fills in is said."""
    status, _, err = command("bound", FEDDRO, "--constants", "shared.toml")
    assert status == 2 and "L_h: wanted" in err and "--assume zero_noise" in err
    status, out, _ = command("tune", FEDDRO, "--constants", "shared.toml", *ASSUMED, "--budget", "samples=10000")
    assert status == 0
    assert "assumed by no_extra_term (there is no non-compositional function): L_h = 0" in out
    assert "not used: outer_sample_smoothness" in out and len([r for r in out.splitlines() if "not used" in r]) == 1


# --- 3 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
def test_03_all_five_papers_from_one_file(command: Command, name: str):
    extra = sets(nu=1, alpha="1/10", r=1) if "meta" in name else []
    status, out, err = command("tune", name, "--constants", "shared.toml", *ASSUMED, *extra, "--eps", "1/2", "--json")
    assert status == 0, err
    answer = json.loads(out)
    assert answer["bound"]["total"] <= 0.5 and answer["bound"]["admissible"]
    assert "local_smoothness" in answer["unused"] or "outer_smoothness" in answer["unused"]
    assert {item["rule"] for item in answer["assumed"]} <= set(RULES)
    assert answer["status"] != "refuted"


# --- 4 ---------------------------------------------------------------------------------------------------------------


def test_04_a_derived_constant_instead_of_its_parts(command: Command):
    """S_F stands for S_g, which is nowhere else."""
    values = sets(L_f=1, L_g=1, S_f=1, S_F=10, sigma_g=0, F_gap=1, N=4, m=1, b=1, q=2, T=100000, alpha="1/200")
    status, out, err = command("bound", FCSG, *values)
    assert status == 0, err
    assert "S_F = 10 as given, not made from its parts" in out


# --- 5 ---------------------------------------------------------------------------------------------------------------


def test_05_a_template_of_constants_filled_in(command: Command, tmp_path: Path):
    """Meaning, range and dimension stand beside each constant; a file that is there is not written over."""
    assert command("constants", FCSG, FEDDRO, "--shared", "--out", "own.toml")[:2] == (0, "wrote own.toml\n")
    text = (tmp_path / "own.toml").read_text()
    assert set(tomllib.loads(text).values()) == {"?"} and "# positive real; dimension [f] [y]^-2" in text
    (tmp_path / "own.toml").write_text(text.replace('= "?"', "= 1"))
    for name in (FCSG, FEDDRO):
        status, _, err = command("tune", name, "--constants", "own.toml", *sets(clients=4), "--eps", "10")
        assert status == 0, err
    status, _, err = command("constants", FCSG, "--out", "own.toml")
    assert status == 2 and "wanted a new file" in err


# --- 6 ---------------------------------------------------------------------------------------------------------------


def test_06_what_a_paper_calls_a_thing(command: Command):
    """FCSG's alpha is a step size, and Local-SCGDM has several letters like one."""
    status, out, _ = command("symbols", "step", "size", "--json")
    first = json.loads(out)["symbols"][0]
    assert status == 0 and first["quantity"] == "step_size"
    assert first["symbols"]["fcsg"] == "alpha" and "not a momentum" in first["notes"]["fcsg"]
    shown = command("show", SCGDM).out
    assert "the models move by beta*eta" in shown and "alpha*eta is the weight of a new gradient" in shown


# --- 7 ---------------------------------------------------------------------------------------------------------------

UNIT = dict.fromkeys(("L_h", "L_f", "L_g", "B_f", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap"), 1)
PRINTED = sets(**UNIT, B_g=1, y_err=0, K=4)
SCGDM_POINT = sets(
    **dict.fromkeys(("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap"), 1),
    **{"alpha": 5, "beta": "1/100", "gamma": 5, "eta": "1/100", "p": 2, "T": 100000},
)


@pytest.mark.parametrize("eps", [slowly("0.01"), "1", slowly("100")])
def test_07_nothing_that_the_method_cannot_take(command: Command, eps: str):
    """The optimum of the printed theorem had beta = 3.7785, with which FedDRO diverges."""
    status, out, err = command("tune", FEDDRO, "--statement", "printed", *PRINTED, "--eps", eps, "--json")
    assert status == 0, err
    answer = json.loads(out)
    text = command("tune", FEDDRO, "--statement", "printed", *PRINTED, "--eps", eps).out
    assert answer["bound"]["admissible"] and 0 < float(re.findall(r"beta = ([0-9.]+)", text)[0]) <= 1
    assert "REFUTED" in text
    assert answer["status"] == "refuted" and answer["refuted_by"]
    checked = {check["name"]: check["holds"] for check in answer["bound"]["method_range"]}
    assert checked["method_range_beta"] and all(checked.values())


def test_07_nothing_refuted_without_a_word(command: Command):
    """Five refutations stood behind a bare `admissible`; each replays by the id of the claim."""
    out = command("bound", SCGDM, "--statement", "printed", *SCGDM_POINT).out
    assert "\n  admissible\n  REFUTED: an exact instance breaks this statement: fedco replay " in out
    composed = command("bound", SCGDM, "--statement", "composed", *SCGDM_POINT).out
    assert (
        "REFUTED: the instance that breaks the printed statement breaks this statement: " in composed.splitlines()[-1]
    )
    by_default = command("bound", SCGDM, *SCGDM_POINT).out
    assert by_default.startswith(f"{SCGDM} (corrected)") and "REFUTED" not in by_default
    answer = json.loads(command("replay", SCGDM, "--json").out)
    assert answer["confirmed"] and len(answer["bundles"]) >= 4
    assert {item["verdict"]["outcome"] for item in answer["bundles"]} == {"REFUTED"}


# --- 8 ---------------------------------------------------------------------------------------------------------------


def test_08_why_a_point_is_not_admissible(command: Command):
    """Each condition that fails, with what was wanted and what was got; a script may ask for status 3."""
    at = [*sets(q=20, T=10, alpha=2, m=1, b=1), "--constants", "mine.toml"]
    status, out, _ = command("bound", FCSG, *at)
    assert status == 0 and "NOT admissible:" in out
    assert "method_range_q: q <= T: wanted <= 10 (a run communicates at least once), got 20" in out
    assert any("descent_step" in line and "wanted <=" in line and "got" in line for line in out.splitlines())
    status, out, _ = command("bound", FCSG, *at, "--strict", "--json")
    failures = {item["name"]: item for item in json.loads(out)["failures"]}
    assert status == 3 and failures["method_range_q"]["got"] == 20


def test_08_what_is_admissible(command: Command):
    """Several unknowns are asked back about; no upper end says who does not limit it; an empty set names what conflicts."""
    known = ["--constants", "shared.toml"]
    status, _, err = command("admissible", FCSG, "--statement", "printed", "--solve", "alpha", *known)
    assert status == 2 and "set them, solve for all together (--solve alpha,q), or let `fedco tune` choose them" in err
    status, out, _ = command("admissible", FCSG, "--solve", "q", *known, *sets(alpha="1e-6", b=1))
    assert status == 0 and "the theorem does not limit q from above" in out
    status, out, _ = command("admissible", FCSG, "--solve", "q", *known, *sets(alpha="1e-6", b=1, T=20))
    assert "[1, 20]" in out and "method_range_q: q <= T" in out
    empty = [*known, *sets(alpha=9, b=1, T=20)]
    status, out, _ = command("admissible", FCSG, "--solve", "q", *empty)
    assert status == 0 and "infeasible" in out and "descent_step: " in out
    assert command("admissible", FCSG, "--solve", "q", *empty, "--strict").status == 3


# --- 9 ---------------------------------------------------------------------------------------------------------------


def test_09_a_figure(command: Command, tmp_path: Path):
    """With its numbers beside it; where it is blank, the condition that fails there is named."""
    common = ["plot", FCSG, "--over", "alpha", "--constants", "mine.toml", *sets(b=1, q=2, m=2, T=1000)]
    status, out, err = command(*common, "--out", "new/a.svg", "--from", "1/1000", "--to", "10")
    assert status == 0, err
    assert "<svg" in (tmp_path / "new/a.svg").read_text() and (tmp_path / "new/a.data.csv").is_file()
    assert re.search(r"left out: alpha = 0.376939 to 10: descent_step: S_F\*alpha <= 1: wanted <= 1, got 27.5", out)
    status, _, err = command(*common, "--out", "new/a.svg", "--from", "2", "--to", "10")
    assert status == 2 and "no admissible value" in err and "descent_step" in err


# --- 10 --------------------------------------------------------------------------------------------------------------

TEX = shutil.which("pdflatex")


def test_10_a_table_for_a_paper_in_latex(command: Command, tmp_path: Path):
    """The statement, the table of the tuned schedule and that of the constants, in one document; S_F is not multiplied out."""
    made = [
        command("show", FCSG, "--statement", "corrected", "--latex"),
        command("tune", FCSG, "--constants", "mine.toml", "--eps", "1/10", "--latex"),
        command("compare", FCSG, "baselines.biased_sgd", "--eps", "1/10", "--latex"),
    ]
    assert [done.status for done in made] == [0, 0, 0]
    shown, tuned, _ = (done.out for done in made)
    assert r"\frac{\alpha S_F L_f^{2} L_g^{2}}{b N}" in shown and r"S_F &= L_f S_g + L_g^{2} S_f" in shown
    assert r"% schedule" in tuned and r"% constants" in tuned and r"$\alpha$ & step size" in tuned
    if TEX is None:
        pytest.skip("no LaTeX on this machine: pdflatex is not on the path")
    start = r"\documentclass{article}\usepackage{amsmath,amssymb}\begin{document}"
    (tmp_path / "paper.tex").write_text("\n\n".join([start, *(done.out for done in made), r"\end{document}"]))
    told = [TEX, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(told, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


# --- 11 --------------------------------------------------------------------------------------------------------------


def test_11_answers_in_python(command: Command):
    """`command` has put `mine.toml` into this folder."""
    theorem = fedco.theorem(FCSG)
    steps = np.geomspace(0.01, 1.0, 5)
    found = theorem.bound(constants="mine.toml", alpha=steps, q=2, m=10, b=1, T=10**4, strict=False)
    assert found.admissible.tolist() == [True, True, True, True, False] == (steps * 2.75 <= 1).tolist()
    frame = found.to_frame()
    assert frame["total"].tolist() == found.total.tolist() and "drift" in frame
    single = theorem.bound(constants="mine.toml", alpha=float(steps[1]), q=2, m=10, b=1, T=10**4)
    assert float(single) == pytest.approx(found.total[1], rel=1e-12)
    best = theorem.tune(constants="mine.toml", budget={"samples": 10**5})
    again = theorem.bound(constants="mine.toml", **best.values)
    assert float(again) == float(best) and 0 < float(best.values["alpha"]) < 1
    assert len(repr(best).splitlines()) <= 6 and "<table>" in html(best) and latex(best).startswith("$")
    assert {"theorem", "audit", "compare", "validate"} <= set(dir(fedco))


# --- 12 --------------------------------------------------------------------------------------------------------------

CELLS = (
    "import fedco",
    "best = fedco.theorem('fcsg.theorem_4_1').tune(constants='mine.toml', budget={'samples': 10**5})\nbest",
    "best.plot()",
    "best.to_frame()",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_12_a_notebook_of_ones_own(command: Command, tmp_path: Path):
    """An answer at the end of a cell shows itself: a page with tables, a figure, a data frame. Those of docs/ are run by
    tests/test_notebooks.py."""
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    shown = [{kind for out in cell.outputs for kind in out.get("data", {})} for cell in notebook.cells]
    assert (
        shown[1] >= {"text/html", "text/latex", "text/plain"}
        and "image/svg+xml" in shown[2]
        and "text/html" in shown[3]
    )
    assert "<math" in notebook.cells[1].outputs[0]["data"]["text/html"]


# --- 13 --------------------------------------------------------------------------------------------------------------

RUN = ["run", "feddro", "--problem", "feddro_noisy", "--T", "9", "--out", "r", *sets(eta=0.1, beta=0.5, I=2)]
TYPOS = [
    (["bound", "fdro.theorem_5_1"], "the nearest is feddro.theorem_5_1"),
    (["bound", "feddro.theorem_51"], "the nearest is feddro.theorem_5_1"),
    (["theorems", "fedro"], "the nearest is feddro"),
    (["replay", "comfedl.theorem_11"], "the nearest is comfedl.theorem_1"),
    (["symbols", "stepp"], "the nearest word is step"),
    (["bound", FEDDRO, "--set", "Lf=1"], "the nearest is L_f"),
    (["bound", FEDDRO, "--set", "outer_smothness=1"], "the nearest is outer_smoothness"),
    (["bound", FEDDRO, "--statement", "printd"], "printed"),
    (["bound", FEDDRO, "--asume", "zero_noise"], "--assume"),
    (["bnd", FEDDRO], "Did you mean 'bound'"),
    (["tune", FCSG, "--assume", "zero_noice"], "the nearest is zero_noise"),
    (["tune", FCSG, "--constants", "mine.toml", "--budget", "sampls=9"], "the nearest is samples"),
    (["tune", FCSG, "--constants", "mine.toml", "--eps", "1", "--range", "alpah=1:2"], "the nearest is alpha"),
    (["compare", "--eps", "1", "--set", "clints=3"], "the nearest is clients"),
    (["compare", "--eps", "1", "--cost", "sampls"], "the nearest is samples"),
    (["compare", "--orders", "--kind", "condtional"], "the nearest is conditional"),
    (["audit", "--recheck", "feddro.same_sampel"], "the nearest is feddro.same_sample"),
    (["reproduce", "feddro/figre_6"], "the nearest is feddro/figure_6"),
    (["validate", FEDDRO, "--problem", "feddro_noisi"], "the nearest is feddro_noisy"),
    (["run", "fedro", "--problem", "feddro_noisy", "--T", "9", "--out", "x"], "the nearest is feddro"),
    ([*RUN, "--set", "eat=1"], "the nearest is eta"),
    ([*RUN, "--set", "problem.clints=3"], "the nearest is problem.clients"),
    ([*RUN, "--metric", "gradint_sq"], "the nearest is gradient_sq"),
]


@pytest.mark.parametrize(("arguments", "meant"), TYPOS, ids=[f"{a[0]} {a[-1]}" for a, _ in TYPOS])
def test_13_a_typo_in_each_argument(command: Command, arguments: list[str], meant: str):
    status, out, err = command(*arguments)
    assert (status, out) == (2, "") and meant in " ".join(err.split()), err


# --- 14 --------------------------------------------------------------------------------------------------------------

ABSURD = [
    ([*RUN, "--seeds", "99999999999"], "TiB"),
    (["plot", FCSG, "--over", "T", "--out", "/proc/a/b.svg"], "/proc/a"),
    (["constants", FCSG, "--out", "/proc/a/b.toml"], "/proc/a"),
    (["bound", FCSG, "--constants", "missing.toml"], "no such file"),
]


@pytest.mark.parametrize(("arguments", "said"), ABSURD, ids=[" ".join(arguments)[:40] for arguments, _ in ABSURD])
def test_14_what_cannot_be_is_one_line_before_anything_runs(command: Command, arguments: list[str], said: str):
    status, out, err = command(*arguments)
    assert (status, out) == (2, "") and len(err.splitlines()) == 1 and said in err, err


# --- 15 --------------------------------------------------------------------------------------------------------------

TYPED = """from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import fedco
import numpy as np
from fedco.algorithms import FedDRO, Result
from fedco.bounds.cost.orders import Rates
from fedco.bounds.cost.sensitivity import Elasticities
from fedco.bounds.registry import Theorems
from fedco.figures import Plot
from fedco.synthetic import AbstractProblem
from fedco.synthetic.estimation import Estimates
from fedco.validation.experiments.run import RunResult
from fedco.validation.falsifier.attack import Falsified
from fedco.validation.practice.answer import Practice
from fedco.validation.runs.bundle import Replay
from fedco.validation.runs.validate import Validation
from fedco.validation.statistics.verdict import Verdict
from torch import Tensor, nn

ID = "fcsg.theorem_4_1"
KNOWN: dict[str, float | str] = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": "1/2", "F_gap": 1, "N": 4}
OWN = {"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}


def theory(samples: int) -> dict[str, float]:
    theorem = assert_type(fedco.theorem(ID), fedco.Theorem)
    best = assert_type(theorem.tune(budget={"samples": samples}, constants=KNOWN), fedco.Tuned)
    assert_type(best.bound, fedco.Bound)
    assert_type(best.to_latex() + best.to_markdown(), str)
    assert_type(best.plot(), Plot)
    assert_type(theorem.admissible("alpha", constants=KNOWN, b=1, q=2), fedco.Admissible)
    assert_type(theorem.complexity(eps="1/10", constants=KNOWN, assume=("zero_noise",)), fedco.Complexity)
    assert_type(theorem.rates("corrected"), Rates)
    assert_type(theorem.statement("printed"), fedco.Statement)
    assert_type(fedco.theorems(), Theorems)
    assert_type(fedco.compare("1/10", {"clients": 20}, theorems=[theorem]), fedco.Comparison)
    assert_type(fedco.audit("fcsg"), fedco.Findings)
    assert_type(fedco.audit("fcsg")[0].severity, str)
    mine = fedco.define(id="mine.theorem_1", symbols=OWN, terms={"initialisation": "2*F_gap/(eta*T)"})
    assert_type(mine.elasticities(F_gap=1, eta="1/10", T=100), Elasticities)
    return {name: float(value) for name, value in best.values.items()}


def total(step: str | float) -> float:
    bound = fedco.load("pr_sgd.toml").bound(L=1, sigma=1, G=2, F_gap=3, N=8, p=2, T=1000, eta=step)
    assert_type(bound, fedco.Bound)
    assert_type(bound.total, float | None)
    assert_type(bound.terms, dict[str, float])
    return float(bound)


def curve(steps: Sequence[float]) -> list[bool]:
    theorem = fedco.load(Path("pr_sgd.toml"))
    found = theorem.bound(L=1, sigma=1, G=2, F_gap=3, N=8, p=2, T=1000, eta=np.array(steps), strict=False)
    assert_type(found, fedco.BoundArray)
    return [bool(value) for value in found.admissible.tolist()]


def experiments(out: Path) -> float:
    problem = assert_type(fedco.problem("feddro_noisy", clients=2), AbstractProblem)
    method = FedDRO(eta=0.01, beta=0.5, I=2, b=1)
    assert_type(fedco.drive(method, problem, steps=4, seeds=2), Result)
    assert_type(fedco.run("feddro", problem, T=4, seeds=2, settings={"eta": 0.01, "beta": 0.5, "I": 2}), RunResult)
    assert_type(fedco.problems(), tuple[str, ...])
    assert_type(fedco.replay("fcsg.theorem_4_1.displayed_assumption"), Replay)
    compared = fedco.practice("baselines.minibatch_sgd", "federated_logistic", T=8, seeds=2, above=1)
    assert_type(compared, Practice)
    return float(out.exists())


def constants(model: nn.Module, clients: list[tuple[Tensor, Tensor]]) -> str:
    found = fedco.estimate(model, nn.functional.mse_loss, clients, theorem="baselines.local_sgd")
    return str(assert_type(found, Estimates))


def searches() -> tuple[Verdict, ...]:
    found = assert_type(fedco.falsify(ID, statement="corrected", seconds=1), Falsified)
    fedco.assert_not_falsified(ID, statement="corrected", seconds=1)
    validated = assert_type(fedco.validate("baselines.minibatch_sgd", seeds=16, jobs=1), Validation)
    return validated.verdicts if not found.refuted else ()


if __name__ == "__main__":
    try:
        fedco.theorem("fcsg.theorem_41")
    except fedco.InputError as error:
        print(error)
    print(sorted(theory(10000)), total("1/10"), curve([0.1, 0.5, 2.0]), experiments(Path.cwd()))
"""
WRONG = """
import fedco

bound: fedco.Tuned = fedco.theorem("fcsg.theorem_4_1").bound(T=1)
fedco.theorem(3)
fedco.theorem("fcsg.theorem_4_1").tune(budget=5)
fedco.audit("fcsg").nothing()
fedco.compare(eps="1/10").rows[0].total
fedco.compare(eps=[1])
fedco.theorem("fcsg.theorem_4_1").bound(constants=3)
fedco.estimate(1)
"""
"""One mistake in each of its last eight lines."""


@pytest.mark.slow
def test_15_the_wheel_in_an_empty_environment_and_a_typed_program(folder: Path):
    """Every public function of fedco has types that mypy sees in what is installed, and a mistake in their use is found."""
    assert run(folder, "fedco", "--version") == f"fedco {fedco.__version__}\n"
    functions = {name for name in dir(fedco) if name.islower() and not name.startswith("_")}
    assert all(f"fedco.{name}(" in TYPED for name in functions), functions
    (folder / "typed.py").write_text(TYPED, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    options = ["-m", "mypy", "--strict", "--cache-dir", str(folder.parent / "types")]
    assert "Success" in run(folder, "python", *options, "typed.py")
    printed = run(folder, "python", "typed.py")
    assert "the nearest is" in printed and "[True, True, False]" in printed
    with pytest.raises(AssertionError) as refused:
        run(folder, "python", *options, "wrong.py")
    lines = {int(n) for n in re.findall(r"wrong\.py:(\d+): error", str(refused.value))}
    assert lines == set(range(4, 12))
