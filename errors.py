"""The error that every package raises for what a user typed."""


class InputError(ValueError):
    """Bad input from a user, in one line: names the thing, the wanted range and the value got."""


class UndefinedError(InputError):
    """A formula has no finite value at the values given: one of its denominators is 0."""
