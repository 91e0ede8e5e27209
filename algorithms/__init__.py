"""Every method of the papers and their baselines, batched over runs and clients, and the one loop that drives them."""

from .baselines.drfa import DRFA
from .baselines.fedprox import FedProx
from .baselines.gcivr import GCIVR
from .baselines.local_bsgd import LocalBSGD
from .baselines.local_moml import LocalMOML
from .baselines.local_scgd import LocalSCGD
from .baselines.local_sgd import LocalSGD
from .baselines.minibatch_sgd import MinibatchSGD
from .baselines.per_fedavg import PerFedAvg
from .baselines.q_fedavg import QFedAvg
from .baselines.scaffold import Scaffold
from .baselines.scgd import SCGD
from .engine import metrics, progress
from .engine.deviation import deviation
from .engine.draws import Draws
from .engine.driver import drive
from .engine.method import (
    Messages,
    Method,
    NotApplicable,
    Scalar,
    Start,
    State,
    average,
    broadcast,
    choice,
    client_mean,
    is_due,
)
from .engine.parallel import drive_in_processes
from .engine.result import Result
from .methods.acc_fcsg_m import AccFCSGM
from .methods.comfedl import ComFedL
from .methods.fcsg import FCSG
from .methods.fcsg_m import FCSGM
from .methods.fedavg import FedAvg
from .methods.feddro import FedDRO
from .methods.local_scgdm import LocalSCGDM
from .methods.meta_fl import MetaFL
from .methods.modified_fedavg import ModifiedFedAvg

_OF_THE_PAPERS = (FedAvg, ModifiedFedAvg, FedDRO, LocalSCGDM, ComFedL, FCSG, FCSGM, AccFCSGM, MetaFL)
_BASELINES = (
    LocalSGD,
    MinibatchSGD,
    LocalBSGD,
    SCGD,
    LocalSCGD,
    GCIVR,
    PerFedAvg,
    LocalMOML,
    DRFA,
    QFedAvg,
    Scaffold,
    FedProx,
)
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
    "FedProx",
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
    "Scaffold",
    "Scalar",
    "Start",
    "State",
    "average",
    "broadcast",
    "choice",
    "client_mean",
    "deviation",
    "drive",
    "drive_in_processes",
    "is_due",
    "metrics",
    "progress",
]
