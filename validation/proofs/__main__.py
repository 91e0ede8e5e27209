"""`python -m fedco.validation.proofs NAME LABEL [--trust]` tries the instances of a derivation and prints what they came to, as JSON."""

from __future__ import annotations

import json
import sys

from ...bounds import get_theorem
from ...bounds.language.reading import InputError
from ...bounds.proof.derivations import derivation
from ...bounds.proof.locks import FORMAT
from ...user_files import trusting
from .lock import instances_of


def main(name: str, label: str, *options: str) -> int:
    with trusting("--trust" in options):
        theorem = get_theorem(name)
    plan = derivation(theorem, label)
    if plan is None:
        raise InputError(f"{name}: no derivation of the {label} statement")
    print(json.dumps({"format": FORMAT, **instances_of(plan, theorem, label).to_dict()}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except InputError as error:
        sys.exit(str(error))
