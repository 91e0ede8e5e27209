"""What the papers' methods are compared with, one file for those that work alike."""

from .compositional import GCIVR, SCGD, LocalBSGD, LocalSCGD, MinibatchSGD
from .corrected import FedGLOMO, LocalSTORM, Scaffold
from .each_step import MARINA, CompressedSGD, DelayedSGD, ErrorFeedback
from .fair import DRFA, QFedAvg
from .fine_tuned import LocalMOML, PerFedAvg
from .gossip_sgd import GossipSGD
from .rounds import FedProx, LocalHeavyBall, LocalSGD
from .server import FedAdam, FedNova, TwoSidedSGD
from .two_variables import FedTTSA, LocalSGDA

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
