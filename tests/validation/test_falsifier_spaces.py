"""Search spaces by their definitions: how a coordinate is read, how points become instances, and what is simpler."""

from __future__ import annotations

from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fedco.synthetic.families.piecewise import FAMILIES, MetaFamily, PiecewiseLinear
from fedco.validation.falsifier import noisy_instances, spaces
from fedco.validation.falsifier.laws import PATHS
from fedco.validation.falsifier.long_run import stretched
from fedco.validation.falsifier.properties import PROPERTIES, imposing
from fedco.validation.falsifier.search_space import SearchSpace
from fedco.validation.falsifier.spaces import CURVED, SPACES
from fedco.validation.falsifier.unit_cube import UnitCube
from searching import targeted

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


def drawn(space, clients: int, count: int = 64, **more):
    """Instances at random points."""
    return decoded(space, clients, random_points(space, clients, count, **more))


@pytest.mark.parametrize(("kind", "space"), ALL, ids=lambda v: v if isinstance(v, str) else v.name[:24])
def test_a_decoder_makes_instances_of_its_family_whose_clients_are_a_mean_plus_or_minus_a_difference(kind, space):
    shapes = FAMILIES[kind].SHAPES
    for clients in space.clients:
        made = drawn(space, clients)
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


def test_what_is_made_for_a_pair_of_clients_is_searched_with_two():
    paired = [*SPACES["meta"].silent, *SPACES["meta"].partial, SPACES["local_composite"].silent[2]]
    assert [space.clients for space in paired] == [(2,)] * 6
    assert all({1, 2, 3} <= set(space.clients) for kind, space in ALL if space not in paired)


def test_noise_that_belongs_to_a_space_is_not_drawn_again():
    """Over all paths the noise on a tent still leads from its top to its feet."""
    search_space = SearchSpace(*targeted("fcsg.theorem_4_1"), SPACES["conditional"].bent[0], 1, 1, 2, law=PATHS)
    found = search_space.candidate(np.full(search_space.size, 0.7)).parameters
    assert (found["value_noise"] == np.ptp(found["knots"], axis=-1) / 2).all() and (found["gradient_noise"] == 0).all()


def slopes_at(parameters, points):
    """The outer slopes `(count, clients)`, in the unit of the inner value."""
    slope = PiecewiseLinear(*(torch.from_numpy(parameters[name]) for name in ("knots", "slopes")))
    return slope.at(torch.as_tensor(points).unsqueeze(-1))[..., 0]


def test_outer_functions_rise_at_both_ends_in_the_mean():
    """So that the objective has a minimum; the clients' own may fall."""

    def check(slopes):
        mean = slopes.mean(1)
        assert (mean[:, 0] <= 0).all() and (mean[:, -1] >= 0).all() and mean[:, 0].min() < 0 < mean[:, -1].max()

    for space in (SPACES["local_composite"].silent[1], SPACES["federated"].silent[0]):
        slopes = drawn(space, 2, 200)["slopes"]
        check(slopes)
        assert (slopes[:, 0, 0] > 0).any()
    shared = drawn(SPACES["shared_composite"].silent[0], 2, 200)
    check(shared["slopes"]), check(shared["extra_slopes"])
    apart = drawn(SPACES["local_composite"].silent[3], 2, 200)
    assert (apart["slopes"][..., 0] <= 0).all() and (apart["slopes"][..., -1] >= 0).all()


def test_an_extra_function_is_there_or_not():
    space = SPACES["shared_composite"].silent[0]
    made = drawn(space, 2, 100)
    without = (made["extra_slopes"] == 0).all(axis=(1, 2))
    assert 30 < without.sum() < 70


def test_one_inner_map_is_the_identity_in_its_unit():
    for space in SPACES["local_composite"].silent[1:3]:
        made = drawn(space, 2)
        assert (made["inner_slope"] == made["inner_slope"][:, :1]).all() and (made["inner_slope"] > 0).all()
        assert not made["inner_offset"].any() and not made["start"].any()


