"""Theory as symbols: theorems with printed, composed and corrected statements, and what follows from them."""

from .language.paper import Paper
from .language.reading import InputError
from .language.theorem import Theorem
from .registry import all_theorems, get_paper, get_theorem, get_theorems, paper_keys, paper_theorems, papers

__all__ = [
    "InputError",
    "Paper",
    "Theorem",
    "all_theorems",
    "get_paper",
    "get_theorem",
    "get_theorems",
    "paper_keys",
    "paper_theorems",
    "papers",
]
