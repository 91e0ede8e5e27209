"""The methods of the papers, one per file."""

from .acc_fcsg_m import AccFCSGM
from .comfedl import ComFedL
from .fcsg import FCSG
from .fcsg_m import FCSGM
from .fedavg import FedAvg
from .feddro import FedDRO
from .local_scgdm import LocalSCGDM
from .meta_fl import MetaFL
from .modified_fedavg import ModifiedFedAvg

__all__ = [
    "FCSG",
    "FCSGM",
    "AccFCSGM",
    "ComFedL",
    "FedAvg",
    "FedDRO",
    "LocalSCGDM",
    "MetaFL",
    "ModifiedFedAvg",
]
