"""Numbers from a statement: one point exactly, a grid fast, a box enclosed; second moments of a linear recursion at any horizon."""
