"""vta/topi."""