def test_a_stationary_start_has_no_mean_slope_and_clients_that_pull():
    space = SPACES["local_composite"].silent[2]
    made = drawn(space, 2)
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
    made = drawn(space, 2)
    noise = made["value_noise"]
    top = slopes_at(made, 0 * noise)
    assert (slopes_at(made, noise).abs() <= 1e-12 * top).all() and (slopes_at(made, -noise).abs() <= 1e-12 * top).all()
    assert (noise > 0).all() and (top > 0).all() and (gradient("conditional", made) != 0).all()
    assert (made["knots"][..., 1] == 0).all() and (made["knots"][..., 0] == -made["knots"][..., 2]).all()


@pytest.mark.parametrize("kind", SPACES)
def test_a_bowl_starts_at_its_minimiser_and_is_silent_where_every_ingredient_is_left_out(kind):
    """Coordinates up to 0.4 leave an ingredient out; the estimate of a shared composite is then the inner value at the start."""
    (space,) = SPACES[kind].affine
    low = drawn(space, 2, high=0.4)
    scale = np.abs(low["slopes"]).max() if "slopes" in low else 1.0
    assert np.abs(gradient(kind, low)).max() <= 1e-9 * scale
    if kind != "meta":
        assert all(not low[name].any() for name in noisy_instances.NOISES if name in low)
    if kind == "shared_composite":
        inner = (low["inner_slope"] * low["start"][:, None] + low["inner_offset"]).mean(1)
        np.testing.assert_allclose(low["estimate"], inner, rtol=1e-9, atol=1e-12)
    some = drawn(space, 2)
    assert (np.abs(gradient(kind, some)) > 1e-6 * scale).any() and some["gradient_noise"].any()
    assert (some["gradient_noise"] >= 0).all()


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
    made = drawn(space, 3, 200)
    for name in (n for n in noisy_instances.NOISES if n in made):
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
    assert any(loud[name].any() for name in noisy_instances.NOISES if name in loud)
    for name in loud:
        assert not still[name].any() if name in noisy_instances.NOISES else np.array_equal(loud[name], still[name])


def test_a_bowl_is_one_and_its_slope_is_what_it_says():
    """Two knots with opposite slopes around the centre; of a federated client curvature 1 in its unit."""
    made = drawn(SPACES["federated"].affine[0], 2)
    widths, heights = np.ptp(made["knots"], axis=-1), np.ptp(made["slopes"], axis=-1)
    curvature = heights / widths
    np.testing.assert_allclose(curvature[:, 0], curvature[:, 1])
    np.testing.assert_allclose(made["slopes"].sum(-1), 0, atol=1e-12)
    np.testing.assert_allclose(made["knots"].mean(-1).sum(1), 0, atol=1e-12 * np.abs(made["knots"]).max())
    assert np.abs(np.log10(curvature)).max() > 1  # the unit of the objective


def test_a_meta_bowl_has_hessian_one_as_far_as_fine_tuning_leads():
    """The farther client has slope 1 beside the mean at the start; nu steps of alpha stay within (1 + alpha)^nu - 1."""
    for space in SPACES["meta"].partial:
        made = drawn(space, 2)
        inside = made["knots"][:, 0, 2]
        assert (inside >= 10**0.2 * (1 + made["alpha"]) ** NU * (1 - 1e-12)).all()
        assert (made["curvatures"] == [0, 1, 1, 0]).all() and (made["knots"][:, 0] == -made["knots"][:, 0, ::-1]).all()
        np.testing.assert_allclose(np.ptp(made["tilt"], axis=1), 2)
        rounding = 1e-14 * np.abs(made["tilt"]).max(1) * (1 + made["alpha"]) ** (2 * NU)
        assert (np.abs(gradient("meta", made)) <= rounding).all()


def test_fine_tuned_bowls_have_noise_in_every_gradient():
    made = drawn(SPACES["meta"].affine[0], 3)
    assert (made["gradient_noise"][:, ::2] == 1).all() and (made["gradient_noise"][:, 1] <= 1).all()
    assert (np.abs(made["start"]) <= made["knots"][:, 0, 2] / 2).all()


