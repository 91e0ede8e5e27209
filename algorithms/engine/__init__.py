"""What runs a method: the method interface, keyed draws, the one driver loop, checkpoints, records, results."""
