"""vta/arith."""
