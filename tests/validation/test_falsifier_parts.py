"""The parts of the falsifier by their definitions: the cube, how points become instances, what is simpler, what is kept and said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fedco import theorem
from fedco.bounds.language.change import Change, with_statement
from fedco.bounds.language.theorem import Condition
from fedco.synthetic.families.piecewise import FAMILIES, MetaFamily, PiecewiseLinear
from fedco.validation.exact.columns import Columns
from fedco.validation.exact.every_path import EveryPath, laid_out
from fedco.validation.exact.participation import Chosen, RandomRound, choices, masks
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier import noisy_quadratics, spaces
from fedco.validation.falsifier.bisection import bisected
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.each_term import NECESSARY, NOT_SHOWN, Part, as_table
from fedco.validation.falsifier.edges import edge
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.hidden import Sequence
from fedco.validation.falsifier.laws import PATHS
from fedco.validation.falsifier.long_run import Counted, floor_of, stretched
from fedco.validation.falsifier.noise import SignTable, extremes, moments, paths
from fedco.validation.falsifier.properties import PROPERTIES, imposing
from fedco.validation.falsifier.search import Claim, followed, is_guided, next_power, visiting_order
from fedco.validation.falsifier.search_space import SearchSpace, _guided
from fedco.validation.falsifier.spaces import CURVED, SPACES
from fedco.validation.falsifier.unit_cube import UnitCube

# --- the cube ------------------------------------------------------------------------------------------------------------


def read(name: str, *range_: float, at=(0.0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1.0)) -> list[float]:
    return getattr(UnitCube(np.array(at)[:, None]), name)(*range_).tolist()


def test_a_coordinate_is_read_as_it_says():
    """Ends and middles by hand: 1 for a third of a unit and of a whole number, for half of a limit; ends of a range for a sixth each."""
    assert read("clipped", -1, 3) == pytest.approx([-1, -1, 0, 1, 2, 3, 3])
    assert read("log", -2, 4) == pytest.approx([1e-2, 1e-1, 1, 10, 100, 1e3, 1e4])
    assert read("unit", 3) == pytest.approx([1e-3, 10**-1.5, 1, 1, 1, 10**1.5, 1e3])
    assert read("limit", 3) == pytest.approx([1e-3, 1e-2, 1e-1, 1, 1, 1, 1])
    assert read("whole", 4) == [1, 1, 1, (10**1), 100, 1000, 10000]
    assert read("take") == [0.0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1.0]


def test_every_call_takes_one_coordinate_and_counts_it():
    cube = UnitCube(np.array([[0.0, 0.5, 1.0, 1.0, 0.0]]))
    assert [cube.clipped(0, 1)[0], cube.log(0, 2)[0], cube.unit(1)[0], cube.limit(2)[0], cube.whole(3)[0]] == [
        0,
        10,
        10,
        1,
        1,
    ]
    assert cube.used == 5
    counting = UnitCube()
    counting.take(), counting.log(0, 1)
    assert counting.used == 2 and counting.take().tolist() == [0.5]


# --- how points become instances -----------------------------------------------------------------------------------------

ALL = [
    (kind, space)
    for spaces in (SPACES, CURVED)
    for kind, found in spaces.items()
    for listed in vars(found).values()
    for space in listed
]
NU = 2


def size_of(space, clients: int) -> int:
    cube = UnitCube()
    space.decode(cube, clients, {"nu": NU})
    return cube.used


def decoded(space, clients: int, points):
    return space.decode(UnitCube(points), clients, {"nu": NU})


def family_of(kind: str, parameters):
    tensors = {
        n: torch.from_numpy(np.ascontiguousarray(v[:, None] if v.ndim == 1 else v)) for n, v in parameters.items()
    }
    return MetaFamily(tensors, NU) if kind == "meta" else FAMILIES[kind](tensors)


def gradient(kind: str, parameters):
    """Of the objective at the start, `(count,)`."""
    family = family_of(kind, parameters)
    return family.gradient(family.start.expand(family.runs, 1))[:, 0].numpy()


def random_points(space, clients: int, count: int = 64, high: float = 1.0, seed: int = 0):
    return high * np.random.default_rng(seed).random((count, size_of(space, clients)))


@pytest.mark.parametrize(("kind", "space"), ALL, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_a_decoder_makes_instances_of_its_family_whose_clients_are_a_mean_plus_or_minus_a_difference(kind, space):
    shapes = FAMILIES[kind].SHAPES
    for clients in space.clients:
        made = decoded(space, clients, random_points(space, clients))
        assert set(shapes) - FAMILIES[kind].ABSENT <= set(made) <= set(shapes)
        for name, array in made.items():
            shape = shapes[name]
            assert np.isfinite(array).all()
            if shape in ("client", "knots") and array.shape[1] > 1:
                assert array.shape[1] == clients
                assert (array[:, 2::2] == array[:, :1]).all()  # mean + difference, mean - difference, mean + difference
            if name.endswith("knots"):  # splines whose kink reaches into the plateau are left out by the search
                assert (np.diff(array, axis=-1) > 0).all(axis=(1, 2)).mean() > (0.5 if "spline" in space.name else 0.99)
        for value in family_of(kind, made).constants().values():
            assert (value >= -1e-9 * value.abs().max()).all()


HEARD = [(kind, space) for kind, space in ALL if space.name != spaces.SILENT_BOWL]


@pytest.mark.parametrize(("kind", "space"), HEARD, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_every_coordinate_of_a_point_matters(kind, space):
    """At some point: a coordinate that changes nothing would be searched in vain."""
    clients = max(space.clients[:2])
    points = random_points(space, clients, 40, seed=1)
    whole = decoded(space, clients, points)
    for k in range(points.shape[1]):
        moved = points.copy()
        moved[:, k] = np.random.default_rng(2).random(len(points))
        other = decoded(space, clients, moved)
        assert any(not np.array_equal(whole[name], other[name]) for name in whole), k


UNITS = [
    (kind, space)
    for kind, space in ALL
    if kind in ("local_composite", "conditional", "shared_composite") and "bowls" not in space.name
]


@pytest.mark.parametrize(("kind", "space"), UNITS, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_other_units_of_the_inner_value_and_of_the_objective_change_no_instance(kind, space):
    """The last two coordinates; of a shared composite the last but two, as its estimate comes after them."""
    points = random_points(space, 2)
    first = points.shape[1] - (4 if kind == "shared_composite" else 2)
    points[:, first : first + 2] = 0.5
    plain = family_of(kind, decoded(space, 2, points))
    points[:, first], points[:, first + 1] = 0.9, 0.2
    scaled = family_of(kind, decoded(space, 2, points))
    tall = 10 ** (3 * -(1.5 * 0.6 - 0.5))
    x = plain.start.expand(plain.runs, 1) + 0.1
    np.testing.assert_allclose(scaled.gradient(x), tall * plain.gradient(x), rtol=1e-9, atol=1e-12)
    assert not torch.equal(scaled.parameters["knots"], plain.parameters["knots"])
    if kind == "shared_composite":
        wide = scaled.parameters["inner_slope"] / plain.parameters["inner_slope"]
        np.testing.assert_allclose(scaled.parameters["estimate"], plain.parameters["estimate"] * wide[:, :1])


FREE_UNITS = [(kind, space) for kind, space in ALL if kind in spaces._BY_UNIT]


@pytest.mark.parametrize(("kind", "space"), FREE_UNITS, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_another_unit_of_the_variable_changes_no_instance(kind, space):
    """In units of 1/u the start is u times nearer and every slope u times as steep."""
    made = decoded(space, 2, random_points(space, 2, 16))
    unit = np.full(16, 10.0**1.5)  # 5/6 of a coordinate that reaches to 10^3
    other = spaces.in_unit(kind, made, UnitCube(np.full((16, 1), 5 / 6)))
    np.testing.assert_allclose(other["start"], made["start"] / unit)
    plain, scaled = family_of(kind, made), family_of(kind, other)
    x = plain.start.expand(16, 1) + 0.1
    u = torch.from_numpy(unit)[:, None]
    np.testing.assert_allclose(scaled.gradient(x / u), u * plain.gradient(x), rtol=1e-9, atol=1e-12)
    before, after = plain.constants(), scaled.constants()
    slopes = {"local_gradient_noise", "noncompositional_gradient_noise", "local_gradient_heterogeneity"}
    slopes |= {"noncompositional_heterogeneity", "inner_lipschitz", "inner_jacobian_heterogeneity"}
    for name in before:
        if name in slopes or "outer" in name or name in ("inner_value_noise", "objective_gap", "initial_inner_error"):
            wanted = unit ** int(name in slopes) * before[name].numpy()
            np.testing.assert_allclose(after[name], wanted, rtol=1e-7, atol=1e-9)


def test_what_is_made_for_a_pair_of_clients_is_searched_with_two():
    paired = [*SPACES["meta"].silent, *SPACES["meta"].partial, SPACES["local_composite"].silent[2]]
    assert [space.clients for space in paired] == [(2,)] * 6
    assert all({1, 2, 3} <= set(space.clients) for kind, space in ALL if space not in paired)


def test_noise_that_belongs_to_a_space_is_not_drawn_again():
    """Over all paths the noise on a tent still leads from its top to its feet."""
    target = target_of(theorem("fcsg.theorem_4_1"), "printed")
    search_space = SearchSpace(
        target, Formula(target.theorem, "printed"), SPACES["conditional"].bent[0], 1, 1, 2, law=PATHS
    )
    found = search_space.candidate(np.full(search_space.size, 0.7)).parameters
    assert (found["value_noise"] == np.ptp(found["knots"], axis=-1) / 2).all() and (found["gradient_noise"] == 0).all()


def slopes_at(parameters, points):
    """The outer slopes `(count, clients)`, in the unit of the inner value."""
    slope = PiecewiseLinear(*(torch.from_numpy(parameters[name]) for name in ("knots", "slopes")))
    return slope.at(torch.as_tensor(points).unsqueeze(-1))[..., 0]


def mean_slopes(parameters):
    return parameters["slopes"].mean(1)


def test_outer_functions_rise_at_both_ends_in_the_mean():
    """So that the objective has a minimum; the clients' own may fall."""
    for space, kind in (
        (SPACES["local_composite"].silent[1], "local_composite"),
        (SPACES["federated"].silent[0], "federated"),
    ):
        made = decoded(space, 2, random_points(space, 2, 200))
        mean = mean_slopes(made)
        assert (mean[:, 0] <= 0).all() and (mean[:, -1] >= 0).all() and mean[:, 0].min() < 0 < mean[:, -1].max()
        assert (made["slopes"][:, 0, 0] > 0).any() and kind
    shared = decoded(
        SPACES["shared_composite"].silent[0], 2, random_points(SPACES["shared_composite"].silent[0], 2, 200)
    )
    for name in ("slopes", "extra_slopes"):
        mean = shared[name].mean(1)
        assert (mean[:, 0] <= 0).all() and (mean[:, -1] >= 0).all() and mean[:, 0].min() < 0 < mean[:, -1].max()
    apart = decoded(SPACES["local_composite"].silent[3], 2, random_points(SPACES["local_composite"].silent[3], 2, 200))
    assert (apart["slopes"][..., 0] <= 0).all() and (apart["slopes"][..., -1] >= 0).all()


