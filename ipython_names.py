"""Names of theorems, problems and methods that IPython completes inside the calls of fedco."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_CALL = re.compile(
    r"""\b(theorem|problem|practice|compare|audit|validate|falsify|run)\(\s*(?:[^()]*,\s*)?(?:\w+\s*=\s*)?(["'])([\w.]*)$"""
)
"""A call that wants a name, up to the cursor inside its string."""


def names_for(text: str) -> tuple[str, list[str]]:
    """What is typed of a name inside a call of fedco, and the names that begin so; nothing in any other place.

    Example:
        >>> names_for('fedco.theorem("feddro.theorem_4')
        ('feddro.theorem_4', ['feddro.theorem_4_1', 'feddro.theorem_4_2'])
    """
    found = _CALL.search(text)
    if found is None:
        return "", []
    verb, _, typed = found.groups()
    return typed, [name for name in _offered(verb) if name.startswith(typed)]


def _offered(verb: str) -> Iterable[str]:
    from .algorithms.declared import declared
    from .bounds.registry import all_theorems
    from .synthetic import problems

    if verb == "problem":
        return problems()
    if verb == "run":
        return (*declared(), *problems())
    if verb in ("practice", "validate"):
        return (*all_theorems(), *problems())
    return all_theorems()


def load_ipython_extension(shell: Any) -> None:
    """Complete the names of theorems, problems and methods inside the calls of fedco; `import fedco` does it in a running IPython."""
    from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator]
    def fedco_names(context: CompletionContext) -> SimpleMatcherResult:
        typed, names = names_for(context.text_until_cursor)
        found = [SimpleCompletion(text=name, type="fedco name") for name in names]
        return {"completions": found, "matched_fragment": typed, "suppress": bool(found), "ordered": True}

    matchers = shell.Completer.custom_matchers
    if not any(getattr(known, "__name__", "") == fedco_names.__name__ for known in matchers):
        matchers.append(fedco_names)
