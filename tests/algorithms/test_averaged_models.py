"""The weighted sum of the averaged models over a run: whatever the blocks of seeds, and when it is kept and read again."""

from __future__ import annotations

import fedco
import torch
from fedco.algorithms import LocalSGD, drive
from fedco.algorithms.engine.result import Result

SHARES = [0.0, 0.125, 0.25, 0.625, 0.0]


def run(**more):
    return drive(
        LocalSGD(eta=0.25, tau=2), fedco.problem("federated_noisy"), steps=4, seeds=3, **{"shares": SHARES, **more}
    )


def test_it_is_the_sum_of_the_models_times_their_shares(tmp_path):
    found = run()
    models = [fedco.problem("federated_noisy").initial_point.expand(3, -1)]
    models += [
        drive(LocalSGD(eta=0.25, tau=2), fedco.problem("federated_noisy"), steps=steps, seeds=3).models
        for steps in (1, 2, 3, 4)
    ]
    expected = sum(share * model for share, model in zip(SHARES, models, strict=True))
    torch.testing.assert_close(found.averaged, expected, rtol=1e-14, atol=0)
    assert torch.equal(run(seeds_at_once=1).averaged, found.averaged)
    found.save(tmp_path / "run")
    assert torch.equal(Result.load(tmp_path / "run").averaged, found.averaged)
    assert run(shares=None).averaged is None


def test_it_goes_on_from_a_checkpoint(tmp_path):
    kept = tmp_path / "checkpoint"
    whole = run(checkpoint=kept, checkpoint_every=1)
    again = run(checkpoint=kept, checkpoint_every=1)
    assert torch.equal(whole.averaged, again.averaged) and torch.equal(whole.averaged, run().averaged)
