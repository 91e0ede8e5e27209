"""Runs of a theorem's method on certified problems: instances, chunks on disk, sweeps, bundles."""
