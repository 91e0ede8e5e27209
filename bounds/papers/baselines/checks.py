"""The baselines: each lemma is compared with the step that it is in a derivation that the kernel accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...proof.author import ONE, Derivation, Reader, Signomial
from .derivations import biased_sgd, local_sgd, scgd

if TYPE_CHECKING:
    from ...language.theorem import Theorem
    from ...proof.kernel import Verdict

Factor = Callable[[Reader], Signomial | int]


@dataclass(frozen=True)
class Step:
    """Where a lemma stands in a derivation.

    Args:
        of: the theorem. name: of the step. left: its left side, as the kernel writes it.
        seen: observable of the lemma -> what the kernel calls it, or the lemma that bounds it there.
        factor: the step is the lemma times this. unit: what the kernel's quantities are times those of the lemma.
        label: the statement, if not the default one. build: a derivation other than its own.
        why: what else the lemma rests on.
    """

    of: str
    name: str
    left: str
    seen: Mapping[str, str] = field(default_factory=dict)
    factor: Factor = lambda s: 1
    unit: Mapping[str, Factor] = field(default_factory=dict)
    label: str = ""
    build: Callable[[Reader], Derivation] | None = None
    why: str = ""


NOISE = "||mean_n(mean_i(dF(x; *) - dF(x)))||^2"
PLUG_IN = "E[mean_j(dg(x; *,*))·df(mean_j(g(x; *,*)); *) | past]"
PLUG_IN_NOISE = f"||mean_n(mean_i(mean_j(dg(x; *,*))·df(mean_j(g(x; *,*)); *) - {PLUG_IN}))||^2"
PLUG_IN_BIAS = f"||mean_n(E[dg(x; *,.)·df(g(x; *,.); *) | past]) - mean_n({PLUG_IN})||^2"
DRAWN = "df(gamma P[g(x; *) | before[0, 1]; n] + (1 - gamma) u; *)"
CLIENT_DIRECTION = f"||(P[dg(x; *) | before[0, 1]; n])·(P[{DRAWN} | before[1]; n])||^2"
USED_ERROR = "||g(x) + (-1 + gamma) u - gamma mean_i(g(x; *))||^2"
VALUE: Factor = lambda s: s.C_g**2 * s.L_f**2  # noqa: E731
STEPS = {
    "averaged_noise": Step("local_sgd", "noise", NOISE),
    "local_sgd_step": Step(
        "local_sgd",
        "whole step",
        "F[+1]",
        {
            "gradient_sq": "gradient",
            "direction_sq": "||mean_n(dF(x))||^2",
            "bias_sq": "||mean_n(dF(mean_n(x))) - mean_n(dF(x))||^2",
            "noise_sq": NOISE,
        },
        build=partial(local_sgd, in_full=True),
    ),
    "local_sgd_bias": Step("local_sgd", "bias", "||mean_n(dF(mean_n(x)) - dF(x))||^2", {"consensus_error": "X"}),
    "local_sgd_descent": Step(
        "local_sgd",
        "descent",
        "F[+1]",
        {"gradient_sq": "gradient", "consensus_error": "X", "noise_sq": "averaged_noise"},
    ),
    "local_sgd_drift": Step("local_sgd", "drift", "sum_t X", factor=lambda s: s.T),
    "local_sgd_heterogeneity_drift": Step("local_sgd_heterogeneity", "consensus", "sum_t X", factor=lambda s: s.T),
    "minibatch_sgd_descent": Step(
        "minibatch_sgd",
        "descent",
        "F[+1]",
        {"gradient_sq": "gradient", "noise_sq": "averaged_noise"},
        label="sharpened",
    ),
    "scgd_moment": Step("scgd", "product 2", CLIENT_DIRECTION),
    "scgd_value": Step("scgd", "value, later", USED_ERROR, {"kept_error": "A"}, build=partial(scgd, in_full=True)),
    "scgd_estimate": Step("scgd", "error, later", "A[+1]", {"kept_error": "A"}),
    "scgd_values": Step(
        "scgd",
        "values",
        "sum_t P",
        factor=lambda s: VALUE(s) * s.T,
        why="over C_g^2 L_f^2: scgd_value and scgd_estimate summed as that step sums them",
    ),
    "scgd_descent": Step(
        "scgd",
        "descent",
        "F[+1]",
        {"gradient_sq": "gradient", "used_error": "P", "moment_sq": "scgd_moment"},
        unit={"P": VALUE},
        why="with P <= C_g^2 L_f^2 e_t, section 4, step 3",
    ),
    "biased_sgd_noise": Step("biased_sgd", "noise", PLUG_IN_NOISE),
    "biased_sgd_bias": Step("biased_sgd", "bias", PLUG_IN_BIAS),
    "biased_sgd_step": Step(
        "biased_sgd",
        "whole step",
        "F[+1]",
        {
            "gradient_sq": "gradient",
            "direction_sq": f"||mean_n({PLUG_IN})||^2",
            "bias_sq": PLUG_IN_BIAS,
            "noise_sq": PLUG_IN_NOISE,
        },
        build=partial(biased_sgd, in_full=True),
    ),
    "biased_sgd_descent": Step(
        "biased_sgd",
        "descent",
        "F[+1]",
        {"gradient_sq": "gradient", "bias_sq": "biased_sgd_bias", "noise_sq": "biased_sgd_noise"},
    ),
}


def agrees(lemma: str, step: Step) -> Evidence:
    """That the kernel accepts the derivation, and that the step has these sides; coefficients are compared exactly.

    Raises:
        RecheckError: one of them does not hold.
    """
    from ...registry import get_theorem

    theorem = get_theorem(f"baselines.{step.of}")
    label = step.label or theorem.default
    reader, found = Reader(theorem, theorem.statement(label)), _checked(theorem, label, step.build)
    facts = {line.name: fact for line, fact in zip(found.lines, found.facts, strict=found.accepted)}
    left, right = _sides(facts[step.name], step.left)
    wanted = _wanted(lemma, step, reader)
    facts_agree = left == step.left and right == wanted
    return confirm(found.accepted and facts_agree, step=f"{theorem.id}, {step.name}", right=str(wanted))


@cache
def _checked(theorem: Theorem, label: str, build: Callable[[Reader], Derivation] | None) -> Verdict:
    """What the kernel says of the derivation; several lemmas are steps of one."""
    from ...proof.derivations import prove, verdict
    from ...proof.solve import solved

    if build is None:
        return prove(theorem, label)
    return verdict(solved(build(Reader(theorem, theorem.statement(label))), theorem, label), theorem, label)


def _sides(fact: Any, left: str) -> tuple[str, dict[str, Signomial]]:
    """The left side of a step as it is written, and the coefficients of its right side."""
    if fact.sides is None:
        table = {repr(atom): coefficient for atom, coefficient in fact.form}
        return left if table.pop(left) == ONE else "", {name: -value for name, value in table.items()}
    table = {}
    for coefficient, atom in fact.sides[1].parts:
        table[repr(atom)] = table.get(repr(atom), 0 * coefficient) + coefficient
    return repr(fact.sides[0]), {name: value for name, value in table.items() if value}


def _wanted(lemma: str, step: Step, reader: Reader) -> dict[str, Signomial]:
    """The same of the lemma, in the kernel's words."""
    from ...registry import get_theorem

    item = get_theorem(f"baselines.{lemma}")
    symbols = {name: binding.symbol for name, binding in item.symbols("printed").items()}
    bounded = {name: get_theorem(f"baselines.{by}") for name, by in step.seen.items() if by in STEPS}
    put = {symbols[name]: each.statement("printed").total for name, each in bounded.items()}
    total = sp.expand(item.statement("printed").total.xreplace(put))
    table = {"F": reader.read(sp.Integer(1))} if step.left == "F[+1]" else {}
    for name, atom in step.seen.items():
        if name not in bounded:
            unit = step.unit.get(atom, lambda s: 1)(reader)
            table[atom] = step.factor(reader) * reader.read(total.coeff(symbols[name])) / unit
    rest = total.xreplace({symbols[name]: sp.Integer(0) for name in step.seen})
    table["1"] = step.factor(reader) * reader.read(rest)
    return {name: value for name, value in table.items() if value}


def _argument(lemma: str, step: Step) -> Callable[[], Evidence]:
    def check() -> Evidence:
        return agrees(lemma, step)

    own = f"the kernel accepts it as the step {step.name!r} of the derivation of baselines.{step.of}"
    check.__doc__ = f"{own}, {step.why}" if step.why else own
    return check


HOLDS = tuple((lemma, "printed", _argument(lemma, step)) for lemma, step in STEPS.items())
