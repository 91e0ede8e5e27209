"""`fedco falsify --where`: a part of the region of a statement."""

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import pytest
import torch
from fedco.bounds.language.change import Change, narrowed
from fedco.bounds.language.reading import InputError
from fedco.bounds.registry import get_theorem
from fedco.cli import main
from fedco.validation.falsifier import attack, falsify
from fedco.validation.falsifier.bundle import recompute
from fedco.validation.falsifier.confirm import NotConfirmed, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.bundle import BundleError, read, replay
from fedco.validation.runs.refutations import REGISTRY
from searching import falsified, replayed, spaces_of, violation_of
from test_falsifier import CLAIMED, THEOREM


def test_a_condition_of_the_user_is_one_of_the_statement() -> None:
    theorem = get_theorem("meta_fl.lemma_7")
    point = {"gamma_G": Q(1), "gamma_H": Q(0), "B": Q(1), "L": Q(1), "alpha": Q(1, 100), "nu": Q(3)}
    for text in ("nu=3", "nu == 3", "3 = nu", "alpha<=1/(100*L)", "nu >= 3"):
        assert narrowed(theorem, "printed", (text,)).bound("printed", **point).admissible
    for text in ("nu=2", "alpha<1/(100*L)", "nu > 3"):
        assert not narrowed(theorem, "printed", (text,)).bound("printed", strict=False, **point).admissible
    assert theorem.statement("printed").conditions == narrowed(theorem, "printed", ()).statement("printed").conditions


@pytest.mark.parametrize("text", ["nu", "nu = ", "mu=3", "nu=3=3", "__import__=3"])
def test_a_condition_that_cannot_be_read_is_an_error(text: str, monkeypatch, capsys) -> None:
    with pytest.raises(InputError, match="condition"):
        falsify("meta_fl.lemma_7", seconds=1, where=(text,))
    monkeypatch.setattr("sys.argv", ["fedco", "falsify", "meta_fl.lemma_7", "--seconds", "1", "--where", text])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_whole_numbers_that_are_set_are_those_of_the_search() -> None:
    where = ("p=3", "T=10", "C_g=7")
    listed = spaces_of(THEOREM, where=where)
    assert {(i.period, i.horizon, i.stays) for i in listed if i.law.name != "paths"} == {(3, 10, False)}
    assert {search_space.period for search_space in listed} == {3}
    assert {space.clients for space in spaces_of("acc_fcsg_m.theorem_4_7", where=("N=1",))} == {1}


def test_a_violation_elsewhere_is_none_of_the_narrower_statement() -> None:
    """The known counterexample has p = 4, T = 256 and C_g = 1."""
    for where in (("p=4",), ("T >= 256", "p <= 4"), ("C_g <= 1",)):
        narrow = target_of(get_theorem(THEOREM), "printed", where=where)
        assert confirm(narrow, CLAIMED).ratio > 1
    for where in (("p=2",), ("T < 256",), ("C_g >= 2",)):
        narrow = target_of(get_theorem(THEOREM), "printed", where=where)
        with pytest.raises(NotConfirmed):
            confirm(narrow, CLAIMED)


def test_of_the_changes_of_a_term_the_first_refutation_is_shrunk_explained_and_written(monkeypatch, tmp_path) -> None:
    """The others are kept as they were found: what part of the term they need is all that is asked of them."""
    theorem, asked = get_theorem(THEOREM), []
    term = theorem.statement("printed").terms[0].name
    changes = [Change(term, "dropped"), Change(term, "divided", Q(2))]

    def together(target, formula, claims, **more):
        for claim in claims:
            claim.found.violation, claim.found.draft = confirm(claim.target, CLAIMED), "draft"

    monkeypatch.setattr(attack, "search_together", together)
    monkeypatch.setattr(attack, "shrunk", lambda target, *given: asked.append(target.change.way) or given[1:])
    monkeypatch.setattr(attack, "why", lambda *_: ("a reason",))
    first, second = attack.falsify_changes(theorem, "printed", changes, seconds=1.0, out=tmp_path).values()
    assert asked == ["dropped"] and first.refuted and second.refuted and first.ratio > second.ratio > 1
    assert (first.why, second.why) == (("a reason",), ())
    assert first.path is not None and first.path.exists() and second.path is None
    assert len(list(tmp_path.iterdir())) == 1 and min(first.needed, second.needed) > 0


