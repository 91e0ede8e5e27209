"""Bundles: lossless, atomic, checked when read, and replayed from scratch."""

import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from fedco.lossless import decode, encode
from fedco.storage import sealed
from fedco.validation.runs import bundle as bundle_module
from fedco.validation.runs.bundle import Bundle, BundleError, Sides, from_dict, read, replay, to_dict, write
from fedco.validation.statistics.verdict import Outcome
from hypothesis import given, settings
from hypothesis import strategies as st

F = Fraction
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
