"""What a run and what a target costs: resources, complexity, orders, comparison, sensitivity."""
