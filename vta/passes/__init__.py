"""vta/passes."""
