r"""KL-regularised DRO over samples: the hardest rows of the breast cancer table count most. Kind: shared composite.

$ fedco estimate model_dro.py:build --theorem feddro.theorem_5_1 --out constants.toml
$ fedco tune feddro.theorem_5_1 --constants constants.toml --set I=2 --set b=8 --budget T=10000
$ fedco run feddro --problem model_dro.py:build --T 200 --set beta=0.5 --set I=2 --set b=8 --grid eta=0.01:1:3log --metric objective \
      --metric worst_class_accuracy --out run
$ fedco plot feddro.theorem_5_1 --over T --constants constants.toml --set I=2 --set b=8 --out bound.svg
"""

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from torch import nn


def build():
    table, labels = load_breast_cancer(return_X_y=True)
    rows, labels = torch.tensor(scale(table)), torch.tensor(labels).double().unsqueeze(1)
    torch.manual_seed(0)
    return {
        "model": nn.Linear(30, 1),
        "loss": "binary_cross_entropy_with_logits",
        "clients": [(rows[k::16], labels[k::16]) for k in range(4)],
        "form": "kl_dro",  # or chi2_dro
        "weight": 5.0,  # lambda: large is close to the mean loss
        "points": 6,
    }
