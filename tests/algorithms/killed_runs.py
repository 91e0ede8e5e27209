"""Run by test_driver: forks runs that save at every step, kills them, and lets the next one go on from the file.

Forking is cheap enough for a hundred kills; it is safe because torch is kept to one thread.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from fedco.algorithms import FedDRO, drive
from fedco.algorithms.engine import metrics
from tiny import TinyData, TinyShared

torch.set_num_threads(1)
folder, kills = Path(sys.argv[1]), int(sys.argv[2])
method, problem = FedDRO(eta=0.05, beta=0.3, I=3), TinyShared(TinyData.random(1, 3))
options = dict(seeds=5, record={"gradient": metrics.gradient_norm_squared}, checkpoint_every=1)
random.seed(1)
done, steps, longest = 0, 0, 0.05
while done < kills:
    steps += 30
    reached_end = False
    while not reached_end and done < kills:
        child = os.fork()
        if child == 0:
            drive(method, problem, steps=steps, checkpoint=folder / "run.npz", **options)
            os._exit(0)
        time.sleep(random.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if not (folder / "run.npz").exists():
            longest *= 1.5  # a busy machine: give a run the time to save at all
        reached_end = os.WIFEXITED(status)
        done += not reached_end
assert (folder / "run.npz").exists(), "no run got as far as its first checkpoint"
resumed = drive(method, problem, steps=steps, checkpoint=folder / "run.npz", **options)
whole = drive(method, problem, steps=steps, **{**options, "checkpoint_every": None})
same = torch.equal(whole.state.x, resumed.state.x) and torch.equal(whole.sums["gradient"], resumed.sums["gradient"])
assert same and torch.equal(whole.values["gradient"], resumed.values["gradient"])
print(f"{kills} kills, same bits after {steps} steps")
