"""What problems are built from: inner maps, outer functions, losses, data, and their certificates."""