@pytest.mark.parametrize("space", SPACES["meta"].silent, ids=lambda s: s.name[-30:])
def test_a_spline_has_its_kink_where_a_fine_tuning_step_leads(space):
    """The mean slope is 1 at the start 0, so that one step leads to -alpha, where the Hessian has four knots close together."""
    made = drawn(space, 2, 200)
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
    made = drawn(space, 2, 100)
    assert (made["curvatures"] >= 0).all() and not made["curvatures"][..., [0, -1]].any()
    family = family_of("meta", made)
    own = family.local_gradient(torch.zeros(100, 2, 1, dtype=torch.float64))[..., 0].numpy()
    np.testing.assert_allclose(own.sum(1), 0, atol=1e-9 * np.abs(made["tilt"]).max())
    assert (own[:, 0] > 0).all() and not made["start"].any() and made["alpha"].max() <= 1


def having(parameters: dict[str, Any]) -> Any:
    return SimpleNamespace(parameters=parameters, kind="shared_composite")


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
    only_mean = SimpleNamespace(parameters={}, kind="federated", is_convex=True, has_convex_clients=False)
    assert PROPERTIES["convex"].holds(only_mean) and not PROPERTIES["convex_clients"].holds(only_mean)


def test_a_stretched_bowl_has_the_same_slope_inside_and_kinks_a_hundred_times_as_far():
    parameters = {
        "knots": np.array([[[-1.0, 3.0]]]),
        "slopes": np.array([[[-2.0, 2.0]]]),
        "extra_knots": np.zeros((1, 1, 4)),
    }
    made = stretched(parameters)
    assert made["knots"].tolist() == [[[-199.0, 201.0]]] and made["slopes"].tolist() == [[[-200.0, 200.0]]]
    assert made["extra_knots"] is parameters["extra_knots"] and parameters["knots"].max() == 3
    meta = drawn(SPACES["meta"].partial[0], 2, 8)
    wide = stretched(meta)
    before, after = family_of("meta", meta), family_of("meta", wide)
    x = torch.linspace(-0.5, 0.5, 8, dtype=torch.float64).view(8, 1, 1).expand(-1, 2, 1)
    np.testing.assert_allclose(before.local_gradient(x), after.local_gradient(x), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(wide["knots"], 100 * meta["knots"])


def test_the_start_moves_from_the_first_knot_to_the_last():
    made = {"knots": np.array([[[-4.0, 0.0, 1.0]]] * 3), "start": np.zeros(3)}
    assert spaces.start_anywhere(made, np.array([-1.0, 0.0, 1.0]))["start"].tolist() == [-4.0, -1.5, 1.0]


def test_a_level_around_the_start_is_the_mean_slope_at_both_inner_knots():
    """Differences of 2 stay; the mean is -|l|, l, l, |l| with l = 2 shift, so that it rises to the level, or from it."""
    slopes = np.array([[[3.0, 3.0, 3.0, 3.0], [-1.0, -1.0, -1.0, -1.0]]] * 2)
    found = spaces.levelled({"slopes": slopes}, np.array([0.5, -1.0]))["slopes"]
    assert found.mean(1).tolist() == [[-1, 1, 1, 1], [-2, -2, -2, 2]]
    assert (found[:, 0] - found[:, 1] == 4).all()


def test_the_start_of_a_fine_tuned_loss_moves_by_half_of_the_difference_at_most():
    made = {"alpha": np.array([0.5]), "tilt": np.array([[1.0, -3.0]])}
    assert spaces.start_apart(made, np.array([1.0]))["start"].tolist() == [1.0]


def test_a_shared_curvature_is_between_a_thousandth_and_a_hundred_times_the_steepest_slope():
    space = CURVED["federated"].silent[0]
    made = drawn(space, 2, 400)
    steepest = np.abs(made["slopes"].mean(1)).max(-1) / np.ptp(made["knots"][:, 0], axis=-1)
    ratio = np.log10(made["curvature"] / steepest)
    assert -3 - 1e-9 <= ratio.min() < -2.9 and 1.9 < ratio.max() <= 2 + 1e-9


def test_an_initial_estimate_is_free_around_the_mean_inner_value_at_the_start():
    """Where the free part is nothing, the estimate is what the inner maps give at 0."""
    space = SPACES["shared_composite"].silent[0]
    points = random_points(space, 2, 200)
    points[:, -2] = 0.5  # the sign and size of the free part: 0 of [-1, 1]
    made = decoded(space, 2, points)
    np.testing.assert_allclose(made["estimate"], made["inner_offset"].mean(1), rtol=1e-12)
    assert np.abs(made["inner_offset"].mean(1)).min() > 0
