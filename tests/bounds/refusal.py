"""What a user gave and cannot be used: the error is one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fedco.errors import InputError


@contextmanager
def is_refused(said: str | None = None) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """An `InputError` of one line, in which this regular expression is found, if there is one."""
    with pytest.raises(InputError, match=said) as caught:
        yield caught
    assert "\n" not in str(caught.value)
