"""What the tests of the command share."""

import pytest
from swaps import swapping


@pytest.fixture
def swap():
    """Replaces a function by its dotted name until the test ends, see `swaps.swapping`."""
    with swapping() as swap:
        yield swap
