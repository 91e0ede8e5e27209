"""Whether two printed answers say the same."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_NUMBER = re.compile(r"-?(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+| \\cdot 10\^\{-?\d+\})?")
_POWER = re.compile(r" \\cdot 10\^\{(-?\d+)\}")
_PADDING = re.compile(r"\s+|-{3,}")


def agree(now: Sequence[str], kept: Sequence[str], relative: float) -> bool:
    """Word for word, numbers within a relative tolerance, and whatever the columns of a table were padded to."""
    texts = ["\n".join(_PADDING.sub(" ", text) for text in each) for each in (now, kept)]
    if _NUMBER.sub("#", texts[0]) != _NUMBER.sub("#", texts[1]):
        return False
    pairs = zip(*([float(_POWER.sub(r"e\1", found)) for found in _NUMBER.findall(text)] for text in texts), strict=True)
    return all(math.isclose(a, b, rel_tol=relative) for a, b in pairs)
