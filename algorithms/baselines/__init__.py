"""What the papers' methods are compared with, one per file."""

from .compressed_sgd import CompressedSGD
from .delayed_sgd import DelayedSGD
from .drfa import DRFA
from .error_feedback import ErrorFeedback
from .fed_ttsa import FedTTSA
from .fedadam import FedAdam
from .fedglomo import FedGLOMO
from .fednova import FedNova
from .fedprox import FedProx
from .gcivr import GCIVR
from .gossip_sgd import GossipSGD
from .local_bsgd import LocalBSGD
from .local_heavy_ball import LocalHeavyBall
from .local_moml import LocalMOML
from .local_scgd import LocalSCGD
from .local_sgd import LocalSGD
from .local_sgda import LocalSGDA
from .local_storm import LocalSTORM
from .marina import MARINA
from .minibatch_sgd import MinibatchSGD
from .per_fedavg import PerFedAvg
from .q_fedavg import QFedAvg
from .scaffold import Scaffold
from .scgd import SCGD
from .two_sided_sgd import TwoSidedSGD

__all__ = [
    "DRFA",
    "GCIVR",
    "MARINA",
    "SCGD",
    "CompressedSGD",
    "DelayedSGD",
    "ErrorFeedback",
    "FedAdam",
    "FedGLOMO",
    "FedNova",
    "FedProx",
    "FedTTSA",
    "GossipSGD",
    "LocalBSGD",
    "LocalHeavyBall",
    "LocalMOML",
    "LocalSCGD",
    "LocalSGD",
    "LocalSGDA",
    "LocalSTORM",
    "MinibatchSGD",
    "PerFedAvg",
    "QFedAvg",
    "Scaffold",
    "TwoSidedSGD",
]
