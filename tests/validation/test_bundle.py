"""Bundles: lossless, atomic, checked when read, replayed from scratch; and the attack on a user's own certificates."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from fedco.errors import InputError
from fedco.lossless import decode, encode
from fedco.storage import sealed
from fedco.synthetic import AbstractFederated, Certificate, Sample, by_quantity, problem
from fedco.validation.runs import bundle as bundle_module
from fedco.validation.runs.bundle import Bundle, BundleError, Sides, from_dict, read, replay, to_dict, write
from fedco.validation.runs.users_certificates import attack_certificates
from fedco.validation.runs.validate import validate
from fedco.validation.statistics.verdict import Outcome
from hypothesis import given, settings
from hypothesis import strategies as st

CERTIFICATES = {"outer_lipschitz": {"value": F(1, 3), "kind": "exact", "argument": "tanh has slope at most 1"}}


def simulated(**changes):
    fields = {
        "claim": "feddro.theorem_5_1/printed",
        "recipe": "square",
        "mode": "e-value",
        "problem": {"name": "bowl", "parameters": {"K": 8, "Delta_h": F(1, 7), "shape": [1, 2.5]}},
        "certificates": CERTIFICATES,
        "hyperparameters": {"eta": 0.1, "T": 1000},
        "seeds": {"root_seed": 7, "seeds": 40},
        "values": recomputed_values(7, 40),
        "bound": (F(1, 10), F(1, 10)),
        "versions": {"fedco": "0.1.0"},
        "alpha": F(1, 10**6),
    }
    return Bundle(**(fields | changes))


def exact(**changes):
    fields = {"mode": "exact", "alpha": None, "values": [F(10**60 + 1, 10**60)], "bound": (F(1), F(1)), "recipe": "one"}
    return simulated(**(fields | changes))


def recomputed_values(root_seed, seeds):
    return [float(x) for x in 1 + np.random.default_rng(root_seed).random(seeds)]


REGISTRY = {
    "square": lambda b: Sides(recomputed_values(b.seeds["root_seed"], b.seeds["seeds"]), (F(1, 10), F(1, 10))),
    "one": lambda b: Sides([1 + F(1, 10**60)], (F(1), F(1))),
}


@pytest.mark.parametrize("make", [simulated, exact])
def test_written_and_read_again_it_is_the_same_bundle(make, tmp_path):
    bundle = make()
    again = read(write(bundle, tmp_path / "b.json"))
    assert again == bundle
    assert again.problem["parameters"]["Delta_h"] == F(1, 7)
    assert os.listdir(tmp_path) == ["b.json"]


def test_a_file_with_the_former_key_of_the_parameters_is_read():
    plain = to_dict(exact())
    plain["problem"]["dials"] = plain["problem"].pop("parameters")
    assert from_dict(sealed({key: part for key, part in plain.items() if key != "sha256"})) == exact()


@pytest.mark.parametrize("make", [simulated, exact])
def test_replay_confirms(make, tmp_path):
    outcome = replay(read(write(make(), tmp_path / "b.json")), REGISTRY, tolerance=0)
    assert outcome.confirmed and outcome.largest_difference == 0
    assert outcome.verdict.outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(lambda b: Sides(b.values, (F(100), F(100))), id="another bound, no longer refuted"),
        pytest.param(lambda b: Sides([2 * v for v in b.values], b.bound), id="other values"),
        pytest.param(lambda b: Sides(b.values[:-1], b.bound), id="a seed is missing"),
        pytest.param(lambda b: Sides(b.values, (F(1, 20), F(1, 20))), id="still refuted, but another right side"),
    ],
)
def test_replay_does_not_confirm_what_differs(recipe):
    assert not replay(simulated(), {"square": recipe}).confirmed


def test_replay_runs_only_registered_recipes():
    with pytest.raises(BundleError, match="recipe"):
        replay(simulated(recipe="os.system"), REGISTRY)


def test_an_exact_difference_below_double_precision_is_seen():
    near = {"one": lambda b: Sides([1 + F(2, 10**60)], (F(1), F(1)))}
    assert not replay(exact(), near, tolerance=0).confirmed
    assert replay(exact(), near).confirmed


@pytest.mark.parametrize(
    "changes",
    [
        {"bound": (F(100), F(100))},
        {"mode": "faith"},
        {"alpha": None},
        {"problem": {"name": "bowl"}},
        {"certificates": {}},
        {"certificates": {"a": {"value": 1}}},
        {"certificates": {"a": {"value": 1, "kind": "estimated"}}},
        {"values": []},
        {"values": [math.nan] * 40},
        {"cap": F(1)},
    ],
)
def test_a_bundle_that_does_not_refute_refuses_to_exist(changes):
    with pytest.raises(BundleError):
        simulated(**changes)


def test_an_exact_bundle_with_overlapping_sides_refuses_to_exist():
    with pytest.raises(BundleError, match="refute"):
        exact(values=[F(1), F(2)], bound=(F(1, 2), F(3, 2)))
    with pytest.raises(BundleError, match="enclosure"):
        exact(values=[F(2), F(2), F(2)])


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format="fedco-refutation/99"),
        lambda d: d.update(extra=1),
        lambda d: d.pop("seeds"),
        lambda d: d.update(values="1"),
        lambda d: d.update(values=[0.5]),
        lambda d: d.update(values=[True]),
        lambda d: d.update(values=[{"hex": "nan"}]),
        lambda d: d.update(values=[{"fraction": ["__import__('os')", "1"]}]),
        lambda d: d.update(bound=[1]),
        lambda d: d.update(certificates={"a": 3}),
        lambda d: d.update(problem=[]),
        lambda d: d.update(alpha="1e-6"),
    ],
)
def test_a_damaged_bundle_is_refused_even_with_a_matching_hash(change):
    data = to_dict(simulated())
    change(data)
    with pytest.raises(BundleError):
        from_dict(sealed(data))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "1" * 5000, "\xff"])
def test_files_that_are_no_bundle_are_refused(text, tmp_path):
    path = tmp_path / "b.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BundleError):
        read(path)


def test_a_huge_file_is_refused_unread(tmp_path, monkeypatch):
    path = write(simulated(), tmp_path / "b.json")
    monkeypatch.setattr(bundle_module, "MOST_BYTES", 100)
    with pytest.raises(BundleError, match="bytes"):
        read(path)


numbers = st.integers() | st.fractions() | st.floats(allow_nan=False, allow_infinity=False)
keys = st.text(max_size=5).filter(lambda key: key not in ("hex", "fraction"))
trees = st.recursive(
    numbers | st.none() | st.booleans() | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(keys, part, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40)
@given(trees)
def test_encoding_is_lossless(tree):
    again = decode(json.loads(json.dumps(encode(tree), allow_nan=False)))
    assert again == tree


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_keep_their_bits(x):
    assert math.copysign(1, decode(encode(x))) == math.copysign(1, x) and decode(encode(x)) == x
    assert type(decode(encode(x))) is float


# --- a false certificate is told, and a true one is never called false ------------------------------------------------


CLIENTS = 4


@dataclass(frozen=True)
class Signs(Sample):
    """One sign for each sampled gradient, (runs, clients, batch)."""

    signs: torch.Tensor


@dataclass(frozen=True, eq=False)
class Bowls(AbstractFederated):
    """F_i(x) = curvature/2 ||x - c_i||^2, c_i on a circle around 0, with noise of +-1/2 along the first axis.

    Args:
        changes: certificates in the place of the true ones.
    """

    name: str = "bowls"
    radius: float = 1.0
    curvature: float = 1.0
    changes: tuple[Certificate, ...] = ()
    clients: int = CLIENTS
    dim: int = 2
    inner_dim: int = 0

    @property
    def initial_point(self):
        return torch.tensor([3.0, 0.0], dtype=torch.float64)

    @property
    def minimiser(self):
        return torch.zeros(2, dtype=torch.float64)

    def _away(self, x):
        angles = 2 * math.pi * torch.arange(CLIENTS, dtype=torch.float64) / CLIENTS
        return x - self.radius * torch.stack([angles.cos(), angles.sin()], dim=-1)

    def local_value(self, x):
        return self.curvature / 2 * self._away(x).square().sum(-1)

    def local_gradient(self, x, sample=None):
        exact = self.curvature * self._away(x)
        return exact if sample is None else exact + sample.signs.mean(-1, keepdim=True) * torch.tensor([0.5, 0.0])

    def sample(self, draws, batch, purpose="sample"):
        return Signs(draws.signs(purpose, batch))

    def atoms(self):
        signs = torch.tensor([-1.0, 1.0], dtype=torch.float64).expand(1, CLIENTS, 2)
        return Signs(signs), torch.tensor([0.5, 0.5], dtype=torch.float64)

    @property
    def certificates(self):
        c = self.curvature
        own = {"local_smoothness": c, "objective_smoothness": c, "strong_convexity": c, "polyak_lojasiewicz": c}
        own |= {"local_gradient_noise": 0.5, "objective_gap": 4.5 * c * (1 + 1e-6), "initial_distance": 3.0}
        made = by_quantity(tuple(Certificate(name, value, "upper", "by hand") for name, value in own.items()))
        return {**made, **{each.quantity: each for each in self.changes}}


class WithoutAtoms(Bowls):
    def atoms(self):
        raise NotImplementedError("a Gaussian has none")


class Single(Bowls):
    """Computed as torch does by default."""

    def local_value(self, x):
        return (100 + super().local_value(x)).float().double()

    def local_gradient(self, x, sample=None):
        return super().local_gradient(x, sample).float().double()


class Bent(Bowls):
    """F_i(x) = |x - c_i|_1, whose gradients are whole numbers."""

    def local_value(self, x):
        return self._away(x).abs().sum(-1)

    def local_gradient(self, x, sample=None):
        exact = self._away(x).sign()
        return exact if sample is None else exact + sample.signs.mean(-1, keepdim=True) * torch.tensor([0.5, 0.0])

    @property
    def certificates(self):
        return {each.quantity: each for each in self.changes}


class WithoutMinimiser(Bowls):
    @property
    def minimiser(self):
        raise AttributeError("not known")


class Lifted(Bowls):
    def local_value(self, x):
        return super().local_value(x) + 1e9


class ElsewhereLeast(Bowls):
    @property
    def minimiser(self):
        return self.initial_point - 0.1


class Overflowing(Bowls):
    """The objective is infinite in doubles, and not in numbers, far to the left."""

    def local_value(self, x):
        large = torch.exp(-50 * x[..., 0])
        return super().local_value(x) + torch.where(torch.isinf(large), large, 0.0)


def upper(quantity: str, value: float, **more: Any) -> Certificate:
    return Certificate(quantity, value, "upper", "by hand", **more)


TRUE = {
    "as it is": Bowls(),
    "objectives far from 0": Bowls(radius=1e5),
    "clients far apart": Bowls(radius=1e3),
    "hardly curved": Bowls(curvature=1e-6),
    "equal clients of a large curvature": Bowls(
        radius=0.0, curvature=1e8, changes=(upper("local_gradient_heterogeneity", 0.0),)
    ),
    "on a domain": Bowls(changes=(upper("gradient_cap", 10.0, domain="||x|| <= 10"),)),
    "a wrong witness": Bowls(
        changes=(Certificate("objective_gap", 4.5, "exact", "at 0", witness=1.0, points=((1.0, 0.0),)),)
    ),
    "a noise without atoms": WithoutAtoms(),
    "an overflow": Overflowing(),
    "without a minimiser": WithoutMinimiser(),
    "in single precision": Single(),
    "in single precision, with a tight slope": Single(
        changes=(upper("local_smoothness", 1.0), upper("objective_smoothness", 1.0))
    ),
    "an objective that is lifted": Lifted(),
    "a tiny scale": Bowls(radius=1e-6, curvature=1e-9),
}


ONE_OF_EACH_KIND = ["minimax_noisy", "bilevel_noisy", "federated_sines", "feddro_noisy", "average_precision"]


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_a_problem_of_any_kind_is_attacked_without_an_accusation(name: str):
    attack_certificates(problem(name))


@pytest.mark.parametrize("name", TRUE)
def test_a_true_certificate_is_not_called_false(name: str):
    attack_certificates(TRUE[name])


@pytest.mark.parametrize(
    ("quantity", "value", "told"),
    [
        ("gradient_cap", 0.3, r"declared 0\.3, and at a point it is at least \d"),
        ("strong_convexity", 4.0, "declared 4, and at a point it is at most 1$"),
        ("polyak_lojasiewicz", 4.0, "declared 4, and at a point it is at most 1$"),
        ("local_gradient_noise", 0.1, r"declared 0\.1, and at a point it is at least 0\.5$"),
        ("local_gradient_noise", 0.0, r"declared 0, and at a point it is at least 0\.5$"),
        ("objective_gap", 1.0, r"declared 1, and at a point it is at least 4\.5$"),
        ("local_smoothness", 0.5, r"declared 0\.5, and at a point it is at least 1$"),
        ("initial_distance", 1.0, "declared 1, and at a point it is at least 3$"),
        ("local_gradient_heterogeneity", 0.0, r"declared 0, and at a point it is at least 1$"),
    ],
)
def test_a_false_certificate_is_told_with_what_was_found(quantity: str, value: float, told: str):
    with pytest.raises(InputError, match=f"^bowls: the certificate {quantity} is false: {told}"):
        attack_certificates(replace(Bowls(), changes=(upper(quantity, value),)))


def test_what_is_no_minimiser_is_told():
    with pytest.raises(InputError, match=r"^bowls: its minimiser is none: the objective is less at another point$"):
        attack_certificates(ElsewhereLeast(changes=(upper("initial_distance", 0.1),)))


def test_what_lifts_an_objective_hides_no_false_certificate():
    with pytest.raises(InputError, match=r"objective_gap is false: declared 1, and at a point it is at least 4\.5$"):
        attack_certificates(Lifted(changes=(upper("objective_gap", 1.0),)))


def test_gradients_that_are_whole_numbers_are_no_single_precision():
    with pytest.raises(InputError, match=r"objective_gap is false: declared 0\.1, and at a point it is at least 2"):
        attack_certificates(Bent(changes=(upper("objective_gap", 0.1),)))


def test_an_overflow_hides_no_false_certificate_and_a_domain_not_the_start():
    with pytest.raises(InputError, match=r"polyak_lojasiewicz is false: declared 4, and at a point it is at most 1$"):
        attack_certificates(Overflowing(changes=(upper("polyak_lojasiewicz", 4.0),)))
    with pytest.raises(InputError, match=r"gradient_cap is false: declared 0\.3, and at a point it is at least 3$"):
        attack_certificates(Bowls(changes=(upper("gradient_cap", 0.3, domain="R^2"),)))


def test_a_proved_statement_that_is_refuted_says_what_that_means():
    found = validate("baselines.minibatch_sgd", problems=["federated_noisy"], seeds=4, jobs=1)
    assert found.proved == "" and "proved" not in found.to_dict()
    first, *others = found.results
    refuted = replace(first, verdict=replace(first.verdict, outcome=Outcome.REFUTED))
    told = "the statement is proved: where it is refuted, a certificate, an assumption or the code is wrong"
    changed = replace(found, results=(refuted, *others))
    assert told in str(changed) and changed.to_dict()["proved"] == told and told in changed.sheet().notes
