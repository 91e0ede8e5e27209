r"""The surrogate of average precision (AUPRC): a positive row is the outer sample, any row an inner one. Kind: conditional.

$ fedco estimate model_ranking.py:build --theorem fcsg.theorem_4_1 --out constants.toml
$ fedco tune fcsg.theorem_4_1 --constants constants.toml --set q=2 --set b=4 --set m=8 --budget T=10000
$ fedco run fcsg --problem model_ranking.py:build --T 200 --set q=2 --set b=4 --set m=8 --grid alpha=0.01:1:3log --metric objective \
      --metric average_precision --out run
$ fedco plot fcsg.theorem_4_1 --over T --constants constants.toml --set q=2 --set b=4 --set m=8 --set B=4 --set alpha=1e-6 --out bound.svg
"""

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from torch import nn


def build():
    table, labels = load_breast_cancer(return_X_y=True)
    rows, malignant = torch.tensor(scale(table)), torch.tensor(1 - labels)
    positives, negatives = rows[malignant == 1], rows[malignant == 0]
    few = [torch.cat([positives[k:20:4], negatives[k:60:4]]) for k in range(4)]  # 5 and 15 at every client
    torch.manual_seed(0)
    return {
        "model": nn.Sequential(nn.Linear(30, 1), nn.Tanh()),  # scores within 1, so that no pair is beyond the margin
        "clients": [(one, torch.tensor([1] * 5 + [0] * 15)) for one in few],
        "form": "average_precision",
        "margin": 3.0,
        "points": 4,
    }
