"""A run on a GPU is the run on the CPU, up to the last bits: the same random numbers, problems, methods, metrics and verdicts.

`make gpu` runs these tests where there is a CUDA device; elsewhere they are skipped.
"""

from functools import cache

import pytest
import torch
from cases import CASES
from fedco.algorithms import Draws, NotApplicable, drive, metrics
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.synthetic.catalogue import PRESETS
from fedco.validation.runs.validate import validate

DEVICE = "cuda"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

STEPS, SEEDS, ROOT_SEED = 12, 5, 3
CLOSE = {
    "rtol": 1e-9,
    "atol": 1e-11,
}  # steps of 0.05 to 0.3 enlarge a difference in the last bit by little within 12 steps
RECORD = {
    "gradient": metrics.gradient_norm_squared,
    "F": metrics.objective,
    "drift": metrics.consensus_error,
}


@cache
def made(name, device="cpu"):
    return problem(name) if device == "cpu" else problem(name, device=device)


def runs_on(case, name):
    """Whether the method with its numbers admits the problem."""
    if made(name).kind != case.problem_kind:
        return False
    try:
        drive(case.method(**case.example), made(name), steps=1, seeds=1, root_seed=0)
    except (NotApplicable, InputError):
        return False
    return True


def pairs():
    """Every case once and every preset once: (case, preset)."""
    chosen = {}
    for key, case in CASES.items():
        fitting = [name for name in PRESETS if runs_on(case, name)]
        chosen[key, fitting[len(chosen) % len(fitting)]] = None
    for name in PRESETS.keys() - {name for _, name in chosen}:
        chosen[next(key for key, case in CASES.items() if runs_on(case, name)), name] = None
    return list(chosen)


def driven(key, name, device, **options):
    """The result, and the models after every step, both on the CPU."""
    models = []

    def keep(problem, state, t):
        models.append(state.x.cpu().clone())
        return state.x[:, 0, 0]

    case = CASES[key]
    method = case.method(**case.example)
    result = drive(
        method,
        made(name, device),
        steps=STEPS,
        seeds=SEEDS,
        root_seed=ROOT_SEED,
        record={**RECORD, "models": keep},
        **options,
    )
    return result, torch.stack(models)


def test_every_method_on_every_problem():
    """In one test: which pairs there are takes problems to find out, which a machine without a GPU need not make."""
    checked = pairs()
    assert {key for key, _ in checked} == CASES.keys() and {name for _, name in checked} == PRESETS.keys()
    wrong = []
    for key, name in checked:
        (there, theirs), (here, ours) = driven(key, name, DEVICE), driven(key, name, "cpu")
        assert there.state.x.device.type == torch.device(DEVICE).type
        assert (ours[-1] - ours[0]).abs().max() > 1e-3, f"{key} does not move on {name}"
        found = {"models": (theirs, ours)} | {
            metric: (there.values[metric].cpu(), here.values[metric]) for metric in RECORD
        }
        wrong += [
            f"{key} on {name}: {what} differs by {float((a - b).abs().max()):.2g}"
            for what, (a, b) in found.items()
            if not torch.allclose(a, b, **CLOSE, equal_nan=True)
        ]
    assert not wrong, "\n".join(wrong)


def test_random_numbers_are_the_same():
    """Words, integers, choices and signs to the bit; normal numbers up to the last bits of a logarithm."""
    there, here = (Draws(7, [0, 4, 9], 3, 2, device).at(700) for device in (DEVICE, "cpu"))
    for draw in (
        lambda draws: draws.words("p", 5),
        lambda draws: draws.integers("p", 1000, 4, 2),
        lambda draws: draws.signs("p", 70),
        lambda draws: draws.counts("p", 6, 90),
        lambda draws: draws.subset("p", 2),
        lambda draws: draws.uniform("p", 3),
    ):
        assert draw(there).device.type == torch.device(DEVICE).type and torch.equal(draw(there).cpu(), draw(here))
    assert torch.allclose(there.normal("p", 1000).cpu(), here.normal("p", 1000), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("key", ["feddro", "local_scgdm", "scaffold", "meta_fl exact"])
def test_a_run_can_be_repeated_and_split(key, tmp_path):
    """On one device: to the bit when it is repeated or goes on from a checkpoint, and closely when seeds step in other blocks."""
    name = next(name for name in PRESETS if runs_on(CASES[key], name))
    result, models = driven(key, name, DEVICE)
    assert torch.equal(driven(key, name, DEVICE)[1], models)
    method = CASES[key].method(**CASES[key].example)
    whole = dict(seeds=SEEDS, root_seed=ROOT_SEED, record=RECORD, checkpoint=tmp_path / "run.npz")
    drive(method, made(name, DEVICE), steps=7, **whole)
    went_on = drive(method, made(name, DEVICE), steps=STEPS, **whole)
    assert torch.equal(went_on.state.x, result.state.x)
    assert all(torch.equal(went_on.values[metric], result.values[metric]) for metric in RECORD)
    del whole["checkpoint"]
    in_blocks = drive(method, made(name, DEVICE), steps=STEPS, seeds_at_once=2, **whole)
    assert torch.allclose(in_blocks.state.x, result.state.x, **CLOSE)


def test_a_run_that_cannot_fit_is_refused():
    seeds = torch.cuda.mem_get_info()[1]  # each takes more than a byte
    method = CASES["feddro"].method(**CASES["feddro"].example)
    with pytest.raises(InputError, match="seeds: wanted a run that fits"):
        drive(method, made("feddro_noisy", DEVICE), steps=1, seeds=range(seeds), root_seed=0)


@pytest.mark.parametrize(
    ("theorem", "name"),
    [
        ("feddro.theorem_5_1", "feddro_homogeneous"),
        ("local_scgdm.theorem_3_4", "local_noisy"),
        ("fcsg.theorem_4_1", "conditional_noisy"),
    ],
)
def test_verdicts_are_the_same(theorem, name):
    there, here = (
        validate(theorem, problems=[name], seeds=8, device=device, jobs=1).results for device in (DEVICE, "cpu")
    )
    assert len(there) == len(here) > 0
    for one, other in zip(there, here, strict=True):
        assert one.verdict.outcome == other.verdict.outcome
        assert one.statistic == pytest.approx(other.statistic, rel=1e-6)  # of thousands of steps
