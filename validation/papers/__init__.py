"""How the theorems of each paper are run; one module per paper key, with an object RUNS."""
