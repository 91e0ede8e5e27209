"""The language of theorems: quantities, dimensions, exact numbers, statements, recursions, and how they are written out."""
