"""The kinds of problem: one abstract class each."""
