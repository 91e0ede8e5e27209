"""The examples are sound: the method is what its costs and its theorem say, the problem certifies what is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import fedco
import pytest
import torch
from fedco.algorithms import Draws, Start, drive, metrics
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import ProofError
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import check_problem
from fedco.synthetic.parts.adversary import Budget
from fedco.user_files import load_object, run_file

EXAMPLES = Path(fedco.__file__).parent / "examples"
METHOD = load_object("half_sgd.py:HalfSGD", EXAMPLES)
RING = load_object("ring.py:problem", EXAMPLES)


def test_the_problem_conforms():
    assert check_problem(RING, Budget(lanes=2, steps=4, farthest=4.0)).failures == ()


def test_a_wrong_constant_of_the_problem_is_noticed():
    with pytest.raises(AssertionError, match="local_gradient_noise"):
        check_problem(Wrong(), Budget(lanes=2, steps=4, farthest=4.0))
    with pytest.raises(
        InputError,
        match=r"^ring: the certificate local_gradient_noise is false: declared 0\.45, and at a point it is at least 0\.5$",
    ):
        fedco.validate("baselines.minibatch_sgd", problems=[Wrong()], jobs=1)


class Wrong(type(RING)):
    @property
    def certificates(self):
        true = super().certificates
        smaller = true["local_gradient_noise"]
        return {**true, "local_gradient_noise": type(smaller)(smaller.quantity, 0.9 * smaller.value, "upper", "wrong")}


def test_the_compression_has_the_moments_that_the_theorem_uses():
    """E C(g) = g and E||C(g)||^2 = 2 ||g||^2, here over 2048 steps; and what it sends is half."""
    steps, made = 2048, METHOD(eta=1.0)
    exact = problem("federated_homogeneous", sigma=0.0)
    draws = Draws(0, 1, exact.clients)
    state = made.init(exact, Start(), draws.at(-1))
    gradient = exact.local_gradient(state.x)
    sent = torch.stack([state.x - made.local_step(exact, state, draws.at(t), t).x for t in range(steps)])
    kept = sent[:, 0].isclose(2 * gradient[0]) & (gradient[0] != 0)
    assert torch.where(kept, 0.0, sent[:, 0]).abs().max() < 1e-12  # each coordinate is doubled or dropped
    assert (kept.double().mean(0) - 0.5).abs().max() < 5 * 0.5 / steps**0.5  # each with probability 1/2
    pairs = kept.double().flatten(1)
    correlation = torch.corrcoef(pairs.T) - torch.eye(pairs.shape[1])
    assert correlation.abs().max() < 6 / steps**0.5  # independently, over coordinates and clients
    assert made.messages(exact, 10).model_floats == 10 * exact.dim / 2


def test_the_method_runs_and_its_hyperparameters_are_checked():
    found = drive(
        METHOD(eta=0.1, b=2),
        RING,
        steps=20,
        seeds=4,
        record={"g": metrics.gradient_norm_squared},
        every=20,
        average=True,
    )
    assert found.mean("g").shape == (1, 4) and 0 < float(found.mean("g").mean()) < 1
    for wrong in ({"eta": -1.0}, {"eta": "1"}, {"eta": 0.1, "b": 0}, {"eta": 0.1, "b": 1.5}):
        with pytest.raises(ValueError, match="half_sgd: "):
            METHOD(**wrong)


PAGE = EXAMPLES.parent / "docs" / "howto" / "your-own-theorem.md"


def test_the_page_shows_the_example():
    page = PAGE.read_text(encoding="utf-8")
    assert "```toml\n# pr_sgd.toml\n" + (EXAMPLES / "pr_sgd.toml").read_text(encoding="utf-8") + "```" in page
    assert "```toml\n# envelope.toml\n" + (EXAMPLES / "envelope.toml").read_text(encoding="utf-8") + "```" in page
    assert "```python\n" + (EXAMPLES / "envelope_metric.py").read_text(encoding="utf-8") + "```" in page


FROM_NOTHING = EXAMPLES.parent / "docs" / "howto" / "from-nothing-to-proved.md"


def test_the_page_from_nothing_to_proved_shows_its_three_files():
    page = FROM_NOTHING.read_text(encoding="utf-8")
    assert FROM_NOTHING.name == "from-nothing-to-proved.md"
    blocks = re.findall(r"^```(?:toml|python)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    files = [(EXAMPLES / name).read_text(encoding="utf-8") for name in ("near.toml", "near_method.py", "near_proof.py")]
    assert blocks == ["# near.toml\n" + files[0], *files[1:]]
    assert f"The theorem, {len(files[0].splitlines())} lines" in page


def test_a_false_claim_of_the_page_is_refused(tmp_path: Path):
    """The same proof of a statement with half of the noise, with all that the page says else."""
    for name in ("near.toml", "near_method.py", "near_proof.py"):
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("eta*sigma**2/(mu*N*b)", "eta*sigma**2/(2*mu*N*b)"), encoding="utf-8")
    with pytest.raises(ProofError, match="the statement: "):
        derivation(fedco.load(tmp_path / "near.toml", trust=True))
    assert derivation(fedco.load(EXAMPLES / "near.toml", trust=True)) is not None


def test_without_trust_a_line_says_what_would_have_been_run():
    said = re.search(r"`(near_proof\.py: not run: .*?)`\.\n", FROM_NOTHING.read_text(encoding="utf-8"))
    with pytest.raises(InputError) as raised:
        derivation(fedco.load(EXAMPLES / "near.toml"))
    assert said is not None and str(raised.value).endswith(f"/{said[1]}")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_a_definition_is_an_example_of_ten_lines(file: Path):
    keys = tomllib.loads(file.read_text(encoding="utf-8"))
    assert {"id", "symbols", "terms", "method"} <= set(keys)


def test_every_python_example_runs():
    assert [run_file(file).__name__ for file in sorted(EXAMPLES.glob("*.py"))]


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch):
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(programs) == 3
    monkeypatch.chdir(EXAMPLES)
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), {})


def test_the_mistakes_of_the_page_are_what_fedco_says():
    rows = re.findall(r"^\| `(\w+) = \"(.*)\"` \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 5
    for name, formula, message in rows:
        keys = tomllib.loads((EXAMPLES / "pr_sgd.toml").read_text(encoding="utf-8"))
        table = next(table for table in (keys["terms"], keys["symbols"]) if name in table)
        table[name] = formula
        with pytest.raises(InputError) as caught:
            fedco.define(**keys)
        assert str(caught.value).removeprefix("pr_sgd.theorem_1: ").startswith(message)
