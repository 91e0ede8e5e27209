"""The two locks of `fedco prove`: the rules of the kernel, and exact instances, which are tried in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...user_files import is_trusting
from ..language.reading import InputError
from ..language.result import AbstractResult, Sheet, Table
from ..language.theorem import Theorem
from ..registry import paper_of
from .derivations import prove as by_rules
from .kernel import Verdict

if TYPE_CHECKING:
    from ...figures import Plot

FORMAT = "fedco-instances/1"


@dataclass(frozen=True)
class Instances:
    """What the claims of a derivation came to on exact instances.

    Args:
        tried: claims compared, at one step of one run each.
        families: the kinds of instance, by name.
        not_covered: sentences on what no instance says anything of.
        failed: what does not hold, a line each: the step, the family, both values.
        variants: the variants of the method whose code has the update equations; those that it has not say so.
    """

    tried: int
    families: tuple[str, ...]
    not_covered: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    @property
    def hold(self) -> bool:
        """Whether all that was to be compared was compared, and holds."""
        return self.tried > 0 and not self.not_covered and not self.failed

    def to_dict(self) -> dict[str, Any]:
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Instances:
        """From what `to_dict` gives."""
        lists = {name: tuple(map(str, data[name])) for name in ("families", "not_covered", "failed", "variants")}
        return cls(int(data["tried"]), **lists)

    def __str__(self) -> str:
        rows = [f"method: {text}" for text in self.variants]
        rows += [f"not covered by an instance: {text}" for text in self.not_covered]
        rows += [f"FAILS ON AN INSTANCE: {text}" for text in self.failed]
        return "\n".join([*rows, f"instances: {self.tried} comparisons on {len(self.families)} families"])


@dataclass(frozen=True, repr=False)
class Proof(AbstractResult):
    """What both locks say of a statement; `instances` is None where only the rules were asked."""

    verdict: Verdict
    instances: Instances | None

    @property
    def checked(self) -> bool:
        """Whether the rules accept every step and nothing is taken as given, and every claim holds on the instances."""
        return self.verdict.checked and self.instances is not None and self.instances.hold

    def to_dict(self) -> dict[str, Any]:
        found = None if self.instances is None else self.instances.to_dict()
        return {**self.verdict.to_dict(), "checked": self.checked, "rules": self.verdict.accepted, "instances": found}

    def __str__(self) -> str:
        *rows, rules = str(self.verdict).splitlines()
        if self.instances is None:
            return "\n".join([*rows, f"rules only: {rules}; no instance was tried"])
        said = "checked" if self.checked else "NOT CHECKED"
        also = "every claim holds on the instances" if self.instances.hold else "the instances do not confirm it"
        return "\n".join([*rows, str(self.instances), f"{said}: by the rules: {rules}; {also}"])

    def sheet(self) -> Sheet:
        """The steps; `fedco prove --markdown` writes the proof as a referee reads it."""
        steps = tuple((line.name, line.claim, line.rule, ", ".join(line.uses)) for line in self.verdict.lines)
        title = f"{self.verdict.theorem} ({self.verdict.statement}): {str(self).splitlines()[-1]}"
        return Sheet(title, None, (Table("steps", ("step", "claim", "rule", "from"), steps),))

    def plot(self) -> Plot:
        """How many steps each rule makes."""
        from ...figures import Axis, bar_plot

        count = Counter(line.rule for line in self.verdict.lines)
        title = f"{self.verdict.theorem} ({self.verdict.statement}): steps of the proof"
        return bar_plot(
            {"steps": {name: float(n) for name, n in count.most_common()}}, title=title, axis=Axis("steps", "1")
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def prove(
    theorem: Theorem, label: str = "", *, rules_only: bool = False, given: str = "", note: Callable[[str], None] = _say
) -> Proof:
    """What both locks say of the derivation of a statement.

    Args:
        rules_only: leave the instances out; the proof is then not `checked`.
        given: how the theorem is named to another process: its id (the default), or a file.
        note: takes a line on what is going on; it goes to stderr without one.

    Raises:
        InputError: the statement has no derivation.
        LockError: the process that tries the instances failed, or does not know this theorem.
    """
    verdict = by_rules(theorem, label)
    if rules_only:
        return Proof(verdict, None)
    if not given and paper_of(theorem) is None:
        raise LockError(
            f"{theorem.id}: instances are tried in another process, which knows theorems of papers and files only; "
            "wanted `fedco prove FILE`, or rules_only=True"
        )
    note(
        f"{theorem.id}: {len(verdict.lines)} lines by the rules; trying instances, which takes seconds, at most minutes"
    )
    return Proof(verdict, tried(given or theorem.id, label or theorem.default))


class LockError(InputError):
    """The second lock gave no answer."""


def tried(name: str, label: str) -> Instances:
    """The answer of the process that tries the instances: `python -m fedco.validation.proofs NAME LABEL`.

    Raises:
        LockError: it failed, with the last line that it wrote.
    """
    package = __name__.partition(".")[0]
    command = [
        sys.executable,
        "-m",
        f"{package}.validation.proofs",
        name,
        label,
        *(["--trust"] if is_trusting() else []),
    ]
    path = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    try:
        data = json.loads(done.stdout)
        if done.returncode == 0 and data.pop("format") == FORMAT:
            return Instances.of(data)
    except (ValueError, KeyError, TypeError):
        pass
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    raise LockError(f"{name}: the instances were not tried: {last}")
