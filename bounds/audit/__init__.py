"""What is wrong with a paper: automatic checks, a reader's findings, exact refutations."""
