"""Proofs that sharpen themselves: the multipliers of a derivation chosen anew at numbers by a semidefinite program.

ground       what a derivation has established at numbers; program: the unknown multipliers and the equations between them
presolve     exact elimination; optimise: floating point; faces: what has to be 0; rounding: back to fractions
steps        ordinary steps of a derivation, for the kernel; sharpening: all of it; certificate, codec: the file
tuning       hyperparameters chosen under the sharpened bound

Nothing here need be trusted: what is reported is what the kernel accepted.
"""

from .certificate import Checked, recheck, save, to_data
from .sharpening import Sharpened, sharpen
from .tuning import Chosen, sharpen_tuned

__all__ = ["Checked", "Chosen", "Sharpened", "recheck", "save", "sharpen", "sharpen_tuned", "to_data"]
