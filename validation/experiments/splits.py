"""How the papers deal examples out to clients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .datasets import Examples

Parts = list[tuple[Tensor, Tensor]]


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def of_sizes(inputs: Tensor, labels: Tensor, sizes: Sequence[int], seed: int = 0) -> Parts:
    """At random, client k gets sizes[k] examples."""
    order = torch.randperm(len(labels), generator=_generator(seed))
    if sum(sizes) > len(labels):
        raise ValueError(f"sizes: wanted at most {len(labels)} examples in all, got {sum(sizes)}")
    cuts = order[: sum(sizes)].split(list(sizes))
    return [(inputs[cut], labels[cut]) for cut in cuts]


def equally(inputs: Tensor, labels: Tensor, clients: int, seed: int = 0) -> Parts:
    """At random, as many to each client; a rest is left out."""
    return of_sizes(inputs, labels, [len(labels) // clients] * clients, seed)


def dominant(inputs: Tensor, labels: Tensor, clients: int, rho: float, size: int, seed: int = 0) -> Parts:
    """Client i has a share rho of class i (modulo the classes) and (1 - rho)/(classes - 1) of every other, `size` in all.

    Examples are drawn with replacement from their class, as far as it has fewer than are wanted.
    """
    generator, classes = _generator(seed), int(labels.max()) + 1
    pools = [_pool(labels, c, generator) for c in range(classes)]
    used, parts = [0] * classes, []
    for i in range(clients):
        shares = torch.full((classes,), (1 - rho) / (classes - 1), dtype=torch.float64)
        shares[i % classes] = rho
        rows = []
        for c, count in enumerate(_whole(shares, size)):
            taken = [(used[c] + j) % len(pools[c]) for j in range(count)]
            used[c] += count
            rows.append(pools[c][taken])
        picked = torch.cat(rows)
        parts.append((inputs[picked], labels[picked]))
    return parts


def dirichlet(examples: Examples, clients: int, alpha: float, size: int, seed: int = 0) -> Parts:
    """Every client draws its class shares from a symmetric Dirichlet law, then `size` examples by them, with replacement
    where a class has too few."""
    generator = torch.Generator().manual_seed(seed)
    law = torch.distributions.Dirichlet(torch.full((examples.classes,), alpha, dtype=torch.float64))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        shares = law.sample((clients,))
    pools = [_pool(examples.labels, c, generator) for c in range(examples.classes)]
    parts = []
    for k in range(clients):
        rows = []
        for c, count in enumerate(_whole(shares[k], size)):
            offset = int(torch.randint(len(pools[c]), (1,), generator=generator))
            rows.append(pools[c][(offset + torch.arange(count)) % len(pools[c])])
        picked = torch.cat(rows)
        picked = picked[torch.randperm(size, generator=generator)]
        parts.append((examples.inputs[picked], examples.labels[picked]))
    return parts


def thinned(labels: Tensor, classes: Sequence[int], keep: int | float) -> Tensor:
    """Positions of all examples but those of some classes, of which only the last `keep` stay (a number, or a share)."""
    kept = []
    for c in range(int(labels.max()) + 1):
        rows = torch.nonzero(labels == c).flatten()
        if c in classes:
            count = keep if isinstance(keep, int) else max(1, round(keep * len(rows)))
            rows = rows[-count:]
        kept.append(rows)
    return torch.cat(kept).sort().values


def _pool(labels: Tensor, c: int, generator: torch.Generator) -> Tensor:
    rows = torch.nonzero(labels == c).flatten()
    return rows[torch.randperm(len(rows), generator=generator)]


def _whole(shares: Tensor, size: int) -> list[int]:
    """Whole numbers near size * shares that sum to size: the largest remainders are rounded up."""
    exact = shares / shares.sum() * size
    counts = exact.floor().long()
    rest = size - int(counts.sum())
    counts[(exact - counts).argsort(descending=True)[:rest]] += 1
    return counts.tolist()
