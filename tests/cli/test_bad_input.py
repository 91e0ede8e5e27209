"""Bad input ends with exit status 2, one line on stderr and nothing on stdout; good input prints one JSON object."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from in_process import CONSTANTS, MAIN, VALUES, run, sets

LEMMA = {name: "1" for name in ("L_h", "L_f", "L_g", "B_f", "B_g")}
CODE = "__import__('os').system('touch /tmp/owned')"


def bad_bound(name, value, wanted):
    return pytest.param(
        ["bound", MAIN, *sets(VALUES, **{name: value})], (name, wanted, value[:20]), id=f"{name}={ascii(value)[:30]}"
    )


NOT_POSITIVE = (
    "0", "-1", "-1/3", "0/5", "nan", "inf", "-inf", "NaN", "1/0", "0/0", "1e101", "1e-101", "1e999999999", "", " ", CODE, "1+1", "sqrt(2)",
    "１", "1" * 100, "0x1", "True", "None", "1_0", "[1]", "L_g", "1=2", "\x1b[31m1", "1;rm",
)  # fmt: skip
OUT_OF_DOMAIN = [
    *(bad_bound("L_f", value, "positive real") for value in NOT_POSITIVE),
    bad_bound("sigma_g", "-1e-9", "nonnegative real"),
    bad_bound("K", "0", "positive integer"),
    bad_bound("K", "3/2", "positive integer"),
    bad_bound("I", "1.5", "positive integer"),
    bad_bound("T", "-10", "positive integer"),
    bad_bound("eta", "0", "positive real"),
]
OTHERS = [
    (["bound", MAIN, *sets(VALUES), "--set", "zeta=1"], ("zeta", "not a symbol")),
    (["bound", MAIN, *sets(VALUES), "--set", "l_f=1"], ("l_f", "not a symbol")),
    (["bound", MAIN, "--statement", "printed", *sets(VALUES), "--set", "delta_g=1"], ("delta_g", "not a symbol")),
    (["bound", MAIN, *sets(VALUES), "--set", "L_f=1"], ("L_f", "twice")),
    (["bound", MAIN, "--set", "L_f"], ("L_f", "NAME=VALUE")),
    (["bound", MAIN, "--set", "=1"], ("=1", "NAME=VALUE")),
    (["bound", MAIN, "--set", ""], ("", "NAME=VALUE")),
    (["bound", MAIN, "--set", "__class__=1"], ("__class__", "NAME=VALUE")),
    (["bound", MAIN, "--set", f"{CODE}=1"], ("__import__", "NAME=VALUE")),
    (["bound", MAIN], ("L_h", "missing")),
    (["bound", MAIN, *sets(VALUES)[2:]], ("L_h", "nonnegative real", "got nothing")),
    (
        ["bound", MAIN, *sets(VALUES), "--set", "inner_smothness=1"],
        ("inner_smothness", "the nearest is inner_smoothness"),
    ),
    (["bound", MAIN, *sets(VALUES), "--set", "outer_smoothness=2"], ("outer_smoothness: is L_f", "another value")),
    (["bound", MAIN, "--set", "L_Phi=-1"], ("L_Phi", "nonnegative real")),
    (["bound", "feddro.lemma_3_1", "--set", "L_Phi=1"], ("L_Phi", "not a symbol")),
    (["admissible", MAIN, "--solve", "zeta"], ("zeta", "the nearest is")),
    (["bound", MAIN, "--statement", "improved", *sets(VALUES)], ("improved", "printed, composed, corrected")),
    (["bound", "feddro.lemma_3_1", "--statement", "corrected", *sets(LEMMA)], ("corrected", "has printed")),
    (["bound", "feddro.theorem_9_9"], ("feddro.theorem_9_9", "not a theorem")),
    (["bound", "nothing.theorem_1"], ("nothing.theorem_1", "not a theorem")),
    (["bound", "../../etc/passwd"], ("../../etc/passwd", "not a theorem")),
    (["bound", "/etc/passwd"], ("/etc/passwd", "not a theorem")),
    (["bound", "os.system"], ("os.system", "not a theorem")),
    (["bound", CODE], ("__import__", "not a theorem")),
    (["bound", ""], ("not a theorem",)),
    (["show", "feddro.nothing"], ("feddro.nothing", "not a theorem")),
    (["theorems", "nothing"], ("nothing", "not a paper")),
    (["audit", "nothing"], ("nothing", "not a paper")),
    (["audit", "feddro.nothing"], ("feddro.nothing", "not a theorem")),
    (["audit", "--recheck", "feddro.nothing"], ("feddro.nothing", "not a finding")),
    (["audit", "--recheck", "../x"], ("../x", "not a finding")),
    (["admissible", MAIN, "--solve", "L_f", *sets(VALUES)], ("L_f", "both solved for and set")),
    (["admissible", MAIN, "--solve", "L_f"], ("L_f", "hyperparameter")),
    (["admissible", MAIN, "--solve", "zeta", *sets(VALUES)], ("zeta", "not a symbol")),
    (["admissible", MAIN, "--solve", "", *sets(VALUES)], ("--solve", "hyperparameter")),
    (["admissible", MAIN, "--solve", "I,I", *sets(CONSTANTS)], ("I", "different")),
    (["admissible", MAIN, "--solve", "I"], ("got nothing", "missing")),
    (["bound", MAIN, "--constants", "/does/not/exist.toml"], ("/does/not/exist.toml", "TOML")),
    (["bound", MAIN, "--constants", "/"], ("TOML",)),
]


@pytest.mark.parametrize(("arguments", "named"), [*OUT_OF_DOMAIN, *OTHERS])
def test_bad_input_is_one_line_and_status_2(arguments, named):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1 and err.startswith("fedco: ")
    assert all(word.strip() in err or ascii(word)[1:-1] in err for word in named), err
    assert "Traceback" not in err and "\x1b" not in err


BAD_FILES = {
    "list": "L_h = [1, 2]",
    "table": "[L_h]\nvalue = 1",
    "dotted": "L_h.x = 1",
    "nan": "L_h = nan",
    "inf": "L_h = -inf",
    "bool": "L_h = true",
    "date": "L_h = 1979-05-27",
    "code": f'L_h = "{CODE}"',
    "twice": "L_h = 1\nL_h = 2",
    "no value": "L_h =",
    "prose": "let L_h be one",
    "huge exponent": "L_h = 1e5000",
    "unknown": "zorro = 1",
    "odd name": '"a b" = 1',
    "negative": "L_h = -1",
    "empty": "",
}


@pytest.mark.parametrize("text", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_of_constants_is_one_line_and_status_2(text, tmp_path):
    path = tmp_path / "constants.toml"
    path.write_text(text)
    status, out, err = run("bound", MAIN, "--constants", str(path))
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "Traceback" not in err


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "constants.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert run("bound", MAIN, "--constants", str(path))[:2] == (2, "")


def test_a_file_with_a_huge_integer_is_refused(tmp_path):
    path = tmp_path / "constants.toml"
    path.write_text("L_h = " + "1" * 5000)
    assert run("bound", MAIN, "--constants", str(path))[:2] == (2, "")


# --- good input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["printed", "composed", "corrected"])
def test_bound_prints_one_json_object(statement):
    values = {**VALUES, "delta_g": "1"} if statement == "corrected" else VALUES
    status, out, err = run("bound", MAIN, "--statement", statement, *sets(values), "--json")
    data = json.loads(out)
    assert (status, err) == (0, "")
    assert list(data)[:7] == ["theorem", "statement", "metric", "total", "terms", "derived", "admissible"]
    assert {"theorem", "statement", "metric", "total", "terms", "derived", "admissible", "conditions"} <= set(data)
    assert data["theorem"] == MAIN and data["statement"] == statement
    assert data["total"] == pytest.approx(sum(data["terms"].values()))
    assert all(set(condition) == {"name", "relation", "holds", "slack"} for condition in data["conditions"])
    assert data["admissible"] == all(condition["holds"] for condition in data["conditions"])


def test_outside_the_conditions_the_value_is_printed_and_marked():
    status, out, _ = run("bound", MAIN, "--statement", "printed", *sets(VALUES, T="2"), "--json")
    data = json.loads(out)
    assert status == 0 and data["admissible"] is False and data["total"] > 0
    assert [condition["name"] for condition in data["conditions"] if not condition["holds"]] == ["horizon"]


def test_a_lemma_that_defines_a_constant_has_no_total():
    status, out, _ = run("bound", "feddro.lemma_3_1", *sets(LEMMA, B_g="2"), "--json")
    data = json.loads(out)
    assert (status, data["total"], data["derived"]) == (0, None, {"L_Phi": 6.0})


def test_a_file_of_constants_is_overridden_by_set(tmp_path):
    path = tmp_path / "constants.toml"
    path.write_text('L_h = 1\nL_f = 0.5\nL_g = "1/3"\nB_f = 3\nB_g = 100')
    _, out, _ = run("bound", "feddro.lemma_3_1", "--constants", str(path), "--set", "B_g=2", "--json")
    assert json.loads(out)["derived"]["L_Phi"] == 4.0


def test_a_number_too_large_for_a_float_is_null_not_infinity():
    _, out, _ = run("bound", MAIN, "--statement", "printed", *sets(VALUES, B_g="1e100"), "--json")
    assert "Infinity" not in out and json.loads(out)["total"] is None


def test_admissible_prints_one_json_object():
    given = {name: value for name, value in VALUES.items() if name != "I"}
    status, out, err = run("admissible", MAIN, "--solve", "I", *sets(given), "--json")
    data = json.loads(out)
    assert (status, err, data["feasible"]) == (0, "", True)
    assert set(data["intervals"]["I"]) == {"lower", "upper", "lower_closed", "upper_closed", "binding"}


def test_a_real_process_ends_with_status_2():
    arguments = ["fedco", "bound", "feddro.lemma_3_1", "--set", "L_f=-1"]
    code = f"import sys; sys.argv = {arguments}; from fedco.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "L_f: wanted a positive real" in done.stderr


def test_without_a_label_the_corrected_statement_is_meant_and_a_refuted_one_says_so(capsys: pytest.CaptureFixture[str]):
    def bound(*statement: str) -> dict:
        given = VALUES if statement else {**VALUES, "delta_g": "1/2", "eta": "1/100", "beta": "1/25"}
        _, out, _ = run("bound", MAIN, *statement, *sets(given), "--json")
        return json.loads(out)

    assert (bound()["statement"], bound()["status"], bound()["refuted_by"]) == ("corrected", "proved", [])
    printed = bound("--statement", "printed")
    assert printed["status"] == "refuted" and MAIN in printed["refuted_by"]
    _, out, _ = run("bound", MAIN, "--statement", "proved", *sets(VALUES))
    assert "composed from the paper's lemmas as printed" in out or "REFUTED" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bound"], "bound --help)"),
        (["bound", MAIN, "--constant", "x"], "No such option: --constant"),
        (["reproduce", "--seeds", "3"], "3 is not in the range x>=6"),
        (["show", MAIN, "more"], "unexpected extra argument"),
    ],
)
def test_what_the_parser_refuses_is_one_line(arguments, said) -> None:
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("fedco: ") and said in err


def test_nothing_asked_is_answered_with_help() -> None:
    status, out, err = run()
    assert status == 2
    assert "Commands:" in out + err
