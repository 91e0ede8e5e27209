"""What somebody does who has own constants and a question: names, unknown constants, one file for all papers, regions, typos.

The tasks about notebooks, exports, figures and an installed wheel are in other files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest
from in_process import run

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
FIVE = ("local_scgdm.theorem_3_4", "comfedl.theorem_1", "fcsg.theorem_4_1", "meta_fl.theorem_8", "feddro.theorem_5_1")
RULES = ("zero_noise", "equal_clients", "exact_start", "no_extra_term")
ASSUMED = [part for rule in RULES for part in ("--assume", rule)]
PRINTED = [
    part
    for name in ("L_h", "L_f", "L_g", "B_f", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap")
    for part in ("--set", f"{name}=1")
] + ["--set", "B_g=1", "--set", "y_err=0", "--set", "K=4"]


@pytest.fixture
def fedco(capsys, monkeypatch, tmp_path):
    """The command in this process, in a folder with `shared.toml`: status, stdout, stderr."""
    (tmp_path / "shared.toml").write_text(SHARED)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def test_all_five_papers_from_one_file(fedco):
    for name in FIVE:
        extra = ["--set", "nu=1", "--set", "alpha=1/10", "--set", "r=1"] if "meta" in name else []
        status, out, err = fedco("tune", name, "--constants", "shared.toml", *ASSUMED, *extra, "--eps", "1/2", "--json")
        assert status == 0, (name, err)
        answer = json.loads(out)
        assert answer["bound"]["total"] <= 0.5 and answer["bound"]["admissible"]
        assert "local_smoothness" in answer["unused"] or "outer_smoothness" in answer["unused"]
        assert {item["rule"] for item in answer["assumed"]} <= set(RULES)
        assert answer["status"] != "refuted"


def test_constants_that_are_not_known(fedco):
    status, _, err = fedco("bound", "feddro.theorem_5_1", "--constants", "shared.toml")
    assert status == 2 and "L_h: wanted" in err and "--assume zero_noise" in err
    status, out, _ = fedco(
        "tune", "feddro.theorem_5_1", "--constants", "shared.toml", *ASSUMED, "--budget", "samples=10000"
    )
    assert status == 0
    assert "assumed by no_extra_term (there is no non-compositional function): L_h = 0" in out
    assert "not used: outer_sample_smoothness" in out and len([r for r in out.splitlines() if "not used" in r]) == 1


def test_a_derived_constant_instead_of_its_parts(fedco):
    values = [
        "L_f=1",
        "L_g=1",
        "S_f=1",
        "S_F=10",
        "sigma_g=0",
        "F_gap=1",
        "N=4",
        "m=1",
        "b=1",
        "q=2",
        "T=100000",
        "alpha=1/200",
    ]
    status, out, err = fedco("bound", "fcsg.theorem_4_1", *(p for v in values for p in ("--set", v)))
    assert status == 0, err
    assert "S_F = 10 as given, not made from its parts" in out


def test_a_template_is_filled_in_and_used(fedco, tmp_path):
    status, out, _ = fedco("constants", "fcsg.theorem_4_1", "feddro.theorem_5_1", "--shared", "--out", "mine.toml")
    assert (status, out) == (0, "wrote mine.toml\n")
    text = (tmp_path / "mine.toml").read_text()
    assert set(tomllib.loads(text).values()) == {"?"} and "# positive real; dimension [f] [y]^-2" in text
    (tmp_path / "mine.toml").write_text(text.replace('= "?"', "= 1"))
    for name in ("fcsg.theorem_4_1", "feddro.theorem_5_1"):
        status, out, err = fedco(
            "tune", name, "--constants", "mine.toml", "--set", "clients=4", "--eps", "10", "--json"
        )
        assert status == 0, err
    status, _, err = fedco("constants", "fcsg.theorem_4_1", "--out", "mine.toml")
    assert status == 2 and "wanted a new file" in err


def test_what_a_paper_calls_its_step_size(fedco):
    status, out, _ = fedco("symbols", "step", "size", "--json")
    first = json.loads(out)["symbols"][0]
    assert status == 0 and first["quantity"] == "step_size"
    assert first["symbols"]["fcsg"] == "alpha" and "not a momentum" in first["notes"]["fcsg"]
    status, out, _ = fedco("show", "local_scgdm.theorem_3_4")
    assert "the models move by beta*eta" in out and "alpha*eta is the weight of a new gradient" in out
    status, _, err = fedco("symbols", "stepp")
    assert status == 2 and "the nearest is step" in err


def test_no_tuned_value_that_the_method_cannot_take(fedco):
    """The printed theorem's optimum used to have beta = 3.7785, with which FedDRO diverges."""
    for eps in ("0.01", "1", "100"):
        status, out, err = fedco(
            "tune", "feddro.theorem_5_1", "--statement", "printed", *PRINTED, "--eps", eps, "--json"
        )
        assert status == 0, err
        answer = json.loads(out)
        assert answer["bound"]["admissible"]
        assert answer["status"] == "refuted" and answer["refuted_by"]
        assert all(check["holds"] for check in answer["bound"]["method_range"])
        assert {"method_range_beta"} <= {check["name"] for check in answer["bound"]["method_range"]}


