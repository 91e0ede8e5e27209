"""The same chunks on many machines: a dask scheduler instead of local processes.

A chunk depends on its task alone, so a worker that dies costs its chunk and nothing else: dask gives it to another worker.
Results come back to the caller, who alone writes the cache; the workers need fedco and no shared disk. Needs the extra
`fedco[distributed]`. Whoever reaches a dask scheduler can run code on its workers: keep the address on a trusted network.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...bounds.language.reading import InputError

if TYPE_CHECKING:
    from .campaign import Task

RETRIES = 3
CONNECT_SECONDS = 30
_ADDRESS = re.compile(r"(tcp|tls)://[A-Za-z0-9_.\-\[\]:]+:[0-9]{1,5}")


def check_address(address: str) -> str:
    """A scheduler's address, for instance tcp://10.0.0.1:8786.

    Raises:
        InputError: not of that form, or dask is not installed.
    """
    if not _ADDRESS.fullmatch(address):
        raise InputError(f"--scheduler {address[:40]}: wanted an address such as tcp://10.0.0.1:8786")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError("--scheduler: wanted dask, which is not installed; pip install 'fedco[distributed]'") from None
    return address


def run_on_scheduler(
    tasks: Sequence[Task], address: str, run: Callable[[Task, None], dict[str, Any]]
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """(task, result) as they finish, in any order.

    Args:
        run: what a worker does with a task; it gets no cache.

    Raises:
        InputError: no scheduler answers at the address, or it goes away.
    """
    from distributed import Client, as_completed

    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # a lost connection is told in one line, below
    try:
        client = Client(check_address(address), timeout=CONNECT_SECONDS)
    except OSError as error:
        raise InputError(f"--scheduler {address}: wanted a dask scheduler, got {str(error)[:80]}") from None
    with client:
        futures = {
            client.submit(run, task, None, key=f"fedco-{task.key}", pure=True, retries=RETRIES): task for task in tasks
        }
        for future, data in as_completed(list(futures), with_results=True):
            if future.status != "finished":
                raise InputError(
                    f"--scheduler {address}: the scheduler went away during the run; what is finished is kept, and the same "
                    "command goes on from there once a scheduler answers"
                )
            yield futures[future], data
