"""The instances on which the library's theorems are validated: `library.toml`, and the method that each theorem names."""

from ..runs.tables import read_runs

RUNS = read_runs(__file__)
