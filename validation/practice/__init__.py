"""Theory beside practice: the step size of a theorem beside a grid, and the factor between bound and measurement as a product."""
