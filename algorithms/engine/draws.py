"""Keyed random numbers: each one is a pure function of its key, never of a position in a stream.

A number is a 64-bit mix of (root seed, seed index, client, step, purpose, component). So a lane (one seed, one
client) draws the same numbers alone, in a batch of 7 or of 4096, with any number of threads, and after a resume.
Grid points that run beside each other share one seed's numbers (common random numbers).

The mixer is the finaliser of SplitMix64, which is David Stafford's variant 13 of the MurmurHash3 finaliser: a bijection
of 64-bit words in two multiplications. Root seed, seed index, client and step go through one full round each; purpose
and component then open one SplitMix64 stream per purpose, at a start that a hash of its name displaces.

Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from .limits import BYTES_PER_INDEX, check_memory

_WORD = 1 << 64
_BEFORE_FIRST_STEP = -1
_NUMBERS_AT_ONCE = 1 << 15  # 256 KiB: what is drawn ahead stays in a core's second-level cache
_MOST_STEPS_AT_ONCE = 256


def _signed(word: int) -> int:
    """The two's complement reading of a 64-bit word: torch has no full set of operations on uint64."""
    word %= _WORD
    return word - _WORD if word >= _WORD // 2 else word


_GOLDEN = _signed(0x9E3779B97F4A7C15)  # odd, 2**64 / golden ratio
_MULTIPLIER_1 = _signed(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = _signed(0x94D049BB133111EB)
_ONE_BITS = 0x3FF0000000000000  # the bits of 1.0; with the sign bit set, those of -1.0
_SIGN_BIT = _signed(1 << 63)


def _xor_shift_(z: Tensor, shift: int) -> Tensor:
    logical_shift = (z >> shift).bitwise_and_((1 << (64 - shift)) - 1)  # >> on int64 copies the sign bit down
    return z.bitwise_xor_(logical_shift)


def _mix_(z: Tensor) -> Tensor:
    """Overwrite the int64 words ``z`` by their SplitMix64 finalisation and return them."""
    z = _xor_shift_(z, 30).mul_(_MULTIPLIER_1)
    z = _xor_shift_(z, 27).mul_(_MULTIPLIER_2)
    return _xor_shift_(z, 31)


def _keyed(key: Tensor, field: Tensor | int) -> Tensor:
    """One more field absorbed into a key: a full mixing round of ``key + (field + 1) * golden``."""
    advance = (field + 1) * _GOLDEN
    return _mix_(key + (advance if isinstance(advance, Tensor) else _signed(advance)))


@lru_cache(maxsize=1024)
def _walk(purpose: str, count: int, device: torch.device) -> Tensor:
    """hash(purpose) + golden * (1, …, count): where the words of a purpose lie from the key of their step."""
    offset = _signed(int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little"))
    return torch.arange(1, count + 1, dtype=torch.int64, device=device).mul_(_GOLDEN).add_(offset)


@lru_cache(maxsize=64)
def _to_sign_bit(count: int, device: torch.device) -> Tensor:
    """The shifts that bring bit 0, 1, … of a word to the place of the sign."""
    return torch.arange(63, 63 - min(count, 64), -1, dtype=torch.int64, device=device)


class Draws:
    """The random numbers of one step, for every run and client.

    Args:
        root_seed: any integer; the one number that a whole experiment is keyed by.
        seeds: how many seed indices (0, 1, …), or the indices themselves.
        clients: number of clients.
        grid: number of grid points; runs = grid * seeds, the grid is the slow index.
        device: where the tensors live.
        step: the step index; ``at`` gives the draws of another step. -1 is the initialisation.

    Every draw has shape ``(runs, clients, *tail)``. Asking twice for one purpose at one step gives the same numbers,
    and a shorter tail gives the first numbers of a longer one. A draw may be a view of what is kept for later steps: do
    not write into it.

    Example:
        >>> draws = Draws(root_seed=7, seeds=2, clients=3).at(0)
        >>> draws.signs("sample", 4).shape
        torch.Size([2, 3, 4])
        >>> torch.equal(draws.signs("sample", 4)[1:], Draws(root_seed=7, seeds=[1], clients=3).at(0).signs("sample", 4))
        True
    """

    def __init__(
        self,
        root_seed: int,
        seeds: int | Sequence[int],
        clients: int,
        grid: int = 1,
        device: torch.device | str = "cpu",
        step: int = _BEFORE_FIRST_STEP,
    ) -> None:
        self.root_seed, self.clients, self.grid = int(root_seed), int(clients), int(grid)
        count = seeds if isinstance(seeds, int) else len(seeds)
        check_memory(count * (BYTES_PER_INDEX + 8 * self.clients), "seeds", device)
        self.seed_indices = tuple(range(seeds)) if isinstance(seeds, int) else tuple(int(s) for s in seeds)
        if not self.seed_indices or min(self.clients, self.grid) < 1 or min(self.seed_indices) < 0:
            raise InputError(
                f"seeds, clients and grid must be at least 1 and seed indices at least 0; "
                f"got seeds={seeds}, clients={clients}, grid={grid}"
            )
        root = torch.tensor([[_signed(self.root_seed)]], dtype=torch.int64, device=device)
        seed = torch.tensor(self.seed_indices, dtype=torch.int64, device=device)[:, None]
        client = torch.arange(self.clients, dtype=torch.int64, device=device)
        self._lane_keys = _keyed(_keyed(_keyed(root, 0), seed), client)  # (seeds, clients)
        self._windows: dict[tuple[Any, ...], tuple[int, Tensor]] = {}  # shared by the draws of all steps
        self.step = step

    @property
    def runs(self) -> int:
        """Number of runs: grid points times seeds."""
        return self.grid * len(self.seed_indices)

    def at(self, step: int) -> Draws:
        """The draws of step ``step`` (>= -1) of the same lanes."""
        return self._but(step=step)

    @property
    def per_seed(self) -> Draws:
        """The same numbers before the grid is laid out, ``(seeds, clients, *tail)``: once for all grid points."""
        return self._but(grid=1)

    def _but(self, **changes: int) -> Draws:
        other = object.__new__(Draws)  # a third of the time of copy.copy, which small runs notice
        other.__dict__.update(self.__dict__, **changes)
        return other

    def words(self, purpose: str, count: int) -> Tensor:
        """``count`` uniform 64-bit words per lane, int64, ``(seeds, clients, count)``: before the grid is laid out."""
        return self._drawn(("words", purpose, count), count, lambda words: words)

    def signs(self, purpose: str, *tail: int) -> Tensor:
        """Independent fair signs, -1.0 or 1.0, one bit each. Shape ``(runs, clients, *tail)``, float64."""
        count = math.prod(tail)

        def of(words: Tensor) -> Tensor:
            bits = (words.unsqueeze(-1) << _to_sign_bit(count, words.device)).bitwise_and_(_SIGN_BIT)
            return bits.bitwise_or_(_ONE_BITS).view(torch.float64).flatten(3)[..., :count].contiguous()

        return self._lay_out(self._drawn(("signs", purpose, count), -(-count // 64), of, count), tail)

    def uniform(self, purpose: str, *tail: int) -> Tensor:
        """Uniform on the open interval (0, 1): odd multiples of 2**-53, so the mean is exactly 1/2. Float64."""
        count = math.prod(tail)
        return self._lay_out(self._drawn(("uniform", purpose, count), count, _uniform), tail)

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor:
        """Uniform on {0, …, high - 1}, int64; no probability is off by more than 2**-52.

        Raises:
            ValueError: unless 1 <= high <= 2**31.
        """
        count = math.prod(tail)
        return self._lay_out(self._drawn(("integers", purpose, high, count), count, _integers(high)), tail)

    def counts(self, purpose: str, high: int, *tail: int) -> Tensor:
        """How often each of {0, …, high - 1} is among the last axis of ``integers(purpose, high, *tail)``. Float64.

        Shape ``(runs, clients, *tail[:-1], high)``. Counted once per seed, so that a grid does not count anew.
        """
        count, draw = math.prod(tail), _integers(high)

        def of(words: Tensor) -> Tensor:
            outcomes = draw(words).unflatten(-1, tail)
            tally = torch.zeros(*outcomes.shape[:-1], high, dtype=torch.float64, device=words.device)
            return tally.scatter_add_(
                -1, outcomes, torch.ones((), device=words.device, dtype=torch.float64).expand(outcomes.shape)
            ).flatten(3)

        return self._lay_out(self._drawn(("counts", purpose, high, tail), count, of), (*tail[:-1], high))

    def normal(self, purpose: str, *tail: int) -> Tensor:
        """Independent standard normals by the Box-Muller transform (|value| < 8.6). Float64."""
        count = math.prod(tail)

        def of(words: Tensor) -> Tensor:
            u, v = _uniform(words).unflatten(-1, (-1, 2)).unbind(-1)
            radius = u.log().mul_(-2.0).sqrt_()
            angle = v * (2.0 * math.pi)
            pairs = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=-1)
            return pairs.flatten(-2)[..., :count].contiguous()

        return self._lay_out(self._drawn(("normal", purpose, count), count + count % 2, of), tail)

    def subset(self, purpose: str, size: int) -> Tensor:
        """A uniformly random set of ``size`` clients per run, as a mask of 0.0 and 1.0. Shape ``(runs, clients)``.

        Raises:
            ValueError: unless 1 <= size <= clients.
        """
        if not 1 <= size <= self.clients:
            raise InputError(f"size must be in [1, {self.clients}] (the clients); got {size}")
        order = self.words(purpose, 1).squeeze(-1).argsort(dim=-1, stable=True)
        mask = torch.zeros(order.shape, dtype=torch.float64, device=order.device)
        return self._lay_out(mask.scatter_(1, order[:, :size], 1.0), ())

    def _drawn(self, what: tuple[Any, ...], words: int, of: Callable[[Tensor], Tensor], numbers: int = 0) -> Tensor:
        """The numbers ``what`` of this step: ``of`` applied to ``words`` words per lane, ``(seeds, clients, …)``.

        Small draws are made for a window of consecutive steps at once and kept. That changes no bit, as a number is a
        function of its key, and it spares small runs the time of starting some forty operations per step.
        """
        lanes = self._lane_keys.numel()
        width = max(1, min(_MOST_STEPS_AT_ONCE, _NUMBERS_AT_ONCE // (lanes * max(words, numbers))))
        first = (self.step - _BEFORE_FIRST_STEP) // width * width + _BEFORE_FIRST_STEP
        held = self._windows.get(what)
        if held is None or held[0] != first:
            walk = _walk(what[1], words, self._lane_keys.device)
            held = first, of(_mix_(self._keys_of_steps(first, width).unsqueeze(-1) + walk))
            self._windows[what] = held
        return held[1][self.step - first]

    def _keys_of_steps(self, first: int, width: int) -> Tensor:
        """The keys of ``width`` steps from ``first`` on, ``(width, seeds, clients)``."""
        what = ("keys", width)
        held = self._windows.get(what)
        if held is None or held[0] != first:
            steps = torch.arange(first + 1, first + 1 + width, device=self._lane_keys.device)
            held = first, _keyed(self._lane_keys, steps[:, None, None])
            self._windows[what] = held
        return held[1]

    def _lay_out(self, values: Tensor, tail: tuple[int, ...]) -> Tensor:
        """(seeds, clients, …) -> (runs, clients, *tail): each grid point gets its own copy of one seed's numbers."""
        shape = (len(self.seed_indices), self.clients, *tail)
        values = values.reshape(shape)
        return values.repeat(self.grid, *([1] * (len(shape) - 1))) if self.grid > 1 else values


def _uniform(words: Tensor) -> Tensor:
    top_52_bits = (words >> 12).bitwise_and_((1 << 52) - 1)
    return top_52_bits.to(torch.float64).add_(0.5).mul_(2.0**-52)


def _integers(high: int) -> Callable[[Tensor], Tensor]:
    if not 1 <= high <= 1 << 31:
        raise InputError(f"high must be in [1, 2**31]; got {high}")
    return lambda words: _uniform(words).mul_(high).to(torch.int64).clamp_(max=high - 1)
