"""vta/compat."""
