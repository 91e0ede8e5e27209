"""The suite that every problem has to pass: oracles, certificates and their witnesses, under an adversary."""
