"""`fedco sharpen`, and `fedco prove` of the file that it writes."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from in_process import run, sets

NAME = "baselines.minibatch_sgd"
VALUES = {"L_bar": "1", "sigma": "1", "F_gap": "1", "eta": "1/10", "b": "1", "N": "4", "T": "100"}


@pytest.fixture
def command(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run(*arguments)


def test_a_smaller_bound_and_its_certificate(command, tmp_path):
    status, out, err = command("sharpen", NAME, *sets(VALUES), "--json")
    found = json.loads(out)
    assert status == 0 and "weighed anew" in err
    assert list(found)[:3] == ["theorem", "statement", "at"] and found["at"] == VALUES
    assert found["stated"] == 0.225 and found["factor"] == pytest.approx(1.9, rel=1e-3) and found["checked"] is True
    assert found["sharpened"] == pytest.approx(0.225 / 1.9, rel=1e-3) and found["seconds"] > 0
    assert found["certificate"] == "sharpened.json" and (tmp_path / "sharpened.json").is_file()
    status, out, _ = command("prove", "sharpened.json", "--json")
    again = json.loads(out)
    assert status == 0 and again["checked"] and again["rules"] and again["instances"] is None and again["at"] == VALUES
    status, out, _ = command("prove", "sharpened.json")
    assert status == 0 and "at these numbers only; no instance was tried" in out and "at L_bar = 1" in out


def test_a_file_of_constants_and_a_sentence(command, tmp_path):
    (tmp_path / "mine.toml").write_text("".join(f'{name} = "{value}"\n' for name, value in VALUES.items()))
    status, out, _ = command("sharpen", NAME, "--constants", "mine.toml", "--out", "mine.json")
    assert status == 0 and out.startswith(
        "for your constants this method satisfies (1/T) sum_t E||grad F(xbar_t)||^2 <= "
    )
    assert "(the theorem says 0.225, 1.9 times smaller)" in out and "fedco prove mine.json checks it again" in out


def test_outside_the_conditions_the_theorem_says_nothing(command):
    status, out, _ = command("sharpen", NAME, *sets(VALUES, eta="3/2"))
    assert status == 0 and "(outside its conditions the theorem says nothing)" in out
    status, out, _ = command("sharpen", NAME, *sets(VALUES, eta="2"), "--json")
    found = json.loads(out)
    assert status == 1 and found["sharpened"] is found["factor"] is found["certificate"] is found["stated"] is None
    assert found["checked"] is False and found["reason"]


def test_nothing_is_said_of_a_method_that_cannot_run_there(command):
    given = {
        "C_f": "1",
        "L_f": "1",
        "C_g": "1",
        "L_g": "1",
        "delta_g": "1",
        "F_gap": "1",
        "eta": "1/10",
        "b": "1",
        "N": "4",
    }
    status, out, _ = command("sharpen", "baselines.scgd", *sets(given, T="1000", gamma="3/2"))
    assert status == 1 and "the method cannot be run at these values: gamma <= 1 is wanted" in out


def test_a_sharpened_bound_that_is_vacuous_says_so(command):
    """The squared gradient is at most 2 L_bar F_gap = 2 at the start, whatever is run."""
    status, out, _ = command("sharpen", NAME, *sets(VALUES, T="1", sigma="5"))
    assert status == 0 and "vacuous: the bound" in out
    status, out, _ = command("sharpen", NAME, *sets(VALUES, T="1", sigma="5"), "--json")
    assert json.loads(out)["vacuous"] is True
    status, out, _ = command("sharpen", NAME, *sets(VALUES), "--json")
    assert json.loads(out)["vacuous"] is False


def test_the_step_size_is_chosen_under_the_sharpened_bound(command, tmp_path):
    """2 F_gap/(T eta) is halved and L eta sigma^2/(N b) is too: the best power of 2 is that of their sum over 2 - L eta."""
    given = {name: value for name, value in VALUES.items() if name != "eta"}
    status, out, _ = command("sharpen", NAME, *sets(given), "--tune", "--json")
    found = json.loads(out)

    def proved(eta):
        return (2 / (100 * eta) + eta / 4) / (2 - eta)

    best = min((2.0**-k for k in range(12)), key=proved)
    assert status == 0 and Fraction(found["tuned"]["eta"]) == Fraction(best) and 3 <= found["tried"] <= 25
    assert found["sharpened"] == pytest.approx(proved(best), rel=1e-2) and found["at"]["eta"] == found["tuned"]["eta"]
    status, out, _ = command("prove", "sharpened.json", "--json")
    assert status == 0 and json.loads(out)["at"]["eta"] == found["tuned"]["eta"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sharpen", NAME, *sets(VALUES), "--tune"), "wanted a hyperparameter without a value"),
        (("sharpen", NAME, *sets(VALUES, T="0")), "T: wanted a positive integer"),
        (("sharpen", NAME, *sets(VALUES, eta="-1")), "eta: wanted a positive real"),
        (("sharpen", NAME, *sets({"eta": "1"})), "missing: L_bar"),
        (("sharpen", NAME, *sets(VALUES, nothing="1")), "nothing: not a symbol"),
        (("sharpen", "nobody.theorem"), "not a theorem"),
        (
            ("sharpen", "feddro.lemma_3_1", *sets(dict.fromkeys(("L_h", "L_f", "L_g", "B_f", "B_g"), "1"))),
            "no derivation",
        ),
        (("prove", "missing.json"), "missing.json"),
        (("prove", NAME, "--statement", "composed"), "--statement composed"),
    ],
)
def test_bad_input_is_one_line(command, arguments, said):
    status, out, err = command(*arguments)
    (line,) = err.splitlines()[-1:]
    assert status == 2 and not out and line.startswith("fedco: ") and said in line


def test_an_edited_certificate_is_refused(command, tmp_path):
    command("sharpen", NAME, *sets(VALUES))
    path = tmp_path / "sharpened.json"
    path.write_text(path.read_text().replace('"eta": "1/10"', '"eta": "1/9"').replace('"eta":"1/10"', '"eta":"1/9"'))
    status, _, err = command("prove", "sharpened.json")
    assert status == 2 and "no sharpened proof" in err


def test_a_sharpened_statement_is_shown_and_proved(command):
    status, out, _ = command("show", NAME, "--statement", "sharpened")
    assert status == 0 and "sharpened:" in out and "printed:" not in out
    status, out, _ = command("prove", NAME, "--statement", "sharpened", "--rules-only", "--json")
    assert status == 0 and json.loads(out)["statement"] == "sharpened"
    status, out, _ = command("bound", NAME, "--statement", "sharpened", *sets(VALUES), "--json")
    assert status == 0 and json.loads(out)["total"] == pytest.approx(0.225 * 1.1 / 2)
