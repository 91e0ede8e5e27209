"""Which quantities words are about: by what they mean, and not by their letters."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from .quantity import Quantity

_WORD = re.compile(r"[a-z0-9]+")
_SHORTEST = 3
"""Letters of a word that may match the beginning of another."""
TYPO = 0.8
"""How alike a mistyped word is to the one that was meant; words that are less alike mean something else."""
SAME = (
    ("variance", "noise", "deviation"),
    ("heterogeneity", "dissimilarity", "diversity"),
    ("distance", "radius", "diameter", "far", "away"),
    ("minimiser", "minimizer", "optimum", "solution", "minimum", "infimum"),
    ("start", "initial", "first"),
    ("learning", "step"),
    ("rate", "size"),
    ("gap", "suboptimality", "minus"),
    ("staleness", "delay", "asynchronous"),
    ("gossip", "mixing", "decentralised", "decentralized", "network", "graph"),
    ("quantisation", "quantization", "sparsification", "compressor", "compression"),
    ("workers", "nodes", "machines", "agents", "clients"),
    ("confidence", "probability"),
    ("epochs", "steps", "iterations", "horizon"),
    ("period", "interval"),
    ("declines", "decay", "decaying", "decreasing", "diminishing", "schedule"),
    ("minibatch", "batch"),
    ("condition", "curvature", "convexity", "smoothness"),
    ("smooth", "smoothness"),
    ("convex", "convexity"),
    ("bounded", "bound"),
)
"""Words that people have for one thing."""
_EXACT = 3
_MOST = 3
"""Quantities that are named where one is not known."""


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("_", " "))


def score(word: str, texts: Collection[str]) -> int:
    """3 for one of the words, 2 for one that begins so, 1 for one that people have for the same thing as one of them."""
    plain = word.lower()
    if plain in texts:
        return _EXACT
    if len(plain) >= _SHORTEST and any(text.startswith(plain) for text in texts):
        return 2
    return int(any(plain in group and not set(group).isdisjoint(texts) for group in SAME))


def meant_by(name: str, known: Mapping[str, Quantity]) -> str:
    """Which quantities an unknown name may mean, as the end of a message: the one that is spelled nearly so, unless its words have a
    meaning; else those that all of its words are about, those of plain objectives first; empty where there are none."""
    wanted = words_of(name)
    texts = {each: words_of(f"{each} {quantity.meaning}") for each, quantity in known.items()}
    scores = {each: [score(word, found) for word in wanted] for each, found in texts.items()}
    fits = [each for each, found in scores.items() if found and all(found)]
    has_meaning = any(min(scores[each]) == _EXACT for each in fits)
    if not has_meaning and (typo := get_close_matches(name, known, n=1, cutoff=TYPO)):
        return f"take {typo[0]}"
    fits.sort(key=lambda each: (-sum(scores[each]), not _is_plain(known[each])))
    return f"take one of near meaning: {', '.join(fits[:_MOST])}" if fits else ""


def _is_plain(quantity: Quantity) -> bool:
    return not quantity.bounds or all(form.function.startswith(("local", "objective")) for form in quantity.bounds)
