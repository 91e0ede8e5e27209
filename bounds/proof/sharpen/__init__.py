"""Proofs that sharpen themselves: the multipliers of a derivation chosen anew at numbers by a semidefinite program.

program      what a derivation has established at numbers, the unknown multipliers and the equations between them
exact        elimination before it is solved, and back to fractions; optimise: floating point, and what has to be 0
sharpening   all of it, to ordinary steps for the kernel, also with hyperparameters chosen; certificate: the file

Nothing here need be trusted: what is reported is what the kernel accepted.
"""

from .certificate import Checked, recheck, save, to_data
from .sharpening import Chosen, Sharpened, sharpen, sharpen_tuned

__all__ = ["Checked", "Chosen", "Sharpened", "recheck", "save", "sharpen", "sharpen_tuned", "to_data"]
