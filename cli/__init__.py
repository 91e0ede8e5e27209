"""The `fedco` command: a thin layer without mathematics.

Every command takes `--json` and then prints one JSON object and nothing else on stdout; messages and progress go to stderr.
Bad input ends with exit status 2 and one line that names the symbol, the wanted range and the value got.
"""

from __future__ import annotations

import sys

import typer

from . import startup

startup.prepare()  # before anything imports sympy

from . import experiments, inverse, theory  # noqa: E402

app = typer.Typer(
    name="fedco",
    help="Convergence theory of federated compositional optimisation: evaluate, invert, audit, validate and plot.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
theory.register(app)
inverse.register(app)
experiments.register(app)


def main() -> None:
    """Entry point: user errors become one line on stderr and exit status 2."""
    from ..bounds.language.reading import InputError

    try:
        app()
    except InputError as error:
        print(f"fedco: {error}", file=sys.stderr)
        raise SystemExit(2) from None
