"""Runs of any method on any problem over a grid, with seeds: `fedco run`; and the engine of the papers' own experiments."""
