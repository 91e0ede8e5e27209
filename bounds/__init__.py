"""Theory as symbols: theorems with printed, proved and corrected statements, and what follows from them."""

from .language.reading import InputError
from .language.theorem import Theorem
from .registry import PAPERS, all_theorems, get_theorem, get_theorems, paper_theorems

__all__ = ["PAPERS", "InputError", "Theorem", "all_theorems", "get_theorem", "get_theorems", "paper_theorems"]
