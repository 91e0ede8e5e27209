"""Federated learning: cross-entropy of a small network on the wine table, sorted over three clients. Kind: federated.

$ fedco estimate model_federated.py:build --theorem baselines.local_sgd --out constants.toml
$ fedco tune baselines.local_sgd --constants constants.toml --set p=4 --set b=8 --budget T=10000
$ fedco run local_sgd --problem model_federated.py:build --T 200 --set tau=4 --set b=8 --grid eta=0.01:1:3log --metric accuracy --out run
$ fedco plot baselines.local_sgd --over T --constants constants.toml --set p=4 --set b=8 --set eta=1e-4 --out bound.svg
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
        "model": nn.Sequential(nn.Linear(13, 4), nn.Tanh(), nn.Linear(4, 3)),
        "loss": nn.CrossEntropyLoss,
        "clients": [(rows[k::6], labels[k::6]) for k in range(3)],
        "test": [(rows[k::6], labels[k::6]) for k in range(3, 6)],
        "points": 10,  # of the search for constants: quick, and it promises little
    }
