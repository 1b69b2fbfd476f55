"""vta/te."""
