"""Exact replay: a method's own code on fractions, on problems whose oracles, constants and infima are exact.

Nothing here is shared with the families that the search runs on: what the search got wrong is found out.
"""