def test_an_extra_function_is_there_or_not():
    space = SPACES["shared_composite"].silent[0]
    made = decoded(space, 2, random_points(space, 2, 100))
    without = (made["extra_slopes"] == 0).all(axis=(1, 2))
    assert 30 < without.sum() < 70


def test_one_inner_map_is_the_identity_in_its_unit():
    for space in SPACES["local_composite"].silent[1:3]:
        made = decoded(space, 2, random_points(space, 2))
        assert (made["inner_slope"] == made["inner_slope"][:, :1]).all() and (made["inner_slope"] > 0).all()
        assert not made["inner_offset"].any() and not made["start"].any()


def test_a_stationary_start_has_no_mean_slope_and_clients_that_pull():
    space = SPACES["local_composite"].silent[2]
    made = decoded(space, 2, random_points(space, 2))
    assert np.abs(gradient("local_composite", made)).max() < 1e-9 * np.abs(made["slopes"]).max()
    own = slopes_at(made, np.zeros(made["inner_slope"].shape))
    assert float(own.abs().min(1).values.median()) > 0


def test_equal_huber_functions_behind_inner_maps_that_differ():
    space = SPACES["local_composite"].silent[0]
    points = random_points(space, 2)
    points[:, -2:] = 0.5
    made = decoded(space, 2, points)
    assert (made["knots"] == [-1, 1]).all() and (made["slopes"] == [-1, 1]).all()
    assert np.ptp(made["inner_slope"], axis=1).max() > 0.5 and np.ptp(made["inner_offset"], axis=1).max() > 1


