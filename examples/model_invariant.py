r"""Invariant learning: a digit is one outer sample, its five shifted copies are the inner ones. Kind: conditional.

$ fedco estimate model_invariant.py:build --theorem fcsg.theorem_4_1 --out constants.toml
$ fedco tune fcsg.theorem_4_1 --constants constants.toml --set q=2 --set b=4 --set m=3 --budget T=10000
$ fedco run fcsg --problem model_invariant.py:build --T 200 --set q=2 --set b=4 --set m=3 --grid alpha=0.01:1:3log --metric objective \
      --metric accuracy --out run
$ fedco plot fcsg.theorem_4_1 --over T --constants constants.toml --set q=2 --set b=4 --set m=3 --set B=4 --set alpha=1e-3 --out bound.svg
"""

import torch
from sklearn.datasets import load_digits
from torch import nn

SHIFTS = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]


def build():
    digits = load_digits(n_class=3)
    images = torch.tensor(digits.images) / 16
    views = torch.stack([images.roll(shift, (1, 2)) for shift in SHIFTS], dim=1).flatten(2)  # (images, views, pixels)
    labels = torch.tensor(digits.target)
    torch.manual_seed(0)
    return {
        "model": nn.Linear(64, 3),
        "loss": nn.functional.cross_entropy,
        "clients": [(views[k:120:4], labels[k:120:4]) for k in range(4)],
        "form": "invariant",
        "points": 4,
    }
