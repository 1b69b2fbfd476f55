"""vta/cli."""