def test_noise_leads_from_the_top_of_a_tent_to_its_feet():
    """The plug-in gradient is then 0 for either sign, and the gradient is not."""
    space = SPACES["conditional"].bent[0]
    made = decoded(space, 2, random_points(space, 2))
    noise = made["value_noise"]
    top = slopes_at(made, 0 * noise)
    assert (slopes_at(made, noise).abs() <= 1e-12 * top).all() and (slopes_at(made, -noise).abs() <= 1e-12 * top).all()
    assert (noise > 0).all() and (top > 0).all() and (gradient("conditional", made) != 0).all()
    assert (made["knots"][..., 1] == 0).all() and (made["knots"][..., 0] == -made["knots"][..., 2]).all()


@pytest.mark.parametrize("kind", SPACES)
def test_a_bowl_starts_at_its_minimiser_and_is_silent_where_every_ingredient_is_left_out(kind):
    """Coordinates up to 0.4 leave an ingredient out; the estimate of a shared composite is then the inner value at the start."""
    (space,) = SPACES[kind].affine
    low = decoded(space, 2, random_points(space, 2, high=0.4))
    scale = np.abs(low["slopes"]).max() if "slopes" in low else 1.0
    assert np.abs(gradient(kind, low)).max() <= 1e-9 * scale
    if kind != "meta":
        assert all(not low[name].any() for name in noisy_quadratics.NOISES if name in low)
    if kind == "shared_composite":
        inner = (low["inner_slope"] * low["start"][:, None] + low["inner_offset"]).mean(1)
        np.testing.assert_allclose(low["estimate"], inner, rtol=1e-9, atol=1e-12)
    some = decoded(space, 2, random_points(space, 2))
    assert (np.abs(gradient(kind, some)) > 1e-6 * scale).any() and some["gradient_noise"].any()
    assert (some["gradient_noise"] >= 0).all()


