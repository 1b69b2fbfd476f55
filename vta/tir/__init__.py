"""vta/tir."""
