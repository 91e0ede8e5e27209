"""One folder per paper key, the same file names in each."""