def test_a_point_that_is_not_admissible_says_why(fedco):
    values = [
        "L_f=1",
        "L_g=1",
        "S_f=1",
        "S_g=1",
        "sigma_g=1",
        "F_gap=1",
        "N=4",
        "m=1",
        "b=1",
        "q=20",
        "T=10",
        "alpha=2",
    ]
    sets = [part for value in values for part in ("--set", value)]
    status, out, _ = fedco("bound", "fcsg.theorem_4_1", *sets)
    assert status == 0 and "NOT admissible:" in out
    assert "method_range_q: q <= T: wanted <= 10 (a run communicates at least once), got 20" in out
    assert any("descent_step" in line and "wanted <=" in line and "got" in line for line in out.splitlines())
    status, out, _ = fedco("bound", "fcsg.theorem_4_1", *sets, "--strict", "--json")
    failures = {item["name"]: item for item in json.loads(out)["failures"]}
    assert status == 3 and failures["method_range_q"]["got"] == 20


def test_a_region_that_answers(fedco):
    constants = ["--constants", "shared.toml"]
    status, _, err = fedco("admissible", "fcsg.theorem_4_1", "--statement", "printed", "--solve", "alpha", *constants)
    assert status == 2 and "set them, solve for all together (--solve alpha,q), or let `fedco tune` choose them" in err
    sets = ["--set", "alpha=1e-6", "--set", "b=1"]
    status, out, _ = fedco("admissible", "fcsg.theorem_4_1", "--solve", "q", *constants, *sets)
    assert status == 0 and "the theorem does not limit q from above" in out
    status, out, _ = fedco("admissible", "fcsg.theorem_4_1", "--solve", "q", *constants, *sets, "--set", "T=20")
    assert "[1, 20]" in out and "method_range_q: q <= T" in out
    fixed = ["--set", "alpha=9", "--set", "b=1", "--set", "T=20"]
    status, out, _ = fedco("admissible", "fcsg.theorem_4_1", "--solve", "q", *constants, *fixed)
    assert status == 0 and "infeasible" in out and "descent_step: " in out
    assert fedco("admissible", "fcsg.theorem_4_1", "--solve", "q", *constants, *fixed, "--strict")[0] == 3


def test_a_plot_says_what_fails_where_it_is_blank(fedco):
    common = ["fcsg.theorem_4_1", "--over", "alpha", "--constants", "shared.toml", "--set", "b=1", "--set", "q=2"]
    rest = ["--set", "m=2", "--set", "T=1000", "--out", "a.svg"]
    status, out, err = fedco("plot", *common, *rest, "--from", "1/1000", "--to", "10")
    assert status == 0, err
    assert "left out: alpha = 10: descent_step: S_F*alpha <= 1: wanted <= 1, got 20" in out
    status, _, err = fedco("plot", *common, *rest, "--from", "2", "--to", "10")
    assert status == 2 and "no admissible value" in err and "descent_step" in err


def test_refutations_of_a_claim_by_its_id(fedco):
    status, out, _ = fedco("replay", "local_scgdm.theorem_3_4", "--json")
    answer = json.loads(out)
    assert status == 0 and answer["confirmed"] and len(answer["bundles"]) >= 4
    assert all(
        item["verdict"]["outcome"] == "REFUTED" and item["name"].startswith("local_scgdm.theorem_3_4")
        for item in answer["bundles"]
    )
    status, _, err = fedco("replay", "comfedl.theorem_11")
    assert status == 2 and "the nearest is comfedl.theorem_1" in err


def test_a_corollary_with_a_hyperparameter_left_open(fedco):
    """A free weight that occurs nowhere in the bound was a KeyError."""
    values = [
        "C_f=1",
        "C_g=1",
        "L_f=1",
        "L_g=1",
        "F_gap=1",
        "sigma_f=0",
        "sigma_g=0",
        "delta_g=0",
        "alpha=1",
        "beta=1/10",
    ]
    sets = [part for value in values for part in ("--set", value)]
    for label in ("printed", "composed", "corrected"):
        status, _, err = fedco("tune", "local_scgdm.corollary_3_5", "--statement", label, *sets, "--eps", "1/2")
        assert status in (0, 2) and "Traceback" not in err and "KeyError" not in err


