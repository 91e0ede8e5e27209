"""Families whose parameters are tensors over the runs: each instance is a certified problem, whatever is beside it."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from fedco.algorithms import FCSG, ComFedL, FedDRO, FedTTSA, LocalSCGDM, LocalSGD, LocalSGDA, MetaFL, drive
from fedco.algorithms.engine.method import Method, Start
from fedco.algorithms.engine.metrics import gradient_norm_squared
from fedco.synthetic.conformance.kinds import KINDS, oracle_checks
from fedco.synthetic.conformance.suite import check_problem
from fedco.synthetic.families.piecewise import FAMILIES, Family, MetaFamily
from fedco.synthetic.families.piecewise.curve import PiecewiseLinear
from fedco.synthetic.parts.adversary import Budget
from quick import slowly

RUNS, CLIENTS, KNOTS = 40, 2, 4
METHODS = {
    "local_composite": (LocalSCGDM(eta=0.1, alpha=1.0, beta=0.5, gamma=1.0, p=2), ComFedL(eta=0.1, tau=2)),
    "shared_composite": (FedDRO(eta=0.1, beta=0.3, I=2),),
    "conditional": (FCSG(alpha=0.1, q=2, m=1),),
    "meta": (MetaFL(beta=0.1, tau=2),),
    "federated": (LocalSGD(eta=0.1, tau=2),),
    "minimax": (LocalSGDA(eta=0.1, eta_y=0.2, tau=2),),
    "bilevel": (FedTTSA(eta=0.1, eta_y=0.2, eta_v=0.3, K=3, tau=2),),
}


def drawn(kind: str, runs: int = RUNS, noisy: bool = False) -> Family:
    """Instances with random parameters; the slopes rise at both ends, so that objectives are bounded below."""
    generator = torch.Generator().manual_seed(5)

    def uniform(*shape: int) -> torch.Tensor:
        return 2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1

    made = {}
    for name, shape in FAMILIES[kind].SHAPES.items():
        count = {
            "run": (runs, 1),
            "client": (runs, CLIENTS),
            "knots": (runs, CLIENTS, KNOTS),
            "shared": (runs, 1, KNOTS),
        }
        values = uniform(*count[shape])
        if name == "inner_slope":
            values = values.sign() * (0.3 + 0.7 * values.abs())  # every kink within the grid of the tests
        if name.endswith("noise"):
            values = values.abs() if noisy else 0 * values
        if name == "noise_reach":
            values = 0.1 + values.abs()
        if name == "dual_curvature":
            values = 0.2 + values.abs()
        if name == "curvature":
            values = 0.3 * values.clamp_min(0.0)  # half of the objectives grow as a line
        if name.endswith("knots"):
            values = ((values.abs() + 0.1).cumsum(-1) - 1.5)[:, :1].expand(values.shape)
        if name.endswith("slopes"):
            values[..., 0], values[..., -1] = -values[..., 0].abs(), values[..., -1].abs()
        made[name] = values
    if kind == "meta":
        made["curvatures"] = torch.nn.functional.pad(made["curvatures"][..., 1:-1].abs() + 0.2, (1, 1))
        made["alpha"] = made["alpha"].abs() + 0.1
        area = PiecewiseLinear(made["knots"], made["curvatures"]).integral(made["knots"][..., -1:])[..., 0]
        made["tilt"] = -area * (0.5 + 0.2 * made["tilt"])
        return MetaFamily(made, nu=2)
    return FAMILIES[kind](made)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("noisy", [slowly(False), True])
def test_an_instance_is_a_certified_problem(kind: str, noisy: bool) -> None:
    instance = drawn(kind, noisy=noisy).pick(3)
    silent = (
        () if noisy else ("bits",)
    )  # without noise a batch of any size is one sample, so there is no mean to compare
    check_problem(instance, Budget(lanes=8, steps=8), skip=silent)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_infimum_is_below_every_value_and_attained(kind: str) -> None:
    family = drawn(kind)
    gap = family.constants()["objective_gap"]
    grid = torch.linspace(-15, 15, 1501, dtype=torch.float64)
    start = family.objective(family.start)
    values = torch.stack([family.objective(t.expand(RUNS, 1)) for t in grid])
    found = start - values.amin(0)
    assert (found <= gap + 1e-12).all()
    if kind != "meta":  # there the gap is an upper bound
        assert (found >= gap - 0.01).all()  # half a cell of the grid, where |F'| is at most 1


@pytest.mark.parametrize(("kind", "index"), [(kind, i) for kind, all_of in METHODS.items() for i in range(len(all_of))])
def test_a_method_runs_every_instance_as_if_it_were_alone(kind: str, index: int) -> None:
    family, method = drawn(kind), METHODS[kind][index]
    batch = _squares(method, family)
    for run in (0, 17):
        assert torch.equal(batch[:, run], _squares(method, family.pick(run))[:, 0])


def _squares(method: Method, family: Family) -> torch.Tensor:
    """The squared gradients of 6 steps, each instance with its own hyperparameters."""
    sizes = {f.name: getattr(method, f.name) for f in fields(method) if isinstance(getattr(method, f.name), float)}
    own = {name: torch.full((family.runs,), size, dtype=torch.float64) for name, size in sizes.items()}
    start = Start(x=family.start, y=family.parameters.get("estimate"))
    record = {"g": gradient_norm_squared}
    return drive(replace(method, **own), family, steps=6, start=start, record=record, average=False).values["g"]


def test_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="wanted the parameters"):
        FAMILIES["meta"]({"knots": torch.zeros(1, 1, 2)})


ONE_SIDED = {
    "meta": {"gradient_cap", "objective_gap"},
}
"""Quantities that are upper bounds; all others of a family are suprema."""


@pytest.mark.parametrize(
    ("kind", "noisy", "run"),
    [*((kind, noisy, 7) for kind in FAMILIES for noisy in (False, True)), ("federated", True, 15)],
)
def test_a_constant_is_what_a_grid_attains(kind: str, noisy: bool, run: int) -> None:
    """All pairs of neighbours on a fine line through every kink: a constant that is too large or too small shows."""
    instance = drawn(kind, noisy=noisy).pick(run)
    line = torch.linspace(-40.0, 40.0, 16001, dtype=torch.float64).unsqueeze(-1)
    for quantity, certificate in instance.certificates.items():
        inequality = KINDS[kind].inequalities[quantity]
        through = line.expand(-1, inequality.size(instance))  # where a point is (x, y), both pass every kink of theirs
        points = (through[:-1], through[1:]) if inequality.pair else (through,)
        attained = float(inequality.ratio(instance, *points).amax())
        value = inequality.largest(float(certificate.value))
        assert attained <= value * (1 + 1e-7) + 1e-9, quantity
        is_attained = quantity not in ONE_SIDED.get(kind, ()) and math.isfinite(value)
        least = 0.995 if is_attained else 0.0
        assert not least or attained >= least * value, quantity


def test_a_gap_and_a_cap_of_fine_tuned_losses() -> None:
    """Curvatures 0, 2, -1, 3, 0 at -2, -1, 1, 2, 3: f' and f by the trapezoidal rule, the bound between critical points by loops."""
    knots, heights = np.array([-2.0, -1.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, -1.0, 3.0, 0.0])
    tilts, start, alpha = np.array([-2.5, -1.8]), 1.7, 0.3
    family = MetaFamily(
        {
            "knots": torch.tensor(knots).view(1, 1, -1),
            "curvatures": torch.tensor(heights).view(1, 1, -1),
            "tilt": torch.tensor(tilts).view(1, 2),
            "gradient_noise": torch.tensor([[0.2, 0.5]]),
            "alpha": torch.tensor([[alpha]]),
            "start": torch.tensor([[start]]),
        },
        nu=3,
    )
    line = np.linspace(-2.0, 3.0, 500_001)
    width = line[1] - line[0]

    def integral(y: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2) * width])

    critical = [-2.0, -1.0, 1 / 3, 1.0, 1.25, 2.0, 3.0]  # the knots, and where the curvature vanishes between them
    tuned, lowest, steepest = [], [], 0.0
    for tilt in tilts:
        slope = tilt + integral(np.interp(line, knots, heights))
        value = integral(slope)
        w = start
        for _ in range(3):
            w = w - alpha * np.interp(w, line, slope)
        tuned.append(np.interp(w, line, value))
        f, df = np.interp(critical, line, value), np.interp(critical, line, slope)
        bounds = [*f]
        for i, (a, b) in enumerate(pairwise(critical)):
            if df[i] < 0 < df[i + 1]:
                bounds.append(max(f[i] + df[i] * (b - a), f[i + 1] - df[i + 1] * (b - a)))
        assert len(bounds) > len(f) and min(bounds) <= value.min()
        lowest.append(min(bounds))
        steepest = max(steepest, np.abs(slope).max())
    constants = {quantity: float(value) for quantity, value in family.constants().items()}
    assert constants["objective_gap"] == pytest.approx(np.mean(tuned) - np.mean(lowest), rel=1e-6)
    assert constants["gradient_cap"] == pytest.approx((1 + alpha * 3) ** 3 * steepest, rel=1e-6)
    assert constants["local_hessian_lipschitz"] == 4.0 and constants["local_gradient_noise"] == 0.5
    assert constants["local_gradient_heterogeneity"] == pytest.approx(0.35)


