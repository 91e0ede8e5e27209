"""Methods to compare with, one file each."""
