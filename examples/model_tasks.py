r"""Few-shot learning: a task is to tell two digits apart; some of its images tune the model, the others judge it. Kind: conditional.

$ fedco estimate model_tasks.py:build --theorem fcsg.theorem_4_1 --out constants.toml
$ fedco tune fcsg.theorem_4_1 --constants constants.toml --set q=2 --set b=2 --set m=3 --budget T=10000
$ fedco run fcsg --problem model_tasks.py:build --T 200 --set q=2 --set b=2 --set m=3 --grid alpha=0.001:1:3log --metric objective \
      --metric accuracy --out run
$ fedco plot fcsg.theorem_4_1 --over T --constants constants.toml --set q=2 --set b=2 --set m=3 --set B=2 --set alpha=1e-4 --out bound.svg
"""

from itertools import combinations

import torch
from sklearn.datasets import load_digits
from torch import nn

EXAMPLES = 5  # of each of the two digits: the first half of all tunes the model


def build():
    images, labels = load_digits(n_class=5, return_X_y=True)
    images, labels = torch.tensor(images / 16), torch.tensor(labels)
    tasks = []
    for pair in combinations(range(5), 2):
        chosen = [images[labels == digit][:EXAMPLES] for digit in pair]
        tasks.append(torch.stack(chosen, dim=1).flatten(0, 1))  # the two digits alternate
    inputs = torch.stack(tasks)  # (tasks, examples, pixels)
    targets = torch.arange(2).repeat(len(tasks), EXAMPLES)
    torch.manual_seed(0)
    return {
        "model": nn.Linear(64, 2),
        "loss": nn.functional.cross_entropy,
        "clients": list(zip(inputs.split(5), targets.split(5), strict=True)),  # two clients with five tasks each
        "form": "maml_tasks",
        "lam": 0.1,
        "points": 4,
    }