def test_a_piecewise_linear_function_and_its_integrals() -> None:
    """Values 1.5, -1, 2 at 0.5, 1, 3, constant outside; the integrals from the first knot on, by the trapezoidal rule."""
    knots, heights = np.array([0.5, 1.0, 3.0]), np.array([1.5, -1.0, 2.0])
    made = PiecewiseLinear(torch.tensor(knots).view(1, 1, 3), torch.tensor(heights).view(1, 1, 3))
    line = np.linspace(-1.5, 4.5, 600_001)
    step, zero = line[1] - line[0], 200_000
    assert line[zero] == pytest.approx(0.5)

    def integral(values: np.ndarray) -> np.ndarray:
        whole = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2) * step])
        return whole - whole[zero]

    values = np.interp(line, knots, heights)
    places = slice(0, None, 12_347)
    t = torch.tensor(line[places]).view(1, 1, -1)
    once = integral(values)
    for found, wanted in ((made.at(t), values), (made.integral(t), once), (made.second_integral(t), integral(once))):
        np.testing.assert_allclose(found.flatten().numpy(), wanted[places], rtol=1e-8, atol=1e-8)
    assert float(made.bound) == 2.0 and float(made.lipschitz) == 5.0


# --- instances by hand


def double(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def piecewise(kind, **values):
    """One instance with two clients; what is not given is 0, knots -1, 0, 2 and slopes -1, 0.3, 1.2."""
    shapes = {"run": (1, 1), "client": (1, 2), "knots": (1, 2, 3), "shared": (1, 1, 3)}
    made = {}
    for name, shape in FAMILIES[kind].SHAPES.items():
        default = (
            double(-1.0, 0.0, 2.0)
            if name.endswith("knots")
            else double(-1.0, 0.3, 1.2)
            if name.endswith("slopes")
            else double(0.0)
        )
        made[name] = double(*values[name]).expand(shapes[shape]) if name in values else default.expand(shapes[shape])
    return FAMILIES[kind](made)


@pytest.mark.parametrize("kind", ["local_composite", "shared_composite", "conditional", "federated"])
@pytest.mark.parametrize("noisy", ["", "value_noise", "gradient_noise", "both"])
def test_noise_in_one_place_only(kind, noisy):
    """Samples are atoms, as often as their probabilities say, and the oracles expect what they should."""
    noises = {
        name: (0.4, 0.7)
        for name in ("value_noise", "gradient_noise")
        if noisy in (name, "both") and name in FAMILIES[kind].SHAPES
    }
    instance = piecewise(kind, inner_slope=(1.3, -0.7), inner_offset=(0.2, 0.5), **noises)
    # without noise a batch of any size is one sample
    silent = {"bits"} if "value_noise" not in noises and (kind == "conditional" or not noises) else set()
    failures = {name: list(found) for name, found in oracle_checks(instance, 0) if name not in silent}
    assert not any(failures.values()), failures
    constants = {name: float(value) for name, value in instance.constants().items()}
    for name, quantities in (
        ("value_noise", ("inner_value_noise",)),
        ("gradient_noise", ("local_gradient_noise", "outer_gradient_noise", "noncompositional_gradient_noise")),
    ):
        for quantity in quantities:
            assert constants.get(quantity, 0.7 if name in noises else 0.0) == pytest.approx(
                0.7 if name in noises else 0.0
            ), quantity


@pytest.mark.parametrize("kind", ["local_composite", "shared_composite", "conditional"])
@pytest.mark.parametrize("slopes", [(0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, -1.0), (2.0, -0.5)])
@pytest.mark.parametrize(
    "outer", [(-1.0, 0.3, 1.2), (0.7, -0.5, 1.2), (-1.0, 0.5, -0.7)], ids=["bounded", "falls left", "falls right"]
)
def test_a_landscape_where_inner_maps_are_flat_or_of_slope_one(kind, slopes, outer):
    """On a fine line: the infimum, the largest slope, and the largest difference quotient; two outer functions are not bounded below."""
    instance = piecewise(kind, inner_slope=slopes, inner_offset=(0.2, 0.5), start=(3.0,), slopes=outer)
    line = torch.linspace(-6.0, 6.0, 12_001, dtype=torch.float64).unsqueeze(-1)
    values, rates = instance.objective(line), instance.gradient(line).squeeze(-1)
    constants = {name: float(value) for name, value in instance.constants().items()}
    assert constants["gradient_cap"] == pytest.approx(float(rates.abs().max()), abs=1e-9)
    assert constants["objective_smoothness"] == pytest.approx(
        float(rates.diff().abs().max()) / 1e-3, rel=1e-6, abs=1e-9
    )
    bounded = float(rates[0]) <= 0 <= float(rates[-1])
    gap = float(instance.objective(instance.start) - values.min()) if bounded else math.inf
    assert constants["objective_gap"] == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("kind", FAMILIES)
def test_constants_of_an_instance_do_not_depend_on_the_others(kind):
    """Five instances with two clients beside each other, and each alone."""
    generator = torch.Generator().manual_seed(3)
    shapes = {"run": (5, 1), "client": (5, 2), "knots": (5, 2, 4), "shared": (5, 1, 4)}
    made = {}
    for name, shape in FAMILIES[kind].SHAPES.items():
        values = torch.rand(shapes[shape], generator=generator, dtype=torch.float64) + 0.1
        made[name] = (values.cumsum(-1) - 1.5) if name.endswith("knots") else values
        if name.endswith("slopes"):
            made[name][..., 0] *= -1
        if name in ("curvatures", "tilt"):  # bounded below: f' rises from below 0 to above 0
            made[name] = torch.nn.functional.pad(values[..., 1:-1], (1, 1)) if name == "curvatures" else -0.05 * values
    family = MetaFamily(made, nu=2) if kind == "meta" else FAMILIES[kind](made)
    together = family.constants()
    for run in range(5):
        alone = family.pick(run).constants()
        assert alone.keys() == together.keys()
        for quantity, value in alone.items():
            assert value.shape == (1,) and together[quantity].shape == (5,)
            assert float(together[quantity][run]) == pytest.approx(float(value), rel=1e-12), quantity
    assert any(float(values.std()) > 1e-3 for values in together.values())


def test_terms_whose_knots_differ_are_apart_by_at_most_twice_the_largest():
    """h_1' and h_2' break at other places: no closed formula for the largest difference, so a bound; with equal knots it is one."""
    knots = double([-1.0, 0.0, 2.0], [-0.5, 0.5, 1.0])
    slopes = double([-1.0, 0.3, 1.2], [0.4, -0.9, 1.5])
    equal, other = (
        piecewise("shared_composite", extra_knots=each.tolist(), extra_slopes=slopes.tolist())
        for each in (knots[:1].expand(2, 3), knots)
    )
    assert float(equal.constants()["noncompositional_heterogeneity"]) == pytest.approx(0.7)
    line = np.linspace(-3.0, 3.0, 6001)
    rates = [np.interp(line, k, v) for k, v in zip(knots.numpy(), slopes.numpy(), strict=True)]
    apart = np.abs(rates[0] - np.mean(rates, axis=0)).max()
    bound = float(other.constants()["noncompositional_heterogeneity"])
    assert apart > 0.7 and apart <= bound == pytest.approx(2 * 1.5)


@pytest.mark.parametrize(
    ("tilt", "gap"), [(0.0, 0.0), (1e-9, math.inf), (-0.5, 1 / 3), (-1.0, 1.0), (-1.0 - 1e-9, math.inf)]
)
def test_losses_that_are_flat_at_an_end_have_a_minimum_there(tilt, gap):
    """f' rises from the tilt by 1 in all: 0 at the left end or at the right one is still bounded below; with -1/2 F falls by 1/2 - 1/6."""
    family = MetaFamily(
        {
            "knots": double([[0.0, 1.0, 2.0]]),
            "curvatures": double([[0.0, 1.0, 0.0]]),
            "tilt": double([tilt]),
            "gradient_noise": double([0.0]),
            "alpha": double([0.1]),
            "start": double([0.0]),
        },
        nu=0,
    )
    assert float(family.constants()["objective_gap"]) == pytest.approx(gap)
