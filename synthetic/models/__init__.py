"""Problems made of a torch model, a loss and per-client data: `from_model`. Their constants are estimated, never certified."""

from .build import FORMS, from_model
from .data import ClientData
from .flat import FlatModel

__all__ = ["FORMS", "ClientData", "FlatModel", "from_model"]
