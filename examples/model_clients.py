r"""KL-regularised DRO over clients: the client with the largest loss counts most. Kind: local composite.

$ fedco estimate model_clients.py:build --theorem comfedl.theorem_1 --out constants.toml
$ fedco tune comfedl.theorem_1 --constants constants.toml --set tau=2 --set b=8 --budget T=10000
$ fedco run comfedl --problem model_clients.py:build --T 200 --set tau=2 --set b=8 --set problem_form=special --grid eta=0.01:1:3log \
      --metric objective --metric worst_client_accuracy --out run
$ fedco plot comfedl.theorem_1 --over T --constants constants.toml --set tau=2 --set b=8 --set eta=1e-6 --out bound.svg
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
        "loss": "cross_entropy",
        "clients": list(zip(rows.split(45), labels.split(45), strict=True)),  # sorted by class: clients differ
        "form": "kl_clients",
        "gamma": 5.0,
        "points": 10,
    }
