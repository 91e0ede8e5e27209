"""Every method of the papers and their baselines, batched over runs and clients, and the one loop that drives them."""

from . import metrics, progress
from .acc_fcsg_m import AccFCSGM
from .base import Messages, Method, NotApplicable, Scalar, Start, State, choice, client_mean, is_due, share, spread
from .comfedl import ComFedL
from .draws import Draws
from .drfa import DRFA
from .driver import drive
from .fcsg import FCSG
from .fcsg_m import FCSGM
from .fedavg import FedAvg
from .feddro import FedDRO
from .gcivr import GCIVR
from .local_bsgd import LocalBSGD
from .local_moml import LocalMOML
from .local_scgd import LocalSCGD
from .local_scgdm import LocalSCGDM
from .local_sgd import LocalSGD
from .meta_fl import MetaFL
from .minibatch_sgd import MinibatchSGD
from .modified_fedavg import ModifiedFedAvg
from .parallel import drive_in_processes
from .per_fedavg import PerFedAvg
from .q_fedavg import QFedAvg
from .result import Result
from .rounding import deviation
from .scgd import SCGD

_OF_THE_PAPERS = (FedAvg, ModifiedFedAvg, FedDRO, LocalSCGDM, ComFedL, FCSG, FCSGM, AccFCSGM, MetaFL)
_BASELINES = (LocalSGD, MinibatchSGD, LocalBSGD, SCGD, LocalSCGD, GCIVR, PerFedAvg, LocalMOML, DRFA, QFedAvg)
METHODS: dict[str, type[Method]] = {method.name: method for method in (*_OF_THE_PAPERS, *_BASELINES)}

__all__ = [
    "DRFA",
    "FCSG",
    "FCSGM",
    "GCIVR",
    "METHODS",
    "SCGD",
    "AccFCSGM",
    "ComFedL",
    "Draws",
    "FedAvg",
    "FedDRO",
    "LocalBSGD",
    "LocalMOML",
    "LocalSCGD",
    "LocalSCGDM",
    "LocalSGD",
    "Messages",
    "MetaFL",
    "Method",
    "MinibatchSGD",
    "ModifiedFedAvg",
    "NotApplicable",
    "PerFedAvg",
    "QFedAvg",
    "Result",
    "Scalar",
    "Start",
    "State",
    "choice",
    "client_mean",
    "deviation",
    "drive",
    "drive_in_processes",
    "is_due",
    "metrics",
    "progress",
    "share",
    "spread",
]
