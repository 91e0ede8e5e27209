"""Best choices under conditions: statements as geometric programs with whole numbers, solved, polished and rounded to exact values."""