RUN = [
    "run",
    "feddro",
    "--problem",
    "feddro_noisy",
    "--T",
    "9",
    "--out",
    "r",
    "--set",
    "eta=0.1",
    "--set",
    "beta=0.5",
    "--set",
    "I=2",
]
TYPOS = [
    (["bound", "fdro.theorem_5_1"], "the nearest is feddro.theorem_5_1"),
    (["bound", "feddro.theorem_51"], "the nearest is feddro.theorem_5_1"),
    (["theorems", "fedro"], "the nearest is feddro"),
    (["bound", "feddro.theorem_5_1", "--set", "Lf=1"], "the nearest is L_f"),
    (["bound", "feddro.theorem_5_1", "--set", "outer_smothness=1"], "the nearest is outer_smoothness"),
    (["bound", "feddro.theorem_5_1", "--statement", "printd"], "printed"),
    (["bound", "feddro.theorem_5_1", "--asume", "zero_noise"], "--assume"),
    (["bnd", "feddro.theorem_5_1"], "Did you mean 'bound'"),
    (["tune", "fcsg.theorem_4_1", "--assume", "zero_noice"], "the nearest is zero_noise"),
    (["compare", "--eps", "1", "--set", "clints=3"], "the nearest is clients"),
    (["run", "fedro", "--problem", "feddro_noisy", "--T", "9", "--out", "x"], "the nearest is feddro"),
    (["validate", "feddro.theorem_5_1", "--problem", "feddro_noisi"], "the nearest is feddro_noisy"),
    (["compare", "--eps", "1", "--cost", "sampls"], "the nearest is samples"),
    (["compare", "--orders", "--kind", "condtional"], "the nearest is conditional"),
    (["audit", "--recheck", "feddro.same_sampel"], "the nearest is feddro.same_sample"),
    (
        [
            "tune",
            "fcsg.theorem_4_1",
            "--assume",
            "unit_constants",
            "--set",
            "N=3",
            "--eps",
            "1",
            "--range",
            "alpah=1:2",
        ],
        "the nearest is alpha",
    ),
    (["reproduce", "feddro/figre_6"], "the nearest is feddro/figure_6"),
    ([*RUN, "--set", "eat=1"], "the nearest is eta"),
    ([*RUN, "--set", "problem.clints=3"], "the nearest is problem.clients"),
    ([*RUN, "--metric", "gradint_sq"], "the nearest is gradient_sq"),
]


@pytest.mark.parametrize(("arguments", "meant"), TYPOS, ids=[" ".join(arguments)[:40] for arguments, _ in TYPOS])
def test_a_typo_in_each_argument(arguments, meant, fedco):
    status, out, err = fedco(*arguments)
    assert (status, out) == (2, "") and meant in " ".join(err.split()), err


ABSURD = [
    (["validate", "feddro.theorem_5_1", "--seeds", "99999999999"], "years"),
    (["validate", "feddro.theorem_5_1", "--jobs", "100000"], "TiB"),
    (["plot", "feddro.theorem_5_1", "--sweep", "K", "--seeds", "99999999999", "--out", "a.svg"], "years"),
    (["report", "--jobs", "100000", "--out", "r"], "TiB"),
    (
        [*RUN, "--seeds", "99999999999"],
        "TiB",
    ),
    (["report", "--out", "/proc/x"], "/proc/x"),
    (["report", "--out", "shared.toml"], "shared.toml"),
    (["plot", "fcsg.theorem_4_1", "--over", "T", "--out", "/proc/a/b.svg"], "/proc/a"),
    (["constants", "fcsg.theorem_4_1", "--out", "/proc/a/b.toml"], "/proc/a"),
]


@pytest.mark.parametrize(("arguments", "said"), ABSURD, ids=[" ".join(arguments)[:40] for arguments, _ in ABSURD])
def test_what_cannot_be_is_one_line_before_anything_runs(arguments, said, fedco):
    status, out, err = fedco(*arguments)
    assert (status, out) == (2, "") and len(err.splitlines()) == 1 and said in err, err


def test_version_help_and_completion(fedco):
    assert fedco("--version")[:2] == (0, "fedco 0.1.0\n")
    assert fedco("-h")[1] == fedco("--help")[1] and "Usage" in fedco("bound", "-h")[1]
    code = (
        "import sys\n"
        "from fedco.cli.completion import method_names, problem_names, theorem_ids\n"
        "print(theorem_ids('fedd'), theorem_ids('fc'), theorem_ids('fcsg.th'), method_names('fedd'), problem_names('feddro_no'))\n"
        "print(sorted({'torch', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    ids, heavy = done.stdout.splitlines()
    assert "'feddro.theorem_5_1'" in ids and "['fcsg.', 'fcsg_m.']" in ids and "['fcsg.theorem_4_1']" in ids
    assert "['feddro']" in ids and "'feddro_noisy'" in ids and heavy == "[]"
