r"""Meta-learning: a model that is good after one step of fine-tuning at each client. Kind: meta.

$ fedco estimate model_meta.py:build --theorem meta_fl.theorem_8 --out constants.toml
$ fedco tune meta_fl.theorem_8 --constants constants.toml --set tau=2 --set r=1 --set D=8 --set D_H=8 --budget K=1000
$ fedco run meta_fl --problem model_meta.py:build --T 200 --set tau=2 --set D=8 --grid beta=0.01:1:3log --metric objective \
      --metric mean_client_accuracy --out run
$ fedco plot meta_fl.theorem_8 --over K --constants constants.toml --set tau=2 --set r=1 --set D=8 --set D_H=8 --set beta=1e-3 \
      --out bound.svg
"""

import torch
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from torch import nn


def build():
    table, labels = load_wine(return_X_y=True)
    rows, labels = torch.tensor(scale(table)), torch.tensor(labels)
    torch.manual_seed(0)
    return {
        "model": nn.Linear(13, 3),
        "loss": nn.functional.cross_entropy,
        "clients": list(zip(rows.split(45), labels.split(45), strict=True)),
        "form": "meta",
        "alpha": 0.1,  # the step of the fine-tuning, and how many there are
        "nu": 1,
        "points": 4,
    }
