"""Which source files a kept result depends on: it is read back until one of them changes.

`calibration.engine_fingerprint` is another thing: a hash of the answers that an engine gives.
"""

MEASUREMENT = ("algorithms", "synthetic", "bounds", "validation/runs/experiments.py", "validation/recipes")
"""What the statistic of a run depends on: methods, problems, bounds, and how recipes put them together."""
PACKAGE = ("algorithms", "bounds", "synthetic", "validation")
"""What a part of the report depends on: every room of the package that computes."""
LEMMAS = (*MEASUREMENT, "validation/lemmas")
"""How both sides of a lemma are measured."""
