"""The generic problem of each kind, every constant of it a parameter."""
