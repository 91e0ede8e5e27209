"""The `fedco` command: a thin layer without mathematics.

Every command takes `--json` and then prints one JSON object and nothing else on stdout; messages and progress go to stderr.
A command that answers ends with exit status 0, whatever the answer; one that checks something (`prove`, `replay`, `verify`) with 1 where
that fails. Bad input ends with exit status 2 and one line that names the symbol, the wanted range and the value got.
"""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from . import startup

startup.prepare()  # before anything imports sympy

from ..storage import DamagedWarning  # noqa: E402
from . import checks, runs, theory, verbs  # noqa: E402, F401  each adds its commands
from .command import app  # noqa: E402


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        print(f"fedco {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point: an error of the user or the file system, or too little memory, becomes one line on stderr and exit status 2."""
    from ..bounds.language.reading import InputError

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line(warnings.showwarning)
            status = app(standalone_mode=False)
        raise SystemExit(status if isinstance(status, int) else 0)
    except InputError as error:
        _end(str(error))
    except typer.Abort:  # a RuntimeError
        _end("stopped")
    except SystemError as error:
        _end(
            f"Python itself failed ({error}), as it does when memory runs out; the same command goes on from what is finished"
        )
    except (MemoryError, OSError, RuntimeError) as error:
        if _is_out_of_memory(error):
            _end(
                "not enough memory; wanted fewer seeds, points or processes (--jobs), or a higher limit. "
                "What is finished is kept where the command has a folder, and the same command goes on from there"
            )
        if not isinstance(error, OSError) or error.filename is None:
            raise
        _end(f"{error.filename}: cannot be read or written ({error.strerror})")
    except TyperException as error:
        _end_by_usage(error)


def _end_by_usage(error: Any) -> NoReturn:
    """What the parser of the command line refuses, in one line; help where nothing was asked."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if "\n" in message:
        error.show()
        raise SystemExit(error.exit_code)
    asked = "" if context is None else f" (see {context.command_path} --help)"
    _end(f"{message.rstrip('.')}{asked}")


def _is_out_of_memory(error: BaseException) -> bool:
    """Python's own error, the operating system's, or a RuntimeError that is known by its words: torch's, and no room for a thread."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or any(
        words in str(error) for words in ("can't allocate memory", "out of memory", "can't start new thread")
    )


def _end(message: str) -> NoReturn:
    print(f"fedco: {message}", file=sys.stderr)
    raise SystemExit(2) from None


def _one_line(otherwise: Callable[..., None]) -> Callable[..., None]:
    """A damaged file is one line for a person; any other warning stays as Python shows it."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, DamagedWarning):
            print(f"fedco: {message}", file=sys.stderr)
        else:
            otherwise(message, category, *where, **more)

    return show
