"""What the papers' methods are compared with, one per file."""

from .drfa import DRFA
from .fedprox import FedProx
from .gcivr import GCIVR
from .local_bsgd import LocalBSGD
from .local_moml import LocalMOML
from .local_scgd import LocalSCGD
from .local_sgd import LocalSGD
from .minibatch_sgd import MinibatchSGD
from .per_fedavg import PerFedAvg
from .q_fedavg import QFedAvg
from .scaffold import Scaffold
from .scgd import SCGD

__all__ = [
    "DRFA",
    "GCIVR",
    "SCGD",
    "FedProx",
    "LocalBSGD",
    "LocalMOML",
    "LocalSCGD",
    "LocalSGD",
    "MinibatchSGD",
    "PerFedAvg",
    "QFedAvg",
    "Scaffold",
]
