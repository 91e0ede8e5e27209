"""The same work on many machines: a dask scheduler instead of local processes.

A call depends on its arguments alone, so a worker that dies costs its call and nothing else: dask gives it to another worker.
Results come back to the caller, who alone writes files; the workers need fedco and no shared disk. Needs the extra
`fedco[distributed]`. Whoever reaches a dask scheduler can run code on its workers: keep the address on a trusted network.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...bounds.language.reading import InputError

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


def run_on_scheduler(calls: Mapping[str, Callable[[], Any]], address: str) -> Iterator[tuple[str, Any]]:
    """(key, result) of every call, as they finish, in any order.

    Args:
        calls: key -> what a worker calls. A key names its call among those of everybody on the scheduler: what the call
            depends on, as a hash, or something unique.

    Raises:
        InputError: no scheduler answers at the address, or it goes away. What a call raises, it raises here.
    """
    if not calls:
        return
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
            client.submit(call, key=f"fedco-{key}", pure=True, retries=RETRIES): key for key, call in calls.items()
        }
        for future, data in as_completed(list(futures), with_results=True):
            if future.status != "finished":
                raise InputError(
                    f"--scheduler {address}: the scheduler went away during the run; what is finished is kept, and the same "
                    "command goes on from there once a scheduler answers"
                )
            yield futures[future], data
