"""No limit of the machine is met by surprise: what cannot fit is refused before it starts. And memory that is freed is kept."""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from pathlib import Path

import torch

from ...errors import InputError

PROCESS_BYTES = 250 << 20
"""Memory that a process with torch, numpy and sympy needs for itself (measured: 250 to 265 MiB beside what it shares)."""
BYTES_PER_INDEX = 40
"""Size of a Python integer and of its place in a tuple."""
ALWAYS_FINE = 1 << 28
"""Requests below 256 MiB are not looked at: the system is asked only where it matters."""
# From malloc.h, with the sizes set here: of what is kept, of what the heap grows by, and below which it serves a request.
_OPTIONS = {-1: 1 << 28, -2: 1 << 26, -3: 1 << 25}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD (its largest value)


def free_memory(device: torch.device | str = "cpu") -> int | None:
    """Bytes that a run may still take, None where the system does not say."""
    if torch.device(device).type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = [size for size in (available_memory(), allowed_memory()) if size is not None]
    return min(known, default=None)


def available_memory() -> int | None:
    """What the system has left, its caches counted as free."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    return int(found[1]) << 10 if found else None


def allowed_memory() -> int | None:
    """What the control group of this process may have in all."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return int((Path("/sys/fs/cgroup") / name).read_text())
        except (OSError, ValueError):  # another version of control groups, or "max"
            continue
    return None


def check_memory(needed: int, what: str, device: torch.device | str = "cpu") -> None:
    """Refuse what needs at least so many bytes, where fewer are free.

    Raises:
        InputError: it cannot fit; says how much it needs and how much there is.
    """
    if needed < ALWAYS_FINE or (free := free_memory(device)) is None or needed <= free:
        return
    raise InputError(
        f"{what}: wanted a run that fits in the {size(free)} that are free, got one of at least {size(needed)}"
    )


def check_jobs(jobs: int) -> None:
    """Refuse more processes than fit in memory.

    Raises:
        InputError: fewer than one, or more than fit; says how many do.
    """
    if jobs < 1:
        raise InputError(f"jobs: wanted at least 1 process, got {jobs}")
    free = free_memory()
    if free is not None and jobs > 1 and jobs * PROCESS_BYTES > free:
        raise InputError(
            f"jobs: wanted at most {max(1, free // PROCESS_BYTES)} processes of {size(PROCESS_BYTES)} in the {size(free)}"
            f" that are free, got {jobs}, which take {size(jobs * PROCESS_BYTES)}"
        )


def usual_jobs() -> int:
    """As many processes as there are cores, or as fit in memory where those are fewer."""
    cores, free = os.cpu_count() or 1, free_memory()
    return cores if free is None else max(1, min(cores, free // PROCESS_BYTES))


def size(count: float) -> str:
    """A number of bytes for a person."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} PiB"


@cache
def keep_freed_memory() -> bool:
    """Tell the C library, once per process, to keep up to 256 MiB; whether it listened. Elsewhere than in glibc: no.

    By default glibc may return the 2 MiB of a temporary at every operation, or not, as its heap happens to lie; the pages
    are then cleared and mapped again by the next operation. Measured on FCSG with m = 1: a step of a lane takes 94 ns
    of processor time with this, and 134 to 148 ns without. No number changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    return mallopt is not None and all([mallopt(option, size) == 1 for option, size in _OPTIONS.items()])
