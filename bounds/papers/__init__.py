"""One file per algorithm: its theorems, corollaries and lemmas as declarations."""
