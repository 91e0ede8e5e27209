"""Every method of the papers and their baselines, batched over runs and clients, and the one loop that drives them.

The names are those of `names.py`, which is imported when the first of them is used: a list of the methods needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .baselines import *  # noqa: F403
    from .methods import *  # noqa: F403
    from .names import *  # noqa: F403
else:

    def __getattr__(name):
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(".names", __name__), name)

    def __dir__():
        return sorted(import_module(".names", __name__).__all__)
