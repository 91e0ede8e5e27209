"""Lets the tests of this folder import their own helpers: with importlib imports pytest does not do so."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def swap():
    """Replaces a function by its dotted name until the test ends, see `swaps.swapping`."""
    from swaps import swapping

    with swapping() as swap:
        yield swap