class Ranges(UnitCube):
    """A cube that notes the ranges which are read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[str, float, float]] = []

    def clipped(self, low, high):
        self.read.append(("clipped", low, high))
        return super().clipped(low, high)

    def log(self, low, high):
        self.read.append(("log", low, high))
        return super().log(low, high)

    def unit(self, reach):
        self.read.append(("unit", -reach, reach))
        return super().unit(reach)


@pytest.mark.parametrize(("kind", "space"), ALL, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_ranges_have_a_length_and_what_has_a_sign_has_either_as_often(kind, space):
    """Scales spread over half a power of ten or more; a fraction is between 0 and 1, a factor around 1; signs are even."""
    cube = Ranges()
    parameters = space.decode(cube, 2, {"nu": NU})
    spaces.in_unit(kind, parameters, cube)
    assert cube.read
    for name, low, high in cube.read:
        assert high - low >= 0.5
        if name == "clipped":
            assert low == -high or (low, high) == (0, 1) or (low > 0 and low + high == 2)


def test_the_start_of_a_bowl_behind_inner_maps_is_its_minimiser_where_it_is_not_off_it():
    """Of sum_k (slope_k x + level_k)^2, with levels that differ: coordinate 8 says whether the start is off it."""
    (space,) = SPACES["local_composite"].affine
    points = random_points(space, 2, 200)
    points[:, 3], points[:, 5], points[:, 8] = 0.9, 1.0, 0.0
    made = decoded(space, 2, points)
    assert np.abs(made["inner_offset"]).min() > 0 and np.abs(made["start"]).min() > 0
    inner = made["inner_slope"] * made["start"][:, None] + made["inner_offset"]
    inside = (np.abs(inner) < made["knots"][..., 1]).all(1)
    assert inside.sum() > 100
    scale = (np.abs(made["inner_slope"]) * np.abs(made["slopes"]).max(-1)).max(1)
    assert (np.abs(gradient("local_composite", made))[inside] <= 1e-10 * scale[inside]).all()


@pytest.mark.parametrize("kind", ["federated", "local_composite", "shared_composite"])
def test_the_noise_of_every_other_client_is_a_part_of_that_of_the_first(kind):
    (space,) = SPACES[kind].affine
    made = decoded(space, 3, random_points(space, 3, 200))
    for name in (n for n in noisy_quadratics.NOISES if n in made):
        first, second, third = made[name].T
        assert (
            (second <= first).all()
            and (third == first).all()
            and (second < first).any()
            and (second[first > 0] == 0).any()
        )


@pytest.mark.parametrize("kind", ["federated", "local_composite", "shared_composite"])
def test_silent_bowls_are_the_bowls_without_noise(kind):
    (noisy,), silent = SPACES[kind].affine, SPACES[kind].silent[-1]
    points = random_points(noisy, 2)
    loud, still = decoded(noisy, 2, points), decoded(silent, 2, points)
    assert any(loud[name].any() for name in noisy_quadratics.NOISES if name in loud)
    for name in loud:
        assert not still[name].any() if name in noisy_quadratics.NOISES else np.array_equal(loud[name], still[name])


def test_a_bowl_is_one_and_its_slope_is_what_it_says():
    """Two knots with opposite slopes around the centre; of a federated client curvature 1 in its unit."""
    made = decoded(SPACES["federated"].affine[0], 2, random_points(SPACES["federated"].affine[0], 2))
    widths, heights = np.ptp(made["knots"], axis=-1), np.ptp(made["slopes"], axis=-1)
    curvature = heights / widths
    np.testing.assert_allclose(curvature[:, 0], curvature[:, 1])
    np.testing.assert_allclose(made["slopes"].sum(-1), 0, atol=1e-12)
    np.testing.assert_allclose(made["knots"].mean(-1).sum(1), 0, atol=1e-12 * np.abs(made["knots"]).max())
    assert np.abs(np.log10(curvature)).max() > 1  # the unit of the objective


def test_a_meta_bowl_has_hessian_one_as_far_as_fine_tuning_leads():
    """The farther client has slope 1 beside the mean at the start; nu steps of alpha stay within (1 + alpha)^nu - 1."""
    for space in SPACES["meta"].partial:
        made = decoded(space, 2, random_points(space, 2))
        inside = made["knots"][:, 0, 2]
        assert (inside >= 10**0.2 * (1 + made["alpha"]) ** NU * (1 - 1e-12)).all()
        assert (made["curvatures"] == [0, 1, 1, 0]).all() and (made["knots"][:, 0] == -made["knots"][:, 0, ::-1]).all()
        np.testing.assert_allclose(np.ptp(made["tilt"], axis=1), 2)
        rounding = 1e-14 * np.abs(made["tilt"]).max(1) * (1 + made["alpha"]) ** (2 * NU)
        assert (np.abs(gradient("meta", made)) <= rounding).all()


def test_fine_tuned_bowls_have_noise_in_every_gradient():
    made = decoded(SPACES["meta"].affine[0], 3, random_points(SPACES["meta"].affine[0], 3))
    assert (made["gradient_noise"][:, ::2] == 1).all() and (made["gradient_noise"][:, 1] <= 1).all()
    assert (np.abs(made["start"]) <= made["knots"][:, 0, 2] / 2).all()


@pytest.mark.parametrize("space", SPACES["meta"].silent, ids=lambda s: s.name[-30:])
def test_a_spline_has_its_kink_where_a_fine_tuning_step_leads(space):
    """The mean slope is 1 at the start 0, so that one step leads to -alpha, where the Hessian has four knots close together."""
    made = decoded(space, 2, random_points(space, 2, 200))
    family = family_of("meta", made)
    own = family.local_gradient(torch.zeros(200, 2, 1, dtype=torch.float64))[..., 0].numpy()
    gap = np.ptp(made["tilt"], axis=1) / 2
    np.testing.assert_allclose(own, np.stack([1 + gap, 1 - gap], axis=1), atol=1e-9)
    knots, alpha = made["knots"][:, 0], made["alpha"]
    assert (knots[:, 5] < -alpha).all() and (-alpha < knots[:, 6]).all()
    assert ((knots[:, 7] - knots[:, 4]) / alpha / gap).max() <= 40 * (1 + 1e-9)
    far = torch.from_numpy(knots[:, 0] - 1.0).view(-1, 1, 1).expand(-1, 2, 1)
    right = torch.from_numpy(knots[:, -1] + 1.0).view(-1, 1, 1).expand(-1, 2, 1)
    assert (family.local_gradient(far) < 0).all() and (family.local_gradient(right) > 0).all()
    assert np.abs(made["curvatures"]).max() <= 1 and not made["start"].any()
    ahead = torch.linspace(-0.3, 0.6, 19, dtype=torch.float64) * torch.from_numpy(np.minimum(alpha, 2)).unsqueeze(-1)
    assert (family.local_gradient(ahead.T.reshape(19, 200, 1, 1).expand(-1, -1, 2, 1)[9]) > 0).all()


def test_bent_losses_are_convex_with_the_minimiser_of_their_mean_at_the_start():
    space = SPACES["meta"].crowded[0]
    made = decoded(space, 2, random_points(space, 2, 100))
    assert (made["curvatures"] >= 0).all() and not made["curvatures"][..., [0, -1]].any()
    family = family_of("meta", made)
    own = family.local_gradient(torch.zeros(100, 2, 1, dtype=torch.float64))[..., 0].numpy()
    np.testing.assert_allclose(own.sum(1), 0, atol=1e-9 * np.abs(made["tilt"]).max())
    assert (own[:, 0] > 0).all() and not made["start"].any() and made["alpha"].max() <= 1


def test_the_area_of_a_hessian_up_to_0():
    """Of a tent from -2 to 1 with top 3 at -1: 1.5 up to the top, and from 3 to 1.5 over the next unit."""
    knots, heights = np.array([[-2.0, -1.0, 1.0]]), np.array([[0.0, 3.0, 0.0]])
    assert spaces._area_until_zero(knots, heights) == pytest.approx([1.5 + (3 + 1.5) / 2])
    assert spaces._area_until_zero(knots - 5, heights) == pytest.approx([4.5])
    assert spaces._area_until_zero(knots + 5, heights) == pytest.approx([0.0])


def test_a_start_is_shifted_from_one_end_to_the_other():
    parameters = {"knots": np.array([[[-3.0, 1.0], [0.0, 5.0]]]), "start": np.zeros(1)}
    shifted = [float(spaces._anywhere(parameters, np.array([s]))["start"][0]) for s in (-1.0, 0.0, 0.5, 1.0)]
    assert shifted == [-3, 1, 3, 5]
    meta = {"alpha": np.array([0.5]), "tilt": np.array([[3.0, -1.0]]), "start": np.zeros(1)}
    assert [float(spaces._started(meta, np.array([s]))["start"][0]) for s in (-1.0, 0.5)] == [-1, 0.5]


def test_a_mean_slope_is_levelled_and_differences_stay():
    slopes = np.array([[[1.0, 2.0, 3.0, 9.0], [-1.0, 0.0, -1.0, 5.0]]])
    for shift in (-1.0, 0.25):
        made = spaces._levelled({"slopes": slopes}, np.array([shift]))["slopes"]
        np.testing.assert_allclose(made[:, 0] - made[:, 1], slopes[:, 0] - slopes[:, 1])
        level = shift * 2  # the largest difference from the mean is 2
        np.testing.assert_allclose(made.mean(1), [[-abs(level), level, level, abs(level)]])


def having(parameters: dict[str, Any]) -> Any:
    return SimpleNamespace(parameters=parameters)


def test_what_is_equal_and_what_is_zero_by_a_property():
    arrays = {"knots": np.arange(8.0).reshape(1, 2, 4), "slopes": np.ones((1, 2, 4)), "gradient_noise": np.ones((1, 2))}
    made = imposing(("one_outer_function",))(arrays)
    assert made["knots"].tolist() == [[[0, 1, 2, 3], [0, 1, 2, 3]]] and not made["gradient_noise"].any()
    one = PROPERTIES["one_outer_function"]
    exact = {"knots": [[Q(0), Q(1)], [Q(0), Q(1)]], "slopes": [[Q(1)], [Q(1)]], "gradient_noise": [Q(0), Q(0)]}
    assert one.holds(having(exact))
    assert not one.holds(having({**exact, "knots": [[Q(0), Q(1)], [Q(0), Q(2)]]}))
    assert not one.holds(having({**exact, "gradient_noise": [Q(0), Q(1, 9)]}))
    assert PROPERTIES["no_extra_term"].holds(having({"extra_slopes": [[Q(0)], [Q(0)]]}))
    assert not PROPERTIES["no_extra_term"].holds(having({"extra_slopes": [[Q(0)], [Q(1)]]}))


def test_convex_clients_have_slopes_of_which_each_rises():
    arrays = {"slopes": np.array([[[3.0, -1.0, 2.0], [0.0, 5.0, 4.0]]])}
    mean, each = (imposing((name,))(arrays)["slopes"] for name in ("convex", "convex_clients"))
    assert (np.diff(mean.mean(1)) >= 0).all() and not (np.diff(mean) >= 0).all()
    assert each.tolist() == [[[-1, 2, 3], [0, 4, 5]]]
    only_mean = SimpleNamespace(parameters={}, is_convex=True, has_convex_clients=False)
    assert PROPERTIES["convex"].holds(only_mean) and not PROPERTIES["convex_clients"].holds(only_mean)


# --- long runs and noise -------------------------------------------------------------------------------------------------


def test_which_steps_of_a_round_count():
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=2, after=False)).at(t)] == [0, 2, 4]
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=3, after=True)).at(t)] == [3, 6]
    assert [
        Counted(6, Statistic(every=every, after=after)).number for every, after in product((1, 2, 3, 6), (False, True))
    ] == [
        6,
        6,
        3,
        3,
        2,
        2,
        1,
        1,
    ]


def test_a_stretched_bowl_has_the_same_slope_inside_and_kinks_a_hundred_times_as_far():
    parameters = {
        "knots": np.array([[[-1.0, 3.0]]]),
        "slopes": np.array([[[-2.0, 2.0]]]),
        "extra_knots": np.zeros((1, 1, 4)),
    }
    made = stretched(parameters)
    assert made["knots"].tolist() == [[[-199.0, 201.0]]] and made["slopes"].tolist() == [[[-200.0, 200.0]]]
    assert made["extra_knots"] is parameters["extra_knots"] and parameters["knots"].max() == 3
    meta = decoded(SPACES["meta"].partial[0], 2, random_points(SPACES["meta"].partial[0], 2, 8))
    wide = stretched(meta)
    before, after = family_of("meta", meta), family_of("meta", wide)
    x = torch.linspace(-0.5, 0.5, 8, dtype=torch.float64).view(8, 1, 1).expand(-1, 2, 1)
    np.testing.assert_allclose(before.local_gradient(x), after.local_gradient(x), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(wide["knots"], 100 * meta["knots"])


def test_what_of_a_gradient_is_nothing_but_rounding():
    """1e-14 of the steepest slope, squared."""
    linear = {"slopes": np.array([[[-3.0, 2.0]]])}
    assert floor_of(linear) == pytest.approx([9e-28], rel=1e-9)
    assert floor_of({**linear, "inner_slope": np.array([[-2.0, 1.0]])}) == pytest.approx([36e-28], rel=1e-9)
    assert floor_of({**linear, "extra_slopes": np.array([[[4.0]]])}) == pytest.approx([49e-28], rel=1e-9)
    meta = {"curvatures": np.array([[[0.0, -2.0]]]), "alpha": np.array([0.5]), "tilt": np.array([[3.0, -1.0]])}
    assert floor_of(meta) == pytest.approx([(1e-14 * 3 * 4) ** 2], rel=1e-9)


def test_lanes_of_moments_and_of_paths_are_expectations():
    """Of (1 + s_1 + 2 s_2 + 3 s_3)^2 over fair signs: 1 + 1 + 4 + 9."""
    for lanes in (moments(3), paths(3)):
        square = (1 + lanes.table @ torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)) ** 2
        assert lanes.expectation(square.numpy()) == pytest.approx([15.0])
        assert float(lanes.weights.sum()) == pytest.approx(1)
    assert len(moments(3)) == 7 and len(paths(3)) == 8 and len({tuple(row) for row in paths(3).table.tolist()}) == 8
    assert extremes(np.array([[2.0, -1.0, 0.0]])).tolist() == [[1, -1, 1], [-1, 1, -1]]


def test_signs_are_numbered_in_the_order_in_which_they_are_asked_for():
    table = SignTable(torch.arange(12.0, dtype=torch.float64).view(1, 12), clients=2)
    assert table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("a").tolist() == [[4, 5]] and table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("b", 3).tolist() == [[[6, 7, 8], [9, 10, 11]]]
    assert not table.at(2).signs("c").any() and table.columns.count == 14
    assert table.at(0).subset("clients", 2).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="1 of 2 clients"):
        table.subset("clients", 1)
    lanes = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    several = SignTable(lanes, clients=2, instances=2)
    assert several.runs == 4 and several.at(0).signs("a").tolist() == lanes.repeat(2, 1).tolist()
    columns = Columns()
    assert [columns.of(("x",), 3), columns.of(("y",), 2), columns.of(("x",), 3), columns.count] == [0, 3, 0, 5]


def test_each_client_of_a_crowd_follows_every_path_of_its_own():
    draws = EveryPath(2, 2, runs=3)
    first, second = draws.at(0).signs("a"), draws.at(1).signs("a")
    assert first.shape == (3, 8) and {*zip(first[0].tolist(), second[0].tolist(), strict=True)} == {
        *product((-1, 1), repeat=2)
    }
    assert first[0, :4].tolist() == first[0, 4:].tolist() and (first == first[:1]).all()
    with pytest.raises(ValueError, match="more than 2 signs"):
        draws.at(2).signs("a")
    turned = EveryPath(2, 2, turned=5)
    assert (turned.at(0).signs("a")[0] != first[0]).nonzero().flatten().tolist() == [5]
    with pytest.raises(ValueError, match="4 of 8 clients"):
        draws.subset("x", 4)
    assert draws.subset("x", 8).shape == (3, 8)
    out = laid_out(
        {"a": np.array([[1.0, 2.0]]), "k": np.array([[[3.0], [4.0]]]), "s": np.array([5.0])},
        {"a": "client", "k": "knots", "s": "run"},
        1,
    )
    assert (
        out["a"].tolist() == [[1, 1, 2, 2]] and out["k"].tolist() == [[[3], [3], [4], [4]]] and out["s"].tolist() == [5]
    )


def test_choices_of_clients_and_their_masks():
    assert choices(3, 2) == [(1, 1, 0), (1, 0, 1), (0, 1, 1)]
    assert masks(2, 1, 2).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    chosen = Chosen(masks(3, 2, 1))
    assert chosen.subset("x", 2) is chosen.mask and (chosen.runs, chosen.clients) == (3, 3)
    with pytest.raises(ValueError, match="1 clients are asked for"):
        chosen.subset("x", 1)


def test_a_random_round_stays_within_what_it_says_of_finitely_many():
    """Two choices, run as all paths: the mean of squares over K rounds from 1 is off the endless one by at most `off` / K."""
    move = RandomRound(
        np.array([0.5, -0.25]), np.array([0.2, -0.1]), np.array([[0.3], [-0.7]]), np.array([[1.5], [0.4]])
    )
    square, off = move.mean_square()
    for start in (1.0, -1.0):
        at, weights, total = np.array([start]), np.ones(1), 0.0
        for _ in range(12):
            total += float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
            at = np.concatenate([move.a[j] * at + move.b[j] for j in (0, 1)])
            weights = np.concatenate([weights / 2] * 2)
        assert abs(total / 12 - square) <= off / 12
        last = float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
        assert last == pytest.approx(square, rel=1e-3)


# --- scores and the search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 2, 4, 7])
def test_halvings_at_once_are_those_one_by_one(at_once: int) -> None:
    """Bit by bit, and for what changes back and forth on the way, where several ends could be found."""
    rng = np.random.default_rng(2)
    low, high = -rng.random(40) - 1, rng.random(40) + 1

    def holds(x: np.ndarray) -> np.ndarray:
        return np.sin(40 * x) < 0.3 * np.arange(40) / 40

    found = bisected(holds, low, high, 30, at_once=at_once)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = np.where(holds(middle), middle, low), np.where(holds(middle), high, middle)
    assert np.array_equal(found, (low, high)) and (high - low < 1e-8).all() and len(set(low)) == 40
    assert bisected(lambda x: np.array(True), np.zeros(2), np.full(2, 8.0), 3)[0].tolist() == [7, 7]


@pytest.mark.parametrize(
    ("relation", "held", "over"),
    [
        ("<", [1, 0, 0, 0], [0, 0, 0.5, 1]),
        ("<=", [1, 1, 0, 0], [0, 0, 0.5, 1]),
        (">", [0, 0, 1, 0], [1 / 3, 0, 0, 1]),
        (">=", [0, 1, 1, 0], [1 / 3, 0, 0, 1]),
        ("==", [0, 1, 0, 0], [1 / 3, 0, 0.5, 1]),
    ],
)
def test_a_relation_is_judged_with_its_excess(relation, held, over):
    """eta of 1, 2, 3 and no number against 1/L of 2, 2, 1 and 1."""
    item = theorem("baselines.minibatch_sgd")
    eta, L = (item.notation[name].symbol for name in ("eta", "L_bar"))
    only = replace(item.statement("printed"), conditions=(Condition("c", eta, relation, 1 / L),))
    formula = Formula(with_statement(item, only), "printed")
    values = dict.fromkeys(formula.names, np.ones(4)) | {
        "eta": np.array([1.0, 2.0, 3.0, np.nan]),
        "L_bar": 1 / np.array([2.0, 2, 1, 1]),
    }
    found = formula.sides(values)
    assert found.admissible.tolist() == [bool(x) for x in held] and found.excess.tolist() == pytest.approx(over)


def test_a_search_is_guided_by_the_share_of_what_a_change_takes_away():
    """As it is where the share is half and more; below -6, and lower the smaller it is, elsewhere; what is inadmissible stays."""
    scores, whole = np.array([[0.1, 0.1, 0.1, 0.1, -10.0]]), np.array([4.0, 4.0, 2.0, 2.0, 1.0])
    bounds = whole * np.array([[0.4, 0.5, 0.9, 1 - 1e-9, 0.9]])
    led = _guided(scores, bounds, whole)[0]
    assert led[:2].tolist() == [0.1, 0.1] and led[4] == -10
    assert -9 < led[3] < led[2] < -6


def test_a_claim_keeps_its_best_points():
    claim = Claim(target=None)  # type: ignore[arg-type]
    points = np.arange(100.0)[:, None]
    claim.remember((0, False), points, -np.abs(points[:, 0] - 50))
    claim.remember((0, False), np.array([[7.5], [8.5]]), np.array([1.0, -1000.0]))
    kept, scores = claim.points[0, False]
    assert len(kept) == 64 and kept[0, 0] == 7.5 and kept[1, 0] == 50 and (np.diff(scores) <= 0).all()
    assert claim.best == {(0, False): 1.0} and claim.is_open
    claim.found.saw(0.3, "a")
    claim.found.saw(0.2, "b")
    assert (claim.found.ratio, claim.found.where) == (0.3, "a")


def test_powers_of_two():
    assert [next_power(n) for n in (1, 2, 3, 4, 5, 64, 65)] == [1, 2, 4, 4, 8, 64, 128]


def test_islands_are_visited_by_turns_endless_and_finite_the_best_first():
    claim = Claim(target=None)  # type: ignore[arg-type]
    claim.best = {(0, False): -1.0, (1, False): -2.0, (2, False): 0.5, (3, False): -0.5, (0, True): 9.0}
    search_spaces = [SimpleNamespace(stays=stays) for stays in (True, False, False, True)]
    assert visiting_order(search_spaces, claim, False) == [3, 2, 0, 1]  # type: ignore[arg-type]
    claim.best[3, False] = -30.0  # nothing valid there
    assert visiting_order(search_spaces, claim, False) == [0, 2, 1]
    assert visiting_order(search_spaces, claim, True) == [
        0,
        1,
        3,
        2,
    ]  # search spaces that nobody has seen come after those with a score


def test_of_the_changes_of_one_term_the_first_open_one_is_followed():
    changed = [Claim(None, Change(part, "divided", Q(4))) for part in ("a", "a", "b")]  # type: ignore[arg-type]
    plain = Claim(target=None)  # type: ignore[arg-type]
    claims = [plain, *changed]
    assert followed(claims) == [plain, changed[0], changed[2]]
    changed[0].found.violation = SimpleNamespace()
    assert followed(claims) == [plain, changed[1], changed[2]]
    for claim in claims:
        claim.found.violation = SimpleNamespace()
    assert followed(claims) == []
    turns = [(is_guided(changed[0], turn), is_guided(plain, turn)) for turn in range(6)]
    assert turns == [(t % 3 != 2, False) for t in range(6)]


def test_a_lost_power_is_followed_beside_less_of_a_term_and_neither_while_the_term_may_be_missing():
    """Less of a term that has slack is never refuted, and must not be in the way of an order that is."""
    dropped, less, period, clients, other = changed = [
        Claim(None, change)  # type: ignore[arg-type]
        for change in (
            Change("a", "dropped"),
            Change("a", "divided", Q(4)),
            Change("a", "power", Q(-1), "p"),
            Change("a", "power", Q(-1), "N"),
            Change("b", "power", Q(-1), "N"),
        )
    ]
    assert followed(changed) == [dropped, other]
    dropped.found.violation = SimpleNamespace()
    assert followed(changed) == [less, period, clients, other]


# --- step sizes ---------------------------------------------------------------------------------------------------------


def test_the_largest_step_that_conditions_admit():
    formula = Formula(theorem("baselines.minibatch_sgd"), "printed")
    names = [n for n, b in formula.theorem.symbols("printed").items()]
    values = dict.fromkeys(names, Q(1)) | {"L_bar": Q(4)}
    eta = 10.0 ** float(edge(formula, {name: float(value) for name, value in values.items()}, "eta", 1, {}, 1)[0])
    exact = formula.theorem.admissible("eta", "printed", L_bar=4).intervals["eta"].upper
    assert eta == pytest.approx(float(exact), rel=1e-9) and eta <= float(exact) * (1 + 1e-12)


# --- what is said --------------------------------------------------------------------------------------------------------


def test_a_table_of_parts_and_what_is_known_of_each():
    term = Part("noise", "term", "noise dropped", NECESSARY, 1.25, least=0.5)
    nothing = Part("bias", "term", "bias dropped", NOT_SHOWN, 0.00123456)
    relaxed = Part("step", "condition", "step relaxed by 4", NECESSARY, 2.0, relaxed=4.0)
    open_ = Part("step", "condition", "step relaxed by 4", NOT_SHOWN, 0.5)
    assert as_table([term, nothing, relaxed, open_]).split("\n") == [
        "kind       change             verdict    ratio     what is known",
        "term       noise dropped      necessary  1.25      coefficient between 0.5 and 1 of the stated one",
        "term       bias dropped       not shown  0.001235  could be 0",
        "condition  step relaxed by 4  necessary  2         relaxing it by 4 is refuted",
        "condition  step relaxed by 4  not shown  0.5       relaxing it by 4 is not refuted",
    ]


def test_a_sequence_of_hidden_constants_says_up_to_which_it_is_refuted():
    def found(refuted, ratio):
        return SimpleNamespace(
            refuted=refuted, outcome="REFUTED" if refuted else "SURVIVED", ratio=ratio, path=None, to_dict=dict
        )

    some = Sequence("x.y", "printed", {1.0: found(True, 3.5), 10.0: found(True, 1.25), 100.0: found(False, 0.5)})
    assert str(some).split("\n") == [
        "x.y (printed), the hidden constant",
        "  1          REFUTED   ratio 3.5",
        "  10         REFUTED   ratio 1.25",
        "  100        SURVIVED  ratio 0.5",
        "Every value up to 10 is too small, each by its own instance.",
    ]
    assert some.to_dict()["refuted_up_to"] == 10.0 and [row["value"] for row in some.to_dict()["sequence"]] == [
        1.0,
        10.0,
        100.0,
    ]
    none = Sequence("x.y", "printed", {1.0: found(False, 0.5)})
    assert none.to_dict()["refuted_up_to"] is None and str(none).endswith("No value was refuted.")


def test_targets_know_their_symbols():
    target = target_of(theorem("baselines.local_sgd"), "printed")
    assert (
        target.length == "T" and target.named("communication_period") == "p" and target.named("participation") is None
    )
    assert target.steps({"T": 12.0}) == 12 and target.average in ("before", "after")