@pytest.mark.parametrize("where", [("nu=3",), ("alpha<=1/(100*L)",)])
def test_lemma_7_is_refuted_on_a_part_of_its_region(where: tuple[str, ...]) -> None:
    bundle = replayed(*violation_of("meta_fl.lemma_7", where=where))
    values = {name: Q(value) for name, value in bundle.hyperparameters.items()}
    assert values["nu"] == 3 if where == ("nu=3",) else values["alpha"] * bundle.certificates["L"]["value"] <= Q(1, 100)
    parameters = {**bundle.problem["parameters"], "where": ["nu=1"]}
    with pytest.raises(BundleError):
        recompute(replace(bundle, problem={**bundle.problem, "parameters": parameters}))


def test_a_printed_lemma_with_observables_of_its_own_is_compared_beside_the_chain() -> None:
    """The printed Lemma D.1 of Acc-FCSG-M has one client's deviation where the chain has the mean over the clients."""
    theorem = get_theorem("acc_fcsg_m.lemma_d_1")
    printed, corrected = (target_of(theorem, label) for label in ("printed", "corrected"))
    assert set(printed.link.observables) - set(corrected.link.observables) == {"client_deviation_sq"}
    assert {i.clients for i in spaces_of(theorem)} == {1, 2, 3}
    step = SimpleNamespace(
        before=SimpleNamespace(
            x=torch.tensor([[[1.0], [-1.0], [6.0]]], dtype=torch.float64),
            average=torch.tensor([[2.0]], dtype=torch.float64),
        )
    )
    metrics = printed.chain.metrics(None, {"m": 1})
    assert metrics["first_deviation_sq"](step).tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        (THEOREM, {"assume": ("equal_inner_maps",)}),
        ("meta_fl.theorem_8", {"where": ("nu=2",), "hidden": 1e6}),
        ("meta_fl.theorem_8", {"where": ("r=1",), "hidden": 1e6}),
        ("meta_fl.theorem_8", {"where": ("tau=1",), "hidden": 1000.0}),
        ("meta_fl.theorem_8", {"where": ("r=1/2", "nu=1")}),
        ("meta_fl.theorem_8", {"where": ("r=1/2", "nu=2")}),
        ("acc_fcsg_m.lemma_d_1", {"where": ("N=3",)}),
        ("acc_fcsg_m.lemma_d_2", {"where": ("N=1",)}),
    ],
)
def test_variants_of_refuted_theorems_are_refuted(name: str, options: dict, tmp_path) -> None:
    result = falsify(name, seconds=300, out=tmp_path, **options)
    assert result.refuted and replay(read(result.path), REGISTRY).confirmed
    hidden = read(result.path).hyperparameters.get("c")
    assert hidden is None or Q(hidden) == options.get("hidden", 1.0)
    if "r=1/2" in options.get("where", ()):
        assert not any("deterministic" in line for line in result.why)


def test_a_statement_about_identical_clients_is_searched_on_identical_clients() -> None:
    """Lemma A.2 of Local-SCGDM is false for clients that differ: what its corrected statement says of them is imposed."""
    theorem = get_theorem("local_scgdm.lemma_a_2")
    assert set(theorem.statement("corrected").assume) == {"equal_inner_maps", "equal_outer_functions"}
    assert violation_of(theorem)
    result = falsified(theorem, "corrected", seconds=0.1)
    assert result.outcome == "SURVIVED" and result.evaluations > 1000
