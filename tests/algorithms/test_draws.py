"""Keyed random numbers: the mixer and what is made of its words against big integers, lane independence to the bit, and honest statistics.

Each statistical test has its seeds fixed and its level stated: with 1e-6 per test the suite as a whole would raise a
false alarm about once in ten thousand other root seeds.
"""

import hashlib
import math
from functools import cache

import pytest
import torch
from fedco.algorithms import Draws
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import slow_but
from scipy import stats

LEVEL = 1e-6
BIT_TEST_WORDS = 2**15
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def plain_word(root, seed, client, step, purpose, component):
    offset = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little")
    key = root & MASK
    for field in (0, seed, client, step + 1):
        key = mix((key + (field + 1) * GOLDEN) & MASK)
    return mix((key + offset + (component + 1) * GOLDEN) & MASK)


def test_the_mixer_is_splitmix64():
    """The first outputs of SplitMix64 seeded with 1234567, as published with its reference implementation."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [mix((1234567 + (i + 1) * GOLDEN) & MASK) for i in range(4)] == published


@settings(max_examples=10, derandomize=True)
@given(st.integers(-(2**70), 2**70), st.integers(0, 2**40), st.integers(-1, 10**7), st.text(max_size=8))
def test_words_are_a_function_of_their_key(root, seed, step, purpose):
    words = Draws(root, [seed, 3], 4).at(step).words(purpose, 3)
    for client in range(4):
        for component in range(3):
            assert words[0, client, component].item() & MASK == plain_word(root, seed, client, step, purpose, component)


def test_numbers_from_words():
    """The top 52 bits and a half over 2^52; that times the range; Box-Muller of two of them; signs from the lowest bit on."""
    draws = Draws(3, [5], 1).at(2)
    words = [plain_word(3, 5, 0, 2, "p", i) for i in range(12)]
    uniform = [((word >> 12) + 0.5) / 2**52 for word in words]
    assert draws.uniform("p", 12).flatten().tolist() == uniform
    for high in (1, 2, 3, 7, 1000, 2**31):
        assert draws.integers("p", high, 12).flatten().tolist() == [int(high * u) for u in uniform]
    pairs = [(math.sqrt(-2 * math.log(u)), 2 * math.pi * v) for u, v in zip(uniform[::2], uniform[1::2], strict=True)]
    normal = [r * turn(angle) for r, angle in pairs for turn in (math.cos, math.sin)]
    for n in (12, 11, 3):
        assert draws.normal("p", n).flatten().tolist() == pytest.approx(normal[:n], rel=1e-12)
    bits = [2.0 * (words[i // 64] >> i % 64 & 1) - 1 for i in range(200)]
    signs = draws.signs("p", 200).flatten().tolist()
    assert signs in (bits, [-bit for bit in bits])
    for high in (0, 2**31 + 1):
        with pytest.raises(ValueError, match=r"high must be in \[1, 2\*\*31\]"):
            draws.integers("p", high, 1)


KINDS = {
    "signs": lambda d, n: d.signs("p", n),
    "uniform": lambda d, n: d.uniform("p", n),
    "integers": lambda d, n: d.integers("p", 7, n),
    "normal": lambda d, n: d.normal("p", n),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 20, 63, 64, 65, 130])
def test_a_lane_does_not_know_what_is_beside_it(kind, n):
    draw = KINDS[kind]
    alone, seven, many = (draw(Draws(5, seeds, 3).at(9), n) for seeds in ([4], 7, 512))
    assert alone.shape == (1, 3, n)
    assert torch.equal(alone[0], seven[4]) and torch.equal(alone[0], many[4])
    assert torch.equal(many[511], draw(Draws(5, [511], 3).at(9), n)[0])
    fewer_clients = draw(Draws(5, [4], 2).at(9), n)
    assert torch.equal(alone[:, :2], fewer_clients)
    grid = draw(Draws(5, 7, 3, grid=3).at(9), n)
    assert torch.equal(grid, torch.cat([seven] * 3))
    assert torch.equal(draw(Draws(5, 7, 3).at(9), n + 3)[..., :n], seven), "a longer tail must begin with the shorter"


def test_two_threads_draw_the_same_bits():
    before = torch.get_num_threads()
    drawn = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            drawn.append(Draws(1, 900, 8).at(2).normal("p", 33))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*drawn)


BLOCKS = {
    "seeds": lambda: Draws(11, 2**17, 1).at(0).words("p", 8).reshape(-1),
    "clients": lambda: Draws(11, 1, 2**17).at(0).words("p", 8).reshape(-1),
    "steps": lambda: torch.cat(
        [draws.at(t).words("p", 8).reshape(-1) for draws in [Draws(11, 4, 4)] for t in range(4096)]
    ),
    "components": lambda: Draws(11, 1, 1).at(0).words("p", 2**20).reshape(-1),
    "root seeds": lambda: torch.cat([Draws(root, 8, 8).at(0).words("p", 16).reshape(-1) for root in range(1024)]),
}
"""About 2^20 words along each coordinate of the key in turn: adjacent seeds, clients, steps and components."""
ALONG = slow_but({"seeds", "steps"}, BLOCKS)


@cache
def block(along):
    return BLOCKS[along]()


def bits_of(words):
    return ((words.unsqueeze(-1) >> torch.arange(64)) & 1).to(torch.float32)


def largest_bit_score(words):
    """Largest |z| over the 64 bit means and the 64 x 63 / 2 pairs of bits within a word."""
    signs = 2 * bits_of(words) - 1
    moments = signs.T @ signs / math.sqrt(signs.shape[0])
    moments.fill_diagonal_(0)
    means = signs.sum(0) / math.sqrt(signs.shape[0])
    return max(moments.abs().max().item(), means.abs().max().item())


WITHIN_A_WORD = stats.norm.isf(LEVEL / 2 / (64 * 63 / 2 + 64))  # Bonferroni over all bits and pairs of bits


def largest_neighbour_score(words, lag):
    """Largest |z| over all 64 x 64 pairs of bits of two words that are ``lag`` apart."""
    left, right = 2 * bits_of(words[:-lag]) - 1, 2 * bits_of(words[lag:]) - 1
    return (left.T @ right / math.sqrt(left.shape[0])).abs().max().item()


BETWEEN_WORDS = stats.norm.isf(LEVEL / 2 / 4096)


def are_uniform(cells):
    """Chi-square over 4096 cells, both tails: a generator may also be too even."""
    counts = torch.bincount(cells, minlength=4096).numpy()
    return LEVEL / 2 < stats.chisquare(counts).pvalue < 1 - LEVEL / 2


@pytest.mark.parametrize("along", ALONG)
def test_words_along_each_coordinate_of_the_key_look_random(along):
    """Bits of a word and of its neighbours, twelve bits at a time, and the square that the top bits of two neighbours fill."""
    words = block(along)
    some = words[:BIT_TEST_WORDS]
    assert some.unique().numel() == some.numel() and largest_bit_score(some) < WITHIN_A_WORD
    for lag in (1, 2):
        assert largest_neighbour_score(some, lag) < BETWEEN_WORDS, lag
    for shift in (0, 26, 52):
        assert are_uniform((words >> shift) & 4095), shift
    top = (words >> 58) & 63
    assert are_uniform(top[0::2] * 64 + top[1::2])


def test_one_changed_bit_of_the_key_changes_half_of_the_word():
    """Avalanche over the seed index and the step: every output bit flips with probability 1/2."""
    for make in (lambda i: Draws(3, [i], 2000).at(5).words("p", 4), lambda i: Draws(3, [9], 2000).at(i).words("p", 4)):
        base = make(1000).reshape(-1)
        for bit in range(8):
            flips = bits_of(base ^ make(1000 ^ (1 << bit)).reshape(-1)).mean(0)
            z = (flips - 0.5) * 2 * math.sqrt(base.numel())
            assert z.abs().max().item() < stats.norm.isf(LEVEL / 2 / 1024)


def test_subsets_have_the_size_and_every_one_is_as_likely():
    masks = Draws(2, 6000, 5).at(3).subset("participants", 2)
    assert (masks.sum(1) == 2).all()
    codes = (masks * 2.0 ** torch.arange(5)).sum(1).long()
    counts = torch.bincount(codes, minlength=32)
    assert (counts > 0).sum() == 10
    assert LEVEL / 2 < stats.chisquare(counts[counts > 0].numpy()).pvalue < 1 - LEVEL / 2
    assert torch.equal(Draws(2, [17], 5).at(3).subset("participants", 2)[0], masks[17])
    for size in (0, 6):
        with pytest.raises(ValueError, match="size must be in"):
            Draws(0, 1, 5).subset("p", size)


@pytest.mark.parametrize("wrong", [dict(seeds=0), dict(seeds=[]), dict(seeds=[-1]), dict(clients=0), dict(grid=0)])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match="must be at least 1"):
        Draws(**{"root_seed": 0, "seeds": 2, "clients": 2, "grid": 1, **wrong})


@pytest.mark.parametrize("lanes", [(1, 1), (7, 3), (900, 8)])
def test_numbers_drawn_ahead_are_those_of_their_step(lanes):
    """Steps in any order, interleaved purposes and window borders: the numbers of a fresh ``Draws`` each time."""
    seeds, clients = lanes
    used = Draws(5, seeds, clients)
    for step in (-1, 0, 1, 254, 255, 256, 3, 300, 255, -1):
        fresh = Draws(5, seeds, clients, step=step)
        for kind, draw in KINDS.items():
            assert torch.equal(draw(used.at(step), 3), draw(fresh, 3)), (kind, step)
            assert torch.equal(draw(used.at(step), 70), draw(fresh, 70)), (kind, step)


def test_counts_are_those_of_the_integers():
    draws = Draws(5, 7, 3, grid=2).at(4)
    listed, counts = draws.integers("p", 6, 2, 50), draws.counts("p", 6, 2, 50)
    assert counts.shape == (14, 3, 2, 6) and counts.dtype == torch.float64
    assert torch.equal(counts, torch.nn.functional.one_hot(listed, 6).sum(-2).double())
