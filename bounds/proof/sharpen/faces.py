"""Directions in which a matrix has to be 0: guessed from a point with the most room, and left out, so that what stays can be rounded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from .optimise import Point
from .presolve import across, without
from .program import Gram, Program

FLAT = 1e-7
"""An eigenvalue that is smaller, beside the largest one, is taken for 0."""
LARGEST = 10**4
"""Denominator of the ratios in a direction."""
NEAR = 1e-4


def on_its_face(program: Program, at: Point) -> Program | None:
    """The program with fewer vectors, or None where every matrix has room."""
    grams = []
    for gram, square, sizes in zip(program.grams, at.grams, at.sizes, strict=True):
        lengths = np.diag(square) / np.maximum(sizes, 1e-300) ** 2
        gone = {i for i, length in enumerate(lengths) if length < FLAT * max([1e-3, *lengths])}
        kept = [i for i in range(len(square)) if i not in gone]
        grams.append(_narrowed(without(gram, gone), square[np.ix_(kept, kept)]))
    changed = any(len(new.vectors) < len(old.vectors) for new, old in zip(grams, program.grams, strict=True))
    return replace(program, grams=tuple(grams)) if changed else None


def _narrowed(gram: Gram, square: np.ndarray) -> Gram:
    """Without the directions in which the matrix is 0, where these have rational ratios."""
    if not len(square):
        return gram
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    values, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    flat = values < FLAT * max(values[-1], 1e-300)
    places = list(range(len(square)))
    for most, direction in _echelon((vectors[:, flat] / scale[:, None]).T, scale):
        ratios = [Fraction(float(r)).limit_denominator(LARGEST) for r in direction]
        if all(
            abs(float(r) - x) * scale[i] <= NEAR * scale[most]
            for i, (r, x) in enumerate(zip(ratios, direction, strict=True))
        ):
            gram = across(gram, places.index(most), [ratios[i] for i in places])
            places.remove(most)
    return gram


def _echelon(rows: np.ndarray, scale: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(place, direction) each; a direction is 1 at its place, and the others are 0 there."""
    rows = rows.copy()
    places: list[int] = []
    for i in range(len(rows)):
        sizes = np.abs(rows[i:] * scale)
        best, place = divmod(int(np.argmax(sizes)), sizes.shape[1])
        rows[[i, i + best]] = rows[[i + best, i]]
        rows[i] /= rows[i, place]
        for k in range(len(rows)):
            if k != i:
                rows[k] -= rows[k, place] * rows[i]
        places.append(place)
    return list(zip(places, rows, strict=True))
