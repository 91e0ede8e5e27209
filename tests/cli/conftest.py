"""What the tests of the command share."""

import pytest
from fedco.bounds.language.result import Sheet
from in_process import swapping


@pytest.fixture
def swap():
    """Replaces a function by its dotted name until the test ends, see `swapping`."""
    with swapping() as swap:
        yield swap


class Found:
    """What any of the functions behind the commands may return."""

    admissible = feasible = verified = checked = True
    path = None

    def __init__(self, words="found in words", **more):
        self.words = words
        self.__dict__.update(more)

    def to_dict(self):
        return {"found": self.words}

    def sheet(self):
        return Sheet(self.words)

    def __str__(self):
        return self.words


@pytest.fixture
def found():
    """Makes what a replaced function gives: `found("words", checked=False)`."""
    return Found


@pytest.fixture
def replaced(swap):
    """Replaces a function by one that keeps its arguments and answers, with `answer()` where that is called; the calls of all that were
    replaced, in their order."""
    calls = []

    def replace(target, answer=None, **more):
        def kept(*given, **named):
            calls.append((given, named))
            return Found(**more) if answer is None else answer() if callable(answer) else answer

        swap(target, kept)
        return calls

    return replace
