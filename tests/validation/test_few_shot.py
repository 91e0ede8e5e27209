"""Few-shot tasks on random images: which characters and images a task has, and what is measured, against plain autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from fedco.algorithms import Draws
from fedco.errors import InputError
from fedco.validation.experiments.tasks import FewShotTasks, few_shot
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

OWNED = (torch.tensor([0, 1, 2]), torch.tensor([3, 4, 5, 6, 8]))
HELD = torch.tensor([7, 9, 10, 11])


def tasks(instances: int = 4, **more: Any) -> FewShotTasks:
    """Two clients with three and five characters; the first pixel is the number of the character."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(12, instances, 6, generator=generator, dtype=torch.float64)
    pixels[..., 0] = torch.arange(12.0).unsqueeze(1)
    torch.manual_seed(0)
    options = {
        "pixels": pixels,
        "owned": OWNED,
        "held": HELD,
        "ways": 3,
        "lam": 0.05,
        "drawn": 2,
        "tune_steps": 2,
        "measured": 4,
    }
    return few_shot(nn.Linear(6, 3).double(), **{**options, **more})


def test_a_task_has_different_characters_of_its_own_client() -> None:
    problem = tasks()
    assert problem.clients == 2 and problem.dim == 21 and problem.certificates == {}
    table, own = problem.table
    assert table.tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 6, 8]] and own.tolist() == [
        [True] * 3 + [False] * 2,
        [True] * 5,
    ]
    found = problem.sample_outer(Draws(0, 3, 2).at(0), 20)
    assert found.outcome.shape == (3, 2, 20, 3) and found.order.shape == (3, 2, 20, 3, 4)
    assert all(sorted(row) == [0, 1, 2] for row in found.outcome[:, 0].flatten(0, 1).tolist())
    others = found.outcome[:, 1].flatten(0, 1).tolist()
    assert all(len(set(row)) == 3 for row in others) and {x for row in others for x in row} == {3, 4, 5, 6, 8}
    assert torch.equal(problem.sample_inner(Draws(0, 3, 2).at(0), found, 1).eta, found.order[..., :1])
    with pytest.raises(ValueError, match="wanted 1, the shots of a task, got 2"):
        problem.sample_inner(Draws(0, 3, 2).at(0), found, 2)


def test_a_task_is_judged_on_at_most_fifteen_other_images() -> None:
    assert [tasks(instances=n, shots=2).instances_drawn for n in (3, 17, 18)] == [3, 17, 17]
    outer = tasks(shots=2).sample_outer(Draws(0, 1, 2).at(0), 1)
    (tuning, labels), (judged, answers) = tasks(shots=2).support_and_query(outer)
    assert tuning.shape == judged.shape == (1, 2, 1, 6, 6) and labels[0, 0, 0].tolist() == answers[
        0, 0, 0
    ].tolist() == [0, 0, 1, 1, 2, 2]
    assert tuning[0, 0, 0, :, 0].tolist() == [x for x in outer.outcome[0, 0, 0].tolist() for _ in range(2)]
    rows = {tuple(row) for row in torch.cat([tuning[0, 0, 0], judged[0, 0, 0]]).tolist()}
    assert len(rows) == 12  # no image twice


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"ways": 4}, "tasks of 4 characters: a client, or the held-out part, has only 3"),
        ({"held": HELD[:2]}, "has only 2"),
        ({"shots": 4}, "tasks with 4 shots: wanted more images of a character than 4"),
    ],
)
def test_tasks_that_cannot_be_are_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        tasks(**more)
    assert tasks(shots=3).shots == 3


def outputs(x: Tensor, inputs: Tensor) -> Tensor:
    return inputs @ x[:18].view(3, 6).T + x[18:]


def tuned(x: Tensor, inputs: Tensor, labels: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        (slope,) = torch.autograd.grad(cross_entropy(outputs(x, inputs), labels), x, create_graph=True)
        x = x - 0.05 * slope
    return x


def test_what_is_measured_is_that_of_fixed_tasks_after_fine_tuning() -> None:
    problem = tasks()
    points = torch.stack([problem.initial_point, 2 * problem.initial_point]).requires_grad_()
    for split in ("train", "test"):
        fixed = problem.fixed[split]
        inputs, labels, judged, answers = fixed
        assert inputs.shape == (4, 3, 6) and judged.shape == (4, 9, 6)
        for k, task in enumerate(inputs[..., 0].tolist()):
            assert set(task) <= set((OWNED[k % 2] if split == "train" else HELD).tolist()) and len(set(task)) == 3
        losses = [
            torch.stack(
                [cross_entropy(outputs(tuned(x, inputs[k], labels[k], 1), judged[k]), answers[k]) for k in range(4)]
            ).mean()
            for x in points
        ]
        torch.testing.assert_close(problem.data_loss(points.detach(), split), torch.stack(losses).detach())
        found = problem.predict(points.detach(), split)
        assert found.scores.shape == (2, 4, 9, 3) and torch.equal(found.labels, answers)
        for run, k in ((0, 0), (1, 3)):
            wanted = outputs(tuned(points[run], inputs[k], labels[k], 2), judged[k]).detach()
            torch.testing.assert_close(found.scores[run, k], wanted)
        if split == "train":
            (slope,) = torch.autograd.grad(torch.stack(losses).sum(), points)
            torch.testing.assert_close(problem.gradient(points.detach()), slope)
            torch.testing.assert_close(problem.objective(points.detach()), torch.stack(losses).detach())
