"""Problems made of a torch model, a loss and per-client data: `from_model`. Their constants are estimated, never certified."""

from .base import AbstractModelProblem
from .build import FORMS, form_of, forms_of, from_description, from_model
from .data import ClientData
from .flat import FlatModel

__all__ = [
    "FORMS",
    "AbstractModelProblem",
    "ClientData",
    "FlatModel",
    "form_of",
    "forms_of",
    "from_description",
    "from_model",
]
