"""Every method of the papers, batched over runs and clients, and the one loop that drives them."""

from . import metrics, progress
from .acc_fcsg_m import AccFCSGM
from .base import Messages, Method, NotApplicable, Scalar, Start, State, choice, client_mean, is_due, share, spread
from .comfedl import ComFedL
from .draws import Draws
from .driver import drive
from .fcsg import FCSG
from .fcsg_m import FCSGM
from .fedavg import FedAvg
from .feddro import FedDRO
from .local_scgdm import LocalSCGDM
from .meta_fl import MetaFL
from .modified_fedavg import ModifiedFedAvg
from .parallel import drive_in_processes
from .result import Result

_ALL = (FedAvg, ModifiedFedAvg, FedDRO, LocalSCGDM, ComFedL, FCSG, FCSGM, AccFCSGM, MetaFL)
METHODS: dict[str, type[Method]] = {method.name: method for method in _ALL}

__all__ = [
    "FCSG",
    "FCSGM",
    "METHODS",
    "AccFCSGM",
    "ComFedL",
    "Draws",
    "FedAvg",
    "FedDRO",
    "LocalSCGDM",
    "Messages",
    "MetaFL",
    "Method",
    "ModifiedFedAvg",
    "NotApplicable",
    "Result",
    "Scalar",
    "Start",
    "State",
    "choice",
    "client_mean",
    "drive",
    "drive_in_processes",
    "is_due",
    "metrics",
    "progress",
    "share",
    "spread",
]
