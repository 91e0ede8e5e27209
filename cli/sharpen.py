"""fedco sharpen"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Assume, Constants, Json, Sets, Trust, emit, note, settled
from .theory import TheoremId


def sharpen(
    name: TheoremId,
    sets: Sets = None,
    constants: Constants = None,
    assume: Assume = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the certificate goes.")] = Path(
        "sharpened.json"
    ),
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """The least bound that the premises of a theorem's proof give, at your constants; exit status 1 where it is no smaller one.

    A proof adds up inequalities with multipliers that a person chose: Young's weights, the weights of a potential, what is left
    out as a square. Here a semidefinite program chooses them anew for one set of numbers. What it finds is rounded to fractions, and the
    kernel checks it step by step, as it checks any proof; only what it accepts is reported. The conditions of the theorem need not hold.

    The certificate is data: values, a bound and steps. `fedco prove sharpened.json` checks it again: assumptions, metric, period
    and update equations are read off the statement. "checked" means here by the rules of the kernel; exact instances are tried for the
    statement itself by `fedco prove ID`.

    What stays as it is: the inequalities that the proof starts from, and the constants inside its rules for rounds and contractions.
    Where the program finds nothing smaller it says "not sharpened", and why.

    Examples: fedco sharpen fcsg.theorem_4_1 --constants mine.toml --out mine.json; fedco prove mine.json;
    fedco sharpen baselines.minibatch_sgd --set L_bar=1 --set sigma=1 --set F_gap=1 --set eta=1/10 --set b=1 --set N=4 --set T=100
    """
    from ..bounds.proof.sharpen import save
    from ..bounds.proof.sharpen import sharpen as sharpened
    from ..bounds.registry import get_theorem

    theorem = get_theorem(name)
    given = settled(theorem.statement(), sets, constants, assume)
    found = sharpened(given.statement, given.values, note=note)
    path = None
    if found.bound is not None:
        save(found, out, name)
        path = str(out)
    emit(
        {**found.to_dict(), "certificate": path, **given.to_dict()},
        "\n".join([found.text(path), *given.notes]),
        as_json,
    )
    if found.bound is None:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command()(sharpen)
